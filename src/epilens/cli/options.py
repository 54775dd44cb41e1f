"""The application, options that several verbs share, and the last line of a verb."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

import epilens
from epilens.cli.completion import completed
from epilens.cli.exit_codes import CommandGroup
from epilens.cli.help import HelpCommand

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


Roots = Annotated[
    list[Path],
    typer.Argument(metavar="ROOT...", help="BIDS datasets, or folders with BIDS datasets."),
]
DatasetName = Annotated[
    str | None,
    typer.Option(
        "--dataset",
        help="A name of `epilens list datasets`. Default: recognised from the files.",
        autocompletion=completed("datasets"),
    ),
]
PlanFile = Annotated[
    Path | None,
    typer.Option(
        "--plan",
        help="TOML file, or a name of `epilens list plans`. Default: paper.",
        autocompletion=completed("plans"),
    ),
]
PlanName = Annotated[
    Path,
    typer.Argument(
        metavar="PLAN",
        help="TOML file, or a name of `epilens list plans`.",
        autocompletion=completed("plans"),
    ),
]
LabelFile = Annotated[
    Path | None, typer.Option("--labels", help="CSV file with the columns patient, channel, is_ez.")
]
OnsetFile = Annotated[
    Path | None, typer.Option("--onsets", help="TSV file with the columns patient, run, onset_s.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Jobs = Annotated[int, typer.Option(min=1, help="Number of parallel processes.")]
OnCluster = Annotated[
    str,
    typer.Option(
        "--cluster",
        help="Compute on local:N, tcp://HOST:PORT (Dask), slurm:FILE, pbs:FILE or sge:FILE.",
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(help="PATIENT:CHANNEL to use although the checks of its signal exclude it."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing model.")]
RunFolder = Annotated[
    Path, typer.Argument(metavar="RUN", help="Folder or URL written by `epilens run`.")
]
Cubes = Annotated[Path, typer.Option(help="Folder or URL written by `epilens describe`.")]
CubesOfRun = Annotated[
    Path | None,
    typer.Option("--cubes", help="Cubes of the run. Default: their place at the time of the run."),
]
LocoRun = Annotated[
    Path | None,
    typer.Option("--loco", help="Leave-one-center-out run. Default: the one next to RUN."),
]


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"epilens {epilens.__version__}")
        raise typer.Exit


@app.callback()
def _epilens(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the Python traceback of an error.")
    ] = False,
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
    """The plan of a file, or the paper's, with the tables that were given."""
    from epilens.plan import Plan

    given = {"labels": labels, "onsets": onsets}
    tables = {name: str(table) for name, table in given.items() if table is not None}
    plan = Plan.load(path) if path else Plan()
    return plan.override(cohort=tables)
