PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python -m

.DEFAULT_GOAL := help
.PHONY: help setup lock fmt lint layers test test-unit test-integration test-e2e golden verify bench demo cluster cluster-down images licences clean

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.ready: requirements/dev.txt
	$(PYTHON) hack/setup.py --venv $(VENV)
	@touch $@

setup: $(VENV)/.ready ## make the virtual environment from the lock files

lock: setup ## resolve the dependencies anew into requirements/*.txt
	$(RUN) hack.lock

fmt: setup ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: setup ## formatting, lint rules, types, layers
	$(BIN)/pre-commit run --all-files --show-diff-on-failure

layers: setup ## check which package may import which
	$(BIN)/lint-imports

test-unit: setup ## the tests that need no cluster
	$(BIN)/pytest test/unit

clean: ## remove what building and testing leave in this folder
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
