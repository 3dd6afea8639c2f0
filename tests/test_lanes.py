"""Claims about the picture of accuracy against time: fair means, honest about what is missing, and legible."""

import itertools
import json
from pathlib import Path

import pytest
from matplotlib import pyplot

ROOT = Path(__file__).parent.parent
UCR = ("BeetleFly", "Coffee", "ECG200", "GunPoint")
NETWORK = "conjunctive-inceptiontime"


@pytest.fixture(autouse=True)
def no_figure_is_left_behind():
    yield
    assert pyplot.get_fignums() == []


@pytest.fixture(scope="module")
def script(page_script):
    """The script that draws, as a module."""
    return page_script("lanes")


def make_row(dataset, model, repeat=0, **changes):
    identity = {"dataset": dataset, "model": model, "settings": {}, "repeat": repeat, "ensemble": repeat < 0}
    facts = {"method": "own", "status": "done", "recipe": "fast", "machine": {"n_threads": 1}}
    return {**identity, **facts, "train_seconds": 10.0, "accuracy": 0.5, **changes}


def make_run(folder, rows):
    folder.mkdir(parents=True)
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def lane(script, model, recipe="fast", n_members=1):
    return script.Lane(model, recipe, n_members)


class TestLanes:
    def test_a_models_repeats_are_averaged_and_its_ensemble_is_a_lane_of_its_own(self, script, tmp_path):
        rows = [make_row("Coffee", NETWORK, r, accuracy=0.8 + 0.1 * r, train_seconds=10.0 + r) for r in (0, 1)]
        rows.append(make_row("Coffee", NETWORK, -1, accuracy=0.95, train_seconds=21.0))
        make_run(tmp_path / "run", rows)
        single, both = lane(script, NETWORK), lane(script, NETWORK, n_members=2)
        found = script.read_lanes(tmp_path)
        assert found.keys() == {single, both}
        assert found[single]["Coffee"] == pytest.approx((10.5, 0.85))
        assert found[both]["Coffee"] == pytest.approx((21.0, 0.95))
        assert (single.title, both.title) == ("InceptionTime", "2 × InceptionTime")

    def test_only_what_users_get_by_default_is_drawn(self, script):
        for model in ("minirocket", NETWORK, "minirocket+conjunctive-lite"):
            assert lane(script, model, recipe="" if model == "minirocket" else "fast").is_a_default
        for other in (
            lane(script, "gap-fcn"),
            lane(script, NETWORK, recipe="paper"),
            lane(script, "minirocket+gap-fcn"),
        ):
            assert not other.is_a_default

    def test_runs_of_one_model_in_several_folders_are_one_lane(self, script, tmp_path):
        for name in ("Coffee", "ECG200"):
            make_run(tmp_path / name, [make_row(name, "conjunctive-lite")])
        assert set(script.read_lanes(tmp_path)[lane(script, "conjunctive-lite")]) == {"Coffee", "ECG200"}

    def test_recipes_are_told_apart_where_there_are_networks_to_train(self, script, tmp_path):
        models = ("minirocket", "gap-fcn", "minirocket+conjunctive-lite")
        recipes = ("fast", "paper")
        for recipe in recipes:
            make_run(tmp_path / recipe, [make_row("Coffee", model, recipe=recipe) for model in models])
        assert sorted(found.title for found in script.read_lanes(tmp_path)) == [
            "GAP FCN", "GAP FCN (paper)", "MiniRocket", "MiniRocket + LITE", "MiniRocket + LITE (paper)",
        ]  # fmt: skip

    def test_threads_count_as_cores(self, script, tmp_path):
        make_run(tmp_path / "run", [make_row("Coffee", "hydra", machine={"n_threads": 4})])
        assert script.read_lanes(tmp_path)[lane(script, "hydra", "")]["Coffee"].seconds == 40

    def test_failures_methods_and_variants_are_no_lanes(self, script, tmp_path):
        others = [{"status": "failed"}, {"method": "shap"}, {"settings": {"spread": "anchor"}}]
        make_run(tmp_path / "run", [make_row("Coffee", "hydra", **changes) for changes in others])
        assert script.read_lanes(tmp_path) == {}

    def test_trainings_of_so_many_epochs_are_no_lanes_but_what_has_no_epochs_is(self, script, tmp_path):
        models = (NETWORK, "minirocket+conjunctive-lite", "minirocket")
        recipes = {"runtime": "paper, n_epochs=2", "brief": "fast, n_epochs=20, learning_rate=0.01"}
        for name, recipe in recipes.items():
            make_run(tmp_path / name, [make_row("Coffee", model, recipe=recipe) for model in models])
        make_run(tmp_path / "other", [make_row("Coffee", NETWORK, recipe="fast, label_smoothing=0.1")])
        assert sorted(found.title for found in script.read_lanes(tmp_path)) == [
            "InceptionTime (fast, label_smoothing=0.1)", "MiniRocket",
        ]  # fmt: skip


class TestDatasetsInCommon:
    def test_means_are_over_the_datasets_that_all_have(self, script):
        point = script.Point
        lanes = {
            lane(script, "hydra", ""): {"Coffee": point(1, 0.5), "ECG200": point(3, 0.7), "GunPoint": point(99, 0)},
            lane(script, NETWORK): {"Coffee": point(10, 0.6), "ECG200": point(20, 1.0), "Tiny": point(1, 0)},
        }
        (panel,) = script.panels_of(lanes, least=2)
        assert panel.title == "Mean of 2 UCR datasets"
        assert panel.left_out == ()
        assert panel.points[lane(script, "hydra", "")] == pytest.approx((2, 0.6))
        assert panel.points[lane(script, NETWORK)] == pytest.approx((15, 0.8))

    def test_the_model_goes_without_which_most_is_left(self, script):
        names = {"a": UCR, "b": UCR[:3], "c": UCR[3:], "d": UCR}
        assert script.in_common(names, 3) == (["a", "b", "d"], list(UCR[:3]))
        assert script.in_common(names, 4) == (["a", "d"], list(UCR))
        assert script.in_common(names, 5) == ([], [])
        assert script.in_common({}, 1) == ([], [])

    def test_as_many_models_stay_as_the_oracle_keeps(self, script):
        names = {"a": UCR, "b": UCR[1:], "c": UCR[:2], "d": UCR[2:], "e": UCR}
        for least in range(1, 5):
            kept, common = script.in_common(names, least)
            assert set(common) == set(UCR).intersection(*(names[name] for name in kept))
            sizes = [
                size
                for size in range(1, 6)
                for some in itertools.combinations(names, size)
                if len(set(UCR).intersection(*(names[name] for name in some))) >= least
            ]
            assert len(kept) == max(sizes)

    def test_a_model_that_is_not_drawn_is_named(self, script):
        point = script.Point(1, 0.5)
        lanes = {
            lane(script, "hydra", ""): dict.fromkeys(UCR, point),
            lane(script, "conjunctive-lite"): dict.fromkeys(UCR[:1], point),
        }
        panels = script.panels_of(lanes, least=4)
        assert [found.title for found in panels[0].left_out] == ["LITE"]
        figure = script.draw(panels)
        assert figure.get_supxlabel() == "Not drawn, since too few datasets would be in common: LITE."
        pyplot.close(figure)


def crowd(script):
    """Return a panel whose points lie as close as those of real results."""
    places = {
        lane(script, "minirocket", ""): (1.2, 0.885),
        lane(script, "hydra", ""): (2.0, 0.872),
        lane(script, "multirocket", ""): (6.0, 0.901),
        lane(script, "multirocket-hydra", ""): (8.5, 0.902),
        lane(script, "conjunctive-lite"): (60.0, 0.86),
        lane(script, "conjunctive-lite", n_members=5): (300.0, 0.89),
        lane(script, NETWORK): (330.0, 0.885),
        lane(script, NETWORK, n_members=3): (990.0, 0.896),
        lane(script, "minirocket+conjunctive-lite"): (61.0, 0.9),
    }
    return script.Panel("crowd", {model: script.Point(*place) for model, place in places.items()})


class TestPicture:
    def test_no_name_covers_another_or_leaves_its_panel(self, script):
        figure = script.draw([crowd(script), crowd(script)])
        figure.draw_without_rendering()
        for ax in figure.axes:
            boxes = [text.get_window_extent() for text in ax.texts]
            assert len(boxes) == 9
            for one, other in itertools.combinations(boxes, 2):
                assert not one.overlaps(other)
            for box in boxes:
                assert ax.bbox.x0 <= box.x0
                assert box.x1 <= ax.bbox.x1
        pyplot.close(figure)

    @pytest.mark.parametrize("n_panels", [1, 2])
    def test_a_long_note_is_wrapped_and_stays_below_the_panels_and_inside_the_picture(self, script, n_panels):
        left_out = tuple(crowd(script).points) * 3
        panels = [crowd(script)._replace(left_out=left_out)] * n_panels
        figure = script.draw(panels)
        figure.draw_without_rendering()
        (note,) = (text for text in figure.texts if text.get_text().startswith("Not drawn"))
        assert note.get_text().replace("\n", " ") == " ".join(panel.note for panel in panels)
        box = note.get_window_extent()
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0
        assert all(not box.overlaps(ax.get_tightbbox()) for ax in figure.axes)
        pyplot.close(figure)

    def test_kinds_differ_in_shape_so_that_grey_will_do(self, script):
        kinds = {found.kind for found in crowd(script).points}
        assert kinds == set(script.MARKERS)
        assert len({marker for marker, _ in script.MARKERS.values()}) == len(kinds)

    def test_the_line_joins_what_nothing_beats_in_both(self, script):
        figure = script.draw([crowd(script)])
        (line,) = figure.axes[0].lines
        assert line.get_xdata().tolist() == [1.2, 6.0, 8.5]
        pyplot.close(figure)

    def test_a_small_difference_is_not_magnified(self, script):
        points = {lane(script, "hydra", ""): script.Point(1, 0.93), lane(script, NETWORK): script.Point(99, 0.931)}
        figure = script.draw([script.Panel("close", points)])
        low, high = figure.axes[0].get_ylim()
        assert high - low == pytest.approx(0.05)
        assert (low + high) / 2 == pytest.approx(0.9305)
        pyplot.close(figure)

    def test_it_is_written_with_what_there_is(self, script, tmp_path, monkeypatch, capsys):
        rows = [make_row("Coffee", "minirocket"), make_row("WebTraffic", "minirocket"), make_row("Coffee", NETWORK)]
        make_run(tmp_path / "results" / "run", rows)
        picture = tmp_path / "picture.png"
        arguments = ["--results", str(tmp_path / "results"), "--picture", str(picture), "--least", "1"]
        monkeypatch.setattr("sys.argv", ["lanes.py", *arguments])
        script.main()
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert capsys.readouterr().out.splitlines() == [
            "Mean of 1 UCR datasets: MiniRocket, InceptionTime.",
            "WebTraffic: MiniRocket.",
            f"Wrote {picture}.",
        ]

    def test_nothing_to_draw_is_an_error_and_no_file(self, script, tmp_path, monkeypatch, capsys):
        picture = tmp_path / "picture.png"
        monkeypatch.setattr("sys.argv", ["lanes.py", "--results", str(tmp_path), "--picture", str(picture)])
        with pytest.raises(SystemExit):
            script.main()
        assert "has 10 UCR datasets" in capsys.readouterr().err
        assert not picture.exists()
