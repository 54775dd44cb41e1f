"""Ledgers: what goes in comes out, what is wrong stays out; fusion never looks at test rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledgers import random_ledger, rows
from scoring_by_hand import best_threshold

from epilens.core.decisions import LOCKED_WEIGHT
from epilens.core.errors import LedgerError, StorageError
from epilens.evaluation.ledger import (
    COLUMNS,
    KEY,
    cell_threshold,
    check_ledger,
    fuse,
    read_ledger,
    with_thresholds,
    write_ledger,
)
from epilens.evaluation.scoring import score

FEW = settings(max_examples=12, deadline=None)
CELL = ["method", "seed", "fold"]


@pytest.fixture
def ledger() -> pd.DataFrame:
    return random_ledger()


@pytest.fixture
def pair() -> tuple[pd.DataFrame, pd.DataFrame]:
    return random_ledger(0, "prq"), random_ledger(1, "bcr")


def sorted_by_key(ledger: pd.DataFrame) -> pd.DataFrame:
    return ledger.sort_values(KEY, ignore_index=True)


# --- files ---


def test_what_is_written_is_read(tmp_path, ledger):
    path = write_ledger(ledger, tmp_path / "ledger.parquet")
    pd.testing.assert_frame_equal(read_ledger(path), ledger, check_exact=True)


def test_every_bit_of_a_probability_survives(tmp_path):
    p_nez = [0.0, 1.0, 0.1 + 0.2, np.nextafter(0.5, 1), 5e-324, 1 / 3]
    path = write_ledger(rows(p_nez, [0] * 6), tmp_path / "ledger.parquet")
    assert read_ledger(path)["p_nez"].tolist() == p_nez


def test_names_survive_whatever_their_letters(tmp_path, ledger):
    ledger.loc[0, ["patient", "channel", "center"]] = ["sub-ß", "A'10 µ", "Liège"]
    path = write_ledger(ledger, tmp_path / "ledger.parquet")
    pd.testing.assert_frame_equal(read_ledger(path), ledger)


def test_columns_have_their_order_and_others_are_left_out(tmp_path, ledger):
    mixed = ledger[COLUMNS[::-1]].assign(note="x").set_index(ledger.index[::-1])
    path = write_ledger(mixed, tmp_path / "ledger.parquet")
    pd.testing.assert_frame_equal(read_ledger(path), ledger)


def test_the_folder_is_made_and_nothing_else_is_left(tmp_path, ledger):
    write_ledger(ledger, tmp_path / "new" / "ledger.parquet")
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["ledger.parquet"]


def test_a_refused_ledger_leaves_the_old_file(tmp_path, ledger):
    path = write_ledger(ledger, tmp_path / "ledger.parquet")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=r"ledger\.parquet: expected probabilities"):
        write_ledger(ledger.assign(p_nez=2.0), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_refused_ledger_leaves_no_file(tmp_path, ledger):
    with pytest.raises(LedgerError, match="expected every channel once"):
        write_ledger(pd.concat([ledger, ledger]), tmp_path / "ledger.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_failure_while_writing_leaves_the_old_file_and_no_other(tmp_path, ledger, monkeypatch):
    path = write_ledger(ledger, tmp_path / "ledger.parquet")
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(StorageError, match="expected room on the disk, found none left"):
        write_ledger(ledger.assign(p_nez=0.5), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda content: b"", id="empty"),
        pytest.param(lambda content: content[:4], id="its first bytes only"),
        pytest.param(lambda content: content[: len(content) // 2], id="half"),
        pytest.param(lambda content: content[:-1], id="all but one byte"),
        pytest.param(lambda content: content[20:], id="without its start"),
        pytest.param(lambda content: b"patient,p_nez\nsub-01,0.5\n", id="a CSV file"),
        pytest.param(lambda content: content[:-40] + bytes(40), id="zeros at the end"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, ledger, damage):
    path = write_ledger(ledger, tmp_path / "ledger.parquet")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(LedgerError, match=r"cannot be read as one .*Remove it and run again"):
        read_ledger(path)


def test_flipped_bits_never_give_other_numbers(tmp_path, ledger):
    path = write_ledger(ledger, tmp_path / "ledger.parquet")
    whole = path.read_bytes()
    changed = []
    for position in range(4, len(whole), 97):
        content = bytearray(whole)
        content[position] ^= 0xFF
        path.write_bytes(content)
        try:
            found = read_ledger(path)
        except LedgerError:
            continue
        if not found.equals(ledger):
            changed.append(position)
    assert changed == []


def test_another_table_is_refused(tmp_path):
    path = tmp_path / "other.parquet"
    pd.DataFrame({"method": ["prq"]}).to_parquet(path)
    with pytest.raises(LedgerError, match=r"other\.parquet: expected columns .*, found no seed"):
        read_ledger(path)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(LedgerError, match=r"nowhere\.parquet: expected a ledger"):
        read_ledger(tmp_path / "nowhere.parquet")


def test_a_file_that_breaks_the_rules_is_refused_when_read(tmp_path, ledger):
    path = tmp_path / "ledger.parquet"
    pd.concat([ledger, ledger[:1]]).to_parquet(path, index=False)
    with pytest.raises(LedgerError, match="expected every channel once, found 1 twice"):
        read_ledger(path)


# --- rules ---


def test_a_good_ledger_is_given_back(ledger):
    pd.testing.assert_frame_equal(check_ledger(ledger), ledger)


def test_a_channel_that_is_there_twice_is_named(ledger):
    twice = pd.concat([ledger, ledger.iloc[[5]].assign(p_nez=0.123)], ignore_index=True)
    with pytest.raises(
        LedgerError,
        match="found 1 twice: method prq, seed 42, fold 0, partition test, patient sub-01, "
        "channel A6",
    ):
        check_ledger(twice)


@pytest.mark.parametrize(
    ("name", "other"),
    [("method", "bcr"), ("seed", 52), ("patient", "sub-02"), ("channel", "A99")],
)
def test_channels_that_differ_in_one_key_are_different(ledger, name, other):
    one = ledger.iloc[[0]]
    assert len(check_ledger(pd.concat([one, one.assign(**{name: other})]))) == 2


@pytest.mark.parametrize("column", COLUMNS)
def test_a_missing_column_is_named(ledger, column):
    with pytest.raises(LedgerError, match=f"expected columns .*, found no {column}"):
        check_ledger(ledger.drop(columns=column))


@pytest.mark.parametrize("wrong", [-1e-9, 1 + 1e-9, 2.0, np.nan, np.inf, -np.inf])
def test_a_probability_outside_0_and_1_is_refused(ledger, wrong):
    ledger.loc[3, "p_nez"] = wrong
    with pytest.raises(LedgerError, match=r"expected probabilities \(p_nez\) in \[0, 1\]"):
        check_ledger(ledger)


def test_the_probabilities_0_and_1_are_allowed():
    assert len(check_ledger(rows([0.0, 1.0], [1, 0]))) == 2


def test_two_thresholds_in_a_cell_are_refused(ledger):
    ledger.loc[0, "threshold"] = 0.123
    with pytest.raises(LedgerError, match="expected one threshold per method, seed and fold"):
        check_ledger(ledger)


def test_a_threshold_for_a_part_of_a_cell_only_is_refused(ledger):
    ledger.loc[0, "threshold"] = np.nan
    with pytest.raises(LedgerError, match="threshold"):
        check_ledger(ledger)


def test_cells_may_have_different_thresholds(ledger):
    assert ledger["threshold"].nunique() == 2
    check_ledger(ledger)


def test_a_channel_tested_in_two_folds_is_refused():
    # "These checks prevent … duplicated held-out channels from entering the reported comparison."
    twice = pd.concat([rows([0.2, 0.8], [1, 0], fold=fold) for fold in "01"], ignore_index=True)
    with pytest.raises(LedgerError, match="sub-01"):
        check_ledger(twice)


def test_a_patient_that_chose_the_threshold_cannot_be_tested_with_it():
    leak = pd.concat(
        [rows([0.2, 0.8], [1, 0], partition=name) for name in ("validation", "test")],
        ignore_index=True,
    )
    with pytest.raises(LedgerError, match="sub-01"):
        check_ledger(leak)


def test_an_unknown_partition_is_refused(ledger):
    # Its rows would be neither scored nor used for the threshold, and nobody would know.
    ledger.loc[0, "partition"] = "tset"
    with pytest.raises(LedgerError, match="tset"):
        check_ledger(ledger)


# --- thresholds ---


def test_each_cell_gets_the_threshold_of_its_validation_rows(ledger):
    found = with_thresholds(ledger)
    cells = found.groupby(CELL)
    assert cells["threshold"].nunique().tolist() == [1] * 4
    for _, cell in cells:
        patients = [p for _, p in cell[cell["partition"] == "validation"].groupby("patient")]
        expected, _ = best_threshold(
            [p["p_nez"].tolist() for p in patients], [p["is_ez"].tolist() for p in patients]
        )
        assert cell["threshold"].iloc[0] == expected


def test_choosing_thresholds_changes_nothing_else(ledger):
    found = sorted_by_key(with_thresholds(ledger)).drop(columns="threshold")
    pd.testing.assert_frame_equal(found, sorted_by_key(ledger).drop(columns="threshold"))


def test_a_cell_without_validation_rows_is_refused(ledger):
    with pytest.raises(LedgerError, match="expected scores of one patient or more"):
        with_thresholds(ledger[ledger["partition"] == "test"])


def test_patients_weigh_the_same_in_the_threshold_of_a_cell():
    many = rows([0.2] * 50 + [0.4] * 50, [1] * 50 + [0] * 50, patient="sub-01")
    few = [rows([0.6, 0.8], [1, 0], patient=p) for p in ("sub-02", "sub-03")]
    assert cell_threshold(pd.concat([many, *few]).assign(partition="validation")) == 0.605


def disturbed(ledger: pd.DataFrame, seed: int, columns: list[str]) -> pd.DataFrame:
    """Everything in the test rows is different."""
    rng = np.random.default_rng(seed)
    test = ledger["partition"] == "test"
    out = ledger.copy()
    if "p_nez" in columns:
        out.loc[test, "p_nez"] = rng.random(test.sum())
    if "is_ez" in columns:
        out.loc[test, "is_ez"] = rng.random(test.sum()) < rng.random()
    return out


@pytest.mark.parametrize("columns", [["p_nez"], ["is_ez"], ["p_nez", "is_ez"]])
@FEW
@given(seed=st.integers(0, 2**32))
def test_thresholds_are_blind_to_test_rows(columns, seed):
    prq, bcr = random_ledger(0, "prq"), random_ledger(1, "bcr")
    expected = fuse(prq, bcr).groupby(CELL)["threshold"].first()
    # The labels are the same in both.
    found = fuse(disturbed(prq, seed, columns), disturbed(bcr, seed, columns))
    pd.testing.assert_series_equal(found.groupby(CELL)["threshold"].first(), expected)


def test_thresholds_do_see_validation_rows(pair):
    prq, bcr = (
        one.assign(p_nez=one["p_nez"].where(one["partition"] == "test", one["p_nez"] / 10))
        for one in pair
    )
    before, after = (fuse(*both).groupby(CELL)["threshold"].first() for both in (pair, (prq, bcr)))
    assert (after < before).all()


# --- fusion ---


def test_the_weight_is_locked_at_one_fifth():
    assert LOCKED_WEIGHT == 0.20
    assert fuse(np.array([1.0, 0.0, 0.5]), np.array([0.0, 1.0, 0.5])) == pytest.approx(
        [0.8, 0.2, 0.5], abs=1e-15
    )


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=20),
    st.floats(0, 1),
)
def test_fused_arrays_follow_the_formula_and_stay_between_the_two(both, weight):
    prq, bcr = (np.array(column) for column in zip(*both, strict=True))
    fused = fuse(prq, bcr, weight)
    by_hand = [p + weight * (b - p) for p, b in both]
    assert fused == pytest.approx(by_hand, abs=1e-15)
    assert (fused >= np.minimum(prq, bcr) - 1e-15).all()
    assert (fused <= 1).all()
    assert fuse(prq, bcr, 0).tolist() == prq.tolist()
    assert fuse(prq, bcr, 1).tolist() == bcr.tolist()


@pytest.mark.parametrize("weight", [0, 0.05, 0.1, 0.2, 0.5, 1])
def test_fused_ledgers_follow_the_formula(pair, weight):
    prq, bcr = (one.set_index(KEY[1:])["p_nez"] for one in pair)
    fused = fuse(*pair, weight).set_index(KEY[1:])["p_nez"]
    expected = (1 - weight) * prq + weight * bcr
    pd.testing.assert_series_equal(fused.sort_index(), expected.sort_index(), rtol=0, atol=1e-15)


def test_weight_0_is_prq_and_weight_1_is_bcr_with_their_thresholds(pair):
    for weight, alone in zip((0, 1), pair, strict=True):
        expected = sorted_by_key(with_thresholds(alone).assign(method="cdel"))
        found = sorted_by_key(fuse(*pair, weight))
        pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_fusion_is_called_cdel_and_keeps_the_rules(pair):
    fused = fuse(*pair)
    assert fused["method"].unique().tolist() == ["cdel"]
    assert fused.columns.tolist() == COLUMNS
    assert len(fused) == len(pair[0])
    assert fused["is_ez"].dtype == bool
    pd.testing.assert_frame_equal(check_ledger(fused), fused)
    assert len(score(fused)) == 8


def test_the_default_weight_for_ledgers_is_the_locked_one(pair):
    pd.testing.assert_frame_equal(fuse(*pair), fuse(*pair, 0.2))


def test_fusion_leaves_what_it_is_given_alone(pair):
    copies = [one.copy() for one in pair]
    fuse(*pair)
    for one, copy in zip(pair, copies, strict=True):
        pd.testing.assert_frame_equal(one, copy)


@FEW
@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_the_order_of_rows_does_not_matter(one, other):
    prq, bcr = random_ledger(0, "prq"), random_ledger(1, "bcr")
    shuffled = fuse(prq.sample(frac=1, random_state=one), bcr.sample(frac=1, random_state=other))
    pd.testing.assert_frame_equal(
        sorted_by_key(shuffled), sorted_by_key(fuse(prq, bcr)), check_exact=True
    )


@pytest.mark.parametrize("which", [0, 1])
def test_a_channel_that_only_one_has_is_named(pair, which):
    short = list(pair)
    short[which] = short[which].drop(index=5)
    with pytest.raises(
        LedgerError,
        match="expected the same channels in both, found 1 in one: seed 42, fold 0, "
        "partition test, patient sub-01, channel A6",
    ):
        fuse(*short)


def test_a_seed_that_only_one_has_is_refused(pair):
    prq, bcr = pair
    with pytest.raises(LedgerError, match="expected the same channels in both, found 64 in one"):
        fuse(prq, bcr[bcr["seed"] == 42])


def test_a_channel_that_one_has_twice_is_refused(pair):
    prq, bcr = pair
    with pytest.raises(LedgerError, match=r"found 1 twice: .*channel A1"):
        fuse(prq, pd.concat([bcr, bcr[:1]]))


@pytest.mark.parametrize(("column", "other"), [("is_ez", False), ("center", "porto")])
def test_ledgers_that_disagree_about_a_channel_are_refused(pair, column, other):
    # "… require exact subject-center-channel-fold-label alignment"
    prq, bcr = pair
    bcr.loc[0, column] = other
    assert prq.loc[0, column] != other
    with pytest.raises(LedgerError, match="fuse"):
        fuse(prq, bcr)


@pytest.mark.parametrize("weight", [-0.1, 1.1, np.nan])
def test_a_weight_outside_0_and_1_is_refused(weight):
    with pytest.raises(LedgerError, match="weight"):
        fuse(np.array([0.4, 0.5]), np.array([0.5, 0.4]), weight)


def test_arrays_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match=r"expected|broadcast"):
        fuse(np.array([0.4, 0.5]), np.array([0.5, 0.4, 0.3]))


@pytest.mark.parametrize("value", [np.nan, "yes", None, 2, 0.5])
def test_a_label_that_is_neither_true_nor_false_is_refused(ledger, value):
    odd = ledger.astype({"is_ez": object})
    odd.loc[3, "is_ez"] = value
    with pytest.raises(LedgerError, match="expected is_ez true or false, found"):
        check_ledger(odd)


@pytest.mark.parametrize("kind", [bool, int, float, object])
def test_labels_may_be_numbers(ledger, kind):
    assert len(check_ledger(ledger.astype({"is_ez": kind}))) == len(ledger)


@pytest.mark.parametrize(
    ("prq", "bcr", "message"),
    [
        ([5.0], [0.1], r"probabilities in \[0, 1\], found 5\. Give p_nez"),
        ([0.5], [-0.1], r"probabilities in \[0, 1\], found -0\.1\."),
        ([0.5, np.nan], [0.1, 0.2], r"probabilities in \[0, 1\], found nan\."),
        ([0.5, 0.5], [0.1], r"the same shape, found \(2,\) and \(1,\)\."),
    ],
)
def test_arrays_that_are_not_probabilities_of_the_same_channels_are_not_fused(prq, bcr, message):
    with pytest.raises(LedgerError, match=message):
        fuse(np.array(prq), np.array(bcr))
