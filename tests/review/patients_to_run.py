"""Patients under review for the tests: two plain files, and specifications of runs."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from new_patients import write_edf

from epilens.data.discovery import cases_of
from epilens.localization.run_spec import Ranker, make_run_spec
from epilens.review.mark_store import MarkStore
from epilens.review.marks import PatientMarks
from epilens.review.service import Service
from epilens.review.session import open_session
from epilens.review.worker import work

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
    files = {file.name: {"onsets": [{"onset_s": onset_s}]} for file in case().files}
    return PatientMarks(files=files, bad=dict.fromkeys(exclude, "by eye"))


def review_with_runs(out, blind, onsets_s=(40.0, 50.0), **mark):
    """A review of one patient with a finished run for each onset; `mark` describes it further."""
    session = open_session(cases_of([plain_files()], "P1"), out, blind=blind)
    service = Service(session, MarkStore(session))
    for revision, onset_s in enumerate(onsets_s):
        onsets = {"onsets": [{"onset_s": onset_s} | mark]}
        tree = {"files": {file.name: onsets for file in case().files}}
        service.mark_store.write("sub-P1", tree, revision)
        spec = service.run_spec("sub-P1", METHOD)
        work(service.runs("sub-P1").begin(spec.inputs), spec)
    return session


def a_spec(onset_s=40.0, exclude=(), ranker=METHOD):
    return make_run_spec(case(), ranker, marks(onset_s).onsets, exclude)
