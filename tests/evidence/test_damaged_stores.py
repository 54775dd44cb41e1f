"""Whatever is damaged in a folder of cubes, `describe` heals it to the same bytes."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from pathlib import Path

import pytest

from epilens.core.errors import DamagedError, DataError
from epilens.data.bids import read_bids
from epilens.evaluation.protocol import labelled
from epilens.evidence.files import SUFFIX, open_cohort
from epilens.evidence.store import describe_cohort
from epilens.io.outputs import MARKER
from epilens.plan import Plan


@pytest.fixture(scope="module")
def parts(tiny):
    return [read_bids(tiny / "north", "simulated")]


@pytest.fixture(scope="module")
def cubes(parts, tmp_path_factory):
    out = tmp_path_factory.mktemp("described") / "cubes"
    describe_cohort(parts, out, Plan(), stores=["traces", "signals"])
    return out


def contents(folder: Path) -> dict[str, bytes]:
    """All but the summary, which counts what was kept."""
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and p.name != "cohort.json"
    }


def first(folder: Path) -> Path:
    return sorted(folder.glob(f"*{SUFFIX}"))[0]


def without_labels(cubes: Path) -> None:
    path = first(cubes)
    with zipfile.ZipFile(path) as file:
        pieces = {name: file.read(name) for name in file.namelist() if name != "is_ez/0"}
    with zipfile.ZipFile(path, "w") as file:
        for name, content in pieces.items():
            file.writestr(name, content)


def without_attributes(cubes: Path) -> None:
    """As a whole zip file, so that its CRC-32 is right and the sum of the piece is not."""
    path = first(cubes)
    with zipfile.ZipFile(path) as file:
        pieces = {info: file.read(info) for info in file.infolist()}
    with zipfile.ZipFile(path, "w") as file:
        for info, content in pieces.items():
            file.writestr(info, b"{}" if info.filename == ".zattrs" else content)


def pipe_at(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def flipped(path: Path, where: float = 0.5) -> None:
    content = bytearray(path.read_bytes())
    content[int(where * (len(content) - 1))] ^= 1
    path.write_bytes(bytes(content))


DAMAGES = {
    "a label piece is gone": without_labels,
    "a bit of a cube": lambda cubes: flipped(first(cubes)),
    "the first bytes of a cube": lambda cubes: first(cubes).write_bytes(
        bytes(5000) + first(cubes).read_bytes()[5000:]
    ),
    "half of a cube is gone": lambda cubes: first(cubes).write_bytes(
        first(cubes).read_bytes()[:999]
    ),
    "an empty cube": lambda cubes: first(cubes).write_bytes(b""),
    "a bit of the traces": lambda cubes: flipped(first(cubes / "traces")),
    "a bit of the signals": lambda cubes: flipped(first(cubes / "signals")),
    "signals are gone": lambda cubes: first(cubes / "signals").unlink(),
    "the summary": lambda cubes: (cubes / "cohort.json").write_text("{"),
    "a summary without end": lambda cubes: (cubes / "cohort.json").write_text("[" * 100_000),
    "a pipe": lambda cubes: pipe_at(first(cubes)),
    "the cube of somebody else": lambda cubes: shutil.copy(
        sorted(cubes.glob(f"*{SUFFIX}"))[1], first(cubes)
    ),
    "attributes that say nothing": without_attributes,
    "a mark without end": lambda cubes: (cubes / MARKER).write_text("[" * 100_000),
    "the audit": lambda cubes: (cubes / "audit.tsv").write_bytes(b"\xff\x00what"),
    "the audit is empty": lambda cubes: (cubes / "audit.tsv").write_text(""),
    "the mark": lambda cubes: (cubes / MARKER).write_text("{"),
    "the mark is gone": lambda cubes: (cubes / MARKER).unlink(),
    "what a kill left": lambda cubes: (cubes / f".x{SUFFIX}.1.epilens-partial").write_text("half"),
}


@pytest.fixture(scope="module")
def before(cubes):
    return contents(cubes)


@pytest.mark.parametrize("damage", DAMAGES)
def test_describe_heals(cubes, parts, before, damage):
    DAMAGES[damage](cubes)
    summary = describe_cohort(parts, cubes, Plan(), stores=["traces", "signals"])
    after = contents(cubes)
    aside = [name for name in after if name.endswith(".damaged")]
    assert {name: after[name] for name in after if name not in aside} == before
    assert len(aside) == (damage in ("the first bytes of a cube", "an empty cube"))
    for path in cubes.glob("*.damaged"):  # a pipe too, which `contents` does not have
        path.unlink()
    assert json.loads((cubes / "cohort.json").read_text()) == summary
    assert summary["damaged"] == []


def test_a_folder_with_something_else_in_it_is_not_taken_for_cubes(cubes, parts, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / first(cubes).name).write_bytes(first(cubes).read_bytes())
    (other / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match="expected a new or empty folder"):
        describe_cohort(parts, other, Plan())


def test_a_damaged_cube_of_another_dataset_is_named_and_stops_nobody(cubes, parts, tmp_path):
    out = tmp_path / "cubes"
    describe_cohort(parts, out, Plan())
    (out / f"sub-Z9{SUFFIX}").write_bytes(b"PK nothing")
    summary = describe_cohort(parts, out, Plan())
    assert summary["damaged"] == ["sub-Z9"]
    assert summary["kept"] == len(summary["patients"]) > 0


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        ("the cube of somebody else", "it is the cube of 'sub-N02'"),
        ("attributes that say nothing", r"\.zattrs: not as it was written"),
        ("a pipe", "not a file"),
    ],
)
def test_a_cube_that_would_mislead_is_named_before_it_is_used(cubes, tmp_path, damage, why):
    copy = shutil.copytree(cubes, tmp_path / "cubes")
    DAMAGES[damage](copy)
    with pytest.raises(DamagedError, match=rf"sub-N01.*found a damaged one \({why}\). Repair it"):
        labelled(open_cohort(copy))
