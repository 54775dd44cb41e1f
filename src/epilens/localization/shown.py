"""What a Localization shows of itself, and how it becomes a page."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from epilens.core.errors import DataError, did_you_mean
from epilens.core.html_repr import RESEARCH, SIMULATED, bars, card

if TYPE_CHECKING:
    from epilens.localization.result import Localization

_COLUMNS = ("rank", "name", "ez_score", "decision", "seizures", "recruited_s")


class Shown:
    """Length, places, text and page of the ranked contacts."""

    def __len__(self) -> int:
        return len(_of(self).channels)

    def __getitem__(self, which: int | str) -> pd.Series:
        """A contact: by its name, or by its place in the ranking (0: most EZ-like)."""
        contacts = _of(self).contacts
        if isinstance(which, int):
            return contacts.iloc[which]
        names = contacts["name"].tolist()
        if which not in names:
            raise DataError(
                f"{_of(self).patient}: expected one of {len(names)} contacts, found {which!r}. "
                f"{did_you_mean(which, names)}"
            )
        return contacts.iloc[names.index(which)]

    def __repr__(self) -> str:
        one = _of(self)
        first = ", ".join(one.contacts["name"].head(3))
        return (
            f"Localization({one.patient!r}: {len(self)} contacts by {one.about.source}: {first}, …)"
        )

    def _repr_html_(self) -> str:
        one = _of(self)
        table = one.contacts
        facts = {"by": one.about.title, "contacts": len(self), "seizures": len(one.seizures)}
        picture = bars([float(score) for score in table["ez_score"]], "EZ score by rank")
        shown = table[[name for name in _COLUMNS if name in table]]
        notes = [SIMULATED] * one.about.simulated + [RESEARCH]
        return card(one.patient, facts, shown, picture, notes)

    def page(self) -> str:
        """The patient's page as HTML text: one file without links to anywhere."""
        return _report().page(self)

    def save(self, folder: str | Path) -> Path:
        """Write page and BIDS derivative below a folder, which can hold many patients."""
        return _report().write_report(self, folder)


def _of(shown: Shown) -> Localization:
    return cast("Localization", shown)


def _report() -> Any:
    """Fetched by name when it is asked for: a result is known without its page."""
    return import_module("epilens.report.page")
