"""Training-free scores beside real time, on 100 channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.timing import best, row
from epilens.evidence.signals import Piece
from epilens.methods.epileptogenicity_index import seizure_index
from epilens.methods.fragility import fragility_map
from epilens.plan import Plan

SECONDS, CHANNELS = 20, 100


def measure() -> list[dict[str, Any]]:
    plan, rng, rows = Plan(), np.random.default_rng(0), []
    for fs in (512.0, 1000.0):
        x = rng.normal(size=(CHANNELS, round(SECONDS * fs))).cumsum(axis=1).astype(np.float32)
        piece = Piece(x, fs, -SECONDS / 2, np.ones(CHANNELS, bool), 50.0)
        index = best(lambda piece=piece: seizure_index(piece, plan.epileptogenicity_index), 3)
        fragile = best(lambda x=x, fs=fs: fragility_map(x, fs, plan.fragility), 3)
        where = f"100 channels at {fs:g} Hz: faster than real time"
        rows += [
            row(f"Epileptogenicity Index, {where}", SECONDS / index, least=1),
            row(f"fragility, {where}", SECONDS / fragile, least=1),
        ]
    return rows
