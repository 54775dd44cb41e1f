"""Which contacts of a BIDS run are used: one rule for the analysis, chunked reading and review."""

from __future__ import annotations

from typing import Any

import pandas as pd

from epilens.core.errors import DataError
from epilens.data.audit import AuditRow, Note
from epilens.data.bids_runs import run_name
from epilens.data.channels.bids_channels import good_channels, marked_bad
from epilens.data.electrodes.bids_electrodes import BidsElectrodes
from epilens.data.sidecars import BidsFile, BidsTree


def channel_fields(tree: BidsTree, file: BidsFile) -> dict[str, Any]:
    """Fields of channels.json, which explain columns; empty if it cannot be read."""
    try:
        return tree.fields(file, "channels")
    except DataError:
        return {}


def marked_contacts(
    tree: BidsTree, file: BidsFile, table: pd.DataFrame, electrodes: BidsElectrodes
) -> tuple[dict[str, Note], list[Note]]:
    """Contacts that a column of channels.tsv or electrodes.tsv marks as bad, each with its reason.

    Also returns notes on columns that cannot be read.
    """
    marked, notes = marked_bad(table, channel_fields(tree, file), "channels.tsv")
    placed = electrodes.of_run(file, _patient(file), set(table["name"]))
    if placed is not None:
        by_electrode, more = marked_bad(placed.table, placed.fields, "electrodes.tsv")
        marked, notes = by_electrode | marked, notes + more
    return marked, notes


def used_contacts(
    tree: BidsTree, file: BidsFile, table: pd.DataFrame
) -> tuple[tuple[str, ...], list[AuditRow]]:
    """Names of the contacts that are used, and a row for every other channel."""
    marked, _ = marked_contacts(tree, file, table, BidsElectrodes(tree, []))
    return good_channels(table, _patient(file), run_name(file), marked)


def _patient(file: BidsFile) -> str:
    return f"sub-{file.entity('sub')}"
