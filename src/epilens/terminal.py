"""What people see in a terminal: tables on stdout, progress and messages on stderr."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import IO, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from epilens.progress import Ticks

# Wide enough for our tables when the output is a file or a pipe.
_WIDTH_WITHOUT_TERMINAL = 110


def _console(file: IO[str]) -> Console:
    width = None if file.isatty() else _WIDTH_WITHOUT_TERMINAL
    return Console(file=file, width=width, highlight=False, markup=False, emoji=False)


def visible(text: Any) -> str:
    r"""Text from a file as it may be printed: control characters become escapes.

    Examples
    --------
    >>> visible("A1\t\x1b[31m")
    'A1\\t\\x1b[31m'
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(text))


def say(text: str) -> None:
    """One message on stderr."""
    _console(sys.stderr).print(Text(visible(text)), soft_wrap=True)


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], left: int = 1
) -> None:
    """A table on stdout; the first `left` columns are text, the others are aligned right."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for position, column in enumerate(columns):
        table.add_column(column, justify="left" if position < left else "right")
    for row in rows:
        table.add_row(*(Text("–" if cell is None else visible(cell)) for cell in row))
    _console(sys.stdout).print(table, new_line_start=True)


class _Rate(ProgressColumn):
    """Steps per second, once it is known."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:.1f}/s" if speed else "")


@contextmanager
def progress(description: str) -> Generator[Ticks]:
    """A bar on stderr for a job, which announces its own size."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        console=_console(sys.stderr),
        transient=False,
    )
    task = bar.add_task(description, total=None, note="")

    def show(**changes: Any) -> None:
        bar.start()  # not before there is something to show: bad input is one line
        bar.update(task, **changes)

    try:
        yield Ticks(
            lambda note, steps: show(advance=steps, note=visible(note)),
            lambda total: show(total=total),
        )
    finally:
        if bar.live.is_started:
            bar.stop()
