"""The local web application: traces, marks and pages of patients, for one person at one machine.

- Server: `start` and `server`; `security` checks every request; `session` knows the patients.
- Traces: routes in `traces`; `signals`, `recording_cache` and `display` read and draw excerpts;
  `marks` and `mark_store` keep onsets and bad contacts; `file_onsets` says which onset is used.
- Runs: routes in `routes`, work in `service`; `runs` stores analyses, `jobs` and `worker` compute
  them, `batch` computes many, `comparison` compares two.
- Readings: `readings`, `reading_store` and `reading_export`; `agreement` compares readers.
- `requests` and `responses` are the JSON of the browser; `pages` is `epilens view`.
"""
