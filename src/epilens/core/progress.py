"""Progress of a job: it announces how many steps are to come, then tells each one when it is done.

A job knows its own size, so whoever watches it (a bar, a test, nobody) never has to count.
"""

from __future__ import annotations

from collections.abc import Callable

StepFunction = Callable[[str, int], object]
"""Called with a note and the number of steps that are done with it."""


class Progress:
    """What a job talks to. A plain function of (note, steps) is as good: see `of`."""

    def __init__(
        self,
        on_step: StepFunction = lambda note, steps: None,
        on_total: Callable[[int], object] = lambda total: None,
    ):
        self._on_step, self._on_total, self.total = on_step, on_total, 0

    @classmethod
    def of(cls, given: Progress | StepFunction | None) -> Progress:
        """The same ticks, those that call a plain function, or silent ones."""
        if isinstance(given, Progress):
            return given
        return cls() if given is None else cls(given)

    def expect(self, steps: int) -> None:
        """Announce steps to come, beside those that were announced before."""
        self.total += steps
        self._on_total(self.total)

    def __call__(self, note: str = "", steps: int = 1) -> None:
        """Tell what is being done, and how many steps are done with it."""
        self._on_step(note, steps)
