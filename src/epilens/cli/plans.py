"""Verbs on plans, and the lists of what there is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from epilens.cli.options import (
    DatasetName,
    Json,
    PlanName,
    argument,
    next_step,
    option,
    plan_app,
    verb,
)
from epilens.core.errors import EpilensError, PlanError, did_you_mean


@verb("epilens list methods", "epilens list plans --json", name="list")
def list_(
    what: Annotated[
        str,
        argument("analyses, datasets, descriptors, methods or plans.", "KIND", complete="kinds"),
    ],
    as_json: Json = False,
) -> None:
    """List analyses, datasets, descriptors, methods or plans."""
    from epilens.core.console import print_table
    from epilens.report.listings import DROP, LISTINGS, NEXT, TITLES

    if what not in LISTINGS:
        raise EpilensError(
            f"list: expected one of {', '.join(LISTINGS)}, found {what!r}. "
            f"{did_you_mean(what, LISTINGS)}"
        )
    columns, rows = LISTINGS[what]()
    if as_json:
        records = [dict(zip(columns, row, strict=True)) for row in rows]
        typer.echo(json.dumps(records, indent=1, ensure_ascii=False))
    else:
        print_table(TITLES.get(what, what.capitalize()), columns, rows, len(columns), DROP[what])
    next_step(NEXT[what])


@verb("epilens cache", "epilens cache --clear")
def cache(
    clear: Annotated[bool, option("Remove copies that no command is using.", "--clear")] = False,
    force: Annotated[
        bool, option("With --clear: also remove results that were not uploaded.", "--force")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show or remove local copies of data with URLs.

    They are in $EPILENS_CACHE, or else in the cache folder of the user.
    """
    from epilens.core.console import print_table, say
    from epilens.io.remote import clear as remove
    from epilens.io.remote_folder import cache_folder, cached_stores

    kept = [store for store in cached_stores() if not clear or not remove(store, force)]
    columns = ["store", "MB", "not yet sent", "folder"]
    rows = [
        (store.url, f"{store.size / 1e6:.1f}", "yes" if store.is_unsent else "no", store.base.name)
        for store in kept
    ]
    if as_json:
        typer.echo(json.dumps([dict(zip(columns, row, strict=True)) for row in rows], indent=1))
    else:
        print_table(str(cache_folder() / "stores"), columns, rows)
    if clear and kept:
        say(
            f"{len(kept)} not removed: in use, or with results that were not uploaded (see --force)"
        )
    next_step("epilens cache --clear removes copies that are downloaded or uploaded")


@verb(
    "epilens plan init my.toml", "epilens plan init studies/lens.toml", name="init", group=plan_app
)
def plan_init(out: Annotated[Path, argument("New TOML file.")]) -> None:
    """Write the paper's plan with an explanation of every field."""
    from epilens.io.atomic import write_atomically
    from epilens.plan import Plan
    from epilens.report.plan_text import commented

    if out.exists():
        raise PlanError(f"plan init: expected {out} to be absent, found a file. Give another name.")
    typer.echo(write_atomically(out, commented(Plan())))
    next_step("edit {0}; then epilens plan check {0}", out)


@verb(
    "epilens plan check my.toml",
    "epilens plan check my.toml --dataset hup",
    name="check",
    group=plan_app,
)
def plan_check(path: PlanName, dataset: DatasetName = None) -> None:
    """Check a plan and print its digest.

    Methods, descriptors and the dataset must exist; see `epilens list`.
    """
    from epilens.core.console import say
    from epilens.data.datasets import DATASETS
    from epilens.evaluation.plan_check import check_names, lacking
    from epilens.plan import Plan

    plan = Plan.load(path)
    check_names(plan, f"plan {path}")
    if dataset is not None:
        DATASETS[dataset]
    for sentence in lacking(plan):
        say(f"warning: {sentence}")
    typer.echo(plan.digest)
    next_step("epilens describe ROOT --plan {0} --out CUBES; epilens run {0} --cubes CUBES", path)


@verb(
    "epilens plan diff paper my.toml", "epilens plan diff paper public", name="diff", group=plan_app
)
def plan_diff(first: PlanName, second: PlanName) -> None:
    """Show the fields in which two plans differ."""
    from epilens.core.console import print_table, say
    from epilens.plan import Plan

    rows = [
        [", ".join(map(str, v)) or "[]" if isinstance(v, list) else v for v in row]
        for row in Plan.load(first).differences(Plan.load(second))
    ]
    if rows:
        print_table("Differences", ["field", str(first), str(second)], rows, left=3)
    else:
        say("no field differs")
    next_step("epilens plan check {}", second)
