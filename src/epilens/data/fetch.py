"""Download a public dataset from OpenNeuro with openneuro-py, which resumes."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from epilens.core.errors import DataError
from epilens.data.datasets import DATASETS, Dataset
from epilens.data.sidecars import with_prefix
from epilens.data.user_files import read_text
from epilens.io.outputs import claim_output

_API = "https://openneuro.org/crn/graphql"
_QUERY = """query files($dataset: ID!, $tag: String!) {
  snapshot(datasetId: $dataset, tag: $tag) { files(recursive: true) { filename size } } }"""
# What every download needs in addition to the subjects: participants, inherited sidecars.
_TABLES = ("/*.json", "/*.tsv")


def patterns(dataset: Dataset, subjects: Sequence[str]) -> list[str] | None:
    """Glob patterns of a partial download; None: the whole dataset."""
    if not subjects:
        return None
    return [*_TABLES, *dataset.shared, *(with_prefix(subject, "sub-") for subject in subjects)]


def fetch(
    name: str, out: Path, subjects: Sequence[str] = (), say: Callable[[str], None] = print
) -> Path:
    """Download a dataset (or some of its subjects) to `out`, except files that are already there.

    name : its name in `epilens list datasets`, or its accession number on OpenNeuro.
    """
    accessions = {row.accession: row for row in DATASETS.values() if row.accession}
    dataset = accessions[name] if name in accessions else DATASETS[name]
    if not dataset.accession:
        public = ", ".join(row.name for row in DATASETS.values() if row.accession)
        raise DataError(f"fetch: expected a public dataset ({public}), found {name!r}.")
    try:
        import openneuro
    except ImportError:
        raise DataError(
            "fetch: expected the package openneuro-py, found none. Install it: pip install "
            "'epilens[fetch]'."
        ) from None
    try:
        size = download_size(dataset, subjects)
    except OSError as error:
        raise DataError(
            f"fetch: expected an answer from OpenNeuro, found: {error}. Check the network."
        ) from None
    _check_folder(dataset, out)
    say(f"{dataset.title} {dataset.version}: {size / 1e9:.2f} GB to {out}, unless already there")
    openneuro.download(
        dataset=dataset.accession,
        tag=dataset.version,
        target_dir=out,
        include=patterns(dataset, subjects),
    )
    return out


def _check_folder(dataset: Dataset, out: Path) -> None:
    """Refuse a folder with other files, which a download could overwrite."""
    description = out / "dataset_description.json"
    if description.is_file() and dataset.accession in read_text(description):
        return
    claim_output(out, f"a download of {dataset.accession}")


def download_size(
    dataset: Dataset,
    subjects: Sequence[str],
    ask: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
) -> int:
    """Size of a download in bytes, as OpenNeuro states it."""
    variables = {"dataset": dataset.accession, "tag": dataset.version}
    answer = (ask or _ask)({"query": _QUERY, "variables": variables})
    wanted = {with_prefix(subject, "sub-") for subject in subjects}
    total = 0
    for file in answer["data"]["snapshot"]["files"]:
        top = file["filename"].split("/")[0]
        if not wanted or top in wanted or not top.startswith("sub-"):
            total += int(file["size"] or 0)
    return total


def _ask(question: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(
        _API, json.dumps(question).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)
