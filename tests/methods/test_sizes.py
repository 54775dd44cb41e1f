"""Sizes come from the patients: other descriptors, and every row still learns and predicts."""

from __future__ import annotations

import numpy as np
import pytest

from epilens.evidence.cube import blind
from epilens.evidence.views import channel_table
from epilens.methods import METHODS, Training
from epilens.testing import QUICK, make_patient

FEWER = ["log_theta_power", "rms", "line_length", "spectral_entropy"]
ON_COLUMNS = {"deepsets": "embed.0.weight", "mlp-rank": "layers.0.weight"}


@pytest.fixture(scope="module")
def patients():
    made = [make_patient(f"sub-{i}", seed=10 * i, fs=220.0) for i in range(4)]
    return [patient.sel(descriptor=FEWER) for patient in made]


def fit(name, patients):
    return METHODS[name].fit(Training(patients[:2], patients[2:3], 0, QUICK))


@pytest.mark.parametrize("name", ["prq", "bcr", "bcr/q10", "prq/released"])
def test_a_network_is_as_wide_as_the_views_of_its_patients(name, patients):
    fitted = fit(name, patients)
    assert fitted.predictor().network.encoder.spec.features == 4 * len(FEWER)
    assert fitted.weights()["standardizer.mean"].shape == (4, len(FEWER))
    assert fitted.predict([blind(patients[3])])["p_nez"].between(0, 1).all()


@pytest.mark.parametrize("name", ON_COLUMNS)
def test_a_control_is_as_wide_as_the_channel_table(name, patients):
    fitted = fit(name, patients)
    assert fitted.weights()[ON_COLUMNS[name]].shape == (channel_table(patients[0]).shape[1],)
    assert fitted.predict([blind(patients[3])])["p_nez"].between(0, 1).all()


@pytest.mark.parametrize("name", ["logistic", "rbf-svm-z", "rich/connectivity", "rich/hybrid"])
def test_other_rows_on_columns_take_what_is_there(name, patients):
    scores = fit(name, patients).predict([blind(patients[3])])
    assert np.isfinite(scores["p_nez"]).all()
