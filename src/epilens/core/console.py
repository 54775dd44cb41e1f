"""Terminal output: tables on stdout, progress and messages on stderr."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import IO, Any

from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TimeRemainingColumn
from rich.progress import Progress as RichProgress
from rich.table import Table
from rich.text import Text

from epilens.core.progress import Progress

_WIDTH_WITHOUT_TERMINAL = 110
"""Wide enough for our tables when the output is a file or a pipe."""
_PROSE = 16
"""Cells that are longer than this may be wrapped."""
_LONGEST_NAME = 36
"""Characters of the longest names of patients and methods; longer words are file names."""
_NARROW = 100
"""Below this many columns a bar is short and has no rate, so that count and time left fit."""


class _Console(Console):
    """Raises an error if the output is closed; rich would end the process with code 1."""

    def on_broken_pipe(self) -> None:
        """Raise the error in the code that prints."""
        raise BrokenPipeError from None


def _console(file: IO[str]) -> Console:
    width = None
    if not file.isatty():
        asked = os.environ.get("COLUMNS", "")
        width = int(asked) if asked.isdigit() and int(asked) else _WIDTH_WITHOUT_TERMINAL
    return _Console(file=file, width=width, highlight=False, markup=False, emoji=False)


def visible(text: Any) -> str:
    r"""Text from a file as it may be printed: control characters become escapes.

    Examples
    --------
    >>> visible("A1\t\x1b[31m")
    'A1\\t\\x1b[31m'
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(text))


def say(text: str) -> None:
    """Print one message on stderr; a known first word is coloured if the terminal supports it."""
    message = Text(visible(text))
    first = message.plain.partition(":")[0]
    message.stylize(_COLOURS.get(first, ""), 0, len(first) + 1)
    _console(sys.stderr).print(message, soft_wrap=True)


_COLOURS = {
    "epilens": "bold red",
    "abstain": "bold red",
    "warning": "yellow",
    "caution": "yellow",
    "next": "cyan",
}
"""First words of messages; rich removes colours for pipes, files and with NO_COLOR."""


def announce(text: str) -> None:
    """Show a line on a terminal at once; whatever is shown next replaces it."""
    if sys.stderr.isatty():
        sys.stderr.write(f"{text} …\r")
        sys.stderr.flush()


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    left: int = 1,
    drop: Sequence[str] = (),
) -> None:
    """A table on stdout; the first `left` columns are text, the others are aligned right.

    If the terminal is too narrow, whole columns are omitted: those of `drop`, in this order, then
    from the right, never the first. A message on stderr names them.
    """
    console = _console(sys.stdout)
    cells = [["–" if cell is None else visible(cell) for cell in row] for row in rows]
    kept = _widths_that_fit(columns, cells, drop, console.width)
    table = Table(
        title=title, title_justify="left", box=None, pad_edge=False, header_style="bold cyan"
    )
    for i, width in kept.items():
        # Long cells are wrapped, not cut: half a name identifies nobody.
        side = "left" if i < left else "right"
        table.add_column(visible(columns[i]), justify=side, overflow="fold", width=width)
    for row in cells:
        table.add_row(*(Text(_fold_names(row[i], width)) for i, width in kept.items()))
    console.print(table, new_line_start=True)
    if omitted := [name for i, name in enumerate(columns) if i not in kept]:
        say(f"not shown in {console.width} columns: {', '.join(omitted)}")


def _fold_names(text: str, width: int) -> str:
    """Names that are longer than a column are broken after `_`, `/` or `.`, where they can be.

    Examples
    --------
    >>> print(_fold_names("sub-E01 ses-presurgery_task-ictal_run-01", 20))
    sub-E01 ses-presurgery_
    task-ictal_run-01
    """

    def fold(match: re.Match[str]) -> str:
        lines = [""]
        for part in re.split(r"(?<=[_/.])", match[0]):
            if lines[-1] and len(lines[-1]) + len(part) > width:
                lines.append("")
            lines[-1] += part
        return "\n".join(lines)

    return re.sub(rf"\S{{{width + 1},}}", fold, text)


def _widths_that_fit(
    columns: Sequence[str], rows: Sequence[Sequence[str]], drop: Sequence[str], width: int
) -> dict[int, int]:
    """Indices of the columns that fit side by side, with their widths.

    The widest are narrowed first, none below its minimum: headings and prose can be wrapped, names
    and numbers cannot.
    """
    needs = {i: _least_width(name, [row[i] for row in rows]) for i, name in enumerate(columns)}
    order = [list(columns).index(name) for name in drop if name in columns]
    order += [i for i in reversed(range(1, len(columns))) if i not in order]
    while sum(needs.values()) + 2 * (len(needs) - 1) > width and order:
        del needs[order.pop(0)]
    whole = {i: max(map(cell_len, (columns[i], *(row[i] for row in rows)))) for i in sorted(needs)}
    widths = {i: max(whole[i], needs[i]) for i in whole}
    while sum(widths.values()) + 2 * (len(widths) - 1) > width:
        wider = [i for i in widths if widths[i] > needs[i]]
        if not wider:  # the first column alone is wider than the terminal
            return dict.fromkeys(widths, width)
        widths[max(wider, key=lambda i: widths[i])] -= 1
    return widths


def _least_width(heading: str, cells: Sequence[str]) -> int:
    """Minimum width of a readable column: its longest cell; for prose its longest word.

    File names can be longer than any word, and are wrapped too.
    """
    longest = max(map(len, cells), default=1)
    words = [len(word) for text in (heading, *cells) for word in text.split()]
    return max([min(longest, _PROSE), *(n for n in words if n <= _LONGEST_NAME)])


class _Column(ProgressColumn):
    """A column whose text a function makes of the task, truncated to a width."""

    def __init__(self, text: Callable[[Task], str], width: int = 30):
        super().__init__()
        self._text, self._width = text, max(1, width)

    def render(self, task: Task) -> Text:
        text = Text(self._text(task), no_wrap=True)
        text.truncate(self._width, overflow="ellipsis")
        return text


def _rate(task: Task) -> str:
    """Steps per second, once it is known."""
    speed = task.finished_speed or task.speed
    return f"{speed:.1f}/s" if speed else ""


def _count(number: int) -> str:
    return f"{number} worker{'' if number == 1 else 's'}"


def _bar(
    description: str, console: Console, workers: Callable[[], int] | None = None
) -> RichProgress:
    """Description, bar, count, time left, workers, and as much of the note as there is room for."""
    narrow = console.width < _NARROW
    job, bar = min(len(description), 30 if narrow else 40), 10 if narrow else 30
    room = console.width - job - bar - len("10000/10000 0:00:00 999.9/s ") - 4
    room -= len("10000 workers ") if workers else 0
    return RichProgress(
        _Column(lambda task: task.fields.get("job", ""), job),
        BarColumn(bar_width=bar),
        MofNCompleteColumn(),
        *([] if narrow else [_Column(_rate)]),
        TimeRemainingColumn(),
        *([_Column(lambda task: _count(workers()))] if workers else []),
        *([_Column(lambda task: task.fields.get("note", ""), room)] if room > 4 else []),
        console=console,
        # A network takes minutes: an estimate over the usual half minute would never be made.
        speed_estimate_period=3600,
    )


@contextmanager
def progress(description: str, workers: Callable[[], int] | None = None) -> Generator[Progress]:
    """A bar on stderr for a job, which announces its own size.

    workers : returns the current number of workers, if it can change.
    """
    bar = _bar(description, _console(sys.stderr), workers)
    task = bar.add_task(description, total=None, note="", job=description)

    def show(**changes: Any) -> None:
        bar.start()  # not before there is something to show: bad input is one line
        bar.update(task, **changes)

    try:
        yield Progress(
            lambda note, steps: show(advance=steps, note=visible(note)),
            lambda total: show(total=total),
        )
    finally:
        if bar.live.is_started:
            bar.stop()
