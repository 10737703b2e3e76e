# The commands of the project. `make` alone lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SPHINX_OUT := docs/_build/html

# Numba's cache does not see edits of the functions that a cached function calls, so the cache
# folder is named after a hash of all sources: an edit anywhere starts with an empty cache.
SOURCE_KEY := $(shell find src -name '*.py' | LC_ALL=C sort | git hash-object --stdin-paths | git hash-object --stdin | cut -c1-16)
export NUMBA_CACHE_DIR := $(CURDIR)/.cache/numba/$(SOURCE_KEY)

# $(call step,target,what it does,command): announce the step, run it, say how to repeat it.
define step
	@printf '\n==> %s: %s\n' '$(1)' '$(2)'
	@{ $(3); } || { printf '\nFAILED: %s (%s). Repeat this step alone with: make %s\n' '$(1)' '$(2)' '$(1)'; exit 1; }
endef

.PHONY: help demo test test-slow browser lint types layers doctest unit bench docs format clean
.NOTPARALLEL:

help:
	@echo 'make demo       install into $(VENV) and compare models of built-in data'
	@echo 'make test       every check: lint, types, layers, doctest, unit'
	@echo 'make test-slow  the long tests: calibration, long samplers'
	@echo 'make bench      benchmarks against other libraries'
	@echo 'make docs       build the documentation and run its examples'
	@echo 'make format     format the code and apply safe lint fixes'
	@echo 'make clean      delete $(VENV), caches and built files'

demo: $(VENV)/.core
	$(call step,demo,compare models of built-in data,$(BIN)/posteriori demo)

test: lint types layers doctest unit
	@printf '\nAll checks passed.\n'

lint: $(VENV)/.dev
	$(call step,lint,ruff: rules and format,$(BIN)/ruff check . && $(BIN)/ruff format --check .)

types: $(VENV)/.dev
	$(call step,types,mypy,$(BIN)/mypy)

layers: $(VENV)/.dev
	$(call step,layers,import-linter: imports point downwards,$(BIN)/lint-imports)

doctest: $(VENV)/.dev
	$(call step,doctest,the examples in docstrings and in the README,$(BIN)/pytest -q -n 2 --doctest-modules --doctest-glob='README.md' src README.md)

unit: $(VENV)/.dev
	@find .cache/numba -mindepth 1 -maxdepth 1 -mtime +7 -exec rm -rf {} + 2>/dev/null || true
	$(call step,unit,pytest without the slow tests,$(BIN)/pytest -q -n 2 -m 'not slow')

# Slow tests open reports in a browser; without one they are skipped, and pytest says so.
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -qq -y chromium; } || echo 'There is no browser. Install one (Debian and Ubuntu: apt install chromium).'

# pytest's exit status 5 says that no test is marked slow.
test-slow: $(VENV)/.dev browser
	$(call step,test-slow,pytest: the slow tests,$(BIN)/pytest -q -n 2 -m slow || [ $$? -eq 5 ])

bench: $(VENV)/.bench
	$(call step,bench,benchmarks,for file in bench/bench_*.py; do echo "-- $$file"; $(BIN)/python "$$file" || exit 1; done)

docs: $(VENV)/.docs
	@rm -rf docs/reference/generated
	$(call step,docs,run the examples and build the pages,$(BIN)/sphinx-build -q -W --keep-going -b doctest docs docs/_build/doctest && $(BIN)/sphinx-build -q -W --keep-going -b html docs $(SPHINX_OUT))
	@printf '\nOpen %s\n' '$(SPHINX_OUT)/index.html'

format: $(VENV)/.dev
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .

clean:
	rm -rf $(VENV) .cache docs/_build docs/reference/generated build dist
	rm -rf .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests docs bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# The virtual environment. Each stamp is newer than pyproject.toml once its extra is installed.

$(VENV)/.made:
	@command -v $(PYTHON) >/dev/null || { echo 'FAILED: "$(PYTHON)" not found. Install Python 3.11 or newer, or name it: make PYTHON=/path/to/python'; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "FAILED: posteriori needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V). Name another one: make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo 'FAILED: $(PYTHON) has no venv module. Install it (Debian and Ubuntu: apt install python3-venv) and try again.'; exit 1; }
	@printf '\n==> venv: create %s\n' '$(VENV)'
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

define install
	@printf '\n==> install: %s into %s (this can take a minute)\n' '$(1)' '$(VENV)'
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -e '$(1)' || { printf '\nFAILED: the installation of %s. Is the network up? Try again with the same command, or start over with: make clean\n' '$(1)'; exit 1; }
	@touch $@
endef

$(VENV)/.core: $(VENV)/.made pyproject.toml
	$(call install,.)

$(VENV)/.dev: $(VENV)/.made pyproject.toml
	$(call install,.[dev])
	@touch $(VENV)/.core

$(VENV)/.docs: $(VENV)/.made pyproject.toml
	$(call install,.[docs])
	@touch $(VENV)/.core

$(VENV)/.bench: $(VENV)/.made pyproject.toml
	$(call install,.[bench])
	@touch $(VENV)/.core
