# Everything runs in .venv, which the first target that needs it creates. Required: git, make and Python >= 3.10.
# make PYTHON=/path/to/python3 chooses the Python (make clean first); make test ARGS="-k cards" passes arguments on.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && echo $$p && break; done)
PY := .venv/bin/python
READY := .venv/ready
# One process runs all tests of a file, because they share trainings. Files start in order: the longest come first.
PYTEST := -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder
# The tests of the rules, which also run with array indices checked and as plain Python. Left out: tests of the
# reference implementation alone, of threads, and of how kernels are called.
RULES := tests/core tests/test_env.py tests/test_vector.py tests/move_features/test_moves.py \
	$(addprefix --ignore=tests/core/test_,reference.py concurrency.py native.py)
# Faults are generated in a copy of the project; after an edit of the rules, in a new copy.
MUTANTS := .cache/mutants

.DELETE_ON_ERROR:
.PHONY: help env train test test-slow test-external test-bounds test-python test-platforms test-ray test-examples \
	lint mutants docs wheels bench bench-peers instructions clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 20

env: $(READY)  ## create or update .venv, and build the compiled kernels
	$(PY) -c "from solitaire_env.core.library import load; load('solitaire_env'); load('agents')"

$(PY):
	@test -n "$(PYTHON)" || { echo "no Python >= 3.10 with venv on PATH; try: make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv --clear .venv

$(READY): pyproject.toml constraints.txt | $(PY)
	@echo "installing into .venv, about a minute"
	$(PY) -m pip install --quiet --constraint constraints.txt --editable ".[train,render,deals,dev]"
	@touch $@

train: $(READY)  ## train the default network, evaluate it, print its run folder
	$(PY) -m agents.train configs/default.yaml $(ARGS)

test: $(READY)  ## the fast tests, some minutes
	$(PY) $(PYTEST) $(ARGS)

test-slow: $(READY)  ## longer tests: more games, deeper counts, whole trainings
	$(PY) $(PYTEST) -m "slow and not external" $(ARGS)

test-external: $(READY)  ## tests that need other programs (Debian: chromium, freecell-solver-bin)
	$(PY) -m pip install --quiet --constraint constraints.txt --editable ".[browser]"
	$(PY) -m pytest -m "external and not slow" --ignore=tests/platforms $(ARGS)

test-bounds: $(READY)  ## the tests of the rules, each array index checked
	SOLITAIRE_ENV_KERNELS=checked $(PY) $(PYTEST) $(RULES) $(ARGS)

test-python: $(READY)  ## the tests of the rules as plain Python; fails if a line or branch of the kernels is not covered
	SOLITAIRE_ENV_KERNELS=python $(PY) -W error $(PYTEST) $(RULES) $(or $(ARGS),--cov)

test-platforms: $(READY)  ## tests of the compiled code on other processors (Debian: lld, nodejs, qemu-user, libc6-arm64-cross, musl, wine)
	$(PY) -m pytest -m external tests/platforms $(ARGS)

test-ray: env .venvs/ray/ready  ## tests on a Ray cluster of two simulated machines; in .venvs/ray
	.venvs/ray/bin/python -m pytest tests/ray $(ARGS)

test-examples: env $(addsuffix /ready,$(addprefix .venvs/,torchrl tianshou pufferlib mctx ray language))  ## run the examples with few steps, each in an environment of its own under .venvs
	.ci/examples

# Ray pins Gymnasium.
.venvs/ray/ready: pyproject.toml constraints.txt tests/ray/requirements.txt
	$(PYTHON) -m venv --clear $(@D)
	grep -v '^gymnasium==' constraints.txt > $(@D)/constraints.txt
	$(@D)/bin/python -m pip install --quiet --constraint $(@D)/constraints.txt \
		--requirement tests/ray/requirements.txt --editable ".[train,ray]" optuna pytest
	@touch $@

# The pin of an example replaces that of constraints.txt. The libraries need Python >= 3.11.
.venvs/%/ready: examples/requirements/%.txt pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear $(@D)
	grep -vE "^($$(sed -n 's/==.*//p' $< | paste -sd'|'))==" constraints.txt >$(@D)/constraints.txt
	$(@D)/bin/python -m pip install --quiet --constraint $(@D)/constraints.txt --requirement $< --editable .
	if [ -f $(<:.txt=.no-deps.txt) ]; then \
		$(@D)/bin/python -m pip install --quiet --no-deps --requirement $(<:.txt=.no-deps.txt); fi
	@touch $@

lint: $(READY)  ## style, types (mypy, strict), layers of imports
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	.venv/bin/lint-imports

mutants: $(MUTANTS)/session.sqlite  ## list the faults, made by cosmic-ray in the rules, that no test finds; takes hours, can be resumed
	cd $(MUTANTS) && export PATH="$(CURDIR)/.venv/bin:$$PATH" PYTHONPATH=. SOLITAIRE_ENV_KERNELS=python && \
		cosmic-ray exec tests/cosmic-ray.toml session.sqlite && \
		cr-report --surviving-only --show-diff session.sqlite

$(MUTANTS)/session.sqlite: $(wildcard solitaire_env/core/*.py solitaire_env/core/rules/*.py) tests/cosmic-ray.toml | $(READY)
	$(PY) -m pip install --quiet --constraint constraints.txt --editable ".[mutants]"
	rm -rf $(MUTANTS) && mkdir -p $(MUTANTS)
	git ls-files -z | xargs -0 cp --parents -t $(MUTANTS)
	cd $(MUTANTS) && export PATH="$(CURDIR)/.venv/bin:$$PATH" && \
		cosmic-ray init tests/cosmic-ray.toml session.sqlite && \
		cr-filter-operators session.sqlite tests/cosmic-ray.toml

docs: $(READY)  ## build the documentation into docs/_build; fails if a link between pages is broken
	$(PY) -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	$(PY) -m sphinx --fail-on-warning docs docs/_build

wheels: .venvs/dist/ready  ## build and check sdist and wheels of all platforms, in dist
	rm -rf dist
	.venvs/dist/bin/python -m native.wheels
	.venvs/dist/bin/python -m twine check --strict dist/*

.venvs/dist/ready: constraints.txt
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet --constraint constraints.txt build gymnasium hatchling numba \
		safetensors twine ziglang
	@touch $@

bench: $(READY)  ## speed and size of our environments
	$(PY) -m benchmarks $(ARGS)

bench-peers: .venvs/peers/ready  ## the same, compared with EnvPool, Pgx, Jumanji and OpenSpiel (Python >= 3.11)
	.venvs/peers/bin/python -m benchmarks --peers --out benchmarks/results $(ARGS)

.venvs/peers/ready: pyproject.toml constraints.txt benchmarks/peers.txt
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet --constraint constraints.txt --requirement benchmarks/peers.txt \
		--editable ".[train]"
	@touch $@

instructions: $(READY)  ## count the instructions of a step; fails at 10 % more than in benchmarks/instructions.json (Debian: valgrind)
	$(PY) -m benchmarks.instructions $(ARGS)

clean:  ## remove all files that can be generated again (runs/ stays)
	rm -rf .venv .venvs .cache .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache dist docs/_build
	git clean -fdXq docs/reference
	find . -name __pycache__ -prune -exec rm -rf {} +
