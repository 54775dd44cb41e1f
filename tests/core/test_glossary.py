"""The glossary: every term has one sentence, and every list of a page names terms of it."""

from __future__ import annotations

import re

import pytest

from epilens.core.glossary import (
    GLOSSARY,
    PATIENT_TERMS,
    REPRODUCTION_TERMS,
    REVIEW_TERMS,
    explain,
)


@pytest.mark.parametrize("term", GLOSSARY)
def test_a_term_has_one_sentence(term):
    text = GLOSSARY[term]
    assert re.fullmatch(r"[A-Z0-9].*\.", text)
    assert not re.search(r"(?<!e\.g)\. ", text), "more than one sentence"
    assert len(text) <= 160


@pytest.mark.parametrize("terms", [PATIENT_TERMS, REVIEW_TERMS, REPRODUCTION_TERMS])
def test_a_page_explains_terms_of_the_glossary_once(terms):
    assert [term for term, _ in explain(terms)] == list(dict.fromkeys(terms))


def test_no_two_terms_differ_by_capitals_only():
    assert len({term.casefold() for term in GLOSSARY}) == len(GLOSSARY)
