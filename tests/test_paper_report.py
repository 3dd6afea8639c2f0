"""Claims about `millet report`: the paper's figures are typed right, rows become the right cells, gaps are named."""

import csv
import itertools
import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib import pyplot

from millet.cli import cli
from millet.datasets.catalogue import PAPER_DATASETS, find
from millet.errors import DatasetFormatError, DatasetNotFoundError, ParameterError, StorageError, UnknownNameError
from millet.report import (
    Published,
    paper_table,
    paper_tables,
    plot_critical_difference,
    plot_deviations,
    plot_head_to_head,
    plot_trade_off,
    read_run,
    write_report,
)
from millet.report.complexity import multiplications
from millet.report.document import SECTIONS, TABLES
from millet.report.field import gather_field
from millet.report.layout import Table
from millet.report.names import (
    BACKBONES,
    METRICS,
    MILLET_POOLINGS,
    MODELS,
    POOLINGS,
    RECIPE_EPOCHS,
    STATE_OF_THE_ART,
)
from millet.report.published import read_results
from millet.statistics import average_ranks, compare_classifiers
from millet.training import RECIPES

UCR = ("BeetleFly", "Coffee", "ECG200", "Earthquakes", "GunPoint", "ItalyPowerDemand")
DUEL = ("gap-inceptiontime", "conjunctive-inceptiontime")


@pytest.fixture(autouse=True)
def no_figure_is_left_behind():
    yield
    pyplot.close("all")


def number(*words, low=0.5, high=1.0):
    """Return a number that depends on the words alone."""
    seed = [sum(word.encode()) for word in map(str, words)]
    return float(np.random.default_rng(seed).uniform(low, high))


def make_row(dataset, model, repeat=0, **changes):
    metrics = {name: number(dataset, model, name, repeat) for name in METRICS}
    return {"dataset": dataset, "model": model, "repeat": repeat, "status": "done", **metrics, **changes}


def make_run(folder, rows, **experiment):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(json.dumps(experiment))
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def grid(datasets, models, n_repeats=2, **changes):
    repeats = [*range(n_repeats), *([-1] if n_repeats > 1 else [])]
    return [make_row(d, m, r, ensemble=r < 0, **changes) for d in datasets for m in models for r in repeats]


def filed(metric):
    """What sets the numbers of a file of the authors apart: its metric, and its split unless that is the test's."""
    return metric.authors if metric.split == "test" else f"{metric.split} {metric.authors}"


def write_csv(path, header, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *lines])


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Published results of the real layout, with invented numbers."""
    folder = tmp_path_factory.mktemp("published")
    for kind, datasets in (("UCR", UCR), ("WebTraffic", ["WebTraffic"])):
        for backbone in BACKBONES.values():
            columns = [f"{pooling}{backbone} {run}" for pooling in POOLINGS.values() for run in range(5)]
            columns += [f"{pooling}{backbone}Ensemble 0" for pooling in POOLINGS.values()]
            for metric in METRICS.values():
                if metric.authors and (metric.authors != "ndcg" or kind == "WebTraffic"):
                    lines = [[d, *(number(d, c, filed(metric)) for c in columns)] for d in reversed(datasets)]
                    name = f"authors/{kind}/{backbone}/{metric.split}_{metric.authors}.csv"
                    write_csv(folder / name, ["Dataset", *columns], lines)
    for metric in METRICS.values():
        if metric.bakeoff:
            columns = [*STATE_OF_THE_ART.values(), "1NN-DTW"]
            lines = [[d, *(number(d, c, metric.bakeoff) for c in columns)] for d in UCR]
            write_csv(folder / f"bakeoff/bakeoff_redux_85_{metric.bakeoff}_split0.csv", ["dataset", *columns], lines)
    return folder


def beside(folder, rows):
    return read_run(make_run(folder, rows, name="toy")).beside_own("Beef", "gap-fcn", "aopcr", "shap")


def line_of(text, name, heading=None):
    """Return the cells of the line that begins with a name, below a heading."""
    lines = text.split("\n")
    if heading:
        lines = lines[next(i for i, line in enumerate(lines) if line.startswith(f"### {heading}")) :]
    found = next(line for line in lines if line.startswith(f"| {name} |"))
    return [cell.strip() for cell in found.strip("|").split("|")]


def layout_of(name):
    """Return "backbones" for a table with a column for each backbone and their mean."""
    columns = {column for rows in paper_table(name).parts.values() for row in rows.values() for column in row}
    return "backbones" if columns == {*BACKBONES, "mean"} else "other"


class TestPaperTables:
    @pytest.mark.parametrize("name", [name for name in paper_tables() if layout_of(name) == "backbones"])
    def test_means_are_the_means_of_the_backbones(self, name):
        for rows in paper_table(name).parts.values():
            for row in rows.values():
                average = sum(row[backbone] for backbone in BACKBONES) / 3
                assert row["mean"] == pytest.approx(average, abs=0.0011)

    @pytest.mark.parametrize("name", ["webtraffic_explanations", "ucr_aopcr"])
    def test_best_is_the_best_pooling(self, name):
        for rows in paper_table(name).parts.values():
            for backbone in BACKBONES:
                assert rows["best"][backbone] == max(rows[pooling][backbone] for pooling in MILLET_POOLINGS)

    @pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy", "auroc", "loss"])
    def test_the_big_table_ranks_22_classifiers(self, metric):
        rows = paper_table("ucr_all").parts[metric]
        assert set(rows) == {*MODELS, *STATE_OF_THE_ART}
        assert sum(row["rank"] for row in rows.values()) == pytest.approx(22 * 23 / 2, abs=0.011)
        assert sum(row["wins"] for row in rows.values()) >= 85

    def test_tables_that_show_the_same_figures_agree(self):
        long, short = paper_table("ucr_all"), paper_table("ucr_summary")
        for metric, rows in short.parts.items():
            assert all(long.value(metric, name, "mean") == row["mean"] for name, row in rows.items())
        grid_of_means = paper_table("ucr_performance")
        for metric, rows in grid_of_means.parts.items():
            for pooling in rows:
                for backbone in BACKBONES:
                    mean = long.value(metric, f"{pooling}-{backbone}", "mean")
                    assert grid_of_means.value(metric, pooling, backbone) == mean
        every, best = paper_table("webtraffic_explanations"), paper_table("webtraffic_summary")
        for metric, rows in best.parts.items():
            assert all(every.parts[metric][name] == row for name, row in rows.items())

    @pytest.mark.parametrize("metric", ["balanced_accuracy", "aopcr"])
    def test_improvements_are_differences_between_steps(self, metric):
        table = paper_table(f"ablation_{metric}")
        steps = list(table.parts[metric])
        for before, after in itertools.pairwise(steps):
            for dataset, gain in table.parts["improvement"][after].items():
                ours = table.value(metric, after, dataset) - table.value(metric, before, dataset)
                assert gain == pytest.approx(ours, abs=0.0011)

    def test_percentages_follow_from_the_times(self):
        for rows in paper_table("run_time").parts.values():
            for row in rows.values():
                above = 100 * (row["mean"] / rows["gap"]["mean"] - 1)
                assert row.get("percent_above_gap", 0) == pytest.approx(above, abs=0.15)

    @pytest.mark.parametrize("pooling", POOLINGS)
    def test_multiplications_follow_the_formulas(self, pooling):
        formulas = paper_table("complexity").parts["multiplications"][pooling]
        shape = {"d": 128, "t": 463, "c": 7, "a": 8}

        def count(**changes):
            s = {**shape, **changes}
            return multiplications(pooling, s["t"], s["c"], s["d"], s["a"])

        assert count() == eval(formulas["total"], {}, shape)
        assert count(t=464) - count() == eval(formulas["per_timepoint"], {}, shape)
        assert count(c=8) - count() == eval(formulas["per_class"], {}, shape)

    def test_every_table_says_where_it_stands(self):
        for name in paper_tables():
            table = paper_table(name)
            assert table.table.startswith(("Tab.", "App."))
            assert table.label.startswith(("tab:", "fig:", "app:"))
            assert table.title

    def test_a_misspelt_table_is_refused_with_a_hint(self):
        with pytest.raises(UnknownNameError, match="Did you mean 'ucr_all'"):
            paper_table("ucr_al")


class TestPublished:
    def test_runs_and_ensembles_are_found_by_their_columns(self, published):
        results = Published(published)
        runs = results.runs("Coffee", "conjunctive-fcn", "accuracy")
        assert runs.tolist() == [number("Coffee", f"ConjunctiveFCN {run}", "acc") for run in range(5)]
        expected = number("Coffee", "ConjunctiveFCNEnsemble 0", "acc")
        assert results.ensemble("Coffee", "conjunctive-fcn", "accuracy") == expected
        assert results.other("Coffee", "Hydra-MR", "loss") == number("Coffee", "MR-Hydra", "logloss")
        assert results.missing == []

    def test_what_is_not_there_is_none_and_missing_files_are_remembered(self, published, tmp_path):
        results = Published(published)
        assert results.runs("Nonsense", "gap-fcn", "accuracy").size == 0
        assert results.ensemble("Coffee", "gap-lite", "accuracy") is None
        assert results.ensemble("Coffee", "gap-fcn", "ndcg_at_n") is None
        assert results.other("Coffee", "HC2", "aopcr") is None
        assert results.missing == []
        empty = Published(tmp_path)
        assert empty.ensemble("Coffee", "gap-fcn", "accuracy") is None
        assert empty.missing == ["authors/UCR/FCN/test_acc.csv"]
        assert Published(None).runs("Coffee", "gap-fcn", "accuracy").size == 0
        with pytest.raises(DatasetNotFoundError, match="No folder"):
            Published(tmp_path / "nowhere")

    @pytest.mark.parametrize(("text", "problem"), [
        ("", "line 1: expected a header"),
        ("dataset,a\nBeef,0.5,0.6\n", "line 2: expected 2 cells"),
        ("dataset,a\nBeef,0.5\nBeef,0.6\n", "line 3: the dataset Beef was there before"),
        ("dataset,a\n\nBeef,high\n", "line 3: expected a number; got 'high'"),
        ("dataset,a,a\nBeef,0.5,0.6\n", "line 1: a column is there twice"),
        ('dataset,a\nBeef,"0.5\n', "is no CSV: unexpected end of data"),
        (f'dataset,a\nBeef,"{"x" * 140_000}', "is no CSV: field larger than field limit"),
    ])  # fmt: skip
    def test_a_broken_file_is_refused_with_its_line(self, tmp_path, text, problem):
        path = tmp_path / "results.csv"
        path.write_text(text)
        with pytest.raises(DatasetFormatError, match=problem):
            read_results(path)

    def test_blanks_around_cells_do_not_matter(self, tmp_path):
        (tmp_path / "results.csv").write_text("dataset , a\nBeef , 0.5\n")
        assert read_results(tmp_path / "results.csv") == {"Beef": {"a": 0.5}}

    @pytest.mark.parametrize(("name", "problem"), [
        ("authors/UCR/FCN/test_acc.csv", "expected columns <Pooling>FCN <run>, such as GAPFCN 0; got a"),
        ("bakeoff/bakeoff_redux_85_accuracy_split0.csv", "expected columns FreshPRINCE, HC2.*; got a"),
    ])  # fmt: skip
    def test_a_file_without_any_column_that_is_looked_for_is_refused(self, tmp_path, name, problem):
        write_csv(tmp_path / name, ["dataset", "a"], [["Beef", "0.5"]])
        with pytest.raises(DatasetFormatError, match=problem):
            Published(tmp_path).ensemble("Beef", "gap-fcn", "accuracy") or Published(tmp_path).other(
                "Beef", "HC2", "accuracy"
            )


class TestRows:
    def test_missing_and_odd_numbers_are_none(self, tmp_path):
        odd = {"accuracy": None, "auroc": "high", "loss": True, "aopcr": float("nan")}
        run = read_run(make_run(tmp_path, [{"dataset": "Beef", "pooling": "gap", "backbone": "fcn", **odd}]))
        assert [run.single("Beef", "gap-fcn", metric) for metric in odd] == [None] * 4

    def test_ensembles_and_methods_are_kept_apart(self, tmp_path):
        rows = [*grid(["Beef"], ["gap-fcn"], accuracy=0.5), make_row("Beef", "gap-fcn", method="shap", accuracy=0.9)]
        rows[2]["accuracy"] = 0.7
        run = read_run(make_run(tmp_path, rows))
        assert run.single("Beef", "gap-fcn", "accuracy") == 0.5
        assert run.ensemble("Beef", "gap-fcn", "accuracy") == 0.7
        assert run.single("Beef", "gap-fcn", "accuracy", "shap") == 0.9

    def test_models_are_compared_by_ensembles_only_where_all_have_one(self, tmp_path):
        rows = grid(["Beef", "Coffee"], ["gap-fcn", "gap-lite"], accuracy=0.5)
        for row in rows:
            row["accuracy"] = 0.7 if row["ensemble"] else 0.5
        rows = [
            row for row in rows if not (row["ensemble"] and (row["dataset"], row["model"]) == ("Beef", "gap-lite"))
        ]
        run = read_run(make_run(tmp_path, rows))
        models = ["gap-fcn", "gap-lite", "unknown"]
        assert run.alike("Beef", models, "accuracy") == ({"gap-fcn": 0.5, "gap-lite": 0.5}, False)
        assert run.alike("Coffee", models, "accuracy") == ({"gap-fcn": 0.7, "gap-lite": 0.7}, True)
        assert run.alike("Fish", models, "accuracy") == ({}, False)

    @pytest.mark.parametrize("end", ["", "\n"])
    def test_a_last_line_that_was_cut_off_is_left_out_and_noted(self, tmp_path, end):
        make_run(tmp_path, grid(["Beef"], ["gap-fcn"]))
        path = tmp_path / "rows.jsonl"
        path.write_text(path.read_text() + '{"dataset": "Be' + end)
        run = read_run(tmp_path)
        assert len(run.done) == 3
        assert "line 4" in run.notes[0]

    @pytest.mark.parametrize(("text", "problem"), [
        ("{}\n", "line 1: expected the names"),
        ('{"dataset": "Be\n{}\n', "line 1: expected one JSON object"),
        ("[1]\n", "got a list"),
        ('{"dataset": "Beef", "model": "x", "repeat": "one"}\n', "number of a repeat; got 'one'"),
    ])  # fmt: skip
    def test_damaged_rows_are_refused_with_their_line(self, tmp_path, text, problem):
        make_run(tmp_path, [])
        (tmp_path / "rows.jsonl").write_text(text)
        with pytest.raises(DatasetFormatError, match=f"{problem}.*Remove that line; millet benchmark then runs"):
            read_run(tmp_path)

    def test_what_a_benchmark_reads_a_report_reads_too(self, tmp_path):
        make_run(tmp_path, [make_row("Beef", "gap-fcn", backbone=5, recipe="fast")])
        path = tmp_path / "rows.jsonl"
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
        assert [row.recipe for row in read_run(tmp_path).done] == ["fast"]

    def test_a_folder_that_is_no_run_is_refused(self, tmp_path):
        with pytest.raises(DatasetNotFoundError, match=r"no run\.json"):
            read_run(tmp_path)
        for text, problem in (("{", "expected JSON"), ("[]", "got a list")):
            (tmp_path / "run.json").write_text(text)
            with pytest.raises(DatasetFormatError, match=problem):
                read_run(tmp_path)
        (tmp_path / "run.json").write_text("{}")
        with pytest.raises(DatasetNotFoundError, match="no cell of the run has been finished"):
            read_run(tmp_path)


class TestWebTraffic:
    def test_ours_paper_difference_and_spread(self, tmp_path, published):
        runs = [number("WebTraffic", f"GAPFCN {run}", "acc") for run in range(5)]
        inside = grid(["WebTraffic"], ["gap-fcn"], accuracy=sorted(runs)[2])
        outside = grid(["WebTraffic"], ["gap-resnet"], accuracy=0.0)
        folder = make_run(tmp_path / "run", inside + outside, name="webtraffic", models=list(MODELS))
        text = write_report(folder, published=published).path.read_text()
        cells = line_of(text, "GAP FCN", "WebTraffic: Accuracy")
        median = f"{sorted(runs)[2]:.3f}"
        assert cells[:3] == ["GAP FCN", median, "0.756"]
        assert cells[3] == f"{sorted(runs)[2] - 0.756:+.3f}"
        assert cells[4] == f"{median} (2)"
        assert cells[5] == f"{np.mean(runs):.3f}, {min(runs):.3f} to {max(runs):.3f}"
        assert cells[6:] == [f"{sorted(runs)[2] - np.mean(runs):+.3f}", "yes"]
        assert line_of(text, "GAP ResNet", "WebTraffic: Accuracy")[-1] == "no"
        assert "| Conjunctive FCN |" not in text, "it was not run"
        assert "WebTraffic: Accuracy (App. D.2): 2 of 15 models" in text

    def test_best_means_and_cam_are_taken_from_the_right_rows(self, tmp_path):
        rows = grid(["WebTraffic"], MODELS)
        rows += [make_row("WebTraffic", model, method="shap", aopcr=-1.0) for model in MODELS if "gap" not in model]
        text = write_report(make_run(tmp_path, rows, name="webtraffic")).path.read_text()
        run = read_run(tmp_path)
        ours = {model: run.ensemble("WebTraffic", model, "aopcr") for model in MODELS}
        best = {b: max(ours[f"{pooling}-{b}"] for pooling in MILLET_POOLINGS) for b in BACKBONES}
        heading = "WebTraffic: AOPCR (Tab. 1)"
        assert line_of(text, "MILLET, best of 4, FCN", heading)[1:4] == ["ensembles", f"{best['fcn']:.3f}", "14.522"]
        assert line_of(text, "CAM, ResNet", heading)[1:3] == ["ensembles", f"{ours['gap-resnet']:.3f}"]
        assert line_of(text, "SHAP, best of 4, FCN", heading)[1:4] == ["single models", "-1.000", "1.977"]
        mean = np.mean([run.ensemble("WebTraffic", f"gap-{backbone}", "accuracy") for backbone in BACKBONES])
        assert line_of(text, "GAP, mean", "WebTraffic: Accuracy")[1] == f"{mean:.3f}"

    def test_brief_trainings_are_called_brief(self, tmp_path):
        text = write_report(make_run(tmp_path / "a", grid(["WebTraffic"], DUEL), name="webtraffic")).path.read_text()
        assert "trained briefly" not in text
        rows = grid(["WebTraffic"], DUEL, recipe="fast, n_epochs=20")
        text = write_report(make_run(tmp_path / "b", rows, name="webtraffic")).path.read_text()
        assert "trained briefly (recipe fast, n_epochs=20; the paper's: 1500 epochs)" in text

    def test_a_sample_of_cases_is_called_one(self, tmp_path):
        rows = grid(["WebTraffic"], ["conjunctive-fcn"], n_cases=500)
        rows.append(make_row("WebTraffic", "conjunctive-fcn", method="shap", aopcr=-1.0, n_cases=10))
        text = write_report(make_run(tmp_path, rows, name="webtraffic")).path.read_text()
        assert "SHAP explained 10 cases; everything else is for 500." in text
        rows[-1] |= {"aopcr_low": -2.0, "aopcr_high": 1.0}
        text = write_report(make_run(tmp_path, rows, name="webtraffic")).path.read_text()
        assert "SHAP explained 10 cases, so its means are known to ± 1.5 (95 %); everything else is for 500." in text

    def test_shap_stands_beside_the_models_own_evidence_of_the_same_cases(self, tmp_path):
        rows = grid(["WebTraffic"], ["additive-fcn", "conjunctive-fcn"], n_cases=500)
        facts = {"n_cases": 10, "own_aopcr": 2.5, "own_ndcg_at_n": 0.5}
        rows.append(make_row("WebTraffic", "conjunctive-fcn", method="shap", aopcr=-1.0, ndcg_at_n=0.25, **facts))
        rows.append(make_row("WebTraffic", "additive-fcn", method="shap", aopcr=-1.0, ndcg_at_n=0.25, n_cases=10))
        rows += [make_row("WebTraffic", "gap-fcn", method=method, n_cases=500) for method in ("own", "shap")]
        text = write_report(make_run(tmp_path, rows, name="webtraffic")).path.read_text()
        heading = "WebTraffic: SHAP and the model's own evidence for the same cases"
        assert f"{heading}: 1 of 12 models" in text, "older rows do not tell, and GAP is none of the twelve"
        cells = line_of(text, "Conjunctive FCN", heading)
        assert cells == ["Conjunctive FCN", "10", "-1.000", "2.500", "0.250", "0.500"]
        assert line_of(text, "GAP FCN", heading)[1] == "500", "where all were explained, they are the same"

    def test_a_method_stands_beside_the_same_repeats(self, tmp_path):
        rows = [make_row("Beef", "gap-fcn", repeat, aopcr=value) for repeat, value in enumerate((2.0, 9.0))]
        rows.append(make_row("Beef", "gap-fcn", 0, method="shap", aopcr=3.0))
        assert beside(tmp_path, rows) == (3.0, 2.0, True), "the second repeat was not explained"
        rows[-1]["n_cases"] = 10
        assert beside(tmp_path, rows) == (3.0, 2.0, False)
        rows.append(make_row("Beef", "gap-fcn", 1, method="shap", aopcr=5.0, own_aopcr=4.0, n_cases=10))
        assert beside(tmp_path, rows) == (4.0, 3.0, False), "of the first repeat it is not known"
        rows[-2]["own_aopcr"] = 1.0
        assert beside(tmp_path, rows) == (4.0, 2.5, True)
        assert beside(tmp_path, rows[2:]) == (4.0, 2.5, True)
        assert beside(tmp_path, rows[:2]) is None

    def test_cam_and_millet_are_both_of_ensembles_or_both_of_single_models(self, tmp_path):
        rows = grid(["WebTraffic"], ["gap-fcn"]) + grid(["WebTraffic"], ["conjunctive-fcn"], n_repeats=1)
        text = write_report(make_run(tmp_path, rows, name="webtraffic")).path.read_text()
        for name in ("CAM, FCN", "MILLET, best of 1, FCN"):
            assert line_of(text, name, "WebTraffic: AOPCR (Tab. 1)")[1] == "single models"

    def test_ensembles_stand_beside_ensembles_and_runs_beside_runs(self, tmp_path, published):
        rows = grid(["WebTraffic"], ["gap-fcn"]) + grid(["WebTraffic"], ["additive-fcn"], n_repeats=1, accuracy=0.5)
        text = write_report(make_run(tmp_path, rows, name="webtraffic"), published=published).path.read_text()
        runs = [number("WebTraffic", f"AdditiveFCN {run}", "acc") for run in range(5)]
        cells = line_of(text, "Additive FCN", "WebTraffic: Accuracy")
        assert cells[1:5] == ["–", "0.814", "–", "0.500 (1)"]
        assert cells[6] == f"{0.5 - np.mean(runs):+.3f}"
        assert "MILLET, best of 1, FCN | single models | " in text
        assert line_of(text, "MILLET, best of 1, FCN", "WebTraffic: AOPCR (Tab. 1)")[3:] == ["–", "–"]

    def test_models_that_the_paper_does_not_have_show_their_evidence(self, tmp_path):
        rows = grid(["WebTraffic"], ["minirocket"], n_repeats=1, aopcr=None)
        text = write_report(make_run(tmp_path, rows, name="webtraffic")).path.read_text()
        assert line_of(text, "MiniRocket", "WebTraffic: NDCG@n of all")[1] == f"{rows[0]['ndcg_at_n']:.3f} (1)"
        assert "AOPCR" not in text

    def test_names_are_data_and_no_markup(self, tmp_path):
        rows = grid(["<script>x|y"], ["gap-fcn"])
        rows.append({"dataset": "<i>", "model": "gap-fcn", "repeat": 0, "status": "failed", "error": "<img src=x>"})
        text = write_report(make_run(tmp_path, rows, name="<b>ucr", tables=["ucr"])).path.read_text()
        assert "<script>" not in text
        assert "<img" not in text
        assert "<i>" not in text
        assert text.startswith("# &lt;b&gt;ucr")
        assert r"&lt;script&gt;x\|y, GAP FCN" in text

    def test_what_was_not_run_has_no_line(self, tmp_path):
        rows = grid(["WebTraffic"], ["instance-fcn", "conjunctive-fcn"])
        text = write_report(make_run(tmp_path, rows, name="webtraffic")).path.read_text()
        heading = "WebTraffic: AOPCR (Tab. 1)"
        assert line_of(text, "MILLET, best of 2, FCN", heading)[1] != "–"
        table = text[text.index(heading) :].split("\n\n")[1]
        assert len(table.splitlines()) == 3, "the header, its rule, and the one line"
        assert "best of 0" not in text

    def test_each_table_counts_the_models_that_have_its_metric(self, tmp_path):
        rows = grid(["WebTraffic"], ["gap-fcn"]) + grid(["WebTraffic"], DUEL, aopcr=None)
        text = write_report(make_run(tmp_path, rows, name="webtraffic")).path.read_text()
        assert "WebTraffic: Accuracy (App. D.2): 3 of 15 models" in text
        assert "WebTraffic: AOPCR (Tab. 1): 1 of 15 models" in text
        assert "WebTraffic: AOPCR of all explanations (App. D.2): 1 of 15 models" in text
        assert "WebTraffic: NDCG@n (Tab. 1): 3 of 15 models" in text

    def test_a_generated_dataset_is_not_passed_off_as_the_published_one(self, tmp_path):
        datasets = [{"name": "Tiny", "generator": {"n_cases_per_class": 2}}]
        run = make_run(
            tmp_path,
            grid(["Tiny"], ["gap-fcn"], n_repeats=1),
            tables=["webtraffic", "false_negatives"],
            datasets=datasets,
        )
        text = write_report(run).text
        assert "Tiny is generated" in text
        assert "our ensemble" not in text

    def test_of_a_generated_dataset_there_are_no_figures_of_the_paper(self, tmp_path):
        rows = grid(["Tiny"], MODELS, per_class_accuracy={"8": 0.5}, missed={"8": {"0": 1}})
        datasets = [{"name": "Tiny", "generator": {"n_cases_per_class": 2}}]
        tables = write_report(
            make_run(tmp_path, rows, tables=["webtraffic", "false_negatives"], datasets=datasets)
        ).path.read_text()
        headers = [line for line in tables.split("\n") if line.startswith(("| model", "| explanation", "| class"))]
        assert len(headers) == 9
        assert not any("paper" in header or "difference" in header for header in headers)
        assert "App. D.2" not in tables
        assert line_of(tables, "Peak") == ["Peak", "0.500", "None (1)", "–"]

    @pytest.mark.parametrize(("shown", "others"), [("One", "Two, Three"), ("WebTraffic", "One, Two, Three")])
    def test_generated_datasets_that_are_left_out_are_named(self, tmp_path, shown, others):
        generated = [{"name": name, "generator": {"n_cases_per_class": 2}} for name in ("One", "Two", "Three")]
        published = ["WebTraffic"] if shown == "WebTraffic" else []
        rows = grid(["One", "Two", "Three", *published], ["gap-fcn"])
        text = write_report(
            make_run(tmp_path, rows, tables=["webtraffic", "false_negatives"], datasets=[*published, *generated])
        ).text
        assert f"{shown}: Accuracy" in text
        assert "Two: Accuracy" not in text
        note = f"Generated datasets that are not in this section: {others}."
        assert text.count(note) == 2, "in this section and in that of false negatives"

    def test_notes_on_shap_are_of_the_tables_dataset_alone(self, tmp_path):
        facts = {"aopcr_low": -2.0, "aopcr_high": 1.0}
        rows = grid(["WebTraffic"], ["conjunctive-fcn"], n_cases=500)
        rows += grid(["Beef"], ["conjunctive-fcn"], n_cases=30)
        rows.append(make_row("Beef", "conjunctive-fcn", method="shap", n_cases=7, **facts))
        text = write_report(make_run(tmp_path, rows, name="webtraffic")).path.read_text()
        assert "SHAP explained" not in text
        assert "Our SHAP" not in text
        rows.append(make_row("WebTraffic", "conjunctive-fcn", method="shap", aopcr=-1.0, n_cases=10))
        text = write_report(make_run(tmp_path, rows, name="webtraffic")).path.read_text()
        assert "SHAP explained 10 cases; everything else is for 500." in text

    def test_false_negatives_show_what_peaks_are_taken_for(self, tmp_path):
        facts = {
            "per_class_accuracy": {"0": 0.9, "8": 0.76},
            "missed": {"8": {"9": 2, "0": 10}},
            "missed_ndcg_at_n": {"8": 0.5},
        }
        rows = grid(["WebTraffic"], ["conjunctive-inceptiontime"], **facts)
        text = write_report(make_run(tmp_path, rows, tables=["false-negatives"])).path.read_text()
        assert line_of(text, "Peak") == ["Peak", "0.760", "0.760", "None (10), Trough (2)", "0.500"]
        assert line_of(text, "None") == ["None", "0.900", "0.860 to 1.000", "–", "–"]
        assert "2 of 10 classes" in text

    def test_false_negatives_of_single_models_are_means(self, tmp_path):
        facts = [(0.9, 5, {"8": 0.5}), (0.8, 10, {}), (0.1, 45, {"8": 0.7})]
        rows = [
            make_row("WebTraffic", "conjunctive-inceptiontime", repeat, per_class_accuracy={"8": accuracy},
                     missed={"8": {"0": n}}, missed_ndcg_at_n=found)
            for repeat, (accuracy, n, found) in enumerate(facts)
        ]  # fmt: skip
        text = write_report(make_run(tmp_path, rows, tables=["false-negatives"])).path.read_text()
        assert line_of(text, "Peak") == ["Peak", "0.600", "0.760", "None (60)", "0.600"]
        assert "Means of 3 single models" in text


class TestUcr:
    def test_brief_trainings_are_called_brief_in_each_section(self, tmp_path, published):
        note = "trained briefly (recipe fast, n_epochs=3; the paper's: 1500 epochs)"
        whole = write_report(
            make_run(tmp_path / "a", grid(UCR, DUEL, recipe="fast"), name="ucr"), published=published
        )
        assert "trained briefly" not in whole.text
        rows = grid(UCR, DUEL, recipe="fast, n_epochs=3")
        brief = write_report(make_run(tmp_path / "b", rows, name="ucr"), published=published)
        sections = brief.path.read_text().split("\n## ")
        assert [section.split("\n")[0] for section in sections if note in section] == [
            "UCR", "Ranking", "Dataset properties",
        ]  # fmt: skip

    def test_means_stand_beside_the_authors_on_the_same_datasets(self, tmp_path, published):
        rows = grid(UCR[:4], DUEL)
        rows = [row for row in rows if (row["dataset"], row["model"]) != (UCR[0], DUEL[0])]
        text = write_report(make_run(tmp_path, rows, name="ucr"), published=published).path.read_text()
        run, results = read_run(tmp_path), Published(published)
        cells = line_of(text, "GAP InceptionTime", "UCR: Accuracy")
        ours = np.mean([run.ensemble(name, DUEL[0], "accuracy") for name in UCR[1:4]])
        theirs = np.mean([results.ensemble(name, DUEL[0], "accuracy") for name in UCR[1:4]])
        assert cells[1:6] == ["3", f"{ours:.3f}", f"{theirs:.3f}", f"{ours - theirs:+.3f}", "0.853"]
        assert line_of(text, "GAP InceptionTime", "UCR: AUROC")[5] == "0.939"
        assert cells[6].endswith("of 3")
        assert "UCR: Accuracy (App. D.3): 4 of 85 datasets" in text
        single = line_of(text, "Conjunctive InceptionTime", "UCR: AOPCR of single models")
        assert single[2] == f"{np.mean([run.single(name, DUEL[1], 'aopcr') for name in UCR[:4]]):.3f}"

    def test_ranks_put_ours_in_the_place_of_the_authors(self, tmp_path, published):
        run, results = read_run(make_run(tmp_path, grid(UCR, DUEL))), Published(published)
        field = gather_field(run, results, MODELS, UCR, "accuracy")
        assert field.classifiers == (*MODELS, *STATE_OF_THE_ART)
        assert [name for name, is_ours in zip(field.classifiers, field.ours, strict=True) if is_ours] == list(DUEL)
        assert field.column(DUEL[0]).tolist() == [run.ensemble(name, DUEL[0], "accuracy") for name in UCR]
        assert field.column("gap-fcn").tolist() == [results.ensemble(name, "gap-fcn", "accuracy") for name in UCR]
        text = write_report(tmp_path, published=published).path.read_text()
        rank = average_ranks(field.values)[MODELS.index(DUEL[1])]
        cells = line_of(text, "Conjunctive InceptionTime", "UCR: Accuracy among 22 classifiers")
        assert cells[1] == "ours"
        assert cells[3] == f"{rank:.3f}"
        assert cells[-1] == "0.856 / 8.976 / 15"

    def test_a_model_that_has_only_begun_does_not_shrink_the_comparison(self, tmp_path):
        rows = grid(UCR, DUEL) + grid(UCR[:1], ["gap-fcn"])
        field = gather_field(read_run(make_run(tmp_path, rows)), Published(None), MODELS, UCR, "accuracy")
        assert field.classifiers == DUEL
        assert field.datasets == UCR

    def test_a_sparse_published_column_does_not_shrink_the_comparison_and_is_named(self, tmp_path, published):
        shutil.copytree(published, tmp_path / "published")
        path = tmp_path / "published" / "bakeoff" / "bakeoff_redux_85_balacc_split0.csv"
        header, *lines = csv.reader(path.read_text().splitlines())
        for line in lines[2:]:
            line[header.index("PF")] = ""
        lines[0][header.index("RDST")] = ""  # with most of its results, it stays, and one dataset goes
        write_csv(path, header, lines)
        run = read_run(make_run(tmp_path / "run", grid(UCR, DUEL), tables=["ranking"]))
        field = gather_field(run, Published(tmp_path / "published"), MODELS, UCR, "balanced_accuracy")
        assert field.left_out == ("PF",)
        assert field.datasets == UCR[1:]
        text = write_report(run.folder, published=tmp_path / "published").path.read_text()
        assert "Left out, with results on less than half as many datasets as others have: PF." in text
        assert line_of(text, "HC2", "UCR: Conjunctive InceptionTime (ours) head to head")[2].endswith("of 6")

    def test_everything_is_drawn_and_written(self, tmp_path, published, aeon_data):
        folder = make_run(tmp_path / "run", grid(UCR, (*DUEL, "conjunctive-fcn")), name="ucr")
        report = write_report(folder, published=published, out=tmp_path / "out", path=aeon_data)
        assert report.path == tmp_path / "out" / "report.md"
        names = {path.stem for path in report.pictures}
        assert names == {"critical_difference", "head_to_head_gap-inceptiontime", "head_to_head_HC2", "trade_off",
                         "head_to_head_Hydra-MR", "by_length", "by_n_train", "model_variance"}  # fmt: skip
        text = report.path.read_text()
        assert all(path.stat().st_size > 1000 and f"({path.name})" in text for path in report.pictures)
        assert "Balance unknown, because missing or unreadable: BeetleFly" in text
        assert {path.name for path in report.path.parent.iterdir()} == {
            "report.md",
            *(p.name for p in report.pictures),
        }

    def test_imbalanced_datasets_are_found_by_their_labels(self, tmp_path, published):
        for name, n_rare in (("Coffee", 5), ("Earthquakes", 1)):
            labels = [1] * n_rare + [2] * (10 - n_rare)
            for split in ("TRAIN", "TEST"):
                path = tmp_path / "data" / name / f"{name}_{split}.tsv"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("".join(f"{label}\t0.5\t0.25\n" for label in labels))
        (tmp_path / "data" / "GunPoint_TRAIN.tsv").write_text("1\t0\t1\n")
        (tmp_path / "data" / "GunPoint_TEST.tsv").write_text("1\tbroken\n")
        folder = make_run(tmp_path / "run", grid(UCR, DUEL), tables=["properties"])
        text = write_report(folder, published=published, path=tmp_path / "data").path.read_text()
        assert "Imbalanced: Earthquakes (0.47)." in text
        assert "1 of 2 have a balance below 0.9" in text
        assert "unreadable: BeetleFly, ECG200, GunPoint, ItalyPowerDemand." in text
        run = read_run(folder)
        gain = run.ensemble("Earthquakes", DUEL[1], "balanced_accuracy")
        gain -= run.ensemble("Earthquakes", DUEL[0], "balanced_accuracy")
        score = "1 / 0 / 0" if gain > 0 else "0 / 0 / 1"
        assert line_of(text, "GAP InceptionTime (ours)")[1:] == [score, f"{gain:+.3f}", "8 wins of 13"]
        assert "![Conjunctive InceptionTime (ours) on the 1 imbalanced of 6 of 85 datasets." in text

    def test_models_that_the_paper_does_not_have_stand_below(self, tmp_path):
        rows = grid([*UCR, "WebTraffic"], ["gap-lite"])
        text = write_report(make_run(tmp_path, rows, tables=["ucr", "webtraffic"])).path.read_text()
        assert line_of(text, "GAP LITE", "UCR: Accuracy")[1] == "6"
        assert "| model | our ensemble | our runs |" in text, "the paper has nothing to compare with"
        assert "0 of 15 models" in text

    def test_without_published_results_the_report_says_what_is_missing(self, tmp_path):
        text = write_report(make_run(tmp_path, grid(UCR, DUEL), name="ucr")).text
        assert "Published per-dataset results were not given (--published)" in text
        assert "HC2" not in text

    def test_training_losses_are_compared_as_powers_of_ten(self, tmp_path, published):
        model, losses = "conjunctive-fcn", (1e-4, 1e-6)
        rows = [make_row("Coffee", model, repeat, train_loss=loss) for repeat, loss in enumerate(losses)]
        rows += [make_row("Coffee", "gap-fcn", 0, train_loss=0.0), make_row("Beef", model, 0, train_loss=None)]
        text = write_report(make_run(tmp_path, rows, name="ucr"), published=published).path.read_text()
        title = "UCR: Training loss, as powers of ten"
        theirs = np.log10([number("Coffee", f"ConjunctiveFCN {run}", "train loss") for run in range(5)])
        cells = line_of(text, "Coffee, Conjunctive FCN", title)
        assert cells[1] == "-5.000 (2)"
        assert cells[2] == f"{theirs.mean():.3f}, {theirs.min():.3f} to {theirs.max():.3f}"
        assert cells[4] == "no"
        assert line_of(text, "Coffee, GAP FCN", title)[1] == "-9.000 (1)"
        assert f"{title}: 1 of 85 datasets" in text

    def test_missing_files_are_named_and_the_report_goes_on(self, tmp_path, published):
        (tmp_path / "published").mkdir()
        (tmp_path / "published" / "authors").symlink_to(published / "authors")
        folder = make_run(tmp_path / "run", grid(UCR, DUEL), name="ucr")
        text = write_report(folder, published=tmp_path / "published").text
        assert "Missing among the published results: bakeoff/bakeoff_redux_85_accuracy_split0.csv" in text
        assert "among 15 classifiers" in text

    def test_datasets_that_the_paper_does_not_have_are_not_compared(self, tmp_path):
        text = write_report(make_run(tmp_path, grid(["Mine", "Yours"], DUEL), name="ucr")).text
        assert "None of the datasets is one of the paper's 85" in text
        assert "85 datasets" not in text
        assert "App." not in text
        assert "--published" not in text

    def test_models_and_datasets_without_ensembles_do_not_vanish(self, tmp_path):
        rows = grid(UCR, [*DUEL, "gap-fcn"])
        singles = [row for row in rows if not row["ensemble"] or (row["dataset"], row["model"]) == (UCR[0], DUEL[0])]
        text = write_report(make_run(tmp_path, singles, name="ucr")).path.read_text()
        assert "tables of single models show what those of ensembles lack" in text
        assert line_of(text, "GAP FCN", "UCR: Accuracy of single models")[1] == "6"
        assert line_of(text, "GAP InceptionTime", "UCR: Accuracy (App. D.3): 1 of 85 datasets")[1] == "1"
        assert "UCR: Accuracy among 3 classifiers (App. D.3): 6 of 85 datasets" in text
        assert "On all datasets our results are means of single models, since there are no ensembles" in text

    def test_single_models_beside_the_papers_ensembles_are_marked(self, tmp_path, published):
        rows = grid(["WebTraffic"], DUEL)
        without = write_report(make_run(tmp_path / "a", rows, name="webtraffic")).path.read_text()
        assert line_of(without, "GAP InceptionTime", "WebTraffic: Accuracy")[5].endswith(" \\*")
        assert "Our single models beside the paper's ensembles" in without
        beside = write_report(make_run(tmp_path / "b", rows, name="webtraffic"), published=published)
        assert "*" not in line_of(beside.path.read_text(), "GAP InceptionTime", "WebTraffic: Accuracy")[6]

    def test_smaller_ensembles_than_the_authors_are_called_so(self, tmp_path, published):
        rows = grid(UCR, DUEL)
        for repeats, is_said in ((2, True), (5, False)):
            folder = make_run(tmp_path / str(repeats), rows, name="ucr", repeats=repeats)
            text = write_report(folder, published=published).path.read_text()
            assert ("Our ensembles have 2 members, the authors' 5" in text) == is_said

    def test_where_nothing_is_won_there_is_no_greatest_gain(self, tmp_path):
        rows = [row | {"balanced_accuracy": 0.6 + 0.1 * (row["model"] == "gap-inceptiontime")}
                for row in grid(UCR, DUEL)]  # fmt: skip
        text = write_report(make_run(tmp_path, rows, name="ucr")).path.read_text()
        cells = line_of(text, "GAP InceptionTime", "UCR: Conjunctive InceptionTime head to head")
        assert cells[1] == "0 / 0 / 6"
        assert cells[-2:] == ["–", f"{UCR[0]} -0.100"]

    def test_a_page_of_somebody_elses_is_not_replaced(self, tmp_path):
        folder = make_run(tmp_path / "run", grid(UCR, DUEL), name="ucr")
        page = write_report(folder, out=tmp_path).path
        write_report(folder, out=tmp_path)
        page.write_text("# Report\n\nMy own words.\n")
        with pytest.raises(StorageError, match=r"report\.md is not a report of MILLET's"):
            write_report(folder, out=tmp_path)
        assert page.read_text() == "# Report\n\nMy own words.\n"

    def test_where_nothing_is_an_ensemble_no_table_of_ensembles_is_spoken_of(self, tmp_path):
        text = write_report(make_run(tmp_path, grid(UCR, DUEL, n_repeats=1), name="ucr")).text
        assert "Accuracy of single models" in text
        assert "those of ensembles lack" not in text

    def test_two_models_that_differ_everywhere_are_not_called_alike(self, tmp_path):
        names = [f"Pump {number}" for number in range(10)]
        rows = [row | {"balanced_accuracy": 0.6 + 0.1 * (row["model"] == "gap-lite")}
                for row in grid(names, ["gap-lite", "gap-fcn"])]  # fmt: skip
        text = write_report(make_run(tmp_path, rows, name="mine")).path.read_text()
        assert (
            line_of(text, "GAP LITE", "Balanced accuracy of all our models, groups that can't be told apart")[2]
            == "–"
        )
        assert "could be told apart" not in text
        few = [row for row in rows if row["dataset"] in names[:4]]
        assert "0.12: no pair could be told apart" in write_report(make_run(tmp_path, few, name="mine")).text

    def test_an_ablation_names_its_backbone_and_what_it_leaves_out(self, tmp_path):
        models = ["gap-fcn-step1", "conjunctive-fcn-step2", "conjunctive-fcn-step9"]
        rows = grid(["BeetleFly", "Mine"], models, balanced_accuracy=0.75)
        text = write_report(make_run(tmp_path, rows, name="ablation")).path.read_text()
        assert "### Ablation of Conjunctive FCN: Balanced accuracy: 1 of 3 datasets" in text
        assert line_of(text, "2. + MIL pooling")[1:] == ["0.750 ± 0.000", "0.750", "+0.000"]
        assert "left out: Mine, conjunctive-fcn-step9." in text
        twice = rows + grid(["BeetleFly"], ["additive-fcn-step2"], balanced_accuracy=0.25)
        text = write_report(make_run(tmp_path, twice, name="ablation")).path.read_text()
        assert line_of(text, "2. + MIL pooling")[1] == "0.750 ± 0.000"
        assert "left out: Mine, conjunctive-fcn-step9, additive-fcn-step2." in text

    def test_models_on_datasets_of_ones_own_are_ranked_among_themselves(self, tmp_path):
        names, models = [f"Pump {letter}" for letter in "ABCDEFG"], ["gap-lite", "minirocket", "minirocket+gap-fcn"]
        accuracy = {"gap-lite": 0.7, "minirocket": 0.9, "minirocket+gap-fcn": 0.8}
        rows = [row | {"balanced_accuracy": accuracy[row["model"]]} for row in grid(names, models)]
        report = write_report(make_run(tmp_path, rows, name="mine"))
        text = report.path.read_text()
        assert line_of(text, "MiniRocket", "Balanced accuracy of all our models: 7 datasets")[1:] == [
            "0.900", "1.000", "7",
        ]  # fmt: skip
        assert line_of(
            text, "MiniRocket + GAP FCN", "Balanced accuracy of all our models, groups that can't be told apart"
        )[1:] == [
            "2.000",
            "–",
        ]
        assert {path.stem for path in report.pictures} == {"critical_difference_all", "trade_off"}

    def test_datasets_that_the_paper_has_not_are_shown_beside_those_it_has(self, tmp_path, published):
        rows = grid([*UCR[:2], "Mine"], DUEL)
        text = write_report(make_run(tmp_path, rows, name="ucr"), published=published).path.read_text()
        assert "Not among the paper's 85 datasets, and left out of means over them: Mine." in text
        assert line_of(text, "GAP InceptionTime", "UCR: Accuracy (App. D.3): 2 of 85")[1] == "2"
        mine = line_of(text, "Mine, GAP InceptionTime", "UCR: Accuracy by dataset: 2 of 85 datasets and 1 other")
        assert mine[1] == f"{read_run(tmp_path).ensemble('Mine', DUEL[0], 'accuracy'):.3f}"
        assert "| HC2 |" in text, "as the paper, on the datasets it has"
        ranked = text[
            text.index("### UCR: Accuracy of all our models, on all datasets: 2 of 85 datasets and 1 other") :
        ]
        assert "HC2" not in ranked.split("###")[1]

    def test_what_was_not_measured_is_not_ranked(self, tmp_path, published):
        rows = [
            {key: row[key] for key in row if key != "balanced_accuracy"} for row in grid(UCR, ["minirocket", "hydra"])
        ]
        report = write_report(make_run(tmp_path, rows, name="ucr"), published=published)
        assert "Accuracy of all our models" in report.text
        assert "Balanced accuracy of all our models" not in report.text
        assert {path.stem for path in report.pictures} == {"trade_off"}

    def test_datasets_of_ones_own_do_not_drive_away_the_state_of_the_art(self, tmp_path, published):
        rows = grid([*UCR, "Mine"], ["minirocket", "hydra"])
        text = write_report(make_run(tmp_path, rows, name="ucr"), published=published).path.read_text()
        assert (
            "| HC2 |" in text[text.index("### UCR: Accuracy of all our models: 6 of 85 datasets") :].split("###")[1]
        )
        everywhere = "### UCR: Accuracy of all our models, on all datasets: 6 of 85 datasets and 1 other"
        assert "| HC2 |" not in text[text.index(everywhere) :].split("###")[1]

    def test_recipes_have_the_epochs_that_reports_know(self):
        assert {name: recipe.n_epochs for name, recipe in RECIPES.items()} == RECIPE_EPOCHS

    def test_models_that_the_paper_has_not_are_ranked_among_the_state_of_the_art(self, tmp_path, published):
        rows = grid(UCR, ["minirocket", "hydra"])
        text = write_report(make_run(tmp_path, rows, name="ucr"), published=published).path.read_text()
        assert "None of these" not in text
        among = text[text.index("### UCR: Accuracy of all our models: 6 of 85 datasets") :].split("###")[1]
        assert "| MiniRocket (ours) |" in among
        assert "| HC2 |" in among
        assert f"among {2 + len(STATE_OF_THE_ART)} classifiers" in among


class TestOtherSections:
    def test_the_ablation_ends_with_the_ensemble_of_step_5(self, tmp_path):
        models = ["gap-inceptiontime-step1", *(f"conjunctive-inceptiontime-step{step}" for step in range(2, 6))]
        rows = [make_row("BeetleFly", m, r, balanced_accuracy=0.8 + 0.01 * n, ensemble=r < 0)
                for n, m in enumerate(models) for r in ((0, 1) if n < 4 else (0, 1, -1))]  # fmt: skip
        rows[-1]["balanced_accuracy"] = 0.95
        text = write_report(make_run(tmp_path, rows, name="ablation")).path.read_text()
        first = ["1. GAP, single", "0.800 ± 0.000 (0.870)", "0.800", "0.870", "–", "–"]
        assert line_of(text, "1. GAP, single") == first
        assert line_of(text, "5. + dropout")[1:5] == ["0.840 ± 0.000 (0.920)", "0.840", "0.920", "+0.010"]
        assert line_of(text, "6. + ensemble")[1:5] == ["0.950 (0.950)", "0.950", "0.950", "+0.110"]
        assert "1 of 3 datasets" in text

    def test_costs_are_per_case_and_relative_to_gap(self, tmp_path):
        facts = {"n_parameters": 422_315, "n_cases": 100, "inference_seconds": 1.0}
        rows = [make_row("Fish", "gap-inceptiontime", r, train_seconds=100, **facts) for r in (0, 1)]
        facts |= {"n_parameters": 430_000, "inference_seconds": 1.1}
        rows.append(make_row("Fish", "instance-inceptiontime", train_seconds=150, **facts))
        rows.append(make_row("Fish", "instance-inceptiontime", method="shap", n_cases=4, explain_seconds=10))
        text = write_report(
            make_run(tmp_path, rows, tables=["run_time", "parameters", "complexity"])
        ).path.read_text()
        assert line_of(text, "GAP InceptionTime") == ["GAP InceptionTime", "422315", "422300", "yes"]
        assert line_of(text, "Instance InceptionTime")[-1] == "no"
        assert line_of(text, "Instance", "Fish: training")[1:] == ["150.00", "+50.0 %", "582 ± 1", "+3.0 %"]
        rows += [make_row("Fish", "additive-inceptiontime", r, train_seconds=s) for r, s in enumerate((60, 160))]
        text = write_report(
            make_run(tmp_path, rows, tables=["run_time", "parameters", "complexity"])
        ).path.read_text()
        assert line_of(text, "Additive", "Fish: training")[2] == "within run-to-run noise"
        assert line_of(text, "GAP", "Fish: training")[1] == "100.00 ± 0.00"
        assert line_of(text, "Instance", "Fish: prediction")[1:3] == ["11.00", "+10.0 %"]
        assert line_of(text, "Instance", "Fish: SHAP")[1] == "2.50"
        assert line_of(text, "Conjunctive", "Multiplications")[1] == "899,146"

    def test_failed_cells_are_listed(self, tmp_path):
        failure = {
            "dataset": "Beef",
            "model": "gap-fcn",
            "repeat": 1,
            "status": "failed",
            "error": "Out of\nmemory | x",
        }
        folder = make_run(tmp_path, [*grid(UCR[:1], DUEL), failure], name="ucr", datasets=[{"name": n} for n in UCR])
        report = write_report(folder)
        assert "| Beef | gap-fcn | 1 | own | Out of memory \\| x |" in report.path.read_text()
        assert "1 of 6 datasets, 2 models, 4 trainings, 2 ensembles, 1 failed" in report.text

    @pytest.mark.parametrize("name", [*SECTIONS, None])
    def test_every_section_survives_a_run_without_rows(self, tmp_path, name, published):
        folder = make_run(tmp_path, [], **({"tables": [name]} if name else {}))
        for folder_of_others in (None, published):
            assert write_report(folder, published=folder_of_others).path.exists()

    def test_tables_choose_the_sections_and_unknown_ones_are_named(self, tmp_path):
        report = write_report(make_run(tmp_path, [], tables=["complexity", "complexety"]))
        assert "Multiplications" in report.text
        assert "Unknown table 'complexety'" in report.text
        assert "Did you mean 'complexity'?" in report.text
        assert set(TABLES.values()) == set(SECTIONS)

    @pytest.mark.parametrize("name", ["comparison", "ablation", "runtime", "webtraffic", "ucr"])
    def test_the_name_of_an_experiment_does_not_decide_what_is_shown(self, tmp_path, name):
        rows = grid(["Mine", "Yours"], DUEL)
        texts = [
            write_report(make_run(tmp_path / word, rows, name=word)).text.split("\n", 1)[1] for word in (name, "mine")
        ]
        assert "Accuracy by dataset" in texts[0]
        assert texts[0] == texts[1]

    def test_without_steps_an_ablation_has_a_note_and_no_table(self, tmp_path):
        text = write_report(make_run(tmp_path, grid(UCR[:2], DUEL), tables=["ablation"])).path.read_text()
        assert "None of the models is a step of an ablation" in text
        assert "###" not in text

    def test_a_long_table_is_not_poured_into_the_terminal(self):
        table = Table("Long", "", "all", ("a", "b"), (("x", "1"),) * 61)
        assert "61 rows" in table.to_text()
        assert table.to_markdown().count("| x | 1 |") == 61


class TestFigures:
    def test_the_diagram_places_names_and_bars_by_rank(self):
        rng = np.random.default_rng(1)
        base = rng.random(20)
        table = np.column_stack([base - 0.3, base, base + rng.normal(0, 0.001, 20)])
        comparison = compare_classifiers(table, ["worst", "one", "two $x"])
        ax = plot_critical_difference(comparison)
        texts = [text.get_text() for text in ax.texts]
        assert texts[-1] == "worst  3.00"
        assert any(r"two \$x" in text for text in texts)
        bars = [bar for bar in ax.collections if np.allclose(bar.get_linewidths(), 3)]
        assert len(bars) == 1
        (start, end) = bars[0].get_segments()[0][:, 0]
        assert start <= comparison.ranks[1:].min() <= comparison.ranks[1:].max() <= end < 3
        left, right = ax.get_xlim()
        assert left > right, "better ranks stand at the right"

    def test_figures_draw_where_they_are_told(self):
        _, axes = pyplot.subplots(1, 3)
        assert plot_trade_off({"a": (0.5, 1.0)}, ax=axes[0]) is axes[0]
        assert plot_head_to_head([0.5, 0.6], [0.5, 0.7], ["x", "y"], ("a", "b"), ax=axes[1]) is axes[1]
        assert plot_deviations([[0.5, 0.6, 0.7]], ["a", "b", "c"], ax=axes[2]) is axes[2]

    def test_what_can_not_be_drawn_leaves_no_figure(self):
        with pytest.raises(ParameterError):
            plot_trade_off({})
        with pytest.raises(ParameterError, match="as many names"):
            plot_head_to_head([0.5], [0.6], ["x", "y"], ("a", "b"))
        assert pyplot.get_fignums() == []


class TestCommand:
    def test_one_is_no_plural(self, tmp_path, published):
        rows = grid(["Coffee"], DUEL)
        folder = make_run(tmp_path / "run", rows, name="ucr", datasets=["Coffee"], models=list(DUEL))
        result = CliRunner().invoke(cli, ["report", str(folder), "--published", str(published)])
        assert result.exit_code == 0, result.output
        assert "13 classifiers on 1 dataset." in result.output
        assert "ucr: 1 of 1 dataset, 2 of 2 models, 4 trainings, 2 ensembles, 0 failed." in result.output
        assert result.output.endswith("report.md and 1 picture.\n")
        assert not re.search(r"\b1 (datasets|models|trainings|ensembles|pictures)\b", result.output)

    def test_a_run_whose_first_cell_is_under_way_is_called_so(self, tmp_path):
        make_run(tmp_path, [])
        (tmp_path / "rows.jsonl").unlink()
        with pytest.raises(
            DatasetNotFoundError, match=r"no cell of the run has been finished yet\. Wait for the first"
        ):
            write_report(tmp_path)

    def test_it_prints_the_tables_and_where_they_are(self, tmp_path):
        folder = make_run(tmp_path / "run", grid(["WebTraffic"], ["gap-fcn"]), name="webtraffic")
        result = CliRunner().invoke(cli, ["report", str(folder), "--out", str(tmp_path / "out")])
        assert result.exit_code == 0, result.output
        assert "WebTraffic: Accuracy (App. D.2): 1 of 15 models" in result.output
        assert f"Wrote {tmp_path / 'out' / 'report.md'} and 0 pictures." in result.output

    def test_nothing_of_torch_is_imported(self, tmp_path):
        folder = make_run(tmp_path, grid(UCR[:2], DUEL), name="ucr")
        code = (
            f"import sys, millet.report; millet.report.write_report({str(folder)!r}); print('torch' in sys.modules)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "False"

    def test_the_paper_ran_datasets_that_the_catalogue_knows(self):
        assert len(PAPER_DATASETS) == 85
        assert all(find(name) for name in PAPER_DATASETS)
