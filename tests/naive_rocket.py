"""Slow oracle of the ROCKET family: one feature, one timepoint and one tap after the other, from a model's arrays."""

import itertools
import math

import numpy as np

KERNELS = [[2.0 if tap in heavy else -1.0 for tap in range(9)] for heavy in itertools.combinations(range(9), 3)]
PARTS = {
    "minirocket": [("ppv", False)],
    "multirocket": [("four", False), ("four", True)],
    "hydra": [("hydra", False), ("hydra", True)],
    "multirocket-hydra": [("four", False), ("four", True), ("hydra", False), ("hydra", True)],
}


def naive_evidence(settings, arrays, values, length, spread):
    """Return one case's logits (K,) and contributions (K, C, T) without the bias, feature by feature."""
    whole = values[:, :length].astype(np.float64)
    weights, centres, limits, offsets = (arrays[name] for name in ("weights", "centres", "limits", "offsets"))
    decisions = offsets.copy()
    shares = np.zeros((len(offsets), *whole.shape))
    feature = 0
    for position, (kind, difference) in enumerate(PARTS[settings["transform"]]):
        own = {name.split(".")[1]: array for name, array in arrays.items() if name.startswith(f"bank{position}.")}
        series = np.diff(values[:, :length], axis=1) if difference else values[:, :length]
        series = np.stack([on_grid(channel) for channel in series])
        for found, point_shares, kernel, dilation, channels in naive_features(kind, own, series):
            centre, weight = centres[feature], weights[feature]
            if abs(found - centre) > limits[feature]:
                weight = weight * limits[feature] / abs(found - centre)
            feature += 1
            if kind == "hydra" and found == 0.0:
                continue
            decisions += (found - centre) * weight
            point_shares = point_shares(centre)
            if series.shape[1] == 0:
                shares += (found - centre) * weight[:, None, None] / len(series)
                continue
            for t in np.flatnonzero(point_shares):
                for channel, point, part in touched(series, t, kernel, dilation, channels, spread):
                    for point_of_series in [point, point + 1] if difference else [point]:
                        scale = part * (0.5 if difference else 1.0)
                        shares[:, channel, point_of_series] += scale * point_shares[t] * weight
    contributions = shares * length
    if settings["n_classes"] == 2:
        return np.concatenate([-decisions, decisions]), np.concatenate([-contributions, contributions])
    return decisions, contributions


def on_grid(series):
    """Return one channel, or the sum of several, on the grid of exact sums."""
    largest = float(np.abs(series).max(initial=0.0))
    if largest == 0.0:
        return series.astype(np.float64)
    step = 2.0 ** (math.ceil(math.log2(12 * largest)) - 24)
    return np.rint(series.astype(np.float64) / step) * step


def touched(series, t, kernel, dilation, channels, spread):
    """Return (channel, point, part) of the points that share in what arose at the centre t."""
    taps = range(4, 5) if spread == "anchor" else range(9)
    points = [(tap, t + (tap - 4) * dilation) for tap in taps]
    places = [
        (c, p, abs(kernel[tap] * series[c, p])) for c in channels for tap, p in points if 0 <= p < series.shape[1]
    ]
    total = sum(size for _, _, size in places)
    if spread == "weighted" and total > 0:
        return [(c, p, size / total) for c, p, size in places]
    return [(c, p, 1 / len(places)) for c, p, _ in places]


def naive_features(kind, own, series):
    """Yield every feature: value, its points' shares given a centre, kernel, dilation and channels."""
    return naive_hydra(own, series) if kind == "hydra" else naive_fixed(kind, own, series)


def naive_fixed(kind, own, series):
    n_points = series.shape[1]
    bias = 0
    for position, dilation in enumerate(own["dilations"]):
        for number, kernel in enumerate(KERNELS):
            start, stop = own["channel_starts"][position * 84 + number :][:2]
            channels = own["channels"][start:stop]
            added = added_up(series, channels)
            response = [naive_response(added, t, kernel, dilation) for t in range(n_points)]
            inside = list(range(n_points))
            if (position + number) % 2 == 1 and n_points > 8 * dilation:
                inside = inside[4 * dilation : n_points - 4 * dilation]
            for _ in range(own["n_biases"][position]):
                level = float(own["biases"][bias])
                bias += 1
                pools = naive_pools(response, inside, level)
                for found, points in pools[:1] if kind == "ppv" else pools:
                    yield found, dense_shares(points, inside), kernel, dilation, channels


def added_up(series, channels):
    """Return the sum of some channels, in 32 bits and in their order, on its grid."""
    total = series[channels[0]].astype(np.float32)
    for channel in channels[1:]:
        total = total + series[channel].astype(np.float32)
    return total.astype(np.float64) if len(channels) == 1 else on_grid(total)


def naive_response(series, t, kernel, dilation):
    points = [t + (tap - 4) * dilation for tap in range(9)]
    return sum(kernel[tap] * series[p] for tap, p in enumerate(points) if 0 <= p < len(series))


def naive_pools(response, inside, level):
    """Return the four features of one bias and what each point adds to them."""
    positive = [t for t in inside if response[t] > level]
    points = np.zeros((4, len(response)))
    for t in positive:
        points[0, t] = 1 / len(inside)
        points[1, t] = (response[t] - level) / len(positive)
        points[2, t] = (t - inside[0] + 1) / len(positive)
    runs = [list(run) for above, run in itertools.groupby(inside, lambda t: response[t] > level) if above]
    points[3, max(runs, key=len, default=[])] = 1.0
    return [(row.sum(), row) for row in points]


def dense_shares(points, inside):
    def shares(centre):
        centred = points.copy()
        for t in inside:
            centred[t] -= centre / len(inside)
        return centred

    return shares


def naive_hydra(own, series):
    single = series.astype(np.float32)
    for position, dilation in enumerate(own["dilations"]):
        groups = own["kernels"][position]
        for number, group in enumerate(groups):
            start, stop = own["channel_starts"][position * len(groups) + number :][:2]
            channels = own["channels"][start:stop]
            responses = [hydra_response(single, kernel, int(dilation), channels) for kernel in group]
            table = np.array(responses).reshape(len(group), -1)
            for winners, votes in [
                (np.argmax(table, axis=0), np.max(table, axis=0).astype(np.float64)),
                (np.argmin(table, axis=0), np.ones(table.shape[1])),
            ]:
                for competitor, kernel in enumerate(group):
                    own_votes = np.where(winners == competitor, votes, 0.0)
                    found = math.sqrt(max(own_votes.sum(), 0.0))
                    yield found, hydra_shares(own_votes, found), kernel.astype(np.float64), dilation, channels


def hydra_shares(votes, found):
    positive = np.maximum(votes, 0.0)
    return lambda centre: found * positive / positive.sum() - centre / len(votes)


def hydra_response(series, kernel, dilation, channels):
    """Return the convolution in 32 bits, added up in the documented order: ties must fall the same way."""
    n_points = series.shape[1]
    padded = np.zeros(n_points + 8 * dilation, dtype=np.float32)
    for channel in channels:
        padded[4 * dilation : 4 * dilation + n_points] += series[channel]
    products = [kernel[tap] * padded[tap * dilation : tap * dilation + n_points] for tap in range(9)]
    thirds = [products[i] + products[i + 1] + products[i + 2] for i in (0, 3, 6)]
    return thirds[0] + thirds[1] + thirds[2]
