"""Claims about explanations side by side: kept without the series, and drawn from what was measured."""

import json
import shutil

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.text import Text

from millet import Explanation
from millet.benchmark import load_experiment, read_rows, run_benchmark
from millet.benchmark.measure import spread
from millet.benchmark.sources import DataSpec
from millet.errors import ParameterError, StorageError
from millet.loading import load_classifier
from millet.metrics import aopcr, perturbation_curve
from millet.plots import plot_comparison
from millet.plots.comparison import height_of
from millet.plots.figures import figure_or_new
from millet.posthoc import explain
from millet.report import read_run, write_report
from millet.report.comparison import comparison_section, explainers_of
from millet.report.examples import choose_examples
from millet.report.published import Published

OPTIONS = {"n_samples": 20}


@pytest.fixture(autouse=True)
def no_figure_is_left_behind():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The run folder of the smoke tier, three examples of each of three classes."""
    folder = tmp_path_factory.mktemp("comparison") / "run"
    run_benchmark(load_experiment("comparison", "smoke"), folder, n_jobs=1)
    return folder


@pytest.fixture
def folder(finished, tmp_path):
    """A copy of it that a test may spoil."""
    return shutil.copytree(finished, tmp_path / "run")


def test_split(folder):
    (data,) = json.loads((folder / "run.json").read_text())["datasets"]
    return DataSpec(**data).load(None)[1]


test_split.__test__ = False


def rewrite(folder, change):
    path = folder / "run.json"
    experiment = json.loads(path.read_text())
    change(experiment)
    path.write_text(json.dumps(experiment))


def shown_cases(table):
    return [int(case) for case in table.notes[0].split("cases ")[1].split(".")[0].split(", ")]


def section(folder, path=None):
    return comparison_section(read_run(folder), Published(None), path)


def spoil_rows(folder, change):
    rows = read_rows(folder)
    for row in rows:
        change(row)
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def title_of(ax):
    """Return the artist that is the title on the left."""
    wanted = ax.get_title(loc="left")
    (title,) = ax.findobj(lambda artist: isinstance(artist, Text) and artist.get_text() == wanted)
    return title


class TestWhatIsKept:
    def test_the_first_cases_of_each_class_are_chosen(self):
        y = np.array([2, 2, 0, 1, 1, 0, 1, 0])
        assert choose_examples(y, 2).tolist() == [0, 1, 2, 3, 4, 5]
        assert choose_examples(y, 9).tolist() == list(range(8))

    def test_no_series_is_kept(self, finished):
        files = sorted((finished / "examples").glob("*/*/*"))
        assert [file.relative_to(finished / "examples" / "TinyTraffic").as_posix() for file in files] == [
            "conjunctive-lite/own.npz", "conjunctive-lite/shap.npz", "gap-lite/cam.npz", "gap-lite/own.npz",
        ]  # fmt: skip
        for file in files:
            kept = Explanation.load(file)
            assert np.isnan(kept.series).all()
            assert np.abs(kept.scores).sum() > 0
            assert kept.contributions is None

    @pytest.mark.parametrize(("model", "method"), [("conjunctive-lite", "shap"), ("gap-lite", "cam")])
    def test_evidence_and_curves_are_those_of_the_trained_model(self, finished, model, method):
        test = test_split(finished)
        cases = choose_examples(test.y, 3)
        classifier = load_classifier(finished / "models" / "TinyTraffic" / model / "0")
        own = explain(method, classifier, test.X[cases], progress=False, **(OPTIONS if method == "shap" else {}))
        kept = Explanation.load(finished / "examples" / "TinyTraffic" / model / f"{method}.npz")
        np.testing.assert_allclose(kept.scores, own.scores, atol=1e-5)
        assert kept.cases.tolist() == cases.tolist()
        (row,) = (row for row in read_rows(finished) if (row["model"], row["method"]) == (model, method))
        expected = perturbation_curve(classifier, test.X[cases], own.scores)
        np.testing.assert_allclose([example["curve"] for example in row["examples"]], expected, atol=1e-5)
        assert [example["label"] for example in row["examples"]] == [str(label) for label in test.y[cases]]
        predicted = classifier.predict(test.X[cases])
        assert [example["predicted"] for example in row["examples"]] == [str(label) for label in predicted]

    def test_other_repeats_and_ensembles_keep_nothing(self, tmp_path):
        file = tmp_path / "two.toml"
        file.write_text("""
            name = "two"
            datasets = [{ name = "Tiny", n_cases_per_class = 2, classes = ["None", "Peak"], sampling_interval = 240 }]
            models = [{ backbones = ["lite"], poolings = ["conjunctive"] }]
            training = { n_epochs = 1 }
            metrics = ["accuracy"]
            repeats = 2
            examples = 1
            tiers = { smoke = {} }
        """)
        run_benchmark(load_experiment(file), tmp_path / "run", n_jobs=1)
        assert {row["repeat"] for row in read_rows(tmp_path / "run") if "examples" in row} == {0}
        assert len(list((tmp_path / "run" / "examples").glob("*/*/*"))) == 1
        # Nothing says which tables to show: rows with examples do.
        assert "explanations side by side" in write_report(tmp_path / "run").text
        # Another number of examples is another run, also none.
        for other in ("examples = 0", "examples = 2"):
            file.write_text(file.read_text().replace("examples = 1", other))
            with pytest.raises(StorageError, match="different: examples"):
                run_benchmark(load_experiment(file), tmp_path / "run", n_jobs=1)
            file.write_text(file.read_text().replace(other, "examples = 1"))

    @pytest.mark.parametrize("value", ["-1", "1.5", "true", '"two"'])
    def test_examples_must_be_a_number_of_cases(self, tmp_path, value):
        file = tmp_path / "bad.toml"
        file.write_text(
            f'name = "bad"\ndatasets = ["Coffee"]\nmodels = ["lite"]\nexamples = {value}\n[tiers.smoke]\n'
        )
        with pytest.raises(ParameterError, match=r"examples in .* must be an integer"):
            load_experiment(file)


class TestSection:
    def test_the_order_is_the_papers_and_cam_stands_for_gap(self, finished):
        found = explainers_of(read_run(finished), "TinyTraffic")
        assert [(one.name, one.row.model) for one in found] == [
            ("CAM", "gap-lite"), ("SHAP", "conjunctive-lite"), ("MILLET", "conjunctive-lite"),
        ]  # fmt: skip

    def test_what_gap_says_of_itself_is_cam_whatever_it_is_called(self, folder):
        rows = [row for row in read_rows(folder) if row["method"] == "own"]
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert [one.name for one in explainers_of(read_run(folder), "TinyTraffic")] == ["CAM", "MILLET"]

    def test_models_of_the_fast_lane_go_by_their_own_name_alone(self, folder):
        rows = read_rows(folder)
        (own,) = (row for row in rows if (row["model"], row["method"]) == ("conjunctive-lite", "own"))
        rows += [
            {**own, "model": model, "backbone": "minirocket", "pooling": "instance"}
            for model in ("minirocket", "minirocket-ridge")
        ]
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        names = [one.name for one in explainers_of(read_run(folder), "TinyTraffic")]
        assert names == ["CAM", "SHAP", "MiniRocket", "minirocket-ridge", "MILLET"]

    def test_aopcr_of_what_is_shown_is_that_of_the_metric(self, finished):
        test = test_split(finished)
        (table,) = section(finished).tables
        cases = shown_cases(table)
        assert test.y[cases].tolist() == [0, 5, 8]
        classifier = load_classifier(finished / "models" / "TinyTraffic" / "conjunctive-lite" / "0")
        every = choose_examples(test.y, 3)
        expected = aopcr(classifier, test.X[every], classifier.explain(test.X[every]).scores)
        (line,) = (row for row in table.rows if row[0] == "MILLET")
        shown = table.header.index("AOPCR of those shown")
        assert float(line[shown]) == pytest.approx(expected[np.isin(every, cases)].mean(), abs=1e-3)

    def test_the_models_own_aopcr_is_of_the_cases_of_its_line(self, finished):
        test = test_split(finished)
        classifier = load_classifier(finished / "models" / "TinyTraffic" / "conjunctive-lite" / "0")
        (table,) = section(finished).tables
        lines = {row[0]: dict(zip(table.header, row, strict=True)) for row in table.rows}
        assert lines["MILLET"]["the model's own"] == lines["MILLET"]["AOPCR"]
        cases = spread(test, int(lines["SHAP"]["test cases"]))
        assert len(cases) < len(test)
        expected = aopcr(classifier, cases.X, classifier.explain(cases.X).scores).mean()
        assert float(lines["SHAP"]["the model's own"]) == pytest.approx(expected, abs=1e-3)

    def test_of_each_class_the_first_case_that_all_got_right_is_shown(self, folder):
        def make_right(row):
            for example in row["examples"]:
                is_first = example["case"] % 3 == 0
                example["predicted"] = "other" if is_first and row["method"] == "shap" else example["label"]

        spoil_rows(folder, make_right)
        assert shown_cases(section(folder).tables[0]) == [1, 4, 7]

    def test_the_picture_has_a_row_for_each_class(self, finished, tmp_path):
        report = write_report(finished, out=tmp_path / "report")
        assert [path.name for path in report.pictures] == ["side_by_side_0.png"]
        (picture,) = section(finished).pictures
        axes = [ax for part in picture.draw().subfigs for ax in part.axes]
        assert len(axes) == 3 * (1 + 3 + 1)
        assert [ax.get_title(loc="left") for ax in axes[::5]] == ["True: None", "True: Cutoff", "True: Peak"]
        case = shown_cases(section(finished).tables[0])[0]
        np.testing.assert_allclose(axes[0].lines[0].get_ydata(), test_split(finished).X[case, 0], rtol=1e-6)

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda experiment: experiment.update(datasets=["TinyTraffic"]),
            lambda experiment: experiment["datasets"][0]["generator"].update(random_state=1),
            lambda experiment: experiment["datasets"][0]["generator"].update(n_cases_per_class=1),
            lambda experiment: experiment["datasets"][0]["generator"].update(sampling_interval=1e-300),
            lambda experiment: experiment["datasets"][0].update(generator={"no": "such argument"}),
            lambda experiment: experiment["datasets"][0].update(generator=[3]),
        ],
        ids=["not at hand", "other series", "fewer cases", "too fine", "other arguments", "no arguments"],
    )
    def test_without_its_series_a_dataset_has_the_same_table_and_a_note(self, finished, folder, spoil):
        rewrite(folder, spoil)
        found = section(folder)
        assert not found.pictures
        assert found.notes == (
            "No picture of TinyTraffic: its series can't be read, or differs from what was measured.",
        )
        assert found.tables == section(finished).tables

    def test_a_damaged_file_costs_its_part_of_the_picture_only(self, finished, folder):
        (folder / "examples" / "TinyTraffic" / "conjunctive-lite" / "shap.npz").write_bytes(b"PK")
        with pytest.warns(RuntimeWarning, match="is left out of the report"):
            found = section(folder)
        assert found.tables == section(finished).tables
        assert len(found.pictures[0].draw().subfigs[0].axes) == 1 + 2 + 1

    def test_without_any_files_there_is_no_picture(self, finished, folder):
        shutil.rmtree(folder / "examples")
        found = section(folder)
        assert found.tables == section(finished).tables
        assert "the evidence of these cases" in found.notes[0]

    @pytest.mark.parametrize(
        "value",
        [None, 3, [3], [{}], [{"case": 0, "label": "0", "predicted": "0", "curve": None, "random_curve": [0.0]}]],
    )
    def test_rows_that_make_no_sense_are_left_out(self, folder, value):
        spoil_rows(folder, lambda row: row.update(examples=value) if row["method"] == "shap" else None)
        (table,) = section(folder).tables
        assert [row[0] for row in table.rows] == ["CAM", "MILLET"]

    @pytest.mark.parametrize("curve", [[0.0], [0.0] * 10 + [None], [0.0] * 10 + [float("nan")], ["0"] * 11])
    def test_curves_that_make_no_sense_are_left_out(self, folder, curve):
        def damage(row):
            if row["method"] == "shap":
                row["examples"][0]["curve"] = curve

        spoil_rows(folder, damage)
        assert [row[0] for row in section(folder).tables[0].rows] == ["CAM", "MILLET"]

    def test_explanations_of_different_cases_are_not_compared(self, folder):
        def move(row):
            for example in row["examples"]:
                example["case"] += 100 * (row["method"] == "shap")

        spoil_rows(folder, move)
        assert "examples = 2" in section(folder).notes[0]

    @pytest.mark.parametrize(("n_others", "n_shown"), [(0, 8), (2, 5), (6, 2)])
    def test_many_classes_are_cut_to_what_a_picture_holds_and_the_text_says_so(self, folder, n_others, n_shown):
        def multiply(row):
            one = row["examples"][0]
            examples = [{**one, "case": number, "label": str(number)} for number in range(40)]
            row.update(examples=examples, n_classes=40)

        spoil_rows(folder, multiply)
        rows = read_rows(folder)
        others = [{**rows[0], "method": f"method {number}"} for number in range(n_others)]
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*rows, *others]))
        (table,) = section(folder).tables
        assert len(table.rows) == 3 + n_others
        assert f"{', '.join(map(str, range(n_shown)))}, of the first {n_shown} of 40 classes" in table.notes[0]
        assert table.coverage == f"{n_shown} of 40 classes"

    def test_a_new_report_removes_the_pictures_that_it_no_longer_shows_and_no_others(self, folder):
        report = write_report(folder)
        foreign = report.path.parent / "photo.png"
        foreign.write_bytes(b"mine")
        report.path.write_text(report.path.read_text() + "\n![A photo](photo.png)\n")
        rewrite(folder, lambda experiment: experiment.update(datasets=["TinyTraffic"]))
        assert write_report(folder).pictures == ()
        assert [path.name for path in report.path.parent.glob("*.png")] == ["photo.png"]

    def test_without_any_examples_the_section_says_how_to_keep_some(self, folder):
        spoil_rows(folder, lambda row: row.pop("examples"))
        assert "examples = 2" in section(folder).notes[0]


class TestPlot:
    def explanation(self, n_channels=1, n_timepoints=3, **changes):
        shape = (1, n_channels, n_timepoints)
        scores = np.zeros((1, 2, n_timepoints))
        parts = {"series": np.ones(shape), "scores": scores, "lengths": [n_timepoints], "classes": ["calm", "spike"]}
        return Explanation(**{**parts, "logits": [[-1.0, 1.0]], **changes})

    def test_each_method_shows_the_class_it_predicts_or_the_one_that_is_asked_for(self):
        both = {"a": self.explanation(), "b": self.explanation(logits=[[2.0, -2.0]])}
        titles = [ax.get_title(loc="left") for ax in plot_comparison(both).axes]
        assert titles == ["", "a: spike (88.1%)", "b: calm (98.2%)"]
        titles = [ax.get_title(loc="left") for ax in plot_comparison(both, target="calm", label="spike").axes]
        assert titles == ["True: spike", "a: calm (11.9%)", "b: calm (98.2%)"]

    def test_all_channels_are_drawn(self):
        left, right = plot_comparison({"a": self.explanation(n_channels=3)}).axes
        assert len(left.lines) == len(right.lines) == 3

    def test_curves_are_drawn_beside(self):
        axes = plot_comparison({"a": self.explanation()}, {"a": [0.0, -1.0, -3.0]}).axes
        assert axes[-1].lines[-1].get_ydata().tolist() == [0.0, -1.0, -3.0]

    def test_nothing_and_different_cases_are_refused(self):
        with pytest.raises(ParameterError, match="at least one"):
            plot_comparison({})
        for other in (self.explanation(n_timepoints=4), self.explanation(series=[[[1.0, 1.0, 2.0]]])):
            with pytest.raises(ParameterError, match="of one case; that of 'b' has another series"):
                plot_comparison({"a": self.explanation(), "b": other})
        with pytest.raises(ParameterError, match=r"curves must be of the methods \['a'\]; got \['b'\]"):
            plot_comparison({"a": self.explanation()}, {"b": [0.0, -1.0]})

    def test_there_is_room_for_many_methods(self):
        plot_comparison({str(number): self.explanation() for number in range(10)}).canvas.draw()

    @pytest.mark.parametrize("n_methods", [1, 3, 5, 9])
    @pytest.mark.parametrize("n_cases", [1, 2])
    def test_names_run_into_nothing(self, n_methods, n_cases):
        names = [f"MILLET of conjunctive-fcn-positions=False-dropout=0.{number}" for number in range(n_methods)]
        labels = ["calm", "a spike as wide as the whole of the series, and higher than any other"]
        said = dict.fromkeys(names, self.explanation(classes=labels))
        curves = {name: np.linspace(0, -number - 1, 11) for number, name in enumerate(names)}
        with figure_or_new(None, 11.0, height_of(n_methods) * n_cases) as canvas:
            parts = canvas.subfigures(n_cases, 1, squeeze=False).ravel()
            for part in parts:
                plot_comparison(said, curves, label=labels[1], figure=part)
        canvas.canvas.draw()
        for part in parts:
            left, *panels, right = part.axes
            for ax, neighbour in zip([left, *panels], [panels[0], *[right] * n_methods], strict=True):
                assert title_of(ax).get_window_extent().x1 < neighbour.get_tightbbox().x0
            legend = right.get_legend().get_window_extent()
            beside = [right.xaxis.label, *right.get_xticklabels()]
            assert not any(legend.overlaps(thing.get_window_extent()) for thing in [right, *beside])
            assert part.bbox.x0 <= legend.x0 < legend.x1 <= part.bbox.x1
            assert part.bbox.y0 <= legend.y0
