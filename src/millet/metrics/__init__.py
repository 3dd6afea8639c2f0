"""Metrics of explanations: arrays and models in, one number per case out.

Faithfulness asks the model again without the evidence; localisation compares scores with what is known to matter;
sparsity, agreement and randomisation look at the scores themselves. A case that can't be scored is NaN.
"""

from millet.metrics.agreement import Agreement, agreement, rank_correlation, top_overlap
from millet.metrics.aopc import Faithfulness, aopc, aopcr, faithfulness, normalised_aopcr
from millet.metrics.bootstrap import BootstrapInterval, bootstrap_interval
from millet.metrics.erasure import comprehensiveness, sufficiency
from millet.metrics.localisation import aup, auprc, aur, ndcg_at_n
from millet.metrics.perturbation import FRACTIONS, perturbation_curve
from millet.metrics.randomisation import Randomisation, Similarity, randomisation_check
from millet.metrics.sparsity import entropy, gini

__all__ = [
    "FRACTIONS",
    "Agreement",
    "BootstrapInterval",
    "Faithfulness",
    "Randomisation",
    "Similarity",
    "agreement",
    "aopc",
    "aopcr",
    "aup",
    "auprc",
    "aur",
    "bootstrap_interval",
    "comprehensiveness",
    "entropy",
    "faithfulness",
    "gini",
    "ndcg_at_n",
    "normalised_aopcr",
    "perturbation_curve",
    "randomisation_check",
    "rank_correlation",
    "sufficiency",
    "top_overlap",
]
