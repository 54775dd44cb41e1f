"""What each measure buys in training: random bits, blocks, patients apart, processes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any
from unittest import mock

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from benchmarks.networks import training_step
from benchmarks.timing import row, side_by_side
from epilens.compute.local import reuse_memory
from epilens.networks import encoder
from epilens.networks.ensemble import one_thread_each
from epilens.networks.prq import PRQNet
from epilens.networks.training import build

SHAPES = ((2, 60), (3, 95), (4, 80), (1, 150))
"""Seizures and channels of four patients of one step."""


def _patient(seizures: int, channels: int, padded: tuple[int, int] | None = None) -> Any:
    S, C = padded or (seizures, channels)
    rng = np.random.default_rng(0)
    φ = torch.from_numpy(rng.normal(size=(S, 59, C, 36)).astype(np.float32))
    valid = torch.zeros(S, 59, C, dtype=torch.bool)
    valid[:seizures, :, :channels] = True
    return φ, valid, torch.arange(C) < 10


def _steps(padded: bool) -> Callable[[], None]:
    largest = tuple(max(shape[i] for shape in SHAPES) for i in (0, 1)) if padded else None
    steps = [training_step(build(PRQNet, 0), *_patient(*shape, largest)) for shape in SHAPES]
    return lambda: [step() for step in steps] and None


def _by_torch(self: Any, count: int) -> np.ndarray:
    words = torch.empty(-(-count // 4), dtype=torch.int64).random_()
    return words.numpy().view(np.uint16)[:count]


def _worker(threads: int) -> None:
    torch.set_num_threads(threads)
    reuse_memory()
    step = training_step(build(PRQNet, 0), *_patient(3, 95))
    with threadpool_limits(threads, "blas"):
        for _ in range(20):
            step()


def _processes(jobs: int, threads: int) -> Callable[[], None]:
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
    list(pool.map(_worker, [threads] * jobs))  # starting them is not measured
    # Forty steps in all, however many processes share them.
    return lambda: list(pool.map(_worker, [threads] * 2)) and None


def measure() -> list[dict[str, Any]]:
    with one_thread_each():
        return _measure()


def _measure() -> list[dict[str, Any]]:
    step = training_step(build(PRQNet, 0), *_patient(3, 95))

    def with_torch_dropout() -> None:
        with mock.patch.object(encoder.Dropout, "bits", _by_torch):
            step()

    def in_one_block() -> None:
        with mock.patch.object(encoder, "BLOCK", 10**6):
            step()

    one = side_by_side({"ours": step, "torch": with_torch_dropout, "whole": in_one_block}, 9)
    apart = side_by_side({"apart": _steps(False), "padded": _steps(True)}, 5)
    many = side_by_side({"processes": _processes(2, 1), "threads": _processes(1, 2)}, 2)
    return [
        row("training step: faster than with torch's random bits", one["torch"] / one["ours"]),
        row("training step: faster than all windows in one block", one["whole"] / one["ours"]),
        row("four patients: apart, faster than padded", apart["padded"] / apart["apart"]),
        row("40 steps: two processes, faster than threads", many["threads"] / many["processes"]),
    ]
