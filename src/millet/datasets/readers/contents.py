"""`Contents`: what one file holds, and the checks of its values that all readers share.

Out: read by `millet.datasets.files`, which parses the labels, since those of two splits belong together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from millet.datasets.dataset import Series
from millet.errors import DatasetFormatError

Floats = NDArray[np.float64]
File = str | PathLike[str]

CHECKED_VALUES = 1 << 20
"""Values looked at in one go, so that judging a memory-mapped array takes little memory."""


@dataclass(frozen=True)
class Contents:
    """One file's series and the text of its labels.

    Attributes
    ----------
    X : ndarray of shape (n_cases, n_channels, n_timepoints), or list of (n_channels, n_timepoints) arrays
        The series; a list where lengths differ.
    labels : sequence of str, or None
        One label per case as the file has it; None where the file has no labels.
    lines : sequence of int, or None
        The line of each case, counted from 1; None where the format has no lines.
    relevant : ndarray of bool, shape (n_cases, n_timepoints), or None
        Which timepoints belong to the class's signature, where the file says so.
    class_names : mapping of str to str
        What to call a class, by its label; empty where the file does not say.
    channel_names : sequence of str
        What the file calls its channels; empty where it does not say.
    case_names : sequence of str
        What the file calls its cases; empty where it does not say.
    """

    X: Series
    labels: Sequence[str] | None
    lines: Sequence[int] | None = None
    relevant: NDArray[np.bool_] | None = None
    class_names: Mapping[str, str] = field(default_factory=dict)
    channel_names: Sequence[str] = ()
    case_names: Sequence[str] = ()


def stack_cases(blocks: list[Floats]) -> Series:
    """Join blocks of cases: one array where all lengths are equal, else a list with one array per case.

    Parameters
    ----------
    blocks : list of ndarray, each of shape (n_cases_i, n_channels, n_timepoints_i)
        At least one block; all with the same channels.

    Returns
    -------
    ndarray of shape (n_cases, n_channels, n_timepoints), or list of (n_channels, n_timepoints) arrays

    Examples
    --------
    >>> stack_cases([np.zeros((2, 1, 5)), np.zeros((1, 1, 5))]).shape
    (3, 1, 5)
    >>> [case.shape for case in stack_cases([np.zeros((2, 1, 5)), np.zeros((1, 1, 4))])]
    [(1, 5), (1, 5), (1, 4)]
    """
    if len({block.shape[2] for block in blocks}) > 1:
        return [case for block in blocks for case in block]
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def check_values(file: File, X: NDArray[Any], lines: Sequence[int] | None = None, first_case: int = 0) -> None:
    """Refuse infinities and series without a single observed value.

    Parameters
    ----------
    file : path
        The file, for the message.
    X : ndarray of shape (n_cases, n_channels, n_timepoints)
        The series. NaN stands for a missing value.
    lines : sequence of int, optional
        The line of each case, for the message.
    first_case : int
        Position of ``X[0]`` in the file, for the message where there are no lines.
    """
    n_at_once = max(1, CHECKED_VALUES // max(1, X[0].size))
    for start in range(0, len(X), n_at_once):
        block = X[start : start + n_at_once]
        if np.isfinite(block).all():
            continue
        infinite = np.isinf(block).any(axis=(1, 2))
        unobserved = np.isnan(block).all(axis=(1, 2))
        refused = np.flatnonzero(infinite | unobserved)
        if len(refused):
            case = start + int(refused[0])
            problem = (
                "holds an infinite value; expected finite numbers, or NaN where one is missing"
                if infinite[refused[0]]
                else "has no observed value: every timepoint is missing. Remove the case"
            )
            which = "this series" if lines is not None else f"case {first_case + case} (counted from 0)"
            raise DatasetFormatError(file, f"{which} {problem}.", lines[case] if lines is not None else None)


def check_every_case(file: File, X: Series) -> None:
    """Apply `check_values` to an array or to each array of a list.

    Parameters
    ----------
    file : path
        The file, for the message.
    X : ndarray of shape (n_cases, n_channels, n_timepoints), or list of (n_channels, n_timepoints) arrays
        The series.
    """
    if not isinstance(X, list):
        check_values(file, X)
        return
    for position, case in enumerate(X):
        check_values(file, case[None], first_case=position)
