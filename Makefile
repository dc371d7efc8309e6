# Everything runs in .venv, which the first target asked for makes: git, make and Python >= 3.10 are enough.
# make PYTHON=/path/to/python3 chooses the Python (make clean first); make test ARGS="-k cards" hands arguments on.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && echo $$p && break; done)
PY := .venv/bin/python
READY := .venv/ready
PEERS := .venvs/peers
RAY := .venvs/ray
DIST := .venvs/dist
BEFORE := .venvs/before
# A file goes to one process, since its tests share trainings; in order, for the longest come first.
SPREAD := --numprocesses auto --dist loadfile --no-loadscope-reorder
# The tests of the rules, which also run with array indices checked and as plain Python.
RULES := -m "not proof and not slow and not oracle and not browser and not container and not platform and not reference" \
	$(addprefix tests/,core test_env.py test_env_arguments.py test_family_env.py test_notation.py test_transcripts.py \
	test_vector.py test_vector_rows.py move_features/test_moves.py) \
	$(addprefix --ignore=tests/core/,test_concurrency.py test_native.py test_random_numbers.py)
# Faults are generated in a copy of the project; an edit of the rules begins a new one.
GENERATED := .cache/mutants

.DELETE_ON_ERROR:
.PHONY: help env train test test-all test-proof test-slow test-bounds test-nojit test-gymnasium test-pythons \
	test-oracles test-browser test-container test-platforms test-ray test-examples lint types layers mutants mutants-generated fuzz docs docs-serve linkcheck dist wheels bench bench-peers \
	bench-family bench-training bench-ray \
	instructions clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 20

env: $(READY)  ## make or renew .venv, and build the compiled kernels
	$(PY) -c "from solitaire_env.core.library import load; load('solitaire_env'); load('agents')"

$(PY):
	@test -n "$(PYTHON)" || { echo "no Python >= 3.10 with venv on PATH; try: make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv --clear .venv

$(READY): pyproject.toml constraints.txt | $(PY)
	@echo "installing into .venv, about a minute"
	$(PY) -m pip install --quiet --constraint constraints.txt --editable ".[train,render,deals,dev]"
	@touch $@

train: $(READY)  ## train the default network, evaluate it, say where it lies
	$(PY) -m agents.train configs/default.yaml $(ARGS)

test: $(READY)  ## the tests that find a fault in minutes
	$(PY) -m pytest $(SPREAD) $(ARGS)

test-all: test test-proof test-bounds test-nojit test-oracles test-browser test-container test-platforms test-examples instructions test-slow  ## all tests
	$(MAKE) test-ray ARGS='-m "slow or not slow"'

test-proof: $(READY)  ## long proofs: more games, deeper counts, whole trainings
	$(PY) -m pytest $(SPREAD) -m "proof and not slow" $(ARGS)

test-slow: $(READY)  ## the tests that take minutes each
	$(PY) -m pytest -m slow $(ARGS)

test-container: $(READY)  ## the image of the Dockerfile, built and run without Docker (Linux, as root)
	$(PY) -m pytest -m container tests/container $(ARGS)

test-examples: env $(addsuffix /ready,$(addprefix .venvs/,torchrl tianshou pufferlib ray))  ## the examples, shortened; in .venvs, each with its library
	.ci/examples

# A pin of an example replaces that of constraints.txt. The libraries need Python >= 3.11.
.venvs/%/ready: examples/requirements/%.txt pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear $(@D)
	grep -vE "^($$(sed -n 's/==.*//p' $< | paste -sd'|'))==" constraints.txt >$(@D)/constraints.txt
	$(@D)/bin/python -m pip install --quiet --constraint $(@D)/constraints.txt --requirement $< --editable .
	if [ -f $(<:.txt=.no-deps.txt) ]; then \
		$(@D)/bin/python -m pip install --quiet --no-deps --requirement $(<:.txt=.no-deps.txt); fi
	@touch $@

test-platforms: $(READY)  ## compiled code for other processors (Debian: lld, nodejs, qemu-user, libc6-arm64-cross, wine)
	$(PY) -m pytest -m platform tests/platforms $(ARGS)

test-oracles: $(READY)  ## our rules against fc-solve (Debian: freecell-solver-bin)
	$(PY) -m pytest $(SPREAD) -m "oracle and not slow" tests/oracles $(ARGS)

test-browser: $(READY)  ## the pages in Chromium (Debian: chromium); screenshots in .cache/screenshots
	$(PY) -m pip install --quiet --constraint constraints.txt --editable ".[browser]"
	$(PY) -m pytest -m browser tests/browser $(ARGS)

# In an environment of its own, because Ray pins Gymnasium.
test-ray: env $(RAY)/ready  ## commands on a Ray cluster of two machines, which are processes; in .venvs/ray
	$(RAY)/bin/python -m pytest tests/ray $(ARGS)

bench-ray: env $(RAY)/ready  ## workers of a Ray cluster beside plain processes
	$(RAY)/bin/python -m benchmarks.cluster $(ARGS)

$(RAY)/ready: pyproject.toml constraints.txt tests/ray/requirements.txt
	$(PYTHON) -m venv --clear $(RAY)
	grep -v '^gymnasium==' constraints.txt > $(RAY)/constraints.txt
	$(RAY)/bin/python -m pip install --quiet --constraint $(RAY)/constraints.txt \
		--requirement tests/ray/requirements.txt --editable ".[train,ray]" optuna pytest
	@touch $@

test-bounds: $(READY)  ## the tests of the rules, each array index checked
	SOLITAIRE_ENV_KERNELS=checked $(PY) -m pytest $(SPREAD) $(RULES) $(ARGS)

test-nojit: $(READY)  ## the tests of the rules as plain Python; no line or branch of the rules is left out
	SOLITAIRE_ENV_KERNELS=python $(PY) -W error -m pytest $(SPREAD) $(RULES) $(or $(ARGS),--cov)

test-gymnasium: $(READY)  ## the same with each Gymnasium that we support
	.ci/matrix gymnasium

test-pythons: env  ## the same with each Python at hand
	.ci/matrix pythons

lint: $(READY)  ## style
	$(PY) -m ruff check
	$(PY) -m ruff format --check

types: $(READY)  ## mypy, strict
	$(PY) -m mypy

layers: $(READY)  ## who may import whom
	.venv/bin/lint-imports

mutants: $(READY)  ## the listed faults of the rules: each must make a test fail; hours
	$(PY) -m tests.mutants $(ARGS)

mutants-generated: $(GENERATED)/session.sqlite  ## faults that cosmic-ray makes in the rules; hours, it resumes
	cd $(GENERATED) && export PATH="$(CURDIR)/.venv/bin:$$PATH" PYTHONPATH=. SOLITAIRE_ENV_KERNELS=python && \
		cosmic-ray exec tests/cosmic-ray.toml session.sqlite && \
		cr-report --surviving-only --show-diff session.sqlite

$(GENERATED)/session.sqlite: $(wildcard solitaire_env/core/*.py solitaire_env/core/rules/*.py) tests/cosmic-ray.toml | $(READY)
	$(PY) -m pip install --quiet --constraint constraints.txt --editable ".[mutants]"
	rm -rf $(GENERATED) && mkdir -p $(GENERATED)
	git ls-files -z | xargs -0 cp --parents -t $(GENERATED)
	cd $(GENERATED) && export PATH="$(CURDIR)/.venv/bin:$$PATH" && \
		cosmic-ray init tests/cosmic-ray.toml session.sqlite && \
		cr-filter-operators session.sqlite tests/cosmic-ray.toml

fuzz: $(READY)  ## random and damaged input to all that reads
	$(PY) -m tests.fuzz $(ARGS)

docs: $(READY)  ## the documentation, into docs/_build; fails at a broken link between pages
	$(PY) -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	$(PY) -m sphinx --fail-on-warning docs docs/_build
	@echo "docs/_build/index.html; make docs-serve shows it at http://localhost:8001"

docs-serve: docs  ## build the documentation and show it at http://localhost:8001
	$(PY) -m http.server --bind 127.0.0.1 --directory docs/_build 8001

linkcheck: docs  ## the links of the documentation to other sites
	$(PY) -m sphinx -b linkcheck docs .cache/linkcheck

wheels: $(DIST)/ready  ## sdist and the wheels of all platforms, into dist, each checked
	rm -rf dist
	$(DIST)/bin/python -m native.wheels
	$(DIST)/bin/python -m twine check --strict dist/*

# The wheel of this machine is built from the sdist, then installed alone in an empty environment.
dist: $(DIST)/ready  ## sdist and the wheel of this machine, into dist; both checked, the wheel tried
	rm -rf dist
	$(DIST)/bin/python -m build --no-isolation
	$(DIST)/bin/python -m twine check --strict dist/*
	$(PYTHON) -m venv --clear $(DIST)/try
	$(DIST)/try/bin/python -m pip install --quiet --constraint constraints.txt dist/*.whl
	cd $(DIST)/try && bin/python -I $(CURDIR)/tests/smoke.py

$(DIST)/ready: constraints.txt
	$(PYTHON) -m venv --clear $(DIST)
	$(DIST)/bin/python -m pip install --quiet --constraint constraints.txt build gymnasium \
		hatchling numba safetensors twine ziglang
	@touch $@

bench: $(READY)  ## speed and size of our environments
	$(PY) -m benchmarks $(ARGS)

bench-peers: $(PEERS)/ready  ## the same beside EnvPool, Pgx, Jumanji and OpenSpiel: the table and chart of ratios
	$(PEERS)/bin/python -m benchmarks --peers --out benchmarks/results $(ARGS)

bench-family: $(PEERS)/ready  ## every game beside EnvPool: a table of ratios
	$(PEERS)/bin/python -m benchmarks --peers --parts every --rounds 3 --out benchmarks/results/family $(ARGS)

bench-training: $(BEFORE)/ready  ## training, evaluation and start-up beside commit 4fe2c13: three tables of ratios
	$(PY) -m benchmarks.learning --against $(BEFORE) $(ARGS)
	$(PY) -m benchmarks.evaluation --against $(BEFORE)
	$(PY) -m benchmarks.startup --against $(BEFORE)

# Its own code and environment: what is measured there is what its users had.
$(BEFORE)/ready: | $(READY)
	rm -rf $(BEFORE)
	git clone --quiet --no-checkout . $(BEFORE)
	git -C $(BEFORE) checkout --quiet 4fe2c13
	$(MAKE) --no-print-directory -C $(BEFORE) env
	@touch $@

$(PEERS)/ready: pyproject.toml constraints.txt benchmarks/peers.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "the peers need Python >= 3.11; try: make bench-peers PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --constraint constraints.txt --requirement benchmarks/peers.txt \
		--editable ".[train]"
	@touch $@

instructions: $(READY)  ## instructions a step, held against the figures on file (Debian: valgrind)
	$(PY) -m benchmarks.instructions $(ARGS)

clean:  ## remove all that can be made again (runs/ stays)
	rm -rf .venv .venvs .cache .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache dist docs/_build
	find . -name __pycache__ -prune -exec rm -rf {} +
