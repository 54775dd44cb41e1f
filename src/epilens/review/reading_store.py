"""Storage of readings: one small file per revision, written once and never changed.

Of two servers that save at the same time one succeeds and the other is refused. A signed revision
stays as it was signed; an amendment is a new version after it.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from epilens.core.errors import ReadingError, StorageError
from epilens.io.atomic import json_text, write_new
from epilens.review.errors import ConflictError
from epilens.review.readings import Judgement, Reading, parse_initials

_KEPT_DRAFTS = 20
_REVISION_FILE = re.compile(r"(\d{6})\.json")
_UNSIGNED = dict.fromkeys(("signed_on", "ranking", "seal"), "")


class ReadingStore:
    """The readings of one patient, in their own folder."""

    def __init__(self, folder: str | Path, patient: str):
        self.folder, self.patient = Path(folder), patient

    @property
    def readers(self) -> list[str]:
        """Initials of everybody who saved a reading."""
        folders = (path for path in self.folder.glob("reader-*") if path.is_dir())
        names = (path.name.removeprefix("reader-") for path in folders)
        return sorted(name for name in names if self._revisions(name))

    def latest(self, reader: str) -> Reading | None:
        """Return the last revision of a reader; None where there is none."""
        reader = parse_initials(reader)
        revisions = self._revisions(reader)
        return self._load(reader, revisions[-1]) if revisions else None

    def signed(self, reader: str) -> list[Reading]:
        """Return the signed versions of a reader, oldest first."""
        reader = parse_initials(reader)
        # The next save may remove an old draft at the same time.
        existing = (n for n in self._revisions(reader) if self._path(reader, n).exists())
        readings = (self._load(reader, revision) for revision in existing)
        return [reading for reading in readings if reading.signed_on]

    def last_signed(self) -> dict[str, Reading]:
        """Return the last signed version of every reader who signed."""
        signed = {reader: self.signed(reader) for reader in self.readers}
        return {reader: versions[-1] for reader, versions in signed.items() if versions}

    def has_signed(self, reader: str) -> bool:
        """Whether the last revision of a reader is signed; empty initials have not signed."""
        latest = self.latest(reader) if reader else None
        return latest is not None and bool(latest.signed_on)

    def has_seen(self, reader: str) -> bool:
        """Whether a reader was sent the results of a run of this patient, or judged one."""
        latest = self.latest(reader)
        if latest is not None and (latest.signed_on or latest.judgement.is_of_shown_ranking):
            return True
        return self._seen_file(reader).exists()

    def note_seen(self, reader: str) -> None:
        """Note that a reader was sent results; on a full disk they are shown all the same."""
        path = self._seen_file(reader)
        with suppress(OSError, StorageError):
            if not path.exists():
                write_new(path, _now() + "\n")

    def save(self, reader: str, judgement: Judgement, base: int) -> Reading:
        """Store a draft; `base` is the revision that it changes."""
        return self._append(self._next(reader, judgement, base))

    def sign(self, reader: str, judgement: Judgement, base: int, ranking: str) -> Reading:
        """Store a signed revision with the date and the digest of the ranking."""
        if judgement.is_empty:
            raise ReadingError(
                "reading: expected a verdict, a plan or a note, found none. Judge a contact "
                "before you sign."
            )
        draft = self._next(reader, judgement, base)
        today = datetime.now().astimezone().date().isoformat()
        signed = draft.model_copy(update={"signed_on": today, "ranking": ranking})
        return self._append(signed.model_copy(update={"seal": signed.compute_seal()}))

    def amend(self, reader: str, base: int) -> Reading:
        """Store a draft of the next version, a copy of the signed one."""
        reader = parse_initials(reader)
        last = self._current(reader, base)
        if last is None or not last.signed_on:
            raise ReadingError(
                f"{reader}: expected a signed reading to amend, found "
                f"{'a draft' if last else 'none'}. Save the draft instead."
            )
        changes = {"revision": base + 1, "version": last.version + 1, "saved_at": _now()}
        return self._append(last.model_copy(update=changes | _UNSIGNED))

    def _next(self, reader: str, judgement: Judgement, base: int) -> Reading:
        reader = parse_initials(reader)
        last = self._current(reader, base)
        if last is not None and last.signed_on:
            raise ReadingError(
                f"{reader}: expected a draft, found version {last.version}, signed on "
                f"{last.signed_on}. Amend it to change it."
            )
        return Reading(
            patient=self.patient,
            reader=reader,
            judgement=judgement,
            revision=base + 1,
            version=last.version if last else 1,
            saved_at=_now(),
        )

    def _current(self, reader: str, base: int) -> Reading | None:
        """Return the revision `base`, if it is still the last one."""
        last = (self._revisions(reader) or [0])[-1]
        if last != base:
            raise _conflict(reader, last, base)
        return self._load(reader, last) if last else None

    def _append(self, reading: Reading) -> Reading:
        text = json_text(reading.to_json())
        path = self._path(reading.reader, reading.revision)
        if not write_new(path, text):
            raise _conflict(reading.reader, reading.revision, reading.revision - 1)
        if reading.signed_on:
            path.chmod(path.stat().st_mode & 0o444)
        self._remove_old_drafts(reading.reader)
        return reading

    def _remove_old_drafts(self, reader: str) -> None:
        """Remove all drafts but the newest, so that no revision number is used twice."""
        for revision in self._revisions(reader)[:-_KEPT_DRAFTS]:
            if not self._load(reader, revision).signed_on:
                self._path(reader, revision).unlink(missing_ok=True)

    def _revisions(self, reader: str) -> list[int]:
        names = [path.name for path in self._path(reader, 0).parent.glob("*.json")]
        return sorted(int(match[1]) for name in names if (match := _REVISION_FILE.fullmatch(name)))

    def _seen_file(self, reader: str) -> Path:
        return self.folder / f"reader-{parse_initials(reader)}" / "seen"

    def _path(self, reader: str, revision: int) -> Path:
        return self.folder / f"reader-{reader}" / f"{revision:06d}.json"

    def _load(self, reader: str, revision: int) -> Reading:
        path = self._path(reader, revision)
        reading = Reading.read_or_none(path)
        if reading is None:
            raise ReadingError(
                f"{path}: expected a reading, found a damaged file. Move it elsewhere."
            )
        return reading


def _conflict(reader: str, last: int, base: int) -> ConflictError:
    return ConflictError(
        f"{reader}: expected revision {base} to be the newest, found {last}: it was changed in "
        "another window. Reload, and change it again."
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
