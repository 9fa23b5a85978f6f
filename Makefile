.DEFAULT_GOAL := help
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: help demo test fuzz hostile check lint format bench clean
help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

# One virtual environment, grown by need: stamp files say which extras it holds. uv is faster, pip is enough.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is older than Python 3.11; try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "the venv module is missing: apt-get install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv || echo "no uv: pip will do"

define install
	@echo "installing .[$(EXTRAS)] into $(VENV)"
	@$(BIN)/uv pip install --quiet --python $(BIN)/python -e '.[$(EXTRAS)]' 2>$(VENV)/uv.log || \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$(EXTRAS)]' || { cat $(VENV)/uv.log >&2; exit 1; }
	@touch $@
endef
# A comma inside $(call ...) would end the argument, so the extras are a variable of each target.
$(VENV)/.run: EXTRAS := all
$(VENV)/.test: EXTRAS := all,test
$(VENV)/.dev: EXTRAS := all,dev
$(VENV)/.run $(VENV)/.test $(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(install)

demo: $(VENV)/.run ## four days on the embedded cluster, in under a minute
	@$(BIN)/keda-py demo

# Half of the suite waits for real time on the embedded cluster, so more workers than cores are well used.
# tests/file_order.py has the order of the files.
HOSTILE := $(addprefix tests/hostile/test_,objects.py sources.py callers.py survival.py)
PYTEST := $(BIN)/python -m pytest -n 6 --dist loadfile --no-loadscope-reorder $(HOSTILE:%=--ignore=%)

# The suite starts over a hundred processes: each reads bytecode that the first one left in the virtual environment,
# also where the environment asks Python to write none beside the sources. Where there is none yet, it is made by two
# before six workers, begun at once, each make all of it; as is the table of characters that hypothesis keeps.
test: export PYTHONDONTWRITEBYTECODE =
test: export PYTHONPYCACHEPREFIX = $(abspath $(VENV))/bytecode
test: $(VENV)/.test ## the whole test suite
	@[ -e $(VENV)/.bytecode ] || for half in 'tests/[a-o]*/' 'tests/[p-z]*/'; do \
		$(BIN)/python -m pytest -q --collect-only $$half >/dev/null 2>&1 & done; wait; \
		$(BIN)/python -c 'from hypothesis import find, strategies as s; find(s.text(), bool)'; touch $(VENV)/.bytecode
	$(PYTEST)

fuzz: $(VENV)/.test ## all property tests with other input each time, ten times as much: about 15 minutes
	$(BIN)/python -m pytest -n 2 -m hypothesis --hypothesis-profile=fuzz --timeout 1800

hostile: $(VENV)/.test ## what a hostile tenant can do to a running operator, case by case: two minutes; see SECURITY.md
	$(BIN)/python -m pytest -n 2 --dist loadfile $(HOSTILE)

format: $(VENV)/.dev ## put the code into the project's form
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

check: lint test ## format, lint, types, layer contracts, tests

lint: $(VENV)/.dev ## the checks without the tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.words

bench: $(VENV)/.dev ## the figures of PERFORMANCE.md in short: under five minutes; python -m tests.bench --help has the long form
	$(BIN)/python -m tests.bench --short

clean: ## forget the virtual environment
	rm -rf $(VENV)
