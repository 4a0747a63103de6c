# Two commands for a newcomer: `make run` and `make test`. `make help` lists the rest.
# Everything is installed into .venv from pyproject.toml. Outside this folder only `make test` installs something:
# Debian's chromium for the tests of the panel, if it is missing and you are root on a system with apt-get.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help run test check lint types bench golden interop conformance docs clean gen-protocol-artifacts browser panel-picture

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("tidings needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

run: $(READY) ## set up and start the hub with its demo: a workspace, its watchers, an agent that hears (Ctrl-C ends it)
	@$(BIN)/tidings up --demo

test: $(READY) browser ## set up and run every test
	$(BIN)/python -m pytest

browser: # the tests of the panel need one; without it they are skipped
	@command -v chromium >/dev/null || { \
	  test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	    && echo "installing chromium for the tests of the panel" \
	    && apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; } \
	  || echo "NO BROWSER: chromium is missing, so the tests of the panel will be SKIPPED; apt-get install chromium"

panel-picture: $(READY) browser ## write the screenshot of the panel that the docs show
	PANEL_PICTURE=1 $(BIN)/python -m pytest tests/panel/test_looks.py -k picture

check: $(READY) lint types ## linters, strict types and the architecture test
	$(BIN)/python -m pytest tests/test_architecture.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

bench: $(READY) ## run the benchmarks: prints a table, writes benchmarks/results/latest.json
	$(BIN)/python -m benchmarks

golden: $(READY) ## write the golden wire files and generated docs anew (then review the diff)
	$(BIN)/python -m tests.rendering.golden --write
	$(BIN)/python -m docs.generate --write

interop: $(READY) ## install real ACP and MCP clients, agents and servers into .interop and test with them (needs npm)
	$(BIN)/python -m tests.interop

conformance: $(READY) ## run the official MCP conformance suite on our server and our host (needs npm)
	$(BIN)/python -m tests.conformance

gen-protocol-artifacts: $(READY) ## write spec/protocol-artifacts from the code: JSON Schemas and TypeScript
	$(BIN)/python -m spec.generate --write

clean: ## remove everything that make created
	rm -rf $(VENV) build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .interop artefacts benchmarks/results
