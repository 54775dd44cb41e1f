"""The public plan from files to page, on simulated signals under the two datasets' real names.

North writes like ds004100 (EDF, words in status_description), East like ds003029 (BrainVision,
clinical sheet): renamed to patients of these datasets, they are read as those are.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import openpyxl
import pytest
from typer.testing import CliRunner

from epilens.cli import app
from epilens.data.bids import read_bids
from epilens.plan import Plan
from epilens.simulation import simulate

HUP = {"N01": "HUP064", "N02": "HUP065", "n01": "HUP070", "n02": "HUP074"}
MULTISITE = {"E01": "pt2", "E02": "pt3", "e01": "ummc003", "e02": "umf001"}
SPELT = {"ummc003": "ummc_003"}
"""How the clinical sheet spells a patient."""


def disguise(source: Path, target: Path, names: dict[str, str], doi: str) -> None:
    """Copy a simulated center with other patients' names into a tree that has another DOI."""
    for path in sorted(p for p in source.rglob("*") if p.is_file()):
        old = next((name for name in names if f"sub-{name}" in str(path)), None)
        if "sub-" in str(path.relative_to(source)) and old is None:
            continue
        relative = str(path.relative_to(source))
        place = target / (relative.replace(f"sub-{old}", f"sub-{names[old]}") if old else relative)
        place.parent.mkdir(parents=True, exist_ok=True)
        if old and path.suffix in (".tsv", ".json", ".vhdr", ".vmrk"):
            text = path.read_text(encoding="utf-8")
            place.write_text(text.replace(f"sub-{old}", f"sub-{names[old]}"), encoding="utf-8")
        elif not place.exists():
            shutil.copy(path, place)
    description = json.loads((target / "dataset_description.json").read_text())
    description.pop("GeneratedBy", None)
    text = json.dumps(description | {"Name": "Test", "DatasetDOI": doi})
    (target / "dataset_description.json").write_text(text)


def rename_rows(path: Path, names: dict[str, str]) -> list[str]:
    """Rows of participants.tsv whose patients are renamed; the header first."""
    head, *rows = path.read_text(encoding="utf-8").splitlines()
    kept = [head]
    for row in rows:
        old = row.split("\t")[0].removeprefix("sub-")
        if old in names:
            kept.append(row.replace(f"sub-{old}", f"sub-{names[old]}", 1))
    return kept


@pytest.fixture(scope="module")
def public(tmp_path_factory, tiny):
    root = tmp_path_factory.mktemp("public")
    simulate(root / "more", "tiny", seed=1, jobs=1)
    cohorts = {
        "ds004100": ("north", HUP, "doi:10.18112/openneuro.ds004100.v1.1.3"),
        "ds003029": ("east", MULTISITE, "doi:10.18112/openneuro.ds003029.v1.0.7"),
    }
    for name, (center, names, doi) in cohorts.items():
        first = {k: v for k, v in names.items() if k.isupper()}
        second = {k.upper(): v for k, v in names.items() if k.islower()}
        sources = [(tiny / center, first), (root / "more" / center, second)]
        people: list[str] = []
        for source, some in sources:
            disguise(source, root / name, some, doi)
            rows = rename_rows(source / "participants.tsv", some)
            people += rows[1:] if people else rows
        (root / name / "participants.tsv").write_text("\n".join(people) + "\n", encoding="utf-8")
    clinical_sheet(root, tiny)
    return root


def clinical_sheet(root: Path, tiny: Path) -> None:
    """One sheet for all patients of ds003029, at its real place."""
    book = openpyxl.Workbook()
    page = book.active
    for n, source in enumerate((tiny / "east", root / "more" / "east")):
        old = openpyxl.load_workbook(source / "sourcedata" / "clinical_data_summary.xlsx").active
        head, *rows = old.iter_rows(values_only=True)
        if n == 0:
            page.append(head)
        for row in rows:
            number = int(str(row[0]).lower().strip("e_"))  # the sheet writes E1 for E01
            code = f"E{number:02d}"
            new = MULTISITE[code.lower() if n else code]
            page.append([SPELT.get(new, new), *row[1:]])
    book.save(root / "ds003029" / "sourcedata" / "clinical_data_summary.xlsx")


def invoke(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout.strip().splitlines()[-1]


def test_the_trees_are_recognised_with_their_own_rules(public):
    hup, multisite = (read_bids(public / name, None) for name in ("ds004100", "ds003029"))
    assert {p.center for p in hup.patients} == {"HUP"}
    assert {p.center for p in multisite.patients} == {"Multi-site"}
    assert {p.name for p in multisite.patients} <= {f"sub-{name}" for name in MULTISITE.values()}
    assert all(p.ez for p in (*hup.patients, *multisite.patients))


def test_the_public_plan_goes_from_files_to_page(public, tmp_path):
    """What docs/reference/analyses.md writes as one line, with fewer folds and epochs."""
    plan = Plan.load(Path(__file__).parents[1] / "plans" / "public.toml")
    small = plan.override(
        smoke=True,
        seeds=(1,),
        splits={"folds": 2, "validation": 0.3},
        training={"epochs": 1, "least_epochs": 1},
        baselines={"epochs": 1},
        methods=("logistic-z", "epileptogenicity-index", "prq", "bcr", "cdel"),
    )
    (tmp_path / "public.toml").write_text(small.to_toml())
    trees = (public / "ds004100", public / "ds003029")
    cubes, runs = tmp_path / "cubes", tmp_path / "runs"
    invoke("describe", *trees, "--plan", tmp_path / "public.toml", "--out", cubes)
    folder = invoke("run", tmp_path / "public.toml", "--cubes", cubes, "--out", runs)
    page = Path(invoke("reproduce", folder, "--out", tmp_path / "page"))
    text = page.read_text(encoding="utf-8")
    assert "For research, not for diagnosis." in text
    assert "Quick test" in text
    assert "Comparison of methods" in text
    for own in ("http://www.w3.org", "http-equiv", 'href="https://doi.org/'):  # nothing is loaded
        text = text.replace(own, "")
    assert "http" not in text
    assert (tmp_path / "page" / "tables" / "main.tex").read_text().count(r"\\") > 4
    assert (tmp_path / "page" / "figures" / "fusion.pdf").read_bytes().startswith(b"%PDF")
    assert "Not in this run" in text  # ablations and leave-one-center-out, with the command
