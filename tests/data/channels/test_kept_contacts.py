"""`--keep PATIENT:CHANNEL` of `describe` and `bids`: a contact that the checks exclude is used."""

from __future__ import annotations

import json

import pytest
from trees import NAMES, noise, write_tree

from epilens.bids_app.participants import choose_ranker, localize_all
from epilens.core.errors import DataError, PlanError
from epilens.data.bids import read_cohort
from epilens.data.channels.user_choices import check_kept
from epilens.evidence.files import open_cohort
from epilens.evidence.store import describe_cohort
from epilens.plan import Plan, Runtime


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Patient 01, whose contact A3 is flat before onset."""
    data = noise()
    data[2, : data.shape[1] // 2] = 0
    return write_tree(tmp_path_factory.mktemp("tree"), data=data)


def test_a_described_contact_is_kept_and_the_plan_says_so(tree, tmp_path):
    kept = Plan().override(quality={"keep": ["sub-01:a3"]})
    assert kept.digest != Plan().digest
    for plan, channels in ((Plan(), set(NAMES) - {"A3"}), (kept, set(NAMES))):
        describe_cohort(read_cohort([tree], None, plan), tmp_path / plan.digest, plan)
        cube = open_cohort(tmp_path / plan.digest)["sub-01"]
        assert set(cube["channel"].values) == channels


def test_a_localized_contact_is_kept(tree, tmp_path):
    ranker = choose_ranker(None, "line-length-change")
    for keep, ranked in (((), False), (("01:A3",), True)):
        (record,) = localize_all(tree, ranker, Runtime(out=tmp_path), keep=keep)
        assert record.kind == "done"
        table = tmp_path / "sub-01" / "ieeg" / "sub-01_desc-epilens_contacts.tsv"
        assert ("\nA3\t" in table.read_text()) == ranked
    cautions = json.loads(table.with_suffix(".json").read_text())["Cautions"]
    assert any(
        "ranked, although the signal is not as it should be: A3" in text for text in cautions
    )


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("A3", "expected PATIENT:CHANNEL"),
        ("09:A3", "expected a patient of the dataset"),
        ("01:Z9", "expected a channel of 01"),
    ],
)
def test_entries_that_mean_nothing_are_refused(tree, entry, why):
    patients = [one for part in read_cohort([tree], None, Plan()) for one in part.patients]
    with pytest.raises(DataError, match=why):
        check_kept([entry], patients)


def test_a_plan_refuses_a_name_without_its_patient():
    with pytest.raises(PlanError, match=r"keep\.0: .*expected PATIENT:CHANNEL, such as 01:RA5"):
        Plan().override(quality={"keep": ["A3"]})


def test_an_entry_of_no_localized_patient_is_refused(tree, tmp_path):
    ranker = choose_ranker(None, "line-length-change")
    with pytest.raises(DataError, match="expected PATIENT:CHANNEL of a patient that is localized"):
        localize_all(tree, ranker, Runtime(out=tmp_path), keep=["09:A3"])
