"""The command line in the process of the tests: importing its packages once saves seconds."""

from __future__ import annotations

import io
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

import pytest

from epilens.cli import main


def epilens(*arguments: object, columns: int = 110) -> subprocess.CompletedProcess[str]:
    """What a command prints into pipes, and its exit code; `columns` is the width of its tables.

    What only a process of its own shows (imports, streams, signals) is tested in one.
    """
    command, out, err = list(map(str, arguments)), io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), _width(columns):
        try:
            main(command)
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return subprocess.CompletedProcess(command, code, out.getvalue(), err.getvalue())


@contextmanager
def _width(columns: int) -> Iterator[None]:
    usual = warnings.showwarning
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        try:
            yield
        finally:
            warnings.showwarning = usual
