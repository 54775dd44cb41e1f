"""Verbs on models and single patients: train, localize, look at and review."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from epilens.cli.options import (
    Cubes,
    Force,
    Jobs,
    Json,
    OnCluster,
    PlanFile,
    PlanName,
    app,
    model_app,
    next_step,
    settings_of,
)


@app.command()
def train(
    plan: PlanName,
    cubes: Cubes,
    out: Annotated[Path, typer.Option(help="New folder or URL for the model.")],
    method: Annotated[str, typer.Option(help="lens, or cdel: the paper's networks.")] = "lens",
    jobs: Jobs = 1,
    force: Force = False,
    cluster: OnCluster = "",
) -> None:
    """Train a deployable model on all labelled patients.

    An ensemble over folds and seeds. Members that were trained before it was stopped are kept, so
    running it again resumes.
    """
    from epilens.compute.dask import progress_on
    from epilens.evaluation.member_cache import member_folder
    from epilens.evaluation.train import train as make
    from epilens.evidence.files import open_cohort
    from epilens.io.remote import display_path, writable
    from epilens.networks.model import check_place, save_model
    from epilens.plan import Plan

    settings = Plan.load(plan)
    with writable(out) as place:
        check_place(place, force)
        cohort = open_cohort(cubes)
        with member_folder(out) as parts:
            with progress_on(cluster, "training") as tick:
                model = make(settings, cohort, tick, method, jobs, parts=parts)
            save_model(model, place, force)
    typer.echo(display_path(out))
    next_step("epilens model show {0}; epilens localize {0} RECORDING... --out DIR", out)


@app.command()
def localize(
    given: Annotated[
        list[str],
        typer.Argument(
            metavar="[MODEL|METHOD] RECORDING...",
            help="A model (folder, URL, name) or a method without training; default: the model "
            "recorded. Then files, BIDS runs, or a patient's BIDS folder.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder or URL for page and table; many patients.")],
    onset: Annotated[
        list[str] | None, typer.Option(help="Seconds from the file's start; once for every file.")
    ] = None,
    onsets: Annotated[
        Path | None, typer.Option(help="TSV with patient, run, onset_s, as a review writes it.")
    ] = None,
    electrodes: Annotated[
        Path | None, typer.Option(help="Positions: BIDS, 3D Slicer, iELVis, Brainstorm, CSV.")
    ] = None,
    space: Annotated[
        str, typer.Option(help="Coordinate system of --electrodes, e.g. MNI152, LPS.")
    ] = "",
    patient: Annotated[
        str, typer.Option(help="Code of the patient, where files do not say: letters and digits.")
    ] = "",
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="Channel to leave out (RK12), or a TSV of them, as a review writes it."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Channel to use although the checks of its signal exclude it."),
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
    """Rank the contacts of one new patient.

    Writes a page to pass on, and a BIDS table. Research use only, not for diagnosis. Prints the
    page's path.
    """
    from epilens.core.console import announce

    announce("localizing: starting")  # before packages that take a second to import
    from epilens.core.errors import DataError
    from epilens.io.remote import writable
    from epilens.io.urls import join
    from epilens.localization import Request
    from epilens.report.localized import (
        read_onset_list,
        read_resection,
        run_localize,
        split_source,
    )
    from epilens.report.marked import marked_recordings, split_names

    source, recordings = split_source(given)
    if onsets and onset:
        raise DataError("localize: expected --onset or --onsets, found both. Give one of them.")
    marked = marked_recordings(onsets, recordings, patient) if onsets else recordings
    request = Request(
        patient=marked,
        model=source,
        onsets=read_onset_list(onset or ()),
        electrodes=electrodes,
        space=space,
        code=patient,
        exclude=split_names(exclude or (), patient),
        keep=split_names(keep or (), patient),
        plan=None if plan is None else settings_of(plan, None, None),
        resected=read_resection(resected),
        compare=compare or (),
        force_descriptors=force_descriptors,
    )
    with writable(out) as place:
        page = join(out, run_localize(request, place, pdf).relative_to(place).as_posix())
    typer.echo(page)
    next_step("open {} in a browser; many patients: epilens view {}", page, out)


@app.command(context_settings={"allow_extra_args": True})
def bids(
    ctx: typer.Context,
    bids_dir: Annotated[Path, typer.Argument(metavar="BIDS_DIR", help="One BIDS dataset.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder for the derivative.")],
    level: Annotated[str, typer.Argument(metavar="LEVEL", help="participant or group.")],
    participant_label: Annotated[
        list[str] | None,
        typer.Option(
            "--participant-label", "--participant_label", help="Only these: 01 02, or 01,02."
        ),
    ] = None,
    model: Annotated[Path | None, typer.Option(help="Model folder or URL.")] = None,
    method: Annotated[
        str, typer.Option(help="A method without training. Default: the shipped model.")
    ] = "",
    jobs: Jobs = 1,
    cluster: OnCluster = "",
) -> None:
    """Localize every patient of a dataset, as a BIDS App.

    Pages and tables, then a summary of all. Research use only, not for diagnosis. A patient that
    fails is a row of OUT/participants_left_out.tsv; running it again resumes.
    """
    from epilens.bids_app.verb import BidsCommand, run_level

    labels = tuple(participant_label or ())
    more = tuple(ctx.args)
    command = BidsCommand(bids_dir, out, level, labels, more, model, method, jobs, cluster)
    page = run_level(command)
    typer.echo(page)
    if level == "participant":
        next_step("epilens bids {} {} group; or epilens view {}", bids_dir, out, out)
    else:
        next_step("open {} in a browser", page)


@app.command()
def view(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="--out folder of `localize`.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: a free one.")] = 0,
) -> None:
    """Show the pages of many patients in the browser.

    From this computer only; Ctrl-C ends it.
    """
    from epilens.review.pages import view as serve

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
    electrodes: Annotated[
        Path | None, typer.Option(help="TSV or CSV with name, x, y, z of one patient's contacts.")
    ] = None,
    space: Annotated[
        str, typer.Option(help="Coordinate system of --electrodes, e.g. MNI152.")
    ] = "",
    resected: Annotated[
        str, typer.Option(help="Contacts of a resection, e.g. 'TT1-6, PST2', a file, or `labels`.")
    ] = "",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: a free one.")] = 0,
) -> None:
    """See traces, mark onsets, run, read and sign in the browser.

    From this computer only. Research use only, not for diagnosis. Prints the address; Ctrl-C ends
    it.
    """
    from epilens.data.discovery import cases_of
    from epilens.localization.run_spec import PatientFacts
    from epilens.report.localized import read_resection
    from epilens.review.session import open_session
    from epilens.review.start import serve

    facts = PatientFacts.of(electrodes, space, read_resection(resected))
    serve(open_session(cases_of(given, patient), out, model or (), facts), port, typer.echo)


@model_app.command("list")
def model_list(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FOLDER]...", help="Where to look for models. Default: here."),
    ] = None,
    as_json: Json = False,
) -> None:
    """List models: those that come with EpiLENS, then those in folders."""
    from epilens.report.listings import list_models

    list_models(folders or [Path()], as_json)
    next_step("epilens model show MODEL; epilens localize [MODEL] RECORDING... --out DIR")


@model_app.command("show")
def model_show(
    path: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Model folder or URL, or a name: recorded.")
    ],
) -> None:
    """Check a model's files and print its card."""
    from epilens.networks.card import card
    from epilens.networks.model import model_folder, open_model, read_model_json

    folder = model_folder(path)
    open_model(folder)
    typer.echo(card(read_model_json(folder)))
    next_step("epilens localize {} RECORDING... --out DIR", path)


@model_app.command("import")
def model_import(
    checkpoints: Annotated[list[Path], typer.Argument(metavar="CHECKPOINT...", help=".pt files.")],
    out: Annotated[Path, typer.Option(help="New folder or URL for the model.")],
    force: Force = False,
) -> None:
    """Turn checkpoints of the authors' code into a model.

    No code in them is run.
    """
    from epilens.io.remote import display_path, writable
    from epilens.networks.model import save_model
    from epilens.networks.released import import_released

    with writable(out) as place:
        save_model(import_released(checkpoints), place, force)
    typer.echo(display_path(out))
    next_step("epilens model show {0}; epilens localize {0} RECORDING... --out DIR", out)
