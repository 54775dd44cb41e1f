"""Known zones next to a ranking: top-ranked contacts that are in them, and how many by chance."""

from __future__ import annotations

import numpy as np
import pytest
from commands import epilens
from localized_patients import usual
from new_patients import write_edf

from epilens.localization.compare import resection
from epilens.report.patient.payload import payload


def test_a_zone_counts_its_contacts_among_the_top():
    localized = usual()
    first, last = localized.contacts["name"].iloc[[0, -1]]
    compared = localized.with_zones({"true onset zone": {first, last}, "annotated EZ": {last}})
    true, annotated = compared.zones
    assert (true.hits, annotated.hits) == (1, 0)
    assert true.by_chance == pytest.approx(2 * localized.k / len(localized))
    assert compared.caveats[-2].startswith(f"1 of the {localized.k} top-ranked contacts is in the ")
    assert compared.caveats[-1].startswith(f"0 of the {localized.k} top-ranked contacts are in the")


def test_zones_change_no_score_and_no_column():
    localized = usual()
    compared = localized.with_zones({"annotated EZ": {localized.channels[0]}})
    assert compared.contacts.equals(localized.contacts)
    assert [c["zones"] for c in payload(compared)["contacts"]].count([True]) == 1
    assert payload(localized)["zones"] == []


def test_a_resected_contact_that_was_excluded_is_not_an_unknown_name():
    channels, p_nez = ["RD02", "RD03", "RD04", "RE01"], np.array([0.1, 0.2, 0.8, 0.9])
    cut = resection("RD1-4, ZZ3", channels, p_nez, 2, excluded=["POL RD01", "ECG"])
    assert (cut.unranked, cut.unknown) == (("RD1",), ("ZZ3",))
    assert cut.unused == [
        "Resected, but not ranked (excluded): RD1.",
        "Names in the resection that are not contacts of this patient: ZZ3.",
    ]


def test_the_terminal_names_what_of_a_resection_is_not_ranked(tmp_path):
    file = write_edf(tmp_path / "a.edf")
    typed = ["localize", "random", file, "--onset", 40, "--resected", "A1-3, ZZ3"]
    done = epilens(*typed, "--exclude", "A2", "--out", tmp_path / "o")
    assert "caution: Resected, but not ranked (excluded): A2." in done.stderr
    assert "that are not contacts of this patient: ZZ3." in done.stderr
