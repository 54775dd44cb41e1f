"""The reference pages contain every verb, field and row, because they are made from them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer
from tools import reference
from typer.main import get_command

import epilens
from epilens.cli import app
from epilens.core.glossary import GLOSSARY
from epilens.methods import METHODS
from epilens.plan import Plan, Section
from epilens.report.listings import LISTINGS

DOCS = Path(__file__).parents[2] / "docs"


def leaf_fields(model=Plan, prefix=""):
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Section):
            yield from leaf_fields(kind, f"{prefix}{name}.")
        else:
            yield prefix + name


def test_every_verb_is_documented_with_all_its_options():
    page = reference.verbs(app)
    group = get_command(app)
    for name, command in group.commands.items():
        inner = getattr(command, "commands", {"": command})
        for word, leaf in inner.items():
            whole = f"epilens {name} {word}".strip()
            section = page.split(f"## `{whole}`")[1].split("\n## ")[0]
            assert leaf.help.split("\n")[0] in section
            for parameter in leaf.params:
                if parameter.param_type_name == "option" and parameter.name != "help":
                    assert parameter.opts[-1] in section


@pytest.mark.parametrize("name", sorted(leaf_fields()))
def test_every_field_of_the_plan_is_documented_with_its_default(name):
    row = next(line for line in reference.plan_fields().splitlines() if f"| `{name}` |" in line)
    assert re.fullmatch(r"\| `[\w.]+` \| `.*` \| .*\|", row)


@pytest.mark.parametrize("what", LISTINGS)
def test_every_row_of_a_registry_is_documented(what):
    page = reference.registry_table(what)
    _, rows = LISTINGS[what]()
    assert all(f"| `{row[0]}` |" in page for row in rows)


def test_the_pages_contain_nothing_about_the_computer_that_made_them():
    page = reference.registry_table("methods")
    assert page.splitlines()[0] == "| name | title | reads | needs | reference | from |"
    assert "None" not in page


def test_no_text_of_the_plan_is_taken_for_code():
    assert not re.search(r"^ {4}", reference.plan_fields(), re.MULTILINE)


def test_a_cell_cannot_break_its_table():
    assert r"a \| b" in reference._table(("x",), [("a | b",)])


def test_a_verb_that_is_added_is_documented_by_being_there():
    added = typer.Typer()
    added.command("first")(lambda: None)

    @added.command("second")
    def second(folder: str, loud: bool = False) -> None:
        """Say the folder."""

    page = reference.verbs(added)
    assert "## `epilens second`" in page
    assert "Say the folder." in page
    assert "epilens second FOLDER [--loud]" in page.replace("--no-loud", "--loud")


def test_every_term_of_the_glossary_is_documented():
    assert all(f"| **{term}** |" in reference.glossary() for term in GLOSSARY)


def test_every_public_name_is_documented_under_one_task():
    names = [name for names in reference.TASKS.values() for name in names]
    assert sorted(names) == sorted(epilens.__all__)
    assert all(f"::: {epilens._HOME[name]}.{name}\n" in reference.api() for name in names)


def test_a_public_name_without_a_task_is_documented_nevertheless(monkeypatch):
    monkeypatch.setattr(reference, "TASKS", {"Settings": ("Plan",)})
    assert "::: epilens.report.patient.localize.localize\n" in reference.api().split("## Other")[1]


def test_every_setting_of_a_method_is_documented():
    table = reference.settings_table()
    assert all(f"| `{name}` |" in table for name in METHODS)
    assert "arguments.C 1.0" in table
    assert "encoder.dropout 0.4" in table


@pytest.mark.parametrize(
    "page", ["cli", "plan", "api", "methods", "datasets", "analyses", "formats"]
)
def test_the_pages_of_the_reference_are_made_when_they_are_built(page):
    text = (DOCS / "reference" / f"{page}.md").read_text(encoding="utf-8")
    assert 'exec="1"' in text
