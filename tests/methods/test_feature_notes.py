"""What the rows on features keep of their input: which columns, and how much there was of it."""

from __future__ import annotations

import pytest

from epilens.methods import METHODS, Training
from epilens.testing import QUICK, make_patient


@pytest.fixture(scope="module")
def patients():
    """The first has one seizure, and lost ten of its windows in all channels."""
    made = [make_patient(f"sub-{i}", 1 + (i > 0), 7 * i, fs=220.0) for i in range(3)]
    valid = made[0]["valid"].copy()
    valid[0, -10:] = False
    made[0] = made[0].assign(valid=valid, x=made[0]["x"].where(valid, 0))
    return made


def fitted(name, patients):
    return METHODS[name].fit(Training(patients[:2], patients[2:], 0, QUICK))


FEATURE_ROWS = ("logistic", "deepsets", "mlp-rank", "rich/hybrid", "rich/hfo", "prq")


@pytest.mark.parametrize("name", FEATURE_ROWS)
def test_seizures_and_windows_of_each_patient_are_recorded(patients, name):
    windows = patients[1].sizes["window"]
    assert fitted(name, patients).notes["counts"] == {
        "sub-0": {"seizures": 1, "windows": windows - 10},
        "sub-1": {"seizures": 2, "windows": 2 * windows},
        "sub-2": {"seizures": 2, "windows": 2 * windows},
    }


@pytest.mark.parametrize("name", ["deepsets", "mlp-rank", "rich/hybrid"])
def test_networks_on_columns_name_those_that_the_classifiers_have(patients, name):
    assert fitted(name, patients).notes["columns"] == fitted("logistic", patients).notes["columns"]


@pytest.mark.parametrize("name", ["logistic", "deepsets", "mlp-rank"])
def test_counts_are_no_columns(patients, name):
    columns = fitted(name, patients).notes["columns"]
    kinds = {*patients[0]["descriptor"].values}
    assert len(columns) == 88
    assert {column.rpartition("/")[2] for column in columns} == kinds
    assert {column.partition("/")[0] for column in columns} == {"mean", "std"}


@pytest.mark.parametrize("name", ["deepsets", "mlp-rank"])
def test_the_first_layer_reads_the_named_columns_and_nothing_else(patients, name):
    row = fitted(name, patients)
    first = next(tensor for tensor in row.weights().values() if tensor.ndim == 2)
    assert first.shape[1] == len(row.notes["columns"])
