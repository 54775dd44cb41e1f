# Two commands do all the set-up on a machine with Python 3.11, make and git: `make demo`, `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
READY := $(VENV)/.ready
DEVELOPMENT := $(VENV)/.ready-development
DEMO ?= demo-output
FREEZE = .lock-venv/bin/python -m pip freeze --all --exclude epilens --exclude pip | sed -e 's/^torch==.*/torch==2.13.0/'

.PHONY: help install demo test browser lint check audit bench docs build size changelog lock clean

help:
	@echo "make demo    simulate a cohort and run the main job on it (results in $(DEMO)/)"
	@echo "make test    the whole test suite"
	@echo "make install the environment alone: $(VENV), locked versions of what the demo needs"
	@echo "make check   lint, types, spelling, known vulnerabilities, tests"
	@echo "make audit   known vulnerabilities of the locked packages"
	@echo "make bench   speed and memory, as ratios measured in one run"
	@echo "make docs    the documentation as HTML in site/"
	@echo "make build   wheel and sdist in dist/"
	@echo "make size    megabytes of the base installation, in an environment of its own"
	@echo "make changelog  collect changes/*.md into CHANGELOG.md, under the package's version"
	@echo "make lock    resolve the ranges of pyproject.toml again and write both lock files"

# Stamps are written last, so an interrupted installation is done again. Python compiles a module when it is first
# imported: most modules of the packages never are.
unexport PYTHONDONTWRITEBYTECODE
$(READY): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --no-compile -r requirements.lock
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $(READY)

$(DEVELOPMENT): $(READY) requirements-dev.lock
	$(PIP) --no-compile -r requirements.lock -r requirements-dev.lock
	@touch $(DEVELOPMENT)

install: $(READY)

demo: $(READY)
	$(BIN)/epilens demo --out $(DEMO)

test: $(DEVELOPMENT) browser
	$(BIN)/python -m pytest -n 2 --dist loadfile

# The page of a localized patient is tested in a real browser; without one, these tests are skipped.
browser:
	@command -v chromium > /dev/null \
	  || (apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium) > /dev/null 2>&1 \
	  || echo "no Chromium, and it cannot be installed here: the browser tests will be skipped"

lint: $(DEVELOPMENT)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/ty check
	$(BIN)/codespell src tests docs benchmarks tools changes README.md CONTRIBUTING.md

check: lint
	$(MAKE) audit
	$(MAKE) test

# Asks a service; without a network it says that nothing could be checked.
audit: $(DEVELOPMENT)
	@$(BIN)/python -m benchmarks.vulnerabilities

bench: $(DEVELOPMENT)
	$(BIN)/python -m benchmarks

# Tutorials are executed while the pages are made; what they write and install stays in build/.
TUTORIALS := $(CURDIR)/build/tutorials
INTO_TUTORIALS := PIP_TARGET=$(TUTORIALS)/site PIP_NO_BUILD_ISOLATION=0 PIP_NO_DEPS=1 PIP_NO_INDEX=1 PIP_QUIET=1 NO_MKDOCS_2_WARNING=1
docs: $(DEVELOPMENT)
	rm -rf $(TUTORIALS) && mkdir -p $(addprefix $(TUTORIALS)/,demo own patient method site)
	PATH="$(CURDIR)/$(BIN):$$PATH" PYTHONPATH="$(CURDIR):$(TUTORIALS)/site:$$PYTHONPATH" $(INTO_TUTORIALS) mkdocs build --strict --quiet
	@! grep -rl "Traceback (most recent call last)" site/guide site/reference || (echo "a tutorial failed"; exit 1)
	@echo site/index.html

# The version is read from src/epilens/__init__.py.
build: $(READY)
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist

changelog: $(DEVELOPMENT)
	$(BIN)/python changes/collect.py

# Without cache and lock, as `pip install epilens` does it.
size: build
	rm -rf build/size && $(PYTHON) -m venv build/size
	build/size/bin/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock dist/*.whl
	@echo "base installation: $$(du -sm build/size/lib/python3*/site-packages | cut -f1) MB"

# torch is pinned by hand: with a range, pip would choose a build with gigabytes of CUDA. The runtime lock has what the
# demo needs, with the tools of an editable installation; the other has what development adds.
lock:
	rm -rf .lock-venv && $(PYTHON) -m venv .lock-venv
	.lock-venv/bin/python -m pip install --quiet torch==2.13.0 editables hatchling ".[brain,cohort,networks]"
	echo "# Exact versions of what the demo needs; written by 'make lock'." > requirements.lock
	$(FREEZE) >> requirements.lock
	.lock-venv/bin/python -m pip install --quiet --constraint requirements.lock ".[dev]"
	echo "# Exact versions of what development adds to requirements.lock; written by 'make lock'." > requirements-dev.lock
	$(FREEZE) | grep -vxFf requirements.lock >> requirements-dev.lock
	rm -rf .lock-venv

clean:
	rm -rf $(VENV) $(DEMO) build site dist .pytest_cache .ruff_cache
