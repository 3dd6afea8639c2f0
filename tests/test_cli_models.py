"""``millet fit``, ``predict``, ``explain`` and ``demo``, as typed into a shell."""

import csv
import fcntl
import json
import os
import pty
import re
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import millet
from millet.cli import cli, main
from millet.cli.sources import load_known_cases
from millet.errors import MilletError


def run(*args, expect=0):
    result = CliRunner().invoke(cli, [str(arg) for arg in args], catch_exceptions=True)
    if isinstance(result.exception, MilletError):
        return result.exception
    assert result.exit_code == expect, result.output
    return result


@pytest.fixture(scope="module")
def model(aeon_data, tmp_path_factory):
    out = tmp_path_factory.mktemp("cli") / "gun"
    result = run(
        "fit", "GunPoint", "--path", aeon_data, "--model", "lite", "--n-epochs", "3", "--out", out, "--quiet"
    )
    assert "test accuracy" in result.output
    assert f"Saved to {out}" in result.output
    assert not out.with_name("gun.unfinished").exists()
    return out


def test_predict_prints_one_line_a_case(model, aeon_data):
    result = run("predict", model, "GunPoint", "--path", aeon_data)
    rows = list(csv.DictReader(result.stdout.splitlines()))
    assert len(rows) == 150
    assert set(rows[0]) == {"case", "predicted", "probability", "label", "p_1", "p_2"}
    assert all(float(row["p_1"]) + float(row["p_2"]) == pytest.approx(1, abs=1e-4) for row in rows)
    assert "Accuracy" in result.stderr
    assert run("predict", model, "GunPoint", "--path", aeon_data, "--out", "-").stdout == result.stdout


def test_predict_writes_a_file_and_takes_one(model, aeon_data, tmp_path):
    source = aeon_data / "GunPoint" / "GunPoint_TRAIN.ts"
    run("predict", model, source, "--out", tmp_path / "out.csv")
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    train = millet.load_file(source)
    expected = millet.MilletClassifier.load(model).predict(train.X)
    assert [int(row["predicted"]) for row in rows] == expected.tolist()


@pytest.mark.parametrize(
    "options", [["predict", "--out"], ["explain", "--out"], ["explain", "--out", "b.npz", "--report"]]
)
def test_the_file_with_the_series_is_never_written_over(model, aeon_data, tmp_path, options, monkeypatch):
    monkeypatch.chdir(tmp_path)
    suffix = ".html" if "--report" in options else ".csv"
    series = millet.load_dataset("GunPoint", aeon_data)[1].X[:3, 0]
    own, other = tmp_path / "own.csv", tmp_path / f"other{suffix}"
    np.savetxt(own, np.column_stack([[1, 2, 1], series]), delimiter=",")
    other.symlink_to(own)  # the same file by another name
    before = own.read_bytes()
    command, *rest = options
    assert "is the file with the series, which would be lost" in str(run(command, model, own, *rest, other))
    assert own.read_bytes() == before


def test_predictions_are_not_written_under_the_name_of_another_format(model, aeon_data, tmp_path):
    error = run("predict", model, "GunPoint", "--path", aeon_data, "--out", tmp_path / "p.xlsx")
    assert "--out must end in .csv" in str(error)
    assert list(tmp_path.iterdir()) == []


def test_predict_says_what_a_long_file_calls_its_cases(model, tmp_path):
    rows = [f"{name},{value}" for name in ("pump 7", "pump 3") for value in range(9)]
    (tmp_path / "long.csv").write_text("\n".join(["id,v", *rows]))
    found = list(csv.DictReader(run("predict", model, tmp_path / "long.csv").stdout.splitlines()))
    assert [(row["case"], row["name"]) for row in found] == [("0", "pump 7"), ("1", "pump 3")]


def test_what_the_system_refuses_is_said_in_one_line(model, aeon_data, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file" / "x.csv", tmp_path):
        with pytest.raises(SystemExit) as left:
            main(["predict", str(model), "GunPoint", "--path", str(aeon_data), "--out", str(out)])
        assert left.value.code == 2
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1
        assert lines[0].startswith("Error: ")
        assert str(tmp_path) in lines[0]


def test_a_folder_that_is_no_unfinished_training_is_left_alone(aeon_data, tmp_path):
    (tmp_path / "gun.unfinished").mkdir()
    (tmp_path / "gun.unfinished" / "notes.txt").write_text("mine")
    error = run("fit", "GunPoint", "--path", aeon_data, "--model", "lite", "--out", tmp_path / "gun")
    assert "holds something else (notes.txt)" in str(error)
    assert (tmp_path / "gun.unfinished" / "notes.txt").read_text() == "mine"


def test_known_regions_of_unequal_cases_are_drawn_and_reported(tmp_path):
    rng = np.random.default_rng(0)
    lengths = np.array([30, 20, 25, 30])
    X, relevant = rng.normal(size=(4, 1, 30)), np.zeros((4, 30), dtype=bool)
    relevant[:, 5:9] = True
    np.savez(tmp_path / "known.npz", X=X, y=["a", "b", "a", "b"], lengths=lengths, relevant=relevant)
    run("fit", tmp_path / "known.npz", "--model", "minirocket", "--out", tmp_path / "model", "--quiet")
    args = ["explain", tmp_path / "model", tmp_path / "known.npz", "--case", "1"]
    run(*args, "--out", tmp_path / "case.png", "--report", tmp_path / "case.html")
    assert (tmp_path / "case.png").stat().st_size > 1000
    assert (tmp_path / "case.html").stat().st_size > 1000


def test_classes_have_the_names_of_a_dataset_that_spells_labels_otherwise(tmp_path):
    X = np.random.default_rng(0).normal(size=(6, 1, 20))
    np.savez(tmp_path / "named.npz", X=X, y=[0, 1] * 3, class_names=["calm", "storm"])
    millet.RocketMilletClassifier(n_features=84, verbose=0).fit(X, ["0", "1"] * 3).save(tmp_path / "model")
    run("explain", tmp_path / "model", tmp_path / "named.npz", "--case", "1", "--out", tmp_path / "case.csv")
    assert "score_storm" in (tmp_path / "case.csv").read_text().splitlines()[0]


def test_warnings_are_said_once_in_one_line(tmp_path, capsys):
    (tmp_path / "dropouts.csv").write_text("a,1,2,3\na,1,2,4\nb,6,5,4\nb,6,-999,4\n")
    with pytest.raises(SystemExit) as left, warnings.catch_warnings(action="default"):
        main(["fit", str(tmp_path / "dropouts.csv"), "--model", "minirocket", "--out", str(tmp_path / "model")])
    assert not left.value.code
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("Warning: X has the value -999 (1 of 12 values, first in case 3)")
    with pytest.raises(SystemExit) as left, warnings.catch_warnings(action="default"):
        main(["evaluate", str(tmp_path / "model"), str(tmp_path / "dropouts.csv"), "--metric", "aopcr", "--quiet"])
    assert not left.value.code
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_folder_that_can_not_be_made_is_refused_before_training(aeon_data, tmp_path, monkeypatch):
    monkeypatch.setattr("millet.rocket.model.RocketModel.fit", lambda *_, **__: pytest.fail("training began"))
    (tmp_path / "file").write_text("")
    error = run("fit", "GunPoint", "--path", aeon_data, "--model", "minirocket", "--out", tmp_path / "file" / "model")
    assert "file is a file" in str(error)


def test_what_to_type_next_can_be_typed(aeon_data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = Path("-my series.ts")
    source.write_bytes((aeon_data / "GunPoint" / "GunPoint_TRAIN.ts").read_bytes())
    result = run("fit", "./-my series.ts", "--model", "minirocket", "--out", "./-gun")
    (command,) = re.findall("Next: (.*)", result.output)
    program, *arguments = shlex.split(command)
    assert program == "millet"
    run(*arguments)
    assert Path("evidence.png").exists()
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    again = ["fit", "../-my series.ts", "--model", "minirocket", "--out", "."]
    assert "in place of" not in run(*again).output
    assert Path("model.json").exists()
    assert "in place of the model that was there" in run(*again).output


@pytest.mark.parametrize("suffix", ["json", "npz", "csv"])
def test_explain_writes_the_numbers(model, aeon_data, tmp_path, suffix):
    out = tmp_path / f"evidence.{suffix}"
    result = run("explain", model, "GunPoint", "--path", aeon_data, "--case", "2", "--case", "5", "--out", out)
    assert result.output.strip() == str(out)
    if suffix == "csv":
        rows = list(csv.DictReader(out.read_text().splitlines()))
        assert [row["case"] for row in rows] == ["2"] * 150 + ["5"] * 150
        return
    explanation = millet.Explanation.load(out)
    assert explanation.cases.tolist() == [2, 5]
    test = millet.load_dataset("GunPoint", aeon_data)[1]
    assert explanation.n_cases == 2
    assert np.allclose(explanation.series, test.X[[2, 5]])


def test_explain_draws_one_picture_a_case(model, aeon_data, tmp_path):
    result = run(
        "explain", model, "GunPoint", "--path", aeon_data, "--case", "0", "--case", "3",
        "--out", tmp_path / "why.png", "--palette", "colorblind", "--target", "2",
    )  # fmt: skip
    files = [tmp_path / "why-0.png", tmp_path / "why-3.png"]
    assert result.output.split() == [str(file) for file in files]
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)


def test_a_target_is_typed_as_a_label_or_as_the_name_of_its_class(model, aeon_data, tmp_path):
    test = millet.load_dataset("GunPoint", aeon_data)[1]
    np.savez(tmp_path / "named.npz", X=test.X[:9], y=test.y[:9], class_names=["draw", "point"])
    assert set(test.y[:9].tolist()) == {1, 2}
    pictures = []
    for target in ("2", "point", "draw"):
        run(
            "explain", model, tmp_path / "named.npz", "--case", "0", "--out", tmp_path / "why.png", "--target", target
        )
        pictures.append((tmp_path / "why.png").read_bytes())
    assert pictures[0] == pictures[1] != pictures[2]
    np.save(tmp_path / "wide.npy", test.X[:2].repeat(2, axis=1))
    assert "X has 2 channels" in str(run("predict", model, tmp_path / "wide.npy"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "GunPont", "--out", "m"], "Did you mean 'GunPoint'"),
        (["fit", "GunPoint", "--out", "m", "--model", "lte"], "Did you mean 'lite'"),
        (["fit", "GunPoint", "--out", "m", "--n-epochs", "-1"], "n_epochs"),
        (["fit", "GunPoint", "--out", "m", "--model", "minirocket", "--n-epochs", "3"], "no option --n-epochs"),
        (
            ["fit", "GunPoint", "--out", "m", "--model", "lite", "--head", "ridge"],
            "no option --head; it has --normalise",
        ),
        (
            ["fit", "GunPoint", "--out", "m", "--model", "hydra", "--device", "cpu"],
            "no option --device; it has --head",
        ),
        (["fit", "GunPoint", "--out", "m", "--model", "lite", "--device", "nosuch"], "nosuch"),
        (["predict", "no-model", "GunPoint"], "not a MILLET model"),
        (["explain", "{model}", "GunPoint", "--out", "x.json", "--channels"], "can tell channels apart"),
        (["explain", "{model}", "GunPoint", "--out", "x.doc"], "--out must end in one of"),
        (["explain", "{model}", "GunPoint", "--out", "x.png", "--case", "999"], "cases 0 to 149"),
        (["explain", "{model}", "GunPoint", "--out", "x.png", "--case", "0", "--target", "7"], "No class '7'"),
        (["explain", "{model}", "GunPoint", "--out", "x.png", "--palette", "gren"], "Unknown palette 'gren'"),
        (["explain", "{model}", "GunPoint", "--report", "x.html", "--palette", "gren"], "Unknown palette 'gren'"),
        (["explain", "{model}", "GunPoint", "--report", "x.html", "--palette", "colorblind"], "--palette changes"),
        (["explain", "{model}", "GunPoint", "--report", "x.html", "--target", "1"], "--target changes nothing"),
        (["explain", "{model}", "GunPoint", "--out", "x.csv", "--target", "nosuch"], "--target changes nothing"),
        (["explain", "{model}", "GunPoint", "--report", "x.html", "--channels"], "--channels changes nothing"),
        (["explain", "{model}", "GunPoint", "--out", "x.png", "--channels"], "--channels changes nothing"),
        (["predict", "{model}", "GunPoint", "--no-labels"], "--no-labels is for files"),
        (["predict", "{model}", "new.csv"], "--path says where datasets are"),
        (["predict", "{model}", "new.csv", "--no-labels"], "--path says where datasets are"),
        (["fit", "new.csv", "--out", "m"], "--path says where datasets are"),
        (["predict", "{model}", "BasicMotions"], "None of the labels of BasicMotions (Badminton, Running, "),
    ],
)
def test_mistakes_are_explained(arguments, message, model, aeon_data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    error = run(*[str(model) if word == "{model}" else word for word in arguments], "--path", aeon_data)
    assert message in str(error)
    assert not list(tmp_path.iterdir())


# --- Labels of files


@pytest.fixture(scope="module")
def series(aeon_data):
    return millet.load_dataset("GunPoint", aeon_data)[1].X[:3, 0]


def written(path, series, *, delimiter=",", first=(), header=()):
    rows = [[*first, *map(repr, row)] for row in series.tolist()]
    path.write_text("".join(delimiter.join(row) + "\n" for row in [*([header] if header else []), *rows]))
    return path


@pytest.mark.parametrize(("name", "delimiter"), [("new.csv", ","), ("new.tsv", "\t"), ("new.txt", " ")])
def test_rows_without_labels_are_not_scored_but_read_as_series(model, series, tmp_path, name, delimiter):
    file = written(tmp_path / name, series, delimiter=delimiter)
    for command in (["predict"], ["evaluate"], ["explain", "--out", tmp_path / "x.npz"]):
        error = str(run(*command, model, file))
        assert f"The first column of {file} was read as labels ({series[:, 0].min()}, " in error
        assert "none of them is a class of the model (1, 2)" in error
        assert "--no-labels" in error
    result = run("predict", model, file, "--no-labels")
    assert "Accuracy" not in result.stderr
    rows = list(csv.DictReader(result.stdout.splitlines()))
    assert "label" not in rows[0]
    expected = millet.load_classifier(model).predict_proba(series[:, None])
    assert [float(row["p_1"]) for row in rows] == pytest.approx(expected[:, 0].tolist(), rel=1e-5)
    run("explain", model, file, "--no-labels", "--out", tmp_path / "x.npz")
    assert np.array_equal(millet.Explanation.load(tmp_path / "x.npz").series[:, 0], series)
    row = json.loads(run("evaluate", model, file, "--no-labels", "--metric", "gini", "--json", "--quiet").stdout)
    assert (row["n_cases"], "accuracy" in row) == (3, False)


def test_one_value_that_happens_to_be_a_class_makes_no_labels(model, series, tmp_path):
    values = series.copy()
    values[0, 0] = 1.0
    file = written(tmp_path / "new.csv", values, delimiter=",")
    error = str(run("predict", model, file))
    assert "only 1 of 3 cases have a class of the model (1, 2)" in error
    assert "--no-labels" in error


def test_unlabelled_rows_may_be_quoted_unequal_and_lack_values(model, tmp_path):
    file = tmp_path / "new.csv"
    file.write_text('"0.5","1","2","4"\n\n?,1,2,,\n')
    run("explain", model, file, "--no-labels", "--out", tmp_path / "x.npz")
    explanation = millet.Explanation.load(tmp_path / "x.npz")
    assert explanation.lengths.tolist() == [4, 3]
    assert np.array_equal(explanation.series[1, 0], [np.nan, 1, 2, np.nan], equal_nan=True)


def test_no_labels_is_refused_where_the_file_says_where_labels_are(model, series, tmp_path, aeon_data):
    headed = written(tmp_path / "headed.csv", series, header=[f"t{place}" for place in range(150)])
    for file in (headed, aeon_data / "GunPoint" / "GunPoint_TEST.ts"):
        assert "without a header" in str(run("predict", model, file, "--no-labels"))
    assert "label" not in run("predict", model, headed).stdout
    words = written(tmp_path / "words.csv", series, first=["walk"])
    assert "line 1: value 1 of the series is 'walk'" in str(run("predict", model, words, "--no-labels"))
    (tmp_path / "empty.csv").write_text("")
    assert "is empty" in str(run("predict", model, tmp_path / "empty.csv", "--no-labels"))
    assert "is not there" in str(run("predict", model, tmp_path / "none.csv", "--no-labels"))
    assert "--split chooses a part of a dataset" in str(run("predict", model, headed, "--split", "train"))


def test_labels_are_those_of_the_model_whether_numbers_or_text(series, tmp_path):
    file = str(written(tmp_path / "new.csv", series, first=["1.0"]))
    for classes in (np.array(["1", "2", "other"]), np.array([1, 2]), np.array([0.5, 1.0])):
        y = load_known_cases(file, None, None, classes).y
        assert y.dtype == classes.dtype
        assert np.isin(y, classes).all()


def test_labels_of_other_classes_are_refused_and_those_of_some_are_not(model, series, tmp_path):
    named = ["class", *map(str, range(150))]
    foreign = written(tmp_path / "foreign.csv", series, first=["walk"], header=named)
    assert "None of the labels of" in str(run("predict", model, foreign))
    some = written(tmp_path / "some.csv", series, first=["1"], header=named)
    some.write_text(some.read_text().replace("\n1,", "\nwalk,", 1))
    result = run("predict", model, some)
    assert [row["label"] for row in csv.DictReader(result.stdout.splitlines())] == ["walk", "1", "1"]
    expected = (millet.load_classifier(model).predict(series[1:, None]) == 1).sum() / 3
    assert f"Accuracy {expected:.3f} over 3 cases" in result.stderr
    run("explain", model, some, "--out", tmp_path / "why.png")
    assert sorted(file.name for file in tmp_path.glob("why*")) == ["why-0.png", "why-1.png", "why-2.png"]


def test_fit_passes_on_how_to_normalise_and_to_weigh(aeon_data, tmp_path):
    place = ["fit", "ItalyPowerDemand", "--path", aeon_data, "--quiet", "--out"]
    run(*place, tmp_path / "fast", "--model", "minirocket", "--normalise", "no")
    assert not millet.load_classifier(tmp_path / "fast").normalises_
    run(
        *place, tmp_path / "net", "--model", "lite", "--n-epochs", "1", "--normalise", "yes", "--class-weight",
        "balanced", "--device", "cpu",
    )  # fmt: skip
    network = millet.load_classifier(tmp_path / "net")
    assert (network.normalise, network.class_weight, network.normalises_) == (True, "balanced", True)


def test_the_error_of_fit_lists_only_what_the_shell_offers():
    error = str(run("fit", "GunPoint", "--out", "m", "--model", "lite", "--head", "ridge"))
    listed = set(error.split("it has ")[1].rstrip(".").split(", "))
    offered = {option for parameter in cli.commands["fit"].params for option in parameter.opts}
    assert listed <= offered - {"--head", "--spread"}
    assert {"--n-epochs", "--class-weight", "--device", "--normalise"} <= listed


@pytest.fixture(scope="module")
def fast_model(aeon_data, tmp_path_factory):
    out = tmp_path_factory.mktemp("cli") / "motions"
    result = run(
        "fit", "BasicMotions", "--path", aeon_data, "--model", "minirocket", "--out", out, "--spread", "anchor"
    )
    assert "test accuracy" in result.output
    assert "epochs" not in result.output
    assert result.stderr == ""
    return out


def test_a_model_of_the_fast_lane_predicts_and_explains(fast_model, aeon_data, tmp_path):
    result = run("predict", fast_model, "BasicMotions", "--path", aeon_data)
    assert len(result.stdout.splitlines()) == 41
    assert float(result.stderr.split()[1]) > 0.9
    files = [tmp_path / "why.npz", tmp_path / "why.html"]
    run(
        "explain", fast_model, "BasicMotions", "--path", aeon_data, "--case", "2", "--channels",
        "--out", files[0], "--report", files[1],
    )  # fmt: skip
    explanation = millet.Explanation.load(files[0])
    assert explanation.method == "minirocket"
    assert explanation.channel_contributions.shape == (1, 4, 6, 100)
    assert explanation.completeness_error().max() < 1e-5
    assert "minirocket" in files[1].read_text()
    assert millet.load_classifier(fast_model).spread == "anchor"


def test_a_model_of_the_fast_lane_is_evaluated(fast_model, aeon_data):
    shown = run("evaluate", fast_model, "BasicMotions", "--path", aeon_data, "--metric", "accuracy", "--json").stdout
    row = json.loads(shown)
    assert row["method"] == ""
    assert row["accuracy"] > 0.9
    shown = run("evaluate", fast_model, "BasicMotions", "--path", aeon_data, "--metric", "gini", "--quiet").stdout
    assert "gini" in shown


def test_models_joined_by_plus_are_averaged(aeon_data, tmp_path):
    out = tmp_path / "both"
    run("fit", "ItalyPowerDemand", "--path", aeon_data, "--model", "minirocket+lite", "--n-epochs", "2", "--out", out)
    assert not out.with_name("both.unfinished").exists()
    both = millet.load_classifier(out)
    assert [type(part).__name__ for part in both.classifiers_] == ["RocketMilletClassifier", "MilletClassifier"]
    run("explain", out, "ItalyPowerDemand", "--path", aeon_data, "--case", "0", "--report", tmp_path / "why.html")
    row = json.loads(
        run("evaluate", out, "ItalyPowerDemand", "--path", aeon_data, "--json", "--metric", "agreement").stdout
    )
    assert "agreement_rank_correlation" in row


def test_fit_refuses_a_folder_of_something_else_before_training(aeon_data, tmp_path):
    (tmp_path / "thesis.tex").write_text("important")
    error = run("fit", "GunPoint", "--path", aeon_data, "--out", tmp_path)
    assert "left alone" in str(error)


@pytest.mark.slow
def test_ctrl_c_leaves_a_checkpoint_and_says_how_to_go_on(aeon_data, tmp_path):
    command = [
        sys.executable, "-m", "millet.cli", "fit", "GunPoint", "--path", str(aeon_data), "--model", "fcn",
        "--n-epochs", "25", "--out", str(tmp_path / "model"),
    ]  # fmt: skip
    # A terminal for standard error, so that the progress bar shows.
    master, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    # A job in the background ignores Ctrl-C, and its children inherit that.
    heed = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    process = subprocess.Popen(command, stderr=terminal, stdout=subprocess.PIPE, preexec_fn=heed)
    os.close(terminal)
    seen = b""
    deadline = time.monotonic() + 120
    while b"loss=" not in seen and time.monotonic() < deadline:
        seen += os.read(master, 4096)
    process.send_signal(signal.SIGINT)
    try:
        while chunk := os.read(master, 4096):
            seen += chunk
    except OSError:
        pass  # the terminal is closed
    os.close(master)
    process.communicate()
    assert process.returncode == 130
    assert (tmp_path / "model.unfinished" / "member-0.safetensors").exists()
    shown = seen.decode()
    assert "epoch" in shown
    assert "loss=" in shown
    assert "<" in shown, "the bar has an ETA"
    assert "Run the same command to go on" in " ".join(shown.split())
    assert "Traceback" not in shown
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Saved to" in finished.stdout
    assert finished.stderr == "", "silent where nobody watches"
    description = json.loads((tmp_path / "model" / "model.json").read_text())
    assert description["training"]["n_epochs"] == [25]


@pytest.mark.slow
def test_the_demo_trains_shows_and_saves(tmp_path, monkeypatch):
    from millet.training import Recipe

    monkeypatch.setattr(
        "millet.demo.RECIPE", Recipe(n_epochs=1, batch_size=64, learning_rate=0.01, schedule="one-cycle")
    )
    monkeypatch.setattr("millet.demo.FEATURES", "minirocket")
    result = run("demo", "--out", tmp_path / "demo")
    assert result.output.count("test accuracy") == 2
    pictures = [line.strip() for line in result.output.splitlines() if line.strip().endswith(".png")]
    assert len(pictures) == 10
    assert all(Path(picture).exists() for picture in pictures)
    model = millet.load_classifier(tmp_path / "demo" / "model")
    assert model.classes_.tolist() == list(range(10))
    assert len(model.classifiers_) == 2


def test_a_fit_without_checkpoints_leaves_those_of_another_run_alone(tmp_path, aeon_data):
    unfinished = tmp_path / "model.unfinished"
    unfinished.mkdir()
    (unfinished / "member-0.safetensors").write_bytes(b"hours of training")
    out = tmp_path / "model"
    run("fit", "GunPoint", "--path", aeon_data, "--model", "minirocket", "--out", out, "--quiet")
    assert (unfinished / "member-0.safetensors").exists()


def test_fit_asks_about_labels_where_most_classes_have_a_single_case(tmp_path):
    rng = np.random.default_rng(0)
    for last in (True, False):
        rows = [[*map(str, rng.integers(0, 60, 20)), str(case % 2)] for case in range(12)]
        (tmp_path / "a.csv").write_text("\n".join(",".join(row if last else row[::-1]) for row in rows))
        result = run("fit", tmp_path / "a.csv", "--model", "minirocket", "--out", tmp_path / str(last))
        assert ("classes have a single case. Are these the labels?" in result.stderr.replace("\n", " ")) == last
