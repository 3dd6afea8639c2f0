# `make demo` and `make test` set everything up by themselves; run again, they install nothing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt

.PHONY: demo test coverage check format clean

demo: $(VENV)/.installed
	$(BIN)/millet demo

test: check
	$(BIN)/python -m pytest -n auto --dist worksteal

# Which lines no test runs; slower.
coverage: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n auto --dist worksteal --cov=millet --cov-report=term-missing:skip-covered

# Everything but the tests: seconds, not minutes.
check: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "MILLET needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing MILLET into $(VENV) (once; a few minutes)"
	$(PIP) -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing MILLET and its development tools into $(VENV) (once; a few minutes)"
	$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/.installed

clean:
	find src tests -name '*.nb[ci]' -delete
	rm -rf $(VENV) build dist .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
