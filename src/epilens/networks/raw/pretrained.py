"""Pretrained networks from a local folder in Hugging Face format: safetensors only, or refused."""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from epilens.core.errors import MethodError

FILES = ("config.json", "model.safetensors")


def load_pretrained(name: str, folder: Path, repository: str) -> tuple[Any, dict[str, Any]]:
    """A network of `transformers` by class name with the folder's weights, and their provenance.

    Every learned number must come from the file: a random start is never a silent substitute.
    """
    import transformers
    from transformers.utils import logging

    _check_files(folder, repository)
    try:
        with _quiet(logging):
            network, report = getattr(transformers, name).from_pretrained(
                folder, local_files_only=True, use_safetensors=True, output_loading_info=True
            )
    except (OSError, RuntimeError, ValueError, KeyError, TypeError) as error:
        raise MethodError(
            f"{folder}: expected config.json and model.safetensors of {repository}, found files "
            f"that do not fit {name} ({type(error).__name__}). {_repair(folder, repository)}"
        ) from error
    learned = {key for key, value in network.state_dict().items() if value.is_floating_point()}
    if missing := sorted(learned & set(report["missing_keys"])):
        raise MethodError(
            f"{folder}: expected all weights of {repository}, found {len(missing)} of "
            f"{len(learned)} missing, e.g. {missing[0]}. {_repair(folder, repository)}"
        )
    with (folder / FILES[1]).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return network, {"pretrained": {"repository": repository, "sha256": digest}}


def _check_files(folder: Path, repository: str) -> None:
    if missing := [name for name in FILES if not (folder / name).is_file()]:
        others = sorted(path.name for path in folder.glob("*.bin")) if folder.is_dir() else []
        pickled = f" ({others[0]} is not read: unpickling can run code)" if others else ""
        raise MethodError(
            f"{folder}: expected pretrained weights, found no {' and no '.join(missing)}{pickled}. "
            f"{_repair(folder, repository)}"
        )
    try:
        with safe_open(folder / FILES[1], "pt"):
            pass
    except SafetensorError as error:
        raise MethodError(
            f"{folder / FILES[1]}: expected safetensors, found another kind of file, which is not "
            f"read. {_repair(folder, repository)}"
        ) from error


def _repair(folder: Path, repository: str) -> str:
    return (
        f"Get {' and '.join(FILES)} of the Hugging Face repository {repository} and put them into "
        f"{folder} (plan: baselines.pretrained)."
    )


@contextmanager
def _quiet(logging: Any) -> Generator[None]:
    """Show no progress bar, and no report of the parts that are left out on purpose."""
    verbosity, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bar:
            logging.enable_progress_bar()
