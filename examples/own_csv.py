"""From your own file to a report: a CSV of two sensors in; out, predictions, evidence and a page to look at."""

import csv
from pathlib import Path

import numpy as np

import millet
from millet.viewer import model_facts, write_report


def write_recordings(path: Path, n_cases: int, seed: int) -> None:
    """Write what a logger might: a row for each time step, with the number of the case, the label and two sensors."""
    rng = np.random.default_rng(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["case", "time", "label", "pressure", "temperature"])
        for case in range(n_cases):
            label = ("fine", "leak")[case % 2]
            pressure, temperature = 5 + rng.normal(0, 0.2, 80), 20 + rng.normal(0, 0.5, 80)
            if label == "leak":
                start = rng.integers(20, 50)
                pressure[start : start + 15] -= np.linspace(0, 1.5, 15)
            for time, values in enumerate(zip(pressure, temperature, strict=True)):
                writer.writerow([case, time, label, *(f"{value:.3f}" for value in values)])


def main() -> None:
    train_file, new_file = Path("pumps_TRAIN.csv"), Path("pumps_TEST.csv")
    write_recordings(train_file, 60, seed=0)
    write_recordings(new_file, 20, seed=1)
    train, new = millet.load_file(train_file), millet.load_file(new_file)

    classifier = millet.RocketMilletClassifier(random_state=0, verbose=0).fit(train.X, train.y)
    row = millet.evaluate(classifier, new, metrics=["accuracy"])
    print(
        f"Accuracy on {len(new)} new recordings: {row['accuracy']:.2f}, 95 % interval from {row['accuracy_low']:.2f}"
    )

    explanation = classifier.explain(new.X, channels=True, channel_names=new.channel_names)
    leak = int(np.flatnonzero(explanation.predicted == "leak")[0])
    where = explanation[leak].top_intervals(n=1, max_gap=5)[0]
    by_channel = explanation.channel_contributions[leak, list(classifier.classes_).index("leak")].sum(axis=1)
    sensor = explanation.channel_names[int(by_channel.argmax())]
    print(
        f"Recording {leak} is a leak: most evidence from {where.start} to {where.stop}, and most of all in {sensor}"
    )

    classifier.save("models/pumps")
    page = write_report("pumps.html", explanation, dataset=new, metrics=row, model=model_facts(classifier))
    print(f"Wrote {page}: every recording and its evidence, to open in a browser")


if __name__ == "__main__":
    main()
