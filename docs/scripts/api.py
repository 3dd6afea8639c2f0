"""Write docs/api.md: every public name, with the first line of what its docstring says.

python docs/scripts/api.py
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import millet

PAGE = Path(__file__).parents[1] / "api.md"


def page() -> str:
    """Return the text of the page."""
    lines = [
        "# All public names",
        "",
        "What each one takes and gives is in its docstring: `help(millet.evaluate)`. Packages need no import of",
        "their own: `import millet`, then `millet.plots.plot_examples`.",
        "",
        *_section("millet", "The names to start with."),
    ]
    for package in millet.PACKAGES:
        module = importlib.import_module(f"millet.{package}")
        lines += _section(module.__name__, _first_line(module).partition(": ")[2] or _first_line(module))
    return "\n".join(lines).rstrip() + "\n"


def _section(package: str, title: str) -> list[str]:
    module = importlib.import_module(package)
    names = [name for name in module.__all__ if not name.startswith("_")]
    rows = [f"| `{name}` | {_describe(getattr(module, name))} |" for name in names]
    return [f"## `{package}`", "", title[0].upper() + title[1:], "", "| name | what |", "|---|---|", *rows, ""]


def _describe(thing: object) -> str:
    if callable(thing):
        return _first_line(thing).replace("|", r"\|")
    if isinstance(thing, dict):
        return "By name: " + ", ".join(f"`{key}`" for key in thing)
    if isinstance(thing, tuple):
        return ", ".join(f"{value:.4g}" for value in thing)
    return f"`{thing!r}`"


def _first_line(thing: object) -> str:
    return (inspect.getdoc(thing) or "").partition("\n\n")[0].replace("\n", " ")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
