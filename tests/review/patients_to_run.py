"""Patients under review for the tests: two plain files, and orders for them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from new_patients import write_edf

from epilens.data.discovery import cases_of
from epilens.review.rankers import Ranker
from epilens.review.run_spec import RunMarks, make_run_spec

METHOD = Ranker("line-length-change", "Line-length change", "method", "line-length-change")


@cache
def plain_files() -> Path:
    """A folder with two recordings whose names could be a person's."""
    folder = Path(mkdtemp())
    write_edf(folder / "Mustermann-1.edf")
    write_edf(folder / "Mustermann-2.edf", seed=1)
    return folder


def case(code="P1"):
    (one,) = cases_of([plain_files()], code)
    return one


def marks(onset_s=40.0, exclude=()):
    return RunMarks({file.name: (onset_s,) for file in case().files}, exclude)


def an_order(onset_s=40.0, exclude=(), choice=METHOD):
    return make_run_spec(case(), marks(onset_s, exclude), choice)
