# Every command of the workshop. `make test` and `make run` set everything up by themselves.
# Another interpreter, in an environment of its own: make test PYTHON=python3.13 VENV=.venv-3.13
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
LOCK := requirements/dev.txt
BETWEEN := 3.12 3.13
NEWEST := 3.14
SEED ?= 1
OPERATIONS ?= 100000
SITE := tests/test_docs_site.py

.PHONY: help setup run test site check format lint types versions imports bench simulate docs tables lock clean

help:  ## show this list
	@grep -hE '^[a-z]+:.*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 10

setup: $(VENV)/.ready  ## make the virtual environment .venv with the pinned dependencies

# Packages are put there by uv, and uv by the pip of the interpreter: one of its own takes three seconds more.
$(VENV)/.ready: $(LOCK) requirements/uv.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv --without-pip $(VENV)
	$(PYTHON) -m pip --python $(BIN)/python install --quiet --require-hashes --requirement requirements/uv.txt
	$(BIN)/uv pip sync --quiet --require-hashes --python $(BIN)/python $(LOCK)
	$(BIN)/uv pip install --quiet --no-deps --python $(BIN)/python --editable .
	touch $@

run: setup  ## reproduce the paper's experiments: claims on the terminal, report in reproduction/
	$(BIN)/budgetbandits reproduce

test: setup  ## run all tests, doctests and examples, but for those of the docs site
	$(BIN)/pytest -n 3 --ignore=$(SITE)

site: setup  ## build the docs site in a temporary folder, and test it
	$(BIN)/pytest $(SITE)

check: format lint types imports site test  ## everything that must pass before a commit

format: setup
	$(BIN)/ruff format --check

lint: setup
	$(BIN)/ruff check

types: setup
	$(BIN)/mypy

versions: setup  ## check the types for the newest Python, and the package's for all between and for Windows
	printf '%s\n' '--python-version=$(NEWEST)' $(BETWEEN:%='--python-version=% src') \
	    '--platform=win32 --cache-dir=.mypy_cache/windows src' \
	| xargs --max-procs=2 --replace=OPTIONS sh -c '$(BIN)/mypy OPTIONS'

imports: setup
	$(BIN)/lint-imports

bench: setup  ## measure: ratios taken in one run
	$(BIN)/python -m benchmarks

simulate: setup  ## let all befall campaigns that can: make simulate OPERATIONS=1000000 SEED=1
	cd tests && ../$(BIN)/python -m simulator --seed $(SEED) --operations $(OPERATIONS)

docs: tables  ## build the docs site: docs/_build/index.html
	$(BIN)/sphinx-build --quiet --nitpicky --fail-on-warning docs docs/_build

tables: setup  ## write the tables of policies, indices and so on anew in docs/
	$(BIN)/python -m budgetbandits.studies.listing docs/policies.md

lock: setup  ## compile the pinned requirements anew (names no registry host)
	cd requirements && ../$(BIN)/uv pip compile --quiet --upgrade --generate-hashes --universal --no-emit-index-url --no-emit-find-links --no-header --python-version 3.11 uv.in --output-file uv.txt
	cd requirements && ../$(BIN)/uv pip compile --quiet --upgrade --generate-hashes --universal --no-emit-index-url --no-emit-find-links --no-header --python-version 3.11 ../pyproject.toml --extra all --group ../pyproject.toml:dev --group ../pyproject.toml:docs --output-file dev.txt

clean:  ## remove the virtual environment and every cache
	rm -rf .venv .venv-* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist docs/_build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
