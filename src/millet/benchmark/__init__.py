"""The benchmark: a grid of dataset x model x repeat in, one row per run out; resumable, here or on a cluster.

In:  an experiment file (`load_experiment`).
Out: a run folder with ``run.json``, ``rows.jsonl`` and the trained models, which `millet.report` reads.
"""

from millet.benchmark.experiment import Experiment, load_experiment
from millet.benchmark.plan import describe_plan
from millet.benchmark.rows import read_rows
from millet.benchmark.runner import Outcome, run_benchmark

__all__ = ["Experiment", "Outcome", "describe_plan", "load_experiment", "read_rows", "run_benchmark"]
