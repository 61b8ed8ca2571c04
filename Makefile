# The two commands of the README, `make demo` and `make test`, and what CI runs. Needs make and Python 3.11 or newer.
# Environments: .venv is the base install, .venv-dev has all extras, .venv-VERSION is the base install on another Python.
# Each is built once, and rebuilt when pyproject.toml, the Python version or the path of this directory changes.
ifeq ($(origin PYTHON),undefined)
PYTHON := $(shell for python in python3 python3.13 python3.12 python3.11; do \
    $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
endif
KEY := $(shell { cat pyproject.toml; pwd; $(or $(PYTHON),false) --version; } 2>&1 | cksum | cut -d ' ' -f 1)
BASE := .venv
DEV := .venv-dev

# A user's settings must not reach into our environments.
unexport PYTHONPATH PYTHONHOME PIP_USER PIP_TARGET PIP_PREFIX

# Tests run in two processes, a file in one of them, so that what its tests share is made once; on a busy machine,
# run make test JOBS=1.
JOBS := 2
PYTEST = $(DEV)/bin/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

.PHONY: demo test test-all test-pythons check format bench torture scores docs site release-check clean

demo: $(BASE)/ready-$(KEY)
	@PATH="$(CURDIR)/$(BASE)/bin:$$PATH" examples/demo.sh

test: $(DEV)/ready-$(KEY)
	$(PYTEST)

# The quick tests of the base install on every other supported Python of this machine.
test-pythons:
	.ci/pythons $(or $(PYTHON),python3) $(JOBS)

# With the tests that take long (the shipped model's whole recipe on toys, more families of exports).
test-all: $(DEV)/ready-$(KEY)
	$(PYTEST) -m ''

check: $(DEV)/ready-$(KEY)
	$(DEV)/bin/python -m ruff format --check .
	$(DEV)/bin/python -m ruff check .
	$(DEV)/bin/python -m mypy

format: $(DEV)/ready-$(KEY)
	$(DEV)/bin/python -m ruff format .
	$(DEV)/bin/python -m ruff check --fix .

# The benchmarks that need no model of yours, in minutes; DATA is a file of sentences with gold predicates, by
# default the everyday set. The others in benchmarks/ want a model, sentences or a commit.
DATA :=
bench: $(DEV)/ready-$(KEY)
	@for script in decoding.py span_loss.py training_step.py "text.py $(if $(DATA),--data $(DATA))" long_sentences.py; do \
	    $(DEV)/bin/python benchmarks/$$script || exit 1; echo; done

# Fuzzing, tampering, overload, signals and slow clients against real processes: minutes, times SCALE.
SCALE := 1
torture: $(DEV)/ready-$(KEY)
	$(DEV)/bin/python benchmarks/torture.py --scale $(SCALE)

# Recompute the figures in the shipped model's card; fails where they differ. The sources of EWT are read from the
# directory SOURCES, or downloaded.
SOURCES := $(wildcard ../shared/data)
scores: $(BASE)/ready-$(KEY)
	@test -e build/ewt/test.jsonl || { \
	    echo "Building EWT in build/ewt from $(or $(SOURCES),downloaded sources (to use files: make scores SOURCES=DIR))"; \
	    $(BASE)/bin/spansrl data ewt --out build/ewt $(if $(SOURCES),\
	        --propbank $(SOURCES)/propbank-release-ewt.tar.xz --ud $(SOURCES)/ud-english-ewt.tar.xz); }
	$(BASE)/bin/spansrl evaluate build/ewt/test.jsonl --compare --threads 1

# What the documentation shows of the program: the help of every command, the output of code, the pictures.
docs: $(DEV)/ready-$(KEY)
	$(DEV)/bin/python docs/write_cli.py
	$(DEV)/bin/python benchmarks/corpus.py --page
	$(DEV)/bin/python docs/write_outputs.py
	$(DEV)/bin/python docs/write_pictures.py

# The documentation as a site in build/site; broken links and unknown names are errors.
site: $(DEV)/ready-$(KEY)
	NO_MKDOCS_2_WARNING=1 $(DEV)/bin/python -m mkdocs build --quiet

$(BASE)/ready-$(KEY): WHAT := .
$(DEV)/ready-$(KEY): WHAT := .[train,serve,spacy,analysis,pandas,corpus,cluster,docs,dev]
$(BASE)/ready-$(KEY) $(DEV)/ready-$(KEY):
	$(if $(PYTHON),,$(error spansrl needs Python 3.11 or newer; if it is not on the PATH, run make PYTHON=/path/to/python3))
	@echo "Setting up $(@D), once."
	@rm -rf $(@D)
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --editable '$(WHAT)'
	@touch $@

# Wheels and source distribution: built, looked into, installed into empty environments, run from outside the clone.
release-check:
	.ci/release-check $(or $(PYTHON),python3)

clean:
	rm -rf .venv .venv-* build .mypy_cache .ruff_cache .pytest_cache .hypothesis
