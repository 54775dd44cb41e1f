"""`python -m benchmarks background` and `transfer`: the rulers, and what the simulation reaches."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benchmarks import background, transfer
from benchmarks.background import RECORDED, channel_statistics

from epilens.evidence.contact_features import FEATURES
from epilens.simulation.dynamics import FITTED


def test_the_statistics_of_noise_are_known():
    """White noise is flat and Gaussian; red noise (its sum) falls with f⁻²."""
    rng = np.random.default_rng(0)
    white = rng.normal(0, 30, (20, 8000))
    values, tails = channel_statistics(np.concatenate([white, np.cumsum(white, axis=1)]), 200.0)
    assert np.abs(values["slope"][:20]).max() < 0.2
    assert np.median(values["slope"][20:]) == pytest.approx(-2, abs=0.2)
    assert np.abs(values["kurtosis"][:20]).max() < 0.3
    assert tails["line_length"].shape == (13 * 40,)


def test_bursts_raise_kurtosis_and_the_variability_of_windows():
    rng = np.random.default_rng(0)
    quiet = rng.normal(0, 30, (10, 8000))
    bursts = quiet * np.exp(np.repeat(rng.normal(0, 0.4, (10, 40)), 200, axis=1))
    before, after = (channel_statistics(x, 200.0)[0] for x in (quiet, bursts))
    for name in ("kurtosis", "rms", "line_length"):
        assert np.median(after[name]) > 2 * np.median(before[name])


def test_the_middle_quantiles_of_the_background_are_those_of_recorded_tissue(monkeypatch):
    """Half, not a third, is allowed: few patients are drawn here."""
    monkeypatch.setattr(background, "EVERY", 12)
    quantiles, _ = background.simulated_background(FITTED, [0, 1])
    for name, recorded in RECORDED.items():
        assert quantiles[name][2] == pytest.approx(recorded[2], rel=0.5), name


def test_transfer_trains_on_the_true_onset_zone_of_simulated_patients(monkeypatch, tmp_path):
    """Features that show the onset zone transfer; the recorded table is synthetic here."""
    rng = np.random.default_rng(0)

    def table(names):
        parts = []
        for name in names:
            is_soz = np.arange(24) % 8 < 2
            values = rng.normal(size=(24, len(FEATURES))) + 2.0 * is_soz[:, None]
            frame = pd.DataFrame(values, columns=list(FEATURES))
            channels = [f"{shaft}{n}" for shaft in "ABC" for n in range(1, 9)]
            parts.append(frame.assign(patient=name, run=1, channel=channels, is_soz=is_soz))
        return pd.concat(parts, ignore_index=True)

    path = tmp_path / "recorded.parquet"
    table(["r1", "r2", "r3"]).to_parquet(path)
    patients = transfer.patients_of(table([f"s{i}" for i in range(8)]))
    monkeypatch.setattr(transfer, "simulated_patients", lambda cohort: patients)
    rows = {row["what"]: row for row in transfer.measure("cohort", str(path))}
    assert rows["lens: AUROC"]["value"] > 0.95
    assert rows["lens: AUROC"]["met"]
    assert "met" not in rows["line-length-spread: AUROC"]
