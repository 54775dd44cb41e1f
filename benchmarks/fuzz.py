"""Damaged inputs for every reader: `python -m benchmarks fuzz [--inputs N | --minutes N]`.

An exception that is not ours, more than ten seconds of processor time or more than two gigabytes is
a failure. Input i of a reader is always the same, and the next run goes on where the last one
stopped (counts are in benchmarks/results/fuzz-state.json). A worker is watched from outside,
because a hang inside a library hears no signal.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks.fuzzed_readers import READERS, Reader, prepared
from benchmarks.timing import row

STATE = Path(__file__).parent / "results" / "fuzz-state.json"
MOST_S, MOST_BYTES = 10.0, 2 * 1024**3
WATCHED_S = 240.0
"""Of the clock: a worker that says nothing for so long is ended; others may need the processor."""
TOKENS = (
    *(
        b"",
        b"\t",
        b"\n",
        b"\r",
        b"\0",
        b",",
        b";",
        b'"',
        b"'",
        b"=cmd|'x'!A0",
        b"\xff\xfe",
        b"\x80",
    ),
    *(b"1e999", b"-1", b"nan", b"inf", b"0", b"99999999999999999999", b"9" * 5000, b"1-999999999"),
    *(b"[" * 3000, b"{", b"}", b"]", b"null", b"true", b"../../etc/passwd", b"\xe2\x80\x99", b"-"),
    *(b"onset", b"A1", b"n/a", b"sub-", b"%s%n", b" " * 2000, b"a" * 70000, b"[x]\n", b"x = 1\n"),
)


def damaged(valid: list[bytes], rng: random.Random) -> bytes:
    """A valid input with one to six damages."""
    text = bytearray(rng.choice(valid))
    for _ in range(rng.randint(1, 6)):
        at, length = rng.randint(0, len(text)), rng.choice((1, 1, 2, 4, 16, 64))
        kind = rng.randrange(6)
        if kind == 0 and at < len(text):
            text[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            text[at : at + length] = b""
        elif kind == 2:
            text[at:at] = rng.choice(TOKENS)
        elif kind == 3:
            text[at : at + length] = rng.choice(TOKENS)
        elif kind == 4:
            text[at:at] = text[at : at + 16 * length] * rng.choice((1, 2, 30))
        else:
            text[at : at + length] = rng.randbytes(length)
    return bytes(text[: rng.randint(0, len(text))] if rng.random() < 0.05 else text)


class TooLongError(BaseException):
    """Ten seconds are over; nothing that catches exceptions catches this."""


def one_input(reader: Reader, valid: list[bytes], place: Path, i: int) -> str:
    """What was wrong with reading input i of a reader; empty: nothing."""
    import resource

    from epilens.core.errors import EpilensError

    place.write_bytes(damaged(valid, random.Random(f"{reader.name} {i}")))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.setitimer(signal.ITIMER_PROF, MOST_S)
    try:
        reader.read(place)
    except EpilensError:
        pass
    except TooLongError:
        return f"more than {MOST_S:g} s"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:100]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return f"{grown / 1024:.0f} MB" if grown * 1024 > MOST_BYTES else ""


Job = tuple[str, int, int]
"""A reader, its first input, and the one at which to stop."""


def work(jobs: list[Job], beat: Path) -> None:
    """The worker: read inputs, say which one is read, print what was wrong."""

    def ring(*_: Any) -> None:
        raise TooLongError

    signal.signal(signal.SIGPROF, ring)
    warnings.simplefilter("ignore")
    os.nice(10)
    with beat.open("r+b") as file, mmap.mmap(file.fileno(), 24) as heart:
        for number, (name, first, last) in enumerate(jobs):
            heart[:] = struct.pack("qqd", number, -1, time.time())
            reader = next(r for r in READERS if r.name == name)
            valid, place = prepared(reader)
            warm_up(reader, valid, place)
            for i in range(first, last):
                heart[:] = struct.pack("qqd", number, i, time.time())
                if wrong := one_input(reader, valid, place, i):
                    print(json.dumps([name, i, wrong]), flush=True)
            heart[:] = struct.pack("qqd", number, last, time.time())
            shutil.rmtree(place.parent, ignore_errors=True)


def warm_up(reader: Reader, valid: list[bytes], place: Path) -> None:
    """Imports take seconds, and are no fault of an input; valid inputs must not be refused."""
    from epilens.core.errors import EpilensError, ModelError, OnsetError

    for text in valid:
        place.write_bytes(text)
        try:
            reader.read(place)
        except (OnsetError, ModelError):
            pass  # texts that mean no onset; a checkpoint of one branch
        except EpilensError as error:
            raise AssertionError(f"{reader.name}: a valid input was refused") from error


def fuzz(jobs: list[Job], until: float) -> tuple[dict[str, int], list[Any]]:
    """Read inputs in a watched worker; how far each reader came, and what was wrong."""
    reached, failures = {name: first for name, first, _ in jobs}, []
    with tempfile.TemporaryDirectory() as folder:
        beat, out = Path(folder) / "beat", Path(folder) / "out"
        while jobs and time.time() < until:
            beat.write_bytes(struct.pack("qqd", 0, -1, time.time()))
            command = [sys.executable, "-m", "benchmarks.fuzz", json.dumps(jobs), str(beat)]
            with out.open("w") as output, subprocess.Popen(command, stdout=output) as worker:
                while worker.poll() is None:
                    time.sleep(0.5)
                    since = struct.unpack("qqd", beat.read_bytes())[2]
                    if time.time() - since > WATCHED_S or time.time() > until:
                        worker.kill()
            number, i, _ = struct.unpack("qqd", beat.read_bytes())
            if i < 0 and worker.returncode and time.time() < until:
                raise RuntimeError(f"fuzz: {jobs[number][0]} could not be prepared")
            i = max(i, jobs[number][1])
            reached |= {name: last for name, _, last in jobs[:number]} | {jobs[number][0]: i}
            failures += [json.loads(line) for line in out.read_text().splitlines()]
            if worker.returncode == 0:
                break
            if time.time() < until:
                failures.append([jobs[number][0], i, f"ended the process ({worker.returncode})"])
                i += 1
            jobs = [(jobs[number][0], i, jobs[number][2]), *jobs[number + 1 :]]
    return reached, failures


def measure(*arguments: str) -> list[dict[str, Any]]:
    """Go on where the last run stopped."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks fuzz")
    parser.add_argument("--inputs", type=int, default=20_000, help="in all, over the readers")
    parser.add_argument("--minutes", type=float, default=60.0, help="stop then at the latest")
    given = parser.parse_args(arguments)
    state: dict[str, Any] = json.loads(STATE.read_text()) if STATE.exists() else {}
    until = time.time() + 60 * given.minutes
    weights = sum(reader.share for reader in READERS)
    jobs = []
    for reader in READERS:
        about = state.setdefault(reader.name, {"inputs": 0, "failures": []})
        more = round(given.inputs * reader.share / weights)
        jobs.append((reader.name, about["inputs"], about["inputs"] + more))
    reached, failures = fuzz(jobs, until)
    for name, i in reached.items():
        state[name]["inputs"] = i
        state[name]["failures"] += [rest for who, *rest in failures if who == name]
    STATE.parent.mkdir(exist_ok=True)
    STATE.write_text(json.dumps(state, indent=1))
    rows = [row(name, about["inputs"], "inputs") for name, about in state.items()]
    failed = sum(len(about["failures"]) for about in state.values())
    total = sum(about["inputs"] for about in state.values())
    return [*rows, row("all readers", total, "inputs"), row("failures", failed, "", most=0)]


if __name__ == "__main__":
    work(json.loads(sys.argv[1]), Path(sys.argv[2]))
