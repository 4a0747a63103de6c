# Two commands for a newcomer: `make run` and `make test`. `make help` lists the rest.
# Everything is installed into .venv from pyproject.toml; nothing outside this folder is touched.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help run test check lint types bench golden interop conformance docs clean gen-protocol-artifacts

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("tidings needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

run: $(READY) ## set up and play the demo: a reminder's life, on three routes, with its records
	@$(BIN)/tidings demo

test: $(READY) ## set up and run every test
	$(BIN)/python -m pytest

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
	rm -rf $(VENV) build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .interop benchmarks/results
