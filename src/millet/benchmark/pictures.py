"""Pictures: test cases, and what was said about them, kept beside the rows for the pictures of a report."""

from __future__ import annotations

import dataclasses

import numpy as np

from millet.benchmark.job import Job
from millet.benchmark.measure import explained
from millet.benchmark.models import MethodSpec
from millet.benchmark.rows import Row
from millet.contract import EvidenceClassifier
from millet.datasets import Dataset
from millet.datasets.catalogue import WEB_TRAFFIC
from millet.datasets.web_traffic import WebTraffic
from millet.metrics import faithfulness
from millet.report.evidence import save_evidence
from millet.report.examples import KEY, choose_examples, describe_examples, keep_examples
from millet.report.false_negatives import MODEL as ERRING_MODEL
from millet.report.names import OWN


def keep_pictures(job: Job, method: MethodSpec, classifier: EvidenceClassifier, test: Dataset) -> Row:
    """Keep what reports show of a cell, and return what its row says about that."""
    if method.name == OWN and _errs_worth_seeing(job):
        assert isinstance(test, WebTraffic)
        save_evidence(job.folder, classifier.explain(test.X), test)
    return _keep_examples(job, method, classifier, test) if job.examples and job.cell.repeat == 0 else {}


def _keep_examples(job: Job, method: MethodSpec, classifier: EvidenceClassifier, test: Dataset) -> Row:
    """Keep the evidence of some cases, and return their perturbation curves."""
    cell = job.cell
    chosen = choose_examples(np.asarray(test.y), job.examples)
    cases = test.take(chosen)
    explanation = dataclasses.replace(explained(classifier, cases, method), cases=chosen)
    found = faithfulness(classifier, cases.X, explanation.scores)
    keep_examples(job.folder, cell.data.name, cell.model.name, method.name, explanation)
    return {KEY: describe_examples(explanation, np.asarray(cases.y), found)}


def _errs_worth_seeing(job: Job) -> bool:
    """Whether a report shows cases of this model: those of the ensemble, where there is one."""
    cell = job.cell
    if cell.data.name != WEB_TRAFFIC.name or cell.model.name != ERRING_MODEL:
        return False
    return cell.is_ensemble or not cell.model.ensemble
