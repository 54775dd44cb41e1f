"""Verbs on runs: cross-validate, score, compare, and the tables and figures of the paper."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from epilens.cli.options import (
    Cubes,
    CubesOfRun,
    Jobs,
    Json,
    LocoRun,
    OnCluster,
    PlanName,
    RunFolder,
    argument,
    next_step,
    option,
    say_unlabelled,
    verb,
)

if TYPE_CHECKING:
    from epilens.evaluation.run import Run


@verb("epilens run paper --cubes cubes", "epilens run my.toml --cubes cubes --only lens --jobs 4")
def run(
    plan: PlanName,
    cubes: Cubes,
    out: Annotated[Path, option("Folder or URL; the run is written to OUT/PLAN.")] = (Path("runs")),
    only: Annotated[
        list[str] | None, option("Only this method. Can be repeated.", complete="methods")
    ] = None,
    jobs: Jobs = 1,
    cluster: OnCluster = "",
) -> None:
    """Cross-validate the methods of a plan.

    Writes a ledger with the score of every channel by every method, seed and fold. Finished folds
    are skipped, so running it again resumes.
    """
    from epilens.compute.dask import progress_on
    from epilens.evaluation.protocol import run as go
    from epilens.evaluation.run import Run
    from epilens.evidence.files import open_cohort
    from epilens.io.remote import display_path
    from epilens.plan import Plan, Runtime

    settings, cohort = Plan.load(plan), open_cohort(cubes)
    runtime = Runtime(out=out, jobs=jobs, only=tuple(only or ()))
    say_unlabelled(cohort)
    with progress_on(cluster, "method × seed × fold") as tick:
        folder = go(settings, cohort, replace(runtime, tick=tick))
    typer.echo(display_path(folder))
    _warn_outdated(Run(folder))
    if settings.smoke:
        return _after_quick_test(cubes)
    if only:  # of some methods no page is made: it has what the plan asks for
        named = only[:2] if len(only) > 1 else ["A", "B"]
        return next_step("epilens score {0}; epilens compare {0} {1} {2}", folder, *named)
    return next_step("epilens score {0}; epilens reproduce {0} --out DIR", folder)


def _warn_outdated(run: Run) -> None:
    """Say on stderr if the cells of a run come from different settings."""
    from epilens.analyses.audit_cells import warn_outdated
    from epilens.core.console import say

    if warning := warn_outdated(run):
        say(warning)


def _after_quick_test(cubes: Path | None) -> None:
    """Its numbers mean nothing, so the next step is a run with full training."""
    place = cubes or "CUBES"
    next_step("epilens run best --cubes {} trains in full, so that methods can be compared", place)


@verb("epilens score runs/paper", "epilens score runs/paper --json")
def score(folder: RunFolder, as_json: Json = False) -> None:
    """Show the metrics of a run, mean and SD over seeds."""
    from epilens.evaluation.run import Run
    from epilens.evaluation.scoring import summarise
    from epilens.io.remote import download
    from epilens.report.run.scores import print_scores

    run = Run(download(folder))
    table, plan = summarise(run.scores), run.plan  # a damaged run prints no table
    _warn_outdated(run)
    if as_json:
        typer.echo(table.to_json(orient="records", indent=1))
    else:
        print_scores(table, run.caveats)
    if plan.smoke:
        return _after_quick_test(run.cubes)
    if set(run.methods_before) <= set(run.methods):
        return next_step("epilens compare {0} A B; epilens reproduce {0} --out DIR", folder)
    return next_step("epilens compare {0} A B", folder)  # its page would lack what was not run


@verb(
    "epilens compare runs/paper lens cdel",
    "epilens compare runs/paper lens cdel --metric auroc --figure compared.png",
)
def compare(
    folder: RunFolder,
    a: Annotated[str, argument("A method of the run, e.g. your own.", "A", complete="methods")],
    b: Annotated[str, argument("Another one, e.g. cdel.", "B", complete="methods")],
    metric: Annotated[
        list[str] | None, option("E.g. auroc. Can be repeated. Default: five main metrics.")
    ] = None,
    figure: Annotated[
        Path | None, option("Draw the differences into this PNG or SVG file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare two methods patient by patient.

    Shows A − B with its 95 % interval, paired by patient (t interval below 30 patients).
    """
    from epilens.evaluation.run import open_run
    from epilens.report.run.compared import (
        check_figure,
        compare_methods,
        print_compared,
        save_figure,
    )

    place = None if figure is None else check_figure(figure)
    run = open_run(folder)
    compared = compare_methods(run, a, b, metric or ())
    _warn_outdated(run)
    if as_json:
        typer.echo(compared.table.to_json(orient="records", indent=1))
    else:
        print_compared(compared)
    if place is not None:
        next_step("open {}", save_figure(compared, place))
    elif run.plan.smoke:
        _after_quick_test(run.cubes)
    else:
        next_step("epilens compare {} {} {} --figure compared.png draws it", folder, a, b)


@verb("epilens analyse main runs/paper", "epilens analyse cohort runs/paper --cubes cubes --json")
def analyse(
    name: Annotated[str, argument("A name of `epilens list analyses`.", complete="analyses")],
    folder: RunFolder,
    cubes: CubesOfRun = None,
    loco: LocoRun = None,
    as_json: Json = False,
) -> None:
    """Show one table of the paper for a run.

    The paper's values are next to those of the run.
    """
    from epilens.analyses import ANALYSES, run_analysis, sentence
    from epilens.core.console import say
    from epilens.evaluation.run import open_run
    from epilens.report.run.tables import print_frame

    run = open_run(folder, cubes, loco)
    result = run_analysis(name, run)
    if name != "audit":  # it has a line about this
        _warn_outdated(run)
    if as_json:
        typer.echo(result.frame.to_json(orient="records", indent=1))
        return next_step("epilens reproduce {} --out DIR has all of them", folder)
    title = f"{ANALYSES[name].title} ({ANALYSES[name].shows})"
    print_frame(title, result.frame, result.columns)
    for text in (sentence(result, run), *run.caveats):
        say(text)
    return next_step("epilens reproduce {} --out DIR has all of them", folder)


@verb(
    "epilens reproduce runs/paper --out reproduction",
    "epilens reproduce runs/paper --cubes cubes --loco runs/loco --out reproduction",
)
def reproduce(
    folder: RunFolder,
    out: Annotated[Path, option("Folder or URL for tables, figures, index.html.")],
    cubes: CubesOfRun = None,
    loco: LocoRun = None,
    cluster: OnCluster = "",
) -> None:
    """Write every table and figure of the paper from a finished run.

    Also writes one page with all of them. The page lists what the run does not contain. A run that
    fails its audit is refused.
    """
    from epilens.compute.dask import progress_on
    from epilens.evaluation.run import open_run
    from epilens.io.remote import writable
    from epilens.io.urls import join
    from epilens.report.run.reproduction import reproduce as write

    run = open_run(folder, cubes, loco)
    with writable(out) as place, progress_on(cluster, "analyses") as tick:
        page = join(out, write(run, place, tick).name)
    typer.echo(page)
    next_step("open {} in a browser; tables and figures are in its folder", page)


@verb(
    "epilens report runs/paper --out report.html",
    "epilens report runs/paper --cubes cubes --out report.html",
)
def report(
    folder: RunFolder,
    out: Annotated[str, option("HTML file to write.")],
    cubes: CubesOfRun = None,
    loco: LocoRun = None,
) -> None:
    """Write only the page of `epilens reproduce`, as one file."""
    from epilens.core.console import progress
    from epilens.evaluation.run import open_run
    from epilens.report.run.reproduction import check_page, write_page
    from epilens.report.run.run_analyses import run_all

    page = check_page(out)
    run = open_run(folder, cubes, loco)
    with progress("analyses") as tick:
        results = run_all(run, tick)
    typer.echo(write_page(results, page))
    next_step("open {} in a browser", page)
