# fabula: `make demo` writes a story, `make test` passes the tests. Nothing is installed twice.
#   PYTHON=python3.12   which Python (3.11 to 3.13) the environment is made with
#   MODEL=NAME          who writes the demo: best (what a server here serves, else the best that this machine can fetch
#                       and run), smollm2 (the quick one), or any model that `fabula write` takes
#   BRIEF=FILE OUT=DIR  what the demo tells, and its project folder
#   TORCH=SPEC          the torch that `make test-train` installs (TORCH="torch --index-url .../cpu" saves some GB)
PYTHON ?= python3
VENV   ?= .venv
MODEL  ?= best
BRIEF  ?= examples/briefs/lighthouse.md
OUT    ?= demo-story
TORCH  ?= torch==2.13.0

BIN     := $(VENV)/bin
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
# A stamp names its Python, so that another PYTHON makes the environment anew.
MADE    := $(VENV)/.made-$(VERSION)
RUNTIME := $(VENV)/.runtime-$(VERSION)
# Training needs 1.5 GB of packages, so it has an environment of its own.
TRAIN   := $(VENV)-train
DEV     := $(VENV)/.dev-$(VERSION)
DOCS    := $(VENV)/.docs-$(VERSION)
PIP     := $(BIN)/python -m pip --disable-pip-version-check install --quiet

# What tests load again and again is compiled once, and a worker keeps to its own core.
export PYTHONDONTWRITEBYTECODE :=
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
# One more than cores, since tests often wait for pages, servers and processes. Neighbours stay on one worker, which
# share servers, browsers and projects that were made once.
WORKERS := --numprocesses $(or $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1),auto) --maxprocesses 4 --dist worksteal

.PHONY: help demo dev test test-train simulate cover check docs screenshots bench clean
.DELETE_ON_ERROR:

help:
	@echo 'make demo   write a story with the best model that this machine can run (MODEL=smollm2: the quick one)'
	@echo 'make dev    install what tests and gates need, as they do by themselves'
	@echo 'make test   run the tests, several at a time'
	@echo 'make test-train  run the tests of training, with torch in the environment $(TRAIN)'
	@echo 'make simulate  run the long simulations: how often each interval is right'
	@echo 'make cover  run them with branch coverage'
	@echo 'make check  run linter, formatter, types, import layers and house rules'
	@echo 'make docs   write docs/reference anew, and build the site in build/site'
	@echo 'make screenshots  every page of the studio in both looks, in build/screenshots (needs playwright and Chromium)'
	@echo 'make bench  run the benchmarks'
	@echo 'make clean  remove the environment and caches'

demo: $(RUNTIME)
	@$(if $(findstring :,$(MODEL)),,$(BIN)/fabula models pull --json $(MODEL) > .demo-model.json)
	@$(BIN)/fabula write $(BRIEF) --out $(OUT) --model $(if $(findstring :,$(MODEL)),$(MODEL),"$$($(BIN)/python \
	  -c 'import json; print(json.load(open(".demo-model.json"))["name"])')") < /dev/null
	@rm -f .demo-model.json
	@echo
	@echo 'The story:    $(OUT)/story.md'

dev: $(DEV)

test: $(DEV)
	@$(BIN)/fabula models pull --quiet smollm2 || echo 'The small model could not be fetched: tests marked "embedded" are skipped.'
	@$(BIN)/python -m pytest --quiet $(WORKERS) $(ARGS)

test-train: $(TRAIN)/.trained-$(VERSION)
	@$(TRAIN)/bin/python -m pytest --quiet tests/training $(ARGS)

simulate: $(DEV)
	@$(BIN)/python -m pytest --quiet $(WORKERS) -m simulation $(ARGS)

cover: $(DEV)
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest --quiet $(ARGS)
	@$(BIN)/coverage report --skip-covered --skip-empty --precision=1

check: $(DEV)
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet
	$(BIN)/mypy --no-error-summary
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m pytest --quiet tests/house

docs: $(DOCS)
	@$(BIN)/python docs/generate.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo 'The site:     build/site/index.html'

screenshots: $(DEV)
	@$(BIN)/python docs/screenshots.py

bench: $(DEV)
	@$(BIN)/python -m benchmarks $(ARGS)

clean:
	rm -rf $(VENV) $(TRAIN) build dist .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

$(MADE):
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo 'fabula needs Python 3.11 to 3.13, and $(PYTHON) is $(or $(VERSION),not there). Say: make PYTHON=python3.12'; exit 1; }
	@echo 'Making the environment $(VENV) with Python $(VERSION) ...'
	@$(PYTHON) -m venv --clear $(VENV) || \
	  { echo 'Python cannot make environments. On Debian and Ubuntu: apt-get install python3-venv'; exit 1; }
	@touch $@

$(RUNTIME): pyproject.toml | $(MADE)
	@echo 'Installing fabula and what it needs ...'
	@$(PIP) --editable '.[all]'
	@touch $@

# What tests need has all that fabula needs in it, so a fresh clone that is only tested is installed in one go.
$(DEV): pyproject.toml | $(MADE)
	@echo 'Installing fabula, and what tests and gates need ...'
	@$(PIP) --editable '.[dev]'
	@touch $(RUNTIME) $@

$(DOCS): pyproject.toml | $(RUNTIME)
	@echo 'Installing what the site is built with ...'
	@$(PIP) --editable '.[docs]'
	@touch $@

# torch comes first, for the processor alone where its index has such a wheel: the other extras then take it as it is.
$(TRAIN)/.trained-$(VERSION): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo 'fabula needs Python 3.11 to 3.13, and $(PYTHON) is $(or $(VERSION),not there). Say: make PYTHON=python3.12'; exit 1; }
	@echo 'Making the environment $(TRAIN) with torch; this takes some minutes and 1.5 GB ...'
	@$(PYTHON) -m venv --clear $(TRAIN)
	@$(TRAIN)/bin/python -m pip --disable-pip-version-check install --quiet $(TORCH)
	@$(TRAIN)/bin/python -m pip --disable-pip-version-check install --quiet --editable '.[dev,train]'
	@touch $@
