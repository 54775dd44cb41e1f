"""All odd inputs."""

from __future__ import annotations

from benchmarks.odd_exports import EXPORTS
from benchmarks.odd_signals import HEADERS, NAMES, SIGNALS
from benchmarks.odd_tables import FILES, LISTS
from benchmarks.odd_times import GAPS, ONSETS, REPEATS, TEXTS

INPUTS = (*SIGNALS, *NAMES, *HEADERS, *GAPS, *ONSETS, *TEXTS, *REPEATS, *LISTS, *FILES)
INPUTS += EXPORTS
