"""Recordings that are open, with what is worked out about them in the background."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from epilens.core.errors import EpilensError
from epilens.core.progress import Progress
from epilens.data.channel_suggestions import ChannelSuggestion, suggest_channels
from epilens.data.chunked_reader import ContactSignals
from epilens.data.onset_finder import OnsetCandidate, candidates_of
from epilens.review.overview import REST, Foreground, Overview
from epilens.review.session import Session
from epilens.review.signals import OpenFile, open_file

_MOST_OPEN = 4


class _ClosedError(Exception):
    """The recording was put away while something was worked out about it."""


@dataclass
class Suggestions:
    """What the signal suggests; never taken without a click."""

    onsets: tuple[OnsetCandidate, ...] = ()
    channels: tuple[ChannelSuggestion, ...] = ()
    done: bool = False
    share: float = 0.0
    problem: str = ""


@dataclass
class CachedRecording:
    """One open recording."""

    opened: OpenFile
    overview: Overview
    suggestions: Suggestions = field(default_factory=Suggestions)
    closed: bool = False


class RecordingCache:
    """The few recordings that were looked at last; others are closed."""

    def __init__(self, session: Session):
        self._session, self._lock, self.foreground = session, threading.Lock(), Foreground()
        self._open: OrderedDict[tuple[str, str], CachedRecording] = OrderedDict()

    def take(self, code: str, name: str) -> CachedRecording:
        """A recording, opened if it is not."""
        key = (code, name)
        with self._lock:
            if key not in self._open:
                opened = open_file(self._session.file(code, name))
                self._open[key] = CachedRecording(opened, Overview(opened, self.foreground))
                work = (self._open[key], self.foreground)
                threading.Thread(target=_suggest, args=work, daemon=True).start()
                self._open[key].overview.start()
                self._close_others()
            self._open.move_to_end(key)
            return self._open[key]

    def _close_others(self) -> None:
        while len(self._open) > _MOST_OPEN:
            _, old = self._open.popitem(last=False)
            old.closed = True
            old.overview.stop()


def source_of(opened: OpenFile, foreground: Foreground) -> ContactSignals:
    """An open recording as the search for onsets reads it: good contacts, piece by piece."""
    keep = [i for i, name in enumerate(opened.contacts) if name not in opened.bad]
    names = tuple(opened.contacts[i] for i in keep)

    def read(start: int, stop: int) -> NDArray[np.float32]:
        foreground.wait()
        return opened.read(start, stop)[keep]

    return ContactSignals(opened.file.name, names, opened.fs, opened.samples, 0.0, read)


def _suggest(case: CachedRecording, foreground: Foreground) -> None:
    """Look for channels, then for onsets; a recording that is put away is read no further."""
    told = case.suggestions
    total, seen, began = [1], [0], [time.thread_time()]

    def step(note: str, steps: int) -> None:
        if case.closed:
            raise _ClosedError
        seen[0] += steps
        told.share = min(1.0, seen[0] / total[0])
        time.sleep(REST * (time.thread_time() - began[0]))
        began[0] = time.thread_time()

    def expect(steps: int) -> None:
        total[0] = max(1, steps)

    try:
        source = source_of(case.opened, foreground)
        told.channels = suggest_channels(source)
        told.onsets = candidates_of(source, Progress(step, expect))
    except _ClosedError:
        return
    except EpilensError as error:
        told.problem = str(error)
    told.done = True
