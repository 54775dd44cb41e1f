"""What the recordings of a tree are: counted by task, and what can be done without a seizure."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from epilens.core.errors import DataError
from epilens.data.audit import AuditRow, Note
from epilens.data.run_onsets import STIMULATION
from epilens.data.runs import run_name, runs_among
from epilens.data.sidecars import BidsFile, BidsTree

_KINDS = (
    ("seizures", re.compile(r"(?<!inter)(?<!pre)(?<!post)ictal|seizure")),
    ("electrical stimulation", STIMULATION),
    ("sleep", re.compile(r"sleep|(?<![a-z])(?:sws|nrem|rem|n[1-3])(?![a-z])|slow.?wave")),
    ("rest", re.compile(r"rest(?!i)|resting|baseline|awake|eyes")),
    ("interictal", re.compile(r"interictal|monitor")),
)


@dataclass(frozen=True)
class TaskCount:
    """Recordings of one task."""

    task: str
    """`task-…`, or `no task`."""
    kind: str
    """In words, by the task, the session and what ieeg.json says about it."""
    recordings: int
    patients: int


def contents_of(tree: BidsTree) -> list[TaskCount]:
    """The recordings of a tree by task, most frequent first."""
    recordings: Counter[tuple[str, str]] = Counter()
    patients: dict[tuple[str, str], set[str]] = {}
    for patient in sorted(tree.folders):
        for run in runs_among(tree.subject_files(patient), patient)[0]:
            key = (task_of(run), _kind_of(tree, run))
            recordings[key] += 1
            patients.setdefault(key, set()).add(patient)
    return [TaskCount(*key, n, len(patients[key])) for key, n in recordings.most_common()]


def task_of(run: BidsFile) -> str:
    """`task-…` of a run's name, or `no task`."""
    task = run.entity("task")
    return f"task-{task}" if task else "no task"


def _kind_of(tree: BidsTree, run: BidsFile) -> str:
    # The task itself first: a description may mention what the recording is not.
    texts = [run.entity("task"), run_name(run)]
    try:
        fields = tree.fields(run, "ieeg")
        texts += [str(fields.get(name, "")) for name in ("TaskName", "TaskDescription")]
    except DataError:
        pass
    for text in texts:
        for kind, pattern in _KINDS:
            if pattern.search(text.lower()):
                return kind
    return "another task"


def advice(contents: list[TaskCount]) -> AuditRow:
    """What a tree without seizures contains, and what can be done with it."""
    kinds: Counter[str] = Counter()
    for part in contents:
        kinds[part.kind] += part.recordings
    named = ", ".join(f"{n} of {kind}" for kind, n in kinds.most_common())
    note = Note(
        f"contains no usable seizure. Recordings: {named}; they are interictal unless an onset is "
        "given. EpiLENS ranks contacts from seizures, so nothing can be described or ranked yet. "
        "Channels, labels and outcomes are listed here. Where a recording contains a seizure that "
        "no event names, find it with epilens onset or epilens review and give it with --onsets",
        "no-seizure",
    )
    return AuditRow.of("dataset", note, effect="noted")
