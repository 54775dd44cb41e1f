"""`python -m benchmarks labels`: onset zones and resections of recorded and simulated patients."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.labels import (
    PUBLIC,
    SHARED,
    PatientLabels,
    label_statistics,
    of_simulated,
    parse,
    read_labels,
)

from epilens.simulation.patients import make_patients
from epilens.simulation.shapes import SHAPES


def measured(name: str, label: str) -> dict[str, float]:
    root = SHARED / name
    if not root.exists():
        pytest.skip("the public sidecars are not next to the project")
    return label_statistics(read_labels(root, PUBLIC[name]), label)


def test_the_statistics_of_a_patient_agree_with_counting_by_hand():
    """Two electrodes: A1-A4 with SOZ in A1 and A2, resected A2 and A3; B1 and B2 without either."""
    patient = PatientLabels(
        ("A1", "A2", "A3", "A4", "B1", "B2"),
        np.array([1, 1, 0, 0, 0, 0], bool),
        np.array([0, 1, 1, 0, 0, 0], bool),
    )
    statistics = label_statistics([patient], "resected")
    assert statistics["share"] == pytest.approx(2 / 6)
    # A2 is above three of the four others and ties with A1; A3 ties with three and is below A1.
    assert statistics["alone"] == pytest.approx((3.5 + 1.5) / 8)
    # With context: A1 1.75, A2 1.5, A3 0.5, A4 0.25, B1 and B2 0.
    assert statistics["context"] == pytest.approx((3 + 3) / 8)
    assert statistics["inside"] == pytest.approx(1 / 2)
    assert statistics["jaccard 50"] == pytest.approx(1 / 3)
    assert statistics["next if label"] == pytest.approx(1 / 2)
    assert statistics["next if not"] == pytest.approx(1 / 2)
    assert statistics["electrodes"] == pytest.approx(1 / 2)
    assert statistics["share on electrodes"] == pytest.approx(1 / 2)


def test_a_patient_without_onset_zone_has_no_overlap_and_an_auroc_by_chance():
    nowhere = np.zeros(4, bool)
    resected = np.array([1, 0, 0, 0], bool)
    statistics = label_statistics(
        [PatientLabels(("A1", "A2", "A3", "A4"), nowhere, resected)], "resected"
    )
    assert statistics["alone"] == 0.5
    assert np.isnan(statistics["inside"])
    assert np.isnan(statistics["jaccard 50"])


def test_conditions_belong_to_the_folder_before_them():
    roots = parse(["a", "outcome=S", "therapy=ABLATION", "b"])
    assert roots == {Path("a"): {"outcome": "S", "therapy": "ABLATION"}, Path("b"): {}}
    with pytest.raises(SystemExit, match="expected a folder before 'outcome=S'"):
        parse(["outcome=S"])


@pytest.mark.data
@pytest.mark.parametrize(
    ("label", "share", "alone", "context", "electrodes"),
    [("either", 0.168, 0.809, 0.875, 0.348), ("resected", 0.124, 0.703, 0.793, 0.286)],
)
def test_the_36_seizure_free_patients_of_ds004100(label, share, alone, context, electrodes):
    statistics = measured("ds004100", label)
    assert statistics["patients"] == 36
    assert statistics["share"] == pytest.approx(share, abs=5e-4)
    assert statistics["alone"] == pytest.approx(alone, abs=5e-4)
    assert statistics["context"] == pytest.approx(context, abs=6e-4)
    assert statistics["electrodes"] == pytest.approx(electrodes, abs=1e-3)
    assert statistics["inside"] == pytest.approx(0.58, abs=5e-3)
    quartiles = [statistics[f"jaccard {q}"] for q in (25, 50, 75)]
    np.testing.assert_allclose(quartiles, [0.16, 0.30, 0.52], atol=5e-3)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "patients", "share", "alone", "context"),
    [("wild/ds005398", 58, 0.29, 0.637, 0.740), ("wild/ds005592", 83, 0.278, 0.639, 0.723)],
)
def test_half_of_a_center_with_generous_resections_is_like_the_whole(
    name, patients, share, alone, context
):
    """The expected values are of all patients; half of them are next to the project."""
    statistics = measured(name, "resected")
    assert statistics["patients"] == patients
    assert statistics["share"] == pytest.approx(share, abs=0.02)
    assert statistics["alone"] == pytest.approx(alone, abs=0.02)
    assert statistics["context"] == pytest.approx(context, abs=0.02)
    assert statistics["inside"] > 0.94


def test_simulated_files_state_zones_for_every_patient(tiny):
    for center, label in (("north", "either"), ("east", "soz"), ("south", "resected")):
        patients = read_labels(tiny / center, {})
        assert len(patients) == 2
        assert all(p.onset is not None and p.onset.any() and p.soz.any() for p in patients)
        statistics = label_statistics(patients, label, known="onset")
        assert 0 < statistics["share"] < 0.6
        assert 0.5 < statistics["context"] <= 1


def simulated(center: int, label: str) -> dict[str, float]:
    patients = [
        p for seed in range(4) for p in make_patients(SHAPES["paper"][center], center, seed)
    ]
    return label_statistics(of_simulated(patients), label)


def test_the_labels_of_north_are_like_those_of_ds004100():
    """Recorded values: the 36 patients above."""
    statistics = simulated(0, "either")
    assert statistics["alone"] == pytest.approx(0.809, abs=0.03)
    assert statistics["context"] == pytest.approx(0.875, abs=0.03)
    recorded = {
        "share": 0.168,
        **{"inside": 0.58, "inside 25": 0.29, "inside 50": 0.61, "inside 75": 1.0},
        **{"jaccard 25": 0.16, "jaccard 50": 0.30, "jaccard 75": 0.52},
        **{"next if label": 0.78, "next if not": 0.04},
        **{"electrodes": 0.35, "share on electrodes": 0.55},
    }
    assert {name: statistics[name] for name in recorded} == pytest.approx(recorded, abs=0.07)


def test_the_labels_of_south_are_like_those_of_generous_resections():
    statistics = simulated(2, "resected")
    assert statistics["inside"] >= 0.94
    assert statistics["alone"] == pytest.approx(0.63, abs=0.03)
    assert statistics["context"] == pytest.approx(0.73, abs=0.03)


def test_the_labels_of_west_are_like_those_of_ablated_patients():
    """The 14 patients of ds004100 with an ablation; their ablations have 6 % of the contacts."""
    statistics = simulated(3, "resected")
    assert statistics["alone"] == pytest.approx(0.817, abs=0.04)
    assert statistics["context"] == pytest.approx(0.89, abs=0.04), "recorded: 0.923"
    assert statistics["inside"] == pytest.approx(0.675, abs=0.07)
    assert statistics["jaccard 50"] == pytest.approx(0.53, abs=0.1)
