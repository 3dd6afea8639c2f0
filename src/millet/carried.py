"""Files that come with MILLET: a wheel carries them inside the package, a checkout keeps them elsewhere."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def carried(name: str, checkout: str) -> Path:
    """Return a folder of files that come with MILLET, whether it is installed or in a checkout.

    Parameters
    ----------
    name : str
        The folder inside the package.
    checkout : str
        The same in a checkout, from its root.

    Examples
    --------
    >>> (carried("experiments", "experiments") / "webtraffic.toml").is_file()
    True
    """
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parents[1] / checkout
