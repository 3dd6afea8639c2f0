"""Write docs/tables/engine.md: how fast training and inference are, beside plain torch modules.

    python benchmarks/engine.py --rows results/engine.json
    python docs/scripts/engine_table.py

The first measures, which wants a machine that does nothing else for some minutes; the second writes the page.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from millet.atomic import atomic_path
from millet.report.layout import NONE, Table

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tables" / "engine.md"
NOTE = (
    "`benchmarks/engine.py` measures, in one process and by turns, and `docs/scripts/engine_table.py` writes this "
    "page from its rows in `results/engine.json`. A batch has 16 series of 1008 timepoints. In the tables "
    "of growth it has one series by length, 250 timepoints by batch size, and 4 series of 500 by channels and "
    "classes. An epoch here goes over 64 of WebTraffic's 500 training cases, and inference with evidence over 48. "
    "GFLOP/s count the operations of the plain network, whatever was really computed; *of peak* is their part of "
    "the best convolution of the machine."
)
# What was tried for goals that were missed on some processor; by the beginning of the figure's name.
TRIED = {
    "WebTraffic epoch": (
        "a selecting pass that ends as soon as its epoch can't be the best, with the same result (what is measured "
        "here is the first epoch, which always is); spectra by fast transforms, then by matrix products ([decision "
        "9](../decisions/0009-spectra.md)), the latter also in bf16; normalisation and pooling in loops that go "
        "through memory once ([decision 6](../decisions/0006-convolution-gradients.md)); `torch.compile`, which was "
        'slower; no selecting pass at all, as in the recipe "fast" ([decision 11](../decisions/0011-fast-recipe.md)).'
    ),
    "ResNet step": (
        "gradients of its 8 taps as forward convolutions; normalisation in loops that go through memory once; and "
        "torch's own normalisation in their place (no difference). Five runs, with the one or the other, gave 1.76x "
        "to 1.87x: the goal is at the edge of what can be measured. Three quarters of a step are convolutions."
    ),
    "LITE epoch": (
        "gradients of depthwise kernels by matrix products; all taps and gradients of a row while it is in the cache "
        "(a step from 84 to 63 ms on one core); these loops on torch's own threads, and normalisation in such a loop "
        "(from 39 to 29 ms on another machine, in bf16; [decision 6](../decisions/0006-convolution-gradients.md)). "
        "LITE was ten times faster than InceptionTime until InceptionTime became faster in turn."
    ),
    "inference with evidence": (
        "batch normalisation folded into the convolutions (1.1x); smaller and larger batches (no change); spectra "
        "(1.3x to 1.4x). Plain inference runs at 60 to 70 % of the peak already. In bf16, by `torch.autocast`, it is "
        "1.9x to 2.0x here, and 2.3x on one thread."
    ),
}


def main() -> None:
    """Read the rows, write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, default=ROOT / "results" / "engine.json", help="What was measured.")
    parser.add_argument("--page", type=Path, default=PAGE, help="What to write.")
    given = parser.parse_args()
    measured = json.loads(given.rows.read_text(encoding="utf-8"))
    facts = {name: value for name, value in measured["machine"].items() if value is not None}
    peaks = ", ".join(f"{speed:.0f} GFLOP/s in {name}" for name, speed in measured["peak_gflops"].items())
    machine = (
        f"Measured on: {', '.join(f'{name} {value}' for name, value in facts.items())}. Best convolution: {peaks}."
    )
    tables = [speeds(measured["rows"]), growth(measured["growth"])]
    parts = ["# The engine beside plain torch", NOTE, machine, *(table.to_markdown(2) for table in tables)]
    parts += missed(measured["rows"])
    with atomic_path(given.page) as temporary:
        temporary.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(f"Wrote {given.page}.")


def speeds(rows: list[dict[str, Any]]) -> Table:
    """Return every figure beside its goal."""
    header = ("figure", "beside", "theirs, ms", "ours, ms", "ratio", "goal", "GFLOP/s", "of peak", "found", "verdict")
    lines = [
        (
            row["figure"],
            row["compared_with"] if row["theirs"] else NONE,
            shown(row["theirs"], "{:,.1f}", 1e3),
            shown(row["ours"], "{:,.1f}", 1e3),
            shown(row["ratio"], "{:.2f}x"),
            row["goal"],
            shown(row["gflops"], "{:.0f}"),
            shown(row["of_peak"], "{:.0%}"),
            row["found"] or NONE,
            row["verdict"],
        )
        for row in rows
    ]
    n_met = sum(row["verdict"] == "met" for row in rows)
    n_judged = sum(row["verdict"] != "not applicable" for row in rows)
    return Table("Speed", "", f"{n_met} of {n_judged} goals met", header, tuple(lines))


def missed(rows: list[dict[str, Any]]) -> list[str]:
    """Return what was tried for the goals that were not met."""
    lines = []
    for row in rows:
        if row["verdict"] == "not met":
            tried = next((text for figure, text in TRIED.items() if row["figure"].startswith(figure)), "nothing yet.")
            lines.append(
                f"- {row['figure']}, {row['goal']}, reached {shown(row['ratio'], '{:.2f}x')}. Tried: {tried}"
            )
    return ["## Goals that were missed", "\n".join(lines)] if lines else []


def growth(measured: list[dict[str, Any]]) -> Table:
    """Return how the cost of a step of InceptionTime grows with each size."""
    lines = []
    for one in measured:
        exponents = [None, *one["exponents"]]
        for size, value, exponent in zip(one["sizes"], one["values"], exponents, strict=True):
            cost = f"{value:,.1f} {one['unit']}"
            lines.append((f"{one['what']} by {one['by']}", f"{size:,}", cost, shown(exponent, "{:.2f}")))
    return Table("Growth of a step", "", "InceptionTime", ("what", "size", "cost", "exponent"), tuple(lines))


def shown(value: float | None, pattern: str, scale: float = 1.0) -> str:
    """Return a number as the table has it, or that there is none."""
    return NONE if value is None else pattern.format(value * scale)


if __name__ == "__main__":
    main()
