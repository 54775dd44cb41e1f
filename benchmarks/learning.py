"""Why the networks are where they are: the paper's training with one thing changed at a time.

`python -m benchmarks learning [--only NAME] [--folder FOLDER] [--large] [--jobs N]`. Simulated
patients, made in memory at 256 Hz, of cohort seeds 20 and up (0-2 are kept for reports). PRQ-Net
and BCR-Net learn from the first of a fixed list of fit patients; 13 others choose epoch and
threshold; the same 40 others judge every row. Labels are what each center annotates. With
`--folder`, patients and finished trainings are kept there and not made again.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import nn

from benchmarks.simulation import drawn_recordings
from benchmarks.timing import row
from epilens.compute.local import map_jobs
from epilens.core.decisions import confusion_metrics, grid_metrics, select_threshold
from epilens.evaluation.resampling import bootstrap, interval
from epilens.evaluation.scoring import ranking_metrics
from epilens.evidence.describe import describe
from epilens.evidence.files import SUFFIX, save_store
from epilens.evidence.files import open_store as open_saved
from epilens.evidence.views import VIEWS, Standardizer, views
from epilens.methods import METHODS
from epilens.methods.epilens import branch_seed, untrained
from epilens.networks.encoder import ChannelAttention
from epilens.networks.ensemble import one_thread_each
from epilens.networks.loop import Schedule, train_epochs
from epilens.networks.training import Lesson, PatientTensors, _step, as_tensors, build, predict
from epilens.plan import Plan, TrainingPlan
from epilens.simulation.patients import SimulatedPatient, make_patients
from epilens.simulation.shapes import SHAPES

Floats = NDArray[np.floating[Any]]
FIRST_SEED, RATE_HZ = 20, 256.0
VALIDATION, TEST = 13, 40
FIT = 40
"""Patients of the paper's setting here; the paper's folds have 51."""
PAPER = TrainingPlan()
LONG_RUN = 100
DECAY, LAST = 0.99, 10
"""Of the moving average, per step; epochs whose weights are averaged."""
DRAWS = 10_000
NETWORKS = {"prq": "PRQ-Net", "bcr": "BCR-Net"}
METRICS = {"auroc": "AUROC", "macro_f1": "Macro-F1"}


# --- what is changed ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """One training. `whole`: 100 epochs, with averages of the weights and spare patients."""

    network: str = "prq"
    seed: int = 42
    rate: float = 1.0
    batch: int = PAPER.batch
    patients: int = FIT
    bound: str = "as they are"
    dropout: float = 0.4
    attention: float | None = None
    stop: bool = True
    """By the paper's patience; else all 30 epochs."""
    whole: bool = False

    @property
    def key(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Row:
    """One line of the table: a training, and how its epoch is chosen."""

    comparison: str
    label: str
    changes: Mapping[str, Any]
    readout: str = "paper"


WHOLE = {"whole": True}
ROWS = (
    *(
        Row("rate", f"learning rate × {n}{text}", {"rate": float(n), "stop": False}, readout)
        for n in (3, 10, 30)
        for text, readout in (("", "paper"), (", the last of 30 epochs", "last"))
    ),
    Row("epochs", "100 epochs, patience 6", WHOLE, "paper, 100 epochs"),
    Row("epochs", "100 epochs, no patience", WHOLE, "Macro-F1, 100 epochs"),
    Row("epochs", "100 epochs, the last", WHOLE, "last of 100"),
    Row("selection", "Macro-F1 without patience, 30 epochs", WHOLE, "Macro-F1"),
    Row("selection", "mean AUROC, 30 epochs", WHOLE, "AUROC"),
    Row("selection", "mean cross-entropy, 30 epochs", WHOLE, "cross-entropy"),
    Row("selection", "the last of 30 epochs", WHOLE, "last"),
    Row("averaging", "moving average of weights, 0.99 a step", WHOLE, "moving average"),
    Row("averaging", "mean weights of epochs 21-30", WHOLE, "mean of last"),
    Row("seed", "the paper's setting, another seed", {"seed": 1000}),
    *(Row("views", f"views: {name}", {"bound": name}) for name in ("signed log", "clip", "rank")),
    *(Row("patients", f"{n} fit patients", {"patients": n}) for n in (10, 20, 80)),
    Row("dropout", "dropout 0.1", {"dropout": 0.1}),
    Row("dropout", "dropout 0", {"dropout": 0.0}),
    Row("dropout", "dropout 0.4, none on attention", {"attention": 0.0}),
    Row("batch", "1 patient a step", {"batch": 1}),
    Row("batch", "8 patients a step", {"batch": 8}),
)
LARGE = tuple(Row("patients", f"{n} fit patients", {"patients": n}) for n in (160, 320))


def trial_of(line: Row, network: str, seed: int) -> Trial:
    """The training of a row; its own seed, if it has one, is added."""
    changes = dict(line.changes)
    return Trial(network, seed + changes.pop("seed", 0), **changes)


# --- patients -------------------------------------------------------------------------------------


def interleaved(patients: Sequence[SimulatedPatient], seed: int) -> list[SimulatedPatient]:
    """In an order of which any beginning has about the centers' proportions."""
    rng = np.random.default_rng(seed)
    places: list[tuple[float, int]] = []
    for code in dict.fromkeys(p.center.code for p in patients):
        members = [i for i, p in enumerate(patients) if p.center.code == code]
        shuffled = rng.permutation(members)
        places += [((n + 0.5) / len(members), int(i)) for n, i in enumerate(shuffled)]
    return [patients[i] for _, i in sorted(places)]


def drawn_patients(shape: str) -> Iterator[tuple[str, SimulatedPatient]]:
    """Without end: cohort after cohort, with a name that is unique among them."""
    for seed in count(FIRST_SEED):
        cohort = [p for i, c in enumerate(SHAPES[shape]) for p in make_patients(c, i, seed)]
        for patient in interleaved(cohort, seed):
            yield f"{shape}-{seed}-{patient.name}", patient


def as_cube(name: str, patient: SimulatedPatient) -> xr.Dataset:
    """The patient's cube with the EZ that its center annotates; all seizures, all good channels."""
    parts = drawn_recordings(patient, name, RATE_HZ, patient.zones.annotated)
    return describe(parts, Plan())


@dataclass(frozen=True)
class Patients:
    """Cubes by what they are for; `pool` are the fit patients, in order."""

    validation: Sequence[xr.Dataset]
    test: Sequence[xr.Dataset]
    pool: Sequence[xr.Dataset]


def make_cubes(shape: str, fit: int, folder: Path) -> Patients:
    """Validation patients first, then test, then fit: the first two never depend on `fit`."""
    wanted = VALIDATION + TEST + fit
    cubes: list[xr.Dataset] = []
    folder.mkdir(parents=True, exist_ok=True)
    for name, patient in drawn_patients(shape):
        path = folder / (name + SUFFIX)
        if made := not path.exists():
            save_store(as_cube(name, patient), path)
        cubes.append(open_saved(path).load())
        if made and (len(cubes) % 10 == 0 or len(cubes) == wanted):
            say(f"patients: {len(cubes)} of {wanted}")
        if len(cubes) == wanted:
            break
    return Patients(cubes[:VALIDATION], cubes[VALIDATION : VALIDATION + TEST], cubes[-fit:])


# --- bounded views --------------------------------------------------------------------------------


def signed_log(x: torch.Tensor) -> torch.Tensor:
    """sign(x) log(1 + |x|)."""
    return x.sign() * x.abs().log1p()


def clipped(x: torch.Tensor) -> torch.Tensor:
    return x.clamp(-5, 5)


def ranked(x: torch.Tensor) -> torch.Tensor:
    """Rank of every value among those of its feature, as a uniform variable of unit variance.

    x : (n, features). Equal values get one rank.
    """
    columns = []
    for column in x.unbind(1):
        _, which, size = column.unique(return_inverse=True, return_counts=True)
        middle = size.cumsum(0) - (size - 1) / 2  # mean of the ranks 1…n of the equal ones
        columns.append(((2 * middle[which] - 1) / len(x) - 1) * 3**0.5)
    return torch.stack(columns, 1).to(x.dtype)


BOUNDS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "as they are": lambda x: x,
    "signed log": signed_log,
    "clip": clipped,
    "rank": ranked,
}


def bounded(patient: PatientTensors, bound: str) -> PatientTensors:
    """The patient with bounded views where valid; ranks are within the patient."""
    φ = torch.zeros_like(patient.φ)
    φ[patient.valid] = BOUNDS[bound](patient.φ[patient.valid])
    return replace(patient, φ=φ)


# --- training -------------------------------------------------------------------------------------


class MovingAverage:
    """Exponential moving average of a network's weights; young averages forget quicker."""

    def __init__(self, network: nn.Module, decay: float = DECAY):
        self.network, self.decay, self.steps = copy.deepcopy(network), decay, 0

    def update(self, network: nn.Module) -> None:
        self.steps += 1
        keep = min(self.decay, (1 + self.steps) / (10 + self.steps))
        with torch.no_grad():
            pairs = zip(self.network.parameters(), network.parameters(), strict=True)
            for mean, now in pairs:
                mean.lerp_(now, 1 - keep)


def mean_state(states: Sequence[Mapping[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """Weights that are the mean of those of several epochs."""
    return {name: torch.stack([s[name] for s in states]).mean(0) for name in states[0]}


Trace = dict[str, NDArray[Any]]
"""Over epochs: `loss`, and NEZ probabilities of all channels of `validation`, `test`, …"""


def run_trial(trial: Trial, patients: Patients) -> Trace:
    """Train by the paper's rule (to the end if `whole`), predict after every epoch."""
    fit = patients.pool[: trial.patients]
    standardizer = Standardizer.fit(fit)

    def tensors(cubes: Sequence[xr.Dataset]) -> list[PatientTensors]:
        return [bounded(as_tensors(cube, standardizer), trial.bound) for cube in cubes]

    settings: dict[str, Any] = dict(METHODS[trial.network].settings)
    settings["encoder"] = settings["encoder"] | {"dropout": trial.dropout}
    seed = branch_seed(trial.seed, settings["network"])
    network = build(lambda: untrained(settings, standardizer.mean.size), seed)
    if trial.attention is not None:
        for module in network.modules():
            if isinstance(module, ChannelAttention):
                module.dropout.cut = round(trial.attention * 65536)
    plan = PAPER.model_copy(
        update={"learning_rate": PAPER.learning_rate * trial.rate, "batch": trial.batch}
    )
    if trial.whole or not trial.stop:
        epochs = LONG_RUN if trial.whole else PAPER.epochs
        plan = plan.model_copy(update={"epochs": epochs, "patience": epochs})
    lesson = Lesson(tensors(fit), tensors(patients.validation), network.share, seed, plan)
    watched = {"validation": lesson.validation, "test": tensors(patients.test)}
    if trial.whole:
        watched["spare"] = tensors(patients.pool[trial.patients : 2 * trial.patients])
    return trained(network, lesson, watched, PAPER.epochs if trial.whole else 0)


def trained(
    network: Any, lesson: Lesson, watched: Mapping[str, Sequence[PatientTensors]], averaged: int = 0
) -> Trace:
    """The loop of `fit_network` with predictions of every epoch.

    averaged : in so many epochs also with averaged weights.
    """
    plan = lesson.plan
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=plan.learning_rate, weight_decay=plan.weight_decay
    )
    shuffle = np.random.default_rng(np.random.SeedSequence([lesson.seed, 1]))
    truth = labels(lesson.validation)
    average, states = MovingAverage(network), []
    trace: dict[str, list[Any]] = {}

    def epoch() -> float:
        network.train()
        order = shuffle.permutation(len(lesson.fit))
        losses = []
        for i in range(0, len(order), plan.batch):
            losses.append(_step(network, lesson, optimizer, order[i : i + plan.batch]))
            if averaged:
                average.update(network)
        return float(np.mean(losses))

    def watch(name: str, by: nn.Module, of: Sequence[PatientTensors]) -> list[Floats]:
        p = [predict(by, patient) for patient in of]
        trace.setdefault(name, []).append(np.concatenate([*p, np.zeros(0)]))
        return p

    def judge() -> tuple[tuple[float, ...], tuple[Any, ...]]:
        here = {name: watch(name, network, of) for name, of in watched.items()}
        done = len(trace["test"])
        if done <= averaged:
            for name in ("validation", "test"):
                watch(f"{name}, moving average", average.network, watched[name])
            states.append(copy.deepcopy(network.state_dict()))
            if done == averaged:
                mean = copy.deepcopy(network)
                mean.load_state_dict(mean_state(states[-LAST:]))
                for name in ("validation", "test"):
                    watch(f"{name}, mean of last", mean, watched[name])
        return select_threshold(here["validation"], truth)[1], ()

    schedule = Schedule(plan.epochs, plan.patience, plan.least_epochs)
    rows = train_epochs(network, epoch, judge, schedule)
    return {"loss": np.array([line[1] for line in rows])} | {
        name: np.array(values) for name, values in trace.items()
    }


def labels(of: Sequence[PatientTensors]) -> list[NDArray[np.bool_]]:
    return [p.is_ez[p.seen].numpy() for p in of if p.is_ez is not None]


def truth_of(cubes: Sequence[xr.Dataset]) -> list[NDArray[np.bool_]]:
    """Labels of the seen channels, as `labels`."""
    return [c["is_ez"].values[c["valid"].values.any(axis=(0, 1))] for c in cubes]


# --- choosing an epoch, and scores ----------------------------------------------------------------


def apart(p: Floats, truth: Sequence[NDArray[np.bool_]]) -> list[Floats]:
    """The channels of each patient."""
    return np.split(p, np.cumsum([len(t) for t in truth])[:-1])


def stopped(reached: Sequence[Any], epochs: int, patience: int, least: int) -> int:
    """The epoch (from 0) that the paper's rule keeps: the best yet when patience ends."""
    best = 0
    for number in range(1, min(epochs, len(reached))):
        if number >= least and number - 1 - best >= patience:
            break
        if reached[number] > reached[best]:
            best = number
    return best


def mean_auroc(p: Sequence[Floats], truth: Sequence[NDArray[np.bool_]]) -> float:
    values = [ranking_metrics(a, ez)["auroc"] for a, ez in zip(p, truth, strict=True)]
    return float(np.nanmean(values))


def cross_entropy(p: Sequence[Floats], truth: Sequence[NDArray[np.bool_]]) -> float:
    """Mean over patients; larger is worse."""
    each = [
        -np.log(np.clip(np.where(ez, 1 - a, a), 1e-7, 1)).mean()
        for a, ez in zip(p, truth, strict=True)
    ]
    return float(np.mean(each))


def read(
    trace: Trace, readout: str, truth: Mapping[str, list[NDArray[np.bool_]]]
) -> tuple[int, dict[str, Floats]]:
    """Chosen epoch (from 1), and AUROC and Macro-F1 of every test patient."""
    of = ""
    if readout in {"moving average", "mean of last"}:
        of = f", {readout}"
    validation = [apart(p, truth["validation"]) for p in trace[f"validation{of}"]]
    test = [apart(p, truth["test"]) for p in trace[f"test{of}"]]
    epochs = LONG_RUN if "100" in readout else PAPER.epochs
    validation = validation[:epochs]
    reached = [select_threshold(p, truth["validation"])[1] for p in validation]
    if readout == "AUROC":
        chosen = int(np.argmax([mean_auroc(p, truth["validation"]) for p in validation]))
    elif readout == "cross-entropy":
        chosen = int(np.argmin([cross_entropy(p, truth["validation"]) for p in validation]))
    elif readout in {"last", "last of 100", "mean of last"}:
        chosen = len(validation) - 1
    else:
        patience = epochs if "Macro-F1" in readout else PAPER.patience
        chosen = stopped(reached, epochs, patience, PAPER.least_epochs)
    threshold, _ = select_threshold(validation[chosen], truth["validation"])
    epoch = PAPER.epochs if readout == "mean of last" else chosen + 1
    return epoch, scores(test[chosen], truth["test"], threshold)


def scores(
    p: Sequence[Floats], truth: Sequence[NDArray[np.bool_]], threshold: float
) -> dict[str, Floats]:
    """Of every patient; AUROC is NaN where a class is missing."""
    auroc, macro = [], []
    for a, ez in zip(p, truth, strict=True):
        called = a < threshold
        counts = (called & ez, called & ~ez, ~called & ez, ~called & ~ez)
        auroc.append(ranking_metrics(a, ez)["auroc"])
        macro.append(float(confusion_metrics(*(c.sum() for c in counts))["macro_f1"]))
    return {"auroc": np.array(auroc), "macro_f1": np.array(macro)}


def difference(a: Floats, b: Floats, draws: int = DRAWS) -> tuple[float, float, float]:
    """Mean of a - b over patients in whom both are defined, and its 95 % bootstrap interval."""
    d = np.asarray(a, np.float64) - np.asarray(b, np.float64)
    d = d[np.isfinite(d)]
    low, high = interval(bootstrap(d, draws, 0))
    return float(d.mean()), float(low), float(high)


def verdict(what: str, found: tuple[float, float, float]) -> str:
    """One conclusion."""
    mean, low, high = found
    if not (mean or low or high):
        return f"{what}: the very same scores"
    span = f"{mean:+.3f} (95 % {low:+.3f} to {high:+.3f})"
    if low <= 0 <= high:
        return f"{what}: no difference beyond chance, {span}"
    return f"{what}: {'better' if mean > 0 else 'worse'} by {span}"


def selection_draws(
    trace: Trace, truth: Mapping[str, list[NDArray[np.bool_]]], draws: int = 500
) -> dict[str, Floats]:
    """Test AUROC and Macro-F1 if other 13 patients had chosen the epoch of 30, and the threshold.

    Draws of 13 among validation and spare patients, none of which was learned from. Returns per
    criterion (draw, metric).
    """
    who = [*truth["validation"], *truth["spare"]]
    both = np.hstack([trace["validation"], trace["spare"]])[: PAPER.epochs]
    parts = [apart(p, who) for p in both]
    macro = np.array([grid_metrics(p, who)["macro_f1"] for p in parts])  # (epoch, patient, grid)
    auroc = np.array(
        [[ranking_metrics(a, ez)["auroc"] for a, ez in zip(p, who, strict=True)] for p in parts]
    )
    tested = [apart(p, truth["test"]) for p in trace["test"][: PAPER.epochs]]
    test_auroc = np.array([mean_auroc(p, truth["test"]) for p in tested])
    test_macro = np.array([grid_metrics(p, truth["test"])["macro_f1"].mean(0) for p in tested])
    rng = np.random.default_rng(0)
    found: dict[str, list[tuple[float, float]]] = {k: [] for k in ("paper", "AUROC", "last")}
    for _ in range(draws):
        some = rng.choice(len(who), VALIDATION, replace=False)
        level = macro[:, some].mean(1)  # (epoch, grid)
        chosen = {
            "paper": stopped(level.max(1), PAPER.epochs, PAPER.patience, PAPER.least_epochs),
            "AUROC": int(np.nanmean(auroc[:, some], axis=1).argmax()),
            "last": len(level) - 1,
        }
        for name, epoch in chosen.items():
            found[name].append((test_auroc[epoch], test_macro[epoch, level[epoch].argmax()]))
    return {name: np.array(values) for name, values in found.items()}


# --- heavy tails ----------------------------------------------------------------------------------


def tails(cubes: Sequence[xr.Dataset]) -> list[dict[str, Any]]:
    """How far the views of fit patients reach, and what one of them leaves to the others."""
    standardizer = Standardizer.fit(cubes)
    raw, φ = [], []
    for cube in cubes:
        valid = cube["valid"].values
        raw.append(np.abs(views(cube).sel(view="z_delta").values[valid]))
        φ.append(standardizer.transform(cube).values[valid])
    z, x = np.concatenate(raw), np.concatenate(φ)
    rows = [
        row("Z-Δ before standardizing: largest", z.max(), ""),
        row("Z-Δ before standardizing: above 1,000, of a million", 1e6 * (z > 1000).mean(), ""),
    ]
    for i, view in enumerate(VIEWS):
        rows.append(row(f"{view}, standardized: largest", np.abs(x[:, i]).max(), "SD"))
        rows.append(row(f"{view}: beyond 5 SD", 100 * (np.abs(x[:, i]) > 5).mean(), "%"))
        inner = np.subtract(*np.percentile(x[:, i], [75, 25], axis=0)).mean()
        rows.append(row(f"{view}: quartiles apart, mean of descriptors", inner, "SD"))
    flat = x.reshape(len(x), -1)
    share = (flat - flat.mean(1, keepdims=True)) ** 2
    most = share.max(1) / share.sum(1)
    rows.append(
        row("windows in which one view has half the variance", 100 * (most > 0.5).mean(), "%")
    )
    return rows


# --- the program ----------------------------------------------------------------------------------


def say(text: str) -> None:
    print(f"learning: {text}", file=sys.stderr, flush=True)


@dataclass
class Bench:
    """Trainings, each done once; none is begun after `until`."""

    patients: Patients
    folder: Path
    until: float

    def trace(self, trial: Trial) -> Trace | None:
        path = self.folder / f"{trial.network}-{trial.key}.npz"
        if not path.exists():
            if time.monotonic() > self.until:
                return None
            start = time.monotonic()
            found = run_trial(trial, self.patients)
            self.folder.mkdir(parents=True, exist_ok=True)
            partial = path.with_suffix(".part.npz")
            np.savez(partial, **found)
            partial.replace(path)
            took = time.monotonic() - start
            say(f"{trial}: {len(found['loss'])} epochs in {took:.0f} s")
        with np.load(path) as stored:
            return dict(stored)


@dataclass(frozen=True)
class Place:
    """Where patients and trainings are kept, and how many patients there are to learn from."""

    shape: str
    patients: int
    folder: Path
    until: float


@cache
def bench_at(place: Place) -> Bench:
    """Every process reads the patients once."""
    patients = make_cubes(place.shape, place.patients, place.folder / "cubes")
    return Bench(patients, place.folder / place.shape, place.until)


def train_at(task: tuple[Place, Trial]) -> None:
    place, trial = task
    with one_thread_each():
        bench_at(place).trace(trial)


def compared(
    bench: Bench, network: str, rows: Sequence[Row], seeds: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """The paper's setting, then every row beside it; a patient's value is the mean over seeds."""
    truth = {"validation": truth_of(bench.patients.validation)}
    truth["test"] = truth_of(bench.patients.test)
    truth["spare"] = truth_of(bench.patients.pool[FIT : 2 * FIT])

    def values(line: Row) -> tuple[float, dict[str, Floats]] | None:
        epochs, each = [], []
        for seed in seeds:
            trace = bench.trace(trial_of(line, network, seed))
            if trace is None:
                return None
            epoch, found = read(trace, line.readout, truth)
            epochs.append(epoch)
            each.append(found)
        return float(np.mean(epochs)), {k: np.mean([e[k] for e in each], 0) for k in each[0]}

    paper = values(Row("paper", "the paper's setting", WHOLE))
    if paper is None:
        yield {"comparison": "paper", "network": network, "missing": True, "label": "all rows"}
        return
    for line in (Row("paper", "the paper's setting", WHOLE), *rows):
        found = values(line)
        about = {"comparison": line.comparison, "network": network, "label": line.label}
        if found is None:
            yield about | {"missing": True}
            continue
        epoch, metrics = found
        for metric, reached in metrics.items():
            unlike = difference(reached, paper[1][metric])
            yield about | {
                "metric": metric,
                "epoch": epoch,
                "reached": float(np.nanmean(reached)),
                "difference": unlike,
            }
    yield from curve(bench, network, seeds[0], truth)


def curve(
    bench: Bench, network: str, seed: int, truth: Mapping[str, list[NDArray[np.bool_]]]
) -> Iterator[dict[str, Any]]:
    """Epoch by epoch of the paper's setting, and the epoch as other validation patients choose."""
    trace = bench.trace(Trial(network, seed, whole=True))
    if trace is None:
        return
    for epoch in (1, 2, 5, 10, 20, 30, 50, 70, 100):
        test = apart(trace["test"][epoch - 1], truth["test"])
        validation = apart(trace["validation"][epoch - 1], truth["validation"])
        threshold, reached = select_threshold(validation, truth["validation"])
        found = scores(test, truth["test"], threshold)
        yield {
            "curve": epoch,
            "network": network,
            "loss": float(trace["loss"][epoch - 1]),
            "validation_macro_f1": reached[0],
            "validation_auroc": mean_auroc(validation, truth["validation"]),
            "auroc": float(np.nanmean(found["auroc"])),
            "macro_f1": float(found["macro_f1"].mean()),
        }
    drawn = selection_draws(trace, truth)
    for name, values in drawn.items():
        for i, metric in enumerate(METRICS):
            low, high = np.percentile(values[:, i], [2.5, 97.5])
            less = values[:, i] - drawn["paper"][:, i]
            yield {
                "chosen_by": name,
                "network": network,
                "metric": metric,
                "mean": float(values[:, i].mean()),
                "low": float(low),
                "high": float(high),
                "less_paper": (float(less.mean()), *map(float, np.percentile(less, [2.5, 97.5]))),
            }


def table(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Lines to print: table, curves, conclusions, what was not run."""
    found = [{**r, "network": NETWORKS[r["network"]]} for r in found]
    known = [r for r in found if "difference" in r]
    yield "| network | changed | epoch | AUROC | difference | Macro-F1 | difference |"
    yield "|---|---|---|---|---|---|---|"
    for a, m in zip(known[::2], known[1::2], strict=True):
        spans = ["{:+.3f} ({:+.3f} to {:+.3f})".format(*r["difference"]) for r in (a, m)]
        if a["comparison"] == "paper":
            spans = ["", ""]
        yield (
            f"| {a['network']} | {a['label']} | {a['epoch']:g} | {a['reached']:.3f} | {spans[0]} "
            f"| {m['reached']:.3f} | {spans[1]} |"
        )
    yield ""
    yield "| network | epoch | loss | validation Macro-F1 | validation AUROC | AUROC | Macro-F1 |"
    yield "|---|---|---|---|---|---|---|"
    for r in found:
        if "curve" in r:
            names = ("loss", "validation_macro_f1", "validation_auroc", "auroc", "macro_f1")
            cells = " | ".join(f"{r[name]:.3f}" for name in names)
            yield f"| {r['network']} | {r['curve']} | {cells} |"
    yield ""
    for r in found:
        if "chosen_by" in r:
            yield (
                f"- {r['network']}, epoch by {r['chosen_by']} on {VALIDATION} patients drawn from "
                f"{VALIDATION + FIT}: test {METRICS[r['metric']]} {r['mean']:.3f} (95 % of draws "
                f"{r['low']:.3f} to {r['high']:.3f})"
            )
            if r["chosen_by"] != "paper":
                yield "  less the paper's rule: {:+.3f} ({:+.3f} to {:+.3f})".format(
                    *r["less_paper"]
                )
    for r in known:
        if r["comparison"] != "paper":
            what = f"{r['network']}, {r['label']}, {METRICS[r['metric']]}"
            yield f"- {verdict(what, r['difference'])}"
    for r in found:
        if "missing" in r:
            yield f"- not run: {r['network']}, {r['label']}"


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks learning")
    known = list(dict.fromkeys(r.comparison for r in ROWS))
    parser.add_argument("--only", action="append", choices=known, help="one comparison")
    parser.add_argument("--folder", type=Path, help="keep patients and trainings here, and resume")
    parser.add_argument("--large", action="store_true", help="also 160 and 320 fit patients")
    parser.add_argument("--shape", default="demo", choices=sorted(SHAPES), help="of the cohorts")
    parser.add_argument("--seeds", type=int, default=1, help="trainings per row")
    parser.add_argument("--jobs", type=int, default=1, help="trainings side by side")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin none after")
    return parser.parse_args(arguments)


def measure(*arguments: str) -> list[dict[str, Any]]:
    chosen = options(arguments)
    until = time.monotonic() + 60 * chosen.minutes
    rows = [
        r for r in ROWS + LARGE * chosen.large if r.comparison in (chosen.only or [r.comparison])
    ]
    most = max([2 * FIT, *(r.changes.get("patients", 0) for r in rows)])
    seeds = [42 + 10 * i for i in range(chosen.seeds)]
    with tempfile.TemporaryDirectory() as temporary:
        place = Place(chosen.shape, most, chosen.folder or Path(temporary), until)
        bench = bench_at(place)
        patients = bench.patients
        # Row by row, so that a limit of time leaves both networks with the same rows.
        lines = [Row("paper", "", WHOLE), *rows]
        trials = [trial_of(r, n, seed) for r in lines for n in NETWORKS for seed in seeds]
        tasks = [(place, trial) for trial in dict.fromkeys(trials)]
        for _ in map_jobs(train_at, tasks, chosen.jobs, lambda task: str(task[1])):
            pass
        found = [r for network in NETWORKS for r in compared(bench, network, rows, seeds)]
        reach = tails(patients.pool[:FIT])
    print(*(line.replace(" -", " −").replace("(-", "(−") for line in table(found)), sep="\n")
    return reach + [written(r) for r in found if "missing" not in r]


def written(r: Mapping[str, Any]) -> dict[str, Any]:
    """A row of benchmarks/results/learning.json."""
    if "difference" in r:
        mean, low, high = r["difference"]
        line = row(f"{r['network']}, {r['label']}: {r['metric']}, difference", mean, "")
        return line | {"low": low, "high": high, "reached": r["reached"], "epoch": r["epoch"]}
    if "curve" in r:
        return row(f"{r['network']}, epoch {r['curve']}: auroc", r["auroc"], "") | dict(r)
    what = f"{r['network']}, epoch chosen by {r['chosen_by']}, 13 of 53: {r['metric']}"
    return row(what, r["mean"], "") | dict(r)
