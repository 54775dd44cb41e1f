"""Checkpoints of a run on fewer seizures: nothing is fitted, no threshold is moved.

Which seizures are kept depends on the patient, their number and the repeat alone, so that all
models, seeds and folds see the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from epilens.analyses.tables import CORE
from epilens.core.decisions import fuse_scores
from epilens.core.errors import LedgerError
from epilens.evaluation.cell_folder import CellFolder
from epilens.evaluation.execution import one_thread
from epilens.evaluation.resampling import metrics_of_rows
from epilens.evaluation.run import Run, Subsets
from epilens.evidence.views import Standardizer
from epilens.methods import METHODS
from epilens.methods.epilens import untrained

if TYPE_CHECKING:
    from torch import Tensor

    from epilens.networks.encoder import PatientNetwork


CONDITIONS = {"one": 1, "two": 2, "all": None}
"""Number of seizures that each condition uses; None: all."""
REPEATS = 10
SUBSET_SEED = 0
BRANCHES = ("prq", "bcr")
TOLERANCE = 1e-5
"""Largest difference of p_nez through rounding on another processor; checkpoints differ more."""

Subset = tuple[int, ...]


def subsets(patient: str, seizures: Sequence[int], count: int | None) -> list[Subset]:
    """The seizures of each repeat: `count` of them; once all, where there is nothing to draw."""
    if count is None or count >= len(seizures):
        return [tuple(seizures)]
    drawn = []
    for repeat in range(REPEATS):
        # The patient's name, not its place in the cohort: another patient changes nothing.
        entropy = np.random.SeedSequence([SUBSET_SEED, count, repeat, *patient.encode()])
        chosen = np.random.default_rng(entropy).choice(len(seizures), count, replace=False)
        drawn.append(tuple(seizures[i] for i in sorted(chosen)))
    return drawn


def valid_seizures(cube: xr.Dataset) -> list[int]:
    """Seizures in which some channel is valid."""
    return np.flatnonzero(cube["valid"].any(["window", "channel"]).values).tolist()


@lru_cache(maxsize=4)
def matched_patients(run: Run) -> dict[str, list[int]]:
    """Patients with two valid seizures or more, and which these are."""
    seizures_of = {name: valid_seizures(run.cube(name)) for name in run.setting["patients"]}
    return {patient: seizures for patient, seizures in seizures_of.items() if len(seizures) > 1}


def drawn_subsets(run: Run) -> dict[str, dict[str, list[Subset]]]:
    """Seizures of each repeat by matched patient and condition, as they are drawn today."""
    return {
        patient: {name: subsets(patient, seizures, n) for name, n in CONDITIONS.items()}
        for patient, seizures in matched_patients(run).items()
    }


def changed_subsets(run: Run) -> list[str]:
    """Patients whose subsets differ from those that the run recorded."""
    drawn, written = _named_subsets(run), run.subsets or {}
    return sorted(p for p in drawn | written if drawn.get(p) != written.get(p))


def _named_subsets(run: Run) -> Subsets:
    """Subsets by names of seizures: positions in the cube would hide a replaced seizure."""
    named: Subsets = {}
    for patient, conditions in drawn_subsets(run).items():
        names = run.cube(patient)["seizure"].values.tolist()
        named[patient] = {
            condition: [[names[i] for i in chosen] for chosen in repeats]
            for condition, repeats in conditions.items()
        }
    return named


def _keep_subsets(run: Run) -> None:
    """Record the subsets when they are first drawn; refuse others later."""
    if run.subsets is None:
        run.write_subsets(_named_subsets(run))
    if changed := changed_subsets(run):
        raise LedgerError(
            f"cross-seizure: expected the seizures that {run.folder} wrote down when they were "
            f"first drawn, found others for {len(changed)} patients: {', '.join(changed[:5])}. "
            "Find out what changed; to draw again, remove its subsets.json."
        )


def subset_scores(run: Run) -> pd.DataFrame:
    """Metrics of the three models by patient, seed and condition, averaged over repeats."""
    if not matched_patients(run):
        raise LedgerError(
            "cross-seizure: expected patients with two seizures or more, found none in "
            f"{run.cubes}."
        )
    _keep_subsets(run)
    return _scores_of_subsets(run)


@lru_cache(maxsize=4)
def _scores_of_subsets(run: Run) -> pd.DataFrame:
    drawn, rows = drawn_subsets(run), []
    test = run.split[run.split["partition"] == "test"]
    with one_thread():
        for fold, part in test.groupby("fold", sort=False):
            cells = [
                FoldNetworks.open(run, seed, str(fold)) for seed in run.ledger["seed"].unique()
            ]
            for patient in (name for name in part["patient"] if name in drawn):
                cube = run.cube(patient)
                for cell in cells:
                    rows += cell.rate(run, cube, drawn[patient])
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class FoldNetworks:
    """Both branches of one seed and fold, and the thresholds of the three models."""

    seed: int
    networks: dict[str, tuple[PatientNetwork, Standardizer]]
    thresholds: dict[str, float]

    @classmethod
    def open(cls, run: Run, seed: int, fold: str) -> FoldNetworks:
        """Checkpoints and thresholds of a run."""
        rows = run.ledger[(run.ledger["seed"] == seed) & (run.ledger["fold"] == fold)]
        thresholds = rows.groupby("method")["threshold"].first()
        networks = {name: _open_network(name, run.cell(name, seed, fold)) for name in BRANCHES}
        return cls(int(seed), networks, {name: float(thresholds[name]) for name in CORE})

    def rate(
        self, run: Run, cube: xr.Dataset, chosen: Mapping[str, Sequence[Subset]]
    ) -> Iterator[dict[str, Any]]:
        """Metrics of each model and condition, averaged over its repeats."""
        embedded = {name: _embed(*network, cube) for name, network in self.networks.items()}

        @cache
        def p_nez(subset: Subset) -> dict[str, np.ndarray]:
            scores = {
                name: _decide(network, *embedded[name], list(subset))
                for name, (network, _) in self.networks.items()
            }
            return scores | {"cdel": fuse_scores(scores["prq"], scores["bcr"])}

        _check_same(run, self.seed, cube, p_nez(tuple(range(cube.sizes["seizure"]))))
        about = {"patient": cube.attrs["patient"], "seed": self.seed}
        for condition, repeats in chosen.items():
            for method, threshold in self.thresholds.items():
                # A subset that is drawn twice counts twice, but is computed once.
                rated = {s: _rate(p_nez(s)[method], cube, threshold) for s in set(repeats)}
                metrics = pd.DataFrame([rated[s] for s in repeats]).mean().to_dict()
                yield about | {"seizures": condition, "method": method} | metrics


def _open_network(branch: str, cell: CellFolder) -> tuple[PatientNetwork, Standardizer]:
    """A trained network and its standardizer, from the checkpoint of a cell."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        tensors = load_file(cell.checkpoint)
        mean, scale = (tensors.pop(f"standardizer.{part}").numpy() for part in ("mean", "scale"))
        network = untrained(METHODS[branch].settings, mean.size)
        network.load_state_dict(tensors)
    except (OSError, SafetensorError, KeyError, RuntimeError) as error:
        raise LedgerError(
            f"{cell.checkpoint}: expected the checkpoint of {branch}, found none that can be read "
            f"({type(error).__name__}). Remove this cell and run again."
        ) from None
    return network, Standardizer(mean, scale)


def _rate(p_nez: np.ndarray, cube: xr.Dataset, threshold: float) -> dict[str, float]:
    """Every metric of the channels that these seizures show."""
    scored = ~np.isnan(p_nez)
    rated = metrics_of_rows(p_nez[scored][None], cube["is_ez"].values[scored], threshold)
    return {name: float(value[0]) for name, value in rated.items()}


def _embed(
    network: PatientNetwork, scaling: Standardizer, cube: xr.Dataset
) -> tuple[Tensor, Tensor]:
    """Features z (S, C, D) of each seizure, and which seizures show a channel, m (S, C)."""
    import torch

    from epilens.networks.training import as_tensors

    patient = as_tensors(cube, scaling)
    network.eval()
    with torch.no_grad():
        return network.embed(patient.φ, patient.valid)


def _decide(network: PatientNetwork, z: Tensor, m: Tensor, kept: list[int]) -> np.ndarray:
    """Scores of all channels from some seizures; the others are ignored.

    The windows of a seizure do not depend on other seizures, so z is computed once and only the
    decision is repeated.
    """
    import torch

    z, m = z[kept], m[kept]
    with torch.no_grad():
        p = network.p_nez_of(z, m).numpy().astype(np.float64)
    return np.where(m.any(0).numpy(), p, np.nan)


def _check_same(run: Run, seed: int, cube: xr.Dataset, p_nez: dict[str, np.ndarray]) -> None:
    """Refuse checkpoints that do not give the ledger's scores from all seizures."""
    patient, names = cube.attrs["patient"], cube["channel"].values.tolist()
    for method in BRANCHES:
        in_ledger = _test_rows(run).loc[(method, seed, patient)]
        again = pd.Series(p_nez[method], names).loc[in_ledger.index]
        largest = float((again - in_ledger).abs().max())
        if not largest <= TOLERANCE:
            raise LedgerError(
                f"cross-seizure: expected the scores of {method}, seed {seed}, {patient} to be "
                f"those of the ledger, found a difference of {largest:.2g}. The checkpoints or "
                "cubes are not those of this run."
            )


@lru_cache(maxsize=4)
def _test_rows(run: Run) -> pd.Series:
    test = run.ledger[run.ledger["partition"] == "test"]
    return test.set_index(["method", "seed", "patient", "channel"])["p_nez"].sort_index()
