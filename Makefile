# The two commands of the README: `make demo` shows ragmem at work, `make test` proves it.
# Both set up their environment themselves; all they need is Python 3.11 or newer, make and a package index.

PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
DEMO   := .demo-home
DATA   ?= ../shared/eval
# Three workers, on two cores too: tests wait for processes, servers and deadlines as often as for a core.
# A worker that has nothing left takes from the others, so that a long test at the end holds up only one.
TEST_OPTIONS ?= -n 3 --dist worksteal
# Tests that start few processes and need no model.
QUICK_TESTS  := tests/domain tests/services/wiring tests/hooks/test_events_of_assistants.py tests/test_config.py tests/test_docs.py tests/test_readme.py

.PHONY: help install dev demo test quick search check format site bench completions web wheel sdist sbom quickstart clean

help: ## Show the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /|/' | awk -F'|' '{printf "make %-12s %s\n", $$1, $$2}'

$(VENV)/.pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "ragmem needs Python 3.11 or newer; set PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@touch $@

$(VENV)/.installed: $(VENV)/.pip pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[code,onnx,serve]"
	@touch $@

$(VENV)/.dev: $(VENV)/.installed pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[all]" --group dev
	@touch $@

install: $(VENV)/.installed ## Install ragmem into .venv
	@$(BIN)/ragmem --version

dev: $(VENV)/.dev ## Install ragmem with everything that the tests exercise

demo: $(VENV)/.installed ## Seed the example home and ask it three questions
	@rm -rf $(DEMO)
	@$(BIN)/ragmem demo --keep $(DEMO)

# pytest compiles each test file once, beside the gates, and not once in each worker.
test: $(VENV)/.dev ## Run the quality gates and all tests
	@$(BIN)/python -m pytest --collect-only -qq > /dev/null & $(MAKE) --no-print-directory check && wait
	$(BIN)/python -m pytest $(TEST_OPTIONS)

quick: $(VENV)/.dev ## Run lint, types and the fast tests, in under a minute
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow" --hypothesis-profile quick $(QUICK_TESTS)

search: $(VENV)/.dev ## Run all tests with other examples of the properties than `make test` draws
	$(BIN)/python -m pytest $(TEST_OPTIONS) --hypothesis-profile search

check: $(VENV)/.dev ## Run the quality gates without the tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/generate.py --check

format: $(VENV)/.dev ## Format and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

completions: $(VENV)/.dev ## Write the completions and all generated pages anew
	$(BIN)/python scripts/generate.py

web: ## Build the page of `ragmem serve` from web/ (needs Node 20 and npm; users need neither)
	cd web && npm ci --no-audit --no-fund && npm run build

site: $(VENV)/.pip ## Build the documentation into site/, searchable
	$(BIN)/python -m pip install --quiet --group docs
	$(BIN)/zensical build --clean

bench: $(VENV)/.dev ## Run the benchmarks (DATA=folder of the evaluation sets)
	$(BIN)/python benchmarks/retrieval.py --data $(DATA)
	$(BIN)/python benchmarks/store.py --quick
	$(BIN)/python benchmarks/startup.py --quick

# The same commit gives the same bytes, wherever it is built.
wheel: $(VENV)/.pip ## Build the wheel into dist/
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m pip wheel --quiet --no-deps -w dist .
	@$(BIN)/python -m pip hash dist/ragmem-*.whl

sdist: $(VENV)/.pip ## Build the source distribution into dist/
	$(BIN)/python -m pip install --quiet "hatchling>=1.27"
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m hatchling build -t sdist -d dist

sbom: $(VENV)/.dev ## Write what the package and its extras consist of into dist/sbom.json
	@mkdir -p dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python scripts/make_sbom.py --extra all > dist/sbom.json
	@echo dist/sbom.json

quickstart: $(VENV)/.installed ## Try docs/quickstart.md on a clone, and write its transcript anew
	$(BIN)/python scripts/make_quickstart.py

clean: ## Remove what was built
	rm -rf $(VENV) $(DEMO) dist build
