# Everything runs in .venv, which the first target asked for makes: git, make and Python >= 3.10 are enough.
# make PYTHON=/path/to/python3 chooses the Python (make clean first); make test ARGS="-k cards" hands arguments on.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && echo $$p && break; done)
PY := .venv/bin/python
READY := .venv/ready
COMPILED := .venv/compiled
# What compiled code is made from: all files of the folders that have kernels (each decorator has "jit" in its name).
KERNELS := $(wildcard $(addsuffix *.py,$(sort $(dir $(shell grep -rl --include='*.py' jit solitaire_env agents)))))
PEERS := .venvs/peers
RAY := .venvs/ray
DIST := .venvs/dist
BEFORE := .venvs/before
# A file goes to one process, since its tests share trainings; in order, for the longest come first.
SPREAD := --numprocesses auto --dist loadfile --no-loadscope-reorder
# The package's tests: without what needs torch, what only reads the package's text, and what asks the reference
# implementation alone.
PACKAGE := -m "not proof and not slow and not oracle and not browser and not container and not reference" \
	--ignore=tests/agents --ignore-glob="tests/test_sb3*" --ignore=tests/test_mutants.py
# The tests of the kernels, each of which runs in some of them.
KERNELS_ONLY := $(PACKAGE) $(addprefix tests/,core evaluation move_features policies test_env.py test_family_policies.py \
	test_transcripts.py test_vector.py test_vector_rows.py) \
	$(addprefix --ignore=tests/core/,test_code_cache.py test_concurrency.py test_jit.py)
# Faults are generated in a copy of the project; an edit of the rules begins a new one.
GENERATED := .cache/mutants

.DELETE_ON_ERROR:
.PHONY: help env train test test-all test-proof test-slow test-bounds test-nojit test-gymnasium test-pythons \
	test-oracles test-browser test-container test-ray test-examples lint types layers mutants mutants-generated fuzz docs docs-serve linkcheck dist bench bench-peers \
	bench-family bench-training bench-ray \
	instructions clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 20

env: $(COMPILED)  ## make or renew .venv, and compile what is compiled ahead of time

$(PY):
	@test -n "$(PYTHON)" || { echo "no Python >= 3.10 with venv on PATH; try: make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv --clear .venv

$(READY): pyproject.toml constraints.txt | $(PY)
	@echo "installing into .venv, about a minute"
	$(PY) -m pip install --quiet --constraint constraints.txt --editable ".[train,render,deals,dev]"
	@touch $@

# Once for all commands, on all cores; a command would compile what it needs itself, on one.
$(COMPILED): $(READY) $(KERNELS)
	$(PY) -m agents compile
	@touch $@

train: $(COMPILED)  ## train the default network, evaluate it, say where it lies
	$(PY) -m agents.train configs/default.yaml $(ARGS)

test: $(COMPILED)  ## the tests that find a fault in minutes
	$(PY) -m pytest $(SPREAD) $(ARGS)

test-all: test test-proof test-bounds test-nojit test-oracles test-browser test-container test-ray test-examples instructions test-slow  ## all tests

test-proof: $(READY)  ## long proofs: more games, deeper counts, whole trainings
	$(PY) -m pytest $(SPREAD) -m "proof and not slow" $(ARGS)

test-slow: $(READY)  ## the tests that take minutes each
	$(PY) -m pytest -m slow $(ARGS)

test-container: $(READY)  ## the image of the Dockerfile, built and run without Docker (Linux, as root)
	$(PY) -m pytest -m container tests/container $(ARGS)

test-examples: $(COMPILED) $(addsuffix /ready,$(addprefix .venvs/,torchrl tianshou pufferlib ray))  ## the examples, shortened; in .venvs, each with its library
	.ci/examples

# A pin of an example replaces that of constraints.txt. The libraries need Python >= 3.11.
.venvs/%/ready: examples/requirements/%.txt pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear $(@D)
	grep -vE "^($$(sed -n 's/==.*//p' $< | paste -sd'|'))==" constraints.txt >$(@D)/constraints.txt
	$(@D)/bin/python -m pip install --quiet --constraint $(@D)/constraints.txt --requirement $< --editable .
	if [ -f $(<:.txt=.no-deps.txt) ]; then \
		$(@D)/bin/python -m pip install --quiet --no-deps --requirement $(<:.txt=.no-deps.txt); fi
	@touch $@

test-oracles: $(READY)  ## our rules against fc-solve (Debian: freecell-solver-bin)
	$(PY) -m pytest $(SPREAD) -m "oracle and not slow" tests/oracles tests/agents/commands/test_fc_solve.py $(ARGS)

test-browser: $(READY)  ## the pages in Chromium (Debian: chromium); screenshots in .cache/screenshots
	$(PY) -m pip install --quiet --constraint constraints.txt --editable ".[browser]"
	$(PY) -m pytest -m browser tests/browser $(ARGS)

# In an environment of its own, because Ray pins Gymnasium.
test-ray: $(RAY)/ready  ## commands on a Ray cluster of two machines, which are processes; in .venvs/ray
	$(RAY)/bin/python -m pytest tests/ray $(ARGS)

bench-ray: $(RAY)/ready  ## workers of a Ray cluster beside plain processes
	$(RAY)/bin/python -m benchmarks.cluster $(ARGS)

$(RAY)/ready: pyproject.toml constraints.txt tests/ray/requirements.txt
	$(PYTHON) -m venv --clear $(RAY)
	grep -v '^gymnasium==' constraints.txt > $(RAY)/constraints.txt
	$(RAY)/bin/python -m pip install --quiet --constraint $(RAY)/constraints.txt \
		--requirement tests/ray/requirements.txt --editable ".[train,ray]" optuna pytest
	@touch $@

# Code compiled with bounds checks must not meet code compiled without: a cache of its own.
test-bounds: $(READY)  ## the tests of all that is compiled, each array index checked
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.cache/bounds $(PY) -m pytest $(SPREAD) $(KERNELS_ONLY) $(ARGS)

test-nojit: $(READY)  ## the package's tests as plain Python; no line or branch of the rules is left out
	NUMBA_DISABLE_JIT=1 $(PY) -W error -m pytest $(SPREAD) $(PACKAGE) $(addprefix --ignore=tests/,play oracles policies test_docs.py) \
		$(or $(ARGS),--cov)

test-gymnasium: $(READY)  ## the same with each Gymnasium that we support
	.ci/matrix gymnasium

test-pythons:  ## the same with each Python at hand
	.ci/matrix pythons

lint: $(READY)  ## style, and phrases to avoid
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m docs.phrases

types: $(READY)  ## mypy, strict
	$(PY) -m mypy

layers: $(READY)  ## who may import whom
	.venv/bin/lint-imports

mutants: $(READY)  ## the listed faults of the rules: each must make a test fail; hours
	$(PY) -m tests.mutants $(ARGS)

mutants-generated: $(GENERATED)/session.sqlite  ## faults that cosmic-ray makes in the rules; hours, it resumes
	cd $(GENERATED) && export PATH="$(CURDIR)/.venv/bin:$$PATH" PYTHONPATH=. NUMBA_DISABLE_JIT=1 && \
		cosmic-ray exec tests/cosmic-ray.toml session.sqlite && \
		cr-report --surviving-only --show-diff session.sqlite

$(GENERATED)/session.sqlite: $(wildcard solitaire_env/core/*.py) tests/cosmic-ray.toml | $(READY)
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

# The wheel is built from the sdist, then installed alone in an empty environment.
dist: $(DIST)/ready  ## wheel and sdist, into dist; both checked, the wheel tried
	rm -rf dist
	$(DIST)/bin/python -m build
	$(DIST)/bin/python -m twine check --strict dist/*
	$(PYTHON) -m venv --clear $(DIST)/try
	$(DIST)/try/bin/python -m pip install --quiet --constraint constraints.txt dist/*.whl
	cd $(DIST)/try && bin/python -c "import gymnasium, solitaire_env; \
		gymnasium.make('Solitaire/Klondike-v0').reset(seed=1); print(solitaire_env.__file__)"

$(DIST)/ready: constraints.txt
	$(PYTHON) -m venv --clear $(DIST)
	$(DIST)/bin/python -m pip install --quiet --constraint constraints.txt build twine
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
$(BEFORE)/ready: | $(COMPILED)
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
