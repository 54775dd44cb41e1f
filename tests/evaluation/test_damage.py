"""Whatever is damaged in a run, `epilens run` heals it to the same bytes; other verbs name it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from epilens.cli import main
from epilens.core.errors import CubeError, LedgerError
from epilens.evaluation.ledger import read_ledger
from epilens.evaluation.protocol import run
from epilens.evaluation.run import Run, open_run, relative_cubes
from epilens.evidence.files import open_cohort
from epilens.io.outputs import MARKER
from epilens.plan import Plan, Runtime
from epilens.testing import make_cohort

PLAN = Plan(name="test", seeds=(1,), methods=("line-length-change", "random")).override(
    splits={"folds": 2}
)
CELL = "cells/random/seed-1_fold-1"


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    return make_cohort(tmp_path_factory.mktemp("cohort") / "cubes", patients=4)


@pytest.fixture(scope="module")
def folder(cohort, tmp_path_factory):
    return run(PLAN, cohort, Runtime(out=cohort.path("sub-01").parents[1] / "runs"))


def contents(folder: Path) -> dict[str, bytes]:
    """All but what cells cost, which differs from run to run."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "times.tsv")
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


FILES = ("run.json", "plan.toml", "split.csv", "ledger.parquet", MARKER)
FILES += tuple(
    f"{CELL}/{name}" for name in ("cell.json", "ledger.parquet", "history.parquet", MARKER)
)
DAMAGES = {
    "emptied": lambda path: path.write_bytes(b""),
    "removed": lambda path: path.unlink(),
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "flipped": flip,
    "nested": lambda path: path.write_bytes(b"[" * 100_000),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "noise": lambda path: path.write_bytes(b"\xff\x00\xfe{[\n"),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", FILES)
def test_run_heals_itself(folder, cohort, name, damage):
    before = contents(folder)
    DAMAGES[damage](folder / name)
    assert run(PLAN, cohort, Runtime(out=folder.parent)) == folder
    assert contents(folder) == before


def test_a_healed_ledger_has_the_methods_that_were_not_asked_for_now(folder, cohort):
    before = read_ledger(folder / "ledger.parquet")
    (folder / "ledger.parquet").write_bytes(b"PAR1")
    run(PLAN, cohort, Runtime(out=folder.parent, only=("random",)))
    after = read_ledger(folder / "ledger.parquet")
    key = ["method", "seed", "fold", "partition", "patient", "channel"]
    assert after.sort_values(key).to_numpy().tolist() == before.sort_values(key).to_numpy().tolist()


def test_a_lost_cell_is_made_again_and_what_a_kill_left_is_swept(folder, cohort):
    before = contents(folder)
    shutil.rmtree(folder / CELL)
    for name in (".x.epilens-partial", "cells/random/.seed-1_fold-1.epilens-partial/half"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("")
    (folder / "cells/random/.seed-1_fold-1.epilens-partial" / MARKER).write_text(
        '{"kind": "a cell"}'
    )
    run(PLAN, cohort, Runtime(out=folder.parent))
    assert contents(folder) == before


@pytest.mark.parametrize("name", ["run.json", "plan.toml", "split.csv", "ledger.parquet"])
@pytest.mark.parametrize("verb", ["score", "reproduce", "report", "analyse"])
def test_other_verbs_name_what_is_damaged(folder, tmp_path, capsys, name, verb):
    copy = tmp_path / "runs" / "test"
    shutil.copytree(folder, copy)
    (copy / name).write_bytes(b"\xff\x00{[")
    arguments = {
        "score": ["score", str(copy)],
        "reproduce": ["reproduce", str(copy), "--out", str(tmp_path / "out")],
        "report": ["report", str(copy), "--out", str(tmp_path / "out.html")],
        "analyse": ["analyse", "audit", str(copy)],
    }[verb]
    code = None
    try:
        main(arguments)
    except SystemExit as stop:
        code = stop.code
    text = capsys.readouterr().err
    assert "unexpectedly" not in text
    if code:
        assert code == 2
        assert name in text
        assert "run" in text
    assert not (tmp_path / "out").exists() or not code


@pytest.mark.parametrize("verb", [["score"], ["analyse", "main"]])
def test_a_plan_with_a_section_of_a_package_that_is_gone_is_not_called_damaged(
    folder, tmp_path, capsys, verb
):
    copy = tmp_path / "runs" / "test"
    shutil.copytree(folder, copy)
    plan = (copy / "plan.toml").read_text(encoding="utf-8")
    (copy / "plan.toml").write_text(plan + "\n[my_section]\nvalue = 1\n", encoding="utf-8")
    with pytest.raises(SystemExit) as stop:
        main([*verb, str(copy)])
    printed = capsys.readouterr()
    assert (stop.value.code, printed.out) == (2, "")
    assert "unknown key 'my_section'" in printed.err
    assert printed.err.endswith("Install the package that provides it.\n")


def test_a_damaged_cube_is_named_by_run(cohort, folder, tmp_path):
    cubes = tmp_path / "cubes"
    shutil.copytree(cohort.path("sub-01").parent, cubes)
    path = cubes / cohort.path("sub-02").name
    with zipfile.ZipFile(path) as file:
        pieces = {name: file.read(name) for name in file.namelist() if name != "is_ez/0"}
    with zipfile.ZipFile(path, "w") as file:
        for name, content in pieces.items():
            file.writestr(name, content)
    with pytest.raises(CubeError, match=r"sub-02.*is_ez/0 is missing.*epilens describe"):
        run(PLAN, open_cohort(cubes), Runtime(out=tmp_path / "runs"))


def test_no_whole_path_is_in_a_run(folder, cohort):
    setting = json.loads((folder / "run.json").read_text())
    assert setting["cubes"] == "../../cubes"
    for path, content in contents(folder).items():
        assert str(folder.parents[1]).encode() not in content, path
    assert open_run(folder).cubes.resolve() == cohort.path("sub-01").parent


def test_no_relative_path_is_given_where_it_would_contain_the_whole_path():
    assert relative_cubes(Path("/data/runs/x"), Path("/data/cubes")) == "../../cubes"
    assert relative_cubes(Path("/data/runs/x"), Path("/home/somebody/cubes")) == ""


def test_half_a_line_of_times_is_left_out(folder):
    times = Run(folder).times
    with (folder / "times.tsv").open("a") as file:
        file.write("random\t1")
    assert Run(folder).times.equals(times)
    with pytest.raises(LedgerError, match=r"expected a finished run with run\.json"):
        open_run(folder / "cells")


def test_a_second_run_in_the_same_folder_is_reported(folder, cohort):
    code = (
        "import sys, time\nfrom epilens.io.locks import lock_folder\n"
        "with lock_folder(sys.argv[1]):\n    print(flush=True)\n    time.sleep(60)\n"
    )
    command = [sys.executable, "-c", code, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(ValueError, match="found another process of EpiLENS"):
            run(PLAN, cohort, Runtime(out=folder.parent))
        process.kill()
