.DEFAULT_GOAL := help
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: help demo test fuzz hostile check lint format bench counts bench-compare docs lock clean
help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

# One virtual environment, grown by need: stamp files say which layers of the lock it holds (.ci/lock.py), each
# distribution by version and hash. uv is faster, pip is enough.
LOCKS := .ci/locks
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is older than Python 3.11; try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "the venv module is missing: apt-get install python3-venv" >&2; exit 1; }
	@$(PIP) -r $(LOCKS)/installer.lock || echo "no uv: pip will do"

PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
UV  := $(BIN)/uv pip install --quiet --python $(BIN)/python
define install
	@echo "installing $(LOCKS)/$(LAYER).lock into $(VENV)"
	@for install in '$(UV)' '$(PIP)'; do \
		{ $$install --require-hashes -r $(LOCKS)/build.lock -r $(LOCKS)/$(LAYER).lock && \
		$$install --no-deps --no-build-isolation -e .; } 2>$(VENV)/install.log && touch $@ && exit 0; \
	done; cat $(VENV)/install.log >&2; exit 1
endef
$(VENV)/.run: LAYER := all
$(VENV)/.test: LAYER := test
$(VENV)/.dev: LAYER := dev
$(VENV)/.docs: LAYER := docs
$(VENV)/.run $(VENV)/.test $(VENV)/.dev $(VENV)/.docs: pyproject.toml $(wildcard $(LOCKS)/*.lock) | $(BIN)/python
	$(install)

demo: $(VENV)/.run ## four days on the embedded cluster, in under a minute
	@$(BIN)/keda-py demo
	@echo "keda-py is in $(BIN); \`. $(BIN)/activate\` puts it on PATH"

# Half of the suite waits for real time on the embedded cluster, so more processes than cores are well used.
# tests/forks.py makes them, tests/file_order.py has the order of the files.
HOSTILE := $(addprefix tests/hostile/test_,objects.py sources.py callers.py survival.py waker.py)

# The suite starts over a hundred processes: each reads bytecode that the first one left in the virtual environment,
# also where the environment asks Python to write none beside the sources.
test: export PYTHONDONTWRITEBYTECODE =
test: export PYTHONPYCACHEPREFIX = $(abspath $(VENV))/bytecode
test: $(VENV)/.test ## the whole test suite
	$(BIN)/python -m pytest --forks 8 $(HOSTILE:%=--ignore=%)

fuzz: $(VENV)/.test ## all property tests with other input each time, ten times as much: about 15 minutes
	$(BIN)/python -m pytest --forks 2 -m hypothesis --hypothesis-profile=fuzz --timeout 1800

hostile: $(VENV)/.test ## what a hostile tenant can do to a running operator, case by case: two minutes; see SECURITY.md
	$(BIN)/python -m pytest --forks 2 $(HOSTILE)

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

docs: export NO_MKDOCS_2_WARNING = 1
docs: $(VENV)/.docs ## the documentation site, in site/; `python -m http.server -d site` shows it
	$(BIN)/mkdocs build --quiet --strict -f docs/mkdocs.yml

counts: $(VENV)/.test ## requests, calls and bytes that an object costs, against those that are known: half a minute
	$(BIN)/python -m tests.bench.counts

bench-compare: $(VENV)/.dev ## what a change costs: make bench-compare OLD=main NEW=HEAD RUNS=5, by turns, with confidence
	$(BIN)/python -m tests.bench.compare $(OLD) $(NEW) --runs $(or $(RUNS),5) $(BENCH)

# Versions stay while pyproject.toml allows them; UPGRADE=1 takes the newest.
lock: $(VENV)/.dev ## write .ci/locks anew from pyproject.toml: what everybody installs, by version and hash
	$(BIN)/python .ci/lock.py $(if $(UPGRADE),--upgrade)

clean: ## forget the virtual environment
	rm -rf $(VENV)
