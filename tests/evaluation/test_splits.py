"""Splits keep patients apart, centers in proportion, and say who breaks the rules."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epilens.core.errors import DataError, SplitError
from epilens.evaluation.splits import (
    PARTITIONS,
    check_split,
    leave_one_center_out,
    read_split,
    split_digest,
    stratified_folds,
)

SEEDS = st.integers(0, 2**32)


def cohort(**sizes: int) -> dict[str, str]:
    return {f"sub-{c}{i + 1:02d}": c for c, n in sizes.items() for i in range(n)}


# As many patients as in the paper.
EIGHTY = cohort(hup=36, multisite=15, ghent=17, lyon=12)
cohorts = st.dictionaries(
    st.sampled_from(["hup", "lyon", "ghent", "porto"]), st.integers(1, 20), min_size=1
).map(lambda sizes: cohort(**sizes))
cohorts_for_five_folds = cohorts.filter(lambda centers: len(centers) >= 10)
cohorts_of_many_centers = cohorts.filter(
    lambda centers: (
        len(set(centers.values())) > 1
        and len(centers) - max(Counter(centers.values()).values()) >= 2
    )
)


def partition(split: pd.DataFrame, fold: str, name: str) -> set[str]:
    return set(split.loc[(split["fold"] == fold) & (split["partition"] == name), "patient"])


def memberships(split: pd.DataFrame) -> set[tuple[str, str, str]]:
    return set(split[["fold", "partition", "patient"]].itertuples(index=False, name=None))


# --- folds ---


@settings(max_examples=30, deadline=None)
@given(cohorts_for_five_folds, SEEDS)
def test_every_patient_is_tested_exactly_once(centers, seed):
    split = stratified_folds(centers, 5, 0.2, seed)
    assert sorted(split.loc[split["partition"] == "test", "patient"]) == sorted(centers)
    assert sorted(split["fold"].unique()) == ["0", "1", "2", "3", "4"]


@settings(max_examples=30, deadline=None)
@given(cohorts_for_five_folds, SEEDS)
def test_every_fold_has_every_patient_in_one_partition(centers, seed):
    split = stratified_folds(centers, 5, 0.2, seed)
    for fold, part in split.groupby("fold"):
        assert sorted(part["patient"]) == sorted(centers)
        assert all(partition(split, fold, name) for name in PARTITIONS)


@settings(max_examples=30, deadline=None)
@given(cohorts_for_five_folds, SEEDS)
def test_test_folds_of_a_center_differ_by_at_most_one(centers, seed):
    split = stratified_folds(centers, 5, 0.2, seed)
    folds = [partition(split, str(fold), "test") for fold in range(5)]
    sizes = [len(fold) for fold in folds]
    assert max(sizes) - min(sizes) <= 1
    for center in set(centers.values()):
        sizes = [sum(centers[p] == center for p in fold) for fold in folds]
        assert max(sizes) - min(sizes) <= 1


@settings(max_examples=30, deadline=None)
@given(cohorts_for_five_folds, SEEDS, st.sampled_from([0.1, 0.2, 0.35]))
def test_validation_is_its_share_of_every_center(centers, seed, share):
    split = stratified_folds(centers, 5, share, seed)
    for fold in split["fold"].unique():
        held = partition(split, fold, "validation")
        outside = held | partition(split, fold, "fit")
        assert len(held) == max(1, round(share * len(outside)))
        for center in set(centers.values()):
            expected = len(held) * sum(centers[p] == center for p in outside) / len(outside)
            assert abs(sum(centers[p] == center for p in held) - expected) < 1


def test_the_papers_cohort_gives_51_fit_13_validation_and_16_test_patients():
    split = stratified_folds(EIGHTY, 5, 0.2, 0)
    found = split.groupby(["fold", "partition"]).size().unstack()
    assert found["test"].tolist() == [16] * 5
    assert found["validation"].tolist() == [13] * 5
    assert found["fit"].tolist() == [51] * 5


@settings(max_examples=20, deadline=None)
@given(cohorts_for_five_folds, SEEDS)
def test_the_same_seed_gives_the_same_split(centers, seed):
    once, again = (stratified_folds(centers, 5, 0.2, seed) for _ in range(2))
    pd.testing.assert_frame_equal(once, again)


def test_other_seeds_give_other_splits():
    splits = [stratified_folds(EIGHTY, 5, 0.2, seed) for seed in range(10)]
    assert len({split_digest(split) for split in splits}) == 10
    tests = [partition(split, "0", "test") for split in splits]
    assert all(one != other for one, other in pairwise(tests))


def test_validation_patients_differ_between_folds():
    split = stratified_folds(EIGHTY, 5, 0.2, 0)
    assert len({frozenset(partition(split, str(f), "validation")) for f in range(5)}) == 5


def reordered(centers: dict[str, str], seed: int, *, centers_too: bool) -> dict[str, str]:
    """The same mapping; patients (and, if asked, centers) come in another order."""
    rng = random.Random(seed)
    names = list(dict.fromkeys(centers.values()))
    if centers_too:
        patients = rng.sample(list(centers), len(centers))
        rng.shuffle(patients)
    else:
        groups = [[p for p, c in centers.items() if c == name] for name in names]
        patients = [p for group in groups for p in rng.sample(group, len(group))]
    return {p: centers[p] for p in patients}


@settings(max_examples=20, deadline=None)
@given(cohorts_for_five_folds, SEEDS)
def test_the_order_of_patients_within_centers_does_not_matter(centers, seed):
    other = reordered(centers, seed, centers_too=False)
    assert memberships(stratified_folds(other, 5, 0.2, 0)) == memberships(
        stratified_folds(centers, 5, 0.2, 0)
    )


def test_the_order_of_centers_does_not_matter():
    # Giving the datasets in another order is the same cohort.
    other = reordered(EIGHTY, 1, centers_too=True)
    assert memberships(stratified_folds(other, 5, 0.2, 0)) == memberships(
        stratified_folds(EIGHTY, 5, 0.2, 0)
    )


def test_the_order_of_centers_does_not_matter_when_one_is_left_out():
    other = reordered(EIGHTY, 1, centers_too=True)
    found, expected = (leave_one_center_out(c, 0.2, 0) for c in (other, EIGHTY))
    assert memberships(found) == memberships(expected)


def test_names_that_count_alike_do_not_make_the_split_depend_on_order():
    # sub-1 and sub-01 have the same natural sort key.
    names = [f"sub-{i}" for i in range(1, 10)] + [f"sub-0{i}" for i in range(1, 10)]
    forth, back = (dict.fromkeys(order, "hup") for order in (names, names[::-1]))
    assert memberships(stratified_folds(forth, 5, 0.2, 0)) == memberships(
        stratified_folds(back, 5, 0.2, 0)
    )


def test_there_are_as_many_folds_as_asked_for():
    split = stratified_folds(EIGHTY, 3, 0.2, 0)
    assert sorted(split["fold"].unique()) == ["0", "1", "2"]


def test_too_few_patients_are_said_so():
    with pytest.raises(
        SplitError, match=r"expected 10 or more patients for 5 folds, found 9\. Use fewer folds"
    ):
        stratified_folds(cohort(hup=9), 5, 0.2, 0)


def test_the_fewest_patients_still_fill_every_partition():
    split = stratified_folds(cohort(hup=4), 2, 0.2, 0)
    assert split.groupby(["fold", "partition"]).size().tolist() == [1, 2, 1] * 2


def test_a_share_that_leaves_nobody_to_fit_is_said_so():
    with pytest.raises(SplitError, match="fold 0 has no fit patient"):
        stratified_folds(cohort(hup=10), 5, 0.99, 0)


# --- leave one center out ---


@settings(max_examples=30, deadline=None)
@given(cohorts_of_many_centers, SEEDS)
def test_a_left_out_center_is_tested_whole_and_seen_by_no_decision(centers, seed):
    split = leave_one_center_out(centers, 0.2, seed)
    assert set(split["fold"]) == set(centers.values())
    for center in set(centers.values()):
        assert partition(split, center, "test") == {p for p, c in centers.items() if c == center}
        seen = partition(split, center, "fit") | partition(split, center, "validation")
        assert seen == {p for p, c in centers.items() if c != center}


@settings(max_examples=30, deadline=None)
@given(cohorts_of_many_centers, SEEDS)
def test_validation_without_a_center_is_its_share_of_the_others(centers, seed):
    split = leave_one_center_out(centers, 0.2, seed)
    for center in set(centers.values()):
        held = partition(split, center, "validation")
        outside = held | partition(split, center, "fit")
        assert len(held) == max(1, round(0.2 * len(outside)))
        for other in set(centers.values()) - {center}:
            expected = len(held) * sum(centers[p] == other for p in outside) / len(outside)
            assert abs(sum(centers[p] == other for p in held) - expected) < 1


def test_leaving_centers_out_follows_the_seed():
    digests = [split_digest(leave_one_center_out(EIGHTY, 0.2, seed)) for seed in (0, 0, 1, 2)]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


def test_one_center_cannot_be_left_out():
    with pytest.raises(SplitError, match=r"expected two or more centers, found 1\. Use folds"):
        leave_one_center_out(cohort(hup=10), 0.2, 0)


def test_two_centers_of_one_patient_cannot_be_left_out():
    with pytest.raises(SplitError, match="fold hup has no fit patient"):
        leave_one_center_out(cohort(hup=1, lyon=1), 0.2, 0)


# --- the user's own table ---

CENTERS = dict.fromkeys(["sub-01", "sub-02", "sub-03", "sub-04"], "hup")
GOOD = """patient,fold,partition
sub-01,a,test
sub-02,a,test
sub-03,a,fit
sub-04,a,validation
sub-01,b,fit
sub-02,b,validation
sub-03,b,test
sub-04,b,test
"""


@pytest.fixture
def own(tmp_path):
    """Write the text as a split and read it."""

    def read(text: str) -> pd.DataFrame:
        path: Path = tmp_path / "own.csv"
        path.write_text(text, encoding="utf-8")
        return read_split(path, CENTERS)

    return read


def test_the_users_own_split_is_read_as_written(own):
    split = own(GOOD)
    assert split.columns.tolist() == ["fold", "partition", "patient"]
    assert len(split) == 8
    assert partition(split, "a", "test") == {"sub-01", "sub-02"}
    assert partition(split, "b", "validation") == {"sub-02"}


def test_column_order_spaces_capitals_and_further_columns_do_not_matter(own):
    lines = [line.split(",") for line in GOOD.splitlines()[1:]]
    text = "Note, Partition,PATIENT ,fold\n" + "".join(
        f"x, {name},{patient} , {fold}\n" for patient, fold, name in lines
    )
    pd.testing.assert_frame_equal(own("\ufeff" + text), own(GOOD))


def test_a_patient_may_be_absent_from_a_fold(own):
    third = "sub-02,c,test\nsub-01,c,fit\nsub-03,c,validation\n"
    split = own(GOOD.replace("sub-02,a,test\n", "") + third)
    assert partition(split, "c", "test") == {"sub-02"}
    assert "sub-04" not in set(split.loc[split["fold"] == "c", "patient"])


@pytest.mark.parametrize(
    ("change", "to", "message"),
    [
        pytest.param(
            "sub-04,a,validation\n",
            "sub-04,a,validation\nsub-01,a,fit\n",
            r"own\.csv: sub-01 is in two partitions of fold a",
            id="overlap of test and fit",
        ),
        pytest.param(
            "sub-03,a,fit\n",
            "sub-03,a,fit\nsub-03,a,fit\n",
            "sub-03 is in two partitions of fold a",
            id="the same row twice",
        ),
        pytest.param(
            "sub-03,a,fit\n",
            "sub-03,a,fit\nsub-99,a,fit\nsub-98,b,fit\n",
            r"unknown patients sub-98, sub-99\. Are they described",
            id="unknown patients",
        ),
        pytest.param("a,fit", "a,train", "unknown partition 'train'; use fit,", id="train"),
        pytest.param(
            "sub-04,a,validation\n", "", "fold a has no validation patient", id="no validation"
        ),
        pytest.param("sub-03,a,fit\n", "", "fold a has no fit patient", id="nobody to fit"),
        pytest.param("a,test", "a,fit", "fold a has no test patient", id="nobody to test"),
        pytest.param(
            "sub-02,a,test\n", "", "1 patients are never tested, e.g. sub-02", id="untested"
        ),
        pytest.param("fold", "outer", r"expected columns .* Add fold\.", id="a column missing"),
        pytest.param(",", ";", r"found patient;fold;partition\. Add fold, part", id="semicolons"),
    ],
)
def test_a_wrong_split_says_what_is_wrong(own, change, to, message):
    with pytest.raises(SplitError, match=message):
        own(GOOD.replace(change, to))


def test_a_patient_tested_twice_is_named(own):
    third = "sub-01,c,test\nsub-02,c,fit\nsub-03,c,validation\n"
    with pytest.raises(SplitError, match="sub-01 is tested in 2 folds; once is right"):
        own(GOOD + third)


def test_a_header_without_rows_tests_nobody(own):
    with pytest.raises(SplitError, match=r"4 patients are never tested, e\.g\. sub-01"):
        own("patient,fold,partition\n")


def test_an_empty_cell_is_said_so(own):
    with pytest.raises(SplitError, match=r"fold .*has no"):
        own(GOOD.replace("sub-01,a,", "sub-01,n/a,"))


def test_a_split_that_is_not_there_is_said_so(tmp_path):
    with pytest.raises(DataError, match=r"nowhere\.csv: expected a file"):
        read_split(tmp_path / "nowhere.csv", CENTERS)


def test_a_table_with_an_index_of_its_own_is_renumbered():
    split = stratified_folds(EIGHTY, 5, 0.2, 0).sample(frac=1, random_state=0)
    assert check_split(split, EIGHTY).index.tolist() == list(range(len(split)))


# --- the digest ---


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_the_digest_does_not_depend_on_the_order_of_rows_or_columns(seed):
    split = stratified_folds(EIGHTY, 5, 0.2, 0)
    shuffled = split.sample(frac=1, random_state=seed % 2**32)[["patient", "fold", "partition"]]
    assert split_digest(shuffled) == split_digest(split)


def test_the_digest_sees_one_changed_row():
    split = stratified_folds(EIGHTY, 5, 0.2, 0)
    changed = split.copy()
    row = changed.index[changed["partition"] == "fit"][0]
    changed.loc[row, "partition"] = "validation"
    assert split_digest(changed) != split_digest(split)


def test_the_digest_is_the_same_after_a_file(own, tmp_path):
    split = own(GOOD)
    again = tmp_path / "again.csv"
    split.to_csv(again, index=False)
    assert split_digest(read_split(again, CENTERS)) == split_digest(split)
