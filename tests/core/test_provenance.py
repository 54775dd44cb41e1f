"""Digests of settings and code: they see what numbers come from, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

import pytest

from epilens.core.provenance import _code, digest_of, modules_behind, plain

KERNEL = '"""A kernel."""\n\ndef double(x):\n    """Twice."""\n    return 2 * x  # two times\n'
METHOD = "from toy.kernel import double\n\ndef fit():\n    return double(1)\n"
LAZY = "def fit():\n    from . import kernel\n\n    return kernel.double(1)\n"


@pytest.fixture
def digest(tmp_path):
    """The digest of `toy.method` in a fresh interpreter, after writing some of its files."""

    def write(**modules):
        folder = tmp_path / "toy"
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").touch()
        for name, text in modules.items():
            (folder / f"{name}.py").write_text(text)
        code = (
            "import sys\nsys.path.insert(0, sys.argv[1])\n"
            "from epilens.core.provenance import code_digest\nprint(code_digest('toy.method'))"
        )
        command = [sys.executable, "-c", code, str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    return write


@pytest.mark.parametrize("method", [METHOD, LAZY])
def test_a_changed_line_of_an_imported_module_is_seen(digest, method):
    before = digest(method=method, kernel=KERNEL)
    assert digest(kernel=KERNEL.replace("2 * x", "3 * x")) != before
    assert digest(kernel=KERNEL) == before


def test_comments_docstrings_and_layout_do_not_count(digest):
    before = digest(method=METHOD, kernel=KERNEL)
    changed = (
        KERNEL.replace("# two times", "# 2 x").replace("Twice", "Double").replace("\n\n", "\n")
    )
    assert changed != KERNEL
    assert digest(kernel=changed) == before


def test_an_unrelated_module_does_not_count(digest):
    before = digest(method=METHOD, kernel=KERNEL, other="x = 1\n")
    assert digest(other="x = 2\n") == before


def test_code_is_read_and_never_run(digest):
    assert digest(method=METHOD, kernel=KERNEL + "raise SystemExit('run')\n")


def test_rows_that_are_hashed_by_what_they_say_do_not_count(tmp_path, monkeypatch):
    digests = []
    for C in (1, 2):
        for n in (1, 1, 2):
            name = f"rows_{len(digests)}"
            (tmp_path / f"{name}.py").write_text(f"N = {n}\nENTRIES = ({C},)\n")
            monkeypatch.syspath_prepend(tmp_path)
            digests.append(_code(name, without_rows=True))
    assert digests[0] == digests[1] == digests[3] != digests[2]


def test_imports_for_type_checkers_do_not_count(digest):
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from toy import other\n"
    before = digest(method=text + METHOD, kernel=KERNEL, other="x = 1\n")
    assert digest(other="x = 2\n") == before


def test_code_behind_a_cube_reaches_the_kernels_and_not_the_command_line():
    behind = modules_behind("epilens.evidence.describe")
    assert {"epilens.evidence.kernels", "epilens.data.montage"} <= behind
    assert not {name for name in behind if name.startswith(("epilens.cli", "epilens.report"))}


@dataclass(frozen=True)
class Settings:
    C: float = 1.0
    bands: tuple[float, ...] = (1.0, 4.0)


def test_every_setting_changes_the_digest():
    assert digest_of(Settings()) == digest_of(Settings())
    assert digest_of(Settings(C=1e-4)) != digest_of(Settings())
    assert digest_of(Settings(bands=(1.0, 5.0))) != digest_of(Settings())
    assert plain(Settings()) == {"settings": "Settings", "C": 1.0, "bands": [1.0, 4.0]}


def test_settings_that_do_not_say_what_they_are_cannot_be_hashed():
    with pytest.raises(TypeError, match="expected plain values, found function"):
        digest_of({"make": test_every_setting_changes_the_digest})
