"""Richer inputs: graph, HFO-lite markers, residual and hybrid, by hand and by construction."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from epilens.evidence.cube import blind
from epilens.evidence.signals import signal_of
from epilens.evidence.views import channel_table
from epilens.methods import METHODS, Training
from epilens.methods.classical import patient_z_score
from epilens.methods.controls import pack
from epilens.methods.rich import (
    graph,
    hfo_markers,
    node_features,
    over_seizures,
    with_columns,
    with_residual,
)
from epilens.networks.controls import Hybrid
from epilens.networks.training import build
from epilens.plan import Plan
from epilens.testing import make_patient


def test_the_graph_is_the_absolute_correlation_without_itself():
    x = np.random.default_rng(0).normal(size=(5, 300))
    wanted = np.abs(np.corrcoef(x)) - np.eye(5)
    np.testing.assert_allclose(graph(x), wanted, atol=1e-12)
    x[2] = 7.0
    assert not graph(x)[2].any()


def test_node_features_by_loop():
    x = np.random.default_rng(1).normal(size=(5, 80)) + np.random.default_rng(2).normal(size=80)
    W, n = graph(x), 5
    w = np.cbrt(W / W.max())
    ours = node_features(x, 100.0)
    for i in range(n):
        strength = np.mean([W[i, j] for j in range(n) if j != i])
        pairs = [(j, k) for j in range(n) for k in range(n) if len({i, j, k}) == 3]
        clustering = sum(w[i, j] * w[j, k] * w[k, i] for j, k in pairs) / len(pairs)
        np.testing.assert_allclose(ours[i, :2], [strength, clustering], rtol=1e-9)
    np.testing.assert_allclose(W @ ours[:, 2] / ours[:, 2], np.linalg.eigvalsh(W).max(), rtol=1e-6)


def test_hfo_markers_count_bursts():
    fs, rng = 1000.0, np.random.default_rng(3)
    x = rng.normal(size=(2, 20_000)).astype(np.float32)
    t = np.arange(100) / fs
    for start in range(1500, 19_000, 2000):  # nine bursts of 100 ms
        x[0, start : start + 100] += 20 * np.sin(2 * np.pi * 110 * t)
    markers = hfo_markers(x, fs)
    assert markers[0, 1] * 20 == pytest.approx(9, abs=1)
    assert markers[0, 0] > markers[1, 0]
    assert np.isnan(hfo_markers(x, 170.0)).all()  # nothing of this band is there


def test_columns_are_before_after_and_change_averaged_over_seizures():
    patient = make_patient(seizures=2, fs=250.0)
    ours = over_seizures(patient, lambda x, fs: x.std(axis=1, keepdims=True))
    wanted = []
    for s in range(2):
        x = signal_of(patient, s)
        before, after = x[:, : 28 * 250].std(axis=1), x[:, 30 * 250 : 50 * 250].std(axis=1)
        wanted.append(np.stack([before, after, after - before], axis=1))
    np.testing.assert_allclose(ours, np.mean(wanted, axis=0), rtol=1e-5)
    assert ours[:2, 2].min() > ours[2:, 2].max()  # the EZ becomes larger


def test_a_seizure_that_is_too_short_leaves_columns_missing_not_wrong():
    patient = make_patient(seizures=1, fs=250.0)
    patient = patient.assign_coords(signal_samples=("seizure", [31 * 250]))  # 1 s after onset
    more = over_seizures(patient, node_features)
    assert np.isnan(with_columns(more, 9, patient).filter(like="more/")).all().all()


def test_the_residual_is_the_column_minus_its_neighbours_mean():
    patient = make_patient(seizures=1, fs=250.0)
    table = patient_z_score(channel_table(patient)).to_numpy()
    W = graph(signal_of(patient, 0)[:, : 28 * 250])
    ours = with_residual(patient).filter(like="residual/").to_numpy()
    for i in range(6):
        around = sum(W[i, j] * table[j] for j in range(6)) / W[i].sum()
        np.testing.assert_allclose(ours[i], table[i] - around, rtol=1e-5, atol=1e-6)


def test_the_hybrid_averages_segments_that_are_there_and_no_other():
    network = build(Hybrid, 0).double().eval()
    rng = np.random.default_rng(4)
    columns, segments = rng.normal(size=(3, 88)), rng.normal(size=(3, 4, 800))
    there = np.array([[1, 1, 0, 1], [1, 0, 0, 0], [1, 1, 1, 1]])
    packed = np.concatenate([there[..., None], segments], axis=-1).reshape(3, -1)
    φ = torch.from_numpy(np.hstack([columns, packed]))
    with torch.no_grad():
        ours = network(φ, None)
        for i in range(3):
            used = torch.from_numpy(segments[i, there[i] == 1])[:, None]
            mean = network.segment(used).mean(0)
            alone = network.head(torch.cat([torch.from_numpy(columns[i]), mean]))
            torch.testing.assert_close(ours[i], alone[0])


def test_a_patient_is_packed_with_every_segment():
    patient = make_patient(seizures=2, fs=250.0)
    packed = pack(patient)
    assert packed.shape == (6, 88 + 2 * 5 * 801)
    np.testing.assert_array_equal(packed[3, 89:889], patient["trace"].values[0, 0, 3])


def test_the_hybrid_scores_a_channel_without_segments_as_the_median_of_the_others():
    patients = [make_patient(f"sub-{i}", seizures=1, seed=10 * i, fs=220.0) for i in range(3)]
    whole = patients[2]["trace_valid"].copy()
    whole[:, :, 1] = False
    patients[2] = patients[2].assign(trace_valid=whole)
    plan = Plan(smoke=True).override(baselines={"epochs": 1})
    fitted = METHODS["rich/hybrid"].fit(Training(patients[:2], patients[2:], 0, plan))
    p_nez = fitted.predict([blind(patients[2])])["p_nez"]
    assert p_nez[1] == pytest.approx(np.median(p_nez.drop(1)), rel=1e-6)
    assert p_nez.drop(1).nunique() == 5
    assert fitted.notes["without_segments"] == {"sub-2": ["A2"]}
    unheard = patients[0].assign(trace_valid=patients[0]["trace_valid"] & False)
    assert fitted.predict([unheard])["p_nez"].tolist() == [0.5] * 6
