"""All odd inputs: what must be said (a pattern), then name and files of every input.

Without a pattern the top five contacts stay, and nothing need be said.
"""

# ruff: noqa: I001
from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from benchmarks.odd_edits import (
    FLAT, Prepare, again, at_wrong_rate, averaged, background, bids, bipolar, clipped, copied,
    cut_to, doubled, fif, files, fill, filtered, first_file, folder_with_damage, gapped, given,
    halved, headed, linked_in_a_circle, loose, moved_all, noisy, noted, numbered, part, positioned,
    pulsed, renamed, replaced, replaced_by, resampled, scaled, shuffled, signals, sine, spelled,
    stimulated, times, where, with_bipolar, with_noise, with_options, with_scalp, with_table,
)  # fmt: skip
from benchmarks.odd_patient import VICTIM, interrupt, other_seizures, write_all


@dataclass(frozen=True)
class OddInput:
    """An input, and the pattern of what must be reported about it."""

    name: str
    prepare: Prepare
    says: str = ""
    verb: str = "localize"


UNTRUSTED = r"signal cannot be trusted|can be trusted|not as it should be"
QUESTIONED = r"Check the onset of seizure"
NOT_AN_ONSET = (
    *("seizure onset ruled out", "seizure onset 5 min ago", "no seizure onset"),
    *("seizure onset last night, see report", "seizure starts soon", "EEG onset unclear"),
    *("false seizure onset", "pseudo seizure onset", "seizure onset?", "onset of sleep"),
    *("test seizure onset", "possible seizure onset", "clinical onset"),
)
ALL = range(49)
ONSETS_TSV = "patient\trun\tonset_s\n" + "".join(f"\tseizure{i}\tsoon\n" for i in (1, 2, 3))

SIGNALS: dict[str, dict[str, Prepare]] = {
    UNTRUSTED: {
        "noise in one seizure, flat in others": files(
            {0: part(noisy), 1: part(FLAT), 2: part(FLAT)}
        ),
        "dead in two of three seizures": files({0: part(FLAT), 1: part(FLAT)}),
        "dead before onset, alive after it": files(part(FLAT, to_s=0)),
        "alive before onset, dead after it": files(part(FLAT, from_s=0)),
        "dead before onset in one seizure": files({1: part(FLAT, to_s=0)}),
        "dead from -10 s to onset": files(part(FLAT, from_s=-10, to_s=0)),
        "noise in every seizure": files(part(noisy)),
        "noise after onset only": files(part(noisy, from_s=0)),
        "clipped contact": files(part(clipped)),
        "mains only": files(part(lambda x: np.copyto(x, sine(x, 300)))),
        "top contact dead in one seizure": files({0: part(FLAT, "RB3")}),
        "broken contact that the user keeps": with_options(
            "--keep", VICTIM, prepare=files(part(FLAT, to_s=0))
        ),
        "a contact that is NaN before onset": fif(part(fill(np.nan), to_s=0)),
        "half of the contacts flat in one seizure": files({1: signals(lambda x, _: FLAT(x[::2]))}),
    },
    "impossible values": {
        "a sample of 1e12 µV": fif(part(fill(1e12, 18000))),
        "a sample of 1e12 µV before onset in a leading contact": fif(part(fill(1e12, 9000), "RB3")),
        "a sample of -1e12 µV in all contacts": fif(signals(lambda x, _: fill(-1e12)(x[:, 17000]))),
    },
    "2 of 3 seizures|flat": {
        "all contacts flat in one seizure": files({1: signals(lambda x, _: FLAT(x))})
    },
    "all contacts are constant": {
        "all contacts flat for 5 s before onset": files(
            signals(lambda x, s: FLAT(x[:, s.sample(-8) : s.sample(-3)]))
        ),
        "a dropout of 10 s before onset in all contacts": fif(
            signals(lambda x, s: x[:, s.sample(-15) : s.sample(-5)].fill(np.nan))
        ),
    },
    "constant|clipped|flat": {
        "all contacts saturated after onset": files(
            signals(lambda x, s: x[:, s.sample(0) + 1024 :].fill(2990))
        )
    },
    "gain had been changed": {
        "one contact 8 times as large after onset": files(part(times(8), from_s=0))
    },
    "gain or contact were changing": {
        "a gain that rises eightfold": files(
            part(lambda x: np.multiply(x, np.linspace(1, 8, len(x)), out=x))
        ),
    },
    "short bursts of noise or pulses": {
        "noise for 0.3 s every 2 s after onset": files(part(loose, from_s=0)),
        "stimulation of a contact for 10 s": files(part(stimulated, from_s=0, to_s=10)),
    },
    "precedes the given onset": {
        "a contact is active 6 s before onset": files(part(times(4), from_s=-6))
    },
    "": {
        "a sample that is infinite": fif(part(fill(np.inf, 18000))),
        "a sample that is NaN": fif(part(fill(np.nan, 18000))),
        "inverted polarity": files(part(times(-1))),
        "offset of 1 mV": files(part(lambda x: np.add(x, 1000, out=x))),
        "movement of all contacts at onset": files(signals(moved_all)),
        "stimulation until onset": files(signals(pulsed)),
        "mains of 500 µV in all contacts": files(replaced(lambda x: x + sine(x, 500))),
        "one seizure half as large": files({1: scaled(0.5)}),
    },
}

NAMES: dict[str, dict[str, Prepare]] = {
    "same contact": {
        "name twice, same signal": files(doubled(VICTIM, VICTIM)),
        "name twice, another signal": files(doubled("RB3", VICTIM)),
        "name of a leading contact twice, same signal": files(doubled("RB3", "RB3")),
        "contact under two spellings in one file": files(doubled("RB3", "RA 05")),
        "name with the reader's suffix": files(
            lambda s: spelled("EEG {0} {1:02d}-Ref")(doubled(VICTIM, VICTIM)(s))
        ),
    },
    "spelled differently": {"RB 1 in one recording": files({1: spelled("{0} {1}")})},
    "spelled": {
        "RB 01 in one recording": files({1: spelled("{0} {1:02d}")}),
        "EEG RB 01-Ref in one recording": files({2: spelled("EEG {0} {1:02d}-Ref")}),
        "rb1 in one recording": files({2: renamed(str.lower)}),
        "RB_1 in one recording": files({2: spelled("{0}_{1}")}),
        "RB-1 in one recording": files({2: spelled("{0}-{1}")}),
        "POL RB1 in one recording": files({2: spelled("POL {0}{1}")}),
    },
    "same contacts": {
        "other electrodes in one recording": files({1: renamed(lambda n: f"L{n[1]}X{n[2:]}")})
    },
    "same contacts|expected contacts": {
        "names 1 to 49 in one recording": files({1: numbered(lambda i: f"C{i + 1}")})
    },
    "not in every seizure": {
        "one electrode renamed in one recording": files(
            {1: renamed(lambda n: n.replace("RB", "RQ"))}
        ),
        "an electrode is missing in one recording": files({1: where(lambda n: n[:2] != "RB")}),
    },
    "contacts": {
        "numbers for names": files(numbered(lambda i: str(i + 1))),
        "letters for names": files(numbered(lambda i: f"X{chr(65 + i % 26)}{chr(65 + i // 26)}")),
    },
    "": {
        "channels in another order": files({1: shuffled}),
        "scalp electrodes among the contacts": files(with_scalp),
    },
}

HEADERS: dict[str, dict[str, Prepare]] = {
    "duration of 0|2 of 3": {
        "record duration 0": headed({"record_s": "0"}, (), *["--onset=36.0"] * 3)
    },
    "physical range|2 of 3": {
        "physical range 0/0 of all contacts": headed(
            {"physical_min": "0", "physical_max": "0"}, ALL
        )
    },
    "physical range": {
        "physical range 0/0 of one contact": headed({"physical_min": "0", "physical_max": "0"}, [4])
    },
    "digital range|2 of 3": {
        "digital range empty": headed({"digital_min": "0", "digital_max": "0"}, [4])
    },
    "lower rates": {"mixed rates": files({0: lambda s: replace(s, slow=frozenset(s.names[::2]))})},
    "unit": {
        "header says mV, values are µV": files(scaled(1.0, "mV")),
        "header says V, values are µV": files(scaled(1.0, "V")),
        "header says nV, values are µV": files(scaled(1.0, "nV")),
        "header says no unit": files(scaled(1.0, "")),
        "header says another quantity": files(scaled(1.0, "degC")),
    },
    "unit|amplitude": {
        "one seizure 1000 times too large": files({1: scaled(1000.0)}),
        "one seizure 1000 times too small": files({1: scaled(0.001)}),
    },
    UNTRUSTED + "|amplitude": {
        "one electrode in mV": files(scaled(0.001, contacts="RB")),
        "one electrode 1000 times too large": files(scaled(1000.0, contacts="RB")),
    },
    "rate|Hz": {"sidecar states another rate": bids(recording={"SamplingFrequency": 1024})},
    "does not match its header": {
        "file is cut off": first_file(
            lambda path: path.write_bytes((whole := path.read_bytes())[: int(len(whole) * 0.94)])
        )
    },
    "does not match": {"header promises more records": headed({"records": "90"})},
    "onset|rate|unlike": {"half the rate in one header": files({1: at_wrong_rate})},
    "rate|duration|samples|2 of 3": {
        "records of 1000 s": headed({"record_s": "1000"}, (), *["--onset=36"] * 3)
    },
    "": {
        "physical range inverted": headed({"physical_min": "3000", "physical_max": "-3000"}, [4]),
        "channels.tsv states another rate": bids(channels={"sampling_frequency": 256}),
        "channels.tsv states mV": bids(channels={"units": "mV"}),
        "header does not know how many records": headed({"records": "-1"}),
        "filter of the header makes no sense": headed({"filter": "HP:900Hz LP:0.1Hz"}, ALL),
        "one recording at half the rate": files({1: halved}),
        "recording in a dataset": bids(),
    },
}

TIMES: dict[str, dict[str, Prepare]] = {
    "interrupted": {
        "gap before onset, annotated by the clock": gapped(3, 44.0),
        "gap before onset, onset given by the clock": gapped(
            3, None, "--onset=44", "--onset=36", "--onset=36"
        ),
        "gap before onset, onset given in recorded signal": gapped(3, None, *["--onset=36"] * 3),
    },
    "2 of 3 seizures|gap of 8": {
        "gap 10 s before onset": gapped(26, 44.0),
        "gap 10 s after onset": gapped(46, 36.0),
    },
    "gap|interrupted|2 of 3": {
        "records that overlap": first_file(lambda path: interrupt(path, 10, -3))
    },
    "discontinuous": {
        "sidecar says discontinuous": bids(recording={"RecordingType": "discontinuous"})
    },
    "epoched|continuous|seizure": {
        "sidecar says epoched": bids(recording={"RecordingType": "epoched"})
    },
    QUESTIONED: {
        "onset 12 s early": given(24, 24, 24),
        "onset 8 s early": given(28, 28, 28),
        "onset 8 s late": given(44, 44, 44),
        "onset 12 s late": given(48, 48, 48),
        "one onset of three 12 s early": given(24, 36, 36),
        "one onset of three 12 s late": given(36, 36, 48),
        "onset annotated 12 s early": files(noted("EEG onset", 24.0)),
    },
    "onset": {
        "onset at 0 s": given(0, 0, 0),
        "one onset for three files": given(36),
        "annotation: Anfallsbeginn": files(noted("Anfallsbeginn")),
        "annotation: début de crise": files(noted("début de crise")),
        "annotation: EEG onset at the end of the file": files(noted("EEG onset", 69.9)),
        "marked onsets without a number": with_table("--onsets", "onsets.tsv", ONSETS_TSV),
    },
    "inside the recording": {
        "onset beyond the end": given(36, 36, 636),
        "onset in samples": given(36 * 512, 36 * 512, 36 * 512),
        "onset in milliseconds": given(36000, 36000, 36000),
    },
    "inside the recording|onset": {"negative onset": given(-36, 36, 36)},
    "decimal point": {"onset with a decimal comma": given("36,0", 36, 36)},
    "expected seconds": {
        "onset as a word": given("noon", 36, 36),
        "clock time that does not exist": given("25:00:00", 36, 36),
    },
    "clock time": {
        "clock time of another day": given(*["2026-01-06 00:00:36"] * 3),
        "clock time outside the file": given("14:03:07", 36, 36),
    },
    "onset|number": {"onset as not a number": given("nan", 36, 36)},
    "onset|number|inside": {"onset as infinity": given("inf", 36, 36)},
    "onset|2 of 3 seizures": {f"annotation: {text}": files(noted(text)) for text in NOT_AN_ONSET},
    "found only those of others": {
        "marked onsets of another patient": with_table(
            "--onsets", "onsets.tsv", "patient\trun\tonset_s\nP9\tother\t36\n"
        )
    },
    "": {
        "gap after the seizure": gapped(68, 36.0),
        "clock time from the start": given(*["00:00:36"] * 3),
        "clock time with a date": given(*["2026-01-05 00:00:36"] * 3),
        "two onsets 1 s apart in one file": files(
            lambda s: replace(s, notes=((36.0, "EEG onset"), (37.0, "EEG onset")))
        ),
        **{
            f"annotation: {text}": files(noted(text))
            for text in ("Seizure onset", "sz onset", "SEIZURE START", "EEG Onset")
        },
    },
}

EXPORTS: dict[str, dict[str, Prepare]] = {
    "show the same signal": {
        "a contact shows the signal of a leading one": files(copied("RB3", VICTIM)),
        "all contacts of an electrode show one signal": files(
            copied("RB3", *(f"RB{i}" for i in range(1, 13)))
        ),
        "a contact shows another one's signal in one seizure": files({1: copied("RB3", VICTIM)}),
    },
    r"above \d+ Hz": {
        "low-pass at 30 Hz in one recording": files({1: filtered("low", 30)}),
        "low-pass at 70 Hz in all recordings": files(filtered("low", 70)),
    },
    "almost nothing slow": {
        "high-pass at 10 Hz in one recording": files({1: filtered("high", 10)}),
    },
    "same contacts|not in every seizure": {"bipolar in one recording": files({1: bipolar})},
    "differences of two contacts": {"contacts and pairs in one file": files(with_bipolar)},
    "disagree|unlike": {
        "names one contact off in one recording": files(
            {1: replaced(lambda x: np.roll(x, 1, axis=0))}
        ),
    },
    "Check the onset|No contact": {"background instead of seizures": files(background)},
    "same contacts|disagree|not in every": {
        "one seizure of another person": files({1: lambda _: other_seizures()[0]}),
    },
    "different values": {"steps of 100 µV": files(replaced(lambda x: 100 * np.round(x / 100)))},
    "All 12 contacts are of electrode RB": {
        "one electrode only": files(where(lambda n: n[:2] == "RB")),
    },
    "Only 3 contacts": {"three contacts": files(where(lambda n: n in ("RB3", "RB4", "RA5")))},
    "repeats the signal|exported again": {"the same file twice": again(lambda s: s)},
    "exported again|repeats": {
        "exported with another quantisation": again(lambda s: replace(s, limit=20000.0)),
        "exported at another rate": again(resampled),
        "exported with another cut": again(cut_to(25, 25)),
        "exported with the onset 2 s later": again(noted("EEG onset", 38.0)),
        "the seizure again against the average": again(averaged),
        "the seizure again with inverted polarity": again(replaced(lambda x: -x)),
    },
    "exported again": {
        "exported with another gain and noise": again(replaced(with_noise)),
        "the seizure again through a filter": again(filtered("low", 70)),
    },
    "2 of 3": {
        "one recording without onset": files({1: noted("patient asleep")}),
        "a text under the name of a recording": replaced_by(b"hello" * 100),
        "a workbook under the name of a recording": replaced_by(b"PK\x03\x04" * 99),
    },
    "2 of 3|empty": {"an empty file": replaced_by(b"")},
    "recorded is not used|needs": {"clips of 20 s": files(cut_to(10, 10))},
    "reference|needs|before onset": {"clips from 2 s before onset": files(cut_to(2, 28))},
    "after onset|needs|short": {"clips until 2 s after onset": files(cut_to(30, 2))},
    "does not use 1 of 3": {
        "one clip of 20 s among whole recordings": files({1: cut_to(10, 10)}),
    },
    "link": {"links in a circle": linked_in_a_circle},
    r"^(?!.*secret).*credentials": {
        "a password in an address": lambda folder: [
            "https://me:secret@127.0.0.1:9/model", *write_all(folder, {})
        ],
    },
    "": {
        "common average in one recording": files({1: averaged}),
        "background instead of one seizure": files({1: background}),
    },
}  # fmt: skip

LISTS: dict[str, dict[str, Prepare]] = {
    "not": {"resection not RB1": with_options("--resected", "RB1-4, not RB2")},
    "but|contacts": {"resection all but RB1": with_options("--resected", "RB but RB1")},
    "ZZ|resect|contact": {"resection of unknown contacts": with_options("--resected", "ZZ1-4")},
    "resect|contact": {"resection as a word": with_options("--resected", "temporal lobe")},
    "expected a channel": {
        "contact to exclude that nobody has": with_options("--exclude", "ZZ9"),
        "bad channels that nobody has": with_table(
            "--exclude", "channels.tsv", "name\tstatus\nZZ1\tbad\n"
        ),
    },
    "look like metres": {"electrodes in metres": positioned(0.001)},
    "other side than the names": {"left and right exchanged": positioned(-1.0)},
    "mm apart": {"electrodes in cm": positioned(0.1)},
    "RB1|twice|more than": {"electrodes named twice": positioned(extra=["RB1\t0\t0\t0"])},
    "space|coordinate|region": {"electrodes without a space": positioned(space=())},
    "not numbers": {"electrodes with a letter for a number": positioned(extra=["RZ1\t1O\t2\t3"])},
    "z|column": {"electrodes without a z": positioned(header="name\tx\ty\tq")},
    "electrodes|position|contact": {
        "electrodes of nobody": with_table(
            "--electrodes", "electrodes.tsv", "name\tx\ty\tz\nZZ1\t1\t2\t3\n"
        )
    },
    "": {
        "resection RB1..3": with_options("--resected", "RB1..3"),
        "resection backwards": with_options("--resected", "RB3-1"),
        "excluded by its short name": with_options("--exclude", "ra05"),
        "electrodes in mm": positioned(),
    },
}

CLEAN = OddInput("clean recordings", files({}))
INPUTS = (
    *(
        OddInput(name, prepare, says)
        for table in (SIGNALS, NAMES, HEADERS, TIMES, EXPORTS, LISTS)
        for says, inputs in table.items()
        for name, prepare in inputs.items()
    ),
    OddInput("a folder with a damaged file", folder_with_damage, "seizure1", verb="onset"),
)
