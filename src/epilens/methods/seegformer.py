"""SEEGformer: all channels of a window at once; inner folds choose its epochs and threshold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from epilens.methods import Method, Scorer, seen_channels
from epilens.methods.raw import usable
from epilens.plan import Plan, TracePlan
from epilens.thresholds import select_threshold

if TYPE_CHECKING:
    from epilens.methods._networks.seegformer import SEEGformer, Windows

FOLDS = 4
Trained = tuple["SEEGformer", list[tuple[int, float, float, bool]]]
"""A network and its epochs: number, loss, loss of held patients, whether it was the best yet."""
COLUMNS = ["fold", "epoch", "loss", "held_loss", "selected"]


def inner_folds(patients: int, seed: int) -> NDArray[np.intp]:
    """The inner fold of each patient: four of nearly equal size, fewer for fewer patients."""
    rng = np.random.default_rng(np.random.SeedSequence([seed, 2]))
    return rng.permutation(patients) % min(FOLDS, patients)


def final_epochs(best: Sequence[int]) -> int:
    """Median of the epochs that the inner folds chose; a half is rounded up."""
    return int(np.floor(np.median(best) + 0.5))


def as_windows(patient: xr.Dataset) -> Windows:
    """Traces of the seen channels; labels, where there are none, count as NEZ and are not used."""
    from epilens.methods._networks.seegformer import Windows

    seen, valid = seen_channels(patient), usable(patient)
    x = patient["trace"].values
    is_ez = patient["is_ez"].values if "is_ez" in patient else np.zeros(len(seen), bool)
    if not seen.all():
        x, valid, is_ez = x[:, :, seen], valid[..., seen], is_ez[seen]
    return Windows(x, valid, is_ez)


def _fit(
    fit: Sequence[xr.Dataset], validation: Sequence[xr.Dataset], seed: int, plan: Plan
) -> Scorer:
    """Inner folds over all outer-training patients, then a fresh network on all of them.

    A patient of the fit is scored by the inner network that has not seen it, any other by the
    final one: whatever `predict` returns is out of fold.
    """
    from epilens.methods._networks import seegformer as net
    from epilens.methods._networks import training

    patients = [*fit, *validation]
    names = [patient.attrs["patient"] for patient in patients]
    windows = [as_windows(patient) for patient in patients]
    folds = inner_folds(len(patients), seed)
    train = partial(_train, windows, plan.traces, seed)
    inner = [train(k, folds == k, plan.baselines.epochs) for k in range(max(folds) + 1)]
    best = [max(row[0] for row in rows if row[-1]) for _, rows in inner]
    final = train(FOLDS, folds < 0, final_epochs(best))
    unseen_by = {name: inner[k][0] for name, k in zip(names, folds, strict=True)}
    out_of_fold = [net.p_nez(unseen_by[n], w) for n, w in zip(names, windows, strict=True)]
    threshold, _ = select_threshold(out_of_fold, [w.is_ez for w in windows])

    def p_nez(patient: xr.Dataset) -> NDArray[np.float64]:
        network = unseen_by.get(patient.attrs["patient"], final[0])
        return net.p_nez(network, as_windows(patient))

    notes = {
        "inner_folds": {name: int(k) + 1 for name, k in zip(names, folds, strict=True)},
        "epochs": {"best_of_folds": best, "final": final_epochs(best)},
        "pos_weight": net.window_weight(windows),
        "smoke": plan.smoke,
        "architecture": _architecture(final[0]),
        "audit": audit(patients),
    }
    trained = {str(k + 1): done for k, done in enumerate(inner)} | {"all": final}
    history = [(fold, *row) for fold, (_, rows) in trained.items() for row in rows]
    return Scorer(
        p_nez,
        pd.DataFrame(history, columns=COLUMNS),
        threshold,
        notes | training.about(final[0]),
        tensors={
            k: v for fold, (n, _) in trained.items() for k, v in training.tensors(n, fold).items()
        },
        threshold_from="inner folds",
    )


def _train(
    windows: Sequence[Windows],
    traces: TracePlan,
    seed: int,
    fold: int,
    held: NDArray[np.bool_],
    epochs: int,
) -> Trained:
    """A network fitted on the patients that are not held; the held ones choose its epoch."""
    from epilens.methods._networks import seegformer as net
    from epilens.methods._networks import training

    parts = [[w for w, h in zip(windows, held, strict=True) if h == part] for part in (False, True)]
    with training.seeded(seed, fold):
        network = net.SEEGformer(traces.samples, traces.rate_hz)
        return network, net.fit_windows(network, *parts, (seed, fold), epochs)


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
    told: dict[str, dict[str, dict[str, Any]]] = {"patients": {}, "centers": {}, "modalities": {}}
    for patient in patients:
        mask = usable(patient)
        counts = {
            "seizures": int(mask.any((1, 2)).sum()),
            "windows": int(mask.any(2).sum()),
            "channels": int(seen_channels(patient).sum()),
            "ez_channels": int(patient["is_ez"].values[seen_channels(patient)].sum()),
        }
        groups = {key: str(patient.attrs.get(key, "unknown")) for key in ("center", "modality")}
        told["patients"][patient.attrs["patient"]] = groups | counts
        for kind, name in zip(("centers", "modalities"), groups.values(), strict=True):
            sums = Counter(told[kind].get(name, {})) + Counter(counts | {"patients": 1})
            told[kind][name] = {key: sums[key] for key in ("patients", *counts)}
    return told


ENTRIES = (
    Method(
        name="seegformer",
        title="SEEGformer",
        input="traces",
        reference="the paper",
        fitter=_fit,
        spec="FFT of twice the samples in 0.5-80 Hz (unitary), real, imaginary and amplitude "
        "branches of width 64, two post-norm blocks, 4 heads, MLP ratio 2, dropout 0.2, head 64 to "
        "32 to 1, softmax weights; AdamW 5e-4, weight decay 1e-4, batch 8 x 2, clip 1.0; 4 inner "
        "folds, patience 6 on their loss, median epoch, out-of-fold threshold; median of windows, "
        "then of seizures",
        reads=("baselines", "traces"),
    ),
)
