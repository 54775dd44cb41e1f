"""Progress of a job: it announces its number of steps, then reports each finished step.

A job knows its own size, so its observer (a bar, a test) does not have to count.
"""

from __future__ import annotations

from collections.abc import Callable

StepFunction = Callable[[str, int], object]
"""Called with a note and the number of steps that are done with it."""


class Progress:
    """Receives the steps of a job; `of` also accepts a plain function of (note, steps)."""

    def __init__(
        self,
        on_step: StepFunction = lambda note, steps: None,
        on_total: Callable[[int], object] = lambda total: None,
    ):
        self._on_step, self._on_total, self.total = on_step, on_total, 0

    @classmethod
    def of(cls, given: Progress | StepFunction | None) -> Progress:
        """A progress object from itself, from a plain function, or a silent one."""
        if isinstance(given, Progress):
            return given
        return cls() if given is None else cls(given)

    def expect(self, steps: int) -> None:
        """Announce further steps."""
        self.total += steps
        self._on_total(self.total)

    def __call__(self, note: str = "", steps: int = 1) -> None:
        """Report finished steps with a note."""
        self._on_step(note, steps)
