"""Slow, obvious oracles for `millet.metrics`: one case, one step, one timepoint at a time."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

FRACTIONS = [1 - float(left) for left in np.linspace(1, 0.5, num=11)][1:]  # as the released code has them


# --- Perturbation ---------------------------------------------------------------------------------------------------


def most_relevant_first(scores):
    return sorted(range(len(scores)), key=lambda t: -scores[t])  # sorted() is stable


def without(series, gone):
    """Return a series, a list of channels, without some timepoints."""
    return [[value for t, value in enumerate(channel) if t not in gone] for channel in series]


def perturbation_curve(logits_of, series, order, target):
    """Return the changes of one case's logit; `logits_of` takes a list of channels."""
    whole = logits_of(series)[target]
    curve = [0.0]
    for fraction in FRACTIONS:
        gone = set(order[: int(fraction * len(order))])
        curve.append(logits_of(without(series, gone))[target] - whole)
    return curve


def random_order(random_state, case, number, length):
    return np.random.default_rng([random_state, case, 1 + number]).permutation(length).tolist()


def aopcr(logits_of, cases, scores, targets, random_state=0):
    values = []
    for case, series in enumerate(cases):
        length = len(series[0])
        orders = [most_relevant_first(scores[case][:length])]
        orders += [random_order(random_state, case, number, length) for number in range(3)]
        areas = [-sum(perturbation_curve(logits_of, series, order, targets[case])) / 11 for order in orders]
        values.append(sum(areas[0] - area for area in areas[1:]) / 3)
    return values


def erasure(logits_of, series, scores, target, keep):
    order = most_relevant_first(scores)
    lost = []
    for percent in (1, 5, 10, 20, 50):
        count = max(1, percent * len(order) // 100)
        gone = order[count:] if keep else order[:count]
        lost.append(softmax(logits_of(series))[target] - softmax(logits_of(without(series, set(gone))))[target])
    return sum(lost) / 5


def softmax(logits):
    powers = [math.exp(logit) for logit in logits]
    return [power / sum(powers) for power in powers]


# --- Localisation ---------------------------------------------------------------------------------------------------


def ndcg_at_n(scores, relevant):
    n = sum(relevant)
    if n == 0:
        return math.nan
    order = most_relevant_first(scores)
    gain = sum(1 / math.log2(place + 2) for place in range(n) if relevant[order[place]])
    return gain / sum(1 / math.log2(place + 2) for place in range(n))


def areas_by_threshold(scores, relevant, n_thresholds=4000):
    """Return the mean precision and the mean recall over many thresholds, of scores scaled to [0, 1]."""
    low, high = min(scores), max(scores)
    scaled = [(score - low) / (high - low) for score in scores]
    precisions, recalls = [], []
    for step in range(n_thresholds):
        threshold = (step + 0.5) / n_thresholds
        pointed = [known for score, known in zip(scaled, relevant, strict=True) if score >= threshold]
        precisions.append(sum(pointed) / len(pointed))
        recalls.append(sum(pointed) / sum(relevant))
    return sum(precisions) / n_thresholds, sum(recalls) / n_thresholds


def average_precision(scores, relevant):
    area, last = 0.0, 0.0
    for threshold in sorted(set(scores), reverse=True):
        pointed = [known for score, known in zip(scores, relevant, strict=True) if score >= threshold]
        recall = sum(pointed) / sum(relevant)
        area += (recall - last) * sum(pointed) / len(pointed)
        last = recall
    return area


# --- Scores alone ---------------------------------------------------------------------------------------------------


def gini(scores):
    """Return half the mean difference of all pairs of sizes, over the mean size."""
    sizes = [abs(score) for score in scores]
    if not any(sizes):
        return math.nan
    differences = sum(abs(one - other) for one in sizes for other in sizes)
    return differences / (2 * len(sizes) * sum(sizes))


def entropy(scores):
    sizes = [abs(score) for score in scores]
    if not any(sizes) or len(sizes) == 1:
        return math.nan
    shares = [size / sum(sizes) for size in sizes if size]
    return -sum(share * math.log(share) for share in shares) / math.log(len(sizes))


def ranks(values):
    return [sum(other < value for other in values) + (values.count(value) + 1) / 2 for value in values]


def spearman(one, other):
    x, y = ranks(list(one)), ranks(list(other))
    mean = (len(x) + 1) / 2
    covariance = sum((a - mean) * (b - mean) for a, b in zip(x, y, strict=True))
    size = math.sqrt(sum((a - mean) ** 2 for a in x) * sum((b - mean) ** 2 for b in y))
    return covariance / size if size else math.nan


def top_overlap(one, other, percent):
    if len(set(one)) == 1 or len(set(other)) == 1:
        return float("nan")
    count = max(1, percent * len(one) // 100)
    return len(set(most_relevant_first(one)[:count]) & set(most_relevant_first(other)[:count])) / count


# --- Predictions ----------------------------------------------------------------------------------------------------


def auroc(probabilities, codes):
    """Return the area one against one, weighted by the pairs' sizes, by counting pairs of cases."""
    total = weight = 0.0
    for one, other in combinations(sorted(set(codes)), 2):
        size = codes.count(one) + codes.count(other)
        areas = [pair_area(probabilities, codes, one, other), pair_area(probabilities, codes, other, one)]
        if len(probabilities[0]) == 2:
            areas = areas[1:]
        total += size * sum(areas) / len(areas)
        weight += size
    return total / weight if weight else math.nan


def pair_area(probabilities, codes, positive, negative):
    high = [row[positive] for row, code in zip(probabilities, codes, strict=True) if code == positive]
    low = [row[positive] for row, code in zip(probabilities, codes, strict=True) if code == negative]
    return sum((a > b) + (a == b) / 2 for a in high for b in low) / (len(high) * len(low))
