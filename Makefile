# Two commands matter: `make demo` and `make test`. Each installs all it needs into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Bytecode is written even where the environment forbids it: the tests start many processes, and
# each would compile the package again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test fuzz soak test-lowest lint docs bench release clean

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "labelkin needs Python 3.11 or newer; try: make PYTHON=python3.12 demo"; exit 2; }
	$(PYTHON) -m venv $(VENV)

# One stamp per extra, so that `make demo` does not install the developers' tools.
$(VENV)/.%-installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@

.PRECIOUS: $(VENV)/.%-installed

demo: $(VENV)/.cli,text-installed
	$(BIN)/labelkin demo

# One worker more than cores, since many tests wait for other processes; each with one thread, since
# threads of several workers slow each other down.
WORKERS = $(shell $(PYTHON) -c 'import os; print(1 + (os.cpu_count() or 1))')
test: $(VENV)/.dev-installed
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# Mutated files of every format, SECONDS for each; another SEED gives other files.
SECONDS ?= 600
SEED ?= $(shell date +%s)
fuzz: $(VENV)/.dev-installed
	LABELKIN_FUZZ_SECONDS=$(SECONDS) LABELKIN_FUZZ_SEED=$(SEED) \
	  $(BIN)/python -m pytest -x -q tests/fuzz/test_readers.py tests/fuzz/test_models.py tests/fuzz/test_details.py

# Processes that write models, tables and results, killed in the middle, KILLS times in all.
KILLS ?= 1000
soak: $(VENV)/.dev-installed
	LABELKIN_SOAK_KILLS=$$(( ($(KILLS) + 3) / 4 )) $(BIN)/python -m pytest -x -q tests/fuzz/test_kills.py

# The same tests with the lowest versions that pyproject.toml allows, in an environment of their own.
LOWEST := .venv-lowest
$(LOWEST)/.installed: pyproject.toml tools/try_wheel.py | $(BIN)/python
	$(BIN)/python -m venv $(LOWEST)
	$(BIN)/python tools/try_wheel.py floors > $(LOWEST)/floors.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check \
	  --constraint $(LOWEST)/floors.txt --editable ".[test]"
	@touch $@

test-lowest: $(LOWEST)/.installed
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(LOWEST)/bin/python -m pytest -n $(WORKERS) --dist worksteal

lint: $(VENV)/.dev-installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Warnings are errors. One BLAS thread, which is faster for the site's many small fits.
docs: $(VENV)/.docs-installed
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "the site is in docs/_build/html/index.html"

# Runs the tests with the lowest versions, then builds the wheel and tests it in fresh environments:
# lowest and newest scikit-learn.
release: $(VENV)/.release-installed test-lowest
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python tools/try_wheel.py dist/*.whl

bench: $(VENV)/.bench-installed
	@for script in benchmarks/[a-z]*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) $(LOWEST) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis labelkin-demo docs/_build docs/api docs/auto_examples
