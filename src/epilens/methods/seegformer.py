"""SEEGformer: all channels of a window at once; inner folds choose its epochs and threshold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from epilens.core.types import Bools, Floats
from epilens.methods import Method, Scorer, Training, prediction_rows, seen_channels
from epilens.methods.segments import usable, with_segments, without_segments
from epilens.networks.specs import SEEGformerSpec, WindowTraining
from epilens.plan import Plan

if TYPE_CHECKING:
    from epilens.networks.raw.seegformer import SEEGformer, Windows

Trained = tuple["SEEGformer", list[tuple[Any, ...]]]
"""A network and its epochs: number, loss, held-out loss, whether it was the best yet."""
COLUMNS = ["fold", "epoch", "loss", "held_loss", "selected"]


@dataclass(frozen=True)
class SEEGformerSettings:
    """Layers, training and inner folds; epochs at most are the plan's."""

    layers: SEEGformerSpec
    training: WindowTraining
    folds: int = 4


def inner_folds(patients: int, seed: int, folds: int = 4) -> NDArray[np.intp]:
    """The inner fold of each patient: of nearly equal size, fewer for fewer patients."""
    rng = np.random.default_rng(np.random.SeedSequence([seed, 2]))
    return rng.permutation(patients) % min(folds, patients)


def final_epochs(best: Sequence[int]) -> int:
    """Median of the epochs that the inner folds chose; a half is rounded up."""
    return int(np.floor(np.median(best) + 0.5))


def as_windows(patient: xr.Dataset) -> Windows:
    """Traces of the seen channels; labels, where there are none, count as NEZ and are not used."""
    from epilens.networks.raw.seegformer import Windows

    seen, valid = seen_channels(patient), usable(patient)
    x = patient["trace"].values
    is_ez = patient["is_ez"].values if "is_ez" in patient else np.zeros(len(seen), bool)
    if not seen.all():
        x, valid, is_ez = x[:, :, seen], valid[..., seen], is_ez[seen]
    return Windows(x, valid, is_ez)


@dataclass(frozen=True)
class Trainer:
    """Networks that are fitted on some of the outer-training patients."""

    settings: SEEGformerSettings
    windows: Sequence[Windows]
    """Windows of all outer-training patients."""
    seed: int
    plan: Plan

    def train(self, fold: int, held_out: Bools, epochs: int) -> Trained:
        """Fit on the patients that are not held out; the held-out ones choose the epoch."""
        from epilens.networks.raw import seegformer as net
        from epilens.networks.raw import steps

        fit, others = (
            [w for w, h in zip(self.windows, held_out, strict=True) if h == part]
            for part in (False, True)
        )
        traces, training, seed = self.plan.traces, self.settings.training, (self.seed, fold)
        with steps.seeded(*seed):
            network = net.SEEGformer(traces.samples, traces.rate_hz, self.settings.layers)
            return network, net.fit_windows(network, (fit, others), training, epochs, seed)


def fit_seegformer(settings: SEEGformerSettings, training: Training) -> Scorer:
    """Inner folds over all outer-training patients, then a fresh network on all of them.

    A patient of the fit is scored by the inner network that has not seen it, any other by the
    final one: whatever `predict` returns is out of fold.
    """
    from epilens.networks.raw import seegformer as net
    from epilens.networks.raw import steps

    everyone, plan = [*training.fit, *training.validation], training.plan
    # Who shows no window at all would leave an inner fold without a loss.
    patients, lost = with_segments(everyone, least=2), without_segments(everyone)
    names = [patient.attrs["patient"] for patient in patients]
    windows = [as_windows(patient) for patient in patients]
    folds = inner_folds(len(patients), training.seed, settings.folds)
    train = Trainer(settings, windows, training.seed, plan).train
    inner = [train(k, folds == k, plan.baselines.epochs) for k in range(max(folds) + 1)]
    best = [max(row[0] for row in rows if row[-1]) for _, rows in inner]
    final = train(settings.folds, folds < 0, final_epochs(best))
    unseen_by = {name: inner[k][0] for name, k in zip(names, folds, strict=True)}
    scores = [
        prediction_rows(patient, net.p_nez(unseen_by[name], w)).assign(is_ez=w.is_ez)
        for patient, name, w in zip(patients, names, windows, strict=True)
    ]

    def p_nez(patient: xr.Dataset) -> Floats:
        lost.update(without_segments([patient]))
        network = unseen_by.get(patient.attrs["patient"], final[0])
        return net.p_nez(network, as_windows(patient))

    trained = {str(k + 1): done for k, done in enumerate(inner)} | {"all": final}
    history = [(fold, *row) for fold, (_, rows) in trained.items() for row in rows]
    notes = {
        "inner_folds": {name: int(k) + 1 for name, k in zip(names, folds, strict=True)},
        "epochs": {"best_of_folds": best, "final": final_epochs(best)},
        "pos_weight": net.window_weight(windows),
        "smoke": plan.smoke,
        "architecture": _architecture(final[0]),
        "audit": audit(everyone),
        "without_segments": lost,  # those of patients that are predicted are added
    }
    return Scorer(
        p_nez,
        pd.DataFrame(history, columns=COLUMNS),
        notes=notes | steps.about(final[0]),
        tensors={
            k: v for fold, (n, _) in trained.items() for k, v in steps.tensors(n, fold).items()
        },
        threshold_from="inner folds",
        threshold_scores=pd.concat(scores, ignore_index=True),
    )


def _architecture(network: SEEGformer) -> dict[str, Any]:
    return {
        "published": "tri-branch frequency-domain Transformer over channels (SEEGformer): spectra "
        "of twice the samples, post-norm blocks with ReLU, one patient at a time",
        "adaptation": "across patients: no channel positions, channel mask, one logit per channel "
        "in place of one per window, softmax weights of the branches",
        "layers": network.layers(),
    }


def audit(patients: Sequence[xr.Dataset]) -> dict[str, dict[str, dict[str, Any]]]:
    """What the network was given: counts of every patient, and their sums by center and modality.

    Center and modality are recorded here and nowhere given to the network.
    """
    table: dict[str, dict[str, dict[str, Any]]] = {"patients": {}, "centers": {}, "modalities": {}}
    for patient in patients:
        mask = usable(patient)
        counts = {
            "seizures": int(mask.any((1, 2)).sum()),
            "windows": int(mask.any(2).sum()),
            "channels": int(seen_channels(patient).sum()),
            "ez_channels": int(patient["is_ez"].values[seen_channels(patient)].sum()),
        }
        groups = {key: str(patient.attrs.get(key, "unknown")) for key in ("center", "modality")}
        table["patients"][patient.attrs["patient"]] = groups | counts
        for kind, name in zip(("centers", "modalities"), groups.values(), strict=True):
            sums = Counter(table[kind].get(name, {})) + Counter(counts | {"patients": 1})
            table[kind][name] = {key: sums[key] for key in ("patients", *counts)}
    return table


ENTRIES = (
    Method(
        name="seegformer",
        title="SEEGformer",
        input="traces",
        reference="the paper",
        fitter=fit_seegformer,
        settings=SEEGformerSettings(SEEGformerSpec(), WindowTraining()),
        sections=("baselines", "traces"),
        requires=("torch",),
    ),
)
