"""Methods, one file per family: fit labelled patients, predict blind ones; one contract.

A method reads patients as datasets: the cube, and beside it what its `input` names (`traces` or
`signals`, see `epilens.evidence.cube.open_patient`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
import xarray as xr

from epilens.errors import MethodError
from epilens.plan import Plan
from epilens.provenance import code_digest
from epilens.registry import Registry


class Fitted(Protocol):
    """A fitted method."""

    history: pd.DataFrame
    """One row per epoch; empty for methods that have none."""
    threshold: float | None
    """Chosen by the method itself from fit and validation patients; None: by the protocol."""
    threshold_from: str
    """On what it was chosen: `validation patients` by default."""
    notes: Mapping[str, Any]
    """What else should be kept with the result: manifests, provenance, audits; JSON."""

    def predict(self, patients: Sequence[xr.Dataset]) -> pd.DataFrame:
        """NEZ probability of every valid channel of blind patients: patient, channel, p_nez."""
        ...

    def weights(self) -> Mapping[str, object]:
        """Tensors that make up the fitted method, by name, for the checkpoint; may be empty."""
        ...


FitFunction = Callable[[Sequence[xr.Dataset], Sequence[xr.Dataset], int, Plan], Fitted]


@dataclass(frozen=True)
class Method:
    """A row of the main table: what it is called, what it reads, how it is fitted."""

    name: str
    title: str
    input: str
    """`cube`, `traces` or `signals`."""
    reference: str
    fitter: FitFunction | None
    """(fit patients, validation patients, seed, plan) → Fitted; None: fused from `parts`."""
    spec: str
    """Everything that sets this row apart, as text: a changed spec is another method."""
    parts: tuple[str, ...] = ()
    """Methods whose ledgers are fused into this one."""
    reads: tuple[str, ...] = ()
    """Sections of the plan that change its numbers."""
    requires: tuple[str, ...] = ()
    """Packages beyond the base install."""
    pretrained: str = ""
    """Folder of pretrained weights that it starts from."""
    training_free: bool = False

    def fit(
        self, fit: Sequence[xr.Dataset], validation: Sequence[xr.Dataset], seed: int, plan: Plan
    ) -> Fitted:
        """Fit, if there is enough to learn from."""
        assert self.fitter is not None
        if gone := self.missing():
            raise MethodError(
                f"{self.name}: expected the packages {', '.join(self.requires)}, {gone} is not "
                "installed. Install them with `pip install 'epilens[raw]'`."
            )
        if not self.training_free:
            _check_partition(self.name, "fit", fit, least=2)
            _check_partition(self.name, "validation", validation, least=1)
        return self.fitter(fit, validation, seed, plan)

    def missing(self) -> str:
        """The first required package that is not installed."""
        return next((name for name in self.requires if find_spec(name) is None), "")


def _check_partition(who: str, what: str, patients: Sequence[xr.Dataset], least: int) -> None:
    purpose = {"fit": "learn from", "validation": "choose a threshold on"}[what]
    if len(patients) < least:
        raise MethodError(
            f"{who}: expected {least} or more patients to {purpose}, found "
            f"{len(patients)}. Add patients, or use a training-free method."
        )
    for patient in patients:
        if "is_ez" not in patient:
            raise MethodError(
                f"{who}: expected EZ labels for every {what} patient, found none for "
                f"{patient.attrs['patient']}."
            )
    if what == "fit":
        flags = np.concatenate([seen_labels(patient) for patient in patients])
        if flags.all() or not flags.any():
            raise MethodError(
                f"{who}: expected EZ and NEZ channels among the fit patients, found only "
                f"{'EZ' if flags.all() else 'NEZ'}. Check the labels."
            )


def seen_channels(patient: xr.Dataset) -> np.ndarray:
    """Which channels (channel) are valid in some window of some seizure: those that get a score."""
    return patient["valid"].any(["seizure", "window"]).values


def seen_labels(patient: xr.Dataset) -> np.ndarray:
    """EZ labels of the seen channels."""
    return patient["is_ez"].values[seen_channels(patient)]


def score_rows(patient: xr.Dataset, p_nez: np.ndarray) -> pd.DataFrame:
    """Rows of `predict` for one patient, from the scores of its seen channels."""
    names = patient["channel"].values[seen_channels(patient)]
    return pd.DataFrame({"patient": patient.attrs["patient"], "channel": names, "p_nez": p_nez})


NO_HISTORY = pd.DataFrame({"epoch": pd.Series(dtype=int)})


VALIDATION = "validation patients"


@dataclass
class Scorer:
    """A fitted method that is a function of one patient: seen channels' p_nez."""

    p_nez: Callable[[xr.Dataset], np.ndarray]
    history: pd.DataFrame = field(default_factory=NO_HISTORY.copy)
    threshold: float | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
    threshold_from: str = VALIDATION
    tensors: Mapping[str, object] = field(default_factory=dict)

    def predict(self, patients: Sequence[xr.Dataset]) -> pd.DataFrame:
        """One row per seen channel."""
        return pd.concat([score_rows(p, self.p_nez(p)) for p in patients], ignore_index=True)

    def weights(self) -> Mapping[str, object]:
        """Tensors for the checkpoint."""
        return self.tensors


_known: dict[tuple[Any, ...], np.ndarray] = {}


def once_per_patient(
    settings: object, p_nez: Callable[[xr.Dataset], np.ndarray]
) -> Callable[[xr.Dataset], np.ndarray]:
    """Remember the scores of patients from a store: a training-free score is the same in all folds.

    Patients that were made in memory have no key and are computed each time.
    """

    def remembered(patient: xr.Dataset) -> np.ndarray:
        if "key" not in patient.attrs:
            return p_nez(patient)
        # Which channels and windows are there belongs to it: a selection keeps the store's key.
        there = (tuple(patient["channel"].values), patient["valid"].values.tobytes())
        key = (settings, patient.attrs["key"], hash(there))
        if key not in _known:
            _known[key] = p_nez(patient)
        return _known[key]

    return remembered


METHODS: Registry[Method] = Registry("epilens.methods", "method", "epilens.methods")


def stores_of(names: Sequence[str]) -> list[str]:
    """The stores beside the cubes that these methods read."""
    return sorted({METHODS[name].input for name in names} - {"cube"})


def method_inputs(name: str, plan: Plan) -> dict[str, Any]:
    """What a method's numbers come from beside the patients, as plain JSON."""
    method, tree = METHODS[name], plan.model_dump(mode="json")
    return {
        "settings": method.spec,
        "plan": {section: tree[section] for section in method.reads},
        "code": code_digest(METHODS.origin(name).module),
        "pretrained": _pretrained(plan, method.pretrained),
    }


def _pretrained(plan: Plan, name: str) -> list[str]:
    """Digests of the pretrained files that a method starts from: other weights, other numbers."""
    if not name:
        return []
    folder = Path(plan.baselines.pretrained) / name
    files = sorted(p for p in folder.glob("*") if p.suffix in (".json", ".safetensors"))
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
