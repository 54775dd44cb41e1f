"""Collect the fragments of changes/ into the section of one version in CHANGELOG.md.

`python changes/collect.py` writes the section of the version in src/epilens/__init__.py, in place
of an earlier attempt; other versions stay as they are. Fragments are kept: remove them with the
commit that releases. `--check` writes nothing, and fails where CHANGELOG.md would change.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TITLE = "# Changelog\n"


def version_of(root: Path) -> str:
    """The version that the package says."""
    text = (root / "src" / "epilens" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', text, flags=re.MULTILINE)
    if found is None:
        raise SystemExit("src/epilens/__init__.py: expected a line with __version__, found none.")
    return found[1]


def bullets(fragment: str) -> str:
    r"""A fragment as list items: paragraphs become items, items stay; links lead from the root.

    Examples
    --------
    >>> bullets("One verb\nmore.\n\n- [a](../docs/a.md)\n")
    '- One verb\n  more.\n- [a](docs/a.md)'
    """
    paragraphs = [part.strip("\n") for part in re.split(r"\n\s*\n", fragment) if part.strip()]
    items = [part if part.startswith("- ") else _item(part) for part in paragraphs]
    return "\n".join(items).replace("](../", "](")


def _item(paragraph: str) -> str:
    first, *rest = paragraph.splitlines()
    return "\n".join([f"- {first}", *(line if line[:1] == " " else f"  {line}" for line in rest)])


def section(folder: Path, version: str) -> str:
    """The section of a version, made of all fragments in the order of their names."""
    paths = sorted(path for path in folder.glob("*.md") if path.name != "README.md")
    if not paths:
        raise SystemExit("changes: expected fragments, found none. Is this version released?")
    texts = [bullets(path.read_text(encoding="utf-8")) for path in paths]
    return f"## {version}\n\n" + "\n".join(texts) + "\n"


def merged(changelog: str, new: str) -> str:
    """The changelog with a section on top, or in place of the one with the same heading."""
    parts = re.split(r"^(?=## )", changelog, flags=re.MULTILINE)[1:]
    heading = new.splitlines()[0]
    others = [part.strip("\n") for part in parts if part.splitlines()[0] != heading]
    return "\n".join([TITLE, *(f"{part}\n" for part in (new.strip("\n"), *others))])


def main(arguments: list[str], root: Path = ROOT) -> None:
    """Write CHANGELOG.md, or check it."""
    path = root / "CHANGELOG.md"
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    text = merged(old, section(root / "changes", version_of(root)))
    if "--check" in arguments and text != old:
        raise SystemExit("CHANGELOG.md: expected all fragments in it, found others. make changelog")
    if "--check" not in arguments:
        path.write_text(text, encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
