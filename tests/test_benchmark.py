"""The benchmark: strict files, a grid that survives anything, and one row for every cell, once."""

import contextlib
import dataclasses
import errno
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas
import pytest
from click.testing import CliRunner
from sklearn.metrics import log_loss

from millet import evaluate, load_classifier
from millet.benchmark import backends, describe_plan, load_experiment, pictures, read_rows, run_benchmark, work
from millet.benchmark import measure as measure_module
from millet.benchmark.backends import WorkerLostError, open_pool
from millet.benchmark.cells import ENSEMBLE, all_cells, chosen, outstanding
from millet.benchmark.costs import Costs
from millet.benchmark.grid import LOSSES_ALLOWED, Grid
from millet.benchmark.job import failure_row
from millet.benchmark.rows import NEEDED, RowsFile, keep_row, kept_rows, key_of, whole_rows
from millet.benchmark.sources import DataSpec
from millet.benchmark.speed import Speed, trial_speed
from millet.classifier import MilletClassifier
from millet.cli import cli
from millet.errors import (
    DatasetFormatError,
    DatasetNotFoundError,
    MilletError,
    MissingExtraError,
    ParameterError,
    StorageError,
    UnknownNameError,
)
from millet.locks import locked
from millet.report.evidence import load_evidence
from millet.report.progress import progress_of
from millet.report.rows import Run, read_run
from millet.training import loop
from writers import write_tsv

ROOT = Path(__file__).parent.parent
EXPERIMENTS = sorted((ROOT / "experiments").glob("*.toml"))
TINY = '{ name = "Tiny", n_cases_per_class = 2, classes = ["None", "Peak"], sampling_interval = 240 }'
PUMPS = [[np.sin(np.arange(24) * (1 + label) / 3 + case)] for label in (0, 1) for case in range(5)], [*"aaaaabbbbb"]
NOT_COMPARED = (
    "train_seconds", "inference_seconds", "explain_seconds", "evaluate_seconds", "cell_seconds", "peak_memory_mb",
    "train_core_seconds", "inference_core_seconds", "explain_core_seconds", "evaluate_core_seconds",
    "warnings",  # a resumed cell does not repeat what its training warned of
)  # fmt: skip


def write(
    folder, *, datasets=TINY, models='{ backbones = ["lite"], poolings = ["conjunctive"] }', more="", n_epochs=2
):
    file = folder / "toy.toml"
    file.write_text(
        f'name = "toy"\ndatasets = [{datasets}]\nmodels = [{models}]\nmetrics = ["accuracy", "aopcr"]\n{more}\n'
        f"[tiers.smoke]\ntraining = {{ n_epochs = {n_epochs} }}\n[tiers.paper]\n"
    )
    return file


def tiny(folder, **parts):
    return load_experiment(write(folder, **parts))


def write_pumps(folder, cases, labels):
    (folder / "data" / "Pumps").mkdir(parents=True, exist_ok=True)
    for split in ("TRAIN", "TEST"):
        write_tsv(folder / "data" / "Pumps" / f"Pumps_{split}.tsv", cases, labels)


def results(folder):
    """What two runs of the same grid must agree in: everything but times and warnings."""
    rows = read_rows(folder)
    keys = [key_of(row) for row in rows]
    assert len(set(keys)) == len(keys), "a row is there twice"
    return {key_of(row): {name: value for name, value in row.items() if name not in NOT_COMPARED} for row in rows}


@pytest.fixture(autouse=True)
def a_single_worker_is_this_process(monkeypatch):
    """Spare the start of a process, and let tests replace parts of the work; tests of that process undo it."""
    in_processes = backends._process_stream

    def stream(n_workers, n_threads, jobs):
        return map(work.run_cell, jobs()) if n_workers == 1 else in_processes(n_workers, n_threads, jobs)

    monkeypatch.setattr(backends, "_process_stream", stream)


# Experiment files


@pytest.mark.parametrize("file", EXPERIMENTS, ids=lambda file: file.stem)
def test_every_tier_of_every_experiment_file_is_sound(file):
    for tier in ("smoke", "short", "paper"):
        experiment = load_experiment(file, tier)
        assert experiment.name == file.stem
        # The paper has no tables of the fast lane.
        assert experiment.tables or all(model.is_rocket for model in experiment.models)
        assert all_cells(experiment)
        assert json.loads(json.dumps(experiment.to_dict())) == experiment.to_dict()


def test_the_full_ucr_grid_is_the_papers():
    experiment = load_experiment(Path(EXPERIMENTS[0]).with_name("ucr.toml"), "paper")
    cells = all_cells(experiment)
    assert sum(not cell.is_ensemble for cell in cells) == 85 * 15 * 5
    assert sum(cell.is_ensemble for cell in cells) == 85 * 15
    assert experiment.recipe.n_epochs == 1500


@pytest.mark.slow
@pytest.mark.parametrize("file", EXPERIMENTS, ids=lambda file: file.stem)
def test_the_smoke_tier_of_every_experiment_file_runs_end_to_end(file, tmp_path):
    done = CliRunner().invoke(cli, ["benchmark", str(file), "--out", str(tmp_path / "run"), "--n-jobs", "1"])
    assert done.exit_code == 0, done.output
    rows = results(tmp_path / "run")
    assert set(rows) == {key for cell in all_cells(load_experiment(file)) for key in cell.keys}
    for row in rows.values():
        assert row["status"] == "done"
        assert 0 <= row["accuracy"] <= 1
        assert row["n_parameters"] > 0
        assert row["versions"]["millet"]
        if row["method"] == "own":
            assert row["per_class_accuracy"]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"more": "repeat = 2"}, "Unknown key in .*toy.toml 'repeat'.*Did you mean 'repeats'"),
        ({"datasets": '"Cofee"'}, "Unknown dataset 'Cofee'.*Did you mean 'Coffee'"),
        ({"datasets": '"Coffee", "coffee"'}, "Duplicate in datasets: 'Coffee'"),
        ({"datasets": '"Coffee", "paper85"'}, "Duplicate in datasets: 'Coffee'"),
        ({"datasets": ""}, "datasets in .* must be a list of at least one"),
        ({"datasets": '"../secret"'}, "must be plain"),
        ({"datasets": '{ name = "Tiny", n_case = 2 }'}, "Unknown key in a table of datasets 'n_case'"),
        ({"datasets": '{ name = "Tiny", classes = ["Peek"] }'}, "Did you mean 'Peak'"),
        ({"datasets": '{ name = "Tiny", n_cases_per_class = "two" }'}, "n_cases_per_class in .* an integer .*'two'"),
        ({"datasets": '{ name = "Tiny", n_cases_per_class = 1.5 }'}, "n_cases_per_class in .* an integer .*1.5"),
        ({"datasets": '{ name = "Tiny", random_state = true }'}, "random_state in .* an integer .*True"),
        ({"datasets": '{ name = "Tiny", classes = ["Peak"] }'}, "'Tiny' has one class"),
        ({"datasets": f'{{ name = "{"T" * 300}" }}'}, "may have 100 letters and 250 bytes; .* has 300"),
        ({"datasets": '{ nam = "Tiny" }'}, "name in .* must be a string; it is not there. There is 'nam'"),
        ({"datasets": '{ name = "WebTraffic" }'}, "choose another name"),
        ({"models": '{ backbones = ["fnc"], poolings = ["gap"] }'}, "Unknown backbone 'fnc'.*Did you mean 'fcn'"),
        ({"models": '{ backbones = ["fcn"], poolings = ["gapp"] }'}, "Unknown pooling 'gapp'"),
        ({"more": 'tables = ["ucr_predictoin"]'}, "Unknown table 'ucr_predictoin'"),
        ({"models": '{ backbones = ["fcn"], poolings = [] }'}, "poolings in .* must be a list of at least one"),
        ({"models": '{ backbones = ["fcn"], poolings = ["gap"] }, ' * 2}, "Duplicate in .*'gap-fcn'"),
        ({"models": '{ backbones = ["fcn"], poolings = ["gap"], settings = { drop = 1 } }'}, "'drop'.*'dropout'"),
        ({"models": '{ backbones = ["fcn"], poolings = ["gap"], settings = { dropout = 2 } }'}, "dropout must be"),
        ({"models": '{ backbones = ["fcn"], poolings = ["gap"], ensemble = true }'}, "needs repeats of at least 2"),
        ({"models": '"minirockt"'}, "Unknown model 'minirockt'.*Did you mean 'minirocket'"),
        ({"models": '"minirocket+litte"'}, "Unknown model 'litte'.*Did you mean 'lite'"),
        ({"models": '"minirocket+"'}, "Unknown model ''"),
        ({"models": '"minirocket+lite", "lite+minirocket"'}, "Duplicate in .*'conjunctive-lite.minirocket'"),
        ({"models": '"lite+conjunctive-lite"'}, "average 'lite.conjunctive-lite' names a model twice"),
        ({"models": '{ features = ["minirocket"], heads = ["rige"] }'}, "Unknown head 'rige'.*Did you mean 'ridge'"),
        ({"models": '{ features = ["minirocket"], poolings = ["gap"] }'}, "Unknown key in .*'poolings'"),
        ({"models": '"minirocket", { features = ["minirocket"] }'}, "Duplicate in .*'minirocket'"),
        ({"models": '"minirocket"', "more": "methods = { integrated_gradients = {} }"}, "applies to networks with"),
        ({"more": "repeats = 0"}, "repeats in .* must be an integer of at least 1"),
        ({"more": "training = { epochs = 1 }\n[tiers.short]"}, "'epochs'.*Did you mean 'n_epochs'"),
        ({"more": "methods = { shapp = {} }"}, "Unknown method 'shapp'.*Did you mean 'shap'"),
        ({"more": "methods = { shap = { n_sample = 3 } }"}, "'n_sample'.*Did you mean 'n_samples'"),
        ({"more": 'methods = { shap = { n_samples = "x" } }'}, "n_samples in .*shap.* an integer .*'x'"),
        ({"more": 'methods = { shap = { sampling = "unifrom" } }'}, "Unknown sampling.*Did you mean 'uniform'"),
        ({"more": "methods = { shap = { paired = 1 } }"}, "paired in .*shap.* must be true or false"),
        ({"more": "methods = { segment_lime = { alpha = -1 } }"}, "alpha in .*segment_lime.* above 0; got -1"),
        (
            {"more": "methods = { kernel_shap = { n_samples = 2 } }"},
            "kernel_shap. can't be used: n_samples .* at least 3",
        ),
        ({"more": "methods = { occlusion = { window = 0 } }"}, "window in .*occlusion.* an integer of at least 1"),
        (
            {"more": f"seed = {2**32 - 2}\nrepeats = 2"},
            "seed . repeats in .* must be below 4294967296.*got 4294967294 . 2",
        ),
        ({"more": "methods = { cam = {} }"}, "there is no such model"),
        (
            {"more": 'methods = { cam = { poolings = ["conjunctive"] } }'},
            "must be of gap, .*; got conjunctive. Leave",
        ),
        (
            {
                "models": '{ backbones = ["lite"], poolings = ["gap", "conjunctive"] }',
                "more": 'methods = { cam = { poolings = ["gap", "conjunctive"] } }',
            },
            "must be of gap, .*; got conjunctive. Leave",
        ),
        ({"more": 'tables = ["a", "a"]'}, "Duplicate"),
    ],
)
def test_a_wrong_experiment_is_refused_before_anything_runs(parts, message, tmp_path):
    tier = "paper" if "epochs = 1" in parts.get("more", "") else "smoke"
    with pytest.raises(MilletError, match=f"(?s){message}"):
        load_experiment(write(tmp_path, **parts), tier)


def test_a_dataset_that_is_not_there_is_looked_for_among_ones_own(tmp_path):
    write_pumps(tmp_path, *PUMPS)
    with pytest.raises(UnknownNameError, match=r"known: Pumps in .*data.*Did you mean 'Pumps'") as refused:
        load_experiment(write(tmp_path, datasets='"Pumsp"'), path=tmp_path / "data")
    assert len(str(refused.value)) < 300


def test_a_dataset_with_one_split_is_called_not_whole(tmp_path):
    write_pumps(tmp_path, *PUMPS)
    next((tmp_path / "data").rglob("Pumps_TEST*")).unlink()
    with pytest.raises(DatasetNotFoundError, match=r"'Pumps' is not whole: .*Pumps_TRAIN.* no Pumps_TEST file"):
        load_experiment(write(tmp_path, datasets='"Pumps"'), path=tmp_path / "data")


def test_a_folder_with_datasets_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(DatasetNotFoundError, match="nowhere is not a folder; path must be one that holds datasets"):
        load_experiment(write(tmp_path), path=tmp_path / "nowhere")


def test_a_network_that_is_not_the_papers_does_not_go_by_its_name(tmp_path):
    settings = 'settings = { positions = false, padding = "zeros" }'
    experiment = tiny(tmp_path, models=f'{{ backbones = ["fcn"], poolings = ["gap"], {settings} }}')
    assert [model.name for model in experiment.models] == ["gap-fcn-padding=zeros-positions=False"]


def test_a_tier_that_the_file_does_not_have_is_refused(tmp_path):
    with pytest.raises(MilletError, match=r"Unknown tier .*'short'; known: paper, smoke"):
        load_experiment(write(tmp_path), "short")


def test_a_file_that_is_no_toml_is_refused_with_its_name(tmp_path):
    (tmp_path / "toy.toml").write_text("name = ")
    with pytest.raises(DatasetFormatError, match=r"toy\.toml: is no TOML"):
        load_experiment(tmp_path / "toy.toml")
    with pytest.raises(DatasetFormatError, match="can't be read"):
        load_experiment(tmp_path / "absent.toml")


def test_a_mark_that_editors_begin_a_file_with_is_read_over(tmp_path):
    file = write(tmp_path)
    expected = load_experiment(file)
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert load_experiment(file) == expected


@pytest.mark.parametrize("name", ["x" * 101, "数" * 90], ids=["letters", "bytes"])
def test_a_generated_dataset_that_no_folder_can_be_named_after_is_refused(name, tmp_path):
    with pytest.raises(ParameterError, match="may have 100 letters and 250 bytes"):
        load_experiment(write(tmp_path, datasets=f'{{ name = "{name}", n_cases_per_class = 2 }}'))


def test_a_file_that_lacks_something_says_what(tmp_path):
    file = write(tmp_path)
    file.write_text(file.read_text().replace("datasets =", "dataset ="))
    with pytest.raises(ParameterError, match=r"datasets in .*it is not there\. There is 'dataset'; should it be"):
        load_experiment(file)
    file.write_text('name = "toy"')
    with pytest.raises(ParameterError, match=r"has no tiers; add at least one, such as an empty \[tiers\.s"):
        load_experiment(file)


@pytest.mark.parametrize(
    "content",
    [
        "",
        'name = "toy"',
        "tiers = 3",
        "[tiers]\nsmoke = 3",
        "[tier.smoke]",
        "[tiers.paper]",
        "[tiers.smoke]\nname = 3",
    ],
)
def test_a_plan_refuses_what_a_run_refuses(content, tmp_path):
    file = tmp_path / "toy.toml"
    file.write_text(content)
    with pytest.raises(MilletError) as of_run:
        load_experiment(file)
    with pytest.raises(MilletError) as of_plan:
        describe_plan(file, "smoke")
    assert str(of_plan.value) == str(of_run.value)


def test_options_of_methods_of_every_kind_are_taken(tmp_path):
    options = {"n_samples": 8, "sampling": '"kernel"', "paired": "false"}
    more = f"methods = {{ shap = {{ {', '.join(f'{key} = {value}' for key, value in options.items())} }} }}"
    _, shap = tiny(tmp_path, more=more).methods
    assert shap.options == {"n_samples": 8, "sampling": "kernel", "paired": False}


def test_experiments_that_come_along_are_found_by_name():
    file = EXPERIMENTS[0].with_name("webtraffic.toml")
    assert load_experiment("webtraffic", "paper") == load_experiment(file, "paper")
    with pytest.raises(UnknownNameError, match=r"Unknown experiment 'webtrafic'.*Did you mean 'webtraffic'"):
        load_experiment("webtrafic")


# The grid


def test_the_longest_cell_comes_first_and_an_ensemble_right_behind_its_members(tmp_path):
    models = '{ backbones = ["lite", "inceptiontime"], poolings = ["gap"] }'
    experiment = tiny(tmp_path, models=models, more="repeats = 2")
    costs = Costs(experiment, None)
    grid = Grid(all_cells(experiment), [], 2, costs.seconds)
    order = []
    while grid.has_work:
        for cell in grid.take():
            order.append((cell.model.backbone, cell.repeat))
            done = {"dataset": "Tiny", "model": cell.model.name, "repeat": cell.repeat, "ensemble": cell.is_ensemble}
            grid.finish(cell, [{**done, "method": "own", "status": "done"}])
    assert order == [(name, repeat) for name in ("inceptiontime", "lite") for repeat in (0, 1, ENSEMBLE)]
    assert grid.seconds_left() == 0


def test_what_is_under_way_has_a_part_of_its_time_behind_it(tmp_path, monkeypatch):
    clock = iter([100.0, 100.0, 104.0, 130.0])
    monkeypatch.setattr("millet.benchmark.grid.time", SimpleNamespace(monotonic=lambda: next(clock)))
    cells = [cell for cell in all_cells(tiny(tmp_path, more="repeats = 3")) if not cell.is_ensemble]
    grid = Grid(cells, [], 3, lambda cell: 5.0)
    taken = grid.take()
    assert [next(taken), next(taken)] == grid.under_way == cells[:2]
    assert grid.seconds_left(pace=2.0) == 10 + 6 + 6
    assert grid.seconds_left(pace=2.0) == 10  # those under way are overdue


def test_cells_that_were_under_way_when_a_worker_died_are_run_alone_and_blamed_only_then(tmp_path):
    cells = [cell for cell in all_cells(tiny(tmp_path, more="repeats = 4")) if not cell.is_ensemble]
    grid = Grid(cells, [], 4, lambda cell: 1.0)
    taken = grid.take()
    together = [next(taken) for _ in range(3)]
    assert grid.lose() == []
    assert grid.seconds_left() == 4
    for _ in range(LOSSES_ALLOWED - 1):
        assert list(grid.take()) == together[:1]
        assert grid.lose() == []
        for innocent in together[1:]:
            assert list(grid.take()) == [innocent]
            grid.finish(innocent, [])
        together = together[:1]
    assert list(grid.take()) == together
    assert [given_up.cell for given_up in grid.lose()] == together
    assert [cell.repeat for cell in grid.take()] == [3]


def test_a_cell_during_which_workers_keep_dying_is_given_up_and_the_others_are_not(tmp_path):
    experiment = tiny(tmp_path, more="repeats = 2")
    grid = Grid(all_cells(experiment), [], 2, lambda cell: 1.0)
    for _ in range(LOSSES_ALLOWED - 1):
        next(iter(grid.take()))
        assert grid.lose() == []
    next(iter(grid.take()))
    ((cell, why, _),) = grid.lose()
    assert cell.repeat == 0
    assert "died 3 times" in why
    assert next(iter(grid.take())).repeat == 1


def test_where_a_cluster_names_the_culprit_the_others_are_not_suspected(tmp_path):
    cells = [cell for cell in all_cells(tiny(tmp_path, more="repeats = 4")) if not cell.is_ensemble]
    grid = Grid(cells, [], 4, lambda cell: 1.0)
    taken = grid.take()
    together = [next(taken) for _ in range(3)]
    for _ in range(LOSSES_ALLOWED - 1):
        assert grid.lose(together[1]) == []
        again = list(grid.take())
        assert {cell.repeat for cell in again} == {0, 1, 2, 3}, "all of them at a time"
        assert again[-1] == together[1]
    ((cell, why, _),) = grid.lose(together[1])
    assert cell == together[1]
    assert f"died {LOSSES_ALLOWED} times" in why
    assert {cell.repeat for cell in grid.take()} == {0, 2, 3}


def test_the_job_that_a_cluster_names_is_the_one_that_is_blamed(tmp_path, monkeypatch):
    def dying_pool(n_workers, n_threads, jobs):
        at_once = list(jobs())
        for job in sorted(at_once, key=lambda job: job.cell.repeat == 1):
            if job.cell.repeat == 1:
                raise WorkerLostError("killed", job)
            yield work.run_cell(job)

    monkeypatch.setattr(backends, "_process_stream", dying_pool)
    said = []
    run_benchmark(tiny(tmp_path, more="repeats = 3"), tmp_path / "run", n_jobs=1, say=said.append)
    rows = {row["repeat"]: row["status"] for row in read_rows(tmp_path / "run")}
    assert rows == {0: "done", 1: "failed", 2: "done", ENSEMBLE: "failed"}
    assert sum("at which it died, last" in line for line in said) == LOSSES_ALLOWED


def test_an_ensemble_whose_last_member_killed_its_workers_is_recorded_at_once(tmp_path, monkeypatch):
    def dying_pool(n_workers, n_threads, jobs):
        for job in jobs():
            if job.cell.repeat == 1:
                raise WorkerLostError("killed")
            yield work.run_cell(job)

    monkeypatch.setattr(backends, "_process_stream", dying_pool)
    outcome = run_benchmark(tiny(tmp_path, more="repeats = 2"), tmp_path / "run", n_jobs=1)
    rows = {row["repeat"]: row for row in read_rows(tmp_path / "run")}
    assert {repeat: row["status"] for repeat, row in rows.items()} == {0: "done", 1: "failed", ENSEMBLE: "failed"}
    assert "these members failed: 1" in rows[ENSEMBLE]["error"]
    assert outcome.n_run == len(rows)


def test_what_an_interrupted_call_did_of_a_cell_counts_in_the_time_left(tmp_path, monkeypatch):
    models = '{ backbones = ["lite"], poolings = ["conjunctive"], ensemble = false }'
    experiment = tiny(tmp_path, models=models, more="repeats = 2")

    def run(job):
        facts = {"status": "done", "train_seconds": 90.0, "evaluate_seconds": 10.0}
        return work.CellResult(job.cell, [{**failure_row(job, "own", "", 0.0), **facts}], 1.0)

    pool = backends.Pool(1, lambda jobs: map(run, jobs()))
    monkeypatch.setattr("millet.benchmark.runner.open_pool", lambda *_: contextlib.nullcontext(pool))
    monkeypatch.setattr(Costs, "seconds", lambda *_: 1.0)
    said = []
    run_benchmark(experiment, tmp_path / "run", say=said.append)
    assert said[1].endswith("about 1 min 40 s left")


def test_a_folder_called_like_an_experiment_is_not_in_its_way(tmp_path, monkeypatch):
    (tmp_path / "webtraffic").mkdir()
    monkeypatch.chdir(tmp_path)
    assert load_experiment("webtraffic", "smoke").name == "webtraffic"


def test_only_what_is_missing_of_a_cell_is_outstanding(tmp_path):
    models = '{ backbones = ["lite"], poolings = ["gap"] }'
    cells = all_cells(tiny(tmp_path, models=models, more="methods = { cam = {} }"))
    assert cells[0].keys == [("Tiny", "gap-lite", 0, "own"), ("Tiny", "gap-lite", 0, "cam")]
    (left,) = outstanding(cells, cells[0].keys[:1])
    assert left.keys == cells[0].keys[1:]
    assert outstanding(cells, cells[0].keys) == []


def test_a_part_of_a_grid_is_chosen_by_datasets_models_and_repeats(tmp_path):
    datasets = ", ".join(TINY.replace("Tiny", name) for name in ("One", "Two"))
    models = '{ backbones = ["lite", "fcn"], poolings = ["conjunctive"] }'
    cells = all_cells(tiny(tmp_path, datasets=datasets, models=models, more="repeats = 2"))

    def titles(only, repeats=None):
        return [cell.title for cell in chosen(cells, only, repeats)]

    assert titles([]) == [cell.title for cell in cells]
    assert titles(["Two", "conjunctive-fcn"]) == [f"Two conjunctive-fcn {repeat}" for repeat in (0, 1, "ensemble")]
    assert titles(["conjunctive-fcn"], 1) == ["One conjunctive-fcn 0", "Two conjunctive-fcn 0"]
    with pytest.raises(UnknownNameError, match="Did you mean 'conjunctive-fcn'"):
        titles(["conjunctve-fcn"])


def test_a_part_of_a_grid_is_run_now_and_the_rest_later(tmp_path):
    file = write(tmp_path, models='{ backbones = ["lite", "fcn"], poolings = ["conjunctive"] }', more="repeats = 2")
    command = ["benchmark", str(file), "--out", str(tmp_path / "run"), "--n-jobs", "1"]
    part = CliRunner().invoke(cli, [*command, "--only", "conjunctive-lite", "--repeats", "1"])
    assert part.exit_code == 0, part.output
    assert [key_of(row)[1:3] for row in read_rows(tmp_path / "run")] == [("conjunctive-lite", 0)]
    rest = CliRunner().invoke(cli, command)
    assert "6 cells, 5 of them run now" in rest.output
    assert run_benchmark(load_experiment(file), tmp_path / "whole", n_jobs=1).n_run == 6
    assert results(tmp_path / "run") == results(tmp_path / "whole")


def test_a_part_of_a_grid_leaves_the_checkpoints_and_failures_of_the_rest_alone(tmp_path):
    datasets = ", ".join(TINY.replace("Tiny", name) for name in ("One", "Two"))
    experiment = tiny(tmp_path, datasets=datasets)
    folder = tmp_path / "run"
    checkpoint = folder / "cells" / "Two" / "conjunctive-lite" / "0" / "member-0.safetensors"
    run_benchmark(experiment, folder, n_jobs=1, only=["One"])
    checkpoint.parent.mkdir(parents=True)
    checkpoint.touch()
    run_benchmark(experiment, folder, n_jobs=1, only=["One"])
    assert checkpoint.exists()
    two = {**read_rows(folder)[0], "dataset": "Two", "status": "failed", "error": "lost"}
    RowsFile(folder).append([two])
    for only, error in ((["Tow"], pytest.raises(UnknownNameError)), (["One"], contextlib.nullcontext())):
        with error:
            run_benchmark(experiment, folder, n_jobs=1, only=only, retry_failed=True)
        assert [row["dataset"] for row in read_rows(folder) if row["status"] == "failed"] == ["Two"]
    checkpoint.unlink()
    assert not run_benchmark(experiment, folder, n_jobs=1, only=["Two"], retry_failed=True).failed
    assert not (folder / "cells").exists()


def test_an_ensembles_failure_is_forgotten_with_that_of_its_members(tmp_path):
    experiment, folder = tiny(tmp_path, more="repeats = 2"), tmp_path / "run"
    run_benchmark(experiment, folder, n_jobs=1)
    rows = RowsFile(folder)
    failed = [{**row, "status": "failed", "error": "lost"} for row in read_rows(folder)]
    rows.discard(lambda _: True)
    rows.append(failed)
    run_benchmark(experiment, folder, n_jobs=1, repeats=1, retry_failed=True)
    assert {row["repeat"]: row["status"] for row in read_rows(folder)} == {0: "done", 1: "failed"}


def test_a_model_may_be_chosen_by_the_name_that_the_file_has_for_it(tmp_path):
    cells = all_cells(tiny(tmp_path, models='"lite", "minirocket+lite"'))
    assert [cell.model.name for cell in chosen(cells, ["lite"], None)] == ["conjunctive-lite"]
    assert [cell.model.name for cell in chosen(cells, ["minirocket+lite"], None)] == ["minirocket+conjunctive-lite"]
    with pytest.raises(UnknownNameError, match="Unknown dataset or model 'fcn'"):
        chosen(cells, ["fcn"], None)


def test_rows_of_changed_training_cases_do_not_join_others(tmp_path):
    write_pumps(tmp_path, *PUMPS)
    file = write(tmp_path, datasets='"Pumps"', models='"minirocket"', more="repeats = 2")
    experiment, out = load_experiment(file, path=tmp_path / "data"), tmp_path / "run"
    run_benchmark(experiment, out, path=tmp_path / "data", n_jobs=1, repeats=1)
    (first,) = read_rows(out)
    write_pumps(tmp_path, [[2 * values[0]] for values in PUMPS[0]], PUMPS[1])
    failed = run_benchmark(experiment, out, path=tmp_path / "data", n_jobs=1).failed
    assert [row["repeat"] for row in failed] == [1, ENSEMBLE]
    assert "The training cases of Pumps are not those of its other rows" in failed[0]["error"]
    # Without the rows, all is run again, and no model of the other cases is taken.
    (out / "rows.jsonl").unlink()
    assert not run_benchmark(experiment, out, path=tmp_path / "data", n_jobs=1).failed
    assert {row["data_fingerprint"] for row in read_rows(out)}.isdisjoint({first["data_fingerprint"]})


def test_rows_of_changed_test_cases_do_not_join_others(tmp_path):
    write_pumps(tmp_path, *PUMPS)
    file = write(tmp_path, datasets='"Pumps"', models='"minirocket"', more="repeats = 3")
    experiment, out = load_experiment(file, path=tmp_path / "data"), tmp_path / "run"
    run_benchmark(experiment, out, path=tmp_path / "data", n_jobs=1, repeats=1)
    test = tmp_path / "data" / "Pumps" / "Pumps_TEST.tsv"
    write_tsv(test, [[2 * values[0]] for values in PUMPS[0]], PUMPS[1])
    failed = run_benchmark(experiment, out, path=tmp_path / "data", n_jobs=1, repeats=2).failed
    assert [row["repeat"] for row in failed] == [1]
    assert "The test cases of Pumps are not those of its other rows" in failed[0]["error"]
    # Rows of an earlier version do not tell, and are joined.
    (first,) = (row for row in read_rows(out) if row["status"] == "done")
    del first["test_fingerprint"]
    (out / "rows.jsonl").write_text(json.dumps(first) + "\n")
    assert not run_benchmark(experiment, out, path=tmp_path / "data", n_jobs=1, repeats=2).failed


def test_files_may_spell_a_dataset_in_another_way_than_the_experiment(tmp_path):
    (tmp_path / "data" / "gunpoint").mkdir(parents=True)
    for split in ("TRAIN", "TEST"):
        write_tsv(tmp_path / "data" / "gunpoint" / f"gunpoint_{split}.tsv", *PUMPS)
    file = write(tmp_path, datasets='"GunPoint"', models='"minirocket"', more="repeats = 2")
    experiment, out = load_experiment(file, path=tmp_path / "data"), tmp_path / "run"
    for n_run in (3, 0):
        outcome = run_benchmark(experiment, out, path=tmp_path / "data", n_jobs=1)
        assert (outcome.n_run, outcome.failed) == (n_run, [])
    assert sorted(key[:3] for key in results(out)) == [("GunPoint", "minirocket", repeat) for repeat in (-1, 0, 1)]


def test_where_nothing_can_be_measured_the_cell_says_so(tmp_path):
    write_pumps(tmp_path, *PUMPS)
    file = write(tmp_path, datasets='"Pumps"', models='"minirocket"')
    file.write_text(file.read_text().replace('["accuracy", "aopcr"]', '["ndcg_at_n"]'))
    experiment = load_experiment(file, path=tmp_path / "data")
    (row,) = run_benchmark(experiment, tmp_path / "run", path=tmp_path / "data", n_jobs=1).failed
    assert "ndcg_at_n can't be measured on Pumps: that needs timepoints that are known" in row["error"]
    assert not (tmp_path / "run" / "models").exists(), "found out before training"


def test_a_dataset_that_came_later_is_known(tmp_path):
    (tmp_path / "data").mkdir()
    file = write(tmp_path, datasets='"Pumps"')
    with pytest.raises(UnknownNameError, match="Unknown dataset 'Pumps'"):
        load_experiment(file, path=tmp_path / "data")
    write_pumps(tmp_path, *PUMPS)
    assert [data.name for data in load_experiment(file, path=tmp_path / "data").datasets] == ["Pumps"]


def test_a_worker_that_has_other_cases_adds_no_row(tmp_path, monkeypatch):
    experiment = tiny(tmp_path, models='"minirocket"', more="repeats = 3")
    run_benchmark(experiment, tmp_path / "run", n_jobs=1, repeats=1)

    def elsewhere(n_workers, n_threads, jobs):
        for job in jobs():
            done = work.run_cell(job)
            yield done._replace(rows=[{**row, "data_fingerprint": "other"} for row in done.rows])

    monkeypatch.setattr(backends, "_process_stream", elsewhere)
    failed = run_benchmark(experiment, tmp_path / "run", n_jobs=1, repeats=2).failed
    assert [(row["repeat"], "are not those of its other rows" in row["error"]) for row in failed] == [(1, True)]


def test_an_ensemble_refuses_members_of_other_cases(tmp_path):
    write_pumps(tmp_path, *PUMPS)
    file = write(tmp_path, datasets='"Pumps"', models='"minirocket"', more="repeats = 2")
    experiment, out = load_experiment(file, path=tmp_path / "data"), tmp_path / "run"
    run_benchmark(experiment, out, path=tmp_path / "data", n_jobs=1, repeats=2)
    other = load_classifier(out / "models" / "Pumps" / "minirocket" / "1")
    other.training_summary_["fingerprint"] = "other"
    other.save(out / "models" / "Pumps" / "minirocket" / "1")
    (row,) = run_benchmark(experiment, out, path=tmp_path / "data", n_jobs=1).failed
    assert (row["repeat"], "are not those of its other rows" in row["error"]) == (ENSEMBLE, True)


def test_what_only_ensembles_have_is_measured_of_ensembles(tmp_path):
    file = write(tmp_path, more="repeats = 2")
    file.write_text(file.read_text().replace('["accuracy", "aopcr"]', '["agreement"]'))
    assert not run_benchmark(load_experiment(file), tmp_path / "run", n_jobs=1).failed
    rows = results(tmp_path / "run")
    assert "agreement_top_overlap" in rows["Tiny", "conjunctive-lite", ENSEMBLE, "own"]
    assert "agreement_top_overlap" not in rows["Tiny", "conjunctive-lite", 0, "own"]


def test_a_plan_of_a_part_of_a_grid_shows_that_part(tmp_path):
    file = write(tmp_path, models='"lite", "fcn"', more="repeats = 3")
    assert describe_plan(file, "smoke", repeats=2, only=["conjunctive-lite"]).split("\n")[1].split()[:3] == [
        "smoke", "2", "0",
    ]  # fmt: skip
    with pytest.raises(UnknownNameError, match="Did you mean 'conjunctive-lite'"):
        describe_plan(file, "smoke", only=["conjunctive-lit"])


def test_a_plan_for_a_run_folder_shows_what_is_left_at_the_speed_that_was_measured(tmp_path):
    file = write(tmp_path, models='"lite", "fcn"', more="repeats = 2")
    experiment, out = load_experiment(file), tmp_path / "run"
    assert describe_plan(file, "smoke", out=out).split("\n")[1].split()[:3] == ["smoke", "4", "2"]
    assert not out.exists()
    run_benchmark(experiment, out, n_jobs=1, only=["conjunctive-lite"])
    before = {file.name: file.read_bytes() for file in out.iterdir() if file.is_file()}
    plan = describe_plan(file, "smoke", out=out)
    assert plan.split("\n")[1].split()[:3] == ["smoke", "2", "1"]
    slow = [{**row, "model": "conjunctive-fcn", "backbone": "fcn", "repeat": 0, "train_core_seconds": 3.6e7}
            for row in read_rows(out)[:1]]  # fmt: skip
    shutil.copytree(out, tmp_path / "slow")
    with (tmp_path / "slow" / "rows.jsonl").open("a") as rows:
        rows.write(json.dumps(slow[0]) + "\n")
    assert float(describe_plan(file, "smoke", out=tmp_path / "slow").split("\n")[1].split()[3]) > 9000, "core hours"
    assert "The folder has 3 of 6 cells of the whole grid" in plan
    assert "conjunctive-lite" not in plan
    assert {file.name: file.read_bytes() for file in out.iterdir() if file.is_file()} == before
    again = describe_plan(file, "smoke", out=out, only=["conjunctive-lite"])
    assert "Nothing is left to run." in again
    with pytest.raises(StorageError, match="belongs to another run"):
        describe_plan(file, "paper", out=out)


def test_a_plan_says_that_cells_have_failed(tmp_path):
    file = write(tmp_path)
    experiment = load_experiment(file)
    run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    (row,) = read_rows(tmp_path / "run")
    (tmp_path / "run" / "rows.jsonl").write_text(json.dumps({**row, "status": "failed"}) + "\n")
    plan = describe_plan(file, "smoke", out=tmp_path / "run")
    assert "1 of 1 cell of the whole grid, 1 of them failed (--retry-failed" in plan
    assert "Nothing is left to run" in plan
    again = describe_plan(file, "smoke", out=tmp_path / "run", retry_failed=True)
    assert again.split("\n")[1].split()[:2] == ["smoke", "1"]
    with pytest.raises(StorageError, match="is a file"):
        describe_plan(file, "smoke", out=file)


def test_a_run_of_a_version_that_knew_one_precision_goes_on(tmp_path):
    experiment = tiny(tmp_path)
    run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    file = tmp_path / "run" / "run.json"
    description = json.loads(file.read_text())
    assert description["training"].pop("precision") == "32-true"
    file.write_text(json.dumps(description))
    assert run_benchmark(experiment, tmp_path / "run", n_jobs=1).n_run == 0
    assert {row["precision"] for row in read_rows(tmp_path / "run")} == {"32-true"}


def test_estimates_follow_the_measured_speed(tmp_path):
    experiment = tiny(tmp_path)
    run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    (row,) = read_rows(tmp_path / "run")
    (cell,) = all_cells(experiment)
    spent = sum(row[name] for name in row if name.endswith("core_seconds"))
    assert Costs(experiment, None, [row]).seconds(cell) == pytest.approx(spent)


def test_an_ensemble_costs_the_training_of_members_that_are_gone(tmp_path):
    experiment = tiny(tmp_path, more="repeats = 2", n_epochs=30)
    run_benchmark(experiment, tmp_path / "run", n_jobs=1, repeats=2)
    rows = read_rows(tmp_path / "run")
    member, _, ensemble = all_cells(experiment)
    whole = Costs(experiment, None, rows, tmp_path / "run").seconds(ensemble)
    shutil.rmtree(tmp_path / "run" / "models" / member.place)
    costs = Costs(experiment, None, rows, tmp_path / "run")
    training = costs.seconds(dataclasses.replace(member, methods=()))
    assert costs.seconds(ensemble) == pytest.approx(whole + training)
    assert training > 0


@pytest.mark.parametrize(
    ("n_workers", "expected"), [(1, ["20 s", "12 s"]), (2, ["10 s", "12 s"]), (9, ["10 s", "12 s"])]
)
def test_the_time_left_follows_the_cells_that_succeeded(n_workers, expected, tmp_path, monkeypatch):
    models = '{ backbones = ["lite"], poolings = ["conjunctive"], ensemble = false }'
    experiment = tiny(tmp_path, models=models, more="repeats = 4")
    seconds = iter([10.0, 14.0, 0.0])

    def run(job):
        row = {**failure_row(job, "own", "no", 0.0), "status": "failed" if job.cell.repeat == 0 else "done"}
        return work.CellResult(job.cell, [row], 0.0 if job.cell.repeat == 0 else next(seconds))

    pool = backends.Pool(n_workers, lambda jobs: map(run, jobs()))
    monkeypatch.setattr("millet.benchmark.runner.open_pool", lambda *_: contextlib.nullcontext(pool))
    monkeypatch.setattr(Costs, "seconds", lambda *_: 1.0)
    said = []
    run_benchmark(experiment, tmp_path / "run", say=said.append)
    n_at_a_time = min(n_workers, 4)
    assert said[0].startswith("4 cells to run with ")
    assert said[0].endswith(f", about {4 / n_at_a_time:.1f} s by estimate")
    assert "left" not in said[1]
    assert [line.partition("about ")[2] for line in said[2:4]] == [f"{words} left" for words in expected]
    assert "left" not in said[4]


def test_nothing_is_explained_where_no_metric_asks_for_it(tmp_path, monkeypatch):
    experiment = tiny(tmp_path)
    predictions_only = dataclasses.replace(experiment, metrics=("accuracy", "auroc"))
    (cell,) = all_cells(experiment)
    assert Costs(predictions_only, None).seconds(cell) < Costs(experiment, None).seconds(cell)
    monkeypatch.setattr("millet.MilletClassifier.explain", None)
    assert not run_benchmark(predictions_only, tmp_path / "run", n_jobs=1).failed
    (row,) = read_rows(tmp_path / "run")
    assert 0 <= row["accuracy"] <= 1
    assert row["per_class_accuracy"].keys() == {"0", "8"}


def test_a_plan_counts_cells_and_hours_without_running_any(tmp_path):
    file = Path(EXPERIMENTS[0]).with_name("ucr.toml")
    done = CliRunner().invoke(cli, ["benchmark", str(file), "--plan", "--tier", "paper"])
    assert done.exit_code == 0, done.output
    assert "6375" in done.output
    assert "85 datasets x 15 models x 5 repeats" in done.output
    assert not list(tmp_path.iterdir())


def test_a_plan_of_one_thing_does_not_call_it_things(tmp_path):
    plan = describe_plan(write(tmp_path), "smoke", n_workers=1)
    assert "with 1 worker\n" in plan
    assert "1 dataset x 1 model x 1 repeat;" in plan


# Rows


def test_a_torn_last_line_is_dropped_and_the_next_row_begins_a_line(tmp_path):
    rows = [{**dict.fromkeys(NEEDED, ""), "repeat": repeat, "status": "done"} for repeat in range(3)]
    whole = [f"{json.dumps(row)}\n" for row in rows]
    (tmp_path / "rows.jsonl").write_text(whole[0] + whole[1] + whole[2][:-5])
    assert read_rows(tmp_path) == rows[:2]
    RowsFile(tmp_path).append(rows[2:])
    assert (tmp_path / "rows.jsonl").read_text() == "".join(whole)


@pytest.mark.parametrize("missing", sorted(NEEDED))
def test_a_row_that_lacks_what_a_run_must_know_is_refused_with_its_line(missing, tmp_path):
    whole = {**dict.fromkeys(NEEDED, ""), "repeat": 0, "status": "done"}
    lacking = {key: value for key, value in whole.items() if key != missing}
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps(whole)}\n{json.dumps(lacking)}\n")
    with pytest.raises(DatasetFormatError, match=r"rows\.jsonl, line 2: .*Remove that line"):
        RowsFile(tmp_path)


@pytest.mark.parametrize(("key", "wrong"), [
    ("dataset", None), ("dataset", ["Beef"]), ("model", 5), ("method", None),
    ("status", "maybe"), ("status", ["done"]),
])  # fmt: skip
def test_a_row_that_no_run_can_have_written_is_refused_with_its_line(key, wrong, tmp_path):
    whole = {**dict.fromkeys(NEEDED, ""), "repeat": 0, "status": "done"}
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps(whole)}\n{json.dumps({**whole, key: wrong})}\n")
    with pytest.raises(DatasetFormatError, match=r"rows\.jsonl, line 2: .*Remove that line"):
        RowsFile(tmp_path)


def filed_row(**changes):
    return {**dict.fromkeys(NEEDED, ""), "repeat": 0, "status": "done", **changes}


def test_a_last_row_that_lacks_only_its_newline_is_kept_and_gets_it(tmp_path):
    rows = [filed_row(repeat=repeat) for repeat in range(3)]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows[:2])))
    file = RowsFile(tmp_path)
    assert file.rows == rows[:2]
    file.append(rows[2:])
    assert path.read_text() == "".join(f"{json.dumps(row)}\n" for row in rows)


def read_by_a_report(folder):
    run = read_run(folder)
    return [row.content for row in (*run.done, *run.failed)]


READERS = [whole_rows, read_by_a_report]


@pytest.mark.parametrize("reader", READERS)
def test_both_readers_skip_blank_lines_and_take_a_last_row_without_newline(reader, tmp_path):
    first, second = filed_row(dataset="Beef", model="gap-fcn"), filed_row(dataset="Beef", model="gap-lite")
    (tmp_path / "run.json").write_text("{}")
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps(first)}\n\n \n{json.dumps(second)}")
    assert reader(tmp_path) == [first, second]


@pytest.mark.parametrize("reader", READERS)
def test_both_readers_refuse_two_rows_of_one_key_with_both_lines(reader, tmp_path):
    rows = [filed_row(dataset="Beef", model="gap-fcn", method="own", status=status) for status in ("failed", "done")]
    (tmp_path / "run.json").write_text("{}")
    (tmp_path / "rows.jsonl").write_text("\n\n".join(map(json.dumps, rows)))
    wanted = "line 3: line 1 is about Beef, gap-fcn, 0, own too. Keep one of the two lines"
    with pytest.raises(DatasetFormatError, match=wanted):
        reader(tmp_path)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("file", sorted((ROOT / "results").glob("*/rows.jsonl")), ids=lambda file: file.parent.name)
def test_both_readers_read_all_rows_of_the_results_that_come_along(file, reader):
    assert len(reader(file.parent)) == file.read_text().count("\n")


@pytest.mark.parametrize("odd", [{"n_epochs_run": None}, {"train_core_seconds": "long"}])
def test_rows_without_real_numbers_are_left_out_of_estimates(odd, tmp_path):
    experiment = tiny(tmp_path)
    run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    (row,) = read_rows(tmp_path / "run")
    assert Costs(experiment, None, [{**row, **odd}, row]).speeds == Costs(experiment, None, [row]).speeds


def test_rows_of_another_experiment_are_left_out_of_estimates(tmp_path):
    experiment = tiny(tmp_path)
    run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    (row,) = read_rows(tmp_path / "run")
    foreign = [{**row, "train_core_seconds": 1e9, key: "other"} for key in ("model", "dataset")]
    bare = {key: row[key] for key in NEEDED}
    assert Costs(experiment, None, [*foreign, bare, row]).speeds == Costs(experiment, None, [row]).speeds


def test_a_damaged_line_in_the_middle_is_refused_with_its_number(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n{"a": \n{"a": 3}\n')
    with pytest.raises(DatasetFormatError, match=r"rows\.jsonl, line 2: .*Remove that line"):
        RowsFile(tmp_path)


def test_rows_make_a_table_that_parquet_holds(tmp_path):
    run_benchmark(tiny(tmp_path, models='"lite", "minirocket"'), tmp_path / "run", n_jobs=1)
    rows = read_rows(tmp_path / "run")
    pandas.json_normalize(rows).to_parquet(tmp_path / "rows.parquet")
    table = pandas.read_parquet(tmp_path / "rows.parquet")
    assert table["model"].tolist() == [row["model"] for row in rows]
    assert table["machine.n_cores"].tolist() == [row["machine"]["n_cores"] for row in rows]


def test_what_is_no_number_becomes_null(tmp_path):
    RowsFile(tmp_path).append([{"a": float("nan"), "b": {"c": [float("inf"), 1.5]}}])
    assert read_rows(tmp_path) == [{"a": None, "b": {"c": [None, 1.5]}}]


def test_a_full_disk_keeps_the_rows_so_far_and_says_so(tmp_path, monkeypatch):
    rows = RowsFile(tmp_path)
    rows.append([{"a": 1}])

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match=r"No space left on device.*Rows that are there are kept"):
        rows.append([{"a": 2}])
    assert (tmp_path / "rows.jsonl").read_text() == '{"a": 1}\n'


def test_a_disk_that_fills_up_in_a_worker_stops_the_run(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "weights")

    experiment = tiny(tmp_path, more="repeats = 2")
    monkeypatch.setattr(work, "_trained", full)
    with pytest.raises(StorageError, match=r"Tiny conjunctive-lite 0 could not be run: No space left .*weights"):
        run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    assert read_rows(tmp_path / "run") == []


def test_a_folder_that_cannot_be_made_is_an_error_that_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="can't be written"):
        run_benchmark(tiny(tmp_path), tmp_path / "file" / "run")


# Runs


def test_a_finished_run_is_left_as_it_is(tmp_path):
    experiment = tiny(tmp_path)
    run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    before = (tmp_path / "run" / "rows.jsonl").read_bytes()
    outcome = run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    assert outcome == (1, 0, [], [])
    again = CliRunner().invoke(cli, ["benchmark", str(tmp_path / "toy.toml"), "--out", str(tmp_path / "run")])
    assert "1 cell, 0 of them run now" in again.output
    assert (tmp_path / "run" / "rows.jsonl").read_bytes() == before


def test_a_missing_method_is_added_without_training_again(tmp_path, monkeypatch):
    models = '{ backbones = ["lite"], poolings = ["gap"] }'
    experiment = tiny(tmp_path, models=models, more="methods = { cam = {} }")
    run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    whole = results(tmp_path / "run")
    lines = (tmp_path / "run" / "rows.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "run" / "rows.jsonl").write_text(lines[0])
    monkeypatch.setattr(work.MilletClassifier, "fit", None)
    run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    assert results(tmp_path / "run") == whole


def test_a_broken_dataset_is_recorded_and_the_rest_is_run_and_a_retry_mends_it(tmp_path):
    data = tmp_path / "data" / "Odd"
    data.mkdir(parents=True)
    good = "".join(f"{label},{','.join(str((label + 1) * k % 7) for k in range(12))}\n" for label in (0, 1) * 3)
    (data / "Odd_TRAIN.csv").write_text(good)
    (data / "Odd_TEST.csv").write_text("0,1,x,3\n")
    file = write(tmp_path, datasets=f'"Odd", {TINY}', more="repeats = 2")
    arguments = ["benchmark", str(file), "--out", str(tmp_path / "run"), "--path", str(data.parent), "--n-jobs", "1"]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 1
    rows = results(tmp_path / "run")
    failed = {key for key, row in rows.items() if row["status"] == "failed"}
    assert failed == {("Odd", "conjunctive-lite", repeat, "own") for repeat in (0, 1, ENSEMBLE)}
    assert "DatasetFormatError" in rows["Odd", "conjunctive-lite", 0, "own"]["error"]
    assert "members failed: 0, 1" in rows["Odd", "conjunctive-lite", ENSEMBLE, "own"]["error"]
    assert len(rows) == 6
    assert "0 of them run now" in CliRunner().invoke(cli, arguments).output
    (data / "Odd_TEST.csv").write_text(good)
    mended = CliRunner().invoke(cli, [*arguments, "--retry-failed"])
    assert mended.exit_code == 0, mended.output
    assert {row["status"] for row in results(tmp_path / "run").values()} == {"done"}


def test_running_out_of_memory_is_a_row_and_the_rest_is_run(tmp_path, monkeypatch):
    measure = work.measure

    def hungry(classifier, test, method, metrics):
        if classifier.random_state == 0:
            raise MemoryError("no room for 3 TiB")
        return measure(classifier, test, method, metrics)

    monkeypatch.setattr(work, "measure", hungry)
    outcome = run_benchmark(tiny(tmp_path, more="repeats = 2"), tmp_path / "run", n_jobs=1)
    statuses = {key[2]: row["status"] for key, row in results(tmp_path / "run").items()}
    assert statuses == {0: "failed", 1: "done", ENSEMBLE: "failed"}
    assert outcome.failed[0]["error"] == "MemoryError: no room for 3 TiB"
    assert "hungry" in outcome.failed[0]["traceback"]


def test_a_method_that_fails_leaves_the_others_alone(tmp_path, monkeypatch):
    measure = work.measure

    def failing(classifier, test, method, metrics):
        if method.name == "cam":
            raise ValueError("expected a number.")
        return measure(classifier, test, method, metrics)

    monkeypatch.setattr(work, "measure", failing)
    said = []
    run_benchmark(tiny(tmp_path, **METHODS), tmp_path / "run", n_jobs=1, say=said.append)
    rows = read_rows(tmp_path / "run")
    assert [(row["method"], row["status"]) for row in rows] == [
        ("own", "done"),
        ("cam", "failed"),
        ("random", "done"),
    ]
    assert "ValueError: expected a number, " in said[1]
    seconds = [row["cell_seconds"] for row in rows]
    assert sum(rows[0][name] for name in NOT_COMPARED[1:4]) <= seconds[0] <= seconds[1] <= seconds[2]


def test_an_ensemble_averages_the_logits_of_its_members(tmp_path):
    experiment = tiny(tmp_path, more="repeats = 2")
    run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    (ensemble,) = (cell for cell in all_cells(experiment) if cell.is_ensemble)
    members = [
        work.MilletClassifier.load(tmp_path / "run" / "models" / "Tiny" / "conjunctive-lite" / str(repeat))
        for repeat in (0, 1)
    ]
    _, test = ensemble.data.load(None)
    logits = sum(member.logits(test.X) for member in members) / 2
    predicted = members[0].classes_[logits.argmax(axis=1)]
    row = results(tmp_path / "run")[ensemble.keys[0]]
    assert row["accuracy"] == pytest.approx((predicted == test.y).mean())
    assert row["n_parameters"] == 2 * sum(p.numel() for p in members[0].networks_[0].parameters())
    assert row["ensemble"]
    assert row["seed"] is None
    # The loss of the kept weights on the training cases, in inference mode; an ensemble's is its members' mean.
    train, _ = ensemble.data.load(None)
    losses = [log_loss(train.y, member.predict_proba(train.X)) for member in members]
    found = [
        results(tmp_path / "run")["Tiny", "conjunctive-lite", repeat, "own"]["train_loss"] for repeat in (0, 1, -1)
    ]
    assert found == pytest.approx([*losses, sum(losses) / 2], abs=1e-4)


ROCKETS = '"minirocket", { features = ["minirocket"], heads = ["ridge"], spreads = ["anchor", "taps"] }'


def test_models_of_the_fast_lane_have_names_of_what_was_chosen(tmp_path):
    models = tiny(tmp_path, models=f'{ROCKETS}, "lite"').models
    assert [model.name for model in models] == [
        "minirocket", "minirocket-ridge-anchor", "minirocket-ridge-taps", "conjunctive-lite",
    ]  # fmt: skip
    assert models[1].settings == {"head": "ridge", "spread": "anchor"}
    assert [model.is_rocket for model in models] == [True, True, True, False]


def test_methods_that_look_into_networks_leave_the_fast_lane_alone(tmp_path):
    more = "methods = { integrated_gradients = {}, random = {} }"
    models = '"minirocket", "instance-lite", "minirocket+instance-lite"'
    cells = all_cells(tiny(tmp_path, models=models, more=more))
    assert [[method.name for method in cell.methods] for cell in cells] == [
        ["own", "random"], ["own", "integrated_gradients", "random"], ["own", "random"],
    ]  # fmt: skip


def test_processor_time_leaves_out_what_else_a_machine_does(tmp_path, monkeypatch, one_thread):
    predict = MilletClassifier.predict

    def interrupted(self, X):
        time.sleep(0.3)
        return predict(self, X)

    experiment = tiny(tmp_path)
    run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    classifier = load_classifier(tmp_path / "run" / "models" / "Tiny" / "conjunctive-lite" / "0")
    monkeypatch.setattr(MilletClassifier, "predict", interrupted)
    _, test = experiment.datasets[0].load(None)
    row = measure_module.measure(classifier, test, experiment.methods[0], ("accuracy",))
    assert row["inference_seconds"] >= 0.3
    assert row["inference_core_seconds"] <= row["inference_seconds"] - 0.2


def test_estimates_are_in_processor_time_and_leave_rows_without_it_alone(tmp_path):
    experiment = tiny(tmp_path)
    run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    (row,) = read_rows(tmp_path / "run")
    on_a_busy_machine = {key: 100 * value if key.endswith("_seconds") else value for key, value in row.items()}
    on_a_busy_machine |= {key: value for key, value in row.items() if key.endswith("core_seconds")}
    assert Costs(experiment, None, [on_a_busy_machine]).speeds == Costs(experiment, None, [row]).speeds
    by_the_clock = {key: value for key, value in row.items() if not key.endswith("core_seconds")}
    assert Costs(experiment, None, [by_the_clock]).speeds == Costs(experiment, None).speeds


def test_one_odd_row_does_not_spoil_estimates(tmp_path):
    experiment = tiny(tmp_path)
    run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    (row,) = read_rows(tmp_path / "run")
    odd = {**row, "train_core_seconds": 1e6}
    assert Costs(experiment, None, [row, odd, row]).speeds == Costs(experiment, None, [row]).speeds


@pytest.mark.parametrize("arguments", [{}, {"classes": ["None", "Peak"], "n_timepoints": 30}])
def test_the_size_of_a_generated_dataset_is_known_without_generating_it(arguments):
    data = DataSpec("Mine", {"n_cases_per_class": 2, "sampling_interval": 120, **arguments})
    train, test = data.load(None)
    assert data.size(None) == (len(train), len(test), train.X.shape[2], len(train.classes))
    huge = dataclasses.replace(data, generator={**data.generator, "n_cases_per_class": 10**10})
    assert huge.size(None).n_train == 10**10 * len(train.classes)


def test_steps_of_short_series_cost_more_than_their_timepoints_tell(tmp_path):
    experiment = tiny(tmp_path)
    (cell,) = all_cells(experiment)
    (size,) = (data.size(None) for data in experiment.datasets)
    n_steps = experiment.recipe.n_epochs * experiment.recipe.steps_per_epoch_for(size.n_train)
    costs = [Costs(experiment, None, speeds={"lite": Speed(1.0, step, 1.0)}).seconds(cell) for step in (0.0, 2.0)]
    assert costs[1] - costs[0] == pytest.approx(2 * n_steps)


def test_a_trial_parts_what_a_step_costs_from_what_timepoints_cost(monkeypatch):
    def seconds(work, n_trials):
        return 7.0 + 3 * math.prod(work.args) * 0.5 if work.func.__name__ == "train" else math.prod(work.args) * 0.25

    monkeypatch.setattr("millet.benchmark.speed._quickest", seconds)
    trial_speed.cache_clear()
    try:
        assert trial_speed("lite") == pytest.approx(Speed(training=0.5, step=7.0, inference=0.25))
    finally:
        trial_speed.cache_clear()


@pytest.mark.parametrize(("keep", "n_passes"), [("best", 4), ("last", 3)])
def test_a_pass_that_selects_the_best_epoch_is_counted_where_there_is_one(keep, n_passes, tmp_path):
    experiment = tiny(tmp_path)
    experiment = dataclasses.replace(experiment, recipe=dataclasses.replace(experiment.recipe, keep=keep))
    (cell,) = all_cells(experiment)
    (size,) = (data.size(None) for data in experiment.datasets)
    costs = Costs(experiment, None, speeds={"lite": Speed(1.0, 0.0, 1.0)})
    training = costs.seconds(dataclasses.replace(cell, methods=()))
    assert training == n_passes * experiment.recipe.n_epochs * size.n_train * size.n_timepoints


def test_large_training_sets_are_estimated_by_the_epochs_that_they_get(tmp_path):
    experiment = tiny(tmp_path)
    recipe = dataclasses.replace(experiment.recipe, n_epochs=100, max_steps=20, keep="last")
    experiment = dataclasses.replace(experiment, recipe=recipe)
    (cell,) = all_cells(experiment)
    (size,) = (data.size(None) for data in experiment.datasets)
    n_epochs = recipe.n_epochs_for(size.n_train)
    assert n_epochs < 100
    costs = Costs(experiment, None, speeds={"lite": Speed(0.0, 1.0, 0.0)})
    assert costs.seconds(cell) == n_epochs * recipe.steps_per_epoch_for(size.n_train)


def test_the_fast_lane_is_trained_measured_and_averaged(tmp_path):
    experiment = tiny(tmp_path, models=ROCKETS, more="repeats = 2\nmethods = { random = {} }")
    assert not run_benchmark(experiment, tmp_path / "run", n_jobs=1).failed
    rows = results(tmp_path / "run")
    assert len(rows) == 3 * (2 + 1) * 2
    one = rows["Tiny", "minirocket", 0, "own"]
    assert (one["backbone"], one["pooling"], one["n_epochs_run"]) == ("minirocket", "instance", 0)
    anchor, taps = (rows["Tiny", f"minirocket-ridge-{spread}", 1, "own"] for spread in ("anchor", "taps"))
    assert anchor["accuracy"] == taps["accuracy"]
    folder = tmp_path / "run" / "models" / "Tiny" / "minirocket"
    members = [load_classifier(folder / str(repeat)) for repeat in (0, 1)]
    _, test = experiment.datasets[0].load(None)
    logits = sum(member.logits(test.X) for member in members) / 2
    ensemble = rows["Tiny", "minirocket", ENSEMBLE, "own"]
    assert ensemble["accuracy"] == pytest.approx((members[0].classes_[logits.argmax(axis=1)] == test.y).mean())
    assert ensemble["n_parameters"] == sum(member.n_parameters_ for member in members)


def test_a_plan_knows_what_the_fast_lane_costs(tmp_path):
    experiment = tiny(tmp_path, models='"minirocket", "lite"')
    fast, slow = (Costs(experiment, None).seconds(cell) for cell in all_cells(experiment))
    assert 0 < fast < 60
    assert slow > 0


# Averages


def test_an_average_is_named_after_its_parts_and_described_by_its_name(tmp_path):
    experiment = tiny(tmp_path, models='"minirocket+lite"', more="repeats = 2")
    (model,) = experiment.models
    assert (model.name, model.backbone) == ("minirocket+conjunctive-lite", "minirocket+lite")
    assert model.pooling == "instance+conjunctive"
    assert model.ensemble
    assert [part.name for part in model.singles] == ["minirocket", "conjunctive-lite"]
    assert not model.is_rocket
    assert not model.is_network
    assert "parts" not in experiment.to_dict()["models"][0]


def test_an_average_has_the_logits_and_the_costs_of_its_parts_trained_alone(tmp_path):
    models = '"minirocket", "lite", "minirocket+lite"'
    experiment = tiny(tmp_path, models=models, more="repeats = 2\nmethods = { random = {} }")
    assert not run_benchmark(experiment, tmp_path / "run", n_jobs=1).failed
    rows = results(tmp_path / "run")
    names = ("minirocket", "conjunctive-lite", "minirocket+conjunctive-lite")
    folder = tmp_path / "run" / "models" / "Tiny"
    _, test = experiment.datasets[0].load(None)
    for repeat in (0, 1):
        *parts, average = (load_classifier(folder / name / str(repeat)).logits(test.X) for name in names)
        assert average == pytest.approx(sum(parts) / 2)
    for repeat in (0, 1, ENSEMBLE):
        *parts, average = (rows["Tiny", name, repeat, "own"] for name in names)
        for fact in ("n_parameters", "n_epochs_run"):
            assert average[fact] == sum(part[fact] for part in parts)
        assert average["data_fingerprint"] == parts[0]["data_fingerprint"]
        assert rows["Tiny", names[2], repeat, "random"]["status"] == "done"


def test_the_seconds_of_an_average_are_those_of_its_parts(tmp_path):
    experiment = tiny(tmp_path, models='"minirocket+lite"', more="repeats = 2")
    run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    seconds = {row["repeat"]: row["train_seconds"] for row in read_rows(tmp_path / "run")}
    for repeat in (0, 1):
        folder = tmp_path / "run" / "models" / "Tiny" / "minirocket+conjunctive-lite" / str(repeat)
        features, network = load_classifier(folder).classifiers_
        spent = features.training_summary_["seconds"] + network.history_[-1].seconds
        assert seconds[repeat] == pytest.approx(spent, abs=1e-3)
    assert seconds[ENSEMBLE] == pytest.approx(seconds[0] + seconds[1], abs=2e-3)


def test_an_average_is_estimated_as_the_sum_of_its_parts(tmp_path):
    models = '"minirocket", "lite", "minirocket+lite"'
    experiment = tiny(tmp_path, models=models, more="repeats = 2\nmethods = { random = {} }")
    costs = Costs(experiment, None)
    assert set(costs.speeds) == {"minirocket", "lite"}
    seconds = {(cell.model.name, cell.repeat): costs.seconds(cell) for cell in all_cells(experiment)}
    for repeat in (0, 1, ENSEMBLE):
        parts = seconds["minirocket", repeat] + seconds["conjunctive-lite", repeat]
        assert seconds["minirocket+conjunctive-lite", repeat] == pytest.approx(parts)


def test_the_row_of_an_average_leaves_the_measured_speed_of_its_parts_alone(tmp_path):
    experiment = tiny(tmp_path, models='"lite", "minirocket+lite"')
    run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    rows = read_rows(tmp_path / "run")
    alone = [row for row in rows if row["model"] == "conjunctive-lite"]
    assert len(rows) == 2
    assert Costs(experiment, None, rows).speeds["lite"] == Costs(experiment, None, alone).speeds["lite"]


def test_each_network_of_an_interrupted_average_goes_on_from_its_own_checkpoint(tmp_path, monkeypatch):
    experiment = tiny(tmp_path, models='"lite+fcn"')
    run_benchmark(experiment, tmp_path / "undisturbed", n_jobs=1)
    run_epoch = loop._Trainer._run_epoch
    epochs = []

    def interrupted(self):
        if len(epochs) == 3:
            epochs.append("interrupted")
            raise KeyboardInterrupt
        epochs.append(self.state.epoch)
        return run_epoch(self)

    monkeypatch.setattr(loop._Trainer, "_run_epoch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    assert epochs == [0, 1, 0, "interrupted", 1]
    assert results(tmp_path / "run") == results(tmp_path / "undisturbed")
    assert not (tmp_path / "run" / "cells").exists()


# Interruptions


def test_an_interrupted_cell_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    experiment = tiny(tmp_path)
    run_benchmark(experiment, tmp_path / "undisturbed", n_jobs=1)
    run_epoch = loop._Trainer._run_epoch
    epochs = []

    def interrupted(self):
        if self.state.epoch == 1 and len(epochs) == 1:
            raise KeyboardInterrupt
        epochs.append(self.state.epoch)
        return run_epoch(self)

    monkeypatch.setattr(loop._Trainer, "_run_epoch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    epochs.append("resumed")
    run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    assert epochs == [0, "resumed", 1]
    assert results(tmp_path / "run") == results(tmp_path / "undisturbed")
    assert not (tmp_path / "run" / "cells").exists()


METHODS = {"models": '{ backbones = ["lite"], poolings = ["gap"] }', "more": "methods = { cam = {}, random = {} }"}


def test_methods_that_were_done_before_an_interruption_are_not_measured_again(tmp_path, monkeypatch):
    experiment = tiny(tmp_path, **METHODS)
    run_benchmark(experiment, tmp_path / "undisturbed", n_jobs=1)
    measure, asked = work.measure, []

    def interrupted(classifier, test, method, metrics):
        asked.append(method.name)
        if asked == ["own", "cam"]:
            raise KeyboardInterrupt
        return measure(classifier, test, method, metrics)

    monkeypatch.setattr(work, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    assert read_rows(tmp_path / "run") == []
    (own,) = kept_rows(tmp_path / "run" / "cells" / "Tiny" / "gap-lite" / "0" / "rows").values()
    run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    assert asked == ["own", "cam", "cam", "random"]
    assert own in read_rows(tmp_path / "run")
    assert results(tmp_path / "run") == results(tmp_path / "undisturbed")
    assert not (tmp_path / "run" / "cells").exists()


def test_a_cell_that_is_given_up_keeps_the_rows_of_the_methods_that_were_done(tmp_path, monkeypatch):
    def dying_pool(n_workers, n_threads, jobs):
        for job in jobs():
            keep_row(job.kept, {**failure_row(job, "own", "", 1.0), "status": "done"})
            time.sleep(0.01)
            raise WorkerLostError("killed")
        yield

    monkeypatch.setattr(backends, "_process_stream", dying_pool)
    run_benchmark(tiny(tmp_path, **METHODS), tmp_path / "run", n_jobs=1)
    rows = {row["method"]: row for row in read_rows(tmp_path / "run")}
    assert {name: row["status"] for name, row in rows.items()} == {"own": "done", "cam": "failed", "random": "failed"}
    assert rows["cam"]["cell_seconds"] >= 0.01 * LOSSES_ALLOWED
    assert not list((tmp_path / "run" / "cells").rglob("*.json"))


def test_a_kept_row_that_is_damaged_is_measured_again(tmp_path):
    kept = tmp_path / "run" / "cells" / "Tiny" / "conjunctive-lite" / "0" / "rows"
    experiment = tiny(tmp_path)
    run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    (tmp_path / "run" / "rows.jsonl").unlink()
    kept.mkdir(parents=True)
    (kept / "own.json").write_text('{"method": "ow')
    run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    assert [row["status"] for row in read_rows(tmp_path / "run")] == ["done"]


def test_missed_classes_are_counted_by_hand(tmp_path):
    experiment = tiny(tmp_path)
    run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    (row,) = read_rows(tmp_path / "run")
    n_missed = sum(n for taken in row["missed"].values() for n in taken.values())
    assert n_missed == round((1 - row["accuracy"]) * row["n_cases"])
    assert set(row["missed_ndcg_at_n"]) <= set(row["missed"])
    by_class = row["per_class_accuracy"]
    assert sum(by_class.values()) / len(by_class) == pytest.approx(row["accuracy"])


def test_cases_to_explain_are_spread_over_the_split(tmp_path):
    (cell,) = all_cells(tiny(tmp_path))
    _, test = cell.data.load(None)
    assert measure_module.spread(test, 2).y.tolist() == [0, 8]
    assert measure_module.spread(test, 99) is test


def test_a_method_that_explains_some_cases_has_the_models_own_evidence_of_these_beside_it(tmp_path):
    experiment = dataclasses.replace(
        tiny(tmp_path, more="methods = { random = { n_cases = 3 }, occlusion = {} }"), metrics=()
    )
    run_benchmark(experiment, tmp_path / "run", n_jobs=1)
    rows = {row["method"]: row for row in read_rows(tmp_path / "run")}
    of_all, sampled = rows["occlusion"], rows["random"]
    assert not [name for name in of_all if name.startswith("own_")], "the row of the model has them"
    (cell,) = all_cells(experiment)
    _, test = cell.data.load(None)
    cases = measure_module.spread(test, 3)
    classifier = load_classifier(tmp_path / "run" / "models" / "Tiny" / "conjunctive-lite" / "0")
    own = evaluate(classifier, cases, progress=False)
    for name in ("aopcr", "aopcr_low", "ndcg_at_n", "ndcg_at_n_without_all_relevant", "gini", "sufficiency"):
        assert sampled[f"own_{name}"] == pytest.approx(own[name], nan_ok=True), name
    assert sampled["own_aopcr"] != rows["own"]["aopcr"], "which is of all cases"
    assert "own_accuracy" not in sampled
    assert "own_n_cases" not in sampled


def test_what_is_scored_besides_is_in_the_estimate(tmp_path):
    cells = [
        tiny_cell
        for n_cases in (3, 4)
        for tiny_cell in all_cells(tiny(tmp_path, more=f"methods = {{ random = {{ n_cases = {n_cases} }} }}"))
    ]
    of_some, of_all = (Costs(tiny(tmp_path), None).seconds(cell) for cell in cells)
    assert of_some > of_all, "three cases scored twice, not four cases once"


@pytest.mark.parametrize(("seconds", "noted", "n_asked"), [((0.3, 0.1, 0.2), 0.1, 3), ((9.0, 0.1, 0.2), 9.0, 1)])
def test_the_quickest_of_three_predictions_counts_where_they_are_quick(seconds, noted, n_asked, monkeypatch):
    clock, left = SimpleNamespace(now=0.0), list(seconds)

    def predict(X):
        clock.now += left.pop(0)
        return X

    fake = SimpleNamespace(perf_counter=lambda: clock.now, process_time=lambda: clock.now)
    monkeypatch.setattr(measure_module, "time", fake)
    times = {}
    measure_module._clocked_prediction(SimpleNamespace(predict=predict), SimpleNamespace(X="series"), times)
    assert times["inference_seconds"] == times["inference_core_seconds"] == pytest.approx(noted)
    assert len(seconds) - len(left) == n_asked


# Folders


def test_a_folder_of_another_experiment_tier_or_version_is_refused(tmp_path):
    file = write(tmp_path)
    run_benchmark(load_experiment(file), tmp_path / "run", n_jobs=1)
    with pytest.raises(StorageError, match=r"'toy', tier 'smoke'.*different: tier"):
        run_benchmark(load_experiment(file, "paper"), tmp_path / "run")
    with pytest.raises(StorageError, match="different: models, repeats"):
        run_benchmark(tiny(tmp_path, more="repeats = 3"), tmp_path / "run")
    description = tmp_path / "run" / "run.json"
    description.write_text(description.read_text().replace('"millet": "', '"millet": "99'))
    with pytest.raises(StorageError, match="by version 99"):
        run_benchmark(tiny(tmp_path), tmp_path / "run")
    for damaged in ("{", '{"format": "millet-run", "training": null}'):
        description.write_text(damaged)
        with pytest.raises(StorageError, match="damaged"):
            run_benchmark(tiny(tmp_path), tmp_path / "run")


def test_cases_of_the_ensemble_are_kept_for_pictures(tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "ERRING_MODEL", "conjunctive-lite")
    monkeypatch.setattr(pictures, "WEB_TRAFFIC", SimpleNamespace(name="Tiny"))
    grid = tiny(tmp_path, more="repeats = 2")
    run_benchmark(grid, tmp_path / "run", n_jobs=1)
    _, test = grid.datasets[0].load(None)
    members = [load_classifier(tmp_path / "run" / "models" / "Tiny" / "conjunctive-lite" / str(r)) for r in (0, 1)]
    expected = np.mean([member.explain(test.X).scores for member in members], axis=0)
    kept = load_evidence(tmp_path / "run")
    assert kept
    for case, found in kept.items():
        np.testing.assert_allclose(found.scores[0], expected[case], rtol=1e-5, atol=1e-6)


def test_pictures_that_cannot_be_kept_are_a_warning_beside_the_row(tmp_path, monkeypatch):
    def broken(*_):
        raise RuntimeError("no ink")

    monkeypatch.setattr(pictures, "ERRING_MODEL", "conjunctive-lite")
    monkeypatch.setattr(pictures, "WEB_TRAFFIC", SimpleNamespace(name="Tiny"))
    monkeypatch.setattr(pictures, "save_evidence", broken)
    said = []
    assert not run_benchmark(tiny(tmp_path), tmp_path / "run", n_jobs=1, say=said.append).failed
    (row,) = read_rows(tmp_path / "run")
    assert (row["status"], row["warnings"]) == ("done", ["There are no cases for pictures: RuntimeError: no ink"])
    assert f"accuracy {row['accuracy']:.3f}, 1 warning, " in said[1]


def test_what_a_worker_warns_of_is_in_every_row_that_it_concerns(tmp_path, monkeypatch):
    def with_doubts(call, doubt):
        def doubtful(*given, **named):
            for _ in range(2):
                warnings.warn(doubt, stacklevel=1)
            return call(*given, **named)

        return doubtful

    monkeypatch.setattr(work, "_untrained", with_doubts(work._untrained, "little\nlearnt"))
    monkeypatch.setattr(work, "measure", with_doubts(work.measure, "few cases"))
    grid = tiny(tmp_path, more="methods = { random = {} }")
    outcome = run_benchmark(grid, tmp_path / "run", n_jobs=1)
    rows = read_rows(tmp_path / "run")
    assert [row["warnings"] for row in rows] == [["little learnt", "few cases"]] * 2
    assert outcome.warned == rows


def test_a_row_without_warnings_has_no_field_for_them(tmp_path):
    outcome = run_benchmark(tiny(tmp_path), tmp_path / "run", n_jobs=1)
    assert "warnings" not in read_rows(tmp_path / "run")[0]
    assert outcome.warned == []


def test_a_call_says_how_many_rows_come_from_other_code(tmp_path):
    grid = tiny(tmp_path, more="repeats = 2")
    said = []
    run_benchmark(grid, tmp_path / "run", n_jobs=1, repeats=1, say=said.append)
    rows = tmp_path / "run" / "rows.jsonl"
    run_benchmark(grid, tmp_path / "run", n_jobs=1, say=said.append)
    assert not any("another commit" in line for line in said)
    older, *_ = read_rows(tmp_path / "run")
    rows.write_text(json.dumps(older | {"commit": "0123abc"}) + "\n")
    run_benchmark(grid, tmp_path / "run", n_jobs=1, say=said.append)
    assert "Rows so far that come from another commit or other versions: 1 of 1" in said


def test_members_whose_models_are_gone_are_trained_again_for_their_ensemble(tmp_path):
    grid = tiny(tmp_path, more="repeats = 2")
    run_benchmark(grid, tmp_path / "run", n_jobs=1)
    expected = results(tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "models")
    rows = (tmp_path / "run" / "rows.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "run" / "rows.jsonl").write_text("".join(row for row in rows if '"ensemble": true' not in row))
    run_benchmark(grid, tmp_path / "run", n_jobs=1)
    (warning,) = read_rows(tmp_path / "run")[-1]["warnings"]
    assert warning == "Members trained again, since their models were gone: 0, 1."
    assert results(tmp_path / "run") == expected


def test_an_experiment_may_show_other_tables_of_the_same_rows(tmp_path):
    run_benchmark(tiny(tmp_path), tmp_path / "run", n_jobs=1)
    rows = read_rows(tmp_path / "run")
    run_benchmark(tiny(tmp_path, more='tables = ["webtraffic_prediction"]'), tmp_path / "run", n_jobs=1)
    assert read_rows(tmp_path / "run") == rows
    assert json.loads((tmp_path / "run" / "run.json").read_text())["tables"] == ["webtraffic_prediction"]


def test_a_folder_with_other_things_in_it_is_refused(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").write_text("")
    with pytest.raises(StorageError, match="holds something other than a run"):
        run_benchmark(tiny(tmp_path), tmp_path / "photos")


def test_a_folder_with_a_lock_and_hidden_files_alone_is_new(tmp_path):
    (tmp_path / "run").mkdir()
    for name in ("lock", ".1f2e3d.json"):
        (tmp_path / "run" / name).touch()
    assert not run_benchmark(tiny(tmp_path), tmp_path / "run", n_jobs=1).failed


def test_a_file_in_the_place_of_the_folder_is_called_one(tmp_path):
    (tmp_path / "run").write_text("")
    with pytest.raises(StorageError, match="run is a file; a run needs a folder"):
        run_benchmark(tiny(tmp_path), tmp_path / "run", n_jobs=1)


@pytest.mark.parametrize(
    "wrong", [{"n_jobs": 0}, {"n_jobs": -2}, {"backend": "lokki"}, {"backend": "dask"}, {"only": ["Tniy"]}]
)
def test_wrong_arguments_are_refused_before_there_is_a_folder(wrong, tmp_path):
    with pytest.raises(MilletError):
        run_benchmark(tiny(tmp_path), tmp_path / "run", **wrong)
    assert not (tmp_path / "run").exists()


def test_a_second_process_is_refused_with_the_holder_and_let_in_when_that_one_is_killed(tmp_path):
    (tmp_path / "run").mkdir()
    code = (
        "import sys, time, pathlib; from millet.locks import locked\n"
        "with locked(pathlib.Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    )
    lock = str(tmp_path / "run" / "lock")
    with subprocess.Popen([sys.executable, "-c", code, lock], stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(StorageError, match=f"in use by process {holder.pid} on "):
            run_benchmark(tiny(tmp_path), tmp_path / "run", n_jobs=1)
        holder.kill()
    with locked(tmp_path / "run" / "lock", wait=False):
        pass


# Where it runs


def test_workers_share_the_cores(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("joblib.cpu_count", lambda: 8)
    monkeypatch.setattr("joblib.effective_n_jobs", lambda n_jobs: 8 if n_jobs == -1 else n_jobs)
    for n_jobs, n_cells, expected in (
        (-1, 100, (8, 1)),
        (-1, 3, (3, 2)),
        (2, 100, (2, 4)),
        (1, 5, (1, 8)),
        (99, 100, (8, 1)),
    ):
        with open_pool("loky", n_jobs, n_cells, None) as pool:
            assert (pool.n_workers, pool.n_threads) == expected
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    with open_pool("loky", 1, 5, None) as pool:
        assert pool.n_threads == 2


@pytest.mark.parametrize(
    ("backend", "n_jobs", "scheduler", "message"),
    [
        ("lokki", 1, None, "Unknown backend 'lokki'.*Did you mean 'loky'"),
        ("loky", 0, None, "n_jobs must be at least 1"),
        ("loky", 1, "tcp://host:1", "is for --backend dask or ray"),
        ("dask", 1, None, "needs the address of a scheduler"),
        ("ray", 1, None, "needs the address of a cluster"),
    ],
)
def test_a_wrong_place_to_run_is_refused(backend, n_jobs, scheduler, message):
    with pytest.raises(MilletError, match=message), open_pool(backend, n_jobs, 1, scheduler):
        pass


@pytest.mark.parametrize(("backend", "module"), [("dask", "distributed"), ("ray", "ray")])
def test_an_engine_that_is_not_installed_is_named_with_its_extra(backend, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"millet-tsc\[{backend}\]"), open_pool(backend, 1, 1, "tcp://x:1"):
        pass


def test_a_worker_that_dies_is_noticed_and_its_cell_is_run_again(tmp_path, monkeypatch):
    experiment = tiny(tmp_path, more="repeats = 2")
    said = []
    run = work.run_cell
    deaths = iter([True])

    def dying_pool(n_workers, n_threads, jobs):
        for job in jobs():
            if next(deaths, False):
                raise WorkerLostError("killed")
            yield run(job)

    monkeypatch.setattr(backends, "_process_stream", dying_pool)
    run_benchmark(experiment, tmp_path / "run", n_jobs=1, say=said.append)
    assert "A worker died" in said[1]
    assert {row["status"] for row in results(tmp_path / "run").values()} == {"done"}
    assert len(results(tmp_path / "run")) == 3


def test_a_single_worker_is_another_process_that_ends_with_the_last_cell(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr("millet.benchmark.backends.run_cell", lambda job: (job, os.getpid()))
    with open_pool("loky", 1, 3, None) as pool, contextlib.closing(pool.stream(iter("abc").__iter__)) as stream:
        (first, worker), (second, same) = next(stream), next(stream)
    assert (first, second) == ("a", "b")
    assert worker == same != os.getpid()
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


def popped(waiting):
    while waiting:
        yield waiting.pop(0)


@pytest.mark.slow
def test_what_a_result_sets_free_is_begun_while_others_are_under_way(tmp_path, monkeypatch):
    monkeypatch.undo()

    def work_until_freed(job):
        while job == "long" and not (tmp_path / "freed").exists():
            time.sleep(0.01)
        (tmp_path / job).touch()
        return job

    monkeypatch.setattr(backends, "run_cell", work_until_freed)
    waiting = ["long", "short"]
    done = []
    with open_pool("loky", 2, 3, None) as pool:
        if pool.n_workers < 2:
            pytest.skip("one core")
        for result in pool.stream(lambda: popped(waiting)):
            done.append(result)
            if result == "short":
                waiting.append("freed")
    # "long" never ends unless "freed" is run beside it; which of the two is heard of first is a race.
    assert (done[0], sorted(done[1:])) == ("short", ["freed", "long"])


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_cell_that_kills_its_worker_fails_and_the_one_beside_it_does_not(n_jobs, tmp_path, monkeypatch):
    begun = tmp_path / "begun"
    begun.mkdir()

    def deadly_cell(job):
        note = begun / str(job.cell.repeat)
        is_first = not note.exists()
        note.touch()
        while len(list(begun.iterdir())) < n_jobs:
            time.sleep(0.01)
        if job.cell.repeat == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if is_first and n_jobs == 2:
            time.sleep(600)  # amidst which the other's death takes this worker along
        return work.run_cell(job)

    monkeypatch.undo()  # a single worker is a process of its own, as it is for users
    monkeypatch.setattr("joblib.cpu_count", lambda: 2)
    monkeypatch.setattr("millet.benchmark.backends.run_cell", deadly_cell)
    models = '{ backbones = ["lite"], poolings = ["conjunctive"], ensemble = false }'
    said = []
    run_benchmark(tiny(tmp_path, models=models, more="repeats = 2"), tmp_path / "run", n_jobs=n_jobs, say=said.append)
    rows = {row["repeat"]: row for row in read_rows(tmp_path / "run")}
    assert (rows[0]["status"], rows[1]["status"]) == ("failed", "done")
    assert f"worker died {LOSSES_ALLOWED} times" in rows[0]["error"]
    # Once together, which is not counted, and then alone.
    assert sum("A worker died" in line for line in said) == LOSSES_ALLOWED + (n_jobs == 2)


@pytest.mark.parametrize("n_jobs", ["0", "-2"])
def test_a_plan_for_a_number_of_jobs_that_a_run_refuses_is_refused(n_jobs, tmp_path):
    for rest in (["--plan"], ["--out", str(tmp_path / "run")]):
        done = CliRunner().invoke(cli, ["benchmark", str(EXPERIMENTS[0]), "--n-jobs", n_jobs, *rest])
        assert isinstance(done.exception, ParameterError)
        assert "n_jobs must be at least 1" in str(done.exception)


def test_out_is_asked_for():
    done = CliRunner().invoke(cli, ["benchmark", str(EXPERIMENTS[0])])
    assert isinstance(done.exception, ParameterError)
    assert "--out" in str(done.exception)


def test_a_worker_ends_in_peace(tmp_path):
    command = [
        sys.executable,
        "-m",
        "millet.cli",
        "benchmark",
        write(tmp_path, models='"minirocket"'),
        "--n-jobs",
        "1",
    ]
    done = subprocess.run([*command, "--out", tmp_path / "run"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_a_run_killed_again_and_again_ends_with_the_rows_of_an_undisturbed_one(tmp_path):
    file = write(tmp_path, more="repeats = 3", n_epochs=30)
    run_benchmark(load_experiment(file), tmp_path / "undisturbed", n_jobs=1)
    command = [sys.executable, "-m", "millet.cli", "benchmark", str(file), "--out", str(tmp_path / "run"), "--n-jobs"]
    rng = random.Random(0)
    started = tmp_path / "run" / "cells"
    # At first amidst the only cell that is under way, then amidst those of two workers.
    for n_jobs in ("1", "2"):
        with subprocess.Popen([*command, n_jobs], stdout=subprocess.PIPE, text=True) as process:
            if n_jobs == "1":
                while not started.exists():
                    time.sleep(0.01)
            else:
                assert "cells to run with 2 workers" in process.stdout.readline()
                assert process.stdout.readline().startswith("[1/")
            time.sleep(rng.uniform(0.0, 0.3))
            process.send_signal(signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL
        assert len(results(tmp_path / "run")) < 4
    done = subprocess.run([*command, "1"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(results(tmp_path / "run")) == 4
    assert results(tmp_path / "run") == results(tmp_path / "undisturbed")


@pytest.mark.parametrize("method", ["own", "cam", "integrated_gradients", "random"])
def test_reports_count_the_explanations_that_a_run_plans(method, tmp_path):
    models = '"minirocket", "gap-lite", "minirocket+lite"'
    methods = "" if method == "own" else f"methods = {{ {method} = {{}} }}"
    experiment = tiny(tmp_path, models=models, more=methods)
    planned = [cell for cell in all_cells(experiment) if method in [each.name for each in cell.methods]]
    run = Run(tmp_path, experiment.to_dict(), [])
    assert progress_of(run).explanations.planned == (0 if method == "own" else len(planned))


def test_estimates_of_methods_follow_their_options(tmp_path):
    def seconds(method, options=""):
        experiment = tiny(tmp_path, models='"lite"', more=f"methods = {{ {method} = {{ {options} }} }}")
        (cell,) = all_cells(experiment)
        return Costs(experiment, None, speeds={"lite": Speed(0.0, 0.0, 1.0)}).seconds(cell)

    (size,) = (data.size(None) for data in tiny(tmp_path).datasets)
    whole = size.n_test * size.n_timepoints
    none = seconds("random")
    assert seconds("shap", "n_samples = 100") - none == pytest.approx(50 * whole), (
        "half of the timepoints are taken away"
    )
    assert seconds("kernel_shap", "n_samples = 100") - none == pytest.approx(100 * whole), "and here replaced"
    assert seconds("integrated_gradients", "n_steps = 10") - none == pytest.approx(3 * 10 * 2 * whole), (
        "of each class"
    )
    assert seconds("occlusion", "stride = 2") - none == pytest.approx(size.n_timepoints / 2 * whole)
