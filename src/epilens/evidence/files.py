"""Patients on disk: the cube and the stores next to it, one zip file each.

CUBES/sub-01.zarr.zip, CUBES/{features,traces,signals}/sub-01.zarr.zip (`zip_store`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from epilens.core.errors import CubeError, DamagedError, did_you_mean
from epilens.core.html_repr import RESEARCH, SIMULATED, bars, card
from epilens.data.user_files import natural
from epilens.evidence.cube import check, joined
from epilens.evidence.zip_store import attributes_of, damaged_error, open_store, save_store
from epilens.io.atomic import load_json
from epilens.io.remote import download, local_file, names_on_demand, remove_file
from epilens.io.remote_folder import ON_DEMAND as SUFFIX


def save(cube: xr.Dataset, path: str | Path) -> Path:
    """Write a cube atomically."""
    return save_store(check(cube), path)


def open_cube(path: str | Path) -> xr.Dataset:
    """Read a cube into memory."""
    local_file(Path(path))
    try:
        with open_store(path) as store:
            cube = store.load()
    except DamagedError:
        raise
    except Exception as error:  # zarr raises many kinds for a damaged store
        raise CubeError(
            f"{path}: expected a cube, found a store that cannot be read ({type(error).__name__}). "
            "Repair it: run `epilens describe` again."
        ) from error
    return check(cube)


def store_path(path: str | Path, store: str) -> Path:
    """The file of a patient's cube, or of a store next to it."""
    path = Path(path)
    return path if store == "cube" else path.parent / store / path.name


def key_of(path: str | Path, store: str = "cube") -> str:
    """Digest of all that a method reads: the cube, and the store next to it if it reads one.

    A method that reads traces or signals reads the cube's masks and labels too.
    """
    if store == "cube":
        return _key(path)
    store_file = store_path(path, store)
    if not local_file(store_file).exists():
        raise _missing_error(store_file, store, "none")
    return f"{_key(path)}-{_key(store_file)}"


def _key(path: str | Path) -> str:
    key = attributes_of(path).get("key")
    if not isinstance(key, str):
        raise CubeError(
            f"{path}: expected a key of what it was made from, found none. Write it with `epilens "
            "describe`."
        )
    return key


def open_patient(path: str | Path, store: str = "cube") -> xr.Dataset:
    """Open a cube; with `features`, `traces` or `signals`, add the variables of that store.

    The arrays of the store are read on access and not cached.
    """
    cube = open_cube(path)
    if store == "cube":
        return cube
    store_file = store_path(path, store)
    try:
        added = open_store(store_file)
    except DamagedError:
        raise
    except Exception as error:  # zarr raises many kinds for a damaged store
        why = f"none that can be read ({type(error).__name__})"
        raise _missing_error(store_file, store, why) from error
    for axis in ("seizure", "channel"):
        if added[axis].values.tolist() != cube[axis].values.tolist():
            raise _missing_error(store_file, store, f"those of other {axis}s")
    if cube.attrs.get("recordings") != added.attrs.get("recordings"):
        raise _missing_error(store_file, store, "those of other recordings, or of other settings")
    return joined(cube, added)


def _missing_error(store_file: Path, store: str, why: str) -> CubeError:
    return CubeError(
        f"{store_file}: expected the {store} of a patient, found {why}. Write them with `epilens "
        f"describe --plan PLAN`, where the plan has a method that reads {store}."
    )


class Cohort(Mapping[str, xr.Dataset]):
    """Patients of a folder of cubes, in natural order; a cube is read on access.

    Examples
    --------
    >>> from epilens.testing import make_run
    >>> cohort = make_run().cohort
    >>> len(cohort), cohort.table["center"].tolist()[:2]
    (8, ['Center 1', 'Center 2'])
    """

    def __init__(self, paths: Mapping[str, Path], summary: Mapping[str, Any] | None = None):
        self._paths = dict(paths)
        self.summary = dict(summary or {})

    def __getitem__(self, patient: str | int) -> xr.Dataset:
        """The cube of a patient by name, or by position."""
        patient = list(self._paths)[patient] if isinstance(patient, int) else patient
        if patient not in self._paths:
            raise CubeError(
                f"cohort: expected one of {len(self)} patients, found {patient!r}. "
                f"{did_you_mean(patient, self._paths)}"
            )
        cube = open_cube(self._paths[patient])
        self._check_patient(patient, cube.attrs)
        return cube

    def __contains__(self, patient: object) -> bool:
        return patient in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def path(self, patient: str) -> Path:
        """The file of a patient's cube."""
        return self._paths[patient]

    def attributes(self, patient: str) -> dict[str, Any]:
        """Attributes of a patient's cube, checked to be this patient's; arrays are not read."""
        about = attributes_of(self._paths[patient])
        self._check_patient(patient, about)
        return about

    def _check_patient(self, patient: str, about: Mapping[str, Any]) -> None:
        if (other := about.get("patient", patient)) != patient:
            raise damaged_error(self._paths[patient], f"it is the cube of {str(other)[:40]!r}")

    @property
    def table(self) -> pd.DataFrame:
        """A row per patient: center, seizures, channels, EZ channels; no array is read."""
        names = ["center", "seizures", "channels", "ez_channels", "simulated"]
        rows = []
        for patient in self:
            about = self.attributes(patient)
            rows.append({"patient": patient} | {name: about.get(name) for name in names})
        return pd.DataFrame(rows, columns=["patient", *names])

    def __repr__(self) -> str:
        first = next(iter(self._paths), "nobody")
        return f"Cohort({len(self)} patients, the first {first!r})"

    def _repr_html_(self) -> str:
        table = self.table
        facts = {"patients": len(self), "centers": table["center"].nunique()}
        simulated = bool(table["simulated"].fillna(False).any())
        columns = table.drop(columns="simulated").dropna(axis="columns", how="all")
        counts = pd.to_numeric(table["channels"]).tolist()  # NaN of cubes that do not say
        picture = bars(counts, "channels by patient") if "channels" in columns else ""
        return card("Cohort", facts, columns, picture, [SIMULATED] * simulated + [RESEARCH])


def cubes_in(folder: str | Path) -> dict[str, Path]:
    """Files of the cubes in a folder by patient, in natural order; some may be remote still."""
    folder = Path(folder)
    remote = [name for name in names_on_demand(folder) if "/" not in name]
    names = [path.name for path in folder.glob(f"*{SUFFIX}")]
    names += [name for name in remote if name.endswith(SUFFIX)]
    patients = sorted((name.removesuffix(SUFFIX) for name in names), key=natural)
    return {patient: folder / f"{patient}{SUFFIX}" for patient in patients}


def remove_stores(cube: str | Path, names: Iterable[str]) -> None:
    """Remove the cube of a patient, and the stores next to it, if they exist."""
    for name in names:
        remove_file(store_path(cube, name))


def open_cohort(path: str | Path) -> Cohort:
    """The cubes of a folder, or of a store with a URL, that `epilens describe` wrote.

    Parameters
    ----------
    path : path or str
        Folder, or the URL of a store.

    Returns
    -------
    Cohort
        Patients by name or position, each a cube (`xarray.Dataset`) that is read on access;
        `.table` has a row per patient.

    Examples
    --------
    >>> from epilens.testing import make_run
    >>> cohort = open_cohort(make_run().cubes)
    >>> cohort
    Cohort(8 patients, the first 'sub-01')
    >>> cohort["sub-02"].attrs["center"], cohort[1].attrs["patient"]
    ('Center 2', 'sub-02')
    """
    path = download(path)
    cubes = cubes_in(path)
    if not cubes:
        raise CubeError(
            f"{path}: expected a folder with cubes (*{SUFFIX}), found none. Write them with "
            "`epilens describe`."
        )
    return Cohort(cubes, _summary_in(path))


def _summary_in(folder: Path) -> dict[str, Any]:
    """The content of `cohort.json`; empty if it is missing or damaged, as cubes contain it too."""
    try:
        about = load_json(folder / "cohort.json")
    except (OSError, ValueError):
        return {}
    return about if isinstance(about, dict) else {}
