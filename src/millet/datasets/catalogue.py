"""Catalogue: what the UCR archive of 2018 holds, and whether files are its original split.

In:  `ucr.csv`, facts only: one row for each of the 128 datasets.
Out: `Entry`, read by `millet.datasets.locate` (hints), `download` (verification) and `survey` (tables).
"""

from __future__ import annotations

import csv
import functools
import importlib.resources
from dataclasses import dataclass

from millet.datasets.dataset import Dataset
from millet.errors import lookup

# The datasets of the paper's main comparison (its appendix on UCR details).
_PAPER = """
Adiac ArrowHead Beef BeetleFly BirdChicken Car CBF ChlorineConcentration CinCECGTorso Coffee Computers
CricketX CricketY CricketZ DiatomSizeReduction DistalPhalanxOutlineAgeGroup DistalPhalanxOutlineCorrect
DistalPhalanxTW Earthquakes ECG200 ECG5000 ECGFiveDays ElectricDevices FaceAll FaceFour FacesUCR
FiftyWords Fish FordA FordB GunPoint Ham HandOutlines Haptics Herring InlineSkate InsectWingbeatSound
ItalyPowerDemand LargeKitchenAppliances Lightning2 Lightning7 Mallat Meat MedicalImages
MiddlePhalanxOutlineAgeGroup MiddlePhalanxOutlineCorrect MiddlePhalanxTW MoteStrain
NonInvasiveFetalECGThorax1 NonInvasiveFetalECGThorax2 OliveOil OSULeaf PhalangesOutlinesCorrect Phoneme
Plane ProximalPhalanxOutlineAgeGroup ProximalPhalanxOutlineCorrect ProximalPhalanxTW
RefrigerationDevices ScreenType ShapeletSim ShapesAll SmallKitchenAppliances SonyAIBORobotSurface1
SonyAIBORobotSurface2 StarLightCurves Strawberry SwedishLeaf Symbols SyntheticControl ToeSegmentation1
ToeSegmentation2 Trace TwoLeadECG TwoPatterns UWaveGestureLibraryAll UWaveGestureLibraryX
UWaveGestureLibraryY UWaveGestureLibraryZ Wafer Wine WordSynonyms Worms WormsTwoClass Yoga
"""
PAPER_DATASETS = tuple(_PAPER.split())

# The UEA archive of 2018. Names only: the sizes of its datasets are known once they are here.
_MULTIVARIATE = """
ArticularyWordRecognition AtrialFibrillation BasicMotions CharacterTrajectories Cricket DuckDuckGeese EigenWorms
Epilepsy ERing EthanolConcentration FaceDetection FingerMovements HandMovementDirection Handwriting Heartbeat
InsectWingbeat JapaneseVowels Libras LSST MotorImagery NATOPS PEMS-SF PenDigits PhonemeSpectra RacketSports
SelfRegulationSCP1 SelfRegulationSCP2 SpokenArabicDigits StandWalkJump UWaveGestureLibrary
"""
MULTIVARIATE_DATASETS = tuple(_MULTIVARIATE.split())


@dataclass(frozen=True)
class Entry:
    """The facts of one dataset, as its archive states them.

    Attributes
    ----------
    name : str
        The archive's spelling.
    type : str
        The kind of measurement: "Image", "Sensor", "ECG" ...
    n_train, n_test : int
        Cases in each of the two original splits.
    n_classes : int
        Classes over both splits.
    length : int or None
        Timepoints of every series; None where lengths differ.
    """

    name: str
    type: str
    n_train: int
    n_test: int
    n_classes: int
    length: int | None

    @property
    def in_paper(self) -> bool:
        """Whether it is one of the paper's 85 datasets."""
        return self.name in PAPER_DATASETS


WEB_TRAFFIC = Entry("WebTraffic", "Simulated", n_train=500, n_test=500, n_classes=10, length=1008)


@functools.cache
def entries() -> dict[str, Entry]:
    """Return all 128 entries of the UCR archive by name.

    Examples
    --------
    >>> len(entries())
    128
    """
    text = importlib.resources.files("millet.datasets").joinpath("ucr.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {row["name"]: _parse(row) for row in rows}


def _parse(row: dict[str, str]) -> Entry:
    return Entry(
        name=row["name"],
        type=row["type"],
        n_train=int(row["n_train"]),
        n_test=int(row["n_test"]),
        n_classes=int(row["n_classes"]),
        length=int(row["length"]) if row["length"] else None,
    )


def find(name: str) -> Entry | None:
    """Return the entry of that name, or None where the archive has none.

    The exact name comes first, then one that differs only in upper and lower case.

    Examples
    --------
    >>> find("gunpoint")
    Entry(name='GunPoint', type='Motion', n_train=50, n_test=150, n_classes=2, length=150)
    >>> find("BasicMotions") is None
    True
    """
    by_name = entries()
    if name in by_name:
        return by_name[name]
    folded = name.casefold()
    return next((entry for entry in by_name.values() if entry.name.casefold() == folded), None)


def check(train: Dataset, test: Dataset) -> tuple[str, ...]:
    """Say how two splits differ from the archive's original ones.

    Parameters
    ----------
    train, test : Dataset
        The splits of a dataset known to the catalogue or the generator.

    Returns
    -------
    tuple of str
        One sentence for each difference; empty when sizes, classes, channels and length are the archive's.

    Raises
    ------
    UnknownNameError
        If the original sizes of a dataset of that name are not known.

    Examples
    --------
    >>> import numpy as np
    >>> from millet.datasets import Dataset
    >>> X, y = np.zeros((28, 1, 286)), np.arange(28) % 2
    >>> coffee = Dataset("Coffee", X, y, classes=np.array([0, 1]))
    >>> check(coffee, coffee)
    ()
    >>> half = Dataset("Coffee", X[:14], y[:14], classes=np.array([0, 1]))
    >>> check(half, coffee)
    ('n_train is 14; the original split has 28',)
    """
    known = find(train.name)
    spelled = known.name if known is not None else train.name
    entry = lookup("dataset", spelled, {**entries(), WEB_TRAFFIC.name: WEB_TRAFFIC})
    facts: list[tuple[str, object, object]] = [
        ("n_train", len(train), entry.n_train),
        ("n_test", len(test), entry.n_test),
        ("n_classes", len(train.classes), entry.n_classes),
        ("n_channels", train.n_channels, 1),
    ]
    if entry.length is not None:
        facts.append(("length", span(train, test), str(entry.length)))
    return tuple(
        f"{fact} is {found}; the original split has {wanted}" for fact, found, wanted in facts if found != wanted
    )


def span(train: Dataset, test: Dataset) -> str:
    """Return the length of all series as "150", or the shortest and the longest as "7-29".

    Examples
    --------
    >>> import numpy as np
    >>> from millet.datasets import Dataset
    >>> short = Dataset("toy", np.zeros((2, 1, 7)), None, classes=np.array([]))
    >>> long = Dataset("toy", np.zeros((2, 1, 29)), None, classes=np.array([]))
    >>> span(short, short), span(short, long)
    ('7', '7-29')
    """
    lengths = {int(length) for split in (train, test) for length in split.lengths}
    shortest, longest = min(lengths), max(lengths)
    return f"{shortest}" if shortest == longest else f"{shortest}-{longest}"
