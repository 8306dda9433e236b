PYTHON ?= python3
NAME ?= local
CLUSTER ?=
VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python -m
PYTEST := $(BIN)/pytest $(if $(CLUSTER),--cluster=$(CLUSTER))

.DEFAULT_GOAL := help
.PHONY: help setup lock fmt lint layers generate golden verify test-unit test-integration test-e2e test demo bench \
	cluster cluster-down cluster-status images dev_manifest licences clean

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z0-9_-]+:.*## /{printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  options: CLUSTER=existing|kind|local for test-e2e and demo, NAME=… for cluster, PYTHON=python3.12 for setup"

$(VENV)/.ready: requirements/dev.txt
	$(PYTHON) -m hack.setup --venv $(VENV)
	@touch $@

setup: $(VENV)/.ready ## make the virtual environment from the lock files

lock: setup ## resolve the dependencies anew into requirements/*.txt
	$(RUN) hack.lock

fmt: setup ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lint: setup ## formatting, lint rules, types, layers, generated files
	$(BIN)/pre-commit run --all-files --show-diff-on-failure

layers: setup ## check which package may import which
	$(BIN)/lint-imports

generate: setup ## write all generated files anew
	$(RUN) hack.generated

golden: setup ## write the golden manifests of the builders' tests anew; read the diff
	GOLDEN=1 $(BIN)/pytest -q test/unit/mpi_operator/children

verify: lint ## check that everything generated is current, and the code with it

test-unit: setup ## the tests that need no cluster, in under a minute
	$(BIN)/pytest test/unit

test-integration: setup ## the tests on real but bare control planes
	$(BIN)/pytest test/integration

test-e2e: setup ## the tests on a real cluster with real pods, sshd and mpirun
	$(PYTEST) test/e2e

test: ## everything: lint, unit, integration, e2e, a summary
	@$(MAKE) --no-print-directory setup
	$(RUN) hack.stages $(if $(CLUSTER),--cluster=$(CLUSTER))

demo: setup ## run the pi job with our operator on a real cluster, and watch it
	$(RUN) hack.demo $(if $(CLUSTER),--cluster=$(CLUSTER))

bench: setup ## measure the libraries and the operator; nothing else should be busy
	$(RUN) test.bench

cluster: setup ## build what is missing and start the local cluster
	$(RUN) hack.cluster up --name $(NAME)

cluster-down: setup ## stop the local cluster and remove all that it made
	$(RUN) hack.cluster down --name $(NAME)

cluster-status: setup ## list the local clusters
	$(RUN) hack.cluster status

images: setup ## build the operator's and the test images, and load them into the cluster if one runs
	$(RUN) hack.cluster images --name $(NAME)

dev_manifest: setup ## render the dev overlay (IMAGE_NAME, IMAGE_TAG)
	$(RUN) hack.manifests dev

licences: setup ## write the list of third-party licences anew
	$(RUN) hack.licences

clean: ## remove what building and testing leave in this folder
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
