"""Names of simulated contacts, as each center spells them."""

from __future__ import annotations

import re

from epilens.simulation.patients import SimulatedPatient


def spell(patient: SimulatedPatient, contact: int) -> str:
    """The name of a contact as its center writes it."""
    name = patient.implant.names[contact]
    shaft, number = shaft_and_number(name)
    match patient.center.naming:
        case "eeg-ref":
            return f"EEG {shaft} {number:02d}-Ref"
        case "padded":
            return f"{shaft}{number:02d}"
        case "prime":
            return f"{shaft[1:]}'{number}" if shaft[0] == "L" else f"{shaft[1:]}{number}"
        case _:
            return name


def shaft_and_number(name: str) -> tuple[str, int]:
    """`LA12` → `LA`, 12."""
    return name.rstrip("0123456789"), int(re.sub(r"\D", "", name))
