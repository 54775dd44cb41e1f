"""Patients under review for the tests: two plain files, and orders for them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from new_patients import write_edf

from epilens.data.discovery import cases_of
from epilens.review.rankers import Choice
from epilens.review.run_spec import Marks, order
from epilens.review.runs import Marked

METHOD = Choice("line-length-change", "Line-length change", "method", "line-length-change")


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
    return Marks({file.name: (onset_s,) for file in case().files}, exclude)


def an_order(onset_s=40.0, exclude=(), choice=METHOD):
    return order(case(), marks(onset_s, exclude), choice)


__all__ = ["METHOD", "Marked", "an_order", "case", "marks", "plain_files"]
