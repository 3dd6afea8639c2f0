"""Statistics agree with textbook loops, with scipy, and with examples worked out by hand."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_strategies
from scipy import stats

import naive_statistics as naive
from millet import statistics
from millet.errors import LabelError, MilletError, ParameterError

QUICK = settings(max_examples=60, deadline=None)

# Few distinct values, so that ties are common.
tables = numpy_strategies.arrays(
    np.float64,
    st.tuples(st.integers(1, 8), st.integers(1, 6)),
    elements=st.integers(0, 6).map(lambda tenth: tenth / 10),
)


class TestRanks:
    @QUICK
    @given(tables, st.booleans())
    def test_ranks_are_those_of_the_textbook_and_of_scipy(self, table, higher):
        ranks = statistics.dataset_ranks(table, higher_is_better=higher)
        assert ranks.tolist() == [naive.ranks_of(row, higher) for row in table.tolist()]
        np.testing.assert_array_equal(ranks, stats.rankdata(-table if higher else table, axis=1))

    @QUICK
    @given(tables, st.booleans())
    def test_average_ranks_add_up(self, table, higher):
        n_classifiers = table.shape[1]
        total = statistics.average_ranks(table, higher_is_better=higher).sum()
        assert total == pytest.approx(n_classifiers * (n_classifiers + 1) / 2)

    @QUICK
    @given(tables)
    def test_every_dataset_has_a_winner_and_all_that_tie_win(self, table):
        wins = statistics.count_wins(table)
        assert wins.tolist() == [
            sum(row[column] == max(row) for row in table.tolist()) for column in range(table.shape[1])
        ]
        assert wins.sum() >= len(table)
        np.testing.assert_array_equal(wins, statistics.count_wins(-table, higher_is_better=False))

    def test_results_that_differ_in_their_last_bits_tie(self):
        table = [[19 / 23, 0.8260869565217392, 0.5]]
        assert table[0][0] != table[0][1]
        assert statistics.average_ranks(table).tolist() == [1.5, 1.5, 3.0]
        assert statistics.count_wins(table).tolist() == [1, 1, 0]

    def test_wins_can_be_counted_at_the_digits_that_are_shown(self):
        assert statistics.count_wins([[0.9414, 0.9411]]).tolist() == [1, 0]
        assert statistics.count_wins([[0.9414, 0.9411]], decimals=3).tolist() == [1, 1]

    @pytest.mark.parametrize("values", [[0.5, 0.6], [[]], np.zeros((0, 3)), [[0.5, np.nan]], [[np.inf, 1.0]]])
    def test_what_is_no_complete_table_is_refused(self, values):
        for function in (statistics.dataset_ranks, statistics.count_wins, statistics.deviations_from_median):
            with pytest.raises(ParameterError, match="Results must be"):
                function(values)


class TestSignificance:
    @QUICK
    @given(tables.filter(lambda table: table.shape[1] > 2 and len(table) > 1))
    def test_friedman_agrees_with_the_formula(self, table):
        result = statistics.friedman_test(table)
        assert result.statistic == pytest.approx(naive.friedman_statistic(table.tolist()), abs=1e-9)
        assert result.p_value == pytest.approx(stats.chi2.sf(result.statistic, table.shape[1] - 1), abs=1e-9)

    def test_friedman_needs_three_and_finds_nothing_where_all_tie(self):
        assert statistics.friedman_test([[0.5] * 4] * 3) == (0.0, 1.0)
        with pytest.raises(ParameterError, match="at least three classifiers; got 2"):
            statistics.friedman_test([[0.5, 0.6]])

    @QUICK
    @given(st.permutations(range(1, 9)), st.lists(st.booleans(), min_size=8, max_size=8))
    def test_wilcoxon_counts_all_assignments_of_signs(self, sizes, signs):
        differences = [size / 100 if sign else -size / 100 for size, sign in zip(sizes, signs, strict=True)]
        table = np.column_stack([np.full(8, 0.5) + differences, np.full(8, 0.5)])
        p_values = statistics.pairwise_wilcoxon(table)
        assert p_values[0, 1] == p_values[1, 0] == pytest.approx(naive.wilcoxon_p_value(differences))

    def test_wilcoxon_is_scipys_for_every_pair(self):
        table = np.random.default_rng(0).random((30, 4))
        p_values = statistics.pairwise_wilcoxon(table)
        for i in range(4):
            for j in range(4):
                expected = 1.0 if i == j else stats.wilcoxon(table[:, i], table[:, j]).pvalue
                assert p_values[i, j] == pytest.approx(expected)

    @pytest.mark.parametrize(("n_zeros", "n_others"), [(1, 9), (5, 20), (30, 40), (10, 70)])
    def test_wilcoxon_is_scipys_without_the_zeros_as_the_page_on_statistics_says(self, n_zeros, n_others):
        differences = np.append(np.zeros(n_zeros), np.random.default_rng(0).normal(0.1, 1, n_others).round(9))
        table = np.column_stack([differences, np.zeros(len(differences))])
        p_value = statistics.pairwise_wilcoxon(table)[0, 1]
        assert p_value == stats.wilcoxon(differences[differences != 0]).pvalue
        assert (p_value == stats.wilcoxon(differences).pvalue) == (n_others in (9, 70)), "that takes other ways"

    def test_a_pair_that_ties_everywhere_is_not_different(self):
        assert statistics.pairwise_wilcoxon([[0.5, 0.5], [0.7, 0.7]]).tolist() == [[1, 1], [1, 1]]

    @QUICK
    @given(st.lists(st.floats(0, 1), max_size=12))
    def test_holm_agrees_with_its_definition(self, p_values):
        adjusted = statistics.holm(p_values)
        np.testing.assert_allclose(adjusted, naive.holm(p_values))
        assert (adjusted >= p_values).all()

    @pytest.mark.parametrize("p_values", [[0.5, 1.1], [-0.1], [np.nan], [[0.5]]])
    def test_holm_refuses_what_is_no_probability(self, p_values):
        with pytest.raises(ParameterError, match="between 0 and 1"):
            statistics.holm(p_values)


class TestCliques:
    @QUICK
    @given(st.integers(1, 7).flatmap(lambda k: st.tuples(
        st.lists(st.integers(1, 9), min_size=k, max_size=k),
        numpy_strategies.arrays(bool, (k, k)),
    )))  # fmt: skip
    def test_cliques_are_the_longest_runs_without_a_different_pair(self, drawn):
        ranks, marks = drawn
        different = np.triu(marks, 1) | np.triu(marks, 1).T
        assert list(statistics.find_cliques(ranks, different)) == naive.cliques(ranks, different.tolist())

    def test_neighbours_by_rank_only(self):
        # The best and the worst can't be told apart, but the one between them differs from both: no clique.
        different = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
        assert statistics.find_cliques([1.0, 2.0, 3.0], different) == ()

    def test_a_table_that_is_not_symmetric_is_refused(self):
        with pytest.raises(ParameterError, match="symmetric"):
            statistics.find_cliques([1, 2], [[False, True], [False, False]])
        with pytest.raises(ParameterError, match="symmetric table of 2 × 2"):
            statistics.find_cliques([1, 2], [[False]])

    def test_an_example_worked_out_by_hand(self):
        """Four classifiers on eight datasets.

        a beats b by 1 to 8 thousandths, with signs + + + + + + - -: of the ranks 1..8, the negative ones are 1 and 2,
        W = 3, and 5 of the 256 assignments have a sum of 3 or less, twice that is 10 / 256 = 0.0390625.
        c is below both everywhere, d below c everywhere: W = 0, p = 2 / 256 = 0.0078125 for these five pairs.
        Holm: five times 0.0078125 × 6 = 0.046875 (and never less), then 0.0390625 × 1, raised to 0.046875.
        """
        b = np.full(8, 0.9)
        a = b + np.array([-1, -2, 3, 4, 5, 6, 7, 8]) / 1000
        c = 0.5 + np.arange(8) / 100
        d = 0.2 + np.arange(8) / 1000
        table = np.column_stack([c, a, d, b])
        raw = statistics.pairwise_wilcoxon(table)
        assert raw[1, 3] == pytest.approx(10 / 256)
        assert raw[0, 1] == raw[0, 2] == raw[2, 3] == pytest.approx(2 / 256)
        comparison = statistics.compare_classifiers(table, ["c", "a", "d", "b"])
        assert comparison.p_values[1, 3] == pytest.approx(12 / 256)
        assert comparison.p_values[0, 1] == pytest.approx(12 / 256)
        assert comparison.ranks.tolist() == [3.0, 1.25, 4.0, 1.75]
        # Ranks 1, 2 (or 2, 1), 3, 4: sums 10, 14, 24, 32; 12 / (8 · 4 · 5) · 1896 - 3 · 8 · 5 = 22.2.
        assert comparison.friedman.statistic == pytest.approx(22.2)
        assert comparison.cliques == ()
        assert statistics.compare_classifiers(table, list("cadb"), alpha=0.04).cliques == ((1, 3, 0, 2),)
        # With 4 negative too, W = 7: 19 of 256 assignments have a sum of 7 or less, and a and b can't be told apart.
        table[:, 1] = b + np.array([-1, -2, 3, -4, 5, 6, 7, 8]) / 1000
        comparison = statistics.compare_classifiers(table, ["c", "a", "d", "b"])
        assert comparison.p_values[1, 3] == pytest.approx(38 / 256)
        assert comparison.cliques == ((1, 3),)

    def test_one_clique_of_the_two_that_are_alike(self):
        rng = np.random.default_rng(1)
        base = rng.random(20)
        table = np.column_stack([base, base + rng.normal(0, 0.001, 20), base - 0.2])
        comparison = statistics.compare_classifiers(table, ["a", "b", "c"])
        assert [set(clique) for clique in comparison.cliques] == [{0, 1}]

    def test_no_pair_is_called_different_where_friedman_finds_nothing(self):
        table = np.random.default_rng(3).random((6, 4))
        comparison = statistics.compare_classifiers(table, list("abcd"))
        assert comparison.friedman.p_value > 0.05
        assert [set(clique) for clique in comparison.cliques] == [{0, 1, 2, 3}]

    def test_two_classifiers_need_no_friedman(self):
        comparison = statistics.compare_classifiers([[0.5, 0.4 - n / 100] for n in range(9)], ["a", "b"])
        assert comparison.friedman is None
        assert comparison.cliques == ()
        with pytest.raises(ParameterError, match="2 classifiers with 1 names"):
            statistics.compare_classifiers([[0.5, 0.4]], ["a"])


class TestComparison:
    @pytest.mark.parametrize("alpha", [5, 1, 0, -0.05, np.nan, "0.05", True])
    def test_a_level_of_significance_lies_between_0_and_1(self, alpha):
        with pytest.raises(ParameterError, match="alpha must be a number above 0 and below 1; got"):
            statistics.compare_classifiers(np.eye(3), ["a", "b", "c"], alpha=alpha)

    def test_classifiers_have_names_of_their_own(self):
        with pytest.raises(ParameterError, match=r"names must be different, .*; got a, b, a"):
            statistics.compare_classifiers(np.eye(3), ["a", "b", "a"])

    @QUICK
    @given(
        numpy_strategies.arrays(
            np.float64, st.tuples(st.integers(1, 8), st.integers(1, 3)), elements=st.integers(0, 4)
        )
    )
    def test_the_front_is_what_nobody_beats(self, points):
        assert statistics.pareto_front(points).tolist() == naive.pareto_front(points.tolist())

    @QUICK
    @given(tables.filter(lambda table: table.shape[1] >= 2))
    def test_a_duel_seen_from_the_other_side(self, table):
        duel, reverse = (statistics.head_to_head(table[:, i], table[:, 1 - i]) for i in (0, 1))
        assert (duel.wins, duel.draws, duel.losses) == (reverse.losses, reverse.draws, reverse.wins)
        assert duel.wins + duel.draws + duel.losses == len(table)
        np.testing.assert_array_equal(duel.gains, -reverse.gains)
        as_losses = statistics.head_to_head(-table[:, 0], -table[:, 1], higher_is_better=False)
        assert (as_losses.wins, as_losses.losses) == (duel.wins, duel.losses)

    @pytest.mark.parametrize("pair", [([0.5], [0.5, 0.6]), ([], []), ([np.nan], [0.5])])
    def test_duels_need_the_same_datasets(self, pair):
        with pytest.raises(ParameterError):
            statistics.head_to_head(*pair)

    def test_a_spread_says_inside_near_or_outside(self):
        spread = statistics.run_spread([0.8, 0.9, 0.85, 0.8, 0.9])
        assert (spread.low, spread.high, spread.n_runs) == (0.8, 0.9, 5)
        assert spread.mean == pytest.approx(0.85)
        assert spread.sd == pytest.approx(0.05)
        values = (0.8, 0.9, 0.9 + 1e-12, 0.949, 0.951, 0.749)
        assert [spread.verdict(value) for value in values] == ["yes", "yes", "yes", "within 2 sd", "no", "no"]

    @pytest.mark.parametrize(("n_ours", "n_theirs"), [(1, 5), (3, 5), (2, 4)])
    def test_the_chance_to_lie_inside_is_that_of_many_trials(self, n_ours, n_theirs):
        rng = np.random.default_rng(0)
        trials = [
            statistics.run_spread(rng.normal(size=n_theirs)).verdict(rng.normal(size=n_ours).mean()) != "no"
            for _ in range(4000)
        ]
        assert np.mean(trials) == pytest.approx(statistics.chance_inside(n_ours, n_theirs), abs=0.02)

    @QUICK
    @given(st.lists(st.floats(0, 1), max_size=6), st.integers(0, 7))
    def test_the_chance_of_so_few_is_summed_over_all_outcomes(self, chances, n_held):
        total = 0.0
        for outcome in itertools.product((0, 1), repeat=len(chances)):
            if sum(outcome) <= n_held:
                total += math.prod(p if came else 1 - p for p, came in zip(chances, outcome, strict=True))
        assert statistics.chance_of_so_few(n_held, chances) == pytest.approx(total, abs=1e-12)

    @pytest.mark.parametrize("counts", [(0, 5), (1, 1)])
    def test_chances_need_runs(self, counts):
        with pytest.raises(ParameterError, match="two others"):
            statistics.chance_inside(*counts)

    @pytest.mark.parametrize("runs", [[], [0.5], [0.5, np.nan], [[0.5, 0.6]]])
    def test_one_run_has_no_spread(self, runs):
        with pytest.raises(MilletError, match="at least two runs"):
            statistics.run_spread(runs)

    def test_points_must_be_finite(self):
        with pytest.raises(ParameterError, match="finite"):
            statistics.pareto_front([[1.0, np.nan]])


class TestProperties:
    @QUICK
    @given(st.lists(st.sampled_from("abc"), min_size=2).filter(lambda labels: len(set(labels)) > 1))
    def test_balance_is_normalised_entropy(self, labels):
        balance = statistics.class_balance(labels)
        assert balance == pytest.approx(naive.balance(labels))
        assert 0 < balance <= 1 + 1e-12

    def test_classes_without_cases_count(self):
        assert statistics.class_balance([0, 1], n_classes=4) == pytest.approx(0.5)
        assert statistics.class_balance([0, 0], n_classes=2) == 0.0
        with pytest.raises(LabelError, match="only one"):
            statistics.class_balance([1, 1])

    @QUICK
    @given(st.lists(st.integers(1, 12), min_size=1, max_size=40), st.integers(1, 6))
    def test_bins_hold_everything_once_and_never_split_equal_values(self, values, n_bins):
        bins = statistics.equal_count_bins(values, n_bins)
        assert sorted(member for found in bins for member in found.members) == list(range(len(values)))
        assert 1 <= len(bins) <= n_bins
        for found in bins:
            inside = [values[member] for member in found.members]
            assert (min(inside), max(inside)) == (found.low, found.high)
        assert all(first.high < second.low for first, second in itertools.pairwise(bins))

    @QUICK
    @given(st.integers(1, 40).flatmap(lambda n: st.permutations(range(n))), st.integers(1, 6))
    def test_bins_of_distinct_values_are_as_equal_as_can_be(self, values, n_bins):
        sizes = [len(found.members) for found in statistics.equal_count_bins(values, n_bins)]
        assert max(sizes) - min(sizes) <= 1

    @pytest.mark.parametrize("values", [[], [np.nan], [[1.0]]])
    def test_bins_need_numbers(self, values):
        with pytest.raises(ParameterError, match="at least one finite number"):
            statistics.equal_count_bins(values, 2)

    @QUICK
    @given(tables)
    def test_the_median_of_deviations_is_zero(self, table):
        deviations = statistics.deviations_from_median(table)
        np.testing.assert_allclose(np.median(deviations, axis=1), 0, atol=1e-12)
        for row, original in zip(deviations, table, strict=True):
            np.testing.assert_allclose(np.diff(row), np.diff(original), atol=1e-12)
