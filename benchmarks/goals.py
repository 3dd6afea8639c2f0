"""Goals: what was measured, what was wanted, and the verdict. Used by `benchmarks/engine.py`."""

from __future__ import annotations

from dataclasses import dataclass

from millet.tables import format_table

# Medians of the same work differ by this fraction.
NOISE = 0.03
PLAIN = "plain fp32"


@dataclass(frozen=True)
class Row:
    """One figure of the table; times are in seconds, speeds in billions of operations per second."""

    figure: str
    goal: str
    verdict: str
    compared_with: str = PLAIN
    theirs: float | None = None
    ours: float | None = None
    ratio: float | None = None
    gflops: float | None = None
    of_peak: float | None = None
    found: str = ""


def faster(
    figure: str,
    theirs: float,
    ours: float,
    least: float,
    *,
    compared_with: str = PLAIN,
    found: str = "",
    agrees: bool = True,
    speed: tuple[float, float] | tuple[None, None] = (None, None),
) -> Row:
    """Judge a goal of being at least `least` times faster and, where numbers are compared, of agreeing."""
    ratio = theirs / ours
    reached = ratio >= (1 - NOISE if least == 1 else least)
    verdict = "met" if reached and agrees else "not met"
    return Row(figure, wanted(least), verdict, compared_with, theirs, ours, ratio, *speed, found)


def at_most(figure: str, theirs: float, ours: float, most: float, compared_with: str) -> Row:
    """Judge a goal of taking at most `most` times as long."""
    ratio = ours / theirs
    verdict = "met" if ratio <= most else "not met"
    return Row(figure, f"at most {most:g}x", verdict, compared_with, theirs, ours, ratio)


def not_on_this_cpu(figure: str, least: float) -> Row:
    """Return a placeholder for a figure that this processor can't have."""
    return Row(figure, wanted(least), "not applicable", found="not on this CPU")


def wanted(least: float) -> str:
    return "never slower" if least == 1 else f"at least {least:g}x"


def format_rows(rows: list[Row]) -> str:
    header = ["figure", "compared with", "theirs", "ours", "ratio", "goal", "GFLOP/s", "of peak", "found", "verdict"]
    cells = [
        [
            row.figure,
            row.compared_with,
            _shown(row.theirs, "{:,.1f} ms", 1e3),
            _shown(row.ours, "{:,.1f} ms", 1e3),
            _shown(row.ratio, "{:.2f}x"),
            row.goal,
            _shown(row.gflops, "{:.1f}"),
            _shown(row.of_peak, "{:.0%}"),
            row.found,
            row.verdict,
        ]
        for row in rows
    ]
    return format_table(header, cells, right=["theirs", "ours", "ratio", "GFLOP/s", "of peak"])


def _shown(value: float | None, pattern: str, scale: float = 1.0) -> str | None:
    return None if value is None else pattern.format(value * scale)
