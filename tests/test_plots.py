"""Claims about pictures, checked on what was drawn."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time as clock
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_strategies

mpl.use("agg")

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection, QuadMesh
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from millet import plots
from millet.errors import LabelError, MilletError, ParameterError, UnknownNameError
from millet.explanation import Explanation
from millet.plots.decimation import cell_edges, decimate, runs, strongest_by_column
from millet.plots.palettes import PALETTES
from millet.plots.panels import share_text

QUICK = settings(max_examples=60, deadline=None)


@pytest.fixture(autouse=True)
def no_figure_is_left_behind():
    yield
    pyplot.close("all")


def make(scores: Any, **changes: Any) -> Explanation:
    """Explain one-channel cases; the last class is predicted."""
    scores = np.asarray(scores, dtype=float)
    n_cases, n_classes, n_timepoints = scores.shape
    keywords: dict[str, Any] = {
        "series": np.arange(n_cases * n_timepoints, dtype=float).reshape(n_cases, 1, n_timepoints),
        "lengths": np.full(n_cases, n_timepoints),
        "scores": scores,
        "logits": np.tile(np.arange(n_classes, dtype=float), (n_cases, 1)),
        "classes": np.arange(n_classes),
    }
    return Explanation(**{**keywords, **changes})


TOY = make([[[0.0, 0.0, 0.0, 0.0], [1.0, -4.0, 2.0, 0.0]]], classes=["calm", "storm"])


def mesh_of(ax: Axes) -> QuadMesh:
    (mesh,) = [artist for artist in ax.collections if isinstance(artist, QuadMesh)]
    return mesh


def regions_of(ax: Axes) -> list[tuple[float, float]]:
    """Return the (left, right) of every shaded region."""
    shaded = [bars for bars in ax.collections if bars.get_zorder() == 0 and isinstance(bars, PolyCollection)]
    return [(path.get_extents().x0, path.get_extents().x1) for bars in shaded for path in bars.get_paths()]


def title_of(ax: Axes) -> str:
    return ax.get_title(loc="left")


# One case


def test_the_panels_show_series_then_scores_then_series_over_colours():
    top, middle, bottom = plots.plot_explanation(TOY).axes
    np.testing.assert_array_equal(top.lines[0].get_xydata(), np.c_[range(4), range(4)])
    np.testing.assert_array_equal(middle.lines[-1].get_ydata(), [1, -4, 2, 0])
    np.testing.assert_array_equal(mesh_of(bottom).get_array(), [[1, -4, 2, 0]])
    np.testing.assert_array_equal(bottom.lines[0].get_ydata(), range(4))


def test_scores_are_filled_on_their_own_side_of_zero_only():
    middle = plots.plot_explanation(make([[[0.0] * 3, [2.0, -2.0, 2.0]]])).axes[1]
    support, refute = (fill.get_paths()[0] for fill in middle.collections)
    assert refute.get_extents().y1 == support.get_extents().y0 == 0
    below = refute.vertices[refute.vertices[:, 1] < 0]
    np.testing.assert_array_equal(below, [[1, -2]])
    assert [0.5, 0] in refute.vertices.tolist()
    assert [1.5, 0] in refute.vertices.tolist()


@pytest.mark.parametrize("name", PALETTES)
def test_support_and_refutation_have_their_colours_and_nothing_is_white(name):
    mesh = mesh_of(plots.plot_explanation(TOY, palette=name).axes[-1])
    assert mesh.get_clim() == (-4, 4)
    weak, strong, refuted, nothing = (mesh.cmap(mesh.norm(score))[:3] for score in (1, 4, -4, 0))
    assert nothing == (1, 1, 1)
    assert strong == pytest.approx(to_rgb(PALETTES[name].support[1]))
    assert refuted == pytest.approx(to_rgb(PALETTES[name].refute[1]))
    assert sum(strong) < sum(weak) < 3


def test_colours_do_not_stretch_the_axis_of_the_series():
    top, _, bottom = plots.plot_explanation(make(np.ones((1, 2, 4)), series=[[[50.0, 51, 52, 53]]])).axes
    assert bottom.get_ylim() == top.get_ylim()
    assert bottom.get_ylim()[0] > 49


def test_scores_of_zero_everywhere_are_drawn_white():
    mesh = mesh_of(plots.plot_explanation(TOY, target="calm").axes[-1])
    assert mesh.get_clim() == (-1, 1)
    assert not mesh.get_array().any()


@pytest.mark.parametrize(
    ("label", "title"),
    [
        (None, "Predicted: storm (73.1%)"),
        ("storm", "Predicted: storm (73.1%)  ·  true: storm (right)"),
        ("calm", "Predicted: storm (73.1%)  ·  true: calm (wrong)"),
    ],
)
def test_the_title_says_what_was_predicted_and_whether_it_is_right(label, title):
    assert title_of(plots.plot_explanation(TOY, label=label).axes[0]) == title


LONG_NAMES = tuple(f"Walking upstairs while carrying a heavy suitca {code}" for code in range(7))


def width_of_title(ax: Axes) -> tuple[float, float]:
    """Return where a title begins and ends, in pixels."""
    extent = ax._left_title.get_window_extent()
    return extent.x0, extent.x1


@pytest.mark.parametrize(
    "plot",
    [
        plots.plot_explanation,
        plots.plot_heatmap_classes,
        lambda e, label: plots.plot_false_negative(e, 0, e.series[0], [True, False, False], label=label),
    ],
)
def test_the_verdict_stays_in_the_picture_however_long_the_names(plot):
    figure = plot(make(np.ones((1, 7, 3)), class_names=LONG_NAMES), label=2)
    figure.draw_without_rendering()
    top = figure.axes[0]
    assert width_of_title(top)[1] < figure.bbox.x1
    assert title_of(top).endswith("a 2 (wrong)")
    if legend := top.get_legend():
        assert width_of_title(top)[1] < legend.get_window_extent().x0


@pytest.mark.parametrize(
    ("share", "text"),
    [(1.0, "100.0%"), (0.99951, "> 99.9%"), (0.9994, "99.9%"), (0.0006, "0.1%"), (1e-9, "< 0.1%"), (0.0, "0.0%")],
)
def test_only_what_is_certain_is_called_certain(share, text):
    assert share_text(share) == text


def test_almost_certain_predictions_are_not_called_certain_in_any_picture():
    e = make(np.ones((1, 2, 4)), logits=[[0.0, 10.0]])
    assert title_of(plots.plot_explanation(e).axes[0]) == "Predicted: 1 (> 99.9%)"
    assert [title_of(ax) for ax in plots.plot_class_scores(e).axes] == ["0 (< 0.1%)", "1 (> 99.9%, predicted)"]
    assert title_of(plots.plot_comparison({"model": e}).axes[1]) == "model: 1 (> 99.9%)"


def test_the_relevant_region_is_shaded_to_the_edges_of_its_timepoints():
    figure = plots.plot_explanation(TOY, relevant=[True, False, True, True])
    np.testing.assert_allclose(regions_of(figure.axes[0]), [(-0.5, 0.5), (1.5, 3.5)])
    assert regions_of(figure.axes[1]) == []


def test_a_single_relevant_timepoint_of_many_is_wide_enough_to_see():
    relevant = np.zeros(10_000, dtype=bool)
    relevant[5_000] = True
    ((left, right),) = regions_of(plots.plot_explanation(make(np.ones((1, 2, 10_000))), relevant=relevant).axes[0])
    assert right - left == pytest.approx(40)
    assert (left + right) / 2 == pytest.approx(5_000)


def test_a_region_that_is_the_whole_case_is_not_shaded():
    assert regions_of(plots.plot_explanation(TOY, relevant=[True] * 4).axes[0]) == []


def test_of_a_shorter_case_only_its_own_length_is_drawn():
    series = np.array([[[1.0, 2.0, np.nan, np.nan]], [[1.0, 2.0, 3.0, 4.0]]])
    scores = np.array([[[0, 0, 0, 0], [1, 2, 0, 0]], np.ones((2, 4))])
    figure = plots.plot_explanation(make(scores, series=series, lengths=[2, 4]), relevant=[True] * 4)
    for ax in figure.axes:
        assert ax.get_xlim() == (-0.5, 1.5)
        assert all(len(line.get_xdata()) == 2 for line in ax.lines)
    assert mesh_of(figure.axes[-1]).get_array().shape == (1, 2)


def test_missing_values_are_gaps_and_a_lonely_value_is_a_dot():
    ax = plots.plot_explanation(make(np.ones((1, 2, 4)), series=[[[1.0, np.nan, 3.0, np.nan]]])).axes[0]
    line, dots = ax.lines
    np.testing.assert_array_equal(line.get_ydata(), [1, np.nan, 3, np.nan])
    np.testing.assert_array_equal(dots.get_xydata(), [[0, 1], [2, 3]])
    assert dots.get_linestyle() == "None"


def test_a_channel_without_values_says_so_and_has_no_axis():
    series = np.array([[[1.0, 2, 3, 4], [np.nan] * 4]])
    e = make(np.ones((1, 2, 4)), series=series)
    first, second, _, first_over, second_over = plots.plot_explanation(e).axes
    for ax in (
        second,
        second_over,
        plots.plot_heatmap_classes(e).axes[1],
        *plots.plot_examples(series[:, 1:], [0]).axes,
    ):
        assert [text.get_text() for text in ax.texts] == ["no value was observed"]
        assert len(ax.get_yticks()) == 0
    for ax in (first, first_over, *plots.plot_examples(series, [0]).axes):
        assert len(ax.texts) == 0
        assert len(ax.get_yticks()) > 0


def test_every_channel_has_its_two_panels_in_order():
    series = np.arange(12.0).reshape(1, 3, 4)
    axes = plots.plot_explanation(make(np.ones((1, 2, 4)), series=series)).axes
    assert len(axes) == 7
    for channel in range(3):
        for ax in (axes[channel], axes[4 + channel]):
            np.testing.assert_array_equal(ax.lines[0].get_ydata(), series[0, channel])
            assert ax.get_ylabel() == f"ch. {channel}"


def test_channels_with_names_are_called_by_them():
    names = ("speed", "$5", "a name that has no end")
    named = make(np.ones((1, 2, 4)), series=np.zeros((1, 3, 4)), channel_names=names)
    for axes in (plots.plot_explanation(named).axes, plots.plot_heatmap_classes(named).axes):
        assert [ax.get_ylabel() for ax in axes[:3]] == ["speed", r"\$5", "a name th… end"]


def test_names_of_many_channels_do_not_run_into_each_other():
    names = tuple(f"sensor_{channel}_x" for channel in range(20))
    figure = plots.plot_explanation(make(np.ones((1, 2, 4)), series=np.zeros((1, 20, 4)), channel_names=names))
    figure.draw_without_rendering()
    boxes = [ax.yaxis.label.get_window_extent() for ax in figure.axes[:20]]
    assert not any(upper.overlaps(lower) for upper, lower in itertools.pairwise(boxes))


def test_labels_of_channels_all_run_the_same_way():
    axes = plots.plot_explanation(make(np.ones((1, 2, 4)), series=np.zeros((1, 24, 4)))).axes
    assert {ax.yaxis.label.get_rotation() for ax in axes[:24] + axes[25:]} == {0}
    axes = plots.plot_explanation(make(np.ones((1, 2, 4)), series=np.zeros((1, 2, 4)))).axes
    assert {ax.yaxis.label.get_rotation() for ax in axes} == {90}


def test_given_axes_are_drawn_on_and_no_figure_is_made():
    figure = Figure()
    axes = figure.subplots(3)
    assert plots.plot_explanation(TOY, axes=axes) is figure
    assert len(axes[0].lines) == 1
    assert pyplot.get_fignums() == []


def test_a_wrong_number_of_axes_is_refused():
    with pytest.raises(ParameterError, match=r"axes must be 3 for 1 channel\(s\).*got 2"):
        plots.plot_explanation(TOY, axes=Figure().subplots(2))


def test_dollars_in_names_are_data_not_mathematics():
    e = make(np.ones((1, 2, 4)), classes=["$x_1$", r"\$frac{$"], class_names=("$x_1$", r"_\$frac{$"))
    figure = plots.plot_heatmap_classes(e, label="$x_1$")
    figure.draw_without_rendering()  # mathematics that can't be parsed would raise here
    assert title_of(figure.axes[0]).endswith(r"true: \$x_1\$ (wrong)")


def test_dates_are_shown_as_dates():
    time = np.datetime64("2024-01-01", "D") + np.arange(4)
    figure = plots.plot_explanation(make(np.ones((1, 2, 4)), time=time), relevant=[False, True, True, False])
    figure.draw_without_rendering()
    assert "2024-Jan" in figure.axes[-1].xaxis.get_major_formatter().get_offset()
    ((left, right),) = regions_of(figure.axes[0])
    assert right - left == pytest.approx(2)


@pytest.mark.parametrize("n_timepoints", [1, 2, 3, 6, 17, 29, 150])
def test_whole_timepoints_have_whole_ticks(n_timepoints):
    ax = plots.plot_explanation(make(np.ones((1, 2, n_timepoints)))).axes[-1]
    ticks = [tick for tick in ax.get_xticks() if -0.5 <= tick <= n_timepoints - 0.5]
    assert ticks
    assert all(tick == round(tick) for tick in ticks)


def test_a_time_axis_in_fractions_keeps_its_ticks():
    ax = plots.plot_explanation(make(np.ones((1, 2, 4)), time=np.arange(4) / 4)).axes[-1]
    assert any(tick != round(tick) for tick in ax.get_xticks())


def test_a_case_of_one_timepoint_can_be_drawn():
    plots.plot_explanation(make(np.ones((1, 2, 1)))).draw_without_rendering()


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"palette": "rainbow"}, UnknownNameError),
        ({"target": "strom"}, LabelError),
        ({"label": 7}, LabelError),
        ({"relevant": [True]}, ParameterError),
        ({"case": 1}, IndexError),
    ],
)
def test_a_request_that_fails_leaves_no_figure_open(wrong, error):
    with pytest.raises(error):
        plots.plot_explanation(TOY, **wrong)
    assert pyplot.get_fignums() == []


def test_a_figure_whose_drawing_fails_is_closed(monkeypatch):
    monkeypatch.setattr("millet.plots.evidence.draw_scores", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        plots.plot_explanation(TOY)
    assert pyplot.get_fignums() == []


# Several classes


def test_class_scores_share_a_scale_and_mark_the_predicted_class():
    scores = np.arange(20.0).reshape(1, 5, 4)
    axes = plots.plot_class_scores(make(scores)).axes
    shown = [ax for ax in axes if ax.get_visible()]
    assert len(shown) == 5
    assert len({ax.get_ylim() for ax in shown}) == 1
    for ax, row in zip(shown, scores[0], strict=True):
        np.testing.assert_array_equal(ax.lines[-1].get_ydata(), row)
    bold = [ax for ax in shown if ax._left_title.get_fontweight() == "bold"]
    assert [title_of(ax) for ax in bold] == ["4 (63.6%, predicted)"]


def test_of_many_classes_the_ten_most_probable_are_drawn_in_their_order():
    e = make(np.ones((1, 30, 4)))
    names = [title_of(ax).split()[0] for ax in plots.plot_class_scores(e).axes]
    assert names == [str(code) for code in range(20, 30)]


def test_the_combined_heatmap_has_a_row_per_class_from_top_to_bottom_on_one_scale():
    scores = np.array([[[1.0, 2.0], [-8.0, 0.0], [3.0, 4.0]]])
    top, bottom, _bar = plots.plot_heatmap_classes(make(scores), classes=[2, 0, 1], relevant=[True, False]).axes
    mesh = mesh_of(bottom)
    np.testing.assert_array_equal(mesh.get_array(), scores[0][[2, 0, 1]])
    assert mesh.get_clim() == (-8, 8)
    assert mesh.get_coordinates()[0, 0, 1] == 1  # the first row is at the top, as its name is
    assert [text.get_text() for text in bottom.get_yticklabels()] == ["2", "0", "1"]
    assert bottom.get_yticks()[0] > bottom.get_yticks()[-1]
    assert len(regions_of(top)) == 1


def test_long_names_of_rows_do_not_move_the_labels_of_the_series():
    figure = plots.plot_heatmap_classes(make(np.ones((1, 7, 4)), class_names=LONG_NAMES))
    figure.draw_without_rendering()
    top = figure.axes[0]
    assert top.bbox.x0 - top.yaxis.label.get_window_extent().x1 < figure.dpi / 2  # half an inch, for the ticks


@pytest.mark.parametrize(
    "plot",
    [
        plots.plot_class_scores,
        lambda e: plots.plot_examples(np.ones((7, 1, 4)), np.arange(7), e.class_names, n_columns=3),
    ],
)
def test_long_titles_of_neighbours_do_not_meet(plot):
    figure = plot(make(np.ones((1, 7, 4)), class_names=LONG_NAMES))
    figure.draw_without_rendering()
    shown = [ax for ax in figure.axes if ax.get_visible()]
    for left, right in itertools.combinations([ax._left_title.get_window_extent() for ax in shown], 2):
        assert not left.overlaps(right)
    assert all(width_of_title(ax)[1] < figure.bbox.x1 for ax in shown)


@pytest.mark.parametrize("plot", [plots.plot_class_scores, plots.plot_heatmap_classes])
def test_no_classes_at_all_is_refused(plot):
    with pytest.raises(ParameterError, match="at least one class"):
        plot(TOY, classes=[])


def test_part_of_a_figure_can_be_drawn_on():
    left, right = Figure(layout="constrained").subfigures(1, 2)
    assert plots.plot_class_scores(TOY, figure=left) is left
    assert plots.plot_heatmap_classes(TOY, figure=right) is right
    assert pyplot.get_fignums() == []


def test_a_false_negative_shows_the_original_and_the_evidence_of_both_classes():
    figure = plots.plot_false_negative(TOY, 0, [9.0, 9, 9, 9], [False, True, True, False], label="calm")
    top, predicted, true = figure.axes
    assert [line.get_ydata().tolist() for line in top.lines] == [[9] * 4, [0, 1, 2, 3]]
    assert title_of(predicted) == "Evidence for storm (predicted)"
    assert title_of(true) == "Evidence for calm (true)"
    assert predicted.lines[-1].get_ydata().tolist() == [1, -4, 2, 0]
    assert true.lines[-1].get_ydata().tolist() == [0, 0, 0, 0]
    assert all(regions_of(ax) == [(0.5, 2.5)] for ax in figure.axes)


def test_an_original_of_another_length_is_refused():
    with pytest.raises(ParameterError, match=r"\(1, 4\); got \(3,\)"):
        plots.plot_false_negative(TOY, 0, [9.0, 9, 9], [True] * 4, label="calm")


# Series alone


def test_examples_are_the_first_of_each_class_with_their_region():
    X = np.arange(40.0).reshape(4, 2, 5)
    relevant = np.zeros((4, 5), dtype=bool)
    relevant[2, 1:3] = True
    axes = plots.plot_examples(X, ["b", "b", "a", "c"], ["A", "B", "C"], relevant).axes
    assert [title_of(ax) for ax in axes[:3]] == ["A", "B", "C"]
    assert not axes[3].get_visible()
    for ax, case in zip(axes, (2, 0, 3), strict=False):
        assert [line.get_ydata().tolist() for line in ax.lines] == X[case].tolist()
    assert [len(regions_of(ax)) for ax in axes[:3]] == [1, 0, 0]


def test_examples_of_unequal_length_keep_their_own_time_axis():
    relevant = np.tile([False, True], (2, 4))[:, :7]
    axes = plots.plot_examples([np.ones((1, 3)), np.ones((1, 7))], [0, 1], relevant=relevant, n_columns=1).axes
    assert [ax.get_xlim()[1] for ax in axes] == [2.5, 6.5]


@pytest.mark.parametrize(
    "wrong", [{"y": [0]}, {"class_names": ["a"]}, {"n_columns": 0}, {"relevant": np.ones((2, 9), dtype=bool)}]
)
def test_examples_that_do_not_fit_together_are_refused(wrong):
    with pytest.raises(MilletError):
        plots.plot_examples(**{"X": np.ones((2, 1, 4)), "y": [0, 1], **wrong})
    assert pyplot.get_fignums() == []


def test_construction_shows_the_five_steps_from_top_to_bottom():
    steps = [np.full(6, value) for value in range(5)]
    axes = plots.plot_construction(*steps, relevant=[False] * 4 + [True] * 2).axes
    assert [ax.lines[0].get_ydata()[0] for ax in axes] == [0, 1, 2, 3, 4]
    assert [len(regions_of(ax)) for ax in axes] == [0, 0, 0, 0, 1]
    with pytest.raises(ParameterError, match="same length"):
        plots.plot_construction(*steps[:4], np.ones(5))


# Curves


def test_curves_show_the_mean_and_a_95_percent_band_of_several_cases():
    curves = {"a": [[4.0, 2.0], [2.0, 0.0], [3.0, 1.0]], "_b$": [1.0, 1.0]}
    ax = plots.plot_perturbation_curves(curves, fractions=[0, 0.1])
    first, second = ax.lines
    np.testing.assert_array_equal(first.get_xydata(), [[0, 3], [0.1, 1]])
    np.testing.assert_array_equal(second.get_ydata(), [1, 1])
    (band,) = ax.collections
    extent = band.get_paths()[0].get_extents()
    assert extent.y1 == pytest.approx(3 + 1.96 / 3**0.5)
    assert extent.y0 == pytest.approx(1 - 1.96 / 3**0.5)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "\u200b_b\\$"]


def test_curves_are_drawn_on_the_given_axes_over_the_papers_fractions():
    ax = Figure().subplots()
    assert plots.plot_perturbation_curves({"a": np.zeros(11)}, ax=ax) is ax
    np.testing.assert_allclose(ax.lines[0].get_xdata(), np.arange(11) * 0.05)


def test_no_two_curves_of_many_look_alike():
    ax = plots.plot_perturbation_curves({f"method {number}": np.zeros(3) for number in range(24)})
    assert len({(line.get_color(), line.get_linestyle(), line.get_marker()) for line in ax.lines}) == 24
    assert len({line.get_color() for line in ax.lines[:6]}) == 6


@pytest.mark.parametrize("n_curves", [1, 2, 9])
def test_the_names_of_curves_cover_neither_curves_nor_labels(n_curves):
    curves = {f"a method with a name that goes on and on, {number}": [0, -1] for number in range(n_curves)}
    ax = plots.plot_perturbation_curves(curves)
    ax.figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert not any(
        legend.overlaps(thing.get_window_extent()) for thing in [ax, ax.xaxis.label, *ax.get_xticklabels()]
    )
    assert ax.figure.bbox.x0 <= legend.x0 < legend.x1 <= ax.figure.bbox.x1
    assert ax.figure.bbox.y0 <= legend.y0


@pytest.mark.parametrize(
    ("curves", "fractions"), [({}, None), ({"a": [1, 2], "b": [1]}, None), ({"a": [1, 2]}, [0]), ({"a": []}, None)]
)
def test_curves_of_different_lengths_are_refused(curves, fractions):
    with pytest.raises(ParameterError):
        plots.plot_perturbation_curves(curves, fractions=fractions)


# Long series


SERIES = numpy_strategies.arrays(np.float64, st.integers(1, 400), elements=st.floats(-100, 100) | st.just(np.nan))


@given(SERIES, st.integers(1, 40))
@QUICK
def test_decimation_keeps_points_of_the_series_and_its_extremes(values, n_bins):
    time = np.arange(len(values))
    kept, kept_values = decimate(time, values, n_bins)
    assert len(kept) <= 4 * n_bins
    assert (np.diff(kept) > 0).all()
    assert (kept[0], kept[-1]) == (0, len(values) - 1)
    np.testing.assert_array_equal(kept_values, values[kept])
    if not np.isnan(values).all():
        assert np.nanmax(kept_values) == np.nanmax(values)
        assert np.nanmin(kept_values) == np.nanmin(values)


@pytest.mark.parametrize("spike", [0, 1, 54_321, 99_999])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_single_spike_of_a_long_series_survives_in_line_and_colours(spike, sign):
    scores = np.zeros((1, 2, 100_000))
    scores[0, 1, spike] = sign
    e = make(scores, series=scores[:, 1:])
    figure = plots.plot_explanation(e)
    top, middle, bottom = figure.axes
    cells = mesh_of(bottom).get_array()
    assert cells.shape[1] <= 2_000
    assert np.count_nonzero(cells) == 1
    assert cells.sum() == sign
    for line in (top.lines[0], middle.lines[-1], bottom.lines[0]):
        assert len(line.get_xdata()) <= 10_000
        assert line.get_xdata()[np.abs(line.get_ydata()).argmax()] == spike


def test_a_spike_is_a_coloured_pixel_in_the_picture_itself():
    scores = np.zeros((1, 2, 100_000))
    scores[0, 1, 54_321] = 1
    figure = plots.plot_explanation(make(scores, series=np.full((1, 1, 100_000), np.nan)))
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3].astype(int)
    bottom = pixels[int(0.75 * len(pixels)) :]
    green = (bottom[..., 1] - bottom[..., 0] > 50) & (bottom[..., 1] - bottom[..., 2] > 30)
    assert green.any()


@given(numpy_strategies.arrays(np.float64, (2, 37), elements=st.floats(-9, 9)), st.integers(1, 40))
@QUICK
def test_each_cell_holds_the_score_furthest_from_zero(scores, n_bins):
    edges, cells = strongest_by_column(np.arange(37), scores, n_bins)
    assert len(edges) == cells.shape[1] + 1 <= n_bins + 1 or n_bins >= 37
    for cell in range(cells.shape[1]):
        inside = (np.arange(37) > edges[cell]) & (np.arange(37) < edges[cell + 1])
        np.testing.assert_array_equal(np.abs(cells[:, cell]), np.abs(scores[:, inside]).max(axis=1))


def test_an_uneven_time_axis_is_cut_evenly_in_time():
    time = np.array([0.0, 1, 2, 3, 100])
    edges, cells = strongest_by_column(time, np.array([1.0, 2, 3, 4, 5]), n_bins=2)
    np.testing.assert_array_equal(cells, [4, 5])
    np.testing.assert_array_equal(edges, [-0.5, 51.5, 148.5])


def test_a_wide_gap_of_a_long_series_stays_a_gap():
    values = np.zeros(10_000)
    values[4_000:6_000] = np.nan
    kept, kept_values = decimate(np.arange(10_000), values, n_bins=50)
    inside = (kept >= 4_000) & (kept < 6_000)
    assert inside.any()
    assert np.isnan(kept_values[inside]).all()


def test_no_columns_at_all_is_refused():
    with pytest.raises(ParameterError, match="n_bins"):
        decimate(np.arange(5), np.ones(5), 0)


@given(st.lists(st.booleans(), min_size=1, max_size=20))
@QUICK
def test_runs_cover_what_is_marked_and_nothing_else(marked):
    rebuilt = np.zeros(len(marked), dtype=bool)
    for start, stop in runs(np.array(marked)):
        rebuilt[start:stop] = True
    assert rebuilt.tolist() == marked


def test_cells_meet_halfway_between_timepoints():
    assert cell_edges(np.array([5])).tolist() == [4.5, 5.5]
    assert cell_edges(np.array([0, 2, 3])).tolist() == [-1, 1, 2.5, 3.5]


def test_a_hundred_thousand_timepoints_take_less_than_a_second_to_lay_out():
    rng = np.random.default_rng(0)
    e = make(rng.normal(size=(1, 2, 100_000)), series=rng.normal(size=(1, 1, 100_000)))
    start = clock.process_time()
    plots.plot_explanation(e)
    assert clock.process_time() - start < 1


# Saving, and manners


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_a_saved_figure_is_whole_alone_and_closed(tmp_path, suffix):
    figure = plots.plot_explanation(TOY)
    plots.save_figure(figure, tmp_path / f"e.{suffix}")
    assert pyplot.get_fignums() == []
    (path,) = tmp_path.iterdir()
    starts = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}
    assert path.read_bytes().startswith(starts[suffix])


def test_a_figure_that_can_not_be_saved_is_closed_and_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "e.png"
    path.write_bytes(b"old")

    def fail(self, file, **options):
        file.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(OSError, match="disk full"):
        plots.save_figure(plots.plot_explanation(TOY), path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    assert pyplot.get_fignums() == []


def test_an_unknown_picture_format_is_refused(tmp_path):
    with pytest.raises(UnknownNameError, match="pdf, pgf, png"):
        plots.save_figure(plots.plot_explanation(TOY), tmp_path / "e.bmp3")
    assert pyplot.get_fignums() == []


def test_drawing_leaves_the_settings_of_matplotlib_alone():
    before = dict(mpl.rcParams)
    plots.plot_explanation(TOY)
    plots.plot_heatmap_classes(TOY)
    assert dict(mpl.rcParams) == before


def test_plots_and_explanations_are_imported_without_their_heavy_friends():
    program = (
        "import sys, millet.plots, millet.explanation\n"
        "assert not {'torch', 'pandas', 'scipy', 'matplotlib'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ})
