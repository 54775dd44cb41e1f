"""The three sentences at the top of the page of a patient."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
from localized_patients import hostile, usual

from epilens.localization.certainty import Caution


def certain(localized, **changes):
    return replace(localized, certainty=replace(localized.certainty, **changes))


def test_flagged_contacts_come_first_with_their_electrode():
    finding = usual().summary[0]
    flagged = usual().contacts.query("decision == 'EZ'")
    first = ", ".join(flagged["name"].head(4))
    assert finding.startswith(f"{len(flagged)} of 24 contacts are flagged as possibly in the ")
    assert f"epileptogenic zone (EZ): {first}" in finding
    assert ("on electrode" in finding) == (flagged["shaft"].value_counts().max() > len(flagged) / 2)


def at_threshold(threshold: float):
    source = copy(usual().source)
    source.threshold = threshold
    return replace(usual(), source=source)


def test_one_flagged_contact_is_singular():
    one = at_threshold(float(np.sort(usual().scores.p_nez)[:2].mean()))
    assert one.summary[0].startswith("1 of 24 contacts is flagged as possibly")
    assert one.summary[0].endswith(f"(EZ): {usual().contacts['name'][0]}.")


def test_without_a_flagged_contact_the_first_of_the_ranking_are_named():
    none = at_threshold(0.0)
    assert none.summary[0].startswith("No contact is above the threshold; the first of the ")
    method = hostile().summary[0]
    assert method.startswith("The contacts most similar to the epileptogenic zone (EZ) are ")


def test_an_abstaining_model_decides_nothing():
    abstains = certain(usual(), cautions=(Caution("abstain", "Too short."),))
    finding, certainty, _ = abstains.summary
    assert finding.startswith("EpiLENS abstains and flags no contact; the first of the ranking")
    unlike = any(one.is_unusual for one in usual().certainty.distances)
    reason = "too unlike the training patients" if unlike else "before onset is too short"
    assert certainty.startswith("The scores support no decision, because ")
    assert reason in certainty


def test_certainty_states_the_probability_and_the_agreement_of_the_seizures():
    low = certain(usual(), cautions=(), probability=np.linspace(0, 0.34, 24), agreement=0.82)
    text = (
        "No contact is more likely in the EZ than not (highest probability: RH'8, 34 %), and the "
    )
    assert low.summary[1] == text + "3 seizures agree well (mean rank correlation 0.82)."
    high = certain(low, probability=np.linspace(0, 0.62, 24), agreement=0.5)
    assert high.summary[1] == (
        "RH'8 has the highest probability of being in the EZ, 62 %, and the 3 seizures agree "
        "partly (mean rank correlation 0.50)."
    )
    assert "seizures disagree (mean" in certain(high, agreement=0.2).summary[1]
    assert "is unknown" in certain(high, agreement=None).summary[1]
    assert "only one seizure was analysed" in hostile().summary[1]


def test_questioned_onsets_come_before_the_traces():
    plain = replace(usual(), questioned_onsets=0, doubts=())
    first = ", ".join(usual().contacts["name"].head(2))
    assert plain.summary[2].startswith(f"Look first at the traces of {first} and ")
    questioned = replace(usual(), questioned_onsets=2, doubts=("Check this ranking.",)).summary[2]
    assert questioned.startswith("First check the onsets of 2 seizures (see the cautions), then ")
    doubtful = replace(plain, doubts=("Check this ranking.",)).summary[2]
    assert doubtful.startswith("First read why this ranking may be wrong, then look at the traces")
