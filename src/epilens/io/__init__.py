"""Files: atomic writes, output folders, locks, safe reading, remote stores.

`atomic` writes files that are complete or absent, `outputs` knows whose folder it is, `locks` keeps
two writers apart, `safe_read` and `documents` read what others wrote, `os_errors` explains errors
of the system. `delimited` and `xlsx` are tables. `urls`, `remote`, `remote_folder` and
`object_store` do the same at a URL.
"""
