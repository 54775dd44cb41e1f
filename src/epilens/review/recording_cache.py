"""Open recordings with their overview and suggestions, which are computed in the background.

The overview is the line length of all contacts over the whole recording. It is divided into as many
buckets as the strip has columns. A thread reads one piece of every bucket, then a second one far
from the first, and so on. A day is thus visible within seconds, and becomes finer while the rest is
read.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from epilens.core.errors import EpilensError
from epilens.core.progress import Progress
from epilens.data.channels.suggestions import ChannelSuggestion, suggest_channels
from epilens.data.chunked_reader import ContactSignals
from epilens.data.onsets.finder import OnsetCandidate, candidates_of
from epilens.review.session import Session
from epilens.review.signals import OpenFile, open_file

_MAX_OPEN = 4
_MAX_BUCKETS = 1200
_MIN_BUCKET_S = 0.25
_PIECE_S = 1.0
REST = 0.5
"""Pause after a piece, relative to its processor time: screens have priority."""


class Foreground:
    """Priority of screens over background work."""

    def __init__(self) -> None:
        self._lock, self._screens = threading.Lock(), 0

    @contextmanager
    def priority(self) -> Generator[None]:
        """Make background work wait."""
        with self._lock:
            self._screens += 1
        try:
            yield
        finally:
            with self._lock:
                self._screens -= 1

    def wait(self) -> None:
        """Wait until no screen is being computed."""
        while self._screens:
            time.sleep(0.005)


class Overview:
    """Line length in µV/s, (contact, bucket)."""

    def __init__(self, opened: OpenFile, foreground: Foreground | None = None):
        self._foreground = foreground or Foreground()
        length_s = opened.length_s
        self.buckets = max(1, min(_MAX_BUCKETS, int(length_s / _MIN_BUCKET_S)))
        self._opened = opened
        self._edges = np.linspace(0, opened.samples, self.buckets + 1).round().astype(int)
        self._sums = np.zeros((len(opened.contacts), self.buckets))
        self._steps = np.zeros(self.buckets)
        self._lock, self._stop = threading.Lock(), threading.Event()
        self.problem = ""
        self._thread = threading.Thread(target=self._work, daemon=True)

    def start(self) -> None:
        """Start to read."""
        self._thread.start()

    def stop(self) -> None:
        """Stop reading."""
        self._stop.set()

    def wait(self) -> None:
        """Wait until everything is read."""
        self._thread.join()

    @property
    def share(self) -> float:
        """Fraction of the recording read so far."""
        with self._lock:
            return float(self._steps.sum()) / max(1, self._opened.samples - self.buckets)

    def values(self) -> NDArray[np.float32]:
        """Return the line length so far; NaN where nothing was read."""
        with self._lock:
            steps = np.where(self._steps > 0, self._steps, np.nan)
            return (self._sums / steps * self._opened.fs).astype(np.float32)

    def _work(self) -> None:
        try:
            for bucket, start, stop in self._pieces():
                if self._stop.is_set():
                    return
                self._foreground.wait()
                began = time.thread_time()
                part = self._opened.read(start, stop)
                with np.errstate(invalid="ignore"):
                    length = np.abs(np.diff(part, axis=1)).sum(axis=1, dtype=np.float64)
                with self._lock:
                    self._sums[:, bucket] += np.nan_to_num(length)
                    self._steps[bucket] += part.shape[1] - 1
                time.sleep(REST * (time.thread_time() - began))
        except EpilensError as error:
            self.problem = str(error)

    def _pieces(self) -> Iterator[tuple[int, int, int]]:
        """Yield bucket, first and last sample: one piece of each bucket, then the next of each."""
        size = max(2, round(_PIECE_S * self._opened.fs))
        widest = int(np.diff(self._edges).max())
        for piece in _far_apart(max(1, -(-widest // size))):
            for bucket in range(self.buckets):
                start = self._edges[bucket] + piece * size
                stop = min(start + size, self._edges[bucket + 1])
                if stop - start > 1:
                    yield bucket, int(start), int(stop)


def _far_apart(n: int) -> list[int]:
    """Return 0 to n - 1 in an order in which consecutive numbers are far apart.

    Examples
    --------
    >>> _far_apart(6)
    [0, 4, 2, 1, 5, 3]
    """
    bits = max(1, (n - 1).bit_length())
    reversed_bits = (int(f"{i:0{bits}b}"[::-1], 2) for i in range(2**bits))
    return [i for i in reversed_bits if i < n]


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
