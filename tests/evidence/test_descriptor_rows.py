"""A descriptor is its row: one more of them, from an array to the sentence on the page.

Broad-alpha power (8-13 Hz) comes from a module of another package, as a plugin would bring it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from importlib.metadata import EntryPoint
from itertools import pairwise

import numpy as np
import pytest
import scipy.signal

from epilens.core.errors import CubeError, EpilensError, ModelError, PlanError
from epilens.evaluation.novelty import evidence_summary
from epilens.evaluation.train import train
from epilens.evidence import descriptors as module
from epilens.evidence.cube import check
from epilens.evidence.describe import audit_of, describe
from epilens.evidence.descriptors import (
    DESCRIPTORS,
    NINE,
    Descriptor,
    band_row,
    descriptors,
    rows_of,
)
from epilens.evidence.files import SUFFIX, open_cohort, save
from epilens.evidence.views import Standardizer, channel_table, views
from epilens.localization.narrative import describe_deviations
from epilens.localization.timing import time_evidence
from epilens.networks.model import save_model
from epilens.plan import PAPER_NINE, Plan
from epilens.report.patient.localize import localize
from epilens.report.patient.payload import payload
from epilens.testing import make_cube, make_recording

PLUGIN = """
from epilens.evidence.descriptors import band_row

ENTRIES = (band_row("broad_alpha", 8, 13),)
"""
ALPHA = "log_broad_alpha_power"


@pytest.fixture
def plan(tmp_path, monkeypatch):
    """The paper's nine and alpha, which another package has."""
    (tmp_path / "alpha_plugin.py").write_text(PLUGIN, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint("alpha", "alpha_plugin", "epilens.descriptors")
    monkeypatch.setattr(
        "epilens.core.registry.entry_points", lambda group: [point] if group == point.group else []
    )
    monkeypatch.delitem(DESCRIPTORS.__dict__, "_rows", raising=False)
    yield Plan(descriptors=(*PAPER_NINE, ALPHA))
    DESCRIPTORS.__dict__.pop("_rows", None)


def add(monkeypatch, *rows):
    """Rows beside the paper's, without a module of their own."""
    assert DESCRIPTORS[NINE[0].name]
    origin = DESCRIPTORS.origin(NINE[0].name)
    for row in rows:
        monkeypatch.setitem(DESCRIPTORS._rows, row.name, (row, origin))


def waking(seed=0, **about):
    """A recording in which A1 has 10 Hz after onset."""
    r = make_recording(seed=seed, ez=0, **about)
    t = r.start_s + np.arange(r.signal.shape[1]) / r.fs
    signal = r.signal.copy()
    signal[0] += np.where(t > 0, 80 * np.sin(2 * np.pi * 10 * t), 0).astype(np.float32)
    return replace(r, signal=signal)


def alpha_by_hand(window, fs):
    f, psd = scipy.signal.welch(window, fs, nperseg=len(window), detrend=False)
    inside = [k for k in range(len(f)) if 8 <= f[k] <= 13]
    area = sum((f[b] - f[a]) * (psd[a] + psd[b]) / 2 for a, b in pairwise(inside))
    return math.log(1 + area)


def test_the_plan_s_default_is_the_paper_s_nine():
    assert Plan().descriptors == PAPER_NINE == tuple(row.name for row in NINE)
    assert tuple(DESCRIPTORS)[:9] == PAPER_NINE


def test_a_row_of_another_package_is_computed_by_its_own_function(plan):
    x = np.random.default_rng(0).normal(size=(3, 1100)) * 40
    ours = descriptors(x, 250.0, names=plan.descriptors)
    assert ours.shape == (3, 3, 10)
    for w in range(3):
        for c in range(3):
            wanted = alpha_by_hand(x[c, 250 * w : 250 * w + 500], 250.0)
            assert ours[w, c, 9] == pytest.approx(wanted, rel=1e-5)
    np.testing.assert_array_equal(ours[..., :9], descriptors(x, 250.0))


def test_any_choice_and_order_of_names_gives_their_columns(plan):
    x = np.random.default_rng(1).normal(size=(2, 900)) * 40
    everything = descriptors(x, 250.0, names=plan.descriptors)
    names = [ALPHA, "line_length", "log_beta_power"]
    np.testing.assert_array_equal(descriptors(x, 250.0, names=names), everything[..., [9, 7, 2]])


def test_a_name_that_nobody_has_is_refused_with_the_nearest():
    with pytest.raises(EpilensError, match=r"found 'line_lenght'\. Did you mean 'line_length'"):
        descriptors(np.zeros((1, 600)), 200.0, names=["line_lenght"])
    with pytest.raises(EpilensError, match=r"found 'line_lenght'\. Did you mean 'line_length'"):
        describe([make_recording()], Plan(descriptors=("rms", "line_lenght")))


def test_long_signals_are_computed_a_few_windows_at_a_time(monkeypatch):
    largest = []

    def size(x, fs):
        largest.append(x.size)
        return x.mean(axis=-1)

    add(monkeypatch, Descriptor("size", "µV", "", "signal", size, words="size"))
    x = np.random.default_rng(2).normal(size=(4, 20_000))
    whole = descriptors(x, 100.0, names=["size"])
    monkeypatch.setattr(module, "_AT_ONCE", 2000)
    largest.clear()
    np.testing.assert_array_equal(descriptors(x, 100.0, names=["size"]), whole)
    assert max(largest) <= 2000


def test_a_function_that_does_not_reduce_the_last_axis_is_refused(monkeypatch):
    add(monkeypatch, Descriptor("odd", "1", "", "signal", lambda x, fs: x, words="odd"))
    with pytest.raises(EpilensError, match="'odd': expected one number for each window"):
        descriptors(np.zeros((1, 600)), 200.0, names=["odd"])


def test_windows_in_which_a_descriptor_is_no_number_are_masked_with_a_row(monkeypatch):
    def broken(x, fs):
        values = np.ones(x.shape[:-1])
        values[:, 40:] = np.nan
        return values

    add(monkeypatch, Descriptor("broken", "1", "", "signal", broken, words="broken"))
    plan = Plan(descriptors=("rms", "broken"))
    cube = describe([make_recording(channels=2, fs=64.0)], plan)
    rows = audit_of(cube)
    assert cube["valid"].sum("window").values.tolist() == [[40, 40]]
    told = [(row.channel, row.effect) for row in rows if "not finite in 19 windows" in row.why]
    assert told == [("A1", "noted"), ("A2", "noted")]


@pytest.mark.parametrize(
    ("names", "message"), [((), "a list of 1 or more"), (("rms", "rms"), "got 'rms' twice")]
)
def test_a_plan_names_one_descriptor_or_more_and_each_once(names, message):
    with pytest.raises(PlanError, match=message):
        Plan.of({"descriptors": names})


def test_the_cube_has_the_column_with_its_unit_and_words(plan):
    cube = describe([waking()], plan)
    assert cube["descriptor"].values.tolist() == list(plan.descriptors)
    assert cube["unit"].values[-1] == "log µV²"
    assert cube["words"].values[-1] == "broad-alpha power"
    alpha = cube["x"].sel(descriptor=ALPHA).values[0]
    after = cube["start_s"].values[0] >= 0
    assert alpha[after, 0].min() > alpha[after, 1:].max()
    xs = cube["x"].sel(descriptor=list(PAPER_NINE)).values
    np.testing.assert_array_equal(xs, describe([waking()])["x"].values)


def test_views_table_and_standardizer_take_their_size_from_the_cube(plan):
    cube = describe([waking()], plan)
    assert views(cube).sizes["descriptor"] == 10
    table = channel_table(cube)
    assert table.shape == (6, 2 * (4 * 10 + 2 * 4))
    assert "mean/abs/log_broad_alpha_power" in table
    nine = channel_table(describe([waking()]))
    np.testing.assert_array_equal(table[nine.columns], nine)
    standardizer = Standardizer.fit([cube])
    assert standardizer.mean.shape == (4, 10)
    assert standardizer.transform(cube).sizes["descriptor"] == 10
    assert len(evidence_summary(cube)) == 3 * 10


def test_patients_with_other_descriptors_are_not_standardized_together(plan):
    with pytest.raises(CubeError, match="sub-02: expected the descriptors of the other patients"):
        Standardizer.fit([describe([waking()], plan), make_cube("sub-02")])


def test_a_deviation_of_it_is_described_in_its_own_words(plan):
    timing = time_evidence(describe([waking(fs=128.0)], plan))
    assert timing.z.shape[-1] == 10
    importance = np.array([name == ALPHA for name in plan.descriptors], float)
    (sentence,) = describe_deviations(0, timing, np.ones((1, 6), bool), importance)
    assert sentence.startswith("Broad-alpha power rises ")


def test_the_page_shows_it(plan):
    parts = [waking(seed, run=f"run-{seed}", fs=128.0) for seed in range(2)]
    plan = plan.override(descriptors=("log_delta_power", "line_length", ALPHA))
    found = localize(parts, "line-length-change", plan=plan)
    assert any("Broad-alpha power rises" in line for line in found.words[0])
    heat = payload(found)["heat"]
    assert heat["names"][-1] == "broad-alpha power"
    assert heat["names"][heat["start"]] == "line length"


def test_a_model_is_trained_on_it_and_its_page_tells_it(plan, tmp_path):
    for i in range(4):
        part = replace(waking(10 * i, fs=64.0), patient=f"sub-{i}", is_ez=(True,) + 5 * (False,))
        save(describe([part], plan), tmp_path / f"sub-{i}{SUFFIX}")
    small = {"splits": {"folds": 2}, "training": {"epochs": 1, "least_epochs": 1}, "seeds": (1,)}
    model = train(plan.override(**small), open_cohort(tmp_path), method="cdel")
    assert model.descriptors == plan.descriptors
    path = save_model(model, tmp_path / "model")
    found = localize([waking(99, fs=64.0)], path)
    assert found.why.by_feature.shape == (6, 4, 10)
    assert found.why.residual < 0.01
    assert len(payload(found)["heat"]["names"]) == 10
    with pytest.raises(ModelError, match="expected evidence as model was trained on, found: desc"):
        localize(describe([waking(99, fs=64.0)]), path)


def test_descriptors_without_fast_ones_and_state_terms_go_the_whole_way():
    cube = describe([waking(fs=128.0)], Plan(descriptors=("spectral_entropy",)))
    assert not time_evidence(cube).recruited.any()
    assert channel_table(cube).shape == (6, 8)
    assert "high_gamma_covered" not in cube.coords


def test_a_cube_whose_descriptors_no_installed_package_has_can_be_read(plan):
    cube = describe([waking(fs=128.0)], plan)
    del DESCRIPTORS.__dict__["_rows"]
    renamed = cube.assign_coords(descriptor=[*PAPER_NINE, "log_wave_power"]).drop_vars("words")
    check(renamed)
    assert time_evidence(renamed).words[-1] == "log wave power"
    (row,) = rows_of(["log_wave_power"])
    with pytest.raises(EpilensError, match="found 'log_wave_power'"):
        row.compute(np.zeros(4), 1.0)


def test_a_band_that_a_rate_does_not_reach_is_reported_for_any_row(monkeypatch):
    add(monkeypatch, band_row("ripple", 80, 250))
    plan = Plan(descriptors=("log_ripple_power",))
    rows = audit_of(describe([make_recording(fs=250.0)], plan))
    assert [row.why for row in rows] == ["sampled at 250 Hz: ripple (80-250 Hz) is covered to 26%"]
