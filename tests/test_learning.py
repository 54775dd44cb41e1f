"""The helpers of `python -m benchmarks learning`: bounded views, averages, choice of the epoch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from benchmarks import learning
from torch import nn

from epilens.evidence.views import Standardizer
from epilens.networks.loop import Schedule, train_epochs
from epilens.networks.prq import PRQNet
from epilens.networks.training import Lesson, as_tensors, build, fit_network
from epilens.plan import TrainingPlan
from epilens.simulation.patients import make_patients
from epilens.simulation.shapes import SHAPES
from epilens.testing import make_cube

RNG = np.random.default_rng(0)


def test_bounded_views_keep_order_and_sign_and_are_bounded():
    x = torch.tensor([[-1000.0], [-1.0], [0.0], [2.0], [5000.0]])
    log, clip, rank = (learning.BOUNDS[k](x) for k in ("signed log", "clip", "rank"))
    assert log.flatten().tolist() == pytest.approx(
        [-np.log(1001), -np.log(2), 0, np.log(3), np.log(5001)]
    )
    assert clip.flatten().tolist() == [-5, -1, 0, 2, 5]
    assert rank.flatten().tolist() == pytest.approx(
        [3**0.5 * v for v in (-0.8, -0.4, 0.0, 0.4, 0.8)]
    )


def test_ranks_are_of_each_feature_have_unit_variance_and_share_ties():
    x = torch.from_numpy(RNG.normal(size=(500, 3)) ** 5)
    r = learning.ranked(x)
    assert r.var(0, correction=0).tolist() == pytest.approx([1] * 3, abs=1e-4)
    assert (r.argsort(0) == x.argsort(0)).all()
    tied = learning.ranked(torch.tensor([[1.0], [1.0], [3.0], [3.0]]))
    assert tied.flatten().tolist() == pytest.approx([3**0.5 * v for v in (-0.5, -0.5, 0.5, 0.5)])


def test_what_is_not_valid_stays_zero_when_bounded():
    cube = make_cube(seizures=1)
    cube["valid"].values[0, :5, 2] = False
    patient = as_tensors(cube, Standardizer.fit([cube]))
    for bound in learning.BOUNDS:
        found = learning.bounded(patient, bound).φ
        assert (found[~patient.valid] == 0).all()
        assert found[patient.valid].abs().sum() > 0
    assert torch.equal(learning.bounded(patient, "as they are").φ, patient.φ)


def test_the_moving_average_forgets_the_start_and_the_mean_is_the_mean():
    network = nn.Linear(1, 1, bias=False)
    nn.init.constant_(network.weight, 5.0)
    average = learning.MovingAverage(network, decay=0.5)
    nn.init.constant_(network.weight, 1.0)
    average.update(network)  # keeps 2/11 of the 5
    assert average.network.weight.item() == pytest.approx(1 + 4 * 2 / 11)
    for _ in range(60):
        average.update(network)
    assert average.network.weight.item() == pytest.approx(1)
    states = [{"w": torch.tensor([v])} for v in (1.0, 2.0, 6.0)]
    assert learning.mean_state(states)["w"].tolist() == [3.0]


def test_differences_are_paired_and_leave_out_undefined_patients():
    b = RNG.normal(size=200)
    a = b + 0.1 + RNG.normal(0, 0.05, 200)
    a[3] = np.nan
    mean, low, high = learning.difference(a, b, draws=2000)
    keep = np.isfinite(a)
    assert mean == pytest.approx((a - b)[keep].mean())
    standard_error = (a - b)[keep].std() / np.sqrt(199)
    assert (high - low) / 2 == pytest.approx(1.96 * standard_error, rel=0.1)
    assert low < mean < high


@pytest.mark.parametrize(
    ("found", "text"),
    [
        ((0.1, 0.05, 0.2), "x: better by +0.100 (95 % +0.050 to +0.200)"),
        ((-0.1, -0.2, -0.05), "x: worse by -0.100 (95 % -0.200 to -0.050)"),
        ((0.0, 0.0, 0.0), "x: the very same scores"),
        ((0.1, -0.05, 0.2), "x: no difference beyond chance, +0.100 (95 % -0.050 to +0.200)"),
    ],
)
def test_conclusions_follow_from_the_interval(found, text):
    assert learning.verdict("x", found) == text


@pytest.mark.parametrize("seed", range(20))
def test_the_epoch_that_is_read_is_the_one_that_training_keeps(seed):
    reached = np.random.default_rng(seed).integers(0, 8, 30).tolist()
    at = iter(reached)
    rows = train_epochs(nn.Linear(1, 1), lambda: 0.0, lambda: ((next(at),), ()), Schedule(30, 3, 5))
    kept = max(number for number, *_, better in rows if better)
    assert learning.stopped(reached, 30, 3, 5) + 1 == kept


def test_the_loop_here_trains_as_the_package_does():
    cubes = [make_cube(f"sub-{i}", seizures=1, seed=10 * i) for i in range(4)]
    standardizer = Standardizer.fit(cubes)
    tensors = [as_tensors(cube, standardizer) for cube in cubes]
    networks = [build(PRQNet, 3) for _ in range(2)]
    plan = TrainingPlan(epochs=3, batch=2, learning_rate=1e-3)
    lessons = [Lesson(tensors[:3], tensors[3:], n.share, 3, plan) for n in networks]
    history = fit_network(networks[0], lessons[0])
    trace = learning.trained(
        networks[1], lessons[1], {"test": tensors[3:], "validation": tensors[3:]}, 2
    )
    assert trace["loss"].tolist() == history["loss"].tolist()
    for name, value in networks[0].state_dict().items():
        assert torch.equal(value, networks[1].state_dict()[name])
    assert len(trace["test"]) == 3
    assert len(trace["test, moving average"]) == 2
    assert len(trace["test, mean of last"]) == 1


def test_any_beginning_of_the_patients_has_all_centers_in_proportion():
    cohort = [p for i, c in enumerate(SHAPES["demo"]) for p in make_patients(c, i, 20)]
    order = learning.interleaved(cohort, 20)
    assert {p.name for p in order} == {p.name for p in cohort}
    for center in SHAPES["demo"]:
        first = sum(p.center.name == center.name for p in order[:10])
        assert first == pytest.approx(center.patients / 2, abs=1)


def test_the_training_that_is_told_apart_by_its_key():
    trials = [learning.Trial(**dict(line.changes)) for line in learning.ROWS]
    assert len({t.key for t in trials}) == len(set(trials))
    assert {r.comparison for r in learning.ROWS} >= {"rate", "views", "patients", "selection"}
