"""A user's files → `Recording`s in µV, with an audit of everything that was left out.

The path of the data, in order of reading:

1. `discovery`: what the user gave. `sidecars`: the files of a BIDS dataset.
2. `load_patient` (one patient) and `bids` (a cohort) list the seizures: `bids_scan` and `bids_runs`
   from the sidecars of a BIDS dataset, `bare_files` from a file without sidecars.
   `onsets/` says when each begins, `channels/` which channels are contacts, `electrodes/` where
   they lie, `labels/` which of them are EZ. `datasets/` has one row for each dataset.
3. `read_seizures` reads them one by one: `readers/` open the file, `recording` reads the interval
   around the onset, `montage` re-references it, `duplicates` recognises a seizure that was read.

In addition, `used_onsets` says which onsets will be used, `chunked_reader` reads whole recordings,
`cohort` summarises patients, `fetch` downloads datasets, `audit` defines the rows of the audit, and
`user_files`, `yes_no` and `participants` read what people write into tables. `quiet` silences
libraries that open a file.
"""
