"""The application, options that several verbs share, and the last line of a verb."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import epilens
from epilens.cli.exit_codes import CommandGroup
from epilens.cli.help import HelpCommand

if TYPE_CHECKING:
    from epilens.evidence.files import Cohort

app = typer.Typer(
    name="epilens",
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Rank implanted contacts by their similarity to the epileptogenic zone, from intracranial "
    "EEG of seizures. For research, not for diagnosis.",
    epilog="epilens demo\nepilens localize seizure.edf --onset 61.5 --out localized",
)
plan_app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    help="Write, check and compare plans.",
    epilog="epilens plan init my.toml\nepilens plan check my.toml",
)
app.add_typer(plan_app, name="plan")
model_app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    help="List models, show one, import checkpoints.",
    epilog="epilens model list\nepilens model show recorded",
)
app.add_typer(model_app, name="model")


def verb(
    *examples: str, name: str | None = None, group: typer.Typer = app, **settings: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as a verb; its help ends with the examples."""
    return group.command(name, cls=HelpCommand, epilog="\n".join(examples), **settings)


def option(text: str, *names: str, complete: str = "", **settings: Any) -> Any:
    """An option with its help; `complete` is the kind of names that a shell completes."""
    return typer.Option(*names, help=text, autocompletion=_completion(complete), **settings)


def argument(text: str, metavar: str | None = None, complete: str = "") -> Any:
    """An argument with its help, name in it, and completion."""
    return typer.Argument(help=text, metavar=metavar, autocompletion=_completion(complete))


def _completion(kind: str) -> Callable[[str], list[str]] | None:
    """Names of a kind that start with the typed text."""

    def names(incomplete: str) -> list[str]:
        return [name for name in _candidates(kind, incomplete) if name.startswith(incomplete)]

    return names if kind else None


def _candidates(kind: str, incomplete: str) -> Iterable[str]:
    """Names of a kind of `epilens list`, or of `kinds`, `plans` or `shapes`."""
    if kind == "plans":  # with TOML files: a shell that receives names does not list files
        from epilens.plan import shipped_plans

        folder = Path(incomplete if incomplete.endswith("/") else Path(incomplete).parent)
        return [*shipped_plans(), *sorted(str(path) for path in folder.glob("*.toml"))]
    if kind == "shapes":
        from epilens.simulation.shapes import SHAPES

        return SHAPES
    from epilens.report.listings import LISTINGS

    return LISTINGS if kind == "kinds" else [str(row[0]) for row in LISTINGS[kind]()[1]]


Roots = Annotated[list[Path], argument("BIDS datasets, or folders with BIDS datasets.", "ROOT...")]
DatasetName = Annotated[
    str | None,
    option(
        "A name of `epilens list datasets`. Default: recognised from the files.",
        "--dataset",
        complete="datasets",
    ),
]
PlanFile = Annotated[
    Path | None,
    option(
        "TOML file, or a name of `epilens list plans`. Default: paper.", "--plan", complete="plans"
    ),
]
PlanName = Annotated[
    Path, argument("TOML file, or a name of `epilens list plans`.", "PLAN", complete="plans")
]
LabelFile = Annotated[
    Path | None, option("CSV file with the columns patient, channel, is_ez.", "--labels")
]
OnsetFile = Annotated[
    Path | None, option("TSV or CSV file with the columns patient, run, onset_s.", "--onsets")
]
Json = Annotated[bool, option("Print JSON instead of tables.", "--json")]
Jobs = Annotated[int, option("Number of parallel processes.", min=1)]
OnCluster = Annotated[
    str,
    option(
        "Compute on local:N, tcp://HOST:PORT (Dask), slurm:FILE, pbs:FILE or sge:FILE.", "--cluster"
    ),
]
Keep = Annotated[
    list[str] | None, option("PATIENT:CHANNEL to use although the checks of its signal exclude it.")
]
Force = Annotated[bool, option("Replace an existing model.", "--force")]
RunFolder = Annotated[Path, argument("Folder or URL written by `epilens run`.", "RUN")]
Cubes = Annotated[Path, option("Folder or URL written by `epilens describe`.")]
CubesOfRun = Annotated[
    Path | None, option("Cubes of the run. Default: their place at the time of the run.", "--cubes")
]
LocoRun = Annotated[
    Path | None, option("Leave-one-center-out run. Default: the one next to RUN.", "--loco")
]


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"epilens {epilens.__version__}")
        raise typer.Exit


@app.callback()
def _epilens(
    debug: Annotated[bool, option("Show the Python traceback of an error.", "--debug")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def next_step(text: str, *paths: Path | str) -> None:
    """The last line of a verb, on stderr: what to open or do now; `{}` stands for a path."""
    from epilens.core.console import say
    from epilens.io.remote import display_path

    say("next: " + text.format(*(shlex.quote(display_path(path)) for path in paths)))


def settings_of(path: Path | None, labels: Path | None, onsets: Path | None):
    """The plan of a file, or the paper's networks, with the tables that were given."""
    from epilens.plan import Plan

    given = {"labels": labels, "onsets": onsets}
    tables = {name: str(table) for name, table in given.items() if table is not None}
    # Contacts as in the shipped plan `paper`.
    plan = Plan.load(path) if path else Plan().override(quality={"note_broken": True})
    return plan.override(cohort=tables)


def say_unlabelled(cohort: Cohort) -> None:
    """Name on stderr the patients that are not used because they have no label."""
    from epilens.core.console import say
    from epilens.evaluation.protocol import unlabelled
    from epilens.evaluation.run import unlabelled_patients

    names = unlabelled(cohort)
    if 0 < len(names) < len(cohort):  # a cohort without any label is refused
        say(unlabelled_patients(names, len(cohort)))
