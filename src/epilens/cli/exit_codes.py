"""Exit codes of commands, each with one sentence.

0; 2 for bad input or an error of the system, with one sentence; 130 for Ctrl-C; 1 for a defect.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from typer.core import TyperGroup

from epilens.cli.help import WithExamples
from epilens.core.errors import EpilensError
from epilens.core.extras import explain_import_error
from epilens.io.os_errors import explain_os_error
from epilens.io.urls import with_urls, without_secrets

RESUMES = {"bids", "demo", "describe", "run", "train", "fetch"}
"""Verbs that resume."""


class Stopped(Exception):
    """Ctrl-C, before the option parser handles it."""


class OutputClosed(Exception):
    """The reader of our output has stopped reading."""


class CommandGroup(WithExamples, TyperGroup):
    """The verbs of the command line; exit codes are decided here, not by the option parser."""

    def invoke(self, ctx: Any) -> Any:
        """Run the verb."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Stopped from None
        except BrokenPipeError:
            raise OutputClosed from None


@contextmanager
def exit_with_code(arguments: Sequence[str], debug: bool = False) -> Generator[None]:
    """End the process with one of the exit codes above, whatever happens inside."""
    _check_streams()
    try:
        yield
        _flush()
    except SystemExit:
        with _errors(arguments, debug):
            _flush()
        raise
    except BaseException:
        with _errors(arguments, debug):
            raise


@contextmanager
def _errors(arguments: Sequence[str], debug: bool) -> Generator[None]:
    try:
        with _interrupts():
            yield
    except EpilensError as error:
        _fail(f"epilens: {with_urls(str(error))}", 2, debug)
    except Stopped:
        _fail(f"epilens: stopped. {_after_stop(arguments)}", 130, debug)
    except (BrokenPipeError, OutputClosed):
        _silence()
        text = "expected somebody to read the output, found it closed. Files that were written"
        _fail(f"epilens: {text} are whole.", 2, debug)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError):
            error = explain_import_error("epilens", error)
            if isinstance(error, EpilensError):
                _fail(str(error), 2, debug)
        if sentence := explain_os_error(error, getattr(error, "filename", None) or "output"):
            _silence()
            _fail(f"epilens: {sentence}", 2, debug)
        _fail(
            f"epilens: failed unexpectedly ({type(error).__name__}: {error}). "
            "Run again with --debug for the traceback, and please report it.",
            1,
            debug,
        )


@contextmanager
def _interrupts() -> Generator[None]:
    """Ctrl-C, also if a package that was being loaded turned it into another error."""
    try:
        yield
    except BaseException as error:
        link: BaseException | None = error
        while link is not None:
            if isinstance(link, KeyboardInterrupt):
                raise Stopped from error
            link = link.__cause__ or link.__context__
        raise


def _after_stop(arguments: Sequence[str]) -> str:
    verb = next((argument for argument in arguments if not argument.startswith("-")), "")
    if verb in RESUMES:
        return "What was finished is kept: run the same command again to continue."
    return "Nothing half-written is left: run the same command to start again."


def _check_streams() -> None:
    """The descriptor of a closed output would be reused by the next opened file."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if sys.stdout is None:
        _fail(
            "epilens: expected an output to write to, found it closed. Send it to a file or to "
            "/dev/null.",
            2,
        )


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _silence() -> None:
    """Discard the rest of the buffer, so that it does not fail again at the end."""
    with suppress(OSError, ValueError):
        output = sys.stdout.fileno()
        os.dup2(os.open(os.devnull, os.O_WRONLY), output)


def _fail(message: str, code: int, debug: bool = False) -> NoReturn:
    from epilens.core.console import say

    with suppress(OSError):
        if debug:
            sys.stderr.write(without_secrets(traceback.format_exc()))
        say(without_secrets(message))
    sys.exit(code)
