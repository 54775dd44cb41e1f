"""One vocabulary: words that readers stumble over do not return to strings, pages and help."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command

from epilens.cli.options import app

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "epilens"

LISTED = {
    r"\b(tells?|told|telling)\b": "report, state, list, distinguish",
    r"\b(holds?|held|holding)\b(?![- ]out\b)": "contain, keep, remain true",
    r"\b(calls?|called)\b": "flagged; named",
    r"\btaken\b": "resected; used",
    r"\banew\b": "again",
    r"\bbesides?\b": "next to, in addition to",
    r"\b(teach\w*|taught)\b": "train",
    r"\bmade[- ]up\b|\bdrawn at random\b": "synthetic, random",
    r"\bleft behind\b|\bleft in place\b": "not resected; remaining",
    r"\bat hand\b": "available",
    r"\blikeness\b": "distance from training patients",
    r"\bnever fitted\b": "held out, cross-validated",
    r"\bblindly\b|\bblind pick": "by chance",
    r"\bwho knows? the true\b": "an oracle that knows the true zone",
    r"\bwhat (they|it) miss": "the remainder",
    r"\bEZ('s)? share\b|\bshares? of (the|all) EZ\b(?! contacts)": "EZ fraction, prevalence",
    r"\bsmoke (plan|test|run)\b": "quick test with shortened training",
    r"\bcut the recording\b": "export a recording that starts earlier",
    r"\bapart\b": "separately",
    r"\bthe mark\b": "the annotated onset",
    r"\bspread\b": "propagation; SD, variability",
    r"(?<![Tt]here )\b(is|are|was|were) no\b(?! (longer|more)\b)": "is not a",
    r"\b(lens|cdel|prq|bcr|a|A) less (lens|cdel|prq|bcr|b|B)\b": "−",
    r"\bsure\b(?! that\b)": "certain",
    r"\brows? of (a|the|every|each|any|all) (methods?|registry|baselines?|datasets?)\b": "method",
    r"\b(method|baseline|ablation|smoothed|shaft|dataset'?s|plugin'?s|method's) rows?\b": "method",
}
"""Pattern → what to write instead."""

ALLOWED = (
    # Functions, and what computers do with files.
    r"(?i:called) (with|for|by|as|on|while)\b|that they call\b|(?i:call) (`|seed_dropout)|callable",
    r"POSIX-only calls|functions are called|is called (on several threads|before each rename)",
    r"lock (is )?held|(?i:held) (while|until|from)|\bholds? the lock|lock held",
    # Names of methods, files and concepts.
    r"[Ll]ine-length[- ]spread|spreadsheet",
    # Distances.
    r"(\d|\} s|or more|s|far|little|closer|mm) apart",
    # The name of a number in stored models.
    r"^share called EZ$",
)
"""Phrases in which a listed word is the usual one."""


def python_texts(path: Path) -> Iterator[tuple[int, str]]:
    """Literals of a file with blanks in them: sentences, docstrings included; `{}` for values."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    inside = {id(part) for node in joined for part in ast.walk(node)}
    for node in joined:
        parts = [p.value if isinstance(p, ast.Constant) else "{}" for p in node.values]
        yield node.lineno, "".join(map(str, parts))
    for node in ast.walk(tree):
        literal = isinstance(node, ast.Constant) and id(node) not in inside
        if literal and isinstance(node.value, str):
            yield node.lineno, node.value


def script_texts(path: Path) -> Iterator[tuple[int, str]]:
    """Strings and comments of a script."""
    text = path.read_text(encoding="utf-8")
    pattern = r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|`(?:[^`\\]|\\.)*`|(?<!:)//[^\n]*"
    for match in re.finditer(pattern, text):
        yield text.count("\n", 0, match.start()) + 1, re.sub(r"\$\{[^}]*\}", "{}", match[0])


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """All lines of a page."""
    yield from enumerate(path.read_text(encoding="utf-8").splitlines(), 1)


READERS = {".py": python_texts, ".js": script_texts, ".html": lines, ".toml": lines}
FILES = sorted(path for path in SOURCE.rglob("*") if path.suffix in READERS)


def listed_words(text: str) -> list[str]:
    """Listed words in a text, with what to write instead."""
    allowed = re.sub("|".join(ALLOWED), "", " ".join(text.split()))
    code = re.sub(r"`[^`]*`|>>> [^\n]*", "", allowed) if " " in allowed.strip() else ""
    return [
        f"{match[0]!r} (write: {better}) in “{code[max(0, match.start() - 40) : match.end() + 40]}”"
        for pattern, better in LISTED.items()
        for match in re.finditer(pattern, code)
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_listed_word_is_in_the_strings_of_the_source(path):
    hits = [
        f"{line}: {hit}" for line, text in READERS[path.suffix](path) for hit in listed_words(text)
    ]
    assert hits == []


PAGES = [
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "changes").glob("*.md")),
    ROOT / "README.md",
]
"""The fragments in changes/ are the part of the changelog that is not released."""


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_listed_word_is_in_the_documentation(path):
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert [hit for line in text.splitlines() for hit in listed_words(line)] == []


def helps(name: str, command) -> Iterator[tuple[str, str]]:
    """Every command with its help."""
    with command.make_context(name, [], resilient_parsing=True) as context:
        yield name, command.get_help(context)
    for word, inner in getattr(command, "commands", {}).items():
        yield from helps(f"{name} {word}", inner)


def test_no_listed_word_is_in_the_help():
    hits = {
        name: words
        for name, text in helps("epilens", get_command(app))
        if (words := listed_words(text))
    }
    assert hits == {}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("The share called EZ, as told by its likeness", 3),
        ("what is held against it anew", 2),
        ("members never fitted, beside the mark", 3),
        ("This is no seizure", 1),
        ("There is no seizure, and it is no longer excluded", 0),
        ("patients that were held out; on held-out patients", 0),
        ("Called with a note; ranked by line-length spread in a spreadsheet", 0),
        ("lens less cdel", 1),
        ("A `told` in code and seizures 6 s apart", 0),
        ("a row of `epilens list methods`", 0),
        ("the dataset's row and the audit row", 1),
    ],
)
def test_the_test_finds_what_is_listed(text, count):
    assert len(listed_words(text)) == count
