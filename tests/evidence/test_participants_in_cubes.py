"""Participants travel in the cube: seen by the demographics table, by no method and no key."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest
import xarray as xr

from epilens.analyses import analyse, open_run
from epilens.data.bids import read_bids
from epilens.evaluation.protocol import run
from epilens.evidence.cube import blind
from epilens.evidence.files import open_cohort, save
from epilens.evidence.store import describe_cohort
from epilens.plan import Plan, Runtime

PLAN = Plan(name="who", seeds=(1,), methods=("line-length-change",)).override(splits={"folds": 2})
CENTERS = ("north", "east", "south", "west")


@pytest.fixture(scope="module")
def cubes(tiny, tmp_path_factory):
    out = tmp_path_factory.mktemp("described") / "cubes"
    describe_cohort([read_bids(tiny / center, "simulated") for center in CENTERS], out, PLAN)
    return out


@pytest.fixture(scope="module")
def known(tiny):
    """The row of sub-E01 in the file: age, sex, and Engel class as people write it."""
    table = pd.read_csv(tiny / "east" / "participants.tsv", sep="\t").set_index("participant_id")
    row = table.loc["sub-E01"]
    return {"age": float(row["age"]), "sex": row["sex"], "engel": f"I-{row['engel'][-1]}"}


def test_the_cube_knows_its_participant_and_a_blind_one_does_not(cubes, known):
    cube = open_cohort(cubes)["sub-E01"]
    facts = known | {"outcome": "S"}
    assert cube.attrs["participant"] == facts
    assert not {"participant", *facts} & set(blind(cube).attrs)


def test_a_changed_fact_keeps_key_and_numbers(tiny, tmp_path):
    root, out = tmp_path / "west", tmp_path / "cubes"
    shutil.copytree(tiny / "west", root)
    describe_cohort([read_bids(root)], out, Plan())
    before = open_cohort(out)["sub-W01"]
    table, age = root / "participants.tsv", int(before.attrs["participant"]["age"])
    text = table.read_text("utf-8").replace(f"sub-W01\t{age}\t", f"sub-W01\t{age + 9}\t")
    table.write_text(text, "utf-8")
    summary = describe_cohort([read_bids(root)], out, Plan())
    assert (summary["described"], summary["kept"]) == (0, 2)
    after = open_cohort(out)["sub-W01"]
    assert after.attrs["participant"]["age"] == age + 9
    assert after.attrs["key"] == before.attrs["key"]
    xr.testing.assert_equal(after, before)


def test_the_demographics_of_the_simulated_cohort_are_filled(cubes, known, tmp_path):
    folder = run(PLAN, open_cohort(cubes), Runtime(out=tmp_path))
    frame = analyse("demographics", open_run(folder, cubes)).set_index("patient")
    assert len(frame) == 8
    assert frame[["age", "sex", "engel", "modality"]].notna().all().all()
    assert frame.loc["sub-E01", ["age", "engel"]].tolist() == [known["age"], known["engel"]]
    assert "procedure" not in frame, "the simulated cohort has none"


def test_patients_without_facts_have_a_row_too(cubes, tmp_path):
    copy = tmp_path / "cubes"
    shutil.copytree(cubes, copy)
    cohort = open_cohort(copy)
    cube = cohort["sub-E01"]
    del cube.attrs["participant"]
    save(cube, cohort.path("sub-E01"))
    folder = run(PLAN, cohort, Runtime(out=tmp_path))
    frame = analyse("demographics", open_run(folder, copy)).set_index("patient")
    assert frame.loc["sub-E01", ["age", "sex", "engel"]].isna().all()
    assert frame.drop(index="sub-E01")[["age", "sex", "engel"]].notna().all().all()
