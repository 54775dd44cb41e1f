"""Verbs on recordings: simulate, download, look at a cohort, describe it, find onsets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from epilens.cli.options import (
    DatasetName,
    Jobs,
    Json,
    Keep,
    LabelFile,
    OnCluster,
    OnsetFile,
    PlanFile,
    Roots,
    argument,
    next_step,
    option,
    settings_of,
    verb,
)


@verb("epilens demo", "epilens demo --out my-demo --jobs 4")
def demo(
    out: Annotated[Path, option("Folder for all results of the demo.")] = Path("demo-output"),
    jobs: Jobs = 2,
    all_methods: Annotated[
        bool, option("Every method, and one center left out at a time.", "--all")
    ] = False,
) -> None:
    """Try everything once on a small simulated cohort.

    Simulates, localizes, describes, evaluates and reproduces within minutes. Results of an earlier
    demo in the same folder are used again. The patients are simulated.
    """
    from epilens.cli.demo import run_demo
    from epilens.core.console import say

    pages = run_demo(out, jobs, all_methods)
    typer.echo(out)
    for page, shows in pages.items():
        say(f"{page}: {shows}")
    next_step("open these in a browser, first {}", next(iter(pages)))


@verb("epilens simulate cohort", "epilens simulate small --shape tiny --seed 7")
def simulate(
    out: Annotated[Path, argument("New folder, with one BIDS dataset per center.")],
    shape: Annotated[str, option("tiny, demo or paper (80 patients).", complete="shapes")] = "demo",
    seed: Annotated[int, option("The same seed gives the same files.", min=0)] = 0,
    jobs: Jobs = 2,
) -> None:
    """Write a simulated multi-center cohort as BIDS datasets.

    The files are EDF and BrainVision as in real datasets. The patients are simulated, so results
    on them are not clinical evidence.
    """
    from epilens.core.console import progress
    from epilens.simulation import simulate as write

    with progress(f"simulating {shape}") as tick:
        write(out, shape, seed, jobs, tick)
    typer.echo(out)
    next_step("epilens cohort {0}; then epilens describe {0} --out CUBES", out)


@verb("epilens fetch hup hup-data", "epilens fetch hup hup-data --subject HUP060")
def fetch(
    dataset: Annotated[
        str, argument("A public dataset, e.g. hup (ds004100) or multisite (ds003029).")
    ],
    out: Annotated[Path, argument("Folder for the download.")],
    subject: Annotated[list[str] | None, option("Only this patient. Can be repeated.")] = None,
) -> None:
    """Download a public dataset from OpenNeuro.

    Reports the size first. An interrupted download resumes where it stopped.
    """
    from epilens.core.console import say
    from epilens.data.fetch import fetch as download

    typer.echo(download(dataset, out, subject or (), say))
    next_step("epilens cohort {0}; then epilens describe {0} --out CUBES", out)


@verb("epilens cohort hup-data", "epilens cohort my-bids --labels ez.csv --audit audit.tsv")
def cohort(
    roots: Roots,
    dataset: DatasetName = None,
    plan: PlanFile = None,
    labels: LabelFile = None,
    onsets: OnsetFile = None,
    audit: Annotated[
        Path | None, option("Write every exclusion and note to this TSV file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show patients, seizures, channels and EZ fraction of datasets.

    Lists every exclusion with its reason. Sidecar files are enough; signals are opened only to
    recognise recordings that are stored twice.
    """
    from epilens.data.bids import survey_cohort
    from epilens.data.cohort import cohort_summary
    from epilens.report.cohort import print_cohort, write_audit

    settings = settings_of(plan, labels, onsets)
    parts = survey_cohort(roots, dataset, settings)
    if audit is not None:
        write_audit(parts, audit)
    if as_json:
        typer.echo(json.dumps(cohort_summary(parts), indent=1, ensure_ascii=False))
    else:
        print_cohort(cohort_summary(parts))
    if any(part.patients for part in parts):
        given = {"--dataset": dataset, "--plan": plan, "--labels": labels, "--onsets": onsets}
        options = [part for name, value in given.items() if value for part in (name, value)]
        text = "epilens describe {}" + " {}" * len(options) + " --out CUBES"
        next_step(text, roots[0], *options)
    else:
        next_step("epilens onset FILE, then epilens cohort {} --onsets TABLE", roots[0])


@verb(
    "epilens describe hup-data --out cubes",
    "epilens describe my-bids --plan my.toml --out cubes --jobs 4",
)
def describe(
    roots: Roots,
    out: Annotated[Path, option("Folder or URL for the cubes, one per patient.")],
    dataset: DatasetName = None,
    plan: PlanFile = None,
    labels: LabelFile = None,
    onsets: OnsetFile = None,
    keep: Keep = None,
    jobs: Jobs = 1,
    cluster: OnCluster = "",
) -> None:
    """Compute cubes: descriptors of windows and channels.

    The paper's plan has nine descriptors. Where a method of the plan needs traces or signals, they
    are stored next to the cubes. Unchanged cubes are kept, so running it again resumes.
    OUT/audit.tsv lists every exclusion.
    """
    from epilens.compute.dask import progress_on
    from epilens.data.bids import read_cohort
    from epilens.data.channels.user_choices import check_kept
    from epilens.evidence.store import RECOGNISE_GLOBS, describe_cohort
    from epilens.io.outputs import check_folder
    from epilens.io.remote import display_path, writable
    from epilens.methods import stores_of

    settings = settings_of(plan, labels, onsets)
    settings = settings.override(quality={"keep": tuple(keep)}) if keep else settings
    with writable(out) as place:
        check_folder(place, "cubes", RECOGNISE_GLOBS)
        parts, stores = read_cohort(roots, dataset, settings), stores_of(settings.methods)
        check_kept(settings.quality.keep, [one for part in parts for one in part.patients])
        with progress_on(cluster, "describing seizures") as tick:
            summary = describe_cohort(parts, place, settings, jobs, stores, tick)
    _report(summary)
    typer.echo(display_path(out))
    # Without a plan there are cubes alone, and the shipped one has methods that read more.
    only = "" if plan else "".join(f" --only {method}" for method in settings.methods)
    next_step("epilens run {} --cubes {}" + only, plan or "paper", out)


def _report(summary: dict[str, Any]) -> None:
    from epilens.core.console import say

    left = f", {len(summary['left_out'])} excluded (see audit.tsv)" if summary["left_out"] else ""
    say(f"{summary['described']} patients described, {summary['kept']} kept{left}")
    for name in summary["damaged"]:
        say(f"{name}: its cube, of another dataset, is damaged. Describe that dataset again.")


@verb("epilens onset seizure.edf", "epilens onset my-bids/sub-01 --json")
def onset(
    files: Annotated[list[Path], argument("Recordings, or folders of recordings.", "FILE...")],
    as_json: Json = False,
) -> None:
    """Suggest seizure onsets, and the contacts that began first.

    Suggestions come from the signal alone, each with its certainty. No other verb uses them unless
    you pass them on. Research use only, not for diagnosis.
    """
    from epilens.data.discovery import recordings_in
    from epilens.report.onsets import find_onsets, list_unreadable, onsets_json, print_onsets

    named = [file for file in files if not file.is_dir()]
    onsets = find_onsets(recordings_in(files), recordings_in(named))
    if as_json:
        typer.echo(json.dumps(onsets_json(onsets), indent=1, ensure_ascii=False))
    else:
        print_onsets(onsets)
    list_unreadable(onsets)
    next_step("check them with epilens review {} --out MARKS; then localize with --onset", files[0])
