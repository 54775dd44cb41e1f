"""The page of equations names functions and tests that exist."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
FUNCTIONS = sorted(set(re.findall(r"`(epilens\.[\w.]+)`", PAGE)))
TESTS = sorted(set(re.findall(r"`(tests/[\w/]+\.py)`", PAGE)))


def resolve(name: str) -> object:
    """The module, or the thing in a module, that a dotted name means."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        module, _, attribute = name.rpartition(".")
        return getattr(import_module(module), attribute)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_named_function_exists(name):
    assert resolve(name) is not None


@pytest.mark.parametrize("path", TESTS)
def test_a_named_test_exists(path):
    assert (ROOT / path).is_file()


def test_the_page_has_every_equation_of_the_paper():
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| Eq")]
    numbers: set[int] = set()
    for row in rows:
        for first, last in re.findall(r"(\d+)(?:-(\d+))?", row):
            numbers |= set(range(int(first), int(last or first) + 1))
    assert numbers == set(range(1, 22))
    assert len(FUNCTIONS) > 20
