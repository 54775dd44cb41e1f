"""The download, as far as it can be tried without a network: what it asks for, and its size."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from epilens.core.errors import DataError
from epilens.data import fetch as module
from epilens.data.datasets import DATASETS
from epilens.data.fetch import download_size, fetch, patterns

FILES = [
    {"filename": "participants.tsv", "size": 10},
    {"filename": "sourcedata/clinical_data_summary.xlsx", "size": 20},
    {"filename": "sub-HUP064/ses-presurgery/ieeg/a.edf", "size": 300},
    {"filename": "sub-HUP065/ses-presurgery/ieeg/a.edf", "size": 4000},
    {"filename": "sub-HUP065/ses-presurgery/ieeg/a.json", "size": None},
]


def answer(question):
    assert question["variables"] == {"dataset": "ds004100", "tag": "1.1.3"}
    return {"data": {"snapshot": {"files": FILES}}}


@pytest.mark.parametrize(
    ("subjects", "size"), [((), 4330), (("HUP064",), 330), (("sub-HUP064", "HUP065"), 4330)]
)
def test_the_size_is_that_of_what_will_be_there(subjects, size):
    assert download_size(DATASETS["hup"], subjects, answer) == size


def test_a_whole_dataset_needs_no_patterns_and_a_part_brings_what_all_share():
    assert patterns(DATASETS["hup"], []) is None
    assert patterns(DATASETS["hup"], ["HUP064"])[-1] == "sub-HUP064"
    assert "sourcedata/clinical_data_summary.xlsx" in patterns(DATASETS["multisite"], ["pt2"])


def test_a_dataset_is_asked_for_nothing_that_it_does_not_have():
    assert patterns(DATASETS["hup"], ["HUP064"]) == ["/*.json", "/*.tsv", "sub-HUP064"]


@pytest.mark.parametrize("name", ["hup", "ds004100"])
def test_the_size_is_said_before_the_download_starts(monkeypatch, tmp_path, name):
    told = []
    monkeypatch.setattr(module, "_ask", answer)
    download = SimpleNamespace(download=lambda **wanted: told.append(wanted))
    monkeypatch.setitem(sys.modules, "openneuro", download)
    assert fetch(name, tmp_path, ["HUP064"], told.append) == tmp_path
    assert told[0].startswith("HUP iEEG Epilepsy Dataset 1.1.3: 0.00 GB to")
    assert told[1]["dataset"] == "ds004100"
    assert told[1]["tag"] == "1.1.3"


def test_no_network_is_one_clear_sentence(monkeypatch, tmp_path):
    def no_network(question):
        raise OSError("no route")

    monkeypatch.setattr(module, "_ask", no_network)
    with pytest.raises(DataError, match=r"expected an answer from OpenNeuro, found: no route"):
        fetch("hup", tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_missing_package_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "openneuro", None)
    with pytest.raises(DataError, match=r"expected the package openneuro-py"):
        fetch("multisite", tmp_path)


def test_a_download_goes_into_no_folder_of_somebody(monkeypatch, tmp_path):
    """Into a new one, and into one that it began or that holds the same dataset."""
    monkeypatch.setattr(module, "_ask", answer)
    wanted = []
    download = SimpleNamespace(download=lambda **asked: wanted.append(asked))
    monkeypatch.setitem(sys.modules, "openneuro", download)
    theirs, same = tmp_path / "theirs", tmp_path / "same"
    for folder, text in ((theirs, '{"Name": "mine"}'), (same, '{"DatasetDOI": "x.ds004100.v1"}')):
        folder.mkdir()
        (folder / "dataset_description.json").write_text(text)
    with pytest.raises(DataError, match="or one with a download of ds004100"):
        fetch("hup", theirs, (), wanted.append)
    assert wanted == []
    for _ in range(2):
        fetch("hup", tmp_path / "new", (), lambda text: None)
    fetch("hup", same, (), lambda text: None)
    assert len(wanted) == 3
