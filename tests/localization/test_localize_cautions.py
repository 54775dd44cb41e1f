"""Recordings that cannot be trusted in full: what is ranked, and what page and JSON say."""

from __future__ import annotations

import json
from pathlib import Path

import edfio
import numpy as np
import pytest
from new_patients import CONTACTS, FS, ONSET_S

from epilens.core.errors import DataError
from epilens.data.audit import AuditRow, Note
from epilens.data.channels.non_contacts import why_no_contact
from epilens.localization.data_cautions import data_cautions
from epilens.report.patient.localize import localize
from epilens.testing import make_recording

METHOD = "line-length-spread"


def write(folder: Path, number: int, names=CONTACTS, change=None, rates=None, scale=None) -> Path:
    """A seizure in which the first two contacts become fast; `change` alters its signal."""
    made = make_recording(
        fs=FS, channels=[f"X{i}" for i in range(len(names))], start_s=-40, stop_s=40, seed=number
    )
    data = made.signal.astype(np.float64)
    if change is not None:
        change(data)
    limits = [(-9999, 9999) if scale is None else scale] * len(names)
    signals = [
        edfio.EdfSignal(
            x[:: (rates or {}).get(i, 1)],
            FS / (rates or {}).get(i, 1),
            label=name,
            physical_dimension="uV",
            physical_range=limit,
        )
        for i, (name, x, limit) in enumerate(zip(names, data, limits, strict=True))
    ]
    path = folder / f"{number}.edf"
    edfio.Edf(signals, data_record_duration=1.0).write(path)
    return path


def ranked(files, **given):
    return localize(files, METHOD, onsets=[ONSET_S] * len(files), **given)


def cautions(localized):
    return " ".join(c.text for c in localized.certainty.cautions if c.level == "caution")


def noise_and_silence(number):
    """Twenty times the noise in one seizure, nothing in the others."""

    def change(data):
        data[7] = 20 * data[7] if number == 0 else 0.0

    return change


def test_a_defect_in_other_words_is_a_caution_and_a_flag_is_not():
    rows = [
        AuditRow.of("channel", Note("{found}", "channel-quality", found=found), who, "noted")
        for found, who in (("humming", ("P", "r", "A1")), ("clipped", ("P", "r", "A2")))
    ]
    [text] = data_cautions(rows, ("A1", "A2", "B1"), ("r",), np.ones((1, 3), bool))
    assert text == (
        "1 contact is ranked, although the signal is not as it should be: "
        "A1 (humming in seizure 1)."
    )


def unnumbered(*names: str, ranked: int = 60) -> tuple[str, ...]:
    """Cautions about channels without a number, next to so many contacts."""
    reasons = why_no_contact([*names, "A1"], ["eeg"] * (len(names) + 1))
    rows = [
        AuditRow.of("channel", Note(why, "channel-not-implanted"), ("sub-1", "r", name))
        for name, why in reasons.items()
    ]
    contacts = [f"{'AB'[i % 2]}{i}" for i in range(ranked)]
    return data_cautions(rows, contacts, ("r",), np.ones((1, ranked), bool))


def test_several_channels_without_a_contact_number_are_a_caution():
    (text,) = unnumbered("LAa", "LAb", "LAc", "LAd", "ECG", "DC")
    assert text.startswith("4 channels are not ranked, because their names have no contact number")
    assert "LAa, LAb, LAc, LAd. Rename" in text
    (text,) = unnumbered("LAa", "LAb", ranked=10)
    assert text.startswith("2 channels are not ranked")


def test_single_inputs_and_scalp_electrodes_without_a_number_are_none():
    assert unnumbered("X", "REF", "GND", "ECG", "MARK", "EKG", "TRIG", "EMG") == ()
    assert unnumbered("Fz", "Cz", "Pz", "FPz", "Oz", "Cz-Pz") == ()
    assert unnumbered("X", ranked=5) == unnumbered("ECG", "DC", ranked=5)


def test_a_side_with_its_prime_at_the_end_is_ranked(tmp_path):
    recording = write(tmp_path, 1, [*(f"A{i}'" for i in range(1, 6)), *CONTACTS[5:]])
    found = localize(recording, METHOD, onsets=[ONSET_S])
    assert "A1'" in found.channels
    assert len(found.channels) == len(CONTACTS)


def test_a_contact_that_is_broken_in_every_seizure_is_not_ranked(tmp_path):
    clean = ranked([write(tmp_path, i) for i in range(3)])
    files = [write(tmp_path, i, change=noise_and_silence(i)) for i in range(3)]
    localized = ranked(files)
    assert "B3" in clean.channels
    assert "B3" not in localized.channels
    assert (
        next(row.found for row in localized.dropped if row.channel == "B3") == "noise before onset"
    )
    said = cautions(localized)
    assert "1 contact is not ranked" in said
    assert "B3 (noise before onset in seizure 1; flat before onset in seizure 2, seizure 3)" in said


def test_a_contact_that_is_dead_in_two_seizures_is_ranked_by_the_third(tmp_path):
    def change(data):
        data[7] = 0.0

    files = [write(tmp_path, i, change=change if i else None) for i in range(3)]
    localized = ranked(files)
    assert int(localized["B3"]["seizures"]) == 1
    assert localized["B3"]["quality"] == "flat before onset"
    assert "not used in some seizures" in cautions(localized)


def test_a_contact_that_comes_alive_at_onset_is_not_flagged(tmp_path):
    def change(data):
        data[7, : round(ONSET_S * FS)] = 0.0

    localized = ranked([write(tmp_path, i, change=change) for i in range(2)])
    assert "B3" not in localized.channels
    assert "flat before onset" in cautions(localized)


def test_a_contact_can_be_kept(tmp_path):
    def change(data):
        data[7, : round(ONSET_S * FS)] = 0.0

    localized = ranked([write(tmp_path, i, change=change) for i in range(2)], keep=["B3"])
    assert "B3" in localized.channels
    assert "although the signal is not as it should be: B3" in cautions(localized)


def test_a_name_to_keep_that_nobody_has_is_refused(tmp_path):
    with pytest.raises(DataError, match="--keep: expected a channel of the recordings, found 'Q9'"):
        ranked([write(tmp_path, 0)], keep=["Q9"])


def test_one_impossible_sample_leaves_the_ranking_as_it_is():
    clean = [make_recording(run=f"run-{i}", channels=10, seed=i) for i in range(2)]
    signal = clean[0].signal.copy()
    signal[6, 9000] = 1e12
    odd = make_recording(run="run-0", channels=10, seed=0, signal=signal)
    assert np.array_equal(clean[0].signal, make_recording(run="run-0", channels=10).signal)
    before, after = localize(clean, METHOD), localize([odd, clean[1]], METHOD)
    assert after.contacts["name"].tolist() == before.contacts["name"].tolist()
    assert "impossible values in seizure 1" in cautions(after)


def test_the_second_of_two_channels_with_one_name_is_not_used(tmp_path):
    names = [f"EEG R{name[0]} 0{name[1]}-Ref" for name in CONTACTS]
    names[5] = names[0]
    localized = ranked([write(tmp_path, i, names) for i in range(2)])
    assert "EEG RA 01-Ref" in localized.channels
    assert len(localized.channels) == 9
    assert localized["EEG RA 01-Ref"]["shaft"] == "RA"
    assert "EEG RA 01-Ref (2): is the same contact as an earlier channel" in cautions(localized)


def test_a_user_chooses_the_second_by_excluding_the_first(tmp_path):
    names = [*CONTACTS]
    names[5] = names[0]
    localized = ranked([write(tmp_path, i, names) for i in range(2)], exclude=["A1"])
    assert "A1 (2)" in localized.channels
    assert (localized["A1 (2)"]["shaft"], localized["A1 (2)"]["number"]) == ("A", 1)


def test_another_spelling_is_the_same_contact(tmp_path):
    first = write(tmp_path, 0, [f"R{n[0]} {n[1]}" for n in CONTACTS])
    second = write(tmp_path, 1, [f"EEG R{n[0]} 0{n[1]}-Ref" for n in CONTACTS])
    localized = ranked([first, second])
    assert len(localized.channels) == len(CONTACTS)
    assert set(localized.contacts["seizures"]) == {2}
    assert "10 contacts are spelled differently than in seizure-1" in cautions(localized)


def test_names_of_which_most_do_not_match_stop_the_work(tmp_path):
    others = [f"{'QB'[i > 7]}{i}" for i in range(10)]
    files = [write(tmp_path, 0), write(tmp_path, 1, ["A1", "A2", *others[2:]])]
    with pytest.raises(DataError, match=r"expected the same contacts .* found 2 of 10"):
        ranked(files)


def test_contacts_at_a_lower_rate_are_a_caution(tmp_path):
    localized = ranked([write(tmp_path, i, rates={7: 2}) for i in range(2)])
    assert "1 contacts are sampled at lower rates (down to 64 Hz)" in cautions(localized)


def test_the_same_seizure_exported_again_counts_once(tmp_path):
    first, other = write(tmp_path, 0), write(tmp_path, 1)
    again = write(tmp_path, 2, scale=(-9000, 9000), change=lambda data: np.copyto(data, _of(0)))
    localized = ranked([first, other, again])
    assert [seizure.name for seizure in localized.seizures] == ["seizure-1", "seizure-2"]
    assert "seizure-3 is the seizure of seizure-1 exported again" in cautions(localized)


def _of(number):
    made = make_recording(fs=FS, channels=10, start_s=-40, stop_s=40, seed=number)
    return (made.signal / 2).round() * 2


def test_page_json_and_table_carry_the_doubts(tmp_path):
    files = [write(tmp_path, i, change=noise_and_silence(i)) for i in range(2)]
    localized = ranked(files)
    page = localized.save(tmp_path / "out")
    files = (tmp_path / "out").rglob("*.json")
    [sidecar] = (path for path in files if "Cautions" in path.read_text())
    said = "1 contact is not ranked, because no seizure shows a signal that can be trusted"
    assert any(said in text for text in json.loads(sidecar.read_text())["Cautions"])
    assert said in page.read_text()


def test_a_resection_list_that_excludes_contacts_is_refused(tmp_path):
    with pytest.raises(DataError, match="found one that excludes some"):
        ranked([write(tmp_path, 0)], resected="not B1")


def test_positions_without_regions_are_a_caution(tmp_path):
    table = tmp_path / "electrodes.tsv"
    table.write_text("name\tx\ty\tz\nA1\t10\t0\t0\nA2\t14\t0\t0\n")
    localized = ranked([write(tmp_path, 0)], electrodes=table)
    assert "No regions are shown: positions are not in a template space" in cautions(localized)


def test_short_bipolar_names_are_reported_as_bipolar():
    names = [f"{shaft}{i}-{i + 1}" for shaft in ("RM", "A") for i in range(1, 8)]
    parts = [make_recording("sub-X", fs=256.0, channels=names, start_s=-30, stop_s=30)]
    found = localize(parts)
    assert found.source.name == "recorded"
    assert "The recording is bipolar" in cautions(found)
