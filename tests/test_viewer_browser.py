"""The report in a real browser: what a reader sees, clicks, types and downloads. Every page is checked for silence:
no request to anywhere, no message on the console, no error.
"""

import csv
import os
import re
import shutil
from decimal import Decimal
from urllib.parse import quote

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millet
from millet.explanation.intervals import find_spans
from millet.viewer import write_report

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--no-first-run"]  # fmt: skip
EVIL = "</script><img src=x onerror=alert(1)>"
CLASSES = ("calm", "spike", "drift")


def missing(what):
    message = f"The report is tested in a browser: {what}"
    if os.environ.get("CI") == "true":
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


@pytest.fixture(scope="module")
def browser():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("install its driver with: pip install playwright (its own browsers are not needed)")
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        missing(f"install one of {', '.join(BROWSERS)}, on Debian with: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def usual_context(browser):
    return browser.new_context(viewport={"width": 1300, "height": 1000})


@pytest.fixture
def visit(browser, usual_context):
    """Open a report and return its page; afterwards see that it was silent."""
    pages, noises, requests, expected = [], [], [], {"data:image/svg+xml"}

    def visit(path, address="", **options):
        page = browser.new_page(**options) if options else usual_context.new_page()
        pages.append(page)
        expected.add(path.as_uri())
        page.set_default_timeout(20_000)
        page.on("console", lambda message: noises.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: noises.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (noises.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: requests.append(request.url.partition("#")[0]))
        page.goto(f"{path.as_uri()}{address}")
        page.locator('.class[aria-checked="true"]').wait_for()
        return page

    yield visit
    for page in pages:
        page.evaluate("() => localStorage.clear()")
        page.close()
    assert noises == []
    assert {url.partition(",")[0] for url in requests if not url.startswith("blob:")} <= expected


@pytest.fixture(scope="module")
def explanation():
    """60 cases of 200 timepoints; the scores of one class have a bump, and the logits are their means."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(60, 3, 200)) * 0.2
    for case in range(60):
        scores[case, case % 3, 80:120] += 2 + case / 30
    scores[::7] = -scores[::7]
    return millet.Explanation(
        series=np.cumsum(rng.normal(size=(60, 1, 200)), axis=2),
        lengths=np.full(60, 200),
        scores=scores,
        logits=scores.mean(axis=2) + np.array([0.1, 0.0, -0.1]),
        classes=np.array(CLASSES),
        attention=rng.random((60, 200)),
        contributions=scores,
        bias=np.array([0.1, 0.0, -0.1]),
    )


@pytest.fixture(scope="module")
def dataset(explanation):
    relevant = np.zeros((60, 200), dtype=bool)
    relevant[:, 80:120] = True
    y = np.array([CLASSES[case % 3] for case in range(60)])
    return millet.Dataset(name="Toy", X=explanation.series, y=y, classes=np.sort(CLASSES), relevant=relevant)


@pytest.fixture(scope="module")
def report(explanation, dataset, tmp_path_factory):
    metrics = {"accuracy": 0.75, "accuracy_low": 0.7, "accuracy_high": 0.8, "aopcr": 5.25}
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(path, explanation, dataset=dataset, metrics=metrics, model={"Backbone": "lite"})


def view_of(page):
    return page.evaluate("async () => { const { chart } = await page; return [chart.view.start, chart.view.end]; }")


def settled(page):
    """Wait until everything asked for is drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def span_of(page):
    start, end = view_of(page)
    return end - start


def picture_of(page):
    settled(page)
    return page.evaluate("() => document.getElementById('picture').toDataURL()")


def shown_cases(page):
    """The numbers of the rows in the list, from top to bottom."""
    return page.evaluate(
        "() => [...document.querySelectorAll('#list-space .row')]"
        ".sort((a, b) => parseFloat(a.style.top) - parseFloat(b.style.top)).map((row) => row.children[0].textContent)"
    )


def on_chart(page, x=0.5, y=0.3):
    """A place on the panels: shares of their width, and of the chart's height."""
    page.locator("#chart").scroll_into_view_if_needed()
    box = page.locator("#chart").bounding_box()
    return box["x"] + 58 + x * (box["width"] - 68), box["y"] + y * box["height"]


def test_it_opens_with_the_summary_and_a_case(visit, report):
    page = visit(report)
    assert page.title() == "Toy"
    assert page.locator("#subtitle").inner_text() == "60 cases of 200 timepoints, 3 classes"
    scores = page.locator(".score").all_inner_texts()
    assert scores[0].split("\n") == ["Accuracy", "0.750", "95%: 0.700 to 0.800"]
    assert scores[1].split("\n") == ["AOPCR", "5.25"]
    assert "lite" in page.locator("#facts").inner_text()
    assert page.locator("#case-title").inner_text() == "Case 0"
    assert page.locator("#problem").is_hidden()


def test_it_draws_colours_for_and_against(visit, report):
    page = visit(report, "#case=1&class=spike")
    settled(page)
    green, red = page.evaluate(
        """() => {
          const canvas = document.getElementById('picture');
          const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          let [green, red] = [0, 0];
          for (let i = 0; i < data.length; i += 4) {
            green += data[i + 1] > data[i] + 60;
            red += data[i] > data[i + 1] + 60;
          }
          return [green, red];
        }"""
    )
    assert green > 1000
    assert red > 100


def test_filters_leave_the_cases_that_pass(visit, report, explanation, dataset):
    page = visit(report)
    wrong = np.flatnonzero(explanation.predicted != dataset.y)
    page.select_option("#filter-outcome", "wrong")
    assert page.locator("#count").inner_text() == f"{len(wrong)} of 60 cases"
    assert shown_cases(page) == [str(case) for case in wrong]
    page.select_option("#filter-truth", label="drift")
    both = wrong[dataset.y[wrong] == "drift"]
    assert shown_cases(page) == [str(case) for case in both]
    page.click("#clear")
    page.fill("#search", "SPIKE 4")
    hits = [
        str(case) for case in range(60)
        if "4" in str(case) and "spike" in (dataset.y[case], explanation.predicted[case])
    ]  # fmt: skip
    assert shown_cases(page) == hits
    page.fill("#search", "no such thing")
    assert "No case passes" in page.locator("#list-space").inner_text()
    assert page.locator("#count").inner_text() == "0 of 60 cases"
    assert page.locator("#next").is_disabled()


def test_a_cell_of_the_confusion_matrix_filters_and_gives_back(visit, report, explanation, dataset):
    page = visit(report)
    cell = page.locator("#confusion button").first
    label = cell.get_attribute("aria-label")
    count, truth, predicted = re.fullmatch(r"(\d+) cases?: true (\w+), predicted (\w+)", label).groups()
    expected = np.flatnonzero((dataset.y == truth) & (explanation.predicted == predicted))
    assert int(count) == len(expected) == int(cell.inner_text())
    cell.click()
    assert cell.get_attribute("aria-pressed") == "true"
    assert page.locator("#filter-truth option:checked").inner_text() == truth
    assert page.locator("#count").inner_text() == f"{len(expected)} of 60 cases"
    cell.click()
    assert page.locator("#count").inner_text() == "60 cases"


def test_the_list_sorts_by_any_column(visit, report, explanation):
    page = visit(report)
    confidence = explanation.probabilities.max(axis=1)
    page.click('[data-key="confidence"] button')
    assert shown_cases(page)[0] == str(confidence.argmax())
    page.click('[data-key="confidence"] button')
    assert shown_cases(page)[0] == str(confidence.argmin())
    assert page.locator('[data-key="confidence"]').get_attribute("aria-sort") == "ascending"


def test_the_list_rounds_probabilities_as_the_verdict_does(visit, report, explanation):
    page = visit(report)
    shown = [page.locator(f"#row-{case} .number").inner_text() for case in range(8)]
    assert shown == [f"{share:.0%}" for share in explanation.probabilities.max(axis=1)[:8]]


def test_a_click_opens_a_case_and_the_address_follows(visit, report, explanation):
    page = visit(report)
    page.click("#row-5")
    assert page.locator("#case-title").inner_text() == "Case 5"
    assert page.locator("#row-5").get_attribute("aria-selected") == "true"
    assert page.evaluate("() => location.hash") == f"#case=5&class={explanation.predicted[5]}"
    page.click("#next")
    page.click("#next")
    page.click("#previous")
    assert page.locator("#case-title").inner_text() == "Case 6"


def test_an_address_opens_its_case_and_class(visit, report):
    page = visit(report, "#case=12&class=drift")
    assert page.locator("#case-title").inner_text() == "Case 12"
    assert page.locator('.class[aria-checked="true"] span').inner_text() == "drift"
    page.evaluate("() => { location.hash = 'case=13&class=calm'; }")
    page.get_by_role("heading", name="Case 13").wait_for()
    assert page.locator('.class[aria-checked="true"] span').inner_text() == "calm"


def test_the_list_is_walked_with_the_keyboard(visit, report):
    page = visit(report)
    page.focus("#list")
    for key, case in (("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1), ("End", 59), ("Home", 0)):
        page.keyboard.press(key)
        page.get_by_role("heading", name=f"Case {case}", exact=True).wait_for()
        assert page.locator("#list").get_attribute("aria-activedescendant") == f"row-{case}"
        assert page.locator(f"#row-{case}").is_visible()


def test_only_visible_rows_are_in_the_page(visit, report):
    page = visit(report)
    assert page.locator("#list-space .row").count() < 40
    assert page.locator("#list").get_attribute("aria-rowcount") == "61"
    page.locator("#list").evaluate("(list) => { list.scrollTop = 1e6; }")
    page.locator("#row-59").wait_for()
    assert page.locator("#row-0").count() == 0


def test_another_class_shows_other_evidence(visit, report, explanation):
    page = visit(report, "#case=4")
    before = picture_of(page)
    page.get_by_role("radio", name="calm").click()
    assert page.get_by_role("radio", name="calm").get_attribute("aria-checked") == "true"
    assert picture_of(page) != before
    logit = explanation.logits[4, 0]
    assert f"the logit {logit:+.4f}".replace("-", "−") in page.locator("#sum").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator('.class[aria-checked="true"] span').inner_text() == "spike"
    assert page.evaluate("() => document.activeElement.textContent").startswith("spike")


def test_a_pinned_class_stays_with_the_next_case(visit, report, explanation):
    page = visit(report, "#case=0&class=drift")
    page.check("#pin")
    page.click("#next")
    assert page.locator('.class[aria-checked="true"] span').inner_text() == "drift"
    page.uncheck("#pin")
    page.click("#next")
    page.get_by_role("heading", name="Case 2").wait_for()
    assert page.locator('.class[aria-checked="true"] span').inner_text() == explanation.predicted[2]


def test_the_wheel_zooms_where_the_pointer_is(visit, report):
    page = visit(report)
    page.mouse.move(*on_chart(page, x=0.25))
    for _ in range(4):
        page.mouse.wheel(0, -200)
    settled(page)
    start, end = view_of(page)
    assert end - start < 100
    assert (49.5 - start) / (end - start) == pytest.approx(0.25, abs=0.03), "the moment under the pointer stays there"
    assert int(page.locator("#tip span").nth(1).inner_text()) == pytest.approx(49.5, abs=2), "so does the crosshair"
    page.mouse.dblclick(*on_chart(page))
    assert view_of(page) == [-0.5, 199.5]


def test_dragging_selects_then_moves(visit, report):
    page = visit(report)
    for start, stop in ((0.25, 0.75), (0.5, 0.25)):
        page.mouse.move(*on_chart(page, x=start))
        page.mouse.down()
        page.mouse.move(*on_chart(page, x=stop), steps=4)
        page.mouse.up()
        if (start, stop) == (0.25, 0.75):
            assert view_of(page) == pytest.approx([49.5, 149.5], abs=1)
    assert view_of(page) == pytest.approx([74.5, 174.5], abs=1)


def test_two_fingers_zoom(visit, report):
    page = visit(report, has_touch=True)
    session = page.context.new_cdp_session(page)
    y = on_chart(page)[1]

    def touch(kind, *shares):
        points = [{"x": on_chart(page, share)[0], "y": y, "id": finger} for finger, share in enumerate(shares)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 0.4, 0.6)
    touch("touchMove", 0.3, 0.7)
    touch("touchMove", 0.2, 0.8)
    touch("touchEnd")
    settled(page)
    assert view_of(page) == pytest.approx([66.2, 132.8], abs=4)


def test_the_chart_is_used_with_keys(visit, report, explanation):
    page = visit(report, "#case=3")
    page.focus("#chart")
    page.keyboard.press("+")
    page.keyboard.press("+")
    assert span_of(page) == pytest.approx(200 / 1.5**2)
    before = view_of(page)[0]
    page.keyboard.press("ArrowRight")
    assert view_of(page)[0] > before
    page.keyboard.press("-")
    assert span_of(page) == pytest.approx(200 / 1.5)
    page.keyboard.press("0")
    assert view_of(page) == [-0.5, 199.5]
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowLeft")
    readout = dict(part.rsplit(" ", 1) for part in page.locator("#readout").inner_text().split(", "))
    timepoint = int(readout["time"])
    assert timepoint == 100
    code = explanation.predicted_codes[3]
    assert float(readout["value"].replace("−", "-")) == pytest.approx(explanation.series[3, 0, timepoint], rel=6e-4)
    evidence = explanation.scores[3, code, timepoint]
    assert float(readout["evidence"].replace("−", "-")) == pytest.approx(evidence, rel=6e-3)
    assert page.locator("#tip").is_visible()


def test_the_crosshair_reads_what_is_under_the_pointer(visit, report):
    page = visit(report, "#case=3")
    page.mouse.move(*on_chart(page, x=(90 + 0.5) / 200))
    texts = page.locator("#tip span").all_inner_texts()
    assert texts[:2] == ["time", "90"]
    assert texts[-2:] == ["true region", "inside"]
    page.mouse.move(5, 5)
    assert page.locator("#tip").is_hidden()


def test_an_interval_is_zoomed_to(visit, report):
    page = visit(report, "#case=1&class=spike")
    row = page.locator("#intervals tbody tr").first
    start, stop = int(row.locator("td").nth(0).inner_text()), int(row.locator("td").nth(1).inner_text())
    assert 70 < start < stop < 130
    row.get_by_role("button").press("Enter")
    page.wait_for_timeout(400)
    left, right = view_of(page)
    assert left < start < stop < right
    assert right - left < 2.5 * (stop - start + 1)


def test_evidence_against_is_listed_too(visit, report, explanation):
    page = visit(report, "#case=1&class=spike")
    page.get_by_text("Against", exact=True).click()
    means = [cell.inner_text() for cell in page.locator("#intervals tbody td:last-child").all()]
    assert means
    assert all(mean.startswith("−") for mean in means)


def test_dark_mode_follows_the_system_and_the_switch(visit, report):
    page = visit(report, color_scheme="dark")
    background = "() => getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    assert max(map(int, re.findall(r"\d+", dark))) < 60
    before = picture_of(page)
    page.click("#theme-switch")
    assert min(map(int, re.findall(r"\d+", page.evaluate(background)))) > 200
    assert picture_of(page) != before
    page.reload()
    page.locator('.class[aria-checked="true"]').wait_for()
    assert page.evaluate("() => document.documentElement.dataset.theme") == "light", "the choice is remembered"


def test_the_palette_can_be_told_apart_by_everyone(visit, report):
    page = visit(report)
    before = picture_of(page)
    assert "Green speaks for" in " ".join(page.locator(".reading").inner_text().split())
    page.click("#palette-switch")
    assert picture_of(page) != before
    assert "Blue speaks for" in " ".join(page.locator(".reading").inner_text().split())


def test_names_from_data_are_only_ever_text(visit, explanation, tmp_path):
    e = millet.Explanation(
        series=explanation.series[:3], lengths=explanation.lengths[:3], scores=explanation.scores[:3],
        logits=explanation.logits[:3], classes=[0, 1, 2], class_names=(EVIL, "<b>bold</b>", "&lt;i&gt; \u2028 ' \""),
        channel_names=[f"{EVIL} {channel}" for channel in range(explanation.n_channels)],
    )  # fmt: skip
    data = millet.Dataset(name=EVIL, X=e.series, y=np.array([0, 1, 2]), classes=np.arange(3), source=EVIL)
    path = write_report(
        tmp_path / f"{EVIL.replace('/', '')}.html", e, dataset=data, title=EVIL, model={EVIL: EVIL},
        metrics={EVIL: 1.0}, case_names=[EVIL, "a b&c=d#e", "<u>"],
    )  # fmt: skip
    page = visit(path, f"#case={quote('a b&c=d#e')}&class={quote('<b>bold</b>')}")
    assert page.locator("#case-title").inner_text() == "Case a b&c=d#e"
    assert page.locator('.class[aria-checked="true"] span').inner_text() == "<b>bold</b>"
    assert page.locator("h1").inner_text() == EVIL
    for _ in range(2):
        page.click("#previous", force=True)
    page.mouse.move(*on_chart(page))
    assert page.evaluate("async () => (await page).chart.describe(0)[1][0]") == f"{EVIL} 0"
    assert page.locator("img, u, b b, span b").count() == 0
    with page.expect_download() as download:
        page.click("#save-csv")
    assert not re.search(r"[<>/&=#]", download.value.suggested_filename)


def test_the_policy_refuses_what_slips_in(laboratory):
    refused = laboratory.evaluate(
        """() => new Promise((done) => {
          const found = [];
          document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) => {
            found.push(effectiveDirective);
            if (found.length === 3) done(found.sort());
          });
          new Image().src = 'file:///no-such-picture.png';
          const script = document.createElement('script');
          script.textContent = 'document.title = "broken into"';
          document.body.append(script);
          document.body.setAttribute('style', 'display: none');
          setTimeout(() => done(found), 5000);
        })"""
    )
    assert refused == ["img-src", "script-src-elem", "style-src-attr"]
    assert laboratory.title() == "Toy"


def test_a_picture_and_a_table_are_downloaded(visit, report, explanation, tmp_path):
    page = visit(report, "#case=7")
    with page.expect_download() as download:
        page.click("#save-png")
    download.value.save_as(tmp_path / "case.png")
    content = (tmp_path / "case.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    assert download.value.suggested_filename == "Toy-case-7.png"
    assert int.from_bytes(content[16:20], "big") == 2200
    with page.expect_download() as download:
        page.click("#save-csv")
    download.value.save_as(tmp_path / "case.csv")
    with (tmp_path / "case.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 200
    columns = [
        "case",
        "timepoint",
        "time",
        "channel_0",
        "attention",
        *(f"score_{name}" for name in CLASSES),
        "true_region",
    ]
    assert list(rows[0]) == columns
    assert np.allclose([float(row["channel_0"]) for row in rows], explanation.series[7, 0], rtol=5e-4)
    assert np.allclose([float(row["score_drift"]) for row in rows], explanation.scores[7, 2], rtol=5e-4)
    assert [row["timepoint"] for row in rows if row["true_region"] == "1"] == [str(t) for t in range(80, 120)]


@pytest.fixture(scope="module")
def unequal(tmp_path_factory):
    """Five channels, three lengths, gaps, uneven dates, and a class that the model does not know."""
    rng = np.random.default_rng(0)
    lengths = [120, 40, 90]
    series, scores = np.full((3, 5, 120), np.nan), np.zeros((3, 2, 120))
    for case, length in enumerate(lengths):
        series[case, :, :length] = rng.normal(size=(5, length)) + 1000 * np.arange(5)[:, None]
        scores[case, :, :length] = rng.normal(size=(2, length))
    series[0, 1, 10:30] = np.nan
    series[0, 2] = np.nan
    time = np.datetime64("2024-02-28T22:00") + np.cumsum(rng.integers(1, 90, 120)).astype("timedelta64[m]")
    e = millet.Explanation(
        series=series, lengths=lengths, scores=scores, logits=scores.mean(axis=2), classes=["rest", "walk"], time=time
    )
    data = millet.Dataset(
        name="Unequal", X=[series[case, :, :length] for case, length in enumerate(lengths)],
        y=np.array(["rest", "run", "walk"]), classes=np.array(["rest", "run", "walk"]),
    )  # fmt: skip
    return e, write_report(tmp_path_factory.mktemp("unequal") / "report.html", e, dataset=data)


def test_unequal_multivariate_series_with_gaps_and_dates(visit, unequal):
    e, path = unequal
    page = visit(path)
    assert page.locator("#subtitle").inner_text() == "3 cases of 40 to 120 timepoints, 5 channels, 2 classes"
    kinds = page.evaluate("async () => (await page).chart.layout.panels.map((panel) => panel.kind)")
    assert kinds.count("series") == 5
    milliseconds = e.time.astype("datetime64[ms]").astype(np.int64)
    assert view_of(page)[1] == pytest.approx((3 * milliseconds[119] - milliseconds[118]) / 2)
    page.focus("#chart")
    page.keyboard.press("Shift+ArrowRight")
    page.click("#row-1")
    page.get_by_role("heading", name="Case 1").wait_for()
    assert "run" in page.locator("#verdict").inner_text()
    assert view_of(page)[1] == pytest.approx((3 * milliseconds[39] - milliseconds[38]) / 2), "its own length only"
    values = page.evaluate("async () => (await page).chart.describe(39)")
    assert values[0] == ["time", str(e.time[39]).replace("T", " ")]
    assert [label for label, _ in values[1:6]] == [f"channel {channel}" for channel in range(5)]


def test_missing_values_are_gaps(visit, unequal):
    _, path = unequal
    page = visit(path, "#case=0")
    values = dict(page.evaluate("async () => (await page).chart.describe(15)"))
    assert values["channel 1"] == values["channel 2"] == "missing"
    low, high = page.evaluate("async () => (await page).chart.one.channels[1].range")
    assert 990 < low < high < 1010
    empty = page.evaluate("async () => (await page).chart.one.channels[1].extremes.between(12, 28)[0] === Infinity")
    assert empty


def test_a_channel_without_values_says_so_over_any_colour(visit, unequal):
    page = visit(unequal[1], "#case=0")
    settled(page)
    written = page.evaluate(
        """async () => {
          const { chart } = await page;
          const context = chart.picture.getContext("2d");
          const written = [];
          for (const name of ["strokeText", "fillText"]) {
            context[name] = (text) => written.push([name, text, context.strokeStyle, context.fillStyle]);
          }
          chart.draw();
          return written.filter(([, text]) => text === "no value was observed" || text === "channel 2");
        }"""
    )
    assert [name for name, *_ in written] == ["strokeText", "fillText"] * 2
    assert written[0][2:] == written[2][2:], "as channels are named"


def test_sixty_classes_become_a_list_to_search(visit, tmp_path):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(2, 60, 50))
    e = millet.Explanation(
        series=rng.normal(size=(2, 1, 50)), lengths=[50, 50], scores=scores, logits=scores.mean(axis=2) * 9,
        classes=np.arange(60), class_names=tuple(f"kind {code}" for code in range(60)),
    )  # fmt: skip
    page = visit(write_report(tmp_path / "r.html", e))
    names = [name.split(" ")[1] for name in page.locator(".class span").all_inner_texts()]
    assert names[0] == str(e.predicted_codes[0]), "the most probable first"
    page.fill("#class-search", "kind 37")
    assert page.locator(".class:visible").count() == 1
    page.press("#class-search", "Enter")
    assert page.locator('.class[aria-checked="true"] span').inner_text() == "kind 37"
    page.locator("#picture[aria-label*='kind 37']").wait_for()


def test_classes_that_were_left_out_can_not_be_chosen(visit, tmp_path, monkeypatch):
    monkeypatch.setattr("millet.viewer.packing.MAX_EVIDENCE", 0)
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(2, 6, 50))
    e = millet.Explanation(
        series=rng.normal(size=(2, 1, 50)), lengths=[50, 50], scores=scores, logits=scores.mean(axis=2),
        classes=np.arange(6),
    )  # fmt: skip
    page = visit(write_report(tmp_path / "r.html", e))
    assert page.locator(".class:disabled").count() == 3
    left_out = int(np.argmin(e.logits[0]))
    page.evaluate(f"() => {{ location.hash = 'case=0&class={left_out}'; }}")
    settled(page)
    assert page.locator('.class[aria-checked="true"] span').inner_text() == str(e.predicted[0])
    kept = page.evaluate("async () => (await page).chart.one.kept")
    values = page.evaluate(f"async () => [...(await page).chart.one.evidence({kept[-1]}).values]")
    assert np.allclose(values, scores[0, kept[-1]], rtol=5e-4)


def test_one_unlabelled_case_of_one_timepoint_is_enough(visit, tmp_path):
    e = millet.Explanation(
        series=[[[4.0]]], lengths=[1], scores=[[[1.0], [0.0]]], logits=[[1.0, 0.0]], classes=["no", "yes"]
    )
    page = visit(write_report(tmp_path / "r.html", e))
    assert page.locator("#verdict").inner_text() == "Predicted no (73.1%)"
    assert page.locator("#filter-outcome").is_hidden()
    page.focus("#chart")
    for key in ("+", "-", "0", "ArrowLeft", "Shift+ArrowRight"):
        page.keyboard.press(key)
    assert "evidence +1" in page.locator("#readout").inner_text()
    page.get_by_role("radio", name="yes").click()
    assert page.locator("#intervals").inner_text() == "No timepoint speaks for yes."


def test_the_attention_of_a_single_timepoint_can_be_seen(visit, tmp_path):
    e = millet.Explanation(
        series=[[[4.0]]], lengths=[1], scores=[[[1.0], [0.0]]], logits=[[1.0, 0.0]], classes=["no", "yes"],
        attention=[[0.5]],
    )  # fmt: skip
    page = visit(write_report(tmp_path / "r.html", e))
    settled(page)
    blue = page.evaluate(
        """async () => {
          const { chart } = await page;
          const { top, height } = chart.layout.panels.find((panel) => panel.kind === "attention");
          const context = chart.picture.getContext("2d");
          const { data } = context.getImageData(chart.layout.left + 2, top + 2, chart.layout.inner - 4, height - 4);
          return data.filter((value, i) => i % 4 === 2 && value > data[i - 2] + 60).length;
        }"""
    )
    assert blue > 4


def test_a_name_without_blanks_stays_in_the_page(visit, explanation, dataset, tmp_path):
    names = ("a" * 300, "b" * 300, "c" * 300)
    e = millet.Explanation(
        series=explanation.series[:3], lengths=explanation.lengths[:3], scores=explanation.scores[:3],
        logits=explanation.logits[:3], classes=[0, 1, 2], class_names=names,
        contributions=explanation.scores[:3], bias=explanation.bias,
    )  # fmt: skip
    data = millet.Dataset(name="Long", X=e.series, y=np.array([0, 1, 2]), classes=np.arange(3))
    page = visit(write_report(tmp_path / "r.html", e, dataset=data), viewport={"width": 700, "height": 800})
    assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
    for place in ("#verdict", "#sum", "#intervals", "#case-view"):
        assert page.locator(place).evaluate("(place) => place.scrollWidth <= place.clientWidth"), place


@pytest.mark.parametrize("n_classes", [3, 20])
def test_the_cells_of_the_confusion_matrix_stand_in_straight_rows(visit, tmp_path, n_classes):
    e = millet.Explanation(
        series=np.zeros((9, 1, 5)), lengths=np.full(9, 5), scores=np.ones((9, n_classes, 5)),
        logits=np.eye(n_classes)[np.arange(9) % 3], classes=np.arange(n_classes),
    )  # fmt: skip
    y = np.arange(9) % n_classes
    data = millet.Dataset(name="Many", X=e.series, y=y, classes=np.arange(n_classes))
    page = visit(write_report(tmp_path / "r.html", e, dataset=data))
    rows = page.evaluate(
        """() => [...document.querySelectorAll('#confusion tbody tr')].map((row) =>
          [...row.querySelectorAll('td > *')].map((cell) => cell.getBoundingClientRect().top))"""
    )
    assert all(len(row) == n_classes and max(row) - min(row) < 0.5 for row in rows)
    steps = np.diff([row[0] for row in rows])
    assert steps.max() - steps.min() < 0.5
    assert page.locator("#confusion thead tr").bounding_box()["height"] < 36, "short names need little room"


@pytest.mark.slow
def test_a_hundred_thousand_timepoints_zoom_without_losing_a_spike(visit, tmp_path):
    rng = np.random.default_rng(0)
    series = np.cumsum(rng.normal(size=100_000)) / 100
    series[61_234] += 500
    scores = rng.normal(size=(1, 4, 100_000))
    e = millet.Explanation(
        series=series[None, None], lengths=[100_000], scores=scores, logits=scores.mean(axis=2), classes=list("abcd")
    )
    page = visit(write_report(tmp_path / "r.html", e))
    highest = page.evaluate(
        """async () => {
          const { chart } = await page;
          const starts = chart.axis.columns(chart.view, 1000, 100000);
          const { extremes } = chart.one.channels[0];
          return Math.max(...[...Array(1000).keys()].map((at) => extremes.between(starts[at], starts[at + 1])[1]));
        }"""
    )
    assert highest == pytest.approx(series.max(), rel=1e-4)
    milliseconds = page.evaluate(
        """async () => {
          const { chart } = await page;
          const times = [];
          for (let i = 0; i < 60; i++) {
            const began = performance.now();
            chart.zoom(i < 30 ? 0.8 : 1.25, 61234);
            chart.draw();
            times.push(performance.now() - began);
          }
          return times.sort((a, b) => a - b);
        }"""
    )
    # Loose, for busy machines: without the decimation a frame takes seconds, with it a few milliseconds.
    assert milliseconds[30] < 250
    page.mouse.move(*on_chart(page, x=0.6))
    frames = page.evaluate("async () => (await page).chart.frames")
    for _ in range(10):
        page.mouse.wheel(0, -300)
    settled(page)
    assert page.evaluate("async () => (await page).chart.frames") > frames
    assert span_of(page) < 10_000


def test_a_phone_scrolls_down_only(visit, report):
    page = visit(report, viewport={"width": 380, "height": 800}, has_touch=True, is_mobile=True)
    assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
    page.tap("#row-2")
    page.get_by_role("heading", name="Case 2").wait_for()
    page.wait_for_timeout(800)
    assert page.locator("#case-title").bounding_box()["y"] < 200


def test_everything_is_reached_with_the_tab_key(visit, report):
    page = visit(report)
    reached = []
    while "BODY" not in reached:
        page.keyboard.press("Tab")
        name, visible = page.evaluate(
            """() => {
              const at = document.activeElement;
              const shown = at.name === 'kind' ? at.nextElementSibling : at;
              const name = at.id || at.name || at.className || at.tagName;
              return [name, getComputedStyle(shown).outlineStyle !== 'none'];
            }"""
        )
        reached.append(name)
        assert visible or name == "BODY", f"{name} does not show that it has the focus"
        assert len(reached) < 100
    assert reached[0] == "skip"
    wanted = {"theme-switch", "palette-switch", "search", "filter-outcome", "list", "next", "chart", "class",
              "zoom-in", "save-png", "save-csv", "kind"}  # fmt: skip
    assert wanted <= set(reached)


def test_the_skip_link_leads_to_the_case(visit, report):
    page = visit(report)
    page.keyboard.press("Tab")
    assert page.locator("#skip").bounding_box()["y"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.id") == "case-view"


def test_every_control_has_a_name(visit, report):
    page = visit(report)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('button, input, select, [tabindex="0"]')].filter((control) =>
          !(control.textContent.trim() || control.getAttribute('aria-label') || control.closest('label'))
        ).map((control) => control.outerHTML)"""
    )
    assert nameless == []


@pytest.fixture(scope="module")
def laboratory(browser, report):
    """A page in which functions of the report can be called by themselves."""
    page = browser.new_page()
    page.goto(report.as_uri())
    page.locator('.class[aria-checked="true"]').wait_for()
    yield page
    page.close()


@settings(max_examples=40, deadline=None)
@given(
    values=st.lists(st.integers(-20, 20), min_size=1, max_size=40),
    kind=st.sampled_from(["support", "refute"]),
    coverage=st.sampled_from([0.3, 0.8, 1.0]),
    gap=st.integers(0, 3),
)
def test_intervals_are_those_of_the_library(laboratory, values, kind, coverage, gap):
    found = laboratory.evaluate(
        "([values, ...rest]) => topIntervals(values, ...rest, 100)", [values, kind, coverage, gap]
    )
    expected = find_spans(np.array(values, dtype=float), kind, coverage, gap)
    assert [(span["start"], span["stop"]) for span in found] == [(span.start, span.stop) for span in expected]
    assert [span["share"] for span in found] == pytest.approx([span.share for span in expected])
    assert [span["mean"] for span in found] == pytest.approx([span.mean for span in expected])


@settings(max_examples=30, deadline=None)
@given(values=st.lists(st.none() | st.integers(-9, 9), min_size=1, max_size=33), data=st.data())
def test_extremes_agree_with_looking_at_every_value(laboratory, values, data):
    start = data.draw(st.integers(0, len(values) - 1))
    stop = data.draw(st.integers(start + 1, len(values)))
    found = laboratory.evaluate(
        "([values, start, stop]) => new Extremes(values.map((value) => value ?? NaN)).between(start, stop)",
        [values, start, stop],
    )
    observed = [value for value in values[start:stop] if value is not None]
    assert found == ([min(observed), max(observed)] if observed else [np.inf, -np.inf])


@settings(max_examples=30, deadline=None)
@given(
    steps=st.lists(st.integers(1, 9), min_size=1, max_size=20),
    moments=st.lists(st.floats(-20, 200), min_size=1, max_size=5),
    even=st.booleans(),
)
def test_every_moment_belongs_to_the_nearest_timepoint(laboratory, steps, moments, even):
    times = np.arange(len(steps) + 1) * 3.0 if even else np.cumsum([0, *steps]).astype(float)
    found = laboratory.evaluate(
        """([times, moments, even]) => {
          const axis = new TimeAxis({ kind: "number", start: 0, step: 3 }, even ? null : times);
          return moments.map((moment) => axis.cellAt(moment, times.length));
        }""",
        [times.tolist(), moments, even],
    )
    for moment, timepoint in zip(moments, found, strict=True):
        if times[0] <= moment <= times[-1]:
            assert abs(times[timepoint] - moment) == pytest.approx(np.abs(times - moment).min())


@settings(max_examples=60, deadline=None)
@given(
    low=st.floats(-1e6, 1e6),
    span=st.floats(1e-3, 1e6),
    height=st.sampled_from([52, 64, 96, 250]),
    wanted=st.sampled_from([2, 3, 4]),
)
def test_every_scale_has_at_least_two_numbers(laboratory, low, span, height, wanted):
    texts = laboratory.evaluate(
        """([low, high, height, wanted]) => {
          const texts = [];
          const panel = { top: 0, height };
          const context = { fillText: (text) => texts.push(text) };
          valueTicks(context, panel, { layout: { left: 58 }, colours: {} }, heights(panel, low, high), wanted);
          return texts;
        }""",
        [low, low + span, height, wanted],
    )
    assert 2 <= len(set(texts)) == len(texts) <= 13


@pytest.mark.parametrize("n_timepoints", [1, 2, 3, 6, 29])
def test_whole_timepoints_have_whole_ticks(laboratory, n_timepoints):
    ticks = laboratory.evaluate(
        """(length) => {
          const axis = new TimeAxis({ kind: "number", start: 0, step: 1 }, null);
          const { step, ticks } = axis.ticks(axis.whole(length), 12);
          return ticks.map((tick) => axis.format(tick, step));
        }""",
        n_timepoints,
    )
    assert ticks[0] == "0"
    assert all(tick.isdigit() for tick in ticks)


@settings(max_examples=60, deadline=None)
@given(bias=st.floats(-1e4, 1e4), logit=st.floats(-1e4, 1e4))
def test_the_sum_adds_up_as_it_is_read(laboratory, bias, logit):
    texts = laboratory.evaluate("([bias, logit]) => formatSum(bias, logit)", [bias, logit])
    mean, shown_bias, shown_logit = (Decimal(text.replace("−", "-")) for text in texts)
    assert mean + shown_bias == shown_logit
    size = max(abs(bias), abs(logit), abs(logit - bias))
    assert float(shown_bias) == pytest.approx(bias, rel=0, abs=1e-3 * size + 1e-20)
    assert float(shown_logit) == pytest.approx(logit, rel=0, abs=1e-3 * size + 1e-20)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("formatNumber(0.000123456)", "0.000123"),
        ("formatNumber(1234.5)", "1235"),
        ("formatNumber(-2.5)", "−2.5"),
        ("formatNumber(0)", "0"),
        ("formatNumber(1.5e-9)", "1.5e−9"),
        ("formatNumber(-3e12)", "−3e12"),
        ("formatNumber(NaN)", "missing"),
        ("formatSigned(3)", "+3"),
        ("formatShare(0.99999)", "> 99.9%"),
        ("formatShare(0.9994)", "99.9%"),
        ("formatShare(0.00001)", "< 0.1%"),
        ("formatShare(0)", "0.0%"),
        ("formatShare(0.888, 0)", "89%"),
        ("formatShare(0.994, 0)", "99%"),
        ("formatShare(0.996, 0)", "> 99%"),
        ("formatShare(1, 0)", "100%"),
        ("formatSum(-1.003, -0.188).join(' ')", "+0.815 −1.003 −0.188"),
        ("formatSum(0, 0).join(' ')", "0.000 0.000 0.000"),
        ("formatShare(1)", "100.0%"),
        ("formatShare(0.25)", "25.0%"),
        ("formatTick(0.30000000000000004, 0.1)", "0.3"),
        ("formatTick(-20, 10)", "−20"),
        ("formatTick(3e12, 1e12)", "3e12"),
        ("formatTick(1700000060, 60)", "1700000060"),
        ("formatTick(20240101, 1)", "20240101"),
        ("formatTick(0.5000001, 1e-7)", "0.5000001"),
        ("formatTick(2e-6, 1e-6)", "2e−6"),
        ("new TimeAxis({ kind: 'number', start: 1.7e12, step: 100 }).describe(3)", "1700000000300"),
        ("new TimeAxis({ kind: 'number', start: 0.5, step: 1e-7 }).describe(1)", "0.5000001"),
        ("new TimeAxis({ kind: 'number', start: 0, step: 0.1 }).describe(3)", "0.3"),
        ("new TimeAxis({ kind: 'number' }, [7]).describe(0)", "7"),
        (
            "new TimeAxis({ kind: 'datetime', start: Date.UTC(2024, 1, 29), step: 0.25 }).describe(3)",
            "2024-02-29 00:00:00.000750",
        ),
        (
            "new TimeAxis({ kind: 'datetime', start: Date.UTC(2024, 1, 29), step: 0.25 }).describe(4)",
            "2024-02-29 00:00:00.001",
        ),
        ("new TimeAxis({ kind: 'datetime' }).format(Date.UTC(2024, 1, 29, 6) + 0.5, 0.5)", "06:00:00.000500"),
        ("new TimeAxis({ kind: 'datetime' }).format(Date.UTC(2024, 1, 29, 6), 3600e3)", "06:00"),
        ("new TimeAxis({ kind: 'datetime' }).format(Date.UTC(2024, 1, 29), 3600e3)", "2024-02-29"),
    ],
)
def test_numbers_are_written_for_people(laboratory, call, text):
    assert laboratory.evaluate(f"() => {call}") == text


def test_a_level_keeps_its_digits_and_rounding_does_not_hang_the_page(visit, tmp_path):
    noise = np.full(50, 0.3)
    noise[10:20] = 0.1 + 0.2
    level = 1.7e9 + np.arange(50) / 4
    time = np.datetime64("2024-01-01T20:00") + np.arange(50) * np.timedelta64(1, "h")
    explanation = millet.Explanation(
        series=np.stack([noise, level])[None], lengths=[50], classes=["a", "b"], logits=[[0.0, 1.0]],
        scores=np.zeros((1, 2, 50)), time=time,
    )  # fmt: skip
    page = visit(write_report(tmp_path / "report.html", explanation))
    with page.expect_download() as download:
        page.click("#save-csv")
    table = pd.read_csv(download.value.path())
    np.testing.assert_array_equal(pd.to_datetime(table["time"]), time)
    np.testing.assert_allclose(table["channel_1"], level, rtol=0, atol=1e-3)
    assert page.evaluate("async () => (await page).chart.describe(1)[2][1]") == "1.70000000025e9"
