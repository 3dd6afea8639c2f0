"""Training: the paper's protocol against a plain loop; resuming, processes, schedules, what users see."""

import copy
import csv
import dataclasses
import json
import math
import multiprocessing
import os
import random
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from millet.bags import as_bags
from millet.errors import MilletError, ParameterError, StorageError, TrainingError, UnknownNameError
from millet.nn import MilletNetwork, recomputation
from millet.nn.turns import seeded, turn_to_train
from millet.training import (
    RECIPES,
    EpochRecord,
    History,
    Labelled,
    Options,
    Recipe,
    TensorBoardCallback,
    as_recipe,
    inference_batches,
    loop,
    make_fabric,
    train,
)
from millet.training.checkpoint import load_checkpoint, save_checkpoint
from naive_training import train_plainly


def labelled(X, y):
    return Labelled(as_bags(X), np.unique(y, return_inverse=True)[1].astype(np.int64))


def network(seed=0, **settings):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return MilletNetwork(1, 2, "fcn", **settings)


def weights_of(module):
    return {name: value.clone() for name, value in module.state_dict().items()}


def same_weights(left, right, **tolerance):
    if not tolerance:
        return all(torch.equal(left[name], right[name]) for name in left)
    return all(torch.allclose(left[name], right[name], **tolerance) for name in left)


@pytest.fixture(scope="module")
def cases(bumps):
    return labelled(*bumps)


@pytest.fixture(scope="module")
def unequal_cases(bumps):
    X, y = bumps
    return labelled([series[:, : 25 + position % 20] for position, series in enumerate(X)], y)


def test_the_paper_recipe_is_the_papers():
    recipe = RECIPES["paper"]
    assert (recipe.n_epochs, recipe.learning_rate, recipe.optimizer, recipe.schedule) == (
        1500,
        0.001,
        "adam",
        "constant",
    )
    assert [recipe.batch_size_for(n) for n in (500, 100, 28, 20, 5, 2)] == [16, 10, 2, 2, 2, 2]


def test_the_fast_recipe_takes_at_most_a_tenth_of_the_papers_steps():
    fast, paper = RECIPES["fast"], RECIPES["paper"]
    for n_cases in (2, 16, 20, 67, 100, 159, 160, 500, 1000, 10_000):
        steps, theirs = (
            recipe.n_epochs_for(n_cases) * recipe.steps_per_epoch_for(n_cases) for recipe in (fast, paper)
        )
        assert steps <= theirs / 10


def test_large_training_sets_get_fewer_epochs_but_not_hardly_any():
    recipe = Recipe(n_epochs=100, batch_size=10, max_steps=1000)
    assert [recipe.n_epochs_for(n_cases) for n_cases in (10, 100, 200, 1000, 5000)] == [100, 100, 50, 10, 10]
    assert as_recipe(recipe, n_epochs=100).n_epochs_for(5000) == 100, "epochs that were asked for are run"


def test_one_cycle_rises_then_falls_to_nothing():
    recipe = Recipe(schedule="one-cycle", learning_rate=1.0)
    rates = [recipe.rate_at(progress) for progress in np.linspace(0, 1, 101)]
    assert rates[0] == pytest.approx(1 / 25)
    assert max(rates) == rates[30] == pytest.approx(1.0)
    assert rates[:31] == sorted(rates[:31])
    assert rates[30:] == sorted(rates[30:], reverse=True)
    assert rates[-1] == pytest.approx(1e-4), "almost nothing, but never nothing"


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        ({"n_epochs": 0}, ParameterError),
        ({"n_epochs": -3}, ParameterError),
        ({"n_epochs": 2.5}, ParameterError),
        ({"n_epochs": True}, ParameterError),
        ({"batch_size": 0}, ParameterError),
        ({"n_batches": 0}, ParameterError),
        ({"smallest_batch": 0}, ParameterError),
        ({"max_steps": 0}, ParameterError),
        ({"label_smoothing": 1.0}, ParameterError),
        ({"keep": "beast"}, UnknownNameError),
        ({"learning_rate": 0}, ParameterError),
        ({"learning_rate": float("nan")}, ParameterError),
        ({"learning_rate": "fast"}, ParameterError),
        ({"weight_decay": -1}, ParameterError),
        ({"optimizer": "adamm"}, UnknownNameError),
        ({"schedule": "one-cycl"}, UnknownNameError),
    ],
)
def test_a_recipe_refuses_nonsense(bad, error):
    with pytest.raises(error):
        Recipe(**bad)


def test_a_recipe_comes_by_name_with_changes():
    assert as_recipe("paper", n_epochs=3, learning_rate=None) == Recipe(n_epochs=3)
    with pytest.raises(UnknownNameError, match="Did you mean 'paper'"):
        as_recipe("papr")
    with pytest.raises(ParameterError, match=r"millet\.Recipe"):
        as_recipe(42)


@pytest.mark.parametrize("weights", [None, [1.0, 3.0]])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_training_does_what_a_plain_loop_does(cases, weights, smoothing):
    ours, plain = network(dropout=0.0).double(), network(dropout=0.0).double()
    recipe = Recipe(n_epochs=4, batch_size=9, label_smoothing=smoothing)  # 40 cases: the last batch has 4
    history = train(ours, cases, recipe, Options(seed=7, class_weights=weights))
    losses = train_plainly(
        plain,
        cases.bags.batch(np.arange(40)).values,
        cases.codes,
        4,
        9,
        seed=7,
        weights=weights,
        smoothing=smoothing,
    )
    assert history.column("selection_loss") == pytest.approx(losses, rel=1e-8)
    assert same_weights(weights_of(ours), weights_of(plain), atol=1e-8)


@pytest.mark.parametrize("weights", [None, [1.0, 3.0]])
def test_epochs_that_are_not_evaluated_to_their_end_change_nothing(cases, weights, monkeypatch):
    monkeypatch.setattr("millet.training.cases.INFERENCE_TIMEPOINTS", 1)  # one case after the other
    ours, plain = network(dropout=0.0).double(), network(dropout=0.0).double()
    recipe = Recipe(n_epochs=12, batch_size=8, learning_rate=0.1)  # a rate that makes the loss jump about
    history = train(ours, cases, recipe, Options(seed=7, class_weights=weights))
    values = cases.bags.batch(np.arange(40)).values
    losses = train_plainly(plain, values, cases.codes, 12, 8, seed=7, weights=weights, rate=0.1)
    assert [record.best for record in history] == [loss < min([np.inf, *losses[:i]]) for i, loss in enumerate(losses)]
    for record, loss in zip(history, losses, strict=True):
        assert record.selection_loss <= loss * (1 + 1e-6)
        assert record.selection_loss == pytest.approx(loss, rel=1e-4) or not record.best
    assert any(record.selection_loss < 0.9 * loss for record, loss in zip(history, losses, strict=True))
    assert same_weights(weights_of(ours), weights_of(plain), atol=1e-5)


def test_a_recipe_may_keep_the_last_epoch_and_then_evaluates_nothing(cases, monkeypatch):
    kept, cut_off = network(), network()
    recipe = Recipe(n_epochs=6, batch_size=8, learning_rate=0.3, keep="last")
    history = train(kept, cases, recipe)
    assert history.column("selection_loss") == history.column("train_loss")
    assert all(record.best for record in history)
    monkeypatch.setattr(
        "millet.training.loop._Trainer._selection_loss", lambda self, train_loss: -1 - self.state.epoch
    )
    train(cut_off, cases, dataclasses.replace(recipe, keep="best"))
    assert same_weights(weights_of(kept), weights_of(cut_off))


def test_the_best_epoch_is_kept_not_the_last(cases):
    # A rate this high makes the loss jump about, on every processor in another way.
    recipe = Recipe(n_epochs=12, batch_size=8, learning_rate=0.3)
    longer = train(network(), cases, recipe).column("selection_loss")
    worse = next(epoch for epoch in range(1, 12) if longer[epoch] > min(longer[:epoch]))
    trained = network()
    history = train(trained, cases, dataclasses.replace(recipe, n_epochs=worse + 1))
    losses = history.column("selection_loss")
    assert losses == longer[: worse + 1]
    assert int(np.argmin(losses)) < len(losses) - 1
    assert [record.best for record in history] == [loss < min([np.inf, *losses[:i]]) for i, loss in enumerate(losses)]
    with torch.no_grad():
        logits = trained(torch.from_numpy(cases.bags.batch(np.arange(40)).values)).logits
    assert torch.nn.functional.cross_entropy(logits, torch.from_numpy(cases.codes)).item() == pytest.approx(
        min(losses)
    )


def test_a_loss_of_zero_ends_training():
    X = np.stack([np.sin(np.arange(30)) * 10, np.cos(np.arange(30) / 3) * 10] * 4)[:, None]
    history = train(network(), labelled(X, [0, 1] * 4), Recipe(n_epochs=400, learning_rate=0.05))
    assert history[-1].selection_loss == 0
    assert len(history) < 400


def test_training_leaves_the_global_generator_alone(cases):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train(network(), cases, Recipe(n_epochs=1))
    assert torch.equal(torch.rand(3), expected)


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(cases):
    results = []
    for seed in (1, 1, 2):
        trained = network()
        train(trained, cases, Recipe(n_epochs=2), Options(seed=seed))
        results.append(weights_of(trained))
    assert same_weights(results[0], results[1])
    assert not same_weights(results[0], results[2])


def test_early_stopping_stops_when_validation_no_longer_improves(cases):
    kept, aside = np.arange(0, 40, 2), np.arange(1, 40, 2)
    training = Labelled(cases.bags, cases.codes, kept)
    rng = np.random.default_rng(0)
    noise = Labelled(cases.bags, rng.permutation(cases.codes), aside)  # labels nobody can learn
    history = train(network(), training, Recipe(n_epochs=60), Options(validation=noise, patience=3))
    losses = history.column("selection_loss")
    assert len(losses) < 60
    assert int(np.argmin(losses)) <= len(losses) - 1 - 3 + 1


def test_max_time_ends_training_and_stretches_the_schedule(cases):
    recipe = Recipe(n_epochs=100_000, schedule="one-cycle", learning_rate=0.01)
    started = time.monotonic()
    history = train(network(), cases, recipe, Options(max_time=1.5))
    assert time.monotonic() - started < 30
    assert len(history) < 100_000
    rates = history.column("learning_rate")
    assert max(rates) > 0.005, "the schedule must reach its peak"
    assert rates[-1] < 0.005, "and come down again, although not even a hundredth of the epochs were run"


@pytest.mark.parametrize("selects", ["training cases", "validation cases"])
def test_selecting_an_epoch_gets_its_share_of_max_time(cases, monkeypatch, selects):
    now = [0.0]
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: now[0], process_time=time.process_time))
    step, loss = loop._Trainer._step, loop._Trainer._inference_loss

    def slow(method, seconds):
        def timed(*given, **more):
            now[0] += seconds
            return method(*given, **more)

        return timed

    monkeypatch.setattr(loop._Trainer, "_step", slow(step, 1.0))
    monkeypatch.setattr(loop._Trainer, "_inference_loss", slow(loss, 10.0))
    validation = cases if selects == "validation cases" else None
    recipe = Recipe(n_epochs=100, batch_size=20)  # two steps an epoch
    assert len(train(network(), cases, recipe, Options(max_time=1, validation=validation))) == 1
    assert now[0] == 1, "nothing is selected where there is nothing to choose from"
    now[0] = 0.0
    history = train(network(), cases, recipe, Options(max_time=36, validation=validation))
    assert (len(history), now[0]) == (3, 36.0)


def test_classes_of_weight_0_may_have_a_batch_to_themselves(cases):
    recipe = Recipe(n_epochs=2, batch_size=1)
    history = train(network(), cases, recipe, Options(class_weights=[0.0, 1.0]))
    assert np.isfinite(history.column("train_loss")).all()


def test_a_callback_sees_every_epoch_and_may_stop(cases):
    seen = []

    def stop_at_two(record):
        seen.append(record)
        return record.epoch == 2

    history = train(network(), cases, Recipe(n_epochs=50), Options(callbacks=[stop_at_two], member=3))
    assert list(history) == seen
    assert [record.epoch for record in seen] == [0, 1, 2]
    assert {record.member for record in seen} == {3}


def test_tensorboard_gets_the_losses(cases, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    history = train(network(), cases, Recipe(n_epochs=3), Options(callbacks=[TensorBoardCallback(tmp_path)]))
    events = EventAccumulator(str(tmp_path / "member-0")).Reload()
    assert [event.value for event in events.Scalars("selection_loss")] == pytest.approx(
        history.column("selection_loss")
    )


def test_a_loss_that_is_not_finite_keeps_the_last_good_weights(cases):
    trained = network()

    def spoil(record):
        if record.epoch == 1:
            with torch.no_grad():
                trained.pooling.classify.weight.fill_(float("nan"))

    with pytest.warns(RuntimeWarning, match="not finite in epoch 3"):
        history = train(trained, cases, Recipe(n_epochs=9), Options(callbacks=[spoil]))
    assert len(history) == 3
    assert all(torch.isfinite(value).all() for value in trained.state_dict().values())


def test_a_loss_that_was_never_finite_is_an_error(cases):
    broken = network()
    with torch.no_grad():
        broken.pooling.classify.weight.fill_(float("inf"))
    with pytest.raises(TrainingError, match="Lower learning_rate"):
        train(broken, cases, Recipe(n_epochs=3))


def test_inference_batches_hold_every_case_once_and_bound_the_memory():
    lengths = np.random.default_rng(0).integers(1, 40_000, size=200)
    batches = list(inference_batches(lengths))
    assert sorted(np.concatenate(batches)) == list(range(200))
    assert all(lengths[batch].max() * len(batch) <= 32_768 for batch in batches if len(batch) > 1)


def test_history_is_a_table(tmp_path):
    history = History(
        [EpochRecord(0, 0, 1.5, 1.25, 0.001, 2.0, True), EpochRecord(0, 1, 1.0, 1.3, 0.001, 4.0, False)]
    )
    history.save(tmp_path / "history.csv")
    history.save(tmp_path / "history.jsonl")
    rows = list(csv.DictReader((tmp_path / "history.csv").read_text().splitlines()))
    lines = [json.loads(line) for line in (tmp_path / "history.jsonl").read_text().splitlines()]
    assert [float(row["selection_loss"]) for row in rows] == [1.25, 1.3]
    assert [EpochRecord(**line) for line in lines] == list(history)
    assert history[:1] == History([history[0]])


def test_a_loss_that_is_not_finite_is_null_in_json(tmp_path):
    History([EpochRecord(0, 0, math.nan, math.inf, 0.001, 2.0, False)]).save(tmp_path / "h.jsonl")
    record = json.loads((tmp_path / "h.jsonl").read_text(), parse_constant=pytest.fail)
    assert record["train_loss"] is record["selection_loss"] is None


def test_processor_time_counts_on_after_a_resumption_and_leaves_pauses_out(cases, tmp_path, one_thread):
    def pause(record):
        time.sleep(0.2)
        return record.epoch == 1

    options = Options(checkpoint=tmp_path / "m.safetensors", checkpoint_seconds=0, callbacks=[pause])
    first = train(network(), cases, Recipe(n_epochs=3), options)
    assert len(first) == 2
    state, weights, optimizer = load_checkpoint(tmp_path / "m.safetensors")
    state.finished, state.core_elapsed = "", 1000.0
    save_checkpoint(tmp_path / "m.safetensors", state, weights, optimizer)
    history = train(network(), cases, Recipe(n_epochs=3), options)
    spent = history.column("core_seconds")
    assert spent[:2] == first.column("core_seconds")
    assert spent[1] <= history[1].seconds - 0.15
    assert spent[2] > 1000


def test_processor_time_is_unknown_where_an_earlier_version_trained_a_part(cases, tmp_path):
    path = tmp_path / "m.safetensors"
    options = Options(checkpoint=path, checkpoint_seconds=0, callbacks=[lambda record: record.epoch == 1])
    train(network(), cases, Recipe(n_epochs=3), options)
    with safe_open(path, framework="pt") as file:
        facts = json.loads(file.metadata()["millet"])
    del facts["state"]["core_elapsed"]
    facts["state"] |= {"finished": "", "records": [record[:7] for record in facts["state"]["records"]]}
    save_file(load_file(path), path, metadata={"millet": json.dumps(facts)})
    assert train(network(), cases, Recipe(n_epochs=3), options).column("core_seconds") == [None] * 3


# -- checkpoints


@pytest.mark.parametrize("schedule", ["constant", "one-cycle"])
def test_an_interrupted_run_resumes_to_the_same_weights(cases, tmp_path, schedule):
    recipe = Recipe(n_epochs=5, schedule=schedule)
    whole = network()
    expected = train(whole, cases, recipe, Options(seed=3))
    moments = iter([7, 3, 11])

    class Interrupted(BaseException):
        pass

    for _ in range(4):
        resumed = network()
        until = next(moments, 10_000)
        steps = iter(range(until))

        def count(*_, steps=steps):
            if next(steps, None) is None:
                raise Interrupted  # amidst an epoch, as Ctrl-C would

        resumed.pooling.register_forward_hook(count)
        try:
            history = train(resumed, cases, recipe, Options(seed=3, checkpoint=tmp_path / "m.safetensors"))
        except Interrupted:
            continue
        break
    assert next(moments, None) is None, "all interruptions came"
    assert same_weights(weights_of(whole), weights_of(resumed))
    assert history.column("selection_loss") == expected.column("selection_loss")


def test_a_damaged_or_foreign_checkpoint_is_refused(cases, tmp_path):
    checkpoint = tmp_path / "member.safetensors"
    options = Options(checkpoint=checkpoint, checkpoint_seconds=0)
    train(network(), cases, Recipe(n_epochs=1), options)
    content = checkpoint.read_bytes()
    checkpoint.write_bytes(content[: len(content) // 2])
    with pytest.raises(StorageError, match="not a readable checkpoint"):
        train(network(), cases, Recipe(n_epochs=1), options)
    save_file({"x": torch.zeros(1)}, checkpoint)
    with pytest.raises(StorageError, match="not a checkpoint of this version"):
        train(network(), cases, Recipe(n_epochs=1), options)


def fit_in_child(folder, X, y):
    from millet.classifier import MilletClassifier

    torch.set_num_threads(1)
    classifier = MilletClassifier(
        "fcn",
        n_estimators=2,
        n_epochs=30,
        random_state=0,
        n_jobs=1,
        checkpoint_dir=folder / "run",
        checkpoint_seconds=0,
    )
    classifier.fit(X, y).save(folder / "model")


@pytest.mark.slow
def test_a_run_killed_at_random_moments_ends_with_the_same_weights(bumps, tmp_path):
    from millet.classifier import MilletClassifier

    X, y = bumps
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["millet.classifier", "lightning_fabric"])
    (tmp_path / "calm").mkdir()
    (tmp_path / "stormy").mkdir()
    calm = context.Process(target=fit_in_child, args=(tmp_path / "calm", X, y))
    calm.start()
    calm.join()
    assert calm.exitcode == 0
    rng = random.Random(1)
    kills = 0
    while kills < 60:
        stormy = context.Process(target=fit_in_child, args=(tmp_path / "stormy", X, y))
        stormy.start()
        stormy.join(timeout=rng.uniform(0.05, 1.2) if kills < 12 else None)
        if stormy.exitcode is not None:
            assert stormy.exitcode == 0
            break
        os.kill(stormy.pid, signal.SIGKILL)
        stormy.join()
        kills += 1
    assert kills >= 3
    one, other = (MilletClassifier.load(tmp_path / name / "model") for name in ("calm", "stormy"))
    assert all(
        same_weights(a.state_dict(), b.state_dict()) for a, b in zip(one.networks_, other.networks_, strict=True)
    )
    assert one.history_.column("selection_loss") == other.history_.column("selection_loss")


# -- processes


# The last of 40 cases is a batch of its own, of which one of two processes has nothing.
SHARED = Recipe(n_epochs=3, batch_size=13)


def leave_together(fabric):
    """End the talk between processes: one that exits amidst it is now and then aborted by torch."""
    fabric.barrier()
    torch.distributed.destroy_process_group()


def train_in_processes(fabric, cases, network, path):
    # Of 13 cases one process has 7 and the other 6: by itself, only one would recompute its blocks.
    recomputation.RECOMPUTE_ABOVE = 6.5 * cases.lengths.max()
    history = train(network, cases, SHARED, Options(seed=1), fabric)
    if fabric.is_global_zero:
        save_file(weights_of(network), path)
    leave_together(fabric)
    return history.column("selection_loss")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cases", "unequal_cases"])
def test_two_processes_train_the_model_that_one_trains(kind, request, tmp_path):
    cases = request.getfixturevalue(kind)
    single = network()
    # Double precision, since training amplifies the last digits of the sums that processes take apart.
    history = train(single, cases, SHARED, Options(seed=1), make_fabric("cpu", "64-true"))
    fabric = make_fabric("cpu", "64-true", processes=2)
    losses = fabric.launch(train_in_processes, cases, network(), tmp_path / "weights.safetensors")
    assert losses == pytest.approx(history.column("selection_loss"), rel=1e-6)
    assert same_weights(weights_of(single), load_file(tmp_path / "weights.safetensors"), atol=1e-6)


def train_until_the_first_stops(fabric, cases, network):
    def after_two(record):
        return record.epoch == 1

    def after_a_while(record):
        time.sleep(0.05 * fabric.global_rank)  # the others' clocks run ahead

    callbacks = [after_two] if fabric.is_global_zero else []
    stopped = train(copy.deepcopy(network), cases, SHARED, Options(callbacks=callbacks), fabric)
    limited = Options(callbacks=[after_a_while], max_time=0.5)
    timed = train(network, cases, Recipe(n_epochs=10**6, schedule="one-cycle"), limited, fabric)
    counts = sorted(fabric.all_gather(torch.tensor(len(timed))).tolist())
    leave_together(fabric)
    return [(len(stopped), counts)]


@pytest.mark.slow
def test_processes_stop_together_when_the_first_is_told_to_or_the_time_is_up(cases):
    fabric = make_fabric("cpu", "32-true", processes=2)
    ((n_epochs, (one, other)),) = fabric.launch(train_until_the_first_stops, cases, network())
    assert n_epochs == 2
    assert one == other > 0


def test_errors_are_one_family():
    assert issubclass(TrainingError, MilletError)


# -- memory


def test_memory_is_kept_inside_the_block_and_given_back_after_it(monkeypatch):
    from millet.training import memory

    said, largest = [], 1 << 30

    class Library:
        def mallopt(self, option, value):
            said.append((option, value))
            return value <= largest

        def malloc_trim(self, pad):
            said.append("trimmed")

    monkeypatch.setattr(memory, "_glibc", Library)
    with memory.reusing_memory():
        assert said == [(-3, 1 << 30), (-1, 1 << 30)]
    assert said[-1] == "trimmed"
    assert said[2:4] == [(-3, 32 << 20), (-1, 64 << 20)], "where glibc itself goes as large blocks are freed"
    said, largest = [], 32 << 20  # as older versions have it
    with memory.reusing_memory():
        assert said == [(-3, 1 << 30), (-3, 32 << 20), (-1, 1 << 30)]
    said, largest = [], 0
    with memory.reusing_memory():
        assert (-1, 1 << 30) not in said, "a threshold alone would make it worse"
    monkeypatch.setattr(memory, "_glibc", lambda: None)
    with memory.reusing_memory():
        pass


def _has_its_turn():
    with turn_to_train(), seeded(0):
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_does_not_wait_for_threads_that_it_has_not():
    has_it, may_end = threading.Event(), threading.Event()

    def hold():
        with turn_to_train(), seeded(0):
            has_it.set()
            may_end.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        has_it.wait()
        child = multiprocessing.get_context("fork").Process(target=_has_its_turn)
        child.start()
        child.join(timeout=60)
        ended = child.exitcode
        child.kill()
    finally:
        may_end.set()
        thread.join()
    assert ended == 0


def test_the_generator_is_free_while_others_train():
    has_it, may_end, done = threading.Event(), threading.Event(), threading.Event()

    def train_for_long():
        with turn_to_train():
            has_it.set()
            may_end.wait()

    def draw():
        with seeded(0):
            torch.rand(3)
        done.set()

    before = torch.get_rng_state()
    threads = [threading.Thread(target=target, daemon=True) for target in (train_for_long, draw)]
    threads[0].start()
    has_it.wait()
    threads[1].start()
    assert done.wait(timeout=60)
    assert torch.equal(torch.get_rng_state(), before)
    may_end.set()
    for thread in threads:
        thread.join()
