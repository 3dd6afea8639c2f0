"""Palettes: one colour for evidence that supports, one for evidence that refutes, white for none.

Out: read by `millet.plots.panels`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from millet.errors import lookup

if TYPE_CHECKING:
    from matplotlib.colors import Colormap

INK = "#1f2933"
FAINT = "#9aa5b1"
REGION = "#f6c344"
CHANNELS = ("#1f2933", "#3b6fb6", "#c2571a", "#3d8f6b", "#8a4f9e", "#a8861c")
# Line styles and markers, of which the next is taken each time the colours are used up.
LINES = (("-", "o"), ("--", "s"), (":", "^"), ("-.", "D"))


@dataclass(frozen=True)
class Palette:
    """Colours from the strongest refutation to the strongest support, darker towards both ends."""

    refute: tuple[str, str]
    support: tuple[str, str]
    legend: str

    def colormap(self) -> Colormap:
        """Return the diverging colormap, white in the middle."""
        from matplotlib.colors import LinearSegmentedColormap

        refute, support = self.refute, self.support
        stops = [refute[1], refute[0], "#ffffff", support[0], support[1]]
        return LinearSegmentedColormap.from_list("evidence", stops, N=511)


PALETTES = {
    "green-red": Palette(
        refute=("#f4877b", "#b2182b"),
        support=("#83cf8f", "#1b7837"),
        legend="green supports, red refutes",
    ),
    "colorblind": Palette(
        refute=("#f5ab62", "#b35806"),
        support=("#7fb2dc", "#1f5fa8"),
        legend="blue supports, orange refutes",
    ),
}


def find_palette(name: str) -> Palette:
    """Return the palette of that name.

    Examples
    --------
    >>> find_palette("colorblind").support
    ('#7fb2dc', '#1f5fa8')
    """
    return lookup("palette", name, PALETTES)
