"""The report as a file: what it holds, how exactly, how safely, and what it refuses."""

import base64
import dataclasses
import gzip
import hashlib
import html.parser
import json
import re

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import millet
from millet.cli import cli
from millet.errors import MilletError, ParameterError
from millet.viewer import model_facts, write_report
from millet.viewer import packing as packing_module
from millet.viewer.facts import accuracy_row, describe_scores
from millet.viewer.packing import kept_classes, pack_case, rounded, runs
from millet.viewer.report import SCRIPTS, _asset

EVIL = "</script><img src=x onerror=alert(1)>"


def make_explanation(n_cases=4, n_channels=1, n_timepoints=30, classes=("calm", "spike"), seed=0, **more):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_cases, len(classes), n_timepoints))
    return millet.Explanation(
        series=rng.normal(size=(n_cases, n_channels, n_timepoints)),
        lengths=np.full(n_cases, n_timepoints),
        scores=scores,
        logits=scores.mean(axis=2),
        classes=np.array(classes),
        **more,
    )


ALL_OF_29 = np.ones((4, 29), dtype=bool)


def make_dataset(explanation, y, classes, **more):
    return millet.Dataset(name="Toy", X=explanation.series, y=np.array(y), classes=np.array(classes), **more)


def unpacked(text):
    return gzip.decompress(base64.b64decode(text, validate=True))


class Page(html.parser.HTMLParser):
    """What a browser's parser sees: tags in order, and the text of scripts and styles."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.texts = [], [], []
        self.feed(path.read_text(encoding="utf-8"))
        self.data = json.loads(self.text_of(id="data"))

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes.append(dict(attributes))
        self.texts.append("")

    def handle_endtag(self, tag):
        self.tags.append(f"/{tag}")
        self.attributes.append({})
        self.texts.append("")

    def handle_data(self, data):
        if self.texts:
            self.texts[-1] += data

    def text_of(self, tag="script", **attributes):
        for position, found in enumerate(self.attributes):
            if self.tags[position] == tag and all(found.get(name) == value for name, value in attributes.items()):
                return self.texts[position]
        raise AssertionError(f"no {tag} with {attributes}")

    def script(self):
        """The only script that runs."""
        [script] = [
            text for tag, found, text in zip(self.tags, self.attributes, self.texts, strict=True)
            if tag == "script" and "type" not in found
        ]  # fmt: skip
        return script


class SectionReader:
    """The other side of the packing, written as slowly as possible."""

    def __init__(self, text):
        self.content = unpacked(text)

    def take(self, dtype, count):
        size = np.dtype(dtype).itemsize
        sorted_bytes, self.content = self.content[: size * count], self.content[size * count :]
        items = [bytes(sorted_bytes[place * count + item] for place in range(size)) for item in range(count)]
        return np.frombuffer(b"".join(items), dtype=dtype)


def read_case(text, n_channels, n_rows, n_timepoints, n_classes, differences=False):
    reader = SectionReader(text)
    logits = reader.take("<f4", n_classes)
    offsets, scales = reader.take("<f8", n_channels), reader.take("<f8", n_channels)
    series = reader.take("<f4", n_channels * n_timepoints).reshape(n_channels, n_timepoints)
    row_scales = reader.take("<f8", n_rows)
    bits = reader.take("<u2", n_rows * n_timepoints).reshape(n_rows, n_timepoints)
    if differences:
        bits = (np.cumsum(bits.astype(np.int64), axis=1) % 65536).astype("<u2")
    assert reader.content == b"", "nothing is left over"
    rows = bits.view("<f2").astype(np.float64) * row_scales[:, None]
    return logits, offsets[:, None] + scales[:, None] * series.astype(np.float64), rows


def right_to_three_digits(found, wanted):
    return np.all(np.abs(found - wanted) <= 5e-4 * np.abs(wanted))


@settings(max_examples=60, deadline=None)
@given(
    values=arrays.arrays(np.float64, (2, 7), elements=st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-3)),
    size=st.integers(-250, 250),
    differences=st.booleans(),
)
def test_packed_evidence_is_right_to_three_digits_whatever_its_size(values, size, differences):
    evidence = values * 10.0**size
    text = pack_case(np.zeros((1, 7)), evidence, np.zeros(3), evidence[0], differences=differences)
    _, _, rows = read_case(text, 1, 3, 7, 3, differences)
    assert right_to_three_digits(rows[:2], evidence)
    assert right_to_three_digits(rows[2], evidence[0])


@settings(max_examples=60, deadline=None)
@given(
    values=arrays.arrays(np.float64, (3, 9), elements=st.floats(-1, 1, width=32)),
    level=st.sampled_from([0.0, 1.0, -5.0, 1e3, -1e9]),
    scale=st.sampled_from([1e-30, 1e-3, 1.0, 1e5, 1e200]),
)
def test_packed_series_are_exact_to_the_pixel_and_to_three_digits(values, level, scale):
    series = (level + values) * scale
    _, found, _ = read_case(pack_case(series, np.zeros((1, 9)), np.zeros(2), None), 3, 1, 9, 2)
    # A value next to nothing beside the others may be shown as nothing.
    assert np.all(np.abs(found - series) <= 5e-4 * np.abs(series) + 1e-20 * np.abs(series).max())
    ranges = series.max(axis=1) - series.min(axis=1)
    assert np.all(np.abs(found - series).max(axis=1) <= 3e-4 * ranges + 1e-15 * np.abs(series).max(axis=1))


def test_missing_values_stay_missing():
    series = np.array([[1.0, np.nan, 3.0], [np.nan] * 3])
    logits, found, _ = read_case(pack_case(series, np.zeros((1, 3)), np.array([1.5, -2.0]), None), 2, 1, 3, 2)
    assert np.array_equal(np.isnan(found), np.isnan(series))
    assert found[0, [0, 2]].tolist() == [1.0, 3.0]
    assert logits.tolist() == [1.5, -2.0]


def test_rounding_goes_to_the_nearest_and_leaves_a_byte_of_zeros():
    values = np.random.default_rng(0).normal(size=1000)
    bits = rounded(values)
    assert not (bits & 0xFF).any()
    assert np.all(np.abs(bits.view(np.float32) - values) <= 2.0**-16 * np.abs(values) * 1.0001)


def test_a_report_holds_every_case(tmp_path):
    e = make_explanation(n_cases=3, n_channels=2, attention=np.random.default_rng(1).random((3, 30)))
    page = Page(write_report(tmp_path / "r.html", e))
    for case in range(3):
        text = page.text_of(id=f"case-{case}")
        logits, series, rows = read_case(text, 2, 3, 30, 2, page.data["differences"])
        assert np.allclose(logits, e.logits[case])
        assert np.allclose(series, e.series[case], rtol=1e-4)
        assert right_to_three_digits(rows, np.concatenate([e.scores[case], e.attention[case][None]]))
    assert page.data["cases"]["predicted"] == e.predicted_codes.tolist()
    assert np.allclose(page.data["cases"]["confidence"], e.probabilities.max(axis=1), rtol=1e-5)


def test_what_is_almost_certain_is_not_called_certain(tmp_path):
    e = make_explanation(n_cases=1)
    e = dataclasses.replace(e, logits=np.array([[15.0, 0.0]]))
    assert 0.9999995 < e.probabilities.max() < 1
    assert Page(write_report(tmp_path / "r.html", e)).data["cases"]["confidence"] == [0.999999]


def test_a_short_case_takes_only_its_own_length(tmp_path):
    series = np.full((2, 1, 8), np.nan)
    series[0, 0, :3], series[1] = 1.0, 2.0
    scores = np.zeros((2, 2, 8))
    e = millet.Explanation(series=series, lengths=[3, 8], scores=scores, logits=np.zeros((2, 2)), classes=[0, 1])
    page = Page(write_report(tmp_path / "r.html", e))
    assert page.data["cases"]["lengths"] == [3, 8]
    assert read_case(page.text_of(id="case-0"), 1, 2, 3, 2)[1].tolist() == [[1.0, 1.0, 1.0]]


def test_labels_regions_and_names_come_from_the_dataset(tmp_path):
    e = make_explanation(classes=(1, 2))
    relevant = np.zeros((4, 30), dtype=bool)
    relevant[0, 3:6] = relevant[0, 8] = True
    relevant[1] = True
    data = make_dataset(e, [1, 2, 2, 1], [1, 2], relevant=relevant, class_names=("low", "high"), split="test")
    page = Page(write_report(tmp_path / "r.html", e, dataset=data, case_names=["a", "b", "c", "d"]))
    assert page.data["title"] == "Toy (test)"
    assert page.data["classes"] == ["low", "high"]
    assert page.data["cases"]["truth"] == [0, 1, 1, 0]
    assert page.data["cases"]["regions"] == [[[3, 6], [8, 9]], [], [], []], "a region of everything is none"
    assert page.data["cases"]["names"] == ["a", "b", "c", "d"]
    assert Page(write_report(tmp_path / "r.html", e[[3, 1]])).data["cases"]["names"] == ["3", "1"]
    named = dataclasses.replace(data, case_names=("w", "x", "y", "z"))
    assert Page(write_report(tmp_path / "r.html", e, dataset=named)).data["cases"]["names"] == ["w", "x", "y", "z"]


def test_a_true_class_that_the_model_does_not_know_is_shown_as_such(tmp_path):
    e = make_explanation(n_cases=3)
    page = Page(
        write_report(
            tmp_path / "r.html", e, dataset=make_dataset(e, ["calm", "new", "spike"], ["calm", "new", "spike"])
        )
    )
    assert page.data["classes"] == ["calm", "spike", "new"]
    assert page.data["nClasses"] == 2
    assert page.data["cases"]["truth"] == [0, 2, 1]


def test_accuracy_is_computed_where_it_was_not_given(tmp_path):
    e = make_explanation()
    data = make_dataset(e, e.predicted, ["calm", "spike"])
    [score] = Page(write_report(tmp_path / "r.html", e, dataset=data)).data["scores"]
    assert (score["label"], score["value"], score["high"]) == ("Accuracy", 1.0, 1.0)
    [score] = Page(write_report(tmp_path / "r.html", e, dataset=data, metrics={"accuracy": 0.5})).data["scores"]
    assert (score["value"], score["low"]) == (0.5, None)


@given(right=st.integers(0, 40), wrong=st.integers(0, 40))
def test_wilsons_interval_holds_exactly_the_shares_that_the_normal_test_accepts(right, wrong):
    n = right + wrong
    if n == 0:
        return
    row = accuracy_row(np.arange(n) < right)
    for share in (row["accuracy_low"], row["accuracy_high"]):
        distance = abs(row["accuracy"] - share)
        limit = 1.959963984540054 * np.sqrt(share * (1 - share) / n)
        assert distance == pytest.approx(limit, abs=1e-6)
    assert 0 <= row["accuracy_low"] <= row["accuracy"] <= row["accuracy_high"] <= 1


def test_only_scores_of_a_row_are_shown():
    row = {
        "dataset": "Web", "n_cases": 5, "auroc": float("nan"), "my_own_score": np.float32(2), "flag": True,
        "loss": 1.0, "loss_low": 0.5, "loss_high": 2.0, "below_low": 3.0,
    }  # fmt: skip
    assert [entry["label"] for entry in describe_scores(row)] == ["My own score", "Loss", "Below low"]


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (None, {"kind": "number", "start": 0.0, "step": 1.0}),
        (np.arange(30) * 0.1 + 5, {"kind": "number", "start": 5.0}),
        (np.datetime64("1970-01-02T00:00") + np.arange(30) * np.timedelta64(1, "h"),
         {"kind": "datetime", "start": 86_400_000.0, "step": 3_600_000.0}),
    ],
)  # fmt: skip
def test_an_even_time_axis_takes_no_room(tmp_path, time, expected):
    e = make_explanation(**({} if time is None else {"time": time}))
    described = Page(write_report(tmp_path / "r.html", e)).data["time"]
    assert described["packed"] is None
    assert expected.items() <= described.items()


def test_an_uneven_time_axis_is_kept_in_full(tmp_path):
    time = np.cumsum(np.random.default_rng(0).random(30)) + 1.7e9
    described = Page(write_report(tmp_path / "r.html", make_explanation(time=time))).data["time"]
    assert np.array_equal(SectionReader(described["packed"]).take("<f8", 30), time)


def test_the_sum_is_only_promised_where_scores_are_contributions(tmp_path):
    e = make_explanation()
    whole = make_explanation(contributions=e.scores, bias=np.zeros(2))
    other = make_explanation(contributions=e.scores * 2, bias=np.zeros(2))
    assert [Page(write_report(tmp_path / "r.html", one)).data["bias"] for one in (e, whole, other)] == [
        None,
        [0.0, 0.0],
        None,
    ]


def test_a_big_report_keeps_the_most_probable_classes_and_the_true_one(monkeypatch):
    monkeypatch.setattr(packing_module, "MAX_EVIDENCE", 4 * 100)
    probabilities = np.tile(np.linspace(0.3, 0.01, 10), (2, 1))
    kept = kept_classes(probabilities, np.array([50, 50]), np.array([9, -1]))
    assert [np.flatnonzero(row).tolist() for row in kept] == [[0, 1, 2, 3, 9], [0, 1, 2, 3]]
    assert kept_classes(probabilities, np.array([1, 1]), None).all()
    assert kept_classes(probabilities, np.array([10**9, 1]), None).sum(axis=1).tolist() == [3, 3]


def test_a_thinned_report_names_what_it_keeps(tmp_path, monkeypatch):
    monkeypatch.setattr(packing_module, "MAX_EVIDENCE", 4 * 4 * 30)
    e = make_explanation(classes=tuple("abcdefgh"))
    page = Page(write_report(tmp_path / "r.html", e))
    kept = page.data["cases"]["kept"][2]
    assert sorted(kept) == sorted(np.argsort(-e.logits[2])[:4].tolist())
    assert right_to_three_digits(
        read_case(page.text_of(id="case-2"), 1, 4, 30, 8, page.data["differences"])[2], e.scores[2, kept]
    )


@given(st.lists(st.booleans(), max_size=30))
def test_runs_agree_with_walking_along(marks):
    found = [timepoint for start, stop in runs(np.array(marks, dtype=bool)) for timepoint in range(start, stop)]
    assert found == [timepoint for timepoint, mark in enumerate(marks) if mark]


def test_nothing_but_its_own_script_and_style_may_run(tmp_path):
    page = Page(write_report(tmp_path / "r.html", make_explanation()))
    [policy] = [found["content"] for found in page.attributes if found.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))

    def digest(text):
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == digest(page.script())
    assert rules["style-src"] == digest(page.text_of("style"))
    assert "unsafe" not in policy
    assert page.attributes[page.tags.index("meta") + 1] is not None
    assert page.tags.index("meta") < page.tags.index("style")


def test_names_from_data_can_not_become_markup(tmp_path):
    names = (EVIL, "<!--", "a\u2028b&amp;", "\ud800")
    e = make_explanation(classes=(0, 1, 2, 3), class_names=names)
    plain = Page(write_report(tmp_path / "plain.html", make_explanation(classes=(0, 1, 2, 3))))
    page = Page(
        write_report(
            tmp_path / "r.html", e, title=EVIL, model={EVIL: EVIL}, metrics={EVIL: 1.0},
            dataset=make_dataset(e, [0, 1, 2, 3], [0, 1, 2, 3], source=EVIL),
            case_names=[EVIL, "{{script}}", "c", "d"],
        )
    )  # fmt: skip
    assert page.tags == plain.tags
    assert page.data["classes"] == list(names)
    assert page.data["cases"]["names"][:2] == [EVIL, "{{script}}"]
    assert page.text_of("title") == EVIL


def test_the_page_refers_to_nothing_outside():
    for name in ("report.html", "report.css", *(f"scripts/{script}.js" for script in SCRIPTS)):
        text = _asset(name).replace("http://www.w3.org/2000/svg", "")
        assert not re.search(
            r"https?:|//\w|@import|url\(|\beval\(|new Function|innerHTML|insertAdjacent|document\.write", text
        ), name
        assert "</script" not in text or name == "report.html"


def test_the_same_input_gives_the_same_bytes(tmp_path):
    first, second = (write_report(tmp_path / name, make_explanation()).read_bytes() for name in ("a.html", "b.html"))
    assert first == second


def test_evidence_is_packed_the_way_that_takes_less_room(tmp_path):
    smooth = np.sin(np.linspace(0, 5, 600)) + 2
    for row, expected in ((smooth, True), (np.random.default_rng(0).normal(size=600), False)):
        scores = np.tile(row, (3, 2, 1))
        e = millet.Explanation(
            series=np.zeros((3, 1, 600)), lengths=[600] * 3, scores=scores, logits=scores.mean(axis=2), classes=[0, 1]
        )
        page = Page(write_report(tmp_path / "r.html", e))
        assert page.data["differences"] is expected
        rows = read_case(page.text_of(id="case-1"), 1, 2, 600, 2, expected)[2]
        assert right_to_three_digits(rows, scores[1])


def test_five_hundred_cases_of_noise_take_less_than_fifteen_megabytes(tmp_path):
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((500, 10, 1008), dtype=np.float32)
    e = millet.Explanation(
        series=rng.standard_normal((500, 1, 1008)),
        lengths=np.full(500, 1008),
        scores=scores,
        logits=scores.mean(axis=2),
        classes=np.arange(10),
        attention=rng.random((500, 1008), dtype=np.float32),
    )
    assert write_report(tmp_path / "r.html", e).stat().st_size < 15e6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"case_names": ["a"]}, "one entry for each of the 4 explained cases; got 1"),
        ({"dataset": make_dataset(make_explanation(n_cases=2), [0, 1], [0, 1])}, "dataset must have one entry"),
        ({"dataset": make_dataset(make_explanation(n_timepoints=29), ["calm"] * 4, ["calm"], relevant=ALL_OF_29)},
         "case 0 has 30 of them and 29 marks"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_refused_and_nothing_is_written(tmp_path, arguments, message):
    with pytest.raises(ParameterError, match=message):
        write_report(tmp_path / "r.html", make_explanation(), **arguments)
    assert list(tmp_path.iterdir()) == []


def test_an_explanation_of_nothing_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="at least one case"):
        write_report(tmp_path / "r.html", make_explanation()[:0])


def test_a_failure_leaves_the_old_report(tmp_path, monkeypatch):
    path = write_report(tmp_path / "r.html", make_explanation())
    before = path.read_bytes()
    monkeypatch.setattr("millet.viewer.report._asset", lambda name: "{{title}}{{cases}}{{no such part}}{{nor_this}}")
    with pytest.raises(KeyError, match="nor_this"):
        write_report(path, make_explanation(n_cases=2))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture(scope="module")
def model(bumps, tmp_path_factory):
    X, y = bumps
    folder = tmp_path_factory.mktemp("report") / "model"
    millet.MilletClassifier("lite", n_epochs=2, random_state=0).fit(X, y).save(folder)
    return folder


@pytest.fixture(scope="module")
def data_file(bumps, tmp_path_factory):
    X, y = bumps
    file = tmp_path_factory.mktemp("data") / "bumps.npz"
    np.savez(file, X=X, y=y)
    return file


def explain(*arguments):
    result = CliRunner().invoke(cli, ["explain", *map(str, arguments)])
    if isinstance(result.exception, MilletError):
        return str(result.exception)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_writes_a_report_with_scores_from_one_forward_pass(model, data_file, tmp_path, monkeypatch):
    passes = []
    outputs = millet.MilletClassifier._outputs
    monkeypatch.setattr(millet.MilletClassifier, "_outputs", lambda *a, **k: passes.append(1) or outputs(*a, **k))
    out, report = tmp_path / "e.npz", tmp_path / "r.html"
    assert explain(model, data_file, "--report", report, "--out", out).split() == [str(out), str(report)]
    assert len(passes) == 1
    page = Page(report)
    labels = [score["label"] for score in page.data["scores"]]
    assert labels == ["Accuracy", "Balanced accuracy", "AUROC", "Loss"]
    assert all(score["low"] <= score["value"] <= score["high"] for score in page.data["scores"])
    classifier = millet.MilletClassifier.load(model)
    data = millet.load_file(data_file)
    assert page.data["scores"][0]["value"] == pytest.approx(classifier.score(data.X, data.y))
    assert ["Backbone", "lite"] in page.data["facts"]


def test_a_report_of_some_cases_keeps_their_numbers(model, data_file, tmp_path):
    explain(model, data_file, "--report", tmp_path / "r.html", "--case", 7, "--case", 25)
    page = Page(tmp_path / "r.html")
    assert page.data["cases"]["names"] == ["7", "25"]
    assert [page.data["classes"][code] for code in page.data["cases"]["truth"]] == ["flat", "bump"]


def test_the_command_says_what_it_needs(model, data_file, tmp_path):
    assert "--report for a page" in explain(model, data_file)
    assert "--report must end in one of .html" in explain(model, data_file, "--report", tmp_path / "r.pdf")


def test_facts_name_code_of_ones_own(bumps):
    from millet.nn import ConjunctivePooling

    X, y = bumps
    classifier = millet.MilletClassifier("lite", ConjunctivePooling, n_epochs=1, random_state=0).fit(X, y)
    facts = model_facts(classifier)
    assert facts["Pooling"] == "ConjunctivePooling"
    assert facts["Trained on"] == "40 cases"
    assert (
        model_facts(classifier.set_params(pooling=classifier.networks_[0].pooling))["Pooling"] == "ConjunctivePooling"
    )


def test_a_report_refuses_the_cases_of_a_dataset_in_another_order(tmp_path):
    test = millet.make_web_traffic(2, sampling_interval=60, random_state=0)
    codes = np.searchsorted(test.classes, test.y)
    explanation = millet.Explanation(
        series=test.X,
        lengths=np.full(len(test), test.X.shape[2]),
        scores=np.zeros((len(test), 10, test.X.shape[2])),
        logits=np.eye(10)[codes],
        classes=test.classes,
    )
    with pytest.raises(ParameterError, match="in another order"):
        write_report(tmp_path / "a.html", explanation[::-1], dataset=test)
    write_report(tmp_path / "a.html", explanation[::-1], dataset=test.take(np.arange(len(test))[::-1]))
