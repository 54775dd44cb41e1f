"""About a hundred odd inputs made from one simulated patient: is any of them silently wrong?

Every input goes through the command line in this process. Its top five contacts are compared with
those of the clean recordings. An input that changes them, or that must be reported anyway, has to
be refused, or to be reported on the page, in the JSON file and on the terminal, in words about the
oddity itself. `python -m benchmarks oddities [NAME…]` runs all inputs, or those whose names contain
a word, prints what was said and exits with 1 if an input is silent. Simulated: what a recorded
patient's files do is another question.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from benchmarks.odd_inputs import CLEAN, INPUTS, OddInput
from benchmarks.timing import row
from epilens.cli import main
from epilens.data.channels.contacts import contact_of
from epilens.data.user_files import read_table
from epilens.io.delimited import plain

TOP = 5


@dataclass(frozen=True)
class Answer:
    """What the command said."""

    code: int
    terminal: str
    page: str = ""
    sidecar: str = ""
    top: tuple[str, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether the command ended with a message about its input."""
        return self.code == 2


@dataclass(frozen=True)
class Verdict:
    """An input, its answer, and whether that is enough."""

    odd: OddInput
    answer: Answer
    changed: bool
    """Whether the top five are others than those of the clean recordings."""

    @property
    def where(self) -> tuple[str, ...]:
        """Where the oddity is reported."""
        answer, pattern = self.answer, self.odd.says
        texts = {"terminal": answer.terminal}
        if not answer.refused and self.odd.verb == "localize":
            texts |= {"page": answer.page, "JSON": answer.sidecar}
        return tuple(name for name, text in texts.items() if re.search(pattern, text, re.I))

    @property
    def good(self) -> bool:
        """Refused or reported everywhere in the words that were asked for, or without effect."""
        if self.answer.code not in (0, 2):
            return False
        if not self.odd.says:
            return self.answer.code == 0 and not self.changed
        return len(self.where) == (1 if self.answer.refused or self.odd.verb != "localize" else 3)

    @property
    def words(self) -> str:
        """The verdict in words."""
        if self.answer.code not in (0, 2):
            return "CRASHED"
        if not self.good:
            return "SILENT" if self.changed or not self.answer.refused else "REFUSED, UNCLEAR"
        if self.answer.refused:
            return "refused"
        effect = "top five changed" if self.changed else "top five unchanged"
        return f"{effect}, reported" if self.odd.says else effect


def ask(odd: OddInput, folder: Path) -> Answer:
    """Run an input through the command line."""
    arguments = [odd.verb, *odd.prepare(folder)]
    out = folder / "out"
    if odd.verb == "localize":
        arguments += ["--out", str(out)]
    code, terminal = run_command(arguments)
    pages = sorted(out.glob("sub-*.html"))
    if code or not pages:
        return Answer(code, terminal)
    (table,) = out.glob("sub-*/ieeg/*_contacts.tsv")
    names = [str(contact_of(plain(name))) for name in read_table(table)["name"][:TOP]]
    tree = json.loads(table.with_suffix(".json").read_text(encoding="utf-8"))
    said = {key: tree[key] for key in ("InPlainWords", "Cautions", "SeizuresLeftOut")}
    page = _shown(pages[0].read_text(encoding="utf-8"))
    return Answer(code, terminal, page, json.dumps(said, ensure_ascii=False), tuple(names))


def run_command(arguments: Sequence[str]) -> tuple[int, str]:
    """Exit code and messages of a command in this process."""
    error = StringIO()
    with redirect_stdout(StringIO()), redirect_stderr(error):
        try:
            main(list(arguments))
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
    lines = [line for line in error.getvalue().splitlines() if not line.startswith("next: ")]
    return code, " ".join(" ".join(lines).split())


def _shown(html: str) -> str:
    """What the page says about certainty and exclusions, from its data."""
    data = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', html, re.S)
    tree = json.loads(data[1]) if data else {}
    keys = ("cautions", "caveats", "summary", "leftOut", "dropped")
    return json.dumps({key: tree[key] for key in keys}, ensure_ascii=False)


def judge(inputs: Sequence[OddInput], folder: Path, tell: Callable[[str], object]) -> list[Verdict]:
    """Verdicts of all inputs; the clean recordings come first."""
    clean = _ask_in(CLEAN, folder)
    verdicts = []
    for odd in inputs:
        answer = _ask_in(odd, folder)
        changed = answer.code == 0 and bool(answer.top) and set(answer.top) != set(clean.top)
        verdicts.append(verdict := Verdict(odd, answer, changed))
        tell(_line(verdict))
    return verdicts


def _ask_in(odd: OddInput, folder: Path) -> Answer:
    own = folder / re.sub(r"\W+", "-", odd.name)
    own.mkdir()
    try:
        return ask(odd, own)
    finally:
        shutil.rmtree(own, ignore_errors=True)


def _line(verdict: Verdict) -> str:
    odd, answer = verdict.odd, verdict.answer
    text = f"{verdict.words:<28} {odd.name}"
    if odd.says:
        match = re.search(rf"[^.;\"]*(?:{odd.says})[^.;\"]*", answer.terminal, re.I)
        said = match[0].strip()[:150] if match else answer.terminal[-300:]
        text += f"\n{'':29}{' + '.join(verdict.where) or 'nowhere'}: {said}"
    return text


def measure(*words: str) -> list[dict[str, Any]]:
    """Run the inputs whose names contain a word, or all; rows count verdicts."""
    chosen = [odd for odd in INPUTS if not words or any(word in odd.name for word in words)]
    with tempfile.TemporaryDirectory() as folder:
        verdicts = judge(chosen, Path(folder), lambda line: print(line, flush=True))
    counts = Counter(verdict.words for verdict in verdicts)
    rows = [row("odd inputs", len(verdicts), "")]
    rows += [row(words_of, count, "") for words_of, count in sorted(counts.items())]
    failures = [verdict for verdict in verdicts if not verdict.good]
    for verdict in failures:
        print(f"{verdict.words}: {verdict.odd.name}: {verdict.answer}", file=sys.stderr)
    rows.append(row("silent, unclear or crashed", len(failures), "", most=0))
    return rows
