"""Verbs on plans, and the lists of what there is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from epilens.cli.completion import completed
from epilens.cli.options import DatasetName, Json, PlanName, app, next_step, plan_app
from epilens.core.errors import EpilensError, PlanError, did_you_mean


@app.command("list")
def list_(
    what: Annotated[
        str,
        typer.Argument(
            help="datasets, descriptors, methods or analyses", autocompletion=completed("kinds")
        ),
    ],
    as_json: Json = False,
) -> None:
    """Show what there is."""
    from epilens.core.console import print_table
    from epilens.report.listings import DROP, LISTINGS, NEXT

    if what not in LISTINGS:
        raise EpilensError(f"list: unknown kind {what!r}. {did_you_mean(what, LISTINGS)}")
    columns, rows = LISTINGS[what]()
    if as_json:
        records = [dict(zip(columns, row, strict=True)) for row in rows]
        typer.echo(json.dumps(records, indent=1, ensure_ascii=False))
    else:
        print_table(what.capitalize(), columns, rows, len(columns), DROP[what])
    next_step(NEXT[what])


@app.command()
def cache(
    clear: Annotated[
        bool, typer.Option("--clear", help="Remove the copies; not while a command uses them.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="With --clear: also work that was never sent.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show, or remove, what this computer keeps of stores with URLs.

    It is kept in $EPILENS_CACHE, or else in the user's cache folder.
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
        say(f"kept: {len(kept)} in use or with work that was not sent; see --force")
    next_step("epilens cache --clear removes what was downloaded and sent")


@plan_app.command("init")
def plan_init(
    out: Annotated[Path, typer.Argument(help="New TOML file.")],
) -> None:
    """Write the paper's plan, every field with what it means."""
    from epilens.io.atomic import write_atomically
    from epilens.plan import Plan
    from epilens.report.plan_text import commented

    if out.exists():
        raise PlanError(f"plan init: expected {out} to be absent, found a file. Give another name.")
    typer.echo(write_atomically(out, commented(Plan())))
    next_step("edit {0}; then epilens plan check {0}", out)


@plan_app.command("check")
def plan_check(
    path: PlanName,
    dataset: DatasetName = None,
) -> None:
    """Read a plan, name what is wrong with it, or print its digest.

    Methods and descriptors must be rows that there are; so must the dataset, if one is given.
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


@plan_app.command("diff")
def plan_diff(
    first: PlanName,
    second: PlanName,
) -> None:
    """Show the fields in which two plans differ."""
    from epilens.core.console import print_table, say
    from epilens.plan import Plan

    rows = Plan.load(first).differences(Plan.load(second))
    if rows:
        print_table("Differences", ["field", str(first), str(second)], rows, left=3)
    else:
        say("no field differs")
    next_step("epilens plan check {}", second)
