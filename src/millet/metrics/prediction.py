"""Metrics of prediction that can count cases several times, as bootstrap intervals need.

In:  right or wrong predictions or probabilities, true classes, and how often each case counts in each resample.
Out: one number per resample.

On a whole sample these are scikit-learn's numbers; here a thousand resamples are scored at once.
"""

from __future__ import annotations

import numpy as np

from millet.metrics.inputs import Floats, Integers, Mask


def balanced_accuracy(correct: Mask, codes: Integers, counts: Integers) -> Floats:
    """Return the mean, over the classes, of the part of their cases that is right: (n_resamples,).

    Parameters
    ----------
    correct : ndarray of shape (n_cases,)
        1 where the prediction is right, else 0.
    codes : ndarray of int, shape (n_cases,)
        The true classes. Those that do not occur in a resample are left out of its mean.
    counts : ndarray of int, shape (n_resamples, n_cases)
        How often each case counts.

    Examples
    --------
    >>> balanced_accuracy(np.array([1.0, 1.0, 0.0]), np.array([0, 0, 1]), np.array([[1, 1, 1]]))
    array([0.5])
    """
    total = np.zeros(len(counts))
    present = np.zeros(len(counts))
    for code in np.unique(codes):
        mine = counts[:, codes == code]
        size = mine.sum(axis=1)
        total += mine @ correct[codes == code] / np.maximum(size, 1)
        present += size > 0
    mean: Floats = total / present
    return mean


def auroc(probabilities: Floats, codes: Integers, counts: Integers) -> Floats:
    """Return the area under the ROC curve, one against one, weighted by how many cases each pair of classes has.

    With two classes it is the area for the second one's probability. NaN for a resample with a single class.

    Parameters
    ----------
    probabilities : ndarray of shape (n_cases, n_classes)
    codes : ndarray of int, shape (n_cases,)
        The true classes.
    counts : ndarray of int, shape (n_resamples, n_cases)
        How often each case counts.

    Examples
    --------
    >>> auroc(np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]]), np.array([0, 1, 0]), np.array([[1, 1, 1]]))
    array([1.])
    """
    total = np.zeros(len(counts))
    weight = np.zeros(len(counts))
    present = np.unique(codes).tolist()
    for number, one in enumerate(present):
        for other in present[number + 1 :]:
            among = (codes == one) | (codes == other)
            area = _pair_area(probabilities[among], codes[among], counts[:, among], one, other)
            size = np.where(np.isnan(area), 0, counts[:, among].sum(axis=1))
            total += size * np.nan_to_num(area)
            weight += size
    mean: Floats = np.where(weight > 0, total / np.maximum(weight, 1), np.nan)
    return mean


def _pair_area(probabilities: Floats, codes: Integers, counts: Integers, one: int, other: int) -> Floats:
    if probabilities.shape[1] == 2:
        return _area(probabilities[:, 1], codes == 1, counts)
    areas = [_area(probabilities[:, code], codes == code, counts) for code in (one, other)]
    return np.asarray((areas[0] + areas[1]) / 2)


def _area(values: Floats, positive: np.ndarray, counts: Integers) -> Floats:
    """Return how often a positive case has the higher value, ties counting half: (n_resamples,)."""
    order = np.argsort(values, kind="stable")
    firsts = np.flatnonzero(np.diff(values[order], prepend=-np.inf))  # the first of each run of equal values
    weights = counts[:, order].astype(np.float64)
    positives = np.add.reduceat(weights * positive[order], firsts, axis=1)
    negatives = np.add.reduceat(weights * ~positive[order], firsts, axis=1)
    below = np.cumsum(negatives, axis=1) - negatives / 2
    pairs = positives.sum(axis=1) * negatives.sum(axis=1)
    area: Floats = np.where(pairs > 0, (positives * below).sum(axis=1) / np.maximum(pairs, 1), np.nan)
    return area
