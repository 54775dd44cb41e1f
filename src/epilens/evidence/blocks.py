"""Rows of an array in blocks that fit a processor's cache, on several threads."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

_BLOCK = 8


def in_blocks(work: Callable[[slice], object], rows: int, threads: int | None = None) -> None:
    """Call `work` on slices that cover `rows`; how many threads there are changes no number."""
    threads = threads or min(4, os.cpu_count() or 1)
    step = max(1, min(_BLOCK, -(-rows // threads)))
    blocks = [slice(first, min(rows, first + step)) for first in range(0, rows, step)]
    if threads == 1 or len(blocks) == 1:
        for block in blocks:
            work(block)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, blocks))
