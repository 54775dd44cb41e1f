"""The application, options that several verbs share, and the last line of a verb."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

import epilens
from epilens.cli.completion import completed
from epilens.cli.exit_codes import CommandGroup

app = typer.Typer(
    name="epilens",
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Which implanted contacts are in the epileptogenic zone? Patient-relative localization "
    "from intracranial EEG. For research, not for diagnosis.",
)
plan_app = typer.Typer(no_args_is_help=True, help="Write, check and compare plans.")
app.add_typer(plan_app, name="plan")
model_app = typer.Typer(no_args_is_help=True, help="List models, show one, import checkpoints.")
app.add_typer(model_app, name="model")
Roots = Annotated[
    list[Path],
    typer.Argument(metavar="ROOT...", help="BIDS datasets, or folders that contain some."),
]
DatasetName = Annotated[
    str | None,
    typer.Option(
        "--dataset",
        help="See `epilens list datasets`. Default: recognised.",
        autocompletion=completed("datasets"),
    ),
]
PlanFile = Annotated[
    Path | None,
    typer.Option(
        "--plan", help="TOML plan; default: the paper's.", autocompletion=completed("plans")
    ),
]
PlanName = Annotated[
    Path,
    typer.Argument(
        help="TOML plan, or a shipped one by name: paper.", autocompletion=completed("plans")
    ),
]
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
Force = Annotated[bool, typer.Option("--force", help="Replace an existing model.")]
RunFolder = Annotated[
    Path, typer.Argument(metavar="RUN", help="Folder or URL written by `epilens run`.")
]
Cubes = Annotated[Path, typer.Option(help="Folder or URL written by `epilens describe`.")]
CubesOfRun = Annotated[
    Path | None, typer.Option("--cubes", help="Cubes of the run. Default: where they were.")
]
LocoRun = Annotated[
    Path | None,
    typer.Option("--loco", help="Leave-one-center-out run. Default: searched for next to RUN."),
]


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"epilens {epilens.__version__}")
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
