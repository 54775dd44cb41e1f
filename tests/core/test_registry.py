"""Registries: a file is its own registration."""

from __future__ import annotations

import pytest

from epilens.core.errors import EpilensError
from epilens.data.datasets import DATASETS, recognise


def test_the_contract_s_datasets_are_there():
    assert {"hup", "multisite", "local", "simulated"} <= set(DATASETS)


@pytest.mark.parametrize("name", sorted(DATASETS))
def test_a_dataset_row_tells_what_people_must_know(name):
    row = DATASETS[name]
    assert row.name == name
    assert row.title
    assert row.who
    assert row.onset
    assert row.ez
    assert row.labels
    assert row.is_ictal("ictal")
    assert not row.is_ictal("interictal")


def test_a_misspelt_name_gets_the_nearest():
    with pytest.raises(EpilensError, match=r"found 'multisit'. Did you mean 'multisite'\?"):
        DATASETS["multisit"]


@pytest.mark.parametrize(
    ("description", "name"),
    [
        ({"DatasetDOI": "doi:10.18112/openneuro.ds004100.v1.1.3"}, "hup"),
        ({"DatasetDOI": "doi:10.18112/openneuro.ds003029.v1.0.7"}, "multisite"),
        ({"GeneratedBy": [{"Name": "EpiLENS simulation"}]}, "simulated"),
        ({"Name": "ours", "GeneratedBy": ["text"]}, "local"),
    ],
)
def test_a_tree_is_recognised_by_its_description(description, name):
    assert recognise(description).name == name
