# make demo and make test set up what they need by themselves; nothing but Python ≥ 3.11 and make is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Everything for development comes in the versions of constraints.txt and with the digests of packaging/locks (make locks writes them).
# CONSTRAINTS= (empty) takes the newest versions of everything.
CONSTRAINTS ?= --constraint constraints.txt
PIP := python -m pip install --quiet --disable-pip-version-check
# Small matrices are fastest on one BLAS thread, and tests run one process per core.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

.PHONY: setup setup-gpu locks demo test test-quick coverage soak fuzz test-lowest check format house reproduction bench-peers bench-regret bench-speed bench-scale bench-gpu bench-storage bench-parallel bench-workers bench-web bench-calibration bench-adapters bench-report docs docs-serve theory dist clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt packaging/locks/dev.txt
	$(PYTHON) -c 'import sys; sys.exit("noregret needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv $(VENV)
ifeq ($(strip $(CONSTRAINTS)),)
	$(BIN)/$(PIP) --editable '.[dev]'
else
	$(BIN)/$(PIP) --require-hashes --requirement packaging/locks/dev.txt
	$(BIN)/$(PIP) --no-deps --no-build-isolation --editable .
endif
	touch $@

# The locks: every package of constraints.txt with the digests of all its files, as the index has them; no index is named in them.
# dev: for development and CI; core: what the wheel needs; release: what builds and checks it.
LOCK := build/lock/bin/uv pip compile --quiet --generate-hashes --universal --python-version 3.11.5 --no-header --no-annotate --constraint constraints.txt
locks:
	$(PYTHON) -m venv build/lock
	build/lock/bin/$(PIP) uv==0.13.7
	$(LOCK) pyproject.toml packaging/requirements-build.txt --extra dev --output-file packaging/locks/dev.txt
	$(LOCK) pyproject.toml --output-file packaging/locks/core.txt
	$(LOCK) packaging/requirements.txt packaging/requirements-build.txt --output-file packaging/locks/release.txt

# PyTorch for the tests of the GPU's code, which run on the processor: a few hundred MB, and gigabytes where the index has only the build
# for GPUs (pytorch.org names one that has the other: PIP_EXTRA_INDEX_URL). Without it those tests are skipped, but not in CI.
setup-gpu: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps $(CONSTRAINTS) 'torch>=2.5'

# What the demo and the page need and no more, in an environment of its own: half a minute instead of minutes.
DEMO := build/demo/bin
build/demo/.ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("noregret needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv build/demo
	$(DEMO)/python -m pip install --quiet --disable-pip-version-check $(CONSTRAINTS) --editable '.[plot,web]'
	touch $@

# RIVAL=optuna: against Optuna's Gaussian process, which needs PyTorch.
demo: build/demo/.ready
	$(if $(RIVAL),$(DEMO)/python -m pip install --quiet --disable-pip-version-check $(CONSTRAINTS) optuna torch)
	RIVAL=$(RIVAL) $(DEMO)/python examples/demo.py

test: setup
	$(BIN)/python -m pytest -n auto --dist loadgroup

# The mathematics room by room and the contract suites, without browser, shell and workers: a minute on two cores.
QUICK := $(addprefix tests/,space gp rkhs search theory trials diagnostics testing)
test-quick: setup
	$(BIN)/python -m pytest -n auto --dist loadgroup $(QUICK)

# Lines of the package that the quick tests run, room by room.
coverage: setup
	$(BIN)/$(PIP) $(CONSTRAINTS) pytest-cov
	$(BIN)/python -m pytest -n auto --dist loadgroup --cov=noregret --cov-report=term:skip-covered $(QUICK)

# Ten minutes each on SQLite and on PostgreSQL: 64 processes that are killed, stopped, told a wrong time and refused space, and a server that
# comes and goes. ARGS="--minutes 1", "--storage postgresql://…" for another server, "--peer optuna" for the same load on its RDBStorage.
soak: setup
	$(BIN)/python -m tests.soak $(ARGS)

# 10,000 random spaces, values and sequences of calls; a night's work.
fuzz: setup
	NOREGRET_FUZZ=10000 $(BIN)/python -m pytest tests/fuzz -n auto

# The oldest versions that pyproject.toml allows, in an environment of its own: what a user may have. Without PostgreSQL, and without
# the golden proposals: an older optimiser rounds differently.
LOWEST := build/lowest/bin
test-lowest:
	$(PYTHON) -m venv build/lowest
	$(LOWEST)/python -m pip install --quiet --disable-pip-version-check uv
	$(LOWEST)/uv pip install --quiet --python $(LOWEST)/python --resolution lowest-direct --editable '.[cli,frame,hmc,plot,web]' 'pytest>=8' 'hypothesis>=6.100' 'mpmath>=1.3' 'pytest-xdist>=3.5'
	CI= $(LOWEST)/python -m pytest -n auto --dist loadgroup $(addprefix tests/,space gp rkhs search theory trials strategies study storage diagnostics)

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Files per room, import layers, longest line, references that lead nowhere and so on; fails if a limit is broken.
house: setup
	$(BIN)/python -m docs.making.house

# The paper's figures and docs/reproduction.md. MNIST=<folder> has the four files; without it they are downloaded from OpenML.
reproduction: setup
	$(BIN)/noregret research reproduce all --out out/reproduction $(if $(MNIST),--mnist $(MNIST))
	$(BIN)/python -m docs.making.reproduction out/reproduction docs

# The peers, each in an environment of its own under .peers; one that cannot be installed is reported in .peers/status.json.
bench-peers:
	$(PYTHON) research/benchmarks/peers/environments.py

# Regret against the peers: runs what is missing, then writes docs/benchmarks.md. Resumable; days for all. ARGS="--suites needle --minutes 30",
# ARGS="--methods noregret" for ours alone, ARGS="--starts own common"; MATERIALS=<folder> for that suite.
PEERS := random optuna_tpe optuna_gp botorch_logei skopt
bench-regret: setup bench-peers
	$(BIN)/python -m research.benchmarks.sweep run --methods noregret $(PEERS) $(if $(MATERIALS),--materials $(MATERIALS)) $(ARGS)
	$(BIN)/python -m research.benchmarks.sweep report

bench-report: setup
	$(BIN)/python -m research.benchmarks.sweep report

# Seconds per ask against the peers: one run, one thread for all.
bench-speed: setup bench-peers
	$(BIN)/python -m research.benchmarks.speed $(ARGS)

# Where the limits lie: asks by the number of trials, and lists. ARGS="--quick", or ARGS="--against ../other/src" for ratios in one run.
bench-scale: setup
	$(BIN)/python -m research.benchmarks.scale $(ARGS)

# One GPU beside BoTorch, with any Python that has PyTorch and BoTorch: PYTHON=…, OUT=file.json; ARGS="--sizes 1000 10000" for less.
OUT ?= out/gpu.json
bench-gpu:
	mkdir -p $(dir $(OUT))
	PYTHONPATH=src:. $(PYTHON) -m research.benchmarks.gpu --out $(OUT) $(ARGS)

# What each adapter costs over a plain ask, and the scikit-learn search against a random one.
bench-adapters: setup
	$(BIN)/python -W ignore -m research.benchmarks.adapters $(ARGS)

# Trials per second through SQLite and PostgreSQL beside Optuna's RDBStorage; the table of docs/storage.md. ARGS="--quick" prints a short one.
bench-storage: setup
	$(PYTHON) research/benchmarks/peers/environments.py storage
	$(BIN)/python -m research.benchmarks.storage $(ARGS)

# Simple regret of four workers against one at equal trials; the other table of docs/storage.md.
bench-parallel: setup
	$(BIN)/python -m research.benchmarks.workers --regret 40 $(ARGS)

# Whether the default's forecasts, alarms and "how much may be left" are true; a section of docs/benchmarks.md. MATERIALS as above.
bench-calibration: setup
	$(BIN)/python -m research.benchmarks.calibration $(if $(MATERIALS),--materials $(MATERIALS)) $(ARGS)

# Utilisation and regret of 1 to 128 processes on one PostgreSQL, and 2,000 simulated; the tables of docs/tutorials/cluster.md. Five minutes on a
# machine with nothing else to do. ARGS="--quick" prints a short one.
bench-workers: setup
	$(BIN)/python -W ignore -m research.benchmarks.workers $(ARGS)

# What attacks cost the page's server in memory and time; the table of docs/security.md. ARGS="--quick" prints a tenth of it.
bench-web: setup
	$(BIN)/python -m research.benchmarks.web attacks $(ARGS)

# The documentation site in site/, strictly: a broken link or a page in no menu is an error. It can be read from the folder, offline.
docs: setup
	$(BIN)/zensical build --clean --strict

# docs/theory.md as a PDF, printed by Chromium: skipped where there is none. CHROMIUM=<path> names one.
theory: setup
	$(BIN)/python -m docs.making.paper out/theory.pdf

docs-serve: setup
	$(BIN)/zensical serve

# sdist and wheel, checked, and the wheel tried in an environment with NumPy and SciPy alone; beside them what is in it (CycloneDX), how it
# was made (in-toto) and digests. RELEASING.md says what comes before and after.
dist: setup
	rm -rf dist build/dist
	$(PYTHON) -m venv build/dist/tools
	build/dist/tools/bin/$(PIP) --require-hashes --requirement packaging/locks/release.txt
	build/dist/tools/bin/python -m build --no-isolation
	build/dist/tools/bin/python -m twine check --strict dist/*
	build/dist/tools/bin/python packaging/check.py dist
	$(PYTHON) -m venv build/dist/bare
	build/dist/bare/bin/$(PIP) --require-hashes --requirement packaging/locks/core.txt
	build/dist/bare/bin/$(PIP) --no-deps dist/*.whl
	build/dist/bare/bin/python -I packaging/smoke.py --bare
	$(BIN)/python packaging/sbom.py dist

clean:
	rm -rf $(VENV) out build dist site .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
