"""Whether to z-normalise: whichever predicts left-out training cases better.

In:  the same cases, each normalised by itself and all scaled alike, and their codes. Out: a decision, for
`millet.contract`.

Normalising each channel of each series removes how large channels are and where they lie. Where series were
measured at different gains that is noise; where the channels belong together it may be what tells the classes apart.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from millet.bags import Bags, Batch
from millet.rocket.heads import class_targets
from millet.rocket.model import compute_features
from millet.rocket.ridge import fit_ridge
from millet.rocket.scaling import scale_features
from millet.rocket.transforms import Transform

N_FEATURES = 2000
MOST_CASES = 1000
MOST_VALUES = 20_000_000


def levels_tell(scaled: Bags, normalised: Bags, codes: NDArray[np.int64], n_classes: int) -> bool:
    """Return whether series that keep their levels tell the classes apart better than normalised ones.

    The judge is a small MiniRocket, by the squared errors of its leave-one-out predictions. Where cases are very many
    or very long, only some of them decide.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, codes = rng.normal(size=(30, 2, 40)), np.arange(30) % 2
    >>> X[codes == 1, 1] *= 3                                            # the second channel is larger in one class
    >>> from millet.bags import as_bags
    >>> levels_tell(as_bags(X, normalise=False), as_bags(X), codes, 2)
    True
    """
    n_judges = min(MOST_CASES, max(50, MOST_VALUES // (normalised.n_channels * normalised.n_timepoints)))
    chosen = np.sort(np.random.default_rng(0).permutation(len(codes))[:n_judges])
    targets = class_targets(codes[chosen], n_classes)
    kept, taken = (_left_out_error(bags.batch(chosen), targets) for bags in (scaled, normalised))
    return kept < taken


def _left_out_error(batch: Batch, targets: NDArray[np.float64]) -> float:
    transform = Transform.fit("minirocket", batch, N_FEATURES, np.random.default_rng(0))
    features = compute_features(transform, batch, 1, progress=False)
    scale_features(features, sparse=False)
    return float(np.mean((fit_ridge(features, targets).left_out - targets) ** 2))
