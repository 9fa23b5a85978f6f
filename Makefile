.DEFAULT_GOAL := help
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: help demo test check format bench clean
help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

# One virtual environment, grown by need: stamp files say which extras it holds.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet uv

define install
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e '.$(EXTRAS)' || $(BIN)/python -m pip install --quiet -e '.$(EXTRAS)'
	@touch $@
endef
$(VENV)/.run: EXTRAS :=
$(VENV)/.run: pyproject.toml | $(BIN)/python
	$(install)
$(VENV)/.test: EXTRAS := [all,test]
$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(install)
$(VENV)/.dev: EXTRAS := [all,dev]
$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(install)

demo: $(VENV)/.run ## four days on the embedded cluster, in under a minute
	$(BIN)/keda-py demo

# Half of the suite waits for real time on the embedded cluster, so more workers than cores are well used.
PYTEST := $(BIN)/python -m pytest -n 4 --dist loadfile

test: $(VENV)/.test ## the whole test suite
	$(PYTEST)

format: $(VENV)/.dev ## put the code into the project's form
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

check: $(VENV)/.dev ## format, lint, types, layer contracts, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(PYTEST)

bench: $(VENV)/.dev ## the figures of the README's performance section
	$(BIN)/python -m tests.bench

clean: ## forget the virtual environment
	rm -rf $(VENV)
