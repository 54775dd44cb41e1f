"""docs/extend.md is true: its four modules as a package of their own, built, installed, used."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "extend.md").read_text(encoding="utf-8")
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
    assert set(MODULES) == {"method", "descriptor", "dataset", "analysis"}
    for name, text in MODULES.items():
        lines = [line for line in text.splitlines() if line.strip()]
        assert len(lines) < 40, name


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("methods", "growth"),
        ("descriptors", "log_spindle_power"),
        ("datasets", "our-center"),
        ("analyses", "called"),
    ],
)
def test_rows_of_another_package_are_listed_with_their_origin(installed, kind, name):
    rows = {row["name"]: row for row in json.loads(ask(installed, "list", kind, "--json"))}
    assert rows[name]["from"] == "epilens-example"
    assert {row["from"] for row in rows.values()} == {"epilens", "epilens-example"}


def test_its_author_can_check_a_method(installed):
    run_code(installed, "from epilens.testing import check_method; check_method('growth')")


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
    called = json.loads(ask(installed, "analyse", "called", folder, "--json"))
    assert {row["method"] for row in called} == table
    page = Path(ask(installed, "reproduce", folder, "--out", str(tmp_path / "page")).strip())
    text = page.read_text(encoding="utf-8")
    assert "Called and annotated contacts" in text
    assert "called EZ contacts" in (page.parent / "figures" / "called.svg").read_text("utf-8")


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
