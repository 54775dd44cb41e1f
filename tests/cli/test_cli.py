"""The command line as people use it: exit codes, one thing on stdout, one sentence for mistakes."""

from __future__ import annotations

import json
import re

import pytest
from commands import epilens as run

import epilens
from epilens.cli import main


def test_cohort_prints_json_with_the_contract_s_fields(tiny):
    done = run("cohort", *sorted(p for p in tiny.iterdir() if p.is_dir()), "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert {"total", "centers", "patients", "excluded"} <= set(summary)
    assert summary["total"]["patients"] == 8
    # One more is stored twice and counts once.
    assert summary["total"]["seizures"] == 15
    assert summary["total"]["seizures_excluded"] == 4
    assert summary["total"]["channels"] == 102
    assert summary["total"]["ez_channels"] == 25
    assert len(summary["centers"]) == 4
    assert all({"what", "where", "why"} <= set(row) for row in summary["excluded"])


def test_the_next_step_of_cohort_repeats_its_options(tiny, tmp_path):
    plan = tmp_path / "mine.toml"
    plan.write_text('name = "mine"\n')
    done = run("cohort", tiny / "south", "--plan", plan)
    assert done.stderr.splitlines()[-1].endswith(f"south --plan {plan} --out CUBES")


def test_cohort_prints_tables_that_fit_and_says_what_is_simulated(tiny):
    done = run("cohort", tiny / "south")
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 110
    assert "nothing computed from them is clinical evidence" in " ".join(done.stdout.split())
    assert "found room for 2" in " ".join(done.stdout.split())


def test_the_audit_file_has_every_row(tiny, tmp_path):
    done = run("cohort", tiny / "north", "--audit", tmp_path / "audit.tsv", "--json")
    summary = json.loads(done.stdout)
    lines = (tmp_path / "audit.tsv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + len(summary["excluded"]) + len(summary["noted"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cohort", "nowhere"], "expected a BIDS dataset"),
        (["cohort", "nowhere", "--dataset", "hupp"], "expected a BIDS dataset"),
        (["list", "dataset"], "Did you mean 'datasets'?"),
        (["simulate", "out", "--shape", "tinny"], "Did you mean 'tiny'?"),
        (["plan", "check", "nowhere.toml"], "expected a TOML file"),
        (["fetch", "hop", "out"], "Did you mean 'hup'?"),
        (["fetch", "local", "out"], "expected a public dataset (ds003848,"),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    told = capsys.readouterr()
    assert stop.value.code == 2
    assert told.out == ""
    assert message in told.err
    assert len(told.err.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_debug_shows_the_traceback(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["cohort", "nowhere", "--debug"])
    assert "Traceback" in capsys.readouterr().err


def test_an_unknown_option_is_refused():
    done = run("cohort", "--no-such-option")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_list_datasets_as_a_table_and_as_json():
    assert "ds" not in run("list", "datasets").stderr
    rows = json.loads(run("list", "datasets", "--json").stdout)
    assert {"hup", "multisite", "local", "simulated"} <= {row["name"] for row in rows}


def test_plan_init_check_and_diff(tmp_path):
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    assert run("plan", "init", first).stdout.strip() == str(first)
    second.write_text(first.read_text().replace('scheme = "as-recorded"', 'scheme = "bipolar"'))
    assert len(run("plan", "check", first).stdout.strip()) == 12
    assert "montage.scheme" in run("plan", "diff", first, second).stdout
    same = run("plan", "diff", first, first)
    assert same.stdout == ""
    assert "no field differs" in same.stderr
    again = run("plan", "init", first)
    assert again.returncode == 2
    assert "expected" in again.stderr


def test_plan_check_knows_what_there_is(tmp_path):
    plan = tmp_path / "mine.toml"
    plan.write_text('methods = ["fragilty"]\n')
    done = run("plan", "check", plan)
    assert done.returncode == 2
    assert "Did you mean 'fragility'?" in done.stderr
    plan.write_text('methods = ["fragility"]\n')
    assert "Did you mean 'hup'?" in run("plan", "check", plan, "--dataset", "hupp").stderr


def test_the_version_and_the_completion_of_a_shell(monkeypatch):
    assert run("--version").stdout.strip() == f"epilens {epilens.__version__}"
    monkeypatch.setenv("_EPILENS_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "epilens repro")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert run().stdout.split() == ["reproduce"]


@pytest.mark.parametrize("group", [[], ["plan"], ["model"]])
def test_the_list_of_verbs_is_in_whole_sentences(group):
    shown = run(*group, "--help", columns=80)
    verbs = shown.stdout.split("Commands:")[1].split("Examples:")[0].strip().splitlines()
    assert all(line.endswith(".") and "..." not in line for line in verbs), verbs


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("list me", ["methods"]),
        ("analyse loco", ["loco", "loco-bootstrap"]),
        ("run paper --only fragility/c", ["fragility/common-average"]),
        ("run m", ["mine.toml"]),
        ("plan check pu", ["public"]),
        ("simulate out --shape t", ["tiny"]),
        ("cohort root --dataset hu", ["hup"]),
        ("compare run cde", ["cdel"]),
    ],
)
def test_a_shell_completes_the_names_of_what_there_is(tmp_path, monkeypatch, typed, names):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").touch()
    monkeypatch.setenv("_EPILENS_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"epilens {typed}")
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split())))
    assert run().stdout.split() == names


def test_methods_say_whether_their_weights_are_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "pretrained" / "resnet-18"
    folder.mkdir(parents=True)
    for name in ("config.json", "model.safetensors"):
        (folder / name).write_text("{}")
    rows = {
        row["name"]: row["weights"] for row in json.loads(run("list", "methods", "--json").stdout)
    }
    assert rows["timeconv-cnn"] == "yes"
    assert rows["clap"].startswith("no: pretrained")
    assert rows["cdel"] is None
    shown = run("list", "methods", columns=140)
    assert "pretrained/clap-htsat-fused" in shown.stdout


def test_names_from_files_cannot_drive_the_terminal(tiny, tmp_path):
    import shutil

    root = tmp_path / "north"
    shutil.copytree(tiny / "north", root)
    table = next(root.rglob("*run-01_channels.tsv"))
    text = table.read_text(encoding="utf-8")
    table.write_text(text.replace("ECG\tECG", "\x1b[31m[red]<script>\tECG"), encoding="utf-8")
    done = run("cohort", root)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    # A channel that is none has no name in an output: only which input it was.
    assert "script" not in done.stdout
    assert "input 18" in " ".join(done.stdout.split())


def test_describe_writes_cubes_and_resumes(tiny, tmp_path):
    out = tmp_path / "cubes"
    first = run("describe", tiny / "west", "--out", out)
    assert first.returncode == 0, first.stderr
    assert first.stdout.strip() == str(out)
    assert "2 patients described, 0 kept" in first.stderr
    # Cubes alone: the methods of the shipped plan that read signals would be refused.
    assert first.stderr.endswith(f"run paper --cubes {out} --only prq --only bcr --only cdel\n")
    second = run("describe", tiny / "west", "--out", out, "--jobs", "2")
    assert "0 patients described, 2 kept" in second.stderr


def test_the_demo_simulates_describes_and_shows_a_picture(tmp_path, monkeypatch, capsys):
    import epilens.cli.demo

    monkeypatch.setattr(epilens.cli.demo, "SHAPE", "tiny")
    with pytest.raises(SystemExit, match="0"):
        main(["demo", "--out", str(tmp_path / "demo"), "--jobs", "1"])
    told = capsys.readouterr()
    assert told.out.splitlines()[-1] == str(tmp_path / "demo")
    assert "nothing here is clinical evidence" in told.err
    assert "not for diagnosis" in told.err
    assert all(name in told.out for name in ("prq", "bcr", "cdel"))
    picture = (tmp_path / "demo" / "evidence.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    pages = [path.read_text() for path in (tmp_path / "demo" / "localized").glob("sub-*.html")]
    for which in ("median", "worst"):
        text = f"This is the {which} held-out patient by AUROC of"
        assert sum(text in page for page in pages) == 1


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Cubes of eight patients and a plan that trains for a moment."""
    from epilens.testing import make_cohort

    place = tmp_path_factory.mktemp("small")
    make_cohort(place / "cubes")
    plan = place / "quick.toml"
    text = 'name = "quick"\nseeds = [1]\n[splits]\nfolds = 2\n[training]\nepochs = 1\n'
    plan.write_text(text, encoding="utf-8")
    return place


def test_a_quick_test_does_not_suggest_to_compare_methods(small):
    plan = small / "shortest.toml"
    text = (small / "quick.toml").read_text(encoding="utf-8").replace("quick", "shortest")
    plan.write_text(f'smoke = true\nmethods = ["random", "logistic-z"]\n{text}', encoding="utf-8")
    made = run("run", plan, "--cubes", small / "cubes", "--out", small / "runs")
    table = run("score", small / "runs" / "shortest")
    compared = run("compare", small / "runs" / "shortest", "random", "logistic-z")
    for done in (made, table, compared):
        last = done.stderr.strip().splitlines()[-1]
        assert last.startswith("next: epilens run best --cubes "), done.stderr
        assert "epilens compare" not in last


def test_run_and_score(small):
    done = run("run", small / "quick.toml", "--cubes", small / "cubes", "--out", small / "runs")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(small / "runs" / "quick")
    assert done.stderr.strip().splitlines()[-1].startswith("next: epilens score ")
    table = run("score", small / "runs" / "quick")
    assert all(name in table.stdout for name in ("prq", "bcr", "cdel", "Macro-F1"))
    assert "For research, not for diagnosis" in table.stderr
    assert table.stderr.endswith(f"epilens reproduce {small / 'runs' / 'quick'} --out DIR\n")
    some = ("--only", "prq", "--only", "bcr")
    again = run(
        "run", small / "quick.toml", "--cubes", small / "cubes", "--out", small / "r", *some
    )
    assert again.stderr.endswith(f"epilens compare {small / 'r' / 'quick'} prq bcr\n")
    told = run("score", small / "r" / "quick").stderr
    assert told.endswith(f"epilens compare {small / 'r' / 'quick'} A B\n")
    rows = json.loads(run("score", small / "runs" / "quick", "--json").stdout)
    assert {row["method"] for row in rows} == {"prq", "bcr", "cdel"}


def test_train_and_show_a_model(small):
    given = ["train", small / "quick.toml", "--cubes", small / "cubes"]
    for method, told in (("lens", "2 (folds), each a lens"), ("cdel", "each PRQ-Net and BCR-Net")):
        done = run(*given, "--method", method, "--out", small / method)
        assert done.returncode == 0, done.stderr
        shown = run("model", "show", small / method)
        assert "For research, not for diagnosis" in shown.stdout
        assert told in shown.stdout
    wrong = run(*given, "--method", "lense", "--out", small / "other")
    assert wrong.returncode == 2
    assert re.search("expected one of lens, .*cdel, found 'lense'", wrong.stderr)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nowhere.toml", "--cubes", "x"], "expected a TOML file"),
        (["score", "nowhere"], "expected a ledger, found nothing"),
        (["model", "show", "nowhere"], "expected a model folder"),
        (["model", "import", "nowhere.pt", "--out", "x"], "expected a file that can be read"),
        (["list", "method"], "Did you mean 'methods'?"),
        (["report", "nowhere", "--out", "page/"], "page/: expected the name of an HTML file"),
        (["report", "nowhere", "--out", "page"], "page: expected the name of an HTML file"),
        (["describe", "nowhere", "--out", __file__], "expected a new or empty folder"),
    ],
)
def test_mistakes_with_runs_and_models_get_one_line(
    tmp_path, monkeypatch, capsys, arguments, message
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    told = capsys.readouterr()
    assert stop.value.code == 2
    assert message in told.err
    assert len(told.err.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
