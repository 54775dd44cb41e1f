"""Several networks at a time: one thread each, and as many as before afterwards."""

from __future__ import annotations

import numpy as np  # noqa: F401 - its BLAS is what is limited
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from epilens.networks.ensemble import one_thread_each


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_torch_and_blas_have_one_thread_inside_and_their_own_number_afterwards():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with threadpool_limits(2, "blas"):
            assert blas_threads() == {2}
            with one_thread_each():
                assert (torch.get_num_threads(), blas_threads()) == (1, {1})
            assert (torch.get_num_threads(), blas_threads()) == (2, {2})
    finally:
        torch.set_num_threads(before)
