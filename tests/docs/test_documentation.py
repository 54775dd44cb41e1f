"""The pages that users read: short, with pictures that exist, are small and are described."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

from epilens.cli import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
USERS = [page for page in PAGES if "developer" not in page.relative_to(DOCS).parts]
SHOWN = [
    (page, alternative, (page.parent / path).resolve())
    for page in [*PAGES, ROOT / "README.md"]
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


def named(pattern):
    """What the pages and the README name by a pattern."""
    texts = [page.read_text(encoding="utf-8") for page in [*PAGES, ROOT / "README.md"]]
    return {name for text in texts for name in re.findall(pattern, text, flags=re.MULTILINE)}


def test_every_benchmark_that_a_page_names_exists():
    names = named(r"python -m benchmarks[ .]([a-z_]+)")
    assert len(names) > 10
    assert sorted(name for name in names if not (ROOT / f"benchmarks/{name}.py").is_file()) == []


def test_every_verb_that_a_page_names_exists():
    verbs = named(r"(?:^|`)(?:\S+/)?epilens ([a-z]+)")
    assert len(verbs) > 15
    assert verbs <= set(get_command(app).commands)


def test_classifiers_claim_only_systems_and_versions_that_were_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    table = (DOCS / "install.md").read_text(encoding="utf-8").partition("## Systems and")[2]
    rows = re.findall(r"^\| (\w+) .*?\| ([\d., ]+) \| (?!\**not tested)", table, re.MULTILINE)
    versions = {version for _, named in rows for version in named.split(", ")}
    prefix = "Programming Language :: Python :: 3."
    claims = project["classifiers"]
    assert {f"3.{c.removeprefix(prefix)}" for c in claims if c.startswith(prefix)} == versions
    systems = {c.rpartition(" :: ")[2] for c in claims if c.startswith("Operating System")}
    assert systems == {system for system, _ in rows}
