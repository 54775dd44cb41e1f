"""Line length of all contacts over a whole recording, computed in the background.

The recording is divided into as many buckets as the strip has columns. A thread reads one piece of
every bucket, then a second one far from the first, and so on. A day is thus visible within seconds,
and becomes finer while the rest is read.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from epilens.core.errors import EpilensError
from epilens.review.signals import OpenFile

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
