"""The command line: one short function per verb; the work is in the modules that they call.

Progress and messages go to stderr; stdout carries one thing, so verbs pipe. Exit codes are in
`ending`. Heavy packages are imported where they are used.
"""

from __future__ import annotations

import json
import shlex
import sys
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from epilens.ending import Verbs, ended
from epilens.errors import EpilensError, PlanError, did_you_mean

app = typer.Typer(
    name="epilens",
    cls=Verbs,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Which implanted contacts are in the epileptogenic zone? Patient-relative localization "
    "from intracranial EEG. For research, not for diagnosis.",
)
plan_app = typer.Typer(no_args_is_help=True, help="Write, check and compare plans.")
app.add_typer(plan_app, name="plan")
model_app = typer.Typer(no_args_is_help=True, help="Show models, import released checkpoints.")
app.add_typer(model_app, name="model")

Roots = Annotated[
    list[Path],
    typer.Argument(metavar="ROOT...", help="BIDS datasets, or folders that hold some."),
]
DatasetName = Annotated[
    str | None, typer.Option("--dataset", help="See `epilens list datasets`. Default: recognised.")
]
PlanFile = Annotated[Path | None, typer.Option("--plan", help="TOML plan; default: the paper's.")]
LabelFile = Annotated[
    Path | None, typer.Option("--labels", help="CSV with patient, channel, is_ez.")
]
OnsetFile = Annotated[
    Path | None, typer.Option("--onsets", help="TSV with patient, run, onset_s (seconds).")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
Jobs = Annotated[int, typer.Option(min=1, help="Processes.")]
OnCluster = Annotated[
    str,
    typer.Option(
        "--cluster",
        help="Run on local:N, tcp://HOST:PORT (Dask), slurm:FILE, pbs:FILE or sge:FILE.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace a model that is there.")]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder written by `epilens run`.")]
CubesOfRun = Annotated[
    Path | None, typer.Option("--cubes", help="Cubes of the run. Default: where they were.")
]
LocoRun = Annotated[
    Path | None,
    typer.Option("--loco", help="Leave-one-center-out run. Default: looked for beside RUN."),
]


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"epilens {version('epilens')}")
        raise typer.Exit


@app.callback()
def _epilens(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def _next(text: str, *paths: Path | str) -> None:
    """The last line of a verb, on stderr: what to open or do now; `{}` stands for a path."""
    from epilens.terminal import say

    say("next: " + text.format(*(shlex.quote(str(path)) for path in paths)))


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for everything that the demo makes.")] = Path(
        "demo-output"
    ),
    jobs: Jobs = 2,
) -> None:
    """Simulate a small multi-center cohort and show who is in it and what was left out.

    A cohort that an earlier demo made is used again.
    """
    from epilens.demo import run_demo

    typer.echo(run_demo(out, jobs))
    page = out / "reproduction" / "index.html"
    _next("open {} and the patient's page in {}", page, out / "localized")


@app.command()
def simulate(
    out: Annotated[Path, typer.Argument(help="New folder; one BIDS dataset per center goes in.")],
    shape: Annotated[str, typer.Option(help="tiny, demo or paper (80 patients).")] = "demo",
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same bytes.")] = 0,
    jobs: Jobs = 2,
) -> None:
    """Write a simulated multi-center cohort as real EDF and BrainVision BIDS datasets.

    No patient is behind it: it is for trying out software, and proves nothing clinical.
    """
    from epilens.data.simulate import simulate as write
    from epilens.terminal import progress

    with progress(f"simulating {shape}") as tick:
        write(out, shape, seed, jobs, tick)
    typer.echo(out)
    _next("epilens cohort {0}; then epilens describe {0} --out CUBES", out)


@app.command()
def fetch(
    dataset: Annotated[str, typer.Argument(help="hup (ds004100) or multisite (ds003029).")],
    out: Annotated[Path, typer.Argument(help="Folder for the download.")],
    subject: Annotated[
        list[str] | None, typer.Option(help="Only this patient; repeatable.")
    ] = None,
) -> None:
    """Download a public dataset from OpenNeuro; says the size first, resumes where it stopped."""
    from epilens.data.fetch import fetch as download
    from epilens.terminal import say

    typer.echo(download(dataset, out, subject or (), say))
    _next("epilens cohort {0}; then epilens describe {0} --out CUBES", out)


@app.command()
def cohort(
    roots: Roots,
    dataset: DatasetName = None,
    plan: PlanFile = None,
    labels: LabelFile = None,
    onsets: OnsetFile = None,
    audit: Annotated[
        Path | None, typer.Option(help="Write every audit row to this TSV file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show patients, seizures, channels and EZ share; every exclusion with its reason.

    Sidecar files are enough: no signal is read.
    """
    from epilens.data.bids import read_cohort
    from epilens.data.cohort import cohort_summary
    from epilens.report.cohort import print_cohort, write_audit

    settings = _plan(plan, labels, onsets)
    parts = read_cohort(roots, dataset, settings)
    if audit is not None:
        write_audit(parts, audit)
    if as_json:
        typer.echo(json.dumps(cohort_summary(parts), indent=1, ensure_ascii=False))
    else:
        print_cohort(cohort_summary(parts))
    _next("epilens describe {} --out CUBES", roots[0])


@app.command()
def describe(
    roots: Roots,
    out: Annotated[Path, typer.Option(help="Folder for the cubes, one per patient.")],
    dataset: DatasetName = None,
    plan: PlanFile = None,
    labels: LabelFile = None,
    onsets: OnsetFile = None,
    jobs: Jobs = 1,
    cluster: OnCluster = "",
) -> None:
    """Turn signals into cubes: nine descriptors per window, channel and seizure.

    Where a method of the plan reads traces or signals, they are written beside the cubes.
    Cubes whose sources and plan have not changed are kept, so running it again resumes. What was
    left out is in OUT/audit.tsv.
    """
    from epilens.cluster import on_cluster
    from epilens.data.bids import read_cohort
    from epilens.evidence.store import KNOWN_BY, describe_cohort
    from epilens.methods import stores_of
    from epilens.storage import check_folder
    from epilens.terminal import progress

    check_folder(out, "cubes", KNOWN_BY)
    settings = _plan(plan, labels, onsets)
    parts = read_cohort(roots, dataset, settings)
    with on_cluster(cluster), progress("describing seizures") as tick:
        summary = describe_cohort(parts, out, settings, jobs, stores_of(settings.methods), tick)
    _tell(summary)
    typer.echo(out)
    _next("epilens run {} --cubes {}", plan or "paper", out)


@app.command()
def run(
    plan: Annotated[Path, typer.Argument(help="TOML plan, or a shipped one by name: paper.")],
    cubes: Annotated[Path, typer.Option(help="Folder written by `epilens describe`.")],
    out: Annotated[Path, typer.Option(help="Ledgers go to OUT/<plan name>/.")] = Path("runs"),
    only: Annotated[list[str] | None, typer.Option(help="Only this method; repeatable.")] = None,
    jobs: Jobs = 1,
    cluster: OnCluster = "",
) -> None:
    """Fit every method on every fold and write one channel ledger.

    Finished folds are skipped, so running it again resumes.
    """
    from epilens.cluster import on_cluster
    from epilens.evaluation.protocol import run as go
    from epilens.evidence.files import open_cohort
    from epilens.plan import Plan, Runtime
    from epilens.terminal import progress

    settings, cohort = Plan.load(plan), open_cohort(cubes)
    runtime = Runtime(out=out, jobs=jobs, only=tuple(only or ()))
    with on_cluster(cluster), progress("method × seed × fold") as tick:
        folder = go(settings, cohort, replace(runtime, tick=tick))
    typer.echo(folder)
    _next("epilens score {0}; epilens reproduce {0} --out DIR", folder)


@app.command()
def score(
    folder: RunFolder,
    as_json: Json = False,
) -> None:
    """Show patient-equal metrics, mean and SD over seeds."""
    from epilens.evaluation.run import Run
    from epilens.evaluation.scoring import summarise
    from epilens.report.scores import print_scores

    run = Run(folder)
    table = summarise(run.scores)
    if as_json:
        typer.echo(table.to_json(orient="records", indent=1))
    else:
        print_scores(table, run.caveats)
    _next("epilens compare {0} A B; epilens reproduce {0} --out DIR", folder)


@app.command()
def compare(
    folder: RunFolder,
    a: Annotated[str, typer.Argument(metavar="A", help="A method of the run, e.g. your own.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one, e.g. cdel.")],
    metric: Annotated[
        list[str] | None, typer.Option(help="E.g. auroc; repeatable. Default: the usual five.")
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="PNG or SVG: effects, and differences by patient.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare two methods patient by patient: A less B, 95 % interval of a paired bootstrap."""
    from epilens.evaluation.run import open_run
    from epilens.report.compared import check_figure, compare_methods, print_compared, save_figure

    place = None if figure is None else check_figure(figure)
    compared = compare_methods(open_run(folder), a, b, metric or ())
    if as_json:
        typer.echo(compared.table.to_json(orient="records", indent=1))
    else:
        print_compared(compared)
    if place is not None:
        _next("open {}", save_figure(compared, place))
    else:
        _next("epilens compare {} {} {} --figure compared.png draws it", folder, a, b)


@app.command()
def analyse(
    name: Annotated[str, typer.Argument(help="See `epilens list analyses`.")],
    folder: RunFolder,
    cubes: CubesOfRun = None,
    loco: LocoRun = None,
    as_json: Json = False,
) -> None:
    """Show one table of the paper for this run, with what the paper reports beside it."""
    from epilens.analyses import ANALYSES, sentence
    from epilens.analyses import analyse as compute
    from epilens.evaluation.run import open_run
    from epilens.report.tables import print_frame
    from epilens.terminal import say

    run = open_run(folder, cubes, loco)
    frame = compute(name, run)
    if as_json:
        typer.echo(frame.to_json(orient="records", indent=1))
        return _next("epilens reproduce {} --out DIR has all of them", folder)
    print_frame(f"{ANALYSES[name].title} ({ANALYSES[name].shows})", frame, ANALYSES[name].formats)
    for text in (sentence(name, frame, run), *run.caveats):
        say(text)
    return _next("epilens reproduce {} --out DIR has all of them", folder)


@app.command()
def reproduce(
    folder: RunFolder,
    out: Annotated[Path, typer.Option(help="Folder for tables, figures and index.html.")],
    cubes: CubesOfRun = None,
    loco: LocoRun = None,
) -> None:
    """Write every table and figure of the paper from a finished run, and one page with all.

    A run that fails its audit is refused. What the run lacks is listed on the page.
    """
    from epilens.evaluation.run import open_run
    from epilens.report.reproduction import reproduce as write
    from epilens.terminal import progress

    run = open_run(folder, cubes, loco)
    with progress("analyses") as tick:
        page = write(run, out, tick)
    typer.echo(page)
    _next("open {} in a browser; tables and figures are beside it", page)


@app.command()
def report(
    folder: RunFolder,
    out: Annotated[str, typer.Option(help="HTML file.")],
    cubes: CubesOfRun = None,
    loco: LocoRun = None,
) -> None:
    """Write the page of `reproduce` alone, as one file that can be passed on."""
    from epilens.evaluation.run import open_run
    from epilens.report.reproduction import check_page, find, write_page
    from epilens.terminal import progress

    page = check_page(out)
    run = open_run(folder, cubes, loco)
    with progress("analyses") as tick:
        findings = find(run, tick)
    typer.echo(write_page(findings, page))
    _next("open {} in a browser", page)


@app.command()
def train(
    plan: Annotated[Path, typer.Argument(help="TOML plan, or a shipped one by name: paper.")],
    cubes: Annotated[Path, typer.Option(help="Folder written by `epilens describe`.")],
    out: Annotated[Path, typer.Option(help="New folder for the model.")],
    method: Annotated[str, typer.Option(help="lens, or cdel: the paper's networks.")] = "lens",
    jobs: Jobs = 1,
    force: Force = False,
    cluster: OnCluster = "",
) -> None:
    """Train a deployable model, an ensemble over folds and seeds, on all labelled patients.

    Members that were trained before it was stopped are kept, so running it again resumes.
    """
    from epilens.cluster import on_cluster
    from epilens.evaluation.deploy import train as make
    from epilens.evaluation.kept import parts_beside
    from epilens.evidence.files import open_cohort
    from epilens.networks.model import check_place, save_model
    from epilens.plan import Plan
    from epilens.terminal import progress

    settings = Plan.load(plan)
    check_place(out, force)
    cohort = open_cohort(cubes)
    with parts_beside(out) as parts:
        with on_cluster(cluster), progress("training") as tick:
            model = make(settings, cohort, tick, method, jobs, parts=parts)
        save_model(model, out, force)
    typer.echo(out)
    _next("epilens model show {0}; epilens localize {0} RECORDING... --out DIR", out)


@app.command()
def onset(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Recordings, or runs of a BIDS dataset.")
    ],
    as_json: Json = False,
) -> None:
    """Suggest where seizures begin, how sure that is, and which contacts began first.

    From the signal alone; nothing is taken as an onset. Research use only, not for diagnosis.
    """
    from epilens.report.onsets import find_onsets, onsets_json, print_onsets

    found = find_onsets(files)
    if as_json:
        typer.echo(json.dumps(onsets_json(found), indent=1, ensure_ascii=False))
    else:
        print_onsets(found)


@app.command()
def localize(
    given: Annotated[
        list[str],
        typer.Argument(
            metavar="[MODEL|METHOD] RECORDING...",
            help="A model folder or training-free method (default: line-length-spread/shaft); "
            "then files, BIDS runs, or a patient's BIDS folder.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for page and table; holds many patients.")],
    onset: Annotated[
        list[str] | None, typer.Option(help="Seconds from the file's start; once for every file.")
    ] = None,
    electrodes: Annotated[
        Path | None, typer.Option(help="TSV or CSV with name, x, y, z of the contacts.")
    ] = None,
    space: Annotated[
        str, typer.Option(help="Coordinate system of --electrodes, e.g. MNI152.")
    ] = "",
    patient: Annotated[str, typer.Option(help="Code of the patient: letters and digits.")] = "",
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="Channel to leave out, or a TSV of them (name, status)."),
    ] = None,
    resected: Annotated[
        str, typer.Option(help="Contacts of a resection, e.g. 'TT1-6, PST2', a file, or `labels`.")
    ] = "",
    compare: Annotated[
        list[str] | None, typer.Option(help="Another model or method to rank the contacts.")
    ] = None,
    plan: PlanFile = None,
    force_descriptors: Annotated[
        bool,
        typer.Option(
            "--force-descriptors",
            help="Apply a model to descriptors that it was not trained on, with a caution.",
        ),
    ] = False,
    pdf: Annotated[
        bool, typer.Option("--pdf", help="Print the page into a PDF too, through Chromium.")
    ] = False,
) -> None:
    """Rank the contacts of one new patient: a page to pass on, and a BIDS table.

    Research use only, not for diagnosis. Prints the page's path.
    """
    from epilens.localization import Request
    from epilens.report.localized import (
        read_onset_list,
        read_resection,
        run_localize,
        split_names,
        split_source,
    )

    source, recordings = split_source(given)
    request = Request(
        patient=recordings,
        model=source,
        onsets=read_onset_list(onset or ()),
        electrodes=electrodes,
        space=space,
        code=patient,
        exclude=split_names(exclude or ()),
        plan=None if plan is None else _plan(plan, None, None),
        resected=read_resection(resected),
        compare=compare or (),
        force_descriptors=force_descriptors,
    )
    page = run_localize(request, out, pdf)
    typer.echo(page)
    _next("open {} in a browser; many patients: epilens view {}", page, out)


@app.command()
def view(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="--out folder of `localize`.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: a free one.")] = 0,
) -> None:
    """Show the pages of many patients in the browser, from this computer only; Ctrl-C ends it."""
    from epilens.app.pages import view as serve

    serve(folder, port, typer.echo)


@app.command()
def review(
    given: Annotated[
        list[Path],
        typer.Argument(metavar="PATIENT...", help="Recordings, or patients and datasets in BIDS."),
    ],
    out: Annotated[Path, typer.Option(help="Folder for what is marked; never the sources.")],
    patient: Annotated[str, typer.Option(help="Code of a patient given as plain files.")] = "",
    model: Annotated[
        list[Path] | None, typer.Option(help="A model, or a folder of models; repeatable.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: a free one.")] = 0,
) -> None:
    """See traces, mark onsets, run, read and sign in the browser, from this computer only.

    Research use only, not for diagnosis. Prints the address; Ctrl-C ends it.
    """
    from epilens.app.cases import cases_of
    from epilens.app.review import review as serve

    serve(cases_of(given, patient), out, model or (), port, typer.echo)


@model_app.command("show")
def model_show(
    path: Annotated[Path, typer.Argument(metavar="MODEL", help="Model folder.")],
) -> None:
    """Check a model's files and print its card."""
    from epilens.networks.card import card
    from epilens.networks.model import open_model, read_model_json

    open_model(path)
    typer.echo(card(read_model_json(path)))
    _next("epilens localize {} RECORDING... --out DIR", path)


@model_app.command("import")
def model_import(
    checkpoints: Annotated[list[Path], typer.Argument(metavar="CHECKPOINT...", help=".pt files.")],
    out: Annotated[Path, typer.Option(help="New folder for the model.")],
    force: Force = False,
) -> None:
    """Turn checkpoints of the authors' released code into a model; no code in them is run."""
    from epilens.networks.model import save_model
    from epilens.networks.released import import_released

    typer.echo(save_model(import_released(checkpoints), out, force))
    _next("epilens model show {0}; epilens localize {0} RECORDING... --out DIR", out)


def _tell(summary: dict[str, Any]) -> None:
    from epilens.terminal import say

    left = f", {len(summary['left_out'])} left out (see audit.tsv)" if summary["left_out"] else ""
    say(f"{summary['described']} patients described, {summary['kept']} kept{left}")
    for name in summary["damaged"]:
        say(f"{name}: its cube, of another dataset, is damaged; describe that dataset again")


def _plan(path: Path | None, labels: Path | None, onsets: Path | None):
    from epilens.plan import Plan

    given = {"labels": labels, "onsets": onsets}
    tables = {name: str(table) for name, table in given.items() if table is not None}
    plan = Plan.load(path) if path else Plan()
    return plan.override(cohort=tables)


@app.command("list")
def list_(
    what: Annotated[str, typer.Argument(help="datasets, descriptors, methods or analyses")],
    as_json: Json = False,
) -> None:
    """Show what there is."""
    from epilens.report.listings import DROP, LISTINGS, NEXT
    from epilens.terminal import print_table

    if what not in LISTINGS:
        raise EpilensError(f"list: unknown kind {what!r}. {did_you_mean(what, LISTINGS)}")
    columns, rows = LISTINGS[what]()
    if as_json:
        records = [dict(zip(columns, row, strict=True)) for row in rows]
        typer.echo(json.dumps(records, indent=1, ensure_ascii=False))
    else:
        print_table(what.capitalize(), columns, rows, len(columns), DROP[what])
    _next(NEXT[what])


@plan_app.command("init")
def plan_init(
    out: Annotated[Path, typer.Argument(help="New TOML file.")],
) -> None:
    """Write the paper's plan with every field and what it means, to be edited."""
    from epilens.plan import Plan
    from epilens.report.plan_text import commented
    from epilens.storage import write_atomically

    if out.exists():
        raise PlanError(f"plan init: expected {out} to be absent, found a file. Give another name.")
    typer.echo(write_atomically(out, commented(Plan())))
    _next("edit {0}; then epilens plan check {0}", out)


@plan_app.command("check")
def plan_check(
    path: Annotated[Path, typer.Argument(help="TOML plan.")],
    dataset: DatasetName = None,
) -> None:
    """Read a plan, name what is wrong with it, or print its digest.

    Methods and descriptors must be rows that there are; so must the dataset, if one is given.
    """
    from epilens.data.datasets import DATASETS
    from epilens.evaluation.plan_check import check_names, lacking
    from epilens.plan import Plan
    from epilens.terminal import say

    plan = Plan.load(path)
    check_names(plan, f"plan {path}")
    if dataset is not None:
        DATASETS[dataset]
    for sentence in lacking(plan):
        say(f"warning: {sentence}")
    typer.echo(plan.digest)
    _next("epilens describe ROOT --plan {0} --out CUBES; epilens run {0} --cubes CUBES", path)


@plan_app.command("diff")
def plan_diff(
    first: Annotated[Path, typer.Argument(help="TOML plan.")],
    second: Annotated[Path, typer.Argument(help="TOML plan.")],
) -> None:
    """Show the fields in which two plans differ."""
    from epilens.plan import Plan
    from epilens.terminal import print_table

    rows = Plan.load(first).differences(Plan.load(second))
    print_table("Differences", ["field", str(first), str(second)], rows, left=3)
    _next("epilens plan check {}", second)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; bad input and faults of the machine are one sentence and code 2."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    warnings.showwarning = partial(_show_warning, warnings.showwarning)  # ty: ignore
    with ended(arguments, debug):
        app(arguments, prog_name="epilens")


def _show_warning(usual: Any, message: Any, category: type[Warning], *where: Any) -> None:
    """A plugin that cannot be used is one line, without the place in the code."""
    from epilens.registry import PluginWarning
    from epilens.terminal import say

    if issubclass(category, PluginWarning):
        say(f"warning: {message}")
    else:
        usual(message, category, *where)
