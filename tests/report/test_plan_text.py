"""The commented plan is the plan; its comments are the fields' own documentation."""

from __future__ import annotations

import tomllib

from epilens.plan import Plan, Section
from epilens.report.plan_text import commented


def fields():
    for name, field in Plan.model_fields.items():
        value = getattr(Plan(), name)
        if isinstance(value, Section):
            for inner, of_section in type(value).model_fields.items():
                yield f"{name}.{inner}", of_section.description, getattr(value, inner)
        else:
            yield name, field.description, value


def test_the_commented_plan_is_the_plan():
    assert Plan.of(tomllib.loads(commented(Plan()))) == Plan()
    other = Plan.load("smoke")
    assert Plan.of(tomllib.loads(commented(other))) == other


def test_every_field_is_explained():
    assert [name for name, text, _ in fields() if not text] == []
    text = " ".join(commented(Plan()).replace("\n#", " ").split())
    for _, said, _ in fields():
        assert " ".join(said.split()) in text


def test_no_line_is_longer_than_a_page():
    assert max(map(len, commented(Plan()).splitlines())) <= 100
