"""Fixtures that many tests share: the tiny simulated cohort, and the public sidecars if there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import torch

from epilens.simulation import simulate

# A busy machine is slow, not wrong.
hypothesis.settings.register_profile("tests", deadline=None)
hypothesis.settings.load_profile("tests")

SHARED = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """The tensors of tests are tiny, and the test workers share the cores."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shape `tiny`: four centers, eight patients, fifteen usable seizures."""
    out = tmp_path_factory.mktemp("simulated") / "tiny"
    simulate(out, "tiny", seed=0, jobs=1)
    return out


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real sidecar files of the public cohorts."""
    if not SHARED.exists():
        pytest.skip("the public sidecar files are not beside the project (../shared/data)")
    return SHARED


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a window, for tests of pages; skipped where it is not installed."""
    from epilens.report.patient.page import find_browser

    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if (path := find_browser()) is None:
        pytest.skip("no Chromium is installed (Debian: apt-get install chromium)")
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()
