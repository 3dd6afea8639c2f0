"""Statistics: classifiers compared over many datasets, as the field does it.

In:  plain arrays, datasets in rows and classifiers in columns.
Out: ranks, wins, tests of significance, cliques, fronts and bins; read by `millet.report`.
"""

from millet.statistics.comparison import (
    HeadToHead,
    Spread,
    chance_inside,
    chance_of_so_few,
    head_to_head,
    pareto_front,
    run_spread,
)
from millet.statistics.properties import Bin, class_balance, deviations_from_median, equal_count_bins
from millet.statistics.ranks import average_ranks, count_wins, dataset_ranks
from millet.statistics.significance import (
    Comparison,
    FriedmanResult,
    compare_classifiers,
    find_cliques,
    friedman_test,
    holm,
    pairwise_wilcoxon,
)

__all__ = [
    "Bin",
    "Comparison",
    "FriedmanResult",
    "HeadToHead",
    "Spread",
    "average_ranks",
    "chance_inside",
    "chance_of_so_few",
    "class_balance",
    "compare_classifiers",
    "count_wins",
    "dataset_ranks",
    "deviations_from_median",
    "equal_count_bins",
    "find_cliques",
    "friedman_test",
    "head_to_head",
    "holm",
    "pairwise_wilcoxon",
    "pareto_front",
    "run_spread",
]
