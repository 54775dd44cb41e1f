"""No verb deletes or overwrites what it did not write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from permissions import as_nobody

from epilens.cli import main
from epilens.core.errors import DataError, ModelError, PlanError, StorageError
from epilens.io.atomic import (
    check_own_file,
    check_writable,
    finish_together,
    load_json,
    replace_file,
    write_atomically,
    write_new,
    write_together,
)
from epilens.io.locks import LockedError, lock_path
from epilens.io.outputs import MARKER, claim_output, first_corrupt, locked_output, replace_folder
from epilens.plan import Plan


@pytest.fixture
def precious(tmp_path) -> Path:
    """Somebody's folder."""
    folder = tmp_path / "precious"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def fill(folder: Path, text: str = "new") -> None:
    with replace_folder(folder, "a test") as place:
        (place / "inner").mkdir()
        (place / "inner" / "result.txt").write_text(text)


def test_a_folder_of_the_same_kind_is_replaced_whole(tmp_path):
    fill(tmp_path / "out", "old")
    fill(tmp_path / "out", "new")
    assert (tmp_path / "out" / "inner" / "result.txt").read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_an_empty_folder_is_taken(tmp_path):
    (tmp_path / "out").mkdir()
    fill(tmp_path / "out")
    assert claim_output(tmp_path / "other", "a test").is_dir()
    assert claim_output(tmp_path / "other", "a test").is_dir()


def test_what_we_did_not_write_is_never_replaced(precious):
    with pytest.raises(DataError, match=r"found a folder with other things in it \(notes.txt\)"):
        fill(precious)
    with pytest.raises(DataError, match="expected a new or empty folder"):
        claim_output(precious, "a test")
    assert contents(precious) == {"notes.txt": b"mine"}


def test_another_kind_of_ours_is_refused(tmp_path):
    fill(tmp_path / "out")
    with pytest.raises(DataError, match="or one with cubes of EpiLENS, found a test"):
        claim_output(tmp_path / "out", "cubes")


def test_a_file_that_somebody_put_into_our_folder_is_kept(tmp_path):
    fill(tmp_path / "out")
    (tmp_path / "out" / "inner" / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match=r"found inner/notes\.txt too"):
        fill(tmp_path / "out")
    assert (tmp_path / "out" / "inner" / "result.txt").read_text() == "new"


@pytest.mark.parametrize("name", [".out.epilens-partial", ".out.epilens-old"])
def test_a_hidden_folder_of_somebody_else_is_not_removed(tmp_path, name):
    (tmp_path / name).mkdir()
    (tmp_path / name / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match="with other things in it"):
        fill(tmp_path / "out")
    assert (tmp_path / name / "notes.txt").read_text() == "mine"


def test_the_remains_of_a_kill_are_removed(tmp_path):
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom epilens.io.outputs import replace_folder\n"
        "with replace_folder(Path(sys.argv[1]), 'a test') as place:\n"
        "    (place / 'half.txt').write_text('half')\n    os.kill(os.getpid(), 9)\n"
    )
    fill(tmp_path / "out", "old")
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "out")], check=False)
    assert (tmp_path / "out" / "inner" / "result.txt").read_text() == "old"
    assert (tmp_path / ".out.epilens-partial" / "half.txt").exists()
    fill(tmp_path / "out", "new")
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"kind": 3}',
        '{"kind": "a test", "files": [1]}',
        '{"kind": "a test", "files": 1}',
        "\x00",
        '{"kind": "a test"',
        "[" * 100_000,
    ],
)
def test_a_damaged_mark_is_no_mark(tmp_path, text):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / MARKER).write_text(text)
    with pytest.raises(DataError, match="expected a new or empty folder"):
        claim_output(tmp_path / "out", "a test")


def test_a_pipe_is_no_file_of_ours_and_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "page.html")
    with pytest.raises(DataError, match="expected no file, or one that this command wrote"):
        check_own_file(tmp_path / "page.html", "sign")


def test_a_file_is_overwritten_only_if_it_is_ours(tmp_path):
    path = tmp_path / "page.html"
    assert check_own_file(path, "SIGN") == path
    path.write_text("head SIGN body")
    assert check_own_file(path, "SIGN") == path
    path.write_text("somebody's page")
    with pytest.raises(DataError, match="or one that this command wrote, found another"):
        check_own_file(path, "SIGN")
    with pytest.raises(DataError, match="expected the name of a file, found a folder"):
        check_own_file(tmp_path, "SIGN")


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "", ".", "..", ".hidden", "a b", "x" * 65, "a\nb", "C:x"]
)
def test_the_name_of_a_plan_cannot_leave_its_folder(name):
    with pytest.raises(PlanError, match="name"):
        Plan.of({"name": name})


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    return " ".join(capsys.readouterr().err.split())


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Cubes, a run and a plan, in one folder."""
    from epilens.evaluation.protocol import run
    from epilens.plan import Runtime
    from epilens.testing import make_cohort

    here = tmp_path_factory.mktemp("finished")
    cohort = make_cohort(here / "cubes", patients=4)
    plan = Plan(name="small", seeds=(1,), methods=("line-length-change", "random")).override(
        splits={"folds": 2}, training={"epochs": 1, "least_epochs": 1}
    )
    (here / "plan.toml").write_text(plan.to_toml())
    run(plan, cohort, Runtime(out=here / "runs"))
    return here


def test_train_writes_into_no_folder_of_somebody(finished, precious, capsys):
    plan, cubes = str(finished / "plan.toml"), str(finished / "cubes")
    before = contents(finished / "cubes")
    for out in (str(precious), cubes):
        text = refused(["train", plan, "--cubes", cubes, "--out", out, "--force"], capsys)
        assert "expected a new or empty folder" in text
    assert contents(precious) == {"notes.txt": b"mine"}
    assert contents(finished / "cubes") == before


def test_a_model_is_replaced_only_if_that_is_said(finished, tmp_path, capsys):
    plan, cubes, out = str(finished / "plan.toml"), str(finished / "cubes"), str(tmp_path / "model")
    main_ok(["train", plan, "--cubes", cubes, "--out", out])
    before = contents(Path(out))
    text = refused(["train", plan, "--cubes", cubes, "--out", out], capsys)
    assert "expected a new folder, found a model" in text
    assert contents(Path(out)) == before
    main_ok(["train", plan, "--cubes", cubes, "--out", out, "--force"])
    (Path(out) / "notes.txt").write_text("mine")
    text = refused(["train", plan, "--cubes", cubes, "--out", out, "--force"], capsys)
    assert "found notes.txt too" in text


def main_ok(arguments: list[str]) -> None:
    try:
        main(arguments)
    except SystemExit as stopped:
        assert stopped.code == 0  # noqa: PT017


def test_model_import_writes_into_no_folder_of_somebody(precious, capsys, monkeypatch):
    from epilens.networks import released

    monkeypatch.setattr(released, "import_released", lambda paths: None)
    text = refused(["model", "import", "x.pt", "--out", str(precious), "--force"], capsys)
    assert "expected a new or empty folder" in text
    assert contents(precious) == {"notes.txt": b"mine"}


def test_describe_run_reproduce_and_localize_write_into_no_folder_of_somebody(
    finished, tiny, precious, capsys
):
    plan, cubes = str(finished / "plan.toml"), str(finished / "cubes")
    north, run_name = str(tiny / "north"), precious.parent / "small"
    run_name.mkdir()
    (run_name / "plan.toml").write_text("mine")
    commands = [
        ["describe", north, "--out", str(precious)],
        ["run", plan, "--cubes", cubes, "--out", str(precious.parent)],
        ["reproduce", str(finished / "runs" / "small"), "--out", str(precious)],
        ["demo", "--out", str(precious)],
        ["simulate", str(precious)],
        [*["localize", "line-length-change", "--patient", "N01", "--out"], str(precious), north],
    ]
    for command in commands:
        assert "expected" in refused(command, capsys), command
    assert contents(precious) == {"notes.txt": b"mine"}
    assert contents(run_name) == {"plan.toml": b"mine"}


def test_report_and_audit_overwrite_no_file_of_somebody(finished, tiny, precious, capsys):
    notes = str(precious / "notes.txt")
    text = refused(["cohort", str(tiny / "north"), "--audit", notes], capsys)
    assert "or one that this command wrote, found another" in text
    folder = str(finished / "runs" / "small")
    (precious / "page.html").write_text("mine")
    text = refused(["report", folder, "--out", str(precious / "page.html")], capsys)
    assert "or one that this command wrote, found another" in text
    assert contents(precious) == {"notes.txt": b"mine", "page.html": b"mine"}
    main_ok(["cohort", str(tiny / "north"), "--audit", str(precious / "audit.tsv")])
    main_ok(["cohort", str(tiny / "north"), "--audit", str(precious / "audit.tsv")])


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("read", "Permission denied"),
        ("read/new/inner", "Permission denied"),
        ("shut/inner", "Permission denied"),
        ("file/inner", "Not a directory"),
        ("open/new/inner", ""),
    ],
)
def test_a_folder_that_may_not_be_written_is_reported(name, reason):
    with tempfile.TemporaryDirectory() as top:  # pytest's own folders are closed to others
        Path(top).chmod(0o755)
        (Path(top) / "file").write_text("")
        for folder, mode in (("read", 0o555), ("shut", 0), ("open", 0o777)):
            (Path(top) / folder).mkdir()
            (Path(top) / folder).chmod(mode)
        place = Path(top) / name

        def said() -> str:
            try:
                check_writable(place)
            except StorageError as error:
                return str(error)
            return "nothing"

        told = f"{place}: expected a place that can be written, found: {reason}. Give another path."
        assert as_nobody(said) == (told if reason else "nothing")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="a system without /proc")
@pytest.mark.parametrize("write", [check_writable, lambda path: lock_path(path).__enter__()])
def test_a_folder_that_refuses_files_whatever_its_permissions_is_reported(write):
    with pytest.raises(StorageError, match=r"^/proc/xx: expected a place that can be written"):
        write(Path("/proc/xx"))


def test_who_computes_long_asks_first_whether_it_can_write(finished, precious, capsys, monkeypatch):
    def compute(*_):
        raise AssertionError("computed before it was known whether it can be written")

    monkeypatch.setattr("epilens.localization.result.assemble", compute)
    for module in ("epilens.report.run.reproduction", "epilens.report.run.run_analyses"):
        monkeypatch.setattr(f"{module}.run_all", compute)
    inside, folder = str(precious / "notes.txt" / "out"), str(finished / "runs" / "small")
    patient = str(next((finished / "cubes").glob("*.zip"), finished / "cubes"))
    for command in (
        ["localize", "line-length-change", patient, "--out", inside],
        ["reproduce", folder, "--out", inside + "/more"],
        ["report", folder, "--out", inside + ".html"],
    ):
        assert "found: Not a directory" in refused(command, capsys), command


def test_the_mark_of_a_folder_in_one_piece_names_its_files(tmp_path):
    fill(tmp_path / "out")
    mark = json.loads((tmp_path / "out" / MARKER).read_text())
    assert mark == {"kind": "a test", "files": ["inner/result.txt"]}


def test_a_model_is_checked_before_it_is_trained(tmp_path):
    from epilens.networks.model import KIND, check_place

    claim_output(tmp_path / "model", KIND)
    with pytest.raises(ModelError, match=r"found a model\. Give another folder, or --force"):
        check_place(tmp_path / "model")


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "deep" / "out.bin"
    with replace_file(path) as place:
        place.write_bytes(b"old")
    with pytest.raises(TypeError, match="bytes-like"), replace_file(path) as place:
        place.write_bytes([b"ne", None])
    assert contents(tmp_path) == {"deep/out.bin": b"old"}


def test_files_appear_together_or_not_at_all(tmp_path):
    write_together(tmp_path, {"a.tsv": b"old", "inner/b.tsv": b"old"})
    with pytest.raises(TypeError, match="bytes-like"):
        write_together(tmp_path, {"a.tsv": b"new", "inner/b.tsv": None})  # ty: ignore
    assert contents(tmp_path) == {"a.tsv": b"old", "inner/b.tsv": b"old"}


def test_files_appear_together_below_a_relative_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for content in (b"old", b"new"):
        write_together("out", {"a.tsv": content, "inner/b.tsv": content})
        assert contents(tmp_path / "out") == {"a.tsv": content, "inner/b.tsv": content}


@pytest.mark.parametrize("renames", [0, 1, 2])
def test_a_kill_between_two_renames_is_ended_by_the_next_command(tmp_path, monkeypatch, renames):
    claim_output(tmp_path / "out", "a test")
    write_together(tmp_path / "out", {"a.tsv": b"old", "b.tsv": b"old"})
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom epilens.io.atomic import write_together\n"
        "left, usual = [int(sys.argv[2])], Path.replace\n"
        "def replace(self, target):\n"
        "    if Path(target).suffix == '.tsv':\n"
        "        if left[0] == 0:\n            os.kill(os.getpid(), 9)\n"
        "        left[0] -= 1\n"
        "    return usual(self, target)\n"
        "Path.replace = replace\n"
        "write_together(sys.argv[1], {'a.tsv': b'new', 'b.tsv': b'new'})\n"
        "os.kill(os.getpid(), 9)\n"
    )
    run = [sys.executable, "-c", code, str(tmp_path / "out"), str(renames)]
    assert subprocess.run(run, check=False).returncode == -9
    with locked_output(tmp_path / "out", "a test"):
        pass
    files = contents(tmp_path / "out")
    files.pop(MARKER)
    assert files == {"a.tsv": b"new", "b.tsv": b"new"}


HIDDEN = ".a.tsv.x.epilens-partial"


def listed(out, content):
    """A derivative with this list of unfinished renames, and a complete hidden file."""
    claim_output(out, "a test")
    (out / HIDDEN).write_bytes(b"evil")
    (out / ".epilens-together").write_text(
        content if isinstance(content, str) else json.dumps(content)
    )


@pytest.mark.parametrize(
    "content",
    [
        {"/victim.tsv": HIDDEN},
        {"../victim.tsv": HIDDEN},
        {"inner/../../victim.tsv": HIDDEN},
        {"link/victim.tsv": "link/.victim.tsv.x.epilens-partial"},
        {"link/a.tsv": HIDDEN},
        {"inner//a.tsv": HIDDEN},
        {"inner\\a.tsv": HIDDEN},
        {"inner/a.tsv": HIDDEN},
        {"a.tsv": "link/.a.tsv.x.epilens-partial"},
        {"a.tsv": "victim.tsv"},
        {"a.tsv": None},
        {"a.tsv": [HIDDEN]},
        {"a.tsv": ".a.tsv.\0.epilens-partial"},
        {"a.sh": ".a.sh.x.epilens-partial"},
        {".epilens": "..epilens.x.epilens-partial"},
        {"": HIDDEN},
        {"a.tsv": HIDDEN, "b.tsv": None},
        {"x" * 300 + ".tsv": "." + "x" * 300 + ".tsv.x.epilens-partial"},
        *([1, 2], None, "text", 1, {"a.tsv": {}}),
        *("{", "", "[" * 100_000),
    ],
)
def test_a_list_that_epilens_did_not_write_is_ignored(tmp_path, content, capsys):
    out, outside = tmp_path / "out", tmp_path / "outside"
    outside.mkdir()
    (outside / "victim.tsv").write_bytes(b"mine")
    (outside / ".victim.tsv.x.epilens-partial").write_bytes(b"evil")
    (outside / HIDDEN).write_bytes(b"evil")
    if isinstance(content, dict):
        content = {name.replace("/victim", f"{outside}/victim") if name[:1] == "/" else name: place
                   for name, place in content.items()}  # fmt: skip
    listed(out, content)
    (out / "link").symlink_to(outside)
    (out / "a.tsv").write_bytes(b"mine")
    before = contents(outside)
    with locked_output(out, "a test"):
        pass
    assert contents(outside) == before
    assert (out / "a.tsv").read_bytes() == b"mine"
    assert not (out / ".epilens-together").exists()
    said = " ".join(capsys.readouterr().err.split())
    assert said.count("expected in .epilens-together a list of files of EpiLENS") == 1


@pytest.mark.parametrize("kind", ["pipe", "folder", "broken link"])
def test_a_list_that_is_not_a_file_is_ignored(tmp_path, kind, capsys):
    place = tmp_path / ".epilens-together"
    {"pipe": os.mkfifo, "folder": Path.mkdir, "broken link": lambda p: p.symlink_to("x")}[kind](
        place
    )
    finish_together(tmp_path)
    assert "a list of files of EpiLENS" in " ".join(capsys.readouterr().err.split())


def test_files_are_not_written_together_through_a_link(tmp_path):
    (tmp_path / "outside" / "ieeg").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "sub-01").symlink_to(tmp_path / "outside")
    with pytest.raises(DataError, match=r"found 'sub-01/ieeg/a\.tsv' outside"):
        write_together(tmp_path / "out", {"b.tsv": b"new", "sub-01/ieeg/a.tsv": b"new"})
    assert contents(tmp_path / "outside") == contents(tmp_path / "out") == {}


def test_a_folder_whose_claim_was_killed_is_empty(tmp_path):
    (tmp_path / "..epilens.x.epilens-partial").write_text("{")
    assert claim_output(tmp_path, "a test") == tmp_path
    assert [path.name for path in tmp_path.iterdir()] == [MARKER]


def test_a_list_in_a_folder_reached_by_a_link_is_finished(tmp_path):
    listed(tmp_path / "out", {"a.tsv": HIDDEN})
    (tmp_path / "link").symlink_to(tmp_path / "out")
    finish_together(tmp_path / "link")
    assert (tmp_path / "out" / "a.tsv").read_bytes() == b"evil"


def test_a_kill_between_two_renames_of_folders_loses_neither(tmp_path):
    fill(tmp_path / "out", "old")
    (tmp_path / "out").rename(tmp_path / ".out.epilens-old")
    with pytest.raises(OSError, match="full"), replace_folder(tmp_path / "out", "a test"):
        raise OSError("full")
    assert (tmp_path / "out" / "inner" / "result.txt").read_text() == "old"


def test_a_folder_that_a_thread_is_renaming_is_not_checked_by_another(precious):
    """What a folder contains between two renames says nothing: only the lock is reported."""
    with lock_path(precious), ThreadPoolExecutor(1) as pool:
        error = pool.submit(fill, precious).exception()
    assert isinstance(error, LockedError)


def test_threads_that_replace_one_folder_meet_only_its_lock(tmp_path):
    def replace_often(number: int) -> None:
        for _ in range(20):
            with suppress(LockedError):
                fill(tmp_path / "out", str(number))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(replace_often, range(6)))
    assert first_corrupt(tmp_path / "out") == ""


def test_a_folder_of_ours_without_a_list_of_its_files_is_not_replaced(tmp_path):
    claim_output(tmp_path / "out", "a test")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match=r"found notes\.txt too"):
        fill(tmp_path / "out")
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


def test_what_kills_left_is_swept_but_nothing_of_somebody_else(tmp_path):
    out = claim_output(tmp_path / "out", "a test")
    for name in (".a.1.epilens-partial", "deep/.b.2.epilens-partial", ".mine.partial", "deep/c"):
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text("x")
    (out / ".theirs.epilens-partial").mkdir()
    (out / ".theirs.epilens-partial" / "notes.txt").write_text("mine")
    other = claim_output(out / "other", "a run")
    (other / ".d.3.epilens-partial").write_text("x")
    with locked_output(out, "a test"):
        pass
    left = {MARKER, ".mine.partial", "deep/c", ".theirs.epilens-partial/notes.txt"}
    assert set(contents(out)) == left | {f"other/{MARKER}", "other/.d.3.epilens-partial"}


def test_a_change_in_a_sealed_folder_is_seen(tmp_path):
    with replace_folder(tmp_path / "out", "a test", sealed=True) as place:
        (place / "a.bin").write_bytes(b"abc")
    assert first_corrupt(tmp_path / "out") == ""
    (tmp_path / "out" / "a.bin").write_bytes(b"abd")
    assert first_corrupt(tmp_path / "out") == "a.bin"
    (tmp_path / "out" / "a.bin").unlink()
    assert first_corrupt(tmp_path / "out") == "a.bin"
    assert first_corrupt(tmp_path / "nowhere") == MARKER


def test_cubes_are_not_replaced_by_other_output(finished, capsys):
    cubes, plan = str(finished / "cubes"), str(finished / "plan.toml")
    before = contents(finished / "cubes")
    run_folder = str(finished / "runs" / "small")
    commands = [
        ["train", plan, "--cubes", cubes, "--out", cubes, "--force"],
        ["reproduce", run_folder, "--out", cubes],
        ["reproduce", run_folder, "--out", run_folder],
        ["simulate", cubes],
        ["demo", "--out", cubes],
        ["report", run_folder, "--out", cubes],
        ["plan", "init", cubes],
        ["plan", "init", plan],
    ]
    for command in commands:
        assert "expected" in refused(command, capsys), command
    assert contents(finished / "cubes") == before


def test_what_a_kill_left_of_a_file_is_replaced_by_the_next_attempt(tmp_path):
    (tmp_path / ".out.bin.x.epilens-partial").write_bytes(b"half")
    with replace_file(tmp_path / "out.bin") as place:
        place.write_bytes(b"new")
    assert contents(tmp_path) == {"out.bin": b"new"}


def test_a_file_in_a_place_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(DataError, match="expected a place that can be written"):
        replace_file(tmp_path / "file" / "out.bin").__enter__()


def test_a_new_file_is_written_once(tmp_path):
    path = tmp_path / "below" / "one.json"
    assert write_new(path, "ä")
    assert not write_new(path, "b")
    assert path.read_text(encoding="utf-8") == "ä"
    assert [p.name for p in path.parent.iterdir()] == ["one.json"]


def test_a_new_file_is_written_once_without_links_too(tmp_path, monkeypatch):
    def no_links(self, target):
        raise OSError("no links here")

    monkeypatch.setattr(Path, "hardlink_to", no_links)
    path = tmp_path / "one.json"
    assert write_new(path, "a")
    assert not write_new(path, "b")
    assert path.read_text() == "a"


def test_a_new_file_where_nothing_can_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="expected a place that can be written"):
        write_new(tmp_path / "file" / "one.json", "a")


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000, b"9" * 5_000])
def test_invalid_json_is_a_value_error(tmp_path, content):
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"JSON|Expecting|utf-8|digits"):
        load_json(tmp_path / "x.json")


def test_umask_is_respected(tmp_path):
    """A private umask gives private files, however they are written."""
    before = os.umask(0o077)
    try:
        write_atomically(tmp_path / "a.txt", "a")
        write_new(tmp_path / "b.txt", "b")
        write_together(tmp_path, {"c.json": b"{}"})
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.glob("?.*")}
    assert modes == {"a.txt": 0o600, "b.txt": 0o600, "c.json": 0o600}
