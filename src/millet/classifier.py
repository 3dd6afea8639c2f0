"""`MilletClassifier`: scikit-learn outside, MILLET networks inside, and evidence for every prediction.

In:  series in any container (`millet.bags` checks them) and labels.
Out: predictions, and `Explanation` from the same forward pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags

from millet.bags import Bags, ChannelScale, remove_timepoints
from millet.contract import AUTO, EvidenceClassifier, Labels, check_removed
from millet.description import plain_parameter
from millet.doubts import warn_of_constants
from millet.errors import ParameterError, SeriesError
from millet.explanation import Explanation
from millet.explanation.checks import warn_if_incomplete
from millet.fitting import architecture_of, check_device, check_parameters, choose_hardware, fit_members
from millet.models import adopt_networks, describe_classifier, encode_network, restore_classifier
from millet.nn import POOLINGS, BagOutput, MilletNetwork, average_outputs
from millet.outputs import OutputArrays, on_cpu
from millet.storage import load_model
from millet.training import Callback, History, Recipe, inference_batches
from millet.watching import slow_work


class MilletClassifier(EvidenceClassifier):
    """Classify time series and show the signed, class-wise evidence of every timepoint.

    Parameters
    ----------
    backbone : str, class or Module, default="inceptiontime"
        What embeds every timepoint: "fcn", "resnet", "inceptiontime", "lite", a class that is called with the number
        of channels, or a module from (B, C, T) to (B, D, T). A module is copied with its weights, so a pre-trained
        one is fine-tuned.
    pooling : str, class or Module, default="conjunctive"
        What turns the embeddings into one prediction: "conjunctive", "additive", "instance", "attention", "gap", or
        one of your own; see `millet.nn.MilletNetwork`.
    n_estimators : int, default=1
        Networks in the ensemble, which averages their logits; the paper's has 5.
    recipe : {"fast", "paper"} or Recipe, default="fast"
        How to train: "fast" takes at most a tenth of the steps of "paper", which is the paper's protocol of 1500
        epochs. The next three parameters, where given, replace values of the recipe; `n_epochs` is then exact,
        even where "fast" would train for fewer because there are many cases.
    n_epochs, batch_size, learning_rate : optional
    padding, positions, dropout : optional
        Settings of the network; None is the paper's choice for the pooling. See `millet.nn.MilletNetwork`.
    normalise : bool or "auto", default="auto"
        z-normalise each channel of each series; use False if levels tell the class. "auto" normalises series of one
        channel, as the paper does. It normalises several channels if that predicts left-out training cases better (by
        a small MiniRocket); else it scales each channel by its mean and deviation over all training cases.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in the loss.
    early_stopping : bool, default=False
        Set `validation_fraction` of the cases aside, keep the weights with the lowest loss on them, and stop when it
        has not improved by `tol` for `n_iter_no_change` epochs. Otherwise the recipe decides: "fast" keeps
        the last weights, "paper" those with the lowest loss on the training cases.
    validation_fraction, n_iter_no_change, tol : float, int, float
    max_time : float, optional
        Seconds of training for each member, at most: the schedule ends when they do, and is not cut off. Members that
        are trained one after the other, as on one core, take that long each.
    device : str, default="auto"
        "cpu", "cuda", "mps", or "auto" for the best one available.
    precision : str, optional
        What training computes in: "32-true", "64-true", "16-mixed", "16-true", "bf16-mixed" or "bf16-true", as
        Lightning Fabric calls them; "auto" is bf16-mixed where the hardware computes in it, else 32-true. None is the
        recipe's: "auto" for "fast", "32-true" for "paper". Predictions and evidence after mixed precision are
        computed in single precision, so that they add up.
    n_jobs : int, default=-1
        Members trained at a time, each in its own process; -1 is one per core. The weights do not depend on it.
    random_state : int, RandomState or None, default=None
    warm_start : bool, default=False
        Continue from the weights of the previous `fit`, and add members if `n_estimators` has grown.
    verbose : int, default=1
        1 shows progress with an ETA on a terminal; 0 is silent.
    callbacks : sequence of callables, default=()
        Called with an `EpochRecord` after every epoch; returning True stops that member.
    checkpoint_dir : path-like, optional
        Folder to write checkpoints to. After an interruption the same call continues where it was, and ends with the
        weights of an uninterrupted run.
    checkpoint_seconds : float, default=10.0
        Seconds between checkpoints, at least.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    networks_ : list of MilletNetwork
        The members.
    architecture_ : dict
        Backbone, pooling, padding, positions and dropout of the networks, whatever parameters have been set since.
    history_ : History
        One record per epoch and member.
    normalisation_ : bool or ChannelScale
        Whether each channel of each series is z-normalised (also `normalises_`); a `ChannelScale` holds the means and
        deviations over all training cases by which channels are scaled instead.
    n_channels_in_ : int
    n_timepoints_in_ : int
        The length of the longest training series, 0 if that is not known; series of any length can be classified.
    n_features_in_ : int
        Columns of X, only if it was a table: a 2-D array, a data frame, or lists of numbers. scikit-learn's
        contract is that later tables have the same columns; pass 3-D arrays or lists of arrays to classify
        series of other lengths.
    training_summary_ : dict
        Cases, lengths, seconds, epochs, and a fingerprint of the training data.

    Examples
    --------
    >>> import numpy as np
    >>> from millet import MilletClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20, 1, 30)); X[10:, 0, 12:18] += 4       # a bump is what tells the classes apart
    >>> y = np.repeat(["flat", "bump"], 10)
    >>> clf = MilletClassifier("fcn", n_epochs=10, random_state=0).fit(X, y)
    >>> explanation = clf.explain(X)                                  # one forward pass
    >>> explanation.scores.shape, str(explanation.predicted[15])
    ((20, 2, 30), 'bump')
    """

    networks_: list[MilletNetwork]
    history_: History

    def __init__(
        self,
        backbone: Any = "inceptiontime",
        pooling: Any = "conjunctive",
        *,
        n_estimators: int = 1,
        recipe: str | Recipe = "fast",
        n_epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        padding: str | None = None,
        positions: bool | None = None,
        dropout: float | None = None,
        normalise: bool | str = "auto",
        class_weight: dict[Any, float] | str | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-4,
        max_time: float | None = None,
        device: str = "auto",
        precision: str | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 1,
        callbacks: Sequence[Callback] = (),
        checkpoint_dir: str | PathLike[str] | None = None,
        checkpoint_seconds: float = 10.0,
    ) -> None:
        self.backbone = backbone
        self.pooling = pooling
        self.n_estimators = n_estimators
        self.recipe = recipe
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.padding = padding
        self.positions = positions
        self.dropout = dropout
        self.normalise = normalise
        self.class_weight = class_weight
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.max_time = max_time
        self.device = device
        self.precision = precision
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks
        self.checkpoint_dir = checkpoint_dir
        self.checkpoint_seconds = checkpoint_seconds

    def fit(self, X: Any, y: ArrayLike) -> MilletClassifier:
        """Train the ensemble.

        Parameters
        ----------
        X : array-like of shape (n_cases, n_timepoints) or (n_cases, n_channels, n_timepoints), or list
            Series of equal or unequal length; NaN stands for missing values. A memory map may be larger than memory.
        y : array-like of shape (n_cases,)
            Labels of any type.

        Returns
        -------
        MilletClassifier
            The fitted classifier itself.
        """
        recipe = check_parameters(self)
        goes_on = self.warm_start and hasattr(self, "networks_")
        normalise = self.normalisation_ if goes_on and self.normalise == AUTO else self.normalise
        bags, classes, codes = self._training_cases(X, y, normalise=normalise)
        warn_of_constants(bags)
        previous = self._reusable_members(bags, classes)
        with torch.inference_mode(mode=False), torch.enable_grad():
            networks, history, summary = fit_members(self, recipe, bags, codes, classes, previous)
        self._remember_input(X, bags, classes)
        self.networks_, self.history_, self.training_summary_ = networks, history, summary
        self.architecture_ = architecture_of(self)
        self.normalisation_ = bags.normalisation
        return self

    def logits(self, X: Any, *, removed: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return what the networks say before the softmax, in the order of `classes_`: (n_cases, n_classes).

        Parameters
        ----------
        X : array-like or list
            As for `fit`.
        removed : array-like of bool, shape (n_cases, n_timepoints), optional
            True where a timepoint is to be deleted. That happens after the normalisation: the series gets shorter,
            and what is left keeps its values and its positions. At least one timepoint of each case must stay.
        """
        bags = self._bags(X)
        gone = None if removed is None else check_removed(removed, bags)
        logits = np.empty((len(bags), len(self.classes_)))
        for chosen, outputs in self._outputs(bags, gone):
            logits[chosen] = average_outputs(outputs).logits
        _check_finite(logits)
        return logits

    def _explain(self, X: Any, *, channels: bool, members: bool) -> Explanation:
        bags = self._bags(X)
        evidence = OutputArrays(bags, len(self.classes_))
        by_member = [OutputArrays(bags, len(self.classes_)) for _ in self.networks_] if members else []
        for chosen, outputs in self._outputs(bags):
            evidence.add(chosen, average_outputs(outputs))
            for store, output in zip(by_member, outputs, strict=bool(members)):
                store.add(chosen, output)
        _check_finite(evidence.logits)
        pooling = self.architecture_["pooling"]
        method = pooling if isinstance(pooling, str) else type(self.networks_[0].pooling).__name__
        series = bags.raw(np.arange(len(bags)))
        series.setflags(write=False)  # so that no explanation need copy it
        shared: dict[str, Any] = {
            "series": series,
            "lengths": bags.lengths,
            "classes": self.classes_,
            "method": method,
        }
        parts = tuple(Explanation(**shared, **store.fields()) for store in by_member)
        explanation = Explanation(**shared, **evidence.fields(), members=parts)
        if type(self.networks_[0].pooling) not in POOLINGS.values():  # those add up, and need no check
            warn_if_incomplete(explanation, method)
        return explanation

    @classmethod
    def of_networks(
        cls,
        networks: MilletNetwork | Sequence[MilletNetwork],
        classes: ArrayLike | None = None,
        *,
        normalise: bool | ChannelScale = True,
    ) -> MilletClassifier:
        """Return a fitted classifier made of networks that were trained elsewhere, such as the authors'.

        Parameters
        ----------
        networks : MilletNetwork or sequence of them
            One, or several of the same form, whose logits are averaged. They are copied.
        classes : array-like of shape (n_classes,), optional
            The labels in the order of the logits, which must be ascending; 0, 1, 2 ... by default.
        normalise : bool or ChannelScale, default=True
            z-normalise each channel of each series, as the paper does; False if series are given as the networks
            should see them. The `normalisation_` of another classifier is taken as it is.

        Examples
        --------
        >>> from millet import MilletClassifier
        >>> from millet.nn import MilletNetwork
        >>> clf = MilletClassifier.of_networks(MilletNetwork(1, 2, "fcn"), ["high", "low"])
        >>> clf.explain([[1.0, 5.0, 2.0, 3.0]]).scores.shape
        (1, 2, 4)
        """
        classifier: MilletClassifier = adopt_networks(cls, networks, classes, normalise)
        return classifier

    @classmethod
    def load(cls, folder: str | PathLike[str], *, backbone: Any = None, pooling: Any = None) -> MilletClassifier:
        """Read a saved classifier; nothing in the folder is executed.

        Parameters
        ----------
        folder : path-like
        backbone, pooling : class or Module, optional
            If the model was made with a backbone or pooling of your own, pass the same again: code is not stored.

        Raises
        ------
        StorageError
            If the folder is damaged, incomplete, foreign, or of a newer version; it says which.
        """
        classifier: MilletClassifier = restore_classifier(cls, *load_model(folder), folder, backbone, pooling)
        return classifier

    @classmethod
    def restore(cls, description: dict[str, Any], weights: list[bytes], folder: object) -> MilletClassifier:
        """Rebuild a classifier from its description and weights, which were read from a folder."""
        classifier: MilletClassifier = restore_classifier(cls, description, weights, folder, None, None)
        return classifier

    def describe(self) -> dict[str, Any]:
        """Return everything about the fitted classifier but its weights, in types that JSON has."""
        return describe_classifier(self)

    def encode(self) -> list[bytes]:
        """Return every network's weights, in the format of safetensors."""
        return [encode_network(network) for network in self.networks_]

    @property
    def n_parameters_(self) -> int:
        """Parameters of all networks."""
        return sum(weight.numel() for network in self.networks_ for weight in network.parameters())

    @property
    def n_members_(self) -> int:
        """Networks in the ensemble."""
        return len(self.networks_)

    def facts(self) -> dict[str, object]:
        """Return what a reader of a report may want to know about the model: label to value, in order."""
        epochs = {"Epochs": ", ".join(map(str, self.training_summary_["n_epochs"]))}
        return {
            "Backbone": _named(self.architecture_["backbone"]),
            "Pooling": _named(self.architecture_["pooling"]),
            "Networks": len(self.networks_),
            "Parameters of each": f"{self.n_parameters_ // len(self.networks_):,}",
            **(epochs if self.training_summary_["n_cases"] else {}),
        }

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # scikit-learn's blobs differ only in their level, which normalising each series removes.
        tags.classifier_tags.poor_score = bool(self.normalise)
        return tags

    def _outputs(
        self, bags: Bags, removed: NDArray[np.bool_] | None = None
    ) -> Iterator[tuple[NDArray[np.int64], list[BagOutput]]]:
        """Run every member on every case, a batch at a time."""
        check_device(self.device)
        device, _ = choose_hardware(self.device, "32-true")
        networks = [network.to(device).eval() for network in self.networks_]
        lengths_left = bags.lengths if removed is None else bags.lengths - removed.sum(axis=1)
        with torch.inference_mode():
            for chosen in slow_work(list(inference_batches(lengths_left)), "batch", show=bool(self.verbose)):
                batch, positions = bags.batch(chosen), None
                if removed is not None:
                    batch, moved = remove_timepoints(batch, removed[chosen, : batch.values.shape[2]])
                    positions = torch.from_numpy(moved).to(device)
                x = torch.from_numpy(batch.values).to(device, _dtype_of(networks[0]))
                lengths = torch.from_numpy(batch.lengths).to(device)
                yield chosen, [on_cpu(network(x, lengths, positions)) for network in networks]

    def _reusable_members(self, bags: Bags, classes: Labels) -> list[MilletNetwork]:
        if not (self.warm_start and hasattr(self, "networks_")):
            return []
        if bags.n_channels != self.n_channels_in_ or not np.array_equal(classes, self.classes_):
            raise SeriesError(
                "warm_start needs the classes and channels of the previous fit; got "
                f"{len(classes)} classes and {bags.n_channels} channels. Set warm_start=False to start anew."
            )
        wanted = architecture_of(self)
        changed = [name for name, value in wanted.items() if not _is_same(value, self.architecture_[name])]
        if bags.normalisation is not self.normalisation_:
            changed.append("normalise")
        if changed:
            raise ParameterError(
                f"warm_start goes on with the networks of the previous fit, and {', '.join(changed)} "
                f"{'was' if len(changed) == 1 else 'were'} changed since. Set warm_start=False to start anew."
            )
        if self.n_estimators < len(self.networks_):
            raise ParameterError(
                f"warm_start goes on with the {len(self.networks_)} networks of the previous fit, and n_estimators="
                f"{self.n_estimators} would drop some. Set warm_start=False to start anew."
            )
        return self.networks_


def _check_finite(logits: NDArray[np.float64]) -> None:
    infinite = ~np.isfinite(logits).all(axis=1)
    if infinite.any():
        raise SeriesError(
            f"The logits of case {int(infinite.argmax())} are not finite: its values are too large for the network. "
            "Scale them, or fit with normalise=True."
        )


def _is_same(value: Any, other: Any) -> bool:
    value, other = plain_parameter(value), plain_parameter(other)
    plain = (str, int, float, type(None))
    return value == other if isinstance(value, plain) and isinstance(other, plain) else value is other


def _named(part: Any) -> str:
    if isinstance(part, str):
        return part
    return part.__name__ if isinstance(part, type) else type(part).__name__


def _dtype_of(network: MilletNetwork) -> torch.dtype:
    return next((value.dtype for value in network.parameters() if value.is_floating_point()), torch.float32)
