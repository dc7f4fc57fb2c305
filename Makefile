# `make explore` and `make test` do everything on a machine with Python, pip, make and git.
PYTHON ?= python3
PORT ?= 8501
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest

.PHONY: explore test lint bench browser clean

explore: .venv/app
	$(BIN)/bfsoft explore --port $(PORT)

test: lint browser
	CHROMIUM="$$(bash .ci/browser)" $(PYTEST) --numprocesses auto --dist loadfile

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/dev
	$(PYTEST) tests/benchmarks --benchmark-only --override-ini="addopts=--import-mode=importlib"

# A Chromium for the browser tests: one that is here already, the system's, or Playwright's own.
browser: .venv/dev
	bash .ci/browser --install

.venv/bin/pip:
	$(PYTHON) -m venv .venv || ($(PYTHON) -m pip install --user virtualenv && $(PYTHON) -m virtualenv .venv)
	$(BIN)/python -m pip install --quiet --upgrade pip

.venv/app: pyproject.toml .venv/bin/pip
	$(BIN)/python -m pip install --quiet --editable '.[fetch]'
	@touch $@

.venv/dev: pyproject.toml .venv/bin/pip
	$(BIN)/python -m pip install --quiet --editable '.[fetch]' --group dev
	@touch $@ .venv/app

clean:
	rm -rf .venv dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
