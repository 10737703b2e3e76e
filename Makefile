# The commands of the project. `make` alone lists them.

# The default interpreter has .venv; one that is named (make test PYTHON=python3.12) has an
# environment of its own, called after its version, so that none is tested in the place of another.
ifeq ($(origin PYTHON),undefined)
PYTHON := python3
VENV := .venv
else
VENV := .venv-$(shell $(PYTHON) -c 'import platform; print(platform.python_version())' 2>/dev/null)
endif
BIN := $(VENV)/bin
LOWEST := .venv-lowest
UV := .venv-uv/bin/uv
SPHINX_OUT := docs/_build/html
PYTEST := $(BIN)/pytest -q -n 2 --dist worksteal

# Machine code of kernels, each named by all that it is made of: edits need no new folder.
export NUMBA_CACHE_DIR := $(CURDIR)/.cache/numba

# Tests run in two processes of one thread each: threads of OpenBLAS that wait for one another on
# the same two cores take time from the tests.
doctest unit blas test-slow test-blas test-lowest: export OPENBLAS_NUM_THREADS := 1
doctest unit blas test-slow test-blas test-lowest: export OMP_NUM_THREADS := 1

# Where the shell forbids bytecode beside the sources it is kept in .cache, as tests/conftest.py
# does: compiling all files anew in each process takes longer than many of the tests.
ifdef PYTHONDONTWRITEBYTECODE
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/.cache/bytecode
endif

# $(call step,target,what it does,command): announce the step, run it, say how to repeat it.
define step
	@printf '\n==> %s: %s\n' '$(1)' '$(2)'
	@{ $(3); } || { printf '\nFAILED: %s (%s). Repeat this step alone with: make %s\n' '$(1)' '$(2)' '$(1)'; exit 1; }
endef

.PHONY: help demo test kernels mutants test-slow test-blas test-lowest browser lint types layers doctest unit blas bench docs dist format clean
.NOTPARALLEL:

help:
	@echo 'make demo         install into $(VENV) and compare models of built-in data'
	@echo 'make test         every check: lint, types, layers, doctest, unit, blas'
	@echo 'make unit ROOM=x  the tests of room x and of the rooms above it; without ROOM all'
	@echo 'make kernels      compile the loops of all commands side by side, so that nothing waits for them'
	@echo 'make test-slow    the long tests: calibration, long samplers, all checks of scikit-learn'
	@echo 'make mutants      break the source in one place at a time: the tests named beside each must notice'
	@echo 'make test-blas    the tests under each other set of OpenBLAS kernels that runs here'
	@echo 'make test-lowest  the tests with the oldest versions that pyproject.toml allows'
	@echo 'make bench        benchmarks against other libraries'
	@echo 'make docs         build the documentation and run its examples'
	@echo 'make dist         build the wheel and the source archive, install each alone and use it'
	@echo 'make format       format the code and apply safe lint fixes'
	@echo 'make clean        delete $(VENV), other environments, caches and built files'
	@echo
	@echo 'PYTHON=python3.12 after a command runs it with that interpreter, in an environment of its own.'

demo: $(VENV)/.core
	$(call step,demo,compare models of built-in data,$(BIN)/posteriori demo)

test: lint types layers doctest unit blas
	@printf '\nAll checks passed.\n'

lint: $(VENV)/.dev
	$(call step,lint,ruff: rules and format,$(BIN)/ruff check . && $(BIN)/ruff format --check .)

# Versions of mypy that can share their work among processes do.
types: export MYPY_NUM_WORKERS := 2
types: $(VENV)/.dev
	$(call step,types,mypy,$(BIN)/mypy)

layers: $(VENV)/.dev
	$(call step,layers,import-linter: imports point downwards,$(BIN)/lint-imports)

doctest: $(VENV)/.dev
	$(call step,doctest,the examples in docstrings and in the README,$(PYTEST) --doctest-modules --doctest-glob='README.md' src README.md)

unit: $(VENV)/.dev
	@find .cache/numba -type f -atime +7 -delete 2>/dev/null || true
	$(call step,unit,pytest without the slow tests$(if $(ROOM), of $(ROOM) and the rooms above it),paths=$$($(BIN)/python tools/rooms.py $(ROOM)) && $(PYTEST) -m 'not slow' --room-budget 30 $$paths)

# Not a part of unit: two workers never compile the same, so that compiling beforehand saves nothing.
kernels: $(VENV)/.core
	$(call step,kernels,compile loops side by side,$(BIN)/posteriori warm --jobs 2)

mutants: $(VENV)/.dev
	$(call step,mutants,errors of one line that the tests must notice,$(BIN)/python tools/mutants.py)

# Only files that use the mark: to collect all others takes longer than many of these tests.
blas: $(VENV)/.dev
	$(call step,blas,pytest: rank and digits under other OpenBLAS kernels,$(BIN)/python tools/under_other_kernels.py $(PYTEST) -m 'blas and not slow' $$(grep -rl 'mark\.blas' tests --include='test_*.py'))

test-blas: $(VENV)/.dev
	$(call step,test-blas,pytest under other OpenBLAS kernels,$(BIN)/python tools/under_other_kernels.py $(PYTEST) -m 'not slow')

# Old libraries use what newer ones, which they did not know, have deprecated since.
test-lowest: $(LOWEST)/.dev
	$(call step,test-lowest,pytest with the oldest versions that are allowed,$(PYTEST:$(BIN)/%=$(LOWEST)/bin/%) -m 'not slow' -W ignore::DeprecationWarning -W ignore::FutureWarning)

# Slow tests open reports in a browser; without one they are skipped, and pytest says so.
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -qq -y chromium; } || echo 'There is no browser. Install one (Debian and Ubuntu: apt install chromium).'

# Laws that are tried on drawn examples are tried on 200 each (tests/examples.py).
test-slow: export HYPOTHESIS_PROFILE := thorough
test-slow: $(VENV)/.dev browser
	$(call step,test-slow,pytest: the slow tests,$(PYTEST) -m 'slow or hypothesis')

bench: $(VENV)/.bench
	$(call step,bench,benchmarks,for file in bench/bench_*.py; do echo "-- $$file"; $(BIN)/python "$$file" || exit 1; done)

docs: $(VENV)/.docs
	@rm -rf docs/reference/generated
	$(call step,docs,run the examples and build the pages,$(BIN)/sphinx-build -q -W --keep-going -b doctest docs docs/_build/doctest && $(BIN)/sphinx-build -q -W --keep-going -b html docs $(SPHINX_OUT))
	@printf '\nOpen %s\n' '$(SPHINX_OUT)/index.html'

# Each archive is installed into an environment that has nothing else, and used from a folder of its own.
dist: $(VENV)/.made
	@rm -rf dist build/smoke && $(BIN)/python -m pip install -qq --disable-pip-version-check build
	$(call step,dist,build the wheel and the source archive,$(BIN)/python -m build --quiet && ls dist)
	$(call step,dist,install and use each of them,for made in $(CURDIR)/dist/*.whl $(CURDIR)/dist/*.tar.gz; do rm -rf build/smoke && $(PYTHON) -m venv build/smoke && build/smoke/bin/python -m pip install -qq --disable-pip-version-check "$$made" && mkdir build/smoke/here && (cd build/smoke/here && ../bin/python -P $(CURDIR)/tools/smoke.py) || exit 1; done)

format: $(VENV)/.dev
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .

clean:
	rm -rf .venv .venv-* .cache docs/_build docs/reference/generated build dist
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

# The oldest Python and the oldest versions of the libraries that pyproject.toml allows.
$(UV):
	@printf '\n==> install: uv into .venv-uv\n'
	@$(PYTHON) -m venv --clear .venv-uv && .venv-uv/bin/python -m pip install -qq --disable-pip-version-check uv

$(LOWEST)/.dev: pyproject.toml | $(UV)
	@printf '\n==> install: the lower bounds of pyproject.toml into %s (this can take minutes)\n' '$(LOWEST)'
	@$(UV) venv -q --clear --no-python-downloads --python 3.11 $(LOWEST) || { printf '\nFAILED: Python 3.11 was not found. Install it and try again.\n'; exit 1; }
	@$(UV) pip install -q --python $(LOWEST)/bin/python --resolution lowest-direct -e '.[dev]' || { printf '\nFAILED: the lower bounds of pyproject.toml cannot be installed.\n'; exit 1; }
	@touch $@
