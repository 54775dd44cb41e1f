"""SEEGNet, trained from scratch on single-channel segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from epilens.methods.raw import Recipe, extended, single_channel
from epilens.plan import Plan

if TYPE_CHECKING:
    from epilens.methods._networks.seegnet import SEEGNet


def _network(plan: Plan) -> SEEGNet:
    from epilens.methods._networks.seegnet import SEEGNet

    return SEEGNet()


ENTRIES = (
    single_channel(
        "seegnet",
        "SEEGNet",
        Recipe(_network, batch=128, budget=extended),
        "Conv1D (51, 4), (17, 2), (3, 1) of 24 channels with BN and GELU, averaged to the coarsest "
        "steps, 1x1 to 96, dropout 0.5, 32 steps, BiLSTM 64, tanh attention, 128 to 1; lr 1e-3, "
        "batch 128, epochs extended by two thirds while improving by 0.002",
    ),
)
