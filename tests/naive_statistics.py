"""Slow oracles for statistics: textbook loops, one thought a line."""

import itertools
import math


def ranks_of(results, higher_is_better):
    """Rank by counting who is better and who ties."""
    ranks = []
    for mine in results:
        better = sum((other > mine) if higher_is_better else (other < mine) for other in results)
        ties = sum(other == mine for other in results)
        ranks.append(better + (ties + 1) / 2)
    return ranks


def friedman_statistic(table):
    """Friedman's chi-square with the correction for ties, as Conover writes it."""
    n, k = len(table), len(table[0])
    ranks = [ranks_of(row, True) for row in table]
    sums = [sum(row[j] for row in ranks) for j in range(k)]
    squares = sum(rank**2 for row in ranks for rank in row)
    constant = n * k * (k + 1) ** 2 / 4
    if squares == constant:
        return 0.0
    return (k - 1) * (sum(total**2 for total in sums) / n - constant) / (squares / n - constant / n)


def wilcoxon_p_value(differences):
    """Exact two-sided p-value by trying every assignment of signs; for differences without ties or zeros."""
    order = sorted(differences, key=abs)
    positive = sum(rank for rank, difference in enumerate(order, 1) if difference > 0)
    total = len(order) * (len(order) + 1) / 2
    extreme = min(positive, total - positive)
    sums = [
        sum(rank for rank, sign in enumerate(signs, 1) if sign)
        for signs in itertools.product([False, True], repeat=len(order))
    ]
    return min(1.0, 2 * sum(value <= extreme for value in sums) / len(sums))


def holm(p_values):
    """Adjust by the definition: the greatest of the multiplied p-values up to one's own."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    for place, i in enumerate(order):
        earlier = [(len(p_values) - j) * p_values[order[j]] for j in range(place + 1)]
        adjusted[i] = min(1.0, max(earlier))
    return adjusted


def cliques(ranks, different):
    """Try every run of neighbours; keep those without a different pair that lie in no longer one."""
    order = sorted(range(len(ranks)), key=lambda i: (ranks[i], i))
    runs = [order[a:b] for a in range(len(order)) for b in range(a + 2, len(order) + 1)]
    whole = [run for run in runs if not any(different[i][j] for i, j in itertools.combinations(run, 2))]
    return [tuple(run) for run in whole if not any(set(run) < set(other) for other in whole)]


def pareto_front(points):
    """Compare every point with every other."""

    def beats(one, other):
        return all(a >= b for a, b in zip(one, other, strict=True)) and any(
            a > b for a, b in zip(one, other, strict=True)
        )

    return [not any(beats(other, point) for other in points) for point in points]


def balance(labels):
    """Shannon entropy over that of equally filled classes."""
    counts = [labels.count(label) for label in set(labels)]
    shares = [count / len(labels) for count in counts]
    return -sum(share * math.log(share) for share in shares) / math.log(len(counts))
