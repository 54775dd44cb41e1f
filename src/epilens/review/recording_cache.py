"""Open recordings with their overview and suggestions, which are computed in the background."""

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

_MAX_OPEN = 4


class _ClosedError(Exception):
    """The recording was closed while its suggestions were computed."""


@dataclass
class Suggestions:
    """Onsets and bad channels suggested by the signal; used only after a click."""

    onsets: tuple[OnsetCandidate, ...] = ()
    channels: tuple[ChannelSuggestion, ...] = ()
    done: bool = False
    share: float = 0.0
    problem: str = ""


@dataclass
class CachedRecording:
    """An open recording with its overview and suggestions."""

    opened: OpenFile
    overview: Overview
    suggestions: Suggestions = field(default_factory=Suggestions)
    closed: bool = False


class RecordingCache:
    """The recordings viewed last; others are closed."""

    def __init__(self, session: Session):
        self._session, self._lock, self.foreground = session, threading.Lock(), Foreground()
        self._open: OrderedDict[tuple[str, str], CachedRecording] = OrderedDict()

    def get(self, code: str, name: str) -> CachedRecording:
        """Return a recording; open it first if necessary."""
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
        while len(self._open) > _MAX_OPEN:
            _, oldest = self._open.popitem(last=False)
            oldest.closed = True
            oldest.overview.stop()


def good_contacts(opened: OpenFile, foreground: Foreground) -> ContactSignals:
    """Return the good contacts of a recording, to be read in pieces by the search for onsets."""
    keep = [i for i, name in enumerate(opened.contacts) if name not in opened.bad]
    names = tuple(opened.contacts[i] for i in keep)

    def read(start: int, stop: int) -> NDArray[np.float32]:
        foreground.wait()
        return opened.read(start, stop)[keep]

    return ContactSignals(opened.file.name, names, opened.fs, opened.samples, 0.0, read)


def _suggest(recording: CachedRecording, foreground: Foreground) -> None:
    """Search for bad channels, then for onsets; stop when the recording is closed."""
    suggestions = recording.suggestions
    total, done, began = [1], [0], [time.thread_time()]

    def step(note: str, steps: int) -> None:
        if recording.closed:
            raise _ClosedError
        done[0] += steps
        suggestions.share = min(1.0, done[0] / total[0])
        time.sleep(REST * (time.thread_time() - began[0]))
        began[0] = time.thread_time()

    def expect(steps: int) -> None:
        total[0] = max(1, steps)

    try:
        signals = good_contacts(recording.opened, foreground)
        suggestions.channels = suggest_channels(signals)
        suggestions.onsets = candidates_of(signals, Progress(step, expect))
    except _ClosedError:
        return
    except EpilensError as error:
        suggestions.problem = str(error)
    suggestions.done = True
