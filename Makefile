PYTHON ?= python3
JOBS   ?= 2
BIN    := .venv/bin
RACERS := .venv-bench
SECONDS ?= 60
LEARN  ?= corpora/zen5
OTHERS ?= corpora/zen3 corpora/sapphirerapids corpora/zen4

unexport PYTHONDONTWRITEBYTECODE  # each of a thousand processes would compile all modules

.DEFAULT_GOAL := help

.PHONY: help setup setup-learn setup-docs setup-models demo bench bench-model bench-tuning bench-fusion bench-search bench-models bench-expressions bench-certificates fuzz learn docs pictures test test-slow test-all test-release test-models test-browser check pythons lint typecheck unit format lock package clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## create or update .venv (every target below does so first)
	@$(PYTHON) tools/bootstrap.py

setup-learn: ## .venv with JAX and Optax, which tests and the training of models need
	@$(PYTHON) tools/bootstrap.py learn

setup-docs: ## .venv with MkDocs, which builds the documentation
	@$(PYTHON) tools/bootstrap.py docs

setup-models: ## .venv with PyTorch, and with packages whose models tests compile
	@$(PYTHON) tools/bootstrap.py models

demo: setup ## synthesize a 512x512 matmul kernel and race it against NumPy
	$(BIN)/morello bench "f32[512,512] @ f32[512,512]" --vs numpy

bench: setup $(RACERS)/ready ## race all peers, for hours; BENCH="softmax --seconds 0.2" for less
	$(RACERS)/bin/python -m benchmarks $(BENCH)

bench-model: setup ## measure how well the cost model orders programs; MODEL="softmax --samples 20" for less
	$(BIN)/python -m benchmarks.model $(MODEL)

bench-tuning: setup ## measure the seconds of programs that tuning needs; TUNING="EXPR --seconds 20" for less
	$(BIN)/python -m benchmarks.tuning $(TUNING)

bench-fusion: setup ## measure the gain of fusion by predicted times; FUSION="--only chain" for less
	$(BIN)/python -m benchmarks.fusion $(FUSION)

bench-search: setup ## time searches; SEARCH="collection", "models -j 2", "random --gap 0.02" for others
	$(BIN)/python -m benchmarks.searches $(SEARCH)

bench-models: setup-models ## race whole models against their frameworks; MODELS="minilm --threads 2" for less
	$(BIN)/python -m pip install -qq --no-deps --requirement benchmarks/clients/requirements.txt
	$(BIN)/python -m benchmarks.clients $(MODELS)

bench-certificates: setup ## write and check certificates of the benchmark's Specs; CERTIFICATES="softmax" for some
	$(BIN)/python -m benchmarks.certificates $(CERTIFICATES)

bench-expressions: setup ## race thirty functions of NumPy under morello.jit; EXPRESSIONS="--size 64" for less
	$(BIN)/python -m benchmarks.expressions $(EXPRESSIONS)

fuzz: setup ## try to break it for SECONDS=60, on JOBS=2 processes; SEED=0, KINDS="programs text"
	$(BIN)/python -m fuzz $(KINDS) --seconds $(SECONDS) -j $(JOBS) $(if $(SEED),--seed $(SEED))

learn: setup-learn ## train the model that ships, and study it and others, in half an hour; goes on where it ended
	$(BIN)/morello learn train $(LEARN) $(OTHERS) --programs 24 --output src/morello/learn/models/x86-64.npz
	$(BIN)/python -m study.folds $(LEARN) $(OTHERS) --programs 24
	$(BIN)/python -m study $(LEARN) --programs 24 --docs docs/learned-model.md

docs: setup-docs ## build the documentation into build/site; broken links are errors
	$(BIN)/mkdocs build --strict

pictures: setup ## draw the pictures of the pages, and write the first table of the README
	$(BIN)/python -m tools.pictures
	$(BIN)/python -m tools.front_page

$(RACERS)/ready: requirements.lock benchmarks/requirements.txt
	$(BIN)/python -m venv --without-pip $(RACERS)
	$(BIN)/python -m pip --python $(RACERS)/bin/python install -qq --requirement requirements.lock
	$(BIN)/python -m pip --python $(RACERS)/bin/python install -qq torch==2.13.0
	$(BIN)/python -m pip --python $(RACERS)/bin/python install -qq --no-deps paddlepaddle==3.3.1
	$(BIN)/python -m pip --python $(RACERS)/bin/python install -qq \
	    --requirement benchmarks/requirements.txt
	$(BIN)/python -m pip --python $(RACERS)/bin/python install -qq \
	    --no-deps --no-build-isolation --editable .
	touch $@

test: lint typecheck unit ## lint, typecheck, and tests of every kind, in four minutes

test-slow: setup-learn ## the tests that take more than 0.2 s each
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m slow

test-all: lint typecheck ## both, with all tests in one run, as CI does
	$(BIN)/pytest -n $(JOBS) --dist worksteal

test-release: export EVERY_CASE = 1
test-release: test-all ## test-all, with all parameters of tests that otherwise run a few of theirs

test-models: setup-models ## compile models of other frameworks, and compare them with these
	$(BIN)/pytest -n $(JOBS) --dist worksteal tests/doors tests/importers

test-browser: setup ## press every button and key of the explorer's page, in Chromium
	@command -v chromium google-chrome > /dev/null || { echo "there is no chromium; install it"; exit 1; }
	$(BIN)/python -m pip install -qq --requirement tests/browser/requirements.txt
	$(BIN)/pytest tests/browser

check: lint typecheck ## lint, typecheck, and the quick tests of single modules, in less than a minute
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m "(unit or house) and not slow"

pythons: ## `make check` with each Python from 3.11 to 3.13 that is here, in build/
	@for python in $$($(PYTHON) tools/pythons.py); do \
	    clone=build/$$(basename $$python); rm -rf $$clone; git clone -q . $$clone; \
	    $(MAKE) --no-print-directory -C $$clone check PYTHON=$$python || exit 1; \
	done

lint: setup-learn ## check style and formatting with ruff
	$(BIN)/ruff check
	$(BIN)/ruff format --check

typecheck: setup-learn ## check types with mypy
	$(BIN)/mypy --num-workers $(JOBS)

unit: setup-learn ## run the tests of all kinds that are not slow, on JOBS=2 processes
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m "not slow"

format: setup ## fix style and formatting in place
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

lock: setup ## pin the newest allowed version of every dependency
	$(BIN)/python tools/lock.py

package: setup ## build the wheel and the source archive in dist/, and try both in new environments
	$(BIN)/python -m tools.package

clean: ## remove .venv and everything generated
	rm -rf .venv $(RACERS) bench-out .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist src/*.egg-info
	find src tests tools benchmarks fuzz study examples -name __pycache__ -type d -prune -exec rm -rf {} +
