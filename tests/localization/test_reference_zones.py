"""Known zones next to a ranking: top-ranked contacts that are in them, and how many by chance."""

from __future__ import annotations

import pytest
from localized_patients import usual

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
