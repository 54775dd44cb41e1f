"""Seizure runs of one patient in a BIDS tree, with what their sidecars say."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from epilens.data.bids import Patient, Recordings, read_bids
from epilens.data.datasets import recognise
from epilens.data.recording import Recording, pick, read_run
from epilens.data.sidecars import BidsTree, natural, with_prefix
from epilens.errors import DataError
from epilens.localization.intake import UNREADABLE, Given, Intake, with_onsets
from epilens.plan import Plan
from epilens.progress import Ticks


def bids_root(path: Path) -> Path | None:
    """The BIDS dataset that a BIDS name lies in, or None."""
    path = path.resolve()
    if path.is_dir() and (path / "dataset_description.json").exists():
        return path
    if not path.name.startswith("sub-"):
        return None
    return next((p for p in path.parents if (p / "dataset_description.json").exists()), None)


def from_bids(root: Path, files: list[Path], plan: Plan, given: Given, tick: Ticks) -> Intake:
    """The ictal runs of one patient: those that are named, or all of them."""
    # By the name before the dot: BrainVision has three files, and any of them may be given.
    wanted = {_stem(p) for p in files if p.name.startswith("sub-") and p.suffix}
    below = [part for p in files for part in p.resolve().relative_to(root).parts]
    who = {part for part in below if re.fullmatch(r"sub-[^_]+", part)}
    who |= {with_prefix(given.patient, "sub-")} if given.patient else set()
    with tempfile.TemporaryDirectory() as place:
        if given.onsets_s:
            plan = _with_onset_table(Path(place), files, plan, given)
        found = read_bids(root, _rules(root), plan)
        patient = _one_patient(found, who, root)
        runs = [r for r in patient.runs if not wanted or (r.path and _stem(r.path) in wanted)]
        recordings, rows, left_out = [], list(found.rows), _left_out(found, patient, wanted)
        problems = [f"{name} is left out: {why}" for name, why in left_out]
        for run in runs:
            tick(f"reading {run.name}", 0)
            try:
                recording, more = read_run(run, plan)
            except DataError as error:
                left_out.append((run.name, UNREADABLE))
                problems.append(f"{run.name} is left out: {error}")
                continue
            recordings.append(_without(recording, given.exclude))
            rows += more
    mine = tuple(row for row in rows if row.patient == patient.name)
    if not recordings:
        raise DataError(
            f"{patient.name}: expected a seizure that can be used, found none. "
            f"{(problems or ['Is the run ictal?'])[0]}"
        )
    return Intake(tuple(recordings), mine, tuple(left_out), tuple(problems))


def _stem(path: Path) -> str:
    return path.name.partition(".")[0]


def _rules(root: Path) -> str:
    """Nobody is left out for their outcome here, as the rows of the public datasets would."""
    name = recognise(BidsTree(root).description).name
    return name if name == "simulated" else "local"


def _with_onset_table(place: Path, files: list[Path], plan: Plan, given: Given) -> Plan:
    """The user's onsets as the table that the BIDS reader knows."""
    rows = ["patient\trun\tonset_s"]
    for file, onset_s in with_onsets(files, given.onsets_s):
        patient, _, run = file.name.partition("_")
        rows.append(f"{patient}\t{run.partition('_ieeg')[0]}\t{onset_s}")
    (place / "onsets.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return plan.override(cohort={"onsets": str(place / "onsets.tsv")})


def _one_patient(found: Recordings, who: set[str], root: Path) -> Patient:
    names = sorted((p.name for p in found.patients), key=natural)
    wanted = [name for name in names if not who or name in who]
    why = [row.why for row in found.rows if row.patient in who and row.effect == "excluded"]
    if not wanted and why:
        raise DataError(
            f"{', '.join(sorted(who))}: expected a seizure that can be used, found none: {why[0]} "
            "Mend this, or give other runs."
        )
    if len(wanted) != 1:
        raise DataError(
            f"{root.name}: expected one patient, found {len(wanted)} of {len(names)} "
            f"({', '.join((wanted or names)[:5])}). Give its folder (sub-…), or name it with "
            "--patient."
        )
    return next(p for p in found.patients if p.name == wanted[0])


def _left_out(found: Recordings, patient: Patient, wanted: set[str]) -> list[tuple[str, str]]:
    """Seizures that the sidecars rule out, of those that were asked for."""
    return [
        (row.run, row.why)
        for row in found.rows
        if row.patient == patient.name
        and row.what == "seizure"
        and row.effect == "excluded"
        and (not wanted or f"{patient.name}_{row.run}_ieeg" in wanted)
    ]


def _without(recording: Recording, exclude: Sequence[str]) -> Recording:
    unwanted = {name.strip().upper() for name in exclude}
    return pick(recording, [name.upper() not in unwanted for name in recording.channels])
