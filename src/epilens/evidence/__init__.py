"""Recordings → cubes: descriptors per window, channel and seizure, and their four views.

In order of reading:

1. `windows` places the windows, `descriptors` computes what each contains (`fused`, `kernels` and
   `blocks` make it fast; `released_descriptors` are those of the authors' code).
2. `describe` makes the cube of a patient, `cube` states its rules, `views` derives the four views.
3. `contact_features` and `contact_table` are the evidence of `lens`; other methods read `signals`
   or `traces`. `seizures` fills all of them in one pass over the recordings.
4. `store` describes a whole cohort, `files` opens what it wrote, `keys` says whether it is up to
   date, `plan_match` whether it fits a plan; `zarr_store` and `zip_store` are the format on disk.
"""
