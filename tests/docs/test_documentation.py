"""The pages that users read: short, with pictures that exist, are small and are described."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
USERS = [page for page in PAGES if "developer" not in page.relative_to(DOCS).parts]
SHOWN = [
    (page, alternative, (page.parent / path).resolve())
    for page in [*PAGES, DOCS.parent / "README.md"]
    for alternative, path in re.findall(r"!\[(.*?)\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
]


def test_users_have_at_most_20_000_words_to_read():
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in USERS) <= 20_000


def test_users_see_at_least_fifteen_pictures():
    assert len({path for page, _, path in SHOWN if page in USERS}) >= 15


@pytest.mark.parametrize(
    ("page", "alternative", "path"),
    SHOWN,
    ids=[f"{page.stem}-{path.stem}" for page, _, path in SHOWN],
)
def test_a_picture_exists_is_small_and_is_described(page, alternative, path):
    assert path.stat().st_size <= 200_000
    assert len(alternative.split()) >= 2


def test_every_picture_is_shown_somewhere():
    assert {path.resolve() for path in (DOCS / "images").iterdir()} <= {path for *_, path in SHOWN}
