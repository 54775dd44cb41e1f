"""PRQ-Net, BCR-Net, CDEL, and every ablation: rows that differ in one argument."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from epilens.core.provenance import resolve
from epilens.evidence.views import Standardizer
from epilens.methods import Method, Scorer, Training, evidence_counts
from epilens.networks.specs import BCRSpec, PRQSpec

if TYPE_CHECKING:
    from epilens.networks.encoder import PatientNetwork


def fit_branch(settings: Mapping[str, Any], training: Training) -> Scorer:
    """Standardize on fit patients, train, keep the epoch that validation patients prefer."""
    from epilens.networks.training import TrainingSetup, as_tensors, build, fit_network, predict

    standardizer = Standardizer.fit(training.fit)
    seed = branch_seed(training.seed, settings["network"])
    network = build(lambda: untrained(settings, standardizer.mean.size), seed)
    fit, validation = (
        [as_tensors(cube, standardizer) for cube in part]
        for part in (training.fit, training.validation)
    )
    setup = TrainingSetup(fit, validation, network.share, seed, training.plan.training)
    return Scorer(
        lambda cube: predict(network, as_tensors(cube, standardizer)),
        fit_network(network, setup),
        notes={"counts": evidence_counts([*training.fit, *training.validation])},
        tensors=_tensors(network, standardizer),
        # By name: code that explains scores does not change them, so it is not in the key.
        predictor=lambda: resolve("epilens.networks.branch:Branch")(network, standardizer),
    )


def branch_seed(seed: int, network: str) -> int:
    """The seed of a branch's own streams: weights, dropout, order of patients.

    Branches of one seed must not start alike; the ablations of a branch start as it does.
    """
    return int(np.random.SeedSequence([seed, *network.encode()]).generate_state(1)[0])


def untrained(settings: Mapping[str, Any], features: int) -> PatientNetwork:
    """The network of a row, for so many views × descriptors."""
    tree = dict(settings)
    network = resolve(tree.pop("network"))
    return network.of(tree | {"encoder": tree["encoder"] | {"features": features}})


def _tensors(network: Any, standardizer: Standardizer) -> dict[str, Any]:
    """Network and standardizer, for the checkpoint."""
    import torch

    scaling = {"mean": standardizer.mean, "scale": standardizer.scale}
    tensors = {f"standardizer.{key}": torch.from_numpy(v) for key, v in scaling.items()}
    return {k: v.contiguous() for k, v in network.state_dict().items()} | tensors


Ablation = tuple[str, str, str, Mapping[str, Any]]
"""Name, title, reference, and what differs from the full network."""


def _rows(network: str, spec: PRQSpec | BCRSpec, rows: Sequence[Ablation]) -> Iterator[Method]:
    """The full network and its ablations; a change of `encoder` leaves the rest of it."""
    settings: dict[str, Any] = {"network": network, **asdict(spec)}
    settings["encoder"].pop("features")  # of the patients
    for name, title, reference, changes in rows:
        encoder = settings["encoder"] | changes.get("encoder", {})
        yield Method(
            name,
            title,
            "cube",
            reference,
            fit_branch,
            {**settings, **changes, "encoder": encoder},
            sections=("training",),
            requires=("torch", "numba"),
        )


_TABLE, _QUANTILES, _RELEASED = "component ablation table", "quantile table", "released code"

ENTRIES = (
    *_rows(
        "epilens.networks.prq:PRQNet",
        PRQSpec(),
        (
            ("prq", "PRQ-Net", "Eqs. 11-13", {}),
            ("prq/base", "PRQ-Net: base, no residual", _TABLE, {"residual": False}),
            ("prq/temporal", "PRQ-Net: mean over seizures", _TABLE, {"aggregate": "mean"}),
            (
                "prq/absolute",
                "PRQ-Net without PRZ and RZ",
                _TABLE,
                {"encoder": {"relative": False}},
            ),
            ("prq/q05", "PRQ-Net: Q05", _QUANTILES, {"quantile": 0.05}),
            ("prq/q20", "PRQ-Net: Q20", _QUANTILES, {"quantile": 0.20}),
            ("prq/released", "PRQ-Net as released", _RELEASED, {"encoder": {"projection": True}}),
        ),
    ),
    *_rows(
        "epilens.networks.bcr:BCRNet",
        BCRSpec(),
        (
            ("bcr", "BCR-Net", "Eqs. 14-21", {}),
            ("bcr/base", "BCR-Net: BCE", _TABLE, {"boundary": 0.0, "coverage": 0.0}),
            (
                "bcr/q10",
                "BCR-Net: Q10 control",
                _TABLE,
                {"boundary": 0.0, "coverage": 0.0, "quantile_head": True},
            ),
            (
                "bcr/q10-residual",
                "BCR-Net: Q10 control, residual",
                _TABLE,
                {"boundary": 0.0, "coverage": 0.0, "quantile_residual": True},
            ),
            ("bcr/boundary", "BCR-Net: BCE + boundary", _TABLE, {"coverage": 0.0}),
            ("bcr/coverage", "BCR-Net: BCE + coverage", _TABLE, {"boundary": 0.0}),
            ("bcr/released", "BCR-Net as released", _RELEASED, {"encoder": {"projection": True}}),
        ),
    ),
    Method(
        name="cdel",
        title="CDEL",
        input="cube",
        reference="Eq. 9",
        fitter=None,
        settings={"weight": 0.20},
        parts=("prq", "bcr"),
    ),
)
