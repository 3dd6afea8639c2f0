"""Claims about the page on the reproduction: partial grids say so, and the same rows give the same page."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot

from millet import make_web_traffic
from millet.benchmark.speed import Speed
from millet.datasets.catalogue import PAPER_DATASETS, WEB_TRAFFIC, find
from millet.datasets.web_traffic import load_web_traffic
from millet.errors import ParameterError
from millet.explanation import Explanation
from millet.metrics import ndcg_at_n
from millet.report import Published, plot_gains, plot_multiplications, read_results, write_reproduction
from millet.report.agreement import CHECKS
from millet.report.claims import CLAIMS
from millet.report.complexity import multiplications
from millet.report.evidence import choose_cases, evidence_pictures, load_evidence, save_evidence
from millet.report.field_claims import field_claims
from millet.report.findings import findings_section
from millet.report.names import BACKBONES, METRICS, MODELS, POOLINGS, STATE_OF_THE_ART
from millet.report.overview import ITEMS
from millet.report.reproduction import page_parts, verdicts

ROOT = Path(__file__).parent.parent
BEST = "conjunctive-inceptiontime"
DUEL = ("gap-inceptiontime", BEST)
UCR = ("BeetleFly", "Coffee", "ECG200", "GunPoint")
UCR_TABLES = ["ucr_prediction", "ucr_sota", "dataset_properties"]


@pytest.fixture(autouse=True)
def no_figure_is_left_behind():
    yield
    assert pyplot.get_fignums() == []


@pytest.fixture(scope="module")
def script(page_script):
    """The script behind the page, as a module."""
    return page_script("reproduction")


def number(*words):
    """Return a number between 0.5 and 1 that depends on the words alone."""
    seed = [sum(word.encode()) for word in map(str, words)]
    return round(float(np.random.default_rng(seed).uniform(0.5, 1.0)), 4)


def make_row(dataset, model, repeat, **changes):
    metrics = {name: number(dataset, model, name, repeat) for name in METRICS}
    pooling, backbone = model.split("-")
    identity = {"dataset": dataset, "model": model, "pooling": pooling, "backbone": backbone, "repeat": repeat}
    facts = {"recipe": "paper", "train_core_seconds": 3600.0, "n_epochs_run": 1500, "machine": {"n_threads": 2}}
    return {**identity, "ensemble": repeat < 0, "method": "own", "status": "done", **facts, **metrics, **changes}


def make_run(folder, rows, **experiment):
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"name": folder.name, "repeats": 2, "recipe": "paper", **experiment}))
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def ucr_rows(**changes):
    return [make_row(d, m, r, **changes) for d in UCR for m in DUEL for r in (0, 1, -1)]


def write_page(results, folder, published=None, **options):
    options |= {"pictures": folder / "images" / "page"}
    return write_reproduction(read_results(results), Published(published), folder / "page.md", **options).read_text()


def overview(text, title, heading="At a glance"):
    lines = text[text.index(f"## {heading}") :].split("\n")
    line = next(line for line in lines if re.match(rf"\| \[?{title}", line))
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """(text, folder) of a page on one small run."""
    folder = tmp_path_factory.mktemp("page")
    make_run(folder / "results" / "ucr_small", ucr_rows(), tables=UCR_TABLES)
    return write_page(folder / "results", folder), folder


class TestPage:
    def test_every_item_is_partial_whole_or_not_run(self, page):
        text, _ = page
        assert "At a glance: 1 of 10 items complete, 3 in part" in text
        state = "partial: part of the grid, 2 of 15 models, 2 instead of 5 repeats"
        assert overview(text, "UCR")[2:] == ["`ucr_small`", "paper", "4 of 85 datasets", state]
        assert overview(text, "Multiplications")[-1] == "complete"
        assert overview(text, "Ablation")[-1] == "not run: `experiments/ablation.toml`"
        for heading in re.findall(r"^### (UCR.*)$", text, flags=re.MULTILINE):
            assert heading.split(": ")[-1].startswith("4 of 85 datasets")

    def test_a_whole_grid_by_the_papers_protocol_is_called_whole(self, tmp_path):
        rows = [make_row("WebTraffic", model, repeat) for model in MODELS for repeat in (*range(5), -1)]
        make_run(tmp_path / "results" / "web", rows, tables=["webtraffic"], repeats=5)
        other = [make_row("WebTraffic", model, 0, recipe="fast") for model in MODELS]
        make_run(tmp_path / "results" / "web_fast", other, tables=["webtraffic"], repeats=1, recipe="fast")
        text = write_page(tmp_path / "results", tmp_path)
        assert overview(text, "WebTraffic")[2:] == ["`web`", "paper", "15 of 15 models", "complete"]
        assert "| fast | 15 of 15 models | partial: another recipe, 1 instead of 5 repeats |" in text
        assert text.count("## WebTraffic\n") == 1
        assert text.index("**Run `web`**") < text.index("**Run `web_fast`**")

    def test_a_grid_that_lacks_ensembles_or_other_methods_is_not_whole(self, tmp_path):
        rows = [make_row("WebTraffic", model, repeat) for model in MODELS for repeat in range(5)]
        specs = [{"name": model, "pooling": model.split("-")[0], "ensemble": True} for model in MODELS]
        methods = [{"name": "own"}, {"name": "cam", "poolings": ["gap"]}]
        plan = {"models": specs, "methods": methods, "datasets": [{"name": "WebTraffic"}]}
        make_run(tmp_path / "results" / "web", rows, tables=["webtraffic"], repeats=5, **plan)
        state = overview(write_page(tmp_path / "results", tmp_path), "WebTraffic")[-1]
        assert state == "partial: 0 of 15 planned ensembles, 0 of 3 planned explanations by other methods"

    def test_what_a_run_calls_itself_is_no_markup(self, tmp_path):
        recipe, tier = "[a](javascript:x)", "<img src=x>\n## Ours"
        rows = [make_row("WebTraffic", model, 0, recipe=recipe) for model in MODELS]
        make_run(tmp_path / "results" / "web", rows, tables=["webtraffic"], repeats=1, recipe=recipe, tier=tier)
        text = write_page(tmp_path / "results", tmp_path)
        assert "<img" not in text
        assert "\n## Ours" not in text
        assert "[a](javascript" not in text.replace("\\[a\\](javascript", "")

    def test_a_run_of_other_backbones_is_listed_but_reproduces_nothing(self, tmp_path):
        rows = [make_row("WebTraffic", "conjunctive-lite", repeat) for repeat in range(5)]
        make_run(tmp_path / "results" / "light", rows, tables=["webtraffic"], repeats=5)
        text = write_page(tmp_path / "results", tmp_path)
        assert "- `light`: " in text
        assert overview(text, "WebTraffic")[-1] == "not run: `experiments/webtraffic.toml`"

    def test_only_what_has_networks_has_a_recipe(self, tmp_path):
        models = {
            "minirocket": "minirocket",
            "minirocket-anchor": "minirocket",
            "multirocket-hydra": "multirocket-hydra",
        }
        row = make_row("Coffee", "instance-minirocket", 0)
        rows = [{**row, "model": model, "backbone": backbone} for model, backbone in models.items()]
        make_run(tmp_path / "results" / "rocket", rows)
        average = {**row, "model": "hydra+gap-fcn", "backbone": "hydra+fcn", "recipe": "fast"}
        make_run(tmp_path / "results" / "together", [*rows, average])
        text = write_page(tmp_path / "results", tmp_path)
        assert "- `rocket`: 1 dataset, 3 models, 3 trainings, 0 ensembles, 0 failed. " in text
        assert "- `together`: 1 dataset, 4 models, 4 trainings, 0 ensembles, 0 failed, recipe fast. " in text

    def test_a_run_that_was_interrupted_is_partial(self, tmp_path):
        rows = [make_row("BeetleFly", BEST, repeat) for repeat in range(3)]
        planned = {"datasets": [{"name": "BeetleFly"}], "models": [{"name": BEST}], "repeats": 5}
        make_run(tmp_path / "results" / "ablation", rows, tables=["ablation"], **planned)
        state = "partial: part of the grid, 3 of 5 planned trainings"
        assert overview(write_page(tmp_path / "results", tmp_path), "Ablation")[-1] == state

    def test_parameters_do_not_depend_on_training_and_generated_data_is_named(self, tmp_path):
        rows = [make_row("Fish", model, 0, recipe="fast", n_parameters=1) for model in MODELS]
        make_run(tmp_path / "results" / "runtime", rows, tables=["parameters", "run_time"], recipe="fast", repeats=1)
        tiny = [{"name": "Tiny", "generator": {"n_cases_per_class": 2}}]
        make_run(tmp_path / "results" / "tiny", [make_row("Tiny", BEST, 0)], tables=["webtraffic"], datasets=tiny)
        text = write_page(tmp_path / "results", tmp_path)
        assert overview(text, "Parameters")[-1] == "complete"
        assert overview(text, "Run time")[-1] == "partial: another recipe, 1 instead of 5 repeats"
        state = "partial: part of the grid, generated data, 2 instead of 5 repeats"
        assert overview(text, "WebTraffic")[-1] == state
        assert "Ours ran 1500 epochs, the paper's 1500." in text

    def test_links_lead_to_headings_and_pictures(self, page):
        text, folder = page
        titles = [line[3:].lower().replace(" ", "-") for line in text.split("\n") if line.startswith("## ")]
        anchors = re.findall(r"\]\(#([^)]+)\)", text)
        assert anchors
        assert set(anchors) <= set(titles)
        shown = re.findall(r"\]\((images/[^)]+)\)", text)
        assert {folder / name for name in shown} == set((folder / "images" / "page").iterdir())
        assert "images/page/ucr_small-critical_difference.png" in shown

    def test_the_same_rows_give_the_same_page_and_pictures(self, page):
        text, folder = page
        shown = folder / "images" / "page"
        pictures = {path.name: path.read_bytes() for path in shown.iterdir()}
        (shown / "stale.png").write_bytes(b"")
        assert write_page(folder / "results", folder) == text
        assert {path.name: path.read_bytes() for path in shown.iterdir()} == pictures

    def test_without_any_run_the_page_says_so(self, tmp_path):
        (tmp_path / "results" / "begun").mkdir(parents=True)
        (tmp_path / "results" / "begun" / "run.json").write_text("{}")
        text = write_page(tmp_path / "results", tmp_path)
        assert "There are no runs yet." in text
        assert "Published per-dataset results were not given" in text
        assert text.count("| not run: ") == len(ITEMS) - 1

    def test_no_table_is_empty_and_each_counts_its_own_datasets(self, tmp_path):
        rows = [row for row in ucr_rows(aopcr=None) if (row["dataset"], row["repeat"]) != ("Coffee", -1)]
        make_run(tmp_path / "results" / "ucr_small", rows, tables=["ucr"])
        text = write_page(tmp_path / "results", tmp_path)
        assert not re.findall(r"^\| ---.*\n(?!\| )", text, flags=re.MULTILINE)
        assert "Not measured in this run: AOPCR." in text
        headings = re.findall(r"^### (UCR.*)$", text, flags=re.MULTILINE)
        assert headings == [
            "UCR: Accuracy (App. D.3): 3 of 85 datasets",
            "UCR: Balanced accuracy (App. D.3): 3 of 85 datasets",
            "UCR: AUROC (App. D.3): 3 of 85 datasets",
            "UCR: Loss (App. D.3): 3 of 85 datasets",
            "UCR: Accuracy of single models (App. D.3): 4 of 85 datasets",
            "UCR: Balanced accuracy of single models (App. D.3): 4 of 85 datasets",
            "UCR: AUROC of single models (App. D.3): 4 of 85 datasets",
            "UCR: Loss of single models (App. D.3): 4 of 85 datasets",
            "UCR: Accuracy by dataset: 4 of 85 datasets",
            "UCR: Balanced accuracy by dataset: 4 of 85 datasets",
            "UCR: AUROC by dataset: 4 of 85 datasets",
            "UCR: Loss by dataset: 4 of 85 datasets",
            "UCR: Training loss, as powers of ten: 4 of 85 datasets",
        ]

    def test_failures_time_and_machine_are_told_and_long_tables_are_folded(self, tmp_path):
        rows = [
            make_row(d, m, 0, machine={"processor": "Fast", "n_threads": 1}) for d in PAPER_DATASETS for m in DUEL
        ]
        failure = make_row("Beef", "gap-fcn", 0, status="failed", error="Out of memory")
        make_run(tmp_path / "results" / "ucr", [*rows, failure], tables=["ucr"])
        text = write_page(tmp_path / "results", tmp_path)
        assert f"{len(rows):.2f} core hours on Fast, 1 thread." in text
        assert "| Beef | gap-fcn | 0 | own | Out of memory |" in text
        assert f"<summary>{len(rows)} rows</summary>" in text
        assert text.count("<details>") == text.count("</details>") == 6

    def test_the_commits_that_rows_come_from_are_counted_in_the_order_of_rows(self, tmp_path):
        commits = ["b" * 40, "a" * 40 + "+", "b" * 40, "c" * 40]
        rows = [make_row(d, DUEL[0], 0, commit=commit) for d, commit in zip(UCR, commits, strict=True)]
        make_run(tmp_path / "results" / "ucr", rows, tables=["ucr"])
        make_run(tmp_path / "results" / "one", [row | {"commit": "a" * 40 + "+"} for row in rows], tables=["ucr"])
        text = write_page(tmp_path / "results", tmp_path)
        assert "Rows of 3 commits, bbbbbbbbb to ccccccccc, 1 with local changes (+)." in text
        assert "Rows of 1 commit, aaaaaaaaa+, 1 with local changes (+)." in text

    def test_what_chance_is_judged_by_is_called_an_assumption(self, page):
        beside = page[0][page[0].index("## Agreement with the authors' runs") :].split("\n## ")[0]
        assert "independently from cell to cell. Both are only assumptions" in beside

    def test_published_results_alone_are_not_passed_off_as_ours(self, tmp_path, published):
        rows = [make_row(d, "gap-fcn", r) for d in UCR for r in (0, 1, -1)]
        make_run(tmp_path / "results" / "ucr_small", rows, tables=UCR_TABLES)
        text = write_page(tmp_path / "results", tmp_path, published)
        assert "head to head" not in text, "of two published ones"
        assert "Conjunctive InceptionTime (ours)" not in text
        assert "GAP FCN (ours)" in text


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Invented results of all 22 classifiers on all 85 datasets, in the layout of the real ones."""
    folder = tmp_path_factory.mktemp("published")

    def write(path, columns, metric):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="") as file:
            lines = [
                [dataset, *(number(dataset, column, metric) for column in columns)] for dataset in PAPER_DATASETS
            ]
            csv.writer(file).writerows([["dataset", *columns], *lines])

    for metric in ("accuracy", "balanced_accuracy", "auroc", "loss"):
        for backbone in BACKBONES.values():
            columns = [f"{pooling}{backbone}Ensemble 0" for pooling in POOLINGS.values()]
            write(folder / f"authors/UCR/{backbone}/test_{METRICS[metric].authors}.csv", columns, metric)
        path = folder / f"bakeoff/bakeoff_redux_85_{METRICS[metric].bakeoff}_split0.csv"
        write(path, list(STATE_OF_THE_ART.values()), metric)
    return folder


class TestFindings:
    def test_figures_follow_from_the_files(self, published):
        means, losses, wins, duels, medians = findings_section(Published(published)).tables
        hydra = np.mean([number(d, "MR-Hydra", "accuracy") for d in PAPER_DATASETS])
        cells = {row[0]: row[1:] for row in means.rows}
        assert cells["Hydra-MR"][0] == f"{hydra:.4f}, not 0.857"
        assert losses.rows[0][:3] == ("Hydra-MR", "0.953", f"{(1 - hydra) * np.log2(100):.3f}")
        ours = np.array(
            [number(d, "ConjunctiveInceptionTimeEnsemble 0", "balanced_accuracy") for d in PAPER_DATASETS]
        )
        theirs = np.array([number(d, "HC2", "balanced_accuracy") for d in PAPER_DATASETS])
        assert duels.rows[1] == ("HC2", duels.rows[1][1], str(int((ours >= theirs).sum())), "49")
        assert [row[0] for row in wins.rows] == ["Accuracy", "Balanced accuracy", "AUROC"]
        assert medians.header == ("classifier", "among 22", "among 13")
        assert all(table.coverage == "85 of 85 datasets" for table in (means, losses, wins, duels, medians))

    def test_without_all_results_there_are_no_findings(self, tmp_path, published):
        for folder in (None, tmp_path):
            section = findings_section(Published(folder))
            assert section.tables == ()
            assert "all 22 classifiers on all 85 datasets" in section.notes[0]


def authors_runs(folder, runs, dataset="WebTraffic", kind="WebTraffic", metric="test_acc"):
    """Write what the authors' five runs of models on a dataset gave, for one metric."""
    for backbone in BACKBONES.values():
        columns = [f"{pooling}{backbone} {place}" for pooling in POOLINGS.values() for place in range(len(runs))]
        path = folder / f"authors/{kind}/{backbone}/{metric}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([["Dataset", *columns], [dataset, *(list(runs) * len(POOLINGS))]])
    return folder


class TestLengths:
    def test_models_stand_beside_themselves_after_more_epochs(self, tmp_path):
        published = authors_runs(tmp_path / "published", [0.80, 0.84])
        for name, n_epochs, aopcr in (("brief", 20, 2.0), ("fast", 150, 7.0)):
            recipe = {"recipe": f"fast, n_epochs={n_epochs}", "n_epochs_run": n_epochs, "accuracy": 0.7}
            rows = [make_row("WebTraffic", "gap-fcn", repeat, aopcr=aopcr + repeat, **recipe) for repeat in (0, 1)]
            rows.append(make_row("WebTraffic", "gap-fcn", -1, aopcr=99.0, **recipe))
            make_run(tmp_path / "results" / name, rows, tables=["webtraffic"])
        text = write_page(tmp_path / "results", tmp_path, published)
        assert "WebTraffic: by length of training: 1 of 15 models" in text
        table = text[text.index("by length of training") :]
        assert "| GAP FCN | 0.700 | 0.700 | 0.820 | 2.500 | 7.500 | – |" in table

    def test_one_length_makes_no_table(self, page):
        assert "by length of training" not in page[0]


class TestClaims:
    def page(self, tmp_path, rows, reasons=None, published=None, **experiment):
        make_run(tmp_path / "results" / "web", rows, **{"tables": ["webtraffic"], **experiment})
        return write_page(tmp_path / "results", tmp_path, published, reasons=reasons)

    def test_models_are_counted_inside_above_and_below_the_authors_spread(self, tmp_path):
        published = authors_runs(tmp_path / "published", [0.80, 0.81, 0.82, 0.83, 0.84])
        accuracies = {"gap-fcn": 0.81, "additive-fcn": 0.99, "gap-resnet": 0.5, "gap-inceptiontime": 0.83}
        rows = [make_row("WebTraffic", model, 0, accuracy=value) for model, value in accuracies.items()]
        text = self.page(tmp_path, rows, published=published)
        cells = overview(text, "WebTraffic: accuracies", "Agreement")
        # A single run lies within two standard deviations of five others in 86 of 100 cases.
        assert cells[1:] == ["2 inside, 1 above, 1 below of 4", "3.4 inside", "yes", "–"], "it may well be chance"

    @pytest.mark.parametrize(("n_inside", "holds"), [(15, "yes"), (10, "yes"), (9, "in part"), (7, "no")])
    def test_fewer_inside_than_by_chance_are_a_difference(self, n_inside, holds, tmp_path):
        published = authors_runs(tmp_path / "published", [0.80, 0.81, 0.82, 0.83, 0.84])
        values = [0.82] * n_inside + [0.1] * (len(MODELS) - n_inside)
        rows = [make_row("WebTraffic", model, 0, accuracy=v) for model, v in zip(MODELS, values, strict=True)]
        cells = overview(self.page(tmp_path, rows, published=published), "WebTraffic: accuracies", "Agreement")
        assert cells[2:4] == ["12.9 inside", holds]

    def test_cells_of_several_runs_count_once(self, tmp_path):
        published = authors_runs(tmp_path / "published", [0.80, 0.81, 0.82, 0.83, 0.84], "Coffee", "UCR")
        for name, accuracies in (("a", {"gap-fcn": 0.82}), ("b", {"gap-fcn": 0.1, "gap-resnet": 0.82})):
            rows = [make_row("Coffee", model, 0, accuracy=value) for model, value in accuracies.items()]
            make_run(tmp_path / "results" / name, rows, tables=["ucr"], recipe="fast")
        cells = overview(write_page(tmp_path / "results", tmp_path, published), 'UCR, the recipe "fast"', "Agreement")
        assert cells[1] == "2 inside of 2", "of the same cell, the first run's counts"

    def test_a_reason_is_shown_where_a_claim_does_not_hold_and_nowhere_else(self, tmp_path):
        models = ("additive-fcn", "conjunctive-fcn")
        own = [make_row("WebTraffic", model, 0, aopcr=2.0, ndcg_at_n=0.6) for model in models]
        shap = [make_row("WebTraffic", model, 0, method="shap", aopcr=3.0, ndcg_at_n=0.3) for model in models]
        reasons = {"shap_aopcr": "coalitions are paired", "shap_ndcg": "never seen"}
        text = self.page(tmp_path, [*own, *shap], reasons)
        by_aopcr = overview(text, "WebTraffic: MILLET explains better than SHAP, by AOPCR", "What holds")
        assert by_aopcr[1:] == ["0 of 2 models", "2 of 2 models", "no", "coalitions are paired"]
        by_ndcg = overview(text, "WebTraffic: MILLET explains better than SHAP, by NDCG@n", "What holds")
        assert by_ndcg[1:] == ["2 of 2 models", "2 of 2 models", "yes", "–"]
        assert "never seen" not in text

    def test_training_losses_of_the_papers_recipe_are_judged_by_their_powers_of_ten(self, tmp_path):
        theirs = [1e-7, 2e-7, 1e-6, 1e-6, 1e-5]
        published = authors_runs(tmp_path / "published", theirs, "Coffee", "UCR", "train_loss")
        # The first one's mean, 5e-4, would be far beyond the authors' losses; as powers of ten it is -6.
        losses = {"gap-fcn": (1e-9, 1e-3), "conjunctive-fcn": (1e-3, 1e-3), "gap-resnet": (0.0, 0.0)}
        rows = [
            make_row("Coffee", model, repeat, train_loss=loss)
            for model, found in losses.items()
            for repeat, loss in enumerate(found)
        ]
        text = self.page(tmp_path, rows, published=published, tables=["ucr"], recipe="paper")
        cells = overview(text, "UCR, the paper's recipe: training losses", "Agreement")
        assert cells[1:4] == ["1 inside, 1 above, 1 below of 3", "2.8 inside", "no"]

    def test_peaks_are_judged_by_class(self, tmp_path):
        facts = {"per_class_accuracy": {"0": 0.9, "7": 0.7, "8": 0.8}, "missed": {"8": {"0": 6, "9": 4}}}
        text = self.page(tmp_path, [make_row("WebTraffic", BEST, 0, **facts)], tables=["false_negatives"])
        cells = overview(text, "Peaks are missed most", "What holds")
        assert cells[1] == "Peak 0.800, the lowest is class 7, 0.700; 6 of 10 missed are taken for None"
        assert cells[3] == "in part"

    def test_gap_is_judged_on_datasets_that_both_have(self, tmp_path):
        accuracy = {("Coffee", BEST): 0.9, ("Coffee", DUEL[0]): 0.8, ("ECG200", BEST): 0.7, ("ECG200", DUEL[0]): 0.74}
        rows = [make_row(d, m, 0, accuracy=value) for (d, m), value in accuracy.items()]
        rows.append(make_row("GunPoint", DUEL[0], 0, accuracy=1.0))
        cells = overview(self.page(tmp_path, rows, tables=["ucr"]), "UCR: Conjunctive InceptionTime is", "What holds")
        assert cells[1:4] == ["+0.030 on 2 datasets", "–", "yes"]

    def test_evidence_is_sparser_than_cam_where_its_gini_is_higher(self, tmp_path):
        gini = {"fcn": (0.8, 0.7), "resnet": (0.6, 0.7)}
        own = [make_row("WebTraffic", f"conjunctive-{name}", 0, gini=value) for name, (value, _) in gini.items()]
        cam = [make_row("WebTraffic", f"gap-{b}", 0, method="cam", gini=value) for b, (_, value) in gini.items()]
        text = self.page(tmp_path, [*own, *cam, make_row("WebTraffic", BEST, 0, gini=0.9)])
        cells = overview(text, "WebTraffic: Conjunctive's evidence is sparser", "What holds")
        assert cells[1:] == ["1 of 2 backbones", "seen in examples", "in part", "open"]

    @pytest.mark.parametrize(("aopcr", "holds"), [(2.0, "yes"), (0.5, "no")])
    def test_evidence_is_compared_with_shap_of_the_same_model(self, aopcr, holds, tmp_path):
        kitchen = "LargeKitchenAppliances"
        rows = [
            make_row(kitchen, BEST, 0, aopcr=aopcr, n_cases=375),
            make_row(kitchen, BEST, 0, method="shap", aopcr=1.0, n_cases=30),
            make_row(kitchen, "gap-inceptiontime", 0, method="shap", aopcr=9.0),
            make_row("Coffee", BEST, 0, aopcr=0.0),
        ]
        text = self.page(tmp_path, rows, tables=["comparison"])
        cells = overview(text, f"{kitchen}: MILLET explains better than SHAP", "What holds")
        assert cells[1:4] == [f"{aopcr:.3f} (375 cases) against 1.000 (30)", "seen in three cases", holds]

    def test_shap_is_compared_on_its_own_cases_where_rows_tell_of_them(self, tmp_path):
        kitchen = "LargeKitchenAppliances"
        rows = [
            make_row(kitchen, BEST, 0, aopcr=2.0, n_cases=375),
            make_row(kitchen, BEST, 0, method="shap", aopcr=1.0, own_aopcr=0.5, n_cases=30),
        ]
        text = self.page(tmp_path, rows, tables=["comparison"])
        cells = overview(text, f"{kitchen}: MILLET explains better than SHAP", "What holds")
        assert cells[1:4] == ["0.500 against 1.000 on 30 cases", "seen in three cases", "no"]

    def test_shap_of_each_model_is_compared_on_its_own_cases(self, tmp_path):
        models = ("additive-fcn", "conjunctive-fcn")
        own = [make_row("WebTraffic", model, 0, aopcr=2.0) for model in models]
        shap = [make_row("WebTraffic", model, 0, method="shap", aopcr=3.0) for model in models]
        shap[0]["own_aopcr"] = 4.0
        cells = overview(
            self.page(tmp_path, [*own, *shap]), "WebTraffic: MILLET explains better than SHAP, by AOPCR", "What holds"
        )
        assert cells[1] == "1 of 2 models"

    @pytest.mark.parametrize(("gini", "holds"), [(0.9, "yes"), (0.7, "no")])
    def test_evidence_side_by_side_is_sparser_where_its_gini_is_higher(self, gini, holds, tmp_path):
        kitchen = "LargeKitchenAppliances"
        rows = [make_row(kitchen, BEST, 0, gini=gini), make_row(kitchen, "gap-inceptiontime", 0, gini=0.8)]
        text = self.page(tmp_path, rows, tables=["comparison"])
        cells = overview(text, f"{kitchen}: MILLET's evidence is sparser", "What holds")
        assert cells[1:4] == [f"{gini:.3f} against 0.800", "seen in three cases", holds]

    def test_conjunctive_is_compared_with_gap_over_all_backbones(self, tmp_path):
        accuracy = {"fcn": (0.8, 0.7), "resnet": (0.7, 0.9), "inceptiontime": (0.9, 0.71)}
        rows = [
            make_row("WebTraffic", f"{pooling}-{backbone}", 0, accuracy=value)
            for backbone, values in accuracy.items()
            for pooling, value in zip(("conjunctive", "gap"), values, strict=True)
        ]
        name = "WebTraffic: Conjunctive is more accurate than GAP"
        cells = overview(self.page(tmp_path, rows), name, "What holds")
        assert cells[1:4] == ["+0.030", "–", "yes"]
        cells = overview(self.page(tmp_path / "other", rows[:-2]), name, "What holds")
        assert cells[3] == "not run", "a backbone is missing"

    @pytest.mark.parametrize(
        ("seconds", "said", "holds"), [(1.05, "up to +5.0 %", "yes"), (1.2, "up to +20.0 %", "no")]
    )
    def test_the_slowest_pooling_decides_what_a_prediction_costs(self, seconds, said, holds, tmp_path):
        times = {"gap": 1.0, "attention": 1.01, "conjunctive": seconds}
        rows = [
            make_row("Fish", f"{pooling}-inceptiontime", 0, inference_core_seconds=value, n_cases=10)
            for pooling, value in times.items()
        ]
        cells = overview(self.page(tmp_path, rows, tables=["run_time"]), "A prediction takes", "What holds")
        assert cells[1:4] == [said, "up to +7.5 %", holds]

    @pytest.mark.parametrize(("seconds", "holds"), [(900.0, "yes"), (500.0, "in part"), (300.0, "no")])
    def test_half_of_eight_hundred_times_is_part_of_them(self, seconds, holds, tmp_path):
        rows = [
            make_row("Fish", BEST, 0, inference_core_seconds=1.0, n_cases=1),
            make_row("Fish", BEST, 0, method="shap", explain_core_seconds=seconds, n_cases=1),
        ]
        cells = overview(self.page(tmp_path, rows, tables=["run_time"]), "SHAP takes over 800", "What holds")
        assert cells[1:4] == [f"{seconds:.0f} times", "809 times", holds]

    def test_what_no_run_tells_is_not_judged(self, tmp_path):
        (tmp_path / "results").mkdir()
        text = write_page(tmp_path / "results", tmp_path)
        n_claims = len(CLAIMS) + len(field_claims())
        assert f"## What holds, and what does not: 0 of {n_claims} judged" in text
        assert f"## Agreement with the authors' runs: 0 of {len(CHECKS)} judged" in text
        assert text.count("| not run | – |") == n_claims + len(CHECKS)

    def test_every_difference_on_record_has_a_reason(self, script):
        reasons = script.read_reasons(ROOT / "results" / "reasons.toml")
        assert set(reasons) <= set(CLAIMS) | set(field_claims()) | set(CHECKS)
        parts = page_parts(read_results(ROOT / "results"), Published(None))
        for table in verdicts(parts, Published(None), reasons):
            for row in table.rows:
                assert row[-1] != "open", f"{row[0]}: ours {row[1]}, beside {row[2]}"


class TestFieldClaims:
    def judged(self, folder, claim, results, published=None, path=None, metric="balanced_accuracy"):
        """Return (ours, paper, holds) of a claim, by runs with one accuracy a dataset and model."""
        for name, found in results.items():
            rows = [make_row(d, m, 0, **{metric: value}) for d, pair in found.items() for m, value in pair.items()]
            make_run(folder / "results" / name, rows, tables=UCR_TABLES)
        shown = Published(published)
        parts = page_parts(read_results(folder / "results"), shown, path)
        table, _ = verdicts(parts, shown, {}, path)
        return next(row[1:4] for row in table.rows if claim in row[0])

    def test_the_run_with_most_datasets_decides_who_is_as_good(self, tmp_path):
        few = {"Coffee": {BEST: 0.5, DUEL[0]: 0.9}}
        many = {"Coffee": {BEST: 0.9, DUEL[0]: 0.8}, "ECG200": {BEST: 0.7, DUEL[0]: 0.7}}
        many["GunPoint"] = {BEST: 0.6, DUEL[0]: 0.8}
        found = self.judged(tmp_path, "at least as good as GAP, HC2", {"a": few, "b": many})
        assert found == ("GAP InceptionTime 2 of 3", "GAP InceptionTime 48 of 85", "yes")

    def test_half_of_the_datasets_are_not_most(self, tmp_path):
        pairs = {"Coffee": {BEST: 0.9, DUEL[0]: 0.8}, "ECG200": {BEST: 0.7, DUEL[0]: 0.8}}
        assert self.judged(tmp_path, "at least as good as GAP, HC2", {"a": pairs})[::2] == (
            "GAP InceptionTime 1 of 2",
            "no",
        )

    def test_only_imbalanced_datasets_count_where_the_claim_is_on_them(self, tmp_path):
        for name, labels in {"Coffee": [1, 2] * 5, "ECG200": [1] + [2] * 9, "GunPoint": [1] + [2] * 8}.items():
            for split in ("TRAIN", "TEST"):
                file = tmp_path / "data" / name / f"{name}_{split}.tsv"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("".join(f"{label}\t0.5\t0.25\n" for label in labels))
        pairs = {"Coffee": {BEST: 0.9, DUEL[0]: 0.8}, "ECG200": {BEST: 0.7, DUEL[0]: 0.8}}
        pairs["GunPoint"] = {BEST: 0.9, DUEL[0]: 0.9}
        claim, data = "on most imbalanced datasets", tmp_path / "data"
        found = self.judged(tmp_path, claim, {"a": pairs}, path=data)
        assert found == ("GAP InceptionTime 0 of 2", "GAP InceptionTime 8 of 13", "no"), "a draw is no win"
        balanced = self.judged(tmp_path / "other", claim, {"a": {"Coffee": pairs["Coffee"]}}, path=data)
        assert balanced == ("–", "–", "not run")

    @pytest.mark.parametrize(("many", "holds"), [(0.9, "yes"), (0.3, "in part")])
    def test_few_and_many_training_cases_are_the_outer_bins(self, tmp_path, many, holds):
        # In ascending order of training cases.
        accuracies = {"BeetleFly": 0.4, "Coffee": 0.9, "GunPoint": 0.9, "ItalyPowerDemand": 0.9, "ECG200": many}
        pairs = {name: {BEST: value, DUEL[0]: 0.5} for name, value in accuracies.items()}
        ranks = "1.00 and 2.00" if many > 0.5 else "2.00 and 1.00"
        ours, _, verdict = self.judged(tmp_path, "ranks below GAP", {"a": pairs})
        few = find("BeetleFly").n_train
        assert ours.startswith(f"2.00 and 1.00 with {few} to ")
        assert ours.endswith("100 to 100 cases")
        assert f", {ranks} with" in ours
        assert verdict == holds

    def test_variances_are_those_of_all_classifiers_and_the_papers_those_of_the_files(self, tmp_path, published):
        pairs = {d: {BEST: number(d, "ours")} for d in UCR}
        ours, paper, holds = self.judged(tmp_path, "vary less", {"a": pairs}, published, metric="accuracy")

        def by_hand(datasets, own):
            names = [*(f"{p}{b}Ensemble 0" for b in BACKBONES.values() for p in POOLINGS.values())]
            names += STATE_OF_THE_ART.values()
            values = np.array([[number(d, name, "accuracy") for name in names] for d in datasets])
            column = names.index("ConjunctiveInceptionTimeEnsemble 0")
            if own:
                values[:, column] = [pairs[d][BEST] for d in datasets]
            found = (values - np.median(values, axis=1, keepdims=True)).var(axis=0)
            picked = [names.index(name) for name in ("GAPInceptionTimeEnsemble 0", "HC2", "MR-Hydra")]
            return found[column], found[picked]

        for said, (best, others) in ((ours, by_hand(UCR, own=True)), (paper, by_hand(PAPER_DATASETS, own=False))):
            listed = zip(("GAP InceptionTime", "HC2", "Hydra-MR"), others, strict=True)
            assert said == f"{best:.5f}; " + ", ".join(f"{name} {value:.5f}" for name, value in listed)
        best, others = by_hand(UCR, own=True)
        assert holds == {3: "yes", 2: "in part"}.get(int((best < others).sum()), "no")

    def test_without_our_best_model_nothing_is_judged(self, tmp_path, published):
        pairs = {d: {DUEL[0]: 0.9} for d in UCR}
        for claim in ("at least as good as GAP, HC2", "ranks below GAP", "vary less"):
            folder = tmp_path / claim.replace(" ", "_")
            assert self.judged(folder, claim, {"a": pairs}, published) == ("–", "–", "not run")


def invented_explanation(test, wrong, rng):
    """Return an explanation of all cases that misses the given ones; the less so, the more their region is found."""
    n_cases, _, n_timepoints = test.X.shape
    codes = np.searchsorted(test.classes, test.y)
    logits = np.zeros((n_cases, len(test.classes)))
    logits[np.arange(n_cases), codes] = rng.uniform(1, 2, n_cases)
    logits[wrong, codes[wrong]] = -1.0
    scores = rng.normal(size=(n_cases, len(test.classes), n_timepoints)).astype(np.float32)
    for strength, case in enumerate(wrong):
        scores[case, codes[case]] += strength * test.relevant[case]
    return Explanation(
        series=test.X, lengths=np.full(n_cases, n_timepoints), scores=scores, logits=logits, classes=test.classes
    )


class TestEvidence:
    def test_the_surest_cases_and_the_best_and_least_found_peaks_are_chosen(self):
        test = make_web_traffic(6, sampling_interval=60, random_state=3)
        peaks = np.flatnonzero(test.y == 8)
        explanation = invented_explanation(test, peaks[:5], np.random.default_rng(0))
        *right, best, middle, least = choose_cases(explanation, test)
        assert [int(test.y[case]) for case in right] == list(range(10))
        for case in right:
            same = np.flatnonzero((test.y == test.y[case]) & (explanation.predicted == test.y))
            assert explanation.logits[case].max() == explanation.logits[same].max()
        found = ndcg_at_n(explanation.scores[peaks[:5], 8], test.relevant[peaks[:5]])
        by_hand = dict(zip(peaks[:5].tolist(), found.tolist(), strict=True))
        assert [by_hand[case] for case in (best, middle, least)] == sorted(by_hand.values(), reverse=True)[::2]

    def test_where_nothing_is_missed_only_right_cases_are_chosen(self):
        test = make_web_traffic(2, sampling_interval=60)
        explanation = invented_explanation(test, np.array([], dtype=int), np.random.default_rng(0))
        assert [int(test.y[case]) for case in choose_cases(explanation, test)] == list(range(10))

    def test_kept_cases_come_back_and_are_drawn(self, tmp_path):
        _, test = load_web_traffic()
        missed = np.flatnonzero(test.y == 8)[:2]
        explanation = invented_explanation(test, missed, np.random.default_rng(0))
        save_evidence(tmp_path, explanation[::-1], test.take(np.arange(len(test))[::-1]))
        saved = save_evidence(tmp_path, explanation, test)
        assert set(saved) == set((tmp_path / "evidence").iterdir()), "what was kept before is gone"
        (tmp_path / "evidence" / "WebTraffic-none.npz").write_bytes(b"")
        kept = load_evidence(tmp_path)
        assert len(kept) == len(saved) == 12
        assert all(np.array_equal(found.scores[0], explanation.scores[case]) for case, found in kept.items())
        pictures = evidence_pictures(tmp_path)
        names = [*(f"evidence_right_{number}" for number in range(5)), *(f"evidence_missed_{c}" for c in missed)]
        assert [picture.name for picture in pictures] == names
        assert "None (case" in pictures[0].caption
        assert f"Case {missed[1]}, Peak taken for None. Inside the signature the evidence speaks for Peak" in (
            pictures[-1].caption
        )
        assert f"by chance {test.relevant[missed[1]].mean():.3f}" in pictures[-1].caption
        for picture in pictures:
            pyplot.close(picture.draw().get_figure(root=True))

    @pytest.mark.parametrize(
        ("mean", "caption"),
        [
            (-0.001, "says next to nothing, on the whole, about Peak (scores for Peak there from -1.00 to +1.00"),
            (2.0, "says next to nothing, on the whole, about Peak (scores for Peak there from +1.00 to +3.00"),
            (2.1, "speaks for Peak (scores for Peak there from +1.10 to +3.10"),
            (-2.1, "speaks against Peak (scores for Peak there from -3.10 to -1.10"),
        ],
    )
    def test_a_mean_that_is_small_beside_the_largest_score_says_next_to_nothing(self, tmp_path, mean, caption):
        _, test = load_web_traffic()
        case = int(np.flatnonzero(test.y == 8)[0])
        scores = np.zeros((1, 10, test.X.shape[2]))
        inside, outside = np.flatnonzero(test.relevant[case]), np.flatnonzero(~test.relevant[case])
        scores[0, 8, inside] = mean
        scores[0, 8, inside[:2]] += [1.0, -1.0]
        scores[0, 8, outside[0]] = -40.0
        scores[0, 0, 0] = 1000.0  # of another class: it says nothing about peaks
        (tmp_path / "evidence").mkdir()
        Explanation(
            series=test.X[[case]], lengths=np.array([test.X.shape[2]]), scores=scores,
            logits=np.eye(10)[[0]], classes=test.classes,
        ).save(tmp_path / "evidence" / f"WebTraffic-{case}.npz")  # fmt: skip
        (picture,) = evidence_pictures(tmp_path)
        assert f"Inside the signature the evidence {caption}, mean {mean:+z.2f}); NDCG@n" in picture.caption

    def test_a_damaged_case_costs_its_picture_and_nothing_else(self, tmp_path):
        test = make_web_traffic(2, sampling_interval=60, random_state=3)
        explanation = invented_explanation(test, [], np.random.default_rng(0))
        kept = save_evidence(tmp_path, explanation, test)
        kept[0].write_bytes(b"x")
        with pytest.warns(RuntimeWarning, match="is left out of the report"):
            assert len(load_evidence(tmp_path)) == len(kept) - 1

    def test_a_run_without_kept_cases_has_no_pictures(self, tmp_path):
        assert evidence_pictures(tmp_path) == ()


class TestFigures:
    def test_gains_are_sorted_and_add_up(self):
        ours, theirs = np.array([0.5, 0.9, 0.7]), np.array([0.6, 0.6, 0.7])
        figure = plot_gains(ours, {"GAP": theirs, "HC2 $x": ours}, ["Beef", "Wine", "Ham"], name="Conjunctive")
        upper, lower = figure.axes[0], figure.axes[2]
        assert [bar.get_height() for bar in lower.patches] == pytest.approx([0.3, 0.0, -0.1])
        assert [label.get_text() for label in lower.get_xticklabels()] == ["Wine", "Ham", "Beef"]
        assert lower.texts[0].get_text() == "1 / 1 / 1, total +0.200"
        assert [text.get_text() for text in upper.get_legend().get_texts()] == ["Conjunctive", "GAP"]
        pyplot.close(figure)

    @pytest.mark.parametrize(("rivals", "datasets"), [({}, ["Beef"]), ({"GAP": [0.5]}, ["Beef", "Wine"])])
    def test_gains_that_can_not_be_drawn_are_refused(self, rivals, datasets):
        with pytest.raises(ParameterError):
            plot_gains([0.5], rivals, datasets)

    def test_curves_are_the_counts_and_the_dashes_the_papers_means(self):
        figure = plot_multiplications([500], [10])
        by_length, by_classes = figure.axes
        for line, pooling in zip(by_length.lines, POOLINGS, strict=False):
            counts = [multiplications(pooling, int(t), 10) / 1e6 for t in line.get_xdata()]
            assert line.get_ydata().tolist() == counts
        for line, pooling in zip(by_classes.lines, POOLINGS, strict=False):
            assert line.get_ydata().tolist() == [
                multiplications(pooling, 500, int(c)) / 1e6 for c in line.get_xdata()
            ]
        entries = [find(name) for name in PAPER_DATASETS]
        assert by_length.lines[-1].get_xdata()[0] == np.mean([entry.length for entry in entries])
        assert by_classes.lines[-1].get_xdata()[0] == np.mean([entry.n_classes for entry in entries])
        pyplot.close(figure)


class TestScript:
    def test_rates_are_seconds_a_pass_on_the_largest_dataset(self, script, tmp_path):
        make_run(tmp_path / "ucr", [make_row("Coffee", "gap-fcn", 0), make_row("Coffee", "gap-fcn", -1)])
        make_run(tmp_path / "small", [make_row("ItalyPowerDemand", "gap-fcn", 0), make_row("Mine", "gap-fcn", 0)])
        coffee = find("Coffee")
        passes = 1500 * coffee.n_train * coffee.length * 4
        assert script.measured_rates(read_results(tmp_path)) == {"fcn": pytest.approx(3600 / passes)}

    def test_only_trainings_by_the_papers_recipe_are_done(self, script, tmp_path, monkeypatch):
        monkeypatch.setattr("millet.benchmark.costs.trial_speed", lambda *_: Speed(1.0, 0.0, 1.0))
        models = ("gap-fcn", "gap-resnet", "gap-inceptiontime")
        rows = [make_row("Coffee", model, 0) for model in models]
        rows += [make_row("Coffee", "gap-fcn", 1, recipe="paper, n_epochs=9"), make_row("Coffee", "gap-fcn", -1)]
        make_run(tmp_path / "ucr", rows, tables=UCR_TABLES)
        table = script.cost_table(read_results(tmp_path), ROOT / "experiments")
        costs = {row[0]: row[1:] for row in table.rows}
        assert costs["`experiments/ucr.toml`"][:2] == ("6375", "3")
        assert costs["`experiments/ucr_small.toml`"][:2] == ("240", "3"), "they are a part of the 85"
        assert table.coverage == "3 of 6525 trainings done, each counted once"
        assert float(costs["`experiments/ucr.toml`"][2].replace(",", "")) > 1000

    def test_what_nobody_measured_has_no_price(self, script):
        table = script.cost_table([], ROOT / "experiments")
        assert {row[3] for row in table.rows} == {"not measured"}

    def test_it_writes_the_page(self, script, tmp_path, monkeypatch, capsys):
        accuracy = {str(label): 0.5 for label in range(10)}
        rows = [make_row(WEB_TRAFFIC.name, BEST, 0, per_class_accuracy=accuracy)]
        make_run(tmp_path / "results" / "false_negatives", rows, tables=["false_negatives"], repeats=1)
        arguments = ["--results", str(tmp_path / "results"), "--page", str(tmp_path / "docs" / "page.md")]
        monkeypatch.setattr("sys.argv", ["reproduction.py", *arguments])
        monkeypatch.setattr("millet.benchmark.costs.trial_speed", lambda *_: Speed(1.0, 0.0, 1.0))
        script.main()
        assert capsys.readouterr().out == f"Wrote {tmp_path / 'docs' / 'page.md'}.\n"
        assert "| Peak | 0.500 |" in (tmp_path / "docs" / "page.md").read_text()
