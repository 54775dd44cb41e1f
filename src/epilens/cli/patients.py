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
    Keep,
    OnCluster,
    PlanFile,
    PlanName,
    argument,
    model_app,
    next_step,
    option,
    say_unlabelled,
    settings_of,
    verb,
)


@verb(
    "epilens train best --cubes cubes --out my-model",
    "epilens train paper --cubes cubes --out networks --method cdel --jobs 4",
)
def train(
    plan: PlanName,
    cubes: Cubes,
    out: Annotated[Path, option("New folder or URL for the model.")],
    method: Annotated[
        str | None, option("lens, or cdel (the paper's networks). Default: lens.")
    ] = None,
    jobs: Jobs = 1,
    force: Force = False,
    cluster: OnCluster = "",
) -> None:
    """Train a model on all labelled patients.

    The model is an ensemble over folds and seeds. Finished members are kept, so running it again
    resumes.
    """
    from epilens.compute.dask import progress_on
    from epilens.core.console import say
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
        if method is None and "lens" not in settings.methods:
            say("trains lens; --method cdel trains the paper's networks")
        say_unlabelled(cohort)
        with member_folder(out) as parts:
            with progress_on(cluster, "training") as tick:
                model = make(settings, cohort, tick, method or "lens", jobs, parts=parts)
            save_model(model, place, force)
    typer.echo(display_path(out))
    next_step("epilens model show {0}; epilens localize {0} RECORDING... --out DIR", out)


@verb(
    "epilens localize seizure.edf --onset 61.5 --out localized",
    "epilens localize my-model bids/sub-01 --resected 'TT1-6' --out localized",
)
def localize(
    given: Annotated[
        list[str],
        argument(
            "A model (folder, URL or name) or a method that needs no training, then "
            "recordings: files, BIDS runs, or a patient's BIDS folder. Default: model recorded.",
            "[MODEL|METHOD] RECORDING...",
        ),
    ],
    out: Annotated[
        Path, option("Folder or URL for pages and tables; it can contain many patients.")
    ],
    onset: Annotated[
        list[str] | None, option("Seconds from the start of the file. Repeat it for every file.")
    ] = None,
    onsets: Annotated[
        Path | None, option("TSV file with the columns patient, run, onset_s (from a review).")
    ] = None,
    electrodes: Annotated[
        Path | None, option("Positions of contacts: BIDS, 3D Slicer, iELVis, Brainstorm or CSV.")
    ] = None,
    space: Annotated[str, option("Coordinate system of --electrodes, e.g. MNI152, LPS.")] = "",
    patient: Annotated[
        str, option("Code of the patient (letters and digits), if the files contain none.")
    ] = "",
    exclude: Annotated[
        list[str] | None,
        option("Channel to exclude, e.g. RK12, or a TSV file of channels (from a review)."),
    ] = None,
    keep: Annotated[
        list[str] | None, option("Channel to use even if the signal checks exclude it.")
    ] = None,
    resected: Annotated[
        str, option("Contacts of a resection, e.g. 'TT1-6, PST2', a file, or `labels`.")
    ] = "",
    compare: Annotated[
        list[str] | None, option("Another model or method to compare with. Can be repeated.")
    ] = None,
    plan: PlanFile = None,
    force_descriptors: Annotated[
        bool,
        option(
            "Allow descriptors that the model was not trained on; adds a caution.",
            "--force-descriptors",
        ),
    ] = False,
    pdf: Annotated[bool, option("Also write a PDF of the page (needs Chromium).", "--pdf")] = False,
) -> None:
    """Rank the contacts of one new patient.

    Writes a page and a BIDS table, and prints the path of the page. Research use only, not for
    diagnosis.
    """
    from epilens.core.console import announce, say

    announce("localizing: starting")  # before packages that take a second to import
    from epilens.cli.localize import (
        marked_recordings,
        read_onset_list,
        read_resection,
        run_localize,
        split_names,
        split_source,
    )
    from epilens.core.errors import DataError
    from epilens.io.remote import writable
    from epilens.io.urls import join
    from epilens.localization import Request

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
        keep=tuple(split_names(keep or (), patient)),
        plan=None if plan is None else settings_of(plan, None, None),
        resected=read_resection(resected),
        compare=compare or (),
        force_descriptors=force_descriptors,
    )
    with writable(out) as place:
        written = run_localize(request, place, pdf).relative_to(place)
        has_pdf = (place / written.with_suffix(".pdf")).exists()
    page = join(out, written.as_posix())
    if has_pdf:
        say(f"PDF: {join(out, written.with_suffix('.pdf').as_posix())}")
    typer.echo(page)
    next_step("open {} in a browser; many patients: epilens view {}", page, out)


@verb(
    "epilens bids my-bids derivatives/epilens participant",
    "epilens bids my-bids derivatives/epilens group",
    context_settings={"allow_extra_args": True},
)
def bids(
    ctx: typer.Context,
    bids_dir: Annotated[Path, argument("One BIDS dataset.", "BIDS_DIR")],
    out: Annotated[Path, argument("Folder for the derivative.", "OUT")],
    level: Annotated[str, argument("participant or group.", "LEVEL")],
    participant_label: Annotated[
        list[str] | None,
        option(
            "Only these patients, e.g. 01 02 or 01,02.",
            "--participant-label",
            "--participant_label",
        ),
    ] = None,
    model: Annotated[Path | None, option("Model folder or URL.")] = None,
    method: Annotated[
        str, option("A method that needs no training. Default: the model recorded.")
    ] = "",
    keep: Keep = None,
    jobs: Jobs = 1,
    cluster: OnCluster = "",
) -> None:
    """Localize every patient of a dataset, as a BIDS App.

    The level participant writes a page and a table per patient; group writes a summary of all.
    OUT/participants_left_out.tsv lists patients that fail. Running it again resumes. Research use
    only, not for diagnosis.
    """
    from epilens.bids_app.verb import BidsCommand, run_level

    command = BidsCommand(
        bids_dir,
        out,
        level,
        labels=tuple(participant_label or ()),
        more=tuple(ctx.args),
        model=model,
        method=method,
        keep=tuple(keep or ()),
        jobs=jobs,
        cluster=cluster,
    )
    page = run_level(command)
    typer.echo(page)
    if level == "participant":
        next_step("epilens bids {} {} group; or epilens view {}", bids_dir, out, out)
    else:
        next_step("open {} in a browser", page)


@verb("epilens view localized", "epilens view localized --port 8000")
def view(
    folder: Annotated[Path, argument("Folder written by `epilens localize`.", "DIR")],
    port: Annotated[
        int,
        option("Port of the server. Default: any free one.", min=0, max=65535, show_default=False),
    ] = 0,
) -> None:
    """Show the pages of many patients in a browser.

    Prints an address that works on this computer only. Ctrl-C stops the server.
    """
    from epilens.review.pages import view as serve

    serve(folder, port, typer.echo)


@verb(
    "epilens review seizure.edf --out my-review",
    "epilens review my-bids --out my-review --model my-model",
)
def review(
    given: Annotated[
        list[Path], argument("Recordings, or BIDS patients and datasets.", "PATIENT...")
    ],
    out: Annotated[Path, option("Folder for marks, runs and readings.")],
    patient: Annotated[str, option("Code of a patient whose files contain none.")] = "",
    model: Annotated[
        list[Path] | None, option("A model, or a folder of models. Can be repeated.")
    ] = None,
    electrodes: Annotated[
        Path | None, option("TSV or CSV file with name, x, y, z of one patient's contacts.")
    ] = None,
    space: Annotated[str, option("Coordinate system of --electrodes, e.g. MNI152.")] = "",
    resected: Annotated[
        str, option("Contacts of a resection, e.g. 'TT1-6, PST2', a file, or `labels`.")
    ] = "",
    blind: Annotated[
        str,
        option(
            "Readers who mark before they see a ranking: those after the first signature "
            "(second), all or none."
        ),
    ] = "second",
    port: Annotated[
        int,
        option("Port of the server. Default: any free one.", min=0, max=65535, show_default=False),
    ] = 0,
) -> None:
    """Look at traces, mark onsets, run, read and sign in a browser.

    Prints an address that works on this computer only. Ctrl-C stops the server. Your recordings are
    not changed. Research use only, not for diagnosis.
    """
    from epilens.cli.localize import read_resection
    from epilens.data.discovery import cases_of
    from epilens.localization.run_spec import PatientFacts
    from epilens.review.session import check_blind, open_session
    from epilens.review.start import serve

    facts = PatientFacts.of(electrodes, space, read_resection(resected))
    session = open_session(cases_of(given, patient), out, model or (), facts, check_blind(blind))
    serve(session, port, typer.echo)


@verb("epilens model list", "epilens model list my-models --json", name="list", group=model_app)
def model_list(
    folders: Annotated[
        list[Path] | None, argument("Folders with models. Default: this one.", "[FOLDER]...")
    ] = None,
    as_json: Json = False,
) -> None:
    """List models: those that come with EpiLENS, then those in folders."""
    from epilens.report.listings import list_models

    list_models(folders or [Path()], as_json)
    next_step("epilens model show MODEL; epilens localize [MODEL] RECORDING... --out DIR")


@verb("epilens model show recorded", "epilens model show my-model", name="show", group=model_app)
def model_show(
    path: Annotated[Path, argument("Folder, URL or name of a model, e.g. recorded.", "MODEL")],
) -> None:
    """Check a model's files and print its card."""
    from epilens.networks.card import card
    from epilens.networks.model import model_folder, open_model, read_model_json

    folder = model_folder(path)
    open_model(folder)
    typer.echo(card(read_model_json(folder)))
    next_step("epilens localize {} RECORDING... --out DIR", path)


@verb(
    "epilens model import fold0.pt fold1.pt --out released",
    "epilens model import checkpoints/seed42.pt --out released --force",
    name="import",
    group=model_app,
)
def model_import(
    checkpoints: Annotated[
        list[Path], argument("Checkpoints of the authors' code (.pt files).", "CHECKPOINT...")
    ],
    out: Annotated[Path, option("New folder or URL for the model.")],
    force: Force = False,
) -> None:
    """Convert checkpoints of the authors' code into a model.

    Code inside the checkpoints is not executed.
    """
    from epilens.io.remote import display_path, writable
    from epilens.networks.model import save_model
    from epilens.networks.released import import_released

    with writable(out) as place:
        save_model(import_released(checkpoints), place, force)
    typer.echo(display_path(out))
    next_step("epilens model show {0}; epilens localize {0} RECORDING... --out DIR", out)
