"""What readers say about a run: verdicts, a resection plan, notes; signed once, then frozen.

A reading is a row of small files, one per revision, that are written once and never changed: of two
servers that save at the same time one wins and the other is told, and a signed revision stays as it
was signed. An amendment is a new version behind it.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from epilens.core.errors import ReadingError
from epilens.io.atomic import load_json
from epilens.io.outputs import write_new

WORDS = ("agree", "disagree", "unsure")
"""What can be said about a contact: the run's place for it is right, wrong, or not to be judged."""
LONGEST_NOTE = 20_000
_KEPT_DRAFTS = 20
_STORED = re.compile(r"(\d{6})\.json")
_INITIALS = re.compile(r"[^\W_]{1,6}")


class SupersededError(ReadingError):
    """Somebody else saved in the meantime."""


@dataclass(frozen=True)
class Judgement:
    """What a reader says about one run."""

    run: int
    verdicts: Mapping[str, str] = field(default_factory=dict)
    """Contact → one of `WORDS`; a contact that was not judged is not in it."""
    plan: tuple[str, ...] = ()
    """Contacts of the resection that the reader would plan."""
    notes: str = ""
    """The reader's own words; they stay in the readings' own files."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was said."""
        return not (self.verdicts or self.plan or self.notes.strip())


@dataclass(frozen=True)
class Reading:
    """One revision of a reader's judgement."""

    patient: str
    reader: str
    judgement: Judgement
    revision: int
    version: int
    """Counts what is signed: 1 until the first amendment."""
    saved_at: str
    signed_on: str = ""
    """Day of the signature, by this computer's calendar; empty: a draft."""
    ranking: str = ""
    """Digest of the table of contacts that was read."""
    seal: str = ""
    """Digest of all the rest of a signed revision."""

    @property
    def is_intact(self) -> bool:
        """Whether a signed revision is as it was signed."""
        return not self.signed_on or self.seal == _seal(self)


def initials(text: Any) -> str:
    """A reader's initials: one to six letters or digits, in capitals.

    Examples
    --------
    >>> initials(" jd ")
    'JD'
    """
    clean = unicodedata.normalize("NFC", str(text).strip().upper())
    if not isinstance(text, str) or not _INITIALS.fullmatch(clean):
        raise ReadingError(
            "reader: expected initials of one to six letters or digits, found "
            f"{str(text)[:20]!r}. Give initials, not a name."
        )
    return clean


def judgement_of(tree: Any, run: int, contacts: Collection[str]) -> Judgement:
    """What a browser sent, checked against the contacts of the run."""
    if not isinstance(tree, dict):
        raise ReadingError("reading: expected an object, found something else. Reload the page.")
    verdicts, plan, notes = tree.get("verdicts", {}), tree.get("plan", []), tree.get("notes", "")
    kinds = ((verdicts, dict, "verdicts"), (plan, list, "plan"), (notes, str, "notes"))
    for value, kind, name in kinds:
        if not isinstance(value, kind):
            raise ReadingError(
                f"{name}: expected a {kind.__name__}, found a {type(value).__name__}. Reload."
            )
    known = set(contacts)
    for name in (*verdicts, *plan):
        if not isinstance(name, str) or name not in known:
            raise ReadingError(
                f"reading: expected contacts of run {run}, found {str(name)[:40]!r}. Reload."
            )
    for word in verdicts.values():
        if word not in WORDS:
            raise ReadingError(
                f"verdict: expected {', '.join(WORDS)}, found {str(word)[:20]!r}. Choose one."
            )
    if len(notes) > LONGEST_NOTE:
        raise ReadingError(
            f"notes: expected at most {LONGEST_NOTE} characters, found {len(notes)}. Shorten them."
        )
    return Judgement(run, verdicts, tuple(sorted(set(plan))), _storable(notes))


def _storable(text: str) -> str:
    """Half of a surrogate pair, which no file can hold, becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


class ReadingStore:
    """The readings of one patient, in a folder of their own."""

    def __init__(self, folder: str | Path, patient: str):
        self.folder, self.patient = Path(folder), patient

    @property
    def readers(self) -> list[str]:
        """Initials of everybody who saved something."""
        found = self.folder.glob("reader-*")
        names = (path.name.removeprefix("reader-") for path in found if path.is_dir())
        return sorted(name for name in names if self._numbers(name))

    def newest(self, reader: str) -> Reading | None:
        """The last revision of a reader; None where there is none."""
        numbers = self._numbers(initials(reader))
        return self._load(initials(reader), numbers[-1]) if numbers else None

    def signed(self, reader: str) -> list[Reading]:
        """Signed versions of a reader, oldest first."""
        reader = initials(reader)
        # An old draft can be removed meanwhile by whoever saves the next one.
        there = (n for n in self._numbers(reader) if self._path(reader, n).exists())
        every = (self._load(reader, number) for number in there)
        return [one for one in every if one.signed_on]

    def last_signed(self) -> dict[str, Reading]:
        """The valid version of every reader who signed."""
        signed = {reader: self.signed(reader) for reader in self.readers}
        return {reader: versions[-1] for reader, versions in signed.items() if versions}

    def save(self, reader: str, judgement: Judgement, base: int) -> Reading:
        """Keep a draft; `base` is the revision that the reader had before them."""
        return self._append(self._next(reader, judgement, base))

    def sign(self, reader: str, judgement: Judgement, base: int, ranking: str) -> Reading:
        """Keep it for good, with the day."""
        if judgement.is_empty:
            raise ReadingError(
                "reading: expected a verdict, a plan or a note, found none. Nothing can be signed."
            )
        draft = self._next(reader, judgement, base)
        today = datetime.now().astimezone().date().isoformat()
        signed = replace(draft, signed_on=today, ranking=ranking)
        return self._append(replace(signed, seal=_seal(signed)))

    def amend(self, reader: str, base: int) -> Reading:
        """A draft of the next version, which begins with what was signed."""
        last = self._current(initials(reader), base)
        if last is None or not last.signed_on:
            raise ReadingError(
                f"{initials(reader)}: expected a signed reading to amend, found "
                f"{'a draft' if last else 'none'}. Save it as it is."
            )
        return self._append(
            replace(
                last,
                revision=base + 1,
                version=last.version + 1,
                saved_at=_now(),
                **dict.fromkeys(("signed_on", "ranking", "seal"), ""),
            )
        )

    def _next(self, reader: str, judgement: Judgement, base: int) -> Reading:
        reader = initials(reader)
        last = self._current(reader, base)
        if last is not None and last.signed_on:
            raise ReadingError(
                f"{reader}: expected a draft, found version {last.version}, signed on "
                f"{last.signed_on}. Amend it to say something else."
            )
        version = last.version if last else 1
        return Reading(self.patient, reader, judgement, base + 1, version, _now())

    def _current(self, reader: str, base: int) -> Reading | None:
        """The revision `base`, if it is still the last one."""
        last = (self._numbers(reader) or [0])[-1]
        if last != base:
            raise _stale(reader, last, base)
        return self._load(reader, last) if last else None

    def _append(self, reading: Reading) -> Reading:
        text = json.dumps(asdict(reading), indent=1, ensure_ascii=False) + "\n"
        path = self._path(reading.reader, reading.revision)
        if not write_new(path, text):
            raise _stale(reading.reader, reading.revision, reading.revision - 1)
        if reading.signed_on:
            path.chmod(0o444)
        self._forget_old_drafts(reading.reader)
        return reading

    def _forget_old_drafts(self, reader: str) -> None:
        """The newest stay, so that no number can be given twice."""
        for number in self._numbers(reader)[:-_KEPT_DRAFTS]:
            if not self._load(reader, number).signed_on:
                self._path(reader, number).unlink(missing_ok=True)

    def _numbers(self, reader: str) -> list[int]:
        names = [path.name for path in self._path(reader, 0).parent.glob("*.json")]
        return sorted(int(match[1]) for name in names if (match := _STORED.fullmatch(name)))

    def _path(self, reader: str, revision: int) -> Path:
        return self.folder / f"reader-{reader}" / f"{revision:06d}.json"

    def _load(self, reader: str, revision: int) -> Reading:
        path = self._path(reader, revision)
        try:
            tree = load_json(path)
            said = tree.pop("judgement")
            plan = tuple(said.pop("plan"))
            return Reading(judgement=Judgement(plan=plan, **said), **tree)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            raise ReadingError(
                f"{path}: expected a reading, found what cannot be read. Move the file elsewhere."
            ) from None


def _stale(reader: str, last: int, base: int) -> SupersededError:
    return SupersededError(
        f"{reader}: expected revision {base} to be the newest, found {last}: it was changed in "
        "another window. Reload, and say it again."
    )


def _seal(reading: Reading) -> str:
    tree = asdict(replace(reading, seal=""))
    return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def answers(readings: Mapping[str, Reading], run: int) -> dict[str, dict[str, str]]:
    """Verdicts of those who read this run: answers to different rankings do not compare."""
    of_run = {reader: one.judgement for reader, one in readings.items() if one.judgement.run == run}
    return {reader: dict(said.verdicts) for reader, said in of_run.items()}


def plans(
    readings: Mapping[str, Reading], run: int, contacts: Sequence[str]
) -> dict[str, dict[str, str]]:
    """Whether each contact of a run is in the plan of those who read the run and planned."""
    of_run = {reader: one.judgement for reader, one in readings.items() if one.judgement.run == run}
    return {
        reader: {name: "in" if name in said.plan else "out" for name in contacts}
        for reader, said in of_run.items()
        if said.plan
    }
