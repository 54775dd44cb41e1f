"""Every number that a model stores about its training patients has clinical words."""

from __future__ import annotations

import pytest

from epilens.evaluation.certainty import Certainty
from epilens.evaluation.novelty import SCORE_NAMES, evidence_names, feature_summary_names
from epilens.localization.feature_words import describe_deviation
from epilens.networks.model import open_model

INTERNAL = ("tie to", "tail", "called", "share", "_")


@pytest.mark.parametrize("is_higher", [True, False])
def test_no_internal_word_reaches_the_reader(is_higher):
    words = {"line_length": "line length"}
    names = [*feature_summary_names(), *SCORE_NAMES, *evidence_names(words)]
    texts = [describe_deviation(name, is_higher, words) for name in names]
    assert not [text for text in texts if any(word in text for word in INTERNAL)]
    assert len(set(texts)) == len(names)


def test_the_shipped_model_stores_only_numbers_that_have_words():
    model = open_model("recorded")
    stored = Certainty.from_json(model.assurance, who="recorded").evidence.names
    assert set(stored) <= set(feature_summary_names())
