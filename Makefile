# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --only-binary=:all:

# One test process for each core, at most four: each holds a compiler and its programs in memory.
PARALLEL := -n logical --maxprocesses 4 --dist loadfile
# Of `make guarantee`: minutes, processes, and --fresh where the trials in results/guarantee come from other code.
# MORE is also for `make bench`: --quick, --only engine, --fresh.
BUDGET ?= 85
JOBS ?= 2
MORE ?=
# Warnings are errors, all of them are shown, and the pages share one reading of the sources.
SPHINX := $(BIN)/python -m sphinx -W --keep-going -d docs/_build/doctrees

COVERAGE := --cov=grip2 --cov-report=term-missing:skip-covered

.PHONY: help demo test coverage test-browser test-slow test-lowest lint docs docs-links docs-images bench bench-env faults guarantee guarantee-defects build clean

help: ## show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# Stamps record what is installed, so that a second call costs nothing and an edited pyproject reinstalls.
$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(PIP) hatchling editables
	$(PIP) --no-build-isolation --editable .
	@touch $@

$(VENV)/.installed-test: pyproject.toml | $(VENV)/.installed
	$(PIP) --no-build-isolation --editable '.[test]'
	@touch $@

$(VENV)/.installed-docs: pyproject.toml | $(VENV)/.installed
	$(PIP) --no-build-isolation --editable '.[docs]'
	@touch $@

demo: $(VENV)/.installed ## make .venv, install, select features on a generated table, write the report
	$(BIN)/grip2 demo --out grip2-demo --force

test: $(VENV)/.installed-test lint ## lint, types and the quick tests (about 15 minutes on 2 cores)
	$(BIN)/python -m pytest $(PARALLEL)

coverage: $(VENV)/.installed-test ## the quick tests with a report of covered lines; fails below 95 % (half as long again)
	$(BIN)/python -m pytest $(PARALLEL) $(COVERAGE)

$(VENV)/.installed-browser: pyproject.toml | $(VENV)/.installed-test
	$(PIP) --no-build-isolation --editable '.[browser]'
	@touch $@

test-browser: $(VENV)/.installed-browser ## the report in headless Chromium, which must be installed (Debian: chromium)
	$(BIN)/python -m pytest tests/report/test_browser.py

test-slow: $(VENV)/.installed-test ## the Monte-Carlo and full-size tests
	$(BIN)/python -m pytest -m slow $(PARALLEL)

test-lowest: ## the quick tests with every dependency at its lower bound, in its own environment
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip --disable-pip-version-check install --quiet --only-binary=:all: editables -r requirements/lowest.txt
	.venv-lowest/bin/python -m pip --disable-pip-version-check install --quiet --only-binary=:all: --no-build-isolation -c requirements/lowest.txt --editable '.[test]'
	.venv-lowest/bin/python -m pytest $(PARALLEL)

lint: $(VENV)/.installed-test ## ruff (lint and format) and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.installed-docs ## the documentation site, in docs/_build/html; a warning is an error
	$(SPHINX) -E -b html docs docs/_build/html

docs-links: docs ## every internal link, anchor and file of the site; also external ones with GRIP2_DOCS_ONLINE=1
	$(BIN)/python docs/check_links.py docs/_build/html
	$(SPHINX) -b linkcheck docs docs/_build/linkcheck

docs-images: docs ## the pictures of README and docs, in docs/images
	$(BIN)/grip2 demo --out grip2-demo --force
	$(BIN)/python docs/make_images.py grip2-demo docs/gallery/images

bench: $(VENV)/.installed-test ## speed, as ratios measured in one run, in results/bench; goes on where it was stopped (at most 2 hours)
	$(BIN)/grip2 bench $(MORE)

# knockpy has no wheels: gcc compiles it.
bench-env: ## .venv-bench with PyTorch and knockpy, to which `make bench` then compares
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip --disable-pip-version-check install --quiet torch==2.13.0 numpy
	.venv-bench/bin/python -m pip --disable-pip-version-check install --quiet knockpy==1.3.5

faults: $(VENV)/.installed-test ## commands killed, terminated and interrupted at random points, and run again; about an hour
	$(BIN)/python -m benchmarks.faults

guarantee: $(VENV)/.installed-test ## false discoveries and null signs, cell by cell; goes on where it was stopped (at most 90 minutes on 2 cores)
	PYTHONPATH=. $(BIN)/python -m guarantee run --budget $(BUDGET) --jobs $(JOBS) $(MORE)

guarantee-defects: $(VENV)/.installed-test ## plant twenty defects and see which check catches each (at most 10 minutes)
	PYTHONPATH=. $(BIN)/python -m guarantee defects

build: $(VENV)/.installed-test ## the wheel and the source archive, in dist/
	rm -rf dist
	$(BIN)/python -m hatchling build

clean: ## remove the environments, caches and builds
	rm -rf .venv .venv-lowest .venv-bench .pytest_cache .mypy_cache .ruff_cache .coverage .coverage.* dist grip2-demo docs/_build docs/gallery docs/generated
