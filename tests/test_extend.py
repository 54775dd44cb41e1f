"""The modules of docs/developer/extend.md work: built, installed and used as a package."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from epilens.core.errors import ModelError, PlanError
from epilens.networks.model import open_model
from epilens.plan import Plan

PAGE = (Path(__file__).parents[1] / "docs" / "developer" / "extend.md").read_text(encoding="utf-8")
MODULES = dict(re.findall(r'```python title="(\w+)\.py"\n(.*?)```', PAGE, flags=re.DOTALL))
PROJECT, CHOICE = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """An environment with EpiLENS as it is here and the example package; its interpreter."""
    here = tmp_path_factory.mktemp("plugin")
    source = here / "epilens-example"
    package = source / "epilens_example"
    package.mkdir(parents=True)
    (source / "pyproject.toml").write_text(PROJECT)
    (package / "__init__.py").write_text('"""An example."""\n')
    for name, text in MODULES.items():
        (package / f"{name}.py").write_text(text)
    venv.create(here / "env", with_pip=False)
    python = here / "env" / "bin" / "python"
    # Everything that is installed here, without installing it again.
    (site,) = (here / "env" / "lib").glob("python*/site-packages")
    (site / "here.pth").write_text("\n".join(p for p in sys.path if p and Path(p).is_dir()) + "\n")
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    options = ["--no-index", "--no-deps", "--no-build-isolation", str(source)]
    subprocess.run([*command, *options], check=True, capture_output=True)
    return python


def ask(python: Path, *arguments: str) -> str:
    done = subprocess.run(
        [str(python), "-m", "epilens", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_code(python: Path, code: str, *arguments: str) -> str:
    done = subprocess.run(
        [str(python), "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_example_is_short():
    assert set(MODULES) == {"method", "model", "descriptor", "dataset", "analysis"}
    for name, text in MODULES.items():
        lines = [line for line in text.splitlines() if line.strip()]
        assert len(lines) < (50 if name == "model" else 40), name


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("methods", "growth"),
        ("methods", "change"),
        ("descriptors", "log_spindle_power"),
        ("datasets", "our-center"),
        ("analyses", "flagged"),
    ],
)
def test_rows_of_another_package_are_listed_with_their_origin(installed, kind, name):
    rows = {row["name"]: row for row in json.loads(ask(installed, "list", kind, "--json"))}
    assert rows[name]["from"] == "epilens-example"
    assert {row["from"] for row in rows.values()} == {"epilens", "epilens-example"}


def test_its_author_can_check_a_method(installed):
    run_code(installed, "from epilens.testing import check_method; check_method('growth')")


TRAINED = """
import sys
from pathlib import Path
import numpy as np
import epilens
from epilens.networks.model import open_model, save_model
from epilens.testing import check_method, make_cohort, make_recording

check_method("change")
here = Path(sys.argv[1])
plan = epilens.Plan(seeds=(1,)).override(splits={"folds": 2}, change={"seconds": 5.0})
model = epilens.train(plan, make_cohort(here / "cubes"), method="change")
again = open_model(save_model(model, here / "model"))
assert (again.kind, len(again), again[0].parts["change"].seconds) == ("change", 2, 5.0)
part = make_recording(channels=[f"{s}{i}" for s in "AB" for i in range(1, 5)])
ours, theirs = (epilens.localize([part], one) for one in (model, here / "model"))
np.testing.assert_array_equal(ours.scores.p_nez, theirs.scores.p_nez)
assert theirs.source.title == "Example model (mean change)" and theirs.why is None
assert len(set(theirs.scores.p_nez)) > 1 and set(theirs.decisions) <= {"EZ", "NEZ", "abstained"}
print(theirs.save(here / "out").read_text(encoding="utf-8").count("Example model"))
"""


def test_a_method_of_another_package_is_trained_saved_and_localizes(installed, tmp_path):
    assert int(run_code(installed, TRAINED, str(tmp_path))) > 0
    shown = ask(installed, "model", "show", str(tmp_path / "model"))
    assert "each one fitted object" in shown
    with pytest.raises(ModelError, match=r"Install the package that provides it"):
        open_model(tmp_path / "model")  # the package is not installed here


SECTION = """
from epilens.methods.inputs import method_inputs
from epilens.plan import Plan
from epilens.core.errors import PlanError
plan = Plan()
assert plan.section("change").seconds == 10.0
assert plan.override(change={"seconds": 10.0}).digest == plan.digest
other = plan.override(change={"seconds": 5.0})
assert other.digest != plan.digest and other.change.seconds == 5.0
assert other.differences(plan) == [("change.seconds", 5.0, 10.0)]
assert plan.differences(other) == [("change.seconds", 10.0, 5.0)]
assert Plan.of({"change": {"seconds": 5.0}}) == other and "[change]" in other.to_toml()
assert method_inputs("change", plan) != method_inputs("change", other)
assert method_inputs("prq", plan) == method_inputs("prq", other)
for tree in ({"change": {"second": 1}}, {"change": {"seconds": -1}}, {"chang": {}}):
    try:
        Plan.of(tree)
    except PlanError as error:
        print(error)
print(plan.digest)
"""


def test_a_method_of_another_package_has_a_section_of_the_plan(installed):
    *problems, digest = run_code(installed, SECTION).splitlines()
    assert problems == [
        "plan: unknown key 'change.second'. Did you mean 'seconds'?",
        "plan: change.seconds: Input should be greater than 0; found -1. Correct this value.",
        "plan: unknown key 'chang'. Did you mean 'change'?",
    ]
    assert digest == Plan().digest  # an installed package changes no digest
    with pytest.raises(PlanError, match="unknown key 'change'"):
        Plan.of({"change": {}})


def test_the_four_go_all_the_way(installed, tiny, tmp_path):
    """Its dataset, described with its descriptor, its method run, its analysis on the page."""
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'name = "mine"\nseeds = [1]\nmethods = ["growth", "line-length-change", "random"]\n'
        + CHOICE
        + "[splits]\nfolds = 2\n"
    )
    root = str(tiny / "south")  # its labels are in a column soz
    cubes, runs = str(tmp_path / "cubes"), str(tmp_path / "runs")
    others = [str(tiny / name) for name in ("north", "west")]
    ask(installed, "describe", root, "--dataset", "our-center", "--plan", str(plan), "--out", cubes)
    ask(installed, "describe", *others, "--plan", str(plan), "--out", cubes)
    folder = ask(installed, "run", str(plan), "--cubes", cubes, "--out", runs).strip()
    table = {row["method"] for row in json.loads(ask(installed, "score", folder, "--json"))}
    assert table == {"growth", "line-length-change", "random"}
    flagged = json.loads(ask(installed, "analyse", "flagged", folder, "--json"))
    assert {row["method"] for row in flagged} == table
    page = Path(ask(installed, "reproduce", folder, "--out", str(tmp_path / "page")).strip())
    text = page.read_text(encoding="utf-8")
    assert "Flagged and annotated contacts" in text
    assert "flagged EZ contacts" in (page.parent / "figures" / "flagged.svg").read_text("utf-8")


def test_a_plugin_s_descriptor_reaches_the_sentence_of_the_page(installed, tiny, tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text(CHOICE)
    page = ask(
        installed, "localize", "growth", str(tiny / "south"), "--patient", "S01", "--plan",
        str(plan), "--out", str(tmp_path / "out"),
    ).strip()  # fmt: skip
    assert "spindle-band power" in Path(page).read_text(encoding="utf-8")


BROKEN = {
    "raises": "raise RuntimeError('half an installation')\n",
    "exits": "raise SystemExit(3)\n",
    "empty": "",
    "strange": "ENTRIES = (1, 2)\n",
    "taken": "from epilens.methods import METHODS, Method\n"
    "ENTRIES = (Method('prq', 'Mine', 'cube', 'me', None),)\n",
    "hostile": "from epilens.methods import Method\n"
    "ENTRIES = (Method('../../x', 'Mine', 'cube', 'me', None),)\n",
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_plugin_is_one_warning_that_names_it(tmp_path, kind):
    (tmp_path / "broken_plugin.py").write_text(BROKEN[kind])
    info = tmp_path / "broken_plugin-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-plugin\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[epilens.methods]\nmine = broken_plugin\n")
    code = (
        "import sys\nsys.path.insert(0, sys.argv[1])\nfrom epilens.cli import main\n"
        "main(['list', 'methods', '--json'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    line, after = done.stderr.strip().splitlines()
    assert after.startswith("next: ")
    assert line.startswith("warning: broken-plugin: its method plugin 'mine' (broken_plugin)")
    assert "prq" in {row["name"] for row in json.loads(done.stdout)}
