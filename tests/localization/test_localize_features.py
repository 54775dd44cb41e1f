"""A model on contact features: its explanation in clinical words, and what recordings lack."""

from __future__ import annotations

import numpy as np

from epilens.evidence.contact_features import MEASURES, SUMMARIES, WORDS
from epilens.localization.data_cautions import feature_cautions
from epilens.localization.narrative import describe_features
from epilens.networks.predictor import Explanation
from epilens.testing import make_patient


def explanation(located: dict[tuple[int, str, str], float], values: float = 1.0) -> Explanation:
    """One contact with these contributions by (place, summary, measure)."""
    parts = np.zeros((1, 3, 3, 11))
    for (place, summary, measure), size in located.items():
        parts[0, place, SUMMARIES.index(summary), MEASURES.index(measure)] = size
    nothing = np.zeros((1, 1))
    return Explanation(
        contacts=np.array([0]),
        by_feature=parts.sum(axis=1),
        by_window=np.zeros((1, 1, 5)),
        steady=nothing,
        together=nothing[0],
        baseline=nothing[0],
        score=parts.sum(axis=(1, 2, 3)),
        views=SUMMARIES,
        located=parts,
        values=np.full(parts.shape, values),
        words=WORDS,
        timed=False,
    )


def test_features_are_described_by_location_and_in_clinical_words():
    why = explanation(
        {(0, "std", "ll"): 0.2, (1, "std", "ll"): 0.1, (2, "mean", "beta"): 0.05}
        | {(0, "max", "se"): -0.04}
    )
    assert describe_features(0, why) == [
        "Contributions by place: +0.16 from its own activity, +0.10 from neighbouring contacts, "
        "+0.05 from its electrode.",
        "Towards EZ: line length in this contact and in neighbouring contacts varies more during "
        "the seizure than in other contacts (+0.30); beta power on its electrode is higher than in "
        "other contacts (+0.05).",
        "Away from EZ: irregularity (spectral entropy) reaches higher values than in other "
        "contacts (-0.04).",
    ]


def test_what_lies_below_the_average_contact_is_said_so():
    why = explanation({(0, "std", "ll"): -0.2}, values=-1.0)
    assert describe_features(0, why)[1:] == [
        "Away from EZ: line length varies less during the seizure than in other contacts (-0.20)."
    ]


def test_cautions_name_what_a_recording_does_not_allow():
    names = [f"{shaft}{i}" for shaft in "AB" for i in range(1, 7)]
    assert feature_cautions(make_patient(channels=names, fs=512.0)) == []
    slow = feature_cautions(make_patient(channels=names, fs=256.0))
    assert len(slow) == 1
    assert "80-150 Hz is left out in 2 of 2 seizures" in slow[0]
    lone = feature_cautions(make_patient(channels=[f"{s}1" for s in "ABCDEFGHIJ"], fs=512.0))
    assert any("No contact has a neighbour" in text for text in lone)
    pairs = [f"A{i}-A{i + 1}" for i in range(1, 7)]
    bipolar = feature_cautions(make_patient(channels=pairs, fs=512.0))
    assert any("The recording is bipolar" in text for text in bipolar)
    assert any("this patient has only 6" in text for text in bipolar)
