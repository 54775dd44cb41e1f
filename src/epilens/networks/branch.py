"""A branch of CDEL in a model: a network and its standardizer behind the protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from epilens.core.types import Floats
from epilens.evidence.views import Standardizer, views
from epilens.networks.bcr import BCRNet
from epilens.networks.encoder import PatientNetwork
from epilens.networks.ensemble import in_parallel, single_precision
from epilens.networks.gradients import explain_networks
from epilens.networks.predictor import Arrays, Explanation, Layout, Predictor
from epilens.networks.prq import PRQNet
from epilens.networks.training import as_tensors, predict

NETWORKS: dict[str, type[PatientNetwork]] = {"prq": PRQNet, "bcr": BCRNet}
"""The branches of a member."""
_SCALING = (":mean", ":scale")


@dataclass(frozen=True)
class Branch(Predictor):
    """A network with the standardizer of its fit patients.

    It predicts in double precision, so that machines agree; its weights are single precision.
    """

    network: PatientNetwork
    standardizer: Standardizer

    def __post_init__(self) -> None:
        self.network.double().eval()

    def p_nez(self, patient: xr.Dataset) -> Floats:
        """NEZ probability of the valid channels."""
        return predict(self.network, as_tensors(patient, self.standardizer))

    def tensors(self) -> Arrays:
        """Weights in single precision, mean and scale of the standardizer."""
        weights = {k: v.float().numpy() for k, v in self.network.state_dict().items()}
        return weights | {":mean": self.standardizer.mean, ":scale": self.standardizer.scale}

    def spec(self) -> dict[str, Any]:
        """Sizes and settings of the network."""
        return asdict(self.network.spec)

    @classmethod
    def open(cls, tensors: Arrays, layout: Layout) -> Self:
        """A branch from the tensors of a model."""
        network = NETWORKS[layout.part].of(layout.spec)
        weights = {k: torch.from_numpy(v.copy()) for k, v in tensors.items() if k not in _SCALING}
        network.load_state_dict(weights)
        mean, scale = (tensors[name] for name in _SCALING)
        if not all(bool(np.isfinite(part).all()) for part in tensors.values()):
            raise ValueError("weights that are not finite")
        if mean.shape != (len(layout.views), len(layout.descriptors)):
            raise ValueError(
                f"means for {' x '.join(map(str, mean.shape))} (view, descriptor), but "
                f"descriptors {list(layout.descriptors)} and views {list(layout.views)}"
            )
        return cls(network, Standardizer(mean, scale))

    @classmethod
    def score_members(cls, members: Sequence[Self], patient: xr.Dataset) -> Floats:
        """Score with all branches, as many at a time as there are processors."""
        φ = views(patient)
        return np.array(in_parallel(lambda branch: branch.seizure_scores(patient, φ), members))

    def seizure_scores(self, patient: xr.Dataset, φ: xr.DataArray) -> Floats:
        """Scores from all seizures and from each alone; windows are embedded once, in float32."""
        network, tensors = self.network, as_tensors(patient, self.standardizer, φ)
        with torch.no_grad():
            z, m = single_precision(network).embed(tensors.φ, tensors.valid)
            z = z.double()
            alone = [network.p_nez_of(z[s : s + 1], m[s : s + 1]) for s in range(len(z))]
            return torch.stack([network.p_nez_of(z, m), *alone]).numpy()

    @classmethod
    def explain(
        cls, members: Sequence[tuple[Any, float]], patient: xr.Dataset, order: NDArray[np.int64]
    ) -> Explanation:
        """Integrated gradients of the first channels of `order`, as many as the budget allows."""
        networks = [(branch.network, branch.standardizer, weight) for branch, weight in members]
        return explain_networks(networks, patient, order)
