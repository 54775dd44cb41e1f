"""Read yes and no as people write them: `yes`, `1.0`, `not resected`, or a code with `Levels`.

If one cell of a column means neither yes nor no, the whole column is unreadable for this patient,
and a note lists its values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from epilens.core.errors import DataError
from epilens.data.user_files import as_number

RESECTION = frozenset(
    {
        *("resected", "resect", "resection", "resectionzone", "resectedzone", "rz", "resec"),
        *("ablated", "ablation", "ablationzone", "cavity", "resectioncavity", "removed"),
    }
)
"""Usual names of a resection, without spaces and underscores."""
ONSET_ZONE = frozenset(
    {
        *("soz", "seizurezone", "onsetzone", "seizureonsetzone", "seizureonset", "ictalonset"),
        *("ictalonsetzone",),
    }
)
"""Usual names of the seizure-onset zone, without spaces and underscores."""
_EZ = frozenset({"ez", "epileptogeniczone", "epileptogenic"})
_BAD = frozenset({"bad", "artifact", "artefact", "noisy", "noise"})
_YES = frozenset({"1", "true", "t", "yes", "y", "positive", "present", "inside", "included"})
_NO = frozenset(
    {
        *("0", "false", "f", "no", "n", "nez", "noninvolved", "earlypropzone", "irritativezone"),
        *("preserved", "spared", "intact", "unresected", "remaining", "negative", "absent"),
        *("outside", "good", "clean", "ok"),
    }
)
_POSITIVE = _BAD | _YES | _EZ | RESECTION | ONSET_ZONE
_DENIABLE = "|".join(sorted(_POSITIVE - {"y", "t", "1"}))
_DENIED = re.compile(rf"(?:not|non|no|outside)(?:in|of|part|the|a)*?(?:{_DENIABLE})")


def bare_word(text: str) -> str:
    """A text in lower case without spaces, underscores and hyphens; `1.0` as `1`.

    Examples
    --------
    >>> bare_word("Seizure onset_zone"), bare_word("1.0"), bare_word("-1")
    ('seizureonsetzone', '1', '-1')
    """
    return re.sub(r"(?<=\d)\.0+$|[\s_]|(?<=[a-z])-(?=[a-z])", "", text.strip().lower())


def as_flag(text: str) -> bool | None:
    """True for yes, False for no, None for empty text; any other text is refused.

    Examples
    --------
    >>> as_flag("resected"), as_flag("preserved"), as_flag("not in SOZ"), as_flag("")
    (True, False, False, None)
    """
    word = bare_word(text)
    if not word:
        return None
    if word in _POSITIVE:
        return True
    if word in _NO or _DENIED.fullmatch(word):
        return False
    raise DataError("expected yes or no (or 1/0, true/false), found another text")


def levels_of(fields: Mapping[str, Any], column: str) -> dict[str, str]:
    """Meaning of the codes of a column, by `bare_word`, from `Levels` of the JSON sidecar."""
    entry = next((v for k, v in fields.items() if str(k).strip().lower() == column), None)
    levels = entry.get("Levels") if isinstance(entry, dict) else None
    if not isinstance(levels, dict):
        return {}
    texts = {
        bare_word(str(code)): text.get("Description", "") if isinstance(text, dict) else text
        for code, text in levels.items()
    }
    return {code: text for code, text in texts.items() if isinstance(text, str) and text.strip()}


def read_flags(
    table: pd.DataFrame, column: str, fields: Mapping[str, Any]
) -> tuple[dict[str, bool | None], str]:
    """One yes/no column of channels.tsv or electrodes.tsv by channel; None where a cell is empty.

    A code that means neither yes nor no by itself (`2`), or whose explanation in the JSON sidecar
    says the opposite (`1`: preserved), is read through the `Levels` there. The second value is
    empty, or the values of a column that cannot be read, as a note may show them.
    """
    flags: dict[str, bool | None] = {}
    levels = levels_of(fields, column)
    for name, text in zip(table["name"], table[column], strict=True):
        try:
            flags[name] = flags.get(name) or _coded_flag(text, levels)
        except DataError:
            return {}, shown_values(table[column])
    return flags, ""


def _coded_flag(text: str, levels: Mapping[str, str]) -> bool | None:
    meaning = levels.get(bare_word(text)) if text else None
    if meaning is not None:
        try:
            return as_flag(meaning)
        except DataError:
            pass  # the explanation is a sentence: the code itself may be plain
    return as_flag(text)


_SHOWABLE = frozenset(
    {
        *("maybe", "possible", "possibly", "probable", "probably", "likely", "unsure", "uncertain"),
        *("unknown", "partial", "partially", "partly", "early", "late", "propagation", "spread"),
        *("irritative", "zone", "edge", "border", "near", "yes", "no", "soz", "ez", "left"),
        *("right", "primary", "secondary", "core", "margin", "low", "medium", "high", "none"),
    }
)
"""Words that a note may show; any other text of a file could name a person."""


def shown_values(values: Iterable[str]) -> str:
    """The values of a column as a note may show them; texts that could be names are counted.

    Examples
    --------
    >>> shown_values(["yes", "maybe", "", "ask Anna"])
    'maybe, yes and 1 other text'
    """
    distinct = sorted({value.strip().lower() for value in values} - {""})
    shown = [value for value in distinct if _is_showable(value)][:8]
    others = len(distinct) - len(shown)
    counted = f"{others} other text{'s' * (others != 1)}" if others else ""
    return " and ".join(part for part in (", ".join(shown), counted) if part)


def _is_showable(value: str) -> bool:
    words = re.findall(r"[^\W\d_]+", value)
    if as_number(value) is not None:
        return len(value) <= 8
    return len(value) <= 40 and bool(words) and all(word in _SHOWABLE for word in words)
