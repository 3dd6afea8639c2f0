"""How large a report is, and how long it takes to write it, to open it, and to draw a frame.

    python benchmarks/report.py [--cases 500] [--classes 10] [--length 1008]

The evidence is random walks, which compress about as well as a network's. Opening ends when the first case is drawn.
A second report holds one series of 100,000 timepoints. Needs Chromium and the package playwright.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, sync_playwright

import millet
from millet.viewer import write_report

ZOOM = """async () => {
  const { chart } = await page;
  const middle = (chart.view.start + chart.view.end) / 2;
  const times = [];
  for (let i = 0; i < 100; i++) {
    const began = performance.now();
    chart.zoom(i < 50 ? 0.9 : 1 / 0.9, middle);
    chart.draw();
    times.push(performance.now() - began);
  }
  return times;
}"""


def make_explanation(n_cases: int, n_classes: int, length: int) -> millet.Explanation:
    rng = np.random.default_rng(0)
    scores = np.cumsum(rng.standard_normal((n_cases, n_classes, length), dtype=np.float32), axis=2)
    series = np.cumsum(rng.standard_normal((n_cases, 1, length)), axis=2)
    return millet.Explanation(
        series=series,
        lengths=np.full(n_cases, length),
        scores=scores,
        logits=scores.mean(axis=2),
        classes=np.arange(n_classes),
        attention=rng.random((n_cases, length), dtype=np.float32),
    )


def measure(browser: Browser, folder: Path, n_cases: int, n_classes: int, length: int) -> None:
    explanation = make_explanation(n_cases, n_classes, length)
    began = time.perf_counter()
    path = write_report(folder / "report.html", explanation)
    written = time.perf_counter() - began
    opened, frames = [], []
    for _ in range(5):
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.goto(path.as_uri())
        page.locator('.class[aria-checked="true"]').wait_for()
        opened.append(
            page.evaluate("async () => { await page; return performance.getEntriesByName('ready')[0].startTime; }")
        )
        frames += page.evaluate(ZOOM)
        page.close()
    print(
        f"{n_cases} cases x {n_classes} classes x {length} timepoints: {path.stat().st_size / 1e6:.1f} MB, "
        f"written in {written:.1f} s, open after {min(opened) / 1e3:.2f} s, "
        f"a frame in {statistics.median(frames):.1f} ms (worst of {len(frames)}: {max(frames):.0f} ms)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--length", type=int, default=1008)
    arguments = parser.parse_args()
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        parser.error("no Chromium found; on Debian: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        measure(browser, Path(folder), arguments.cases, arguments.classes, arguments.length)
        measure(browser, Path(folder), 1, arguments.classes, 100_000)
        browser.close()


if __name__ == "__main__":
    main()
