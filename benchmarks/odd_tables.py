"""Odd lists of contacts, tables of electrodes, marks of a review, and files that are none."""

from __future__ import annotations

from pathlib import Path

from benchmarks.odd_patient import OddInput, set_header, write_all, write_electrodes
from benchmarks.odd_signals import Prepare, files, with_options

MNI = ("--space", "MNI152NLin2009cAsym")


def resected(text: str) -> Prepare:
    """Recordings with a resection."""
    return with_options(files({}), "--resected", text)


def positioned(scale: float = 1.0, extra=(), space=MNI, header: str = "name\tx\ty\tz") -> Prepare:
    """Recordings with a table of electrodes."""

    def prepare(folder: Path) -> list[str]:
        table = write_electrodes(folder / "electrodes.tsv", scale, extra, header)
        return [*write_all(folder, {}), "--electrodes", str(table), *space]

    return prepare


def text_table(name: str, option: str, text: str) -> Prepare:
    """Recordings with a table that somebody wrote."""

    def prepare(folder: Path) -> list[str]:
        path = folder / name
        path.write_text(text, encoding="utf-8")
        return [*write_all(folder, {}), option, str(path)]

    return prepare


def linked_in_a_circle(folder: Path) -> list[str]:
    """A link that leads to itself."""
    (folder / "a.edf").symlink_to(folder / "b.edf")
    (folder / "b.edf").symlink_to(folder / "a.edf")
    return [str(folder / "a.edf")]


def long_records(folder: Path) -> list[str]:
    """A header with records of 1000 s."""
    paths = write_all(folder, {})
    set_header(Path(paths[0]), "record_s", "1000")
    return [*paths, *["--onset=36"] * 3]


def not_a_recording(content: bytes) -> Prepare:
    """Files of which the first is something else."""

    def prepare(folder: Path) -> list[str]:
        paths = write_all(folder, {})
        Path(paths[0]).write_bytes(content)
        return paths

    return prepare


def folder_with_damage(folder: Path) -> list[str]:
    """A folder for `onset` with one file that is not a recording."""
    write_all(folder, {})
    (folder / "seizure1.edf").write_bytes(b"0" * 400)
    return [str(folder)]


ONSETS_TSV = "patient\trun\tonset_s\n" + "".join(f"\tseizure{i}\t36\n" for i in (1, 2, 3))

LISTS = (
    OddInput("resection RB1..3", resected("RB1..3"), "", "14"),
    OddInput("resection not RB1", resected("RB1-4, not RB2"), "not", "14"),
    OddInput("resection all but RB1", resected("RB but RB1"), "but|contacts", "14"),
    OddInput("resection of unknown contacts", resected("ZZ1-4"), "ZZ|resect|contact", "14"),
    OddInput("resection backwards", resected("RB3-1")),
    OddInput("resection as a word", resected("temporal lobe"), "resect|contact"),
    OddInput("contact to exclude that nobody has",
             with_options(files({}), "--exclude", "ZZ9"), "expected a channel"),
    OddInput("excluded by its short name", with_options(files({}), "--exclude", "ra05"), "", "15"),
    OddInput("electrodes in mm", positioned(), "", "14"),
    OddInput("electrodes in metres", positioned(0.001), "look like metres", "14"),
    OddInput("electrodes in cm", positioned(0.1), "mm apart", "14"),
    OddInput("electrodes named twice", positioned(extra=["RB1\t0\t0\t0"]), "RB1|twice|more than",
             "14"),
    OddInput("electrodes without a space", positioned(space=()), "space|coordinate|region", "14"),
    OddInput("electrodes with a letter for a number", positioned(extra=["RZ1\t1O\t2\t3"]),
             "not numbers"),
    OddInput("electrodes without a z", positioned(header="name\tx\ty\tq"), "z|column"),
    OddInput("electrodes of nobody",
             text_table("electrodes.tsv", "--electrodes", "name\tx\ty\tz\nZZ1\t1\t2\t3\n"),
             "electrodes|position|contact"),
    OddInput("marked onsets of another patient",
             text_table("onsets.tsv", "--onsets", "patient\trun\tonset_s\nP9\tother\t36\n"),
             "found only those of others", "15"),
    OddInput("marked onsets without a number",
             text_table("onsets.tsv", "--onsets", ONSETS_TSV.replace("36", "soon")),
             "onset", "15"),
    OddInput("bad channels that nobody has",
             text_table("channels.tsv", "--exclude", "name\tstatus\nZZ1\tbad\n"),
             "expected a channel", "15"),
)  # fmt: skip

FILES = (
    OddInput("links in a circle", linked_in_a_circle, "link", "20"),
    OddInput("records of 1000 s", long_records, "rate|duration|samples|2 of 3", "20"),
    OddInput("an empty file", not_a_recording(b""), "2 of 3|empty"),
    OddInput("a text under the name of a recording", not_a_recording(b"hello" * 100), "2 of 3"),
    OddInput("a workbook under the name of a recording", not_a_recording(b"PK\x03\x04" * 99),
             "2 of 3"),
    OddInput("a password in an address",
             with_options(lambda f: ["https://me:secret@127.0.0.1:9/model", *write_all(f, {})]),
             r"^(?!.*secret).*credentials", "20"),
    OddInput("a folder with a damaged file", folder_with_damage, "seizure1", "19", verb="onset"),
)  # fmt: skip
