"""For tests of EpiLENS and of what is added to it: small patients, and the contract of methods."""

from epilens.testing.contract import METHOD_CHECKS, QUICK, Trial, check_method, contract_patients
from epilens.testing.patients import make_cohort, make_cube, make_patient, make_recording, make_run

__all__ = [
    "METHOD_CHECKS",
    "QUICK",
    "Trial",
    "check_method",
    "contract_patients",
    "make_cohort",
    "make_cube",
    "make_patient",
    "make_recording",
    "make_run",
]
