"""The simulated scheduler of the benchmark of scale, where the answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.scale import Costs, simulated_s


def costs(length_s: float | list[float], task_s: float) -> Costs:
    return Costs(np.atleast_1d(np.array(length_s, float)), task_s, 1.0, 1.0)


def test_workers_that_never_wait_share_the_work():
    found = simulated_s(costs(2.0, 0.0), tasks=1000, workers=10)
    assert found == pytest.approx({"seconds": 200.0, "busy": 1.0, "lost": 0.0})


def test_a_slow_scheduler_sets_the_pace():
    found = simulated_s(costs(1.0, 0.5), tasks=1000, workers=100)
    assert found["seconds"] == pytest.approx(1000 * 0.5 + 1.0)
    assert found["busy"] == pytest.approx(1000 / (100 * 501.0))


def test_ten_patients_in_a_task_cost_the_scheduler_a_tenth():
    alone = simulated_s(costs(1.0, 0.5), tasks=1000, workers=100)["seconds"]
    together = simulated_s(costs(1.0, 0.5), tasks=1000, workers=100, batch=10)["seconds"]
    assert together == pytest.approx(100 * 0.5 + 10.0)
    assert together < alone / 8


def test_work_of_workers_that_end_is_done_again_and_counted():
    # A worker lives 760 to 1240 s: of tasks of 500 s it finishes one or two and loses the next.
    found = simulated_s(costs(500.0, 0.0), tasks=400, workers=10, lifetime_s=1000.0)
    without = simulated_s(costs(500.0, 0.0), tasks=400, workers=10)
    assert without["lost"] == 0
    assert found["lost"] > 0.2
    assert found["seconds"] > without["seconds"] * (1 + found["lost"] / 2)


def test_a_mixture_of_lengths_takes_its_mean():
    found = simulated_s(costs([1.0, 3.0], 0.0), tasks=20_000, workers=50)
    assert found["seconds"] == pytest.approx(20_000 * 2.0 / 50, rel=0.02)
