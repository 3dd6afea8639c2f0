"""Photograph the report of a saved WebTraffic model for the docs: ``python docs/scripts/screenshots.py MODEL``.

A model to show is what ``millet demo`` leaves in ``millet-demo/model``. Needs Chromium and the package playwright.
"""

from __future__ import annotations

import argparse
import dataclasses
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

import millet
from millet.reporting import report_run

IMAGES = Path(__file__).parent.parent / "images"
PEAK = 8


def main() -> None:
    """Write the report to a temporary folder and photograph it, light and dark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--out", type=Path, default=IMAGES, help="Folder for the pictures.")
    arguments = parser.parse_args()
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        parser.error("no Chromium found; on Debian: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        report, case = _write(Path(folder) / "report.html", arguments.model)
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        address = f"{report.as_uri()}#case={case}"
        _photograph(browser, address, arguments.out / "report.png", scheme="light")
        _photograph(browser, address, arguments.out / "report-dark.png", scheme="dark", palette="colorblind")
        browser.close()


def _write(path: Path, model: Path) -> tuple[Path, int]:
    """Write the report; return it and the peak that the model is surest of."""
    _, test = millet.load_dataset("WebTraffic")
    classifier = millet.load_classifier(model)
    explanation = dataclasses.replace(classifier.explain(test.X), class_names=test.class_names)
    peaks = [case for case in range(len(test)) if test.y[case] == PEAK]
    case = max(peaks, key=lambda peak: explanation.probabilities[peak, PEAK])
    return report_run(path, classifier, explanation, test), case


def _photograph(browser: Browser, address: str, out: Path, *, scheme: str, palette: str = "green-red") -> None:
    page = browser.new_page(viewport={"width": 1360, "height": 900}, color_scheme=scheme)
    page.goto(address)
    page.locator('.class[aria-checked="true"]').wait_for()
    if palette == "colorblind":
        page.click("#palette-switch")
    page.evaluate("() => document.activeElement.blur()")
    page.wait_for_timeout(1500)  # the small pictures of the list
    page.screenshot(path=out, full_page=True)
    page.close()


if __name__ == "__main__":
    main()
