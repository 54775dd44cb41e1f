"""Help of the verbs and listings: examples that parse, no Python types, whole words, colour."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys

import pytest
from commands import epilens as run
from typer.main import get_command

from epilens.cli import main
from epilens.cli.help import with_colour
from epilens.cli.options import app
from epilens.core.console import print_table, say


def commands(name="epilens", command=None):
    command = command or get_command(app)
    inner = getattr(command, "commands", {})
    yield name, command
    for word in inner:
        yield from commands(f"{name} {word}", inner[word])


COMMANDS = dict(commands())
VERBS = {name: command for name, command in COMMANDS.items() if not hasattr(command, "commands")}


def help_of(name, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as stop:
        main([*name.split()[1:], "--help"])
    assert stop.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_two_examples_of_this_verb(name, monkeypatch, capsys):
    text = help_of(name, monkeypatch, capsys)
    examples = text.split("\nExamples:\n")[1].strip().splitlines()
    assert len(examples) == 2
    assert all(example.strip().startswith(f"{name}") for example in examples)
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_no_python_type_and_breaks_no_word(name, monkeypatch, capsys):
    text = help_of(name, monkeypatch, capsys)
    assert not re.search(r"\b(list\[|pathlib|Path\b|NoneType|int range|x[<>]=)|<\w+>", text)
    assert not re.search(r"\w-$", text, flags=re.MULTILINE)
    assert "{" not in text


EXAMPLES = [line for command in COMMANDS.values() for line in (command.epilog or "").splitlines()]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_can_be_parsed(example):
    words = shlex.split(example)
    name = max((n for n in VERBS if words[: len(n.split())] == n.split()), key=len)
    context = VERBS[name].make_context(name, words[len(name.split()) :])
    assert not context.args  # nothing was left over


def listing(kind, width):
    return run("list", kind, columns=width).stdout


def test_methods_show_title_requirements_and_default_at_80_columns():
    shown = listing("methods", 80)
    assert max(map(len, shown.splitlines())) <= 80
    assert "Default of `epilens train`: lens." in shown
    assert re.search(r"^name +title +needs *$", shown, flags=re.MULTILINE)
    assert re.search(r"^lens +EpiLENS lens +EZ labels", shown, flags=re.MULTILINE)
    assert re.search(r"^fragility +Neural fragility +nothing *$", shown, flags=re.MULTILINE)


@pytest.mark.parametrize("kind", ["analyses", "datasets", "descriptors", "methods", "plans"])
def test_a_listing_breaks_no_word_at_80_columns(kind):
    from epilens.report.listings import LISTINGS

    columns, rows = LISTINGS[kind]()
    shown = listing(kind, 80)
    heads = next(line for line in shown.splitlines() if line.startswith("name ")).split()
    words = set(shown.split())
    for row in rows:
        visible = [cell for name, cell in zip(columns, row, strict=True) if name in heads]
        assert {
            word for cell in visible for word in ("–" if cell is None else str(cell)).split()
        } <= words


def test_every_shipped_plan_is_listed_with_a_sentence():
    from epilens.plan import shipped_plans
    from epilens.report.listings import plans

    rows = plans()[1]
    assert [row[0] for row in rows] == list(shipped_plans())
    assert all(re.fullmatch(r"[A-Z][^#]{20,88}\.", row[1]) for row in rows)


class Terminal(io.StringIO):
    """A stream that looks like a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize("forbidden", [True, False])
def test_messages_and_tables_are_coloured_unless_no_color_is_set(forbidden, monkeypatch):
    out, err = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    if forbidden:
        monkeypatch.setenv("NO_COLOR", "1")
    say("warning: the file is short")
    say("Simulated: nothing here is coloured")
    print_table("Methods", ["name"], [["lens"]])
    first, second = err.getvalue().splitlines()
    coloured = re.compile(r"\x1b\[[\d;]*3\dm")
    assert bool(coloured.search(first)) != forbidden
    assert bool(coloured.search(out.getvalue())) != forbidden
    assert "\x1b" not in second
    assert re.sub(r"\x1b\[[\d;]*m", "", first) == "warning: the file is short"


def test_help_is_coloured_unless_no_color_is_set(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in with_colour("Usage: epilens\n")
    assert "\x1b[" not in with_colour("no heading\n")
    monkeypatch.setenv("NO_COLOR", "1")
    assert with_colour("Usage: epilens\n") == "Usage: epilens\n"


def test_a_pipe_gets_help_without_colour():
    command = [sys.executable, "-m", "epilens", "view", "--help"]
    coloured = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    shown = subprocess.run(command, capture_output=True, text=True, check=True, env=coloured)
    assert shown.stdout.startswith("Usage: epilens view [OPTIONS] DIR")
    assert "\x1b" not in shown.stdout
