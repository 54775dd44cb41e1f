"""The audit: one row for everything that was left out or found strange, with its reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

import pandas as pd

What = Literal["dataset", "patient", "run", "seizure", "channel", "label"]


@dataclass(frozen=True)
class AuditRow:
    """What was left out (or only noted), where, and why."""

    what: What
    why: str
    patient: str = ""
    run: str = ""
    channel: str = ""
    effect: Literal["excluded", "noted"] = "excluded"

    @property
    def where(self) -> str:
        """Patient, run and channel, as far as they apply."""
        return " ".join(part for part in (self.patient, self.run, self.channel) if part)


def audit_frame(rows: Iterable[AuditRow]) -> pd.DataFrame:
    """Tidy table of audit rows, in the order in which they arose."""
    columns = ["effect", "what", "where", "why", "patient", "run", "channel"]
    return pd.DataFrame([asdict(row) | {"where": row.where} for row in rows], columns=columns)
