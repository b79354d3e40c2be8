# The virtual environment that everything here runs in, and the Python that makes it.
VENV ?= .venv
PYTHON ?= python3
RUN = PATH="$(CURDIR)/$(VENV)/bin:$$PATH"
# TextWorld, the reference engine, does not run on Python 3.13: its tests are skipped there.
EXTRAS ?= alfworld,bench,deepagents,inspect,notebooks,postgres,ray,studio

OLDEST = .venv-oldest

.PHONY: help demo figures dev docs test test-bare test-long test-oldest lint format clean

help:  ## Show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/:/'

$(VENV)/demo: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN) pip install --quiet --editable .
	@touch $@

# fast-downward-textworld is compiled on installation, and its build calls `python`: hence the PATH.
$(VENV)/dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN) pip install --quiet --upgrade 'pip>=25.1'
	$(RUN) pip install --quiet --editable '.[$(EXTRAS)]' --group dev
	@touch $@

demo: $(VENV)/demo  ## Two strategies side by side on generated household tasks; needs no key
	@rm -rf runs/demo-retry runs/demo-reflexion
	$(RUN) langgraph-reflexion run alfworld --split generated-134 --trials 12 --strategy retry --out runs/demo-retry
	$(RUN) langgraph-reflexion run alfworld --split generated-134 --trials 12 --strategy reflexion --out runs/demo-reflexion
	$(RUN) langgraph-reflexion report runs/demo-retry runs/demo-reflexion

$(VENV)/bench: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN) pip install --quiet --editable '.[bench]'
	@touch $@ $(VENV)/demo

figures: $(VENV)/bench demo  ## The README's figures from the runs of the demo, and a page of them in runs/demo.html
	$(RUN) langgraph-reflexion report runs/demo-retry runs/demo-reflexion --figures runs/figures --html runs/demo.html
	mkdir -p docs/figures && cp runs/figures/*.svg docs/figures/

dev: $(VENV)/dev  ## Install what the targets below need

docs: $(VENV)/dev  ## Build the site of docs/ into build/site, strictly
	$(RUN) zensical build --strict --clean

test: $(VENV)/dev  ## Run the test suite
	$(RUN) pytest --numprocesses 4 --dist loadfile

test-bare: $(VENV)/dev  ## Run the test suite as on a machine that has none of the tools in tests/tools.txt
	tests/without-tools $(MAKE) test

test-long: $(VENV)/dev  ## Run the tests that take their time: killed runs, clusters, clean environments, other worlds
	$(RUN) pytest --numprocesses 2 --dist loadfile -m long

$(OLDEST)/dev: pyproject.toml tests/oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/pip install --quiet --upgrade 'pip>=25.1'
	$(OLDEST)/bin/pip install --quiet --editable . --group test --constraint tests/oldest.txt
	@touch $@

test-oldest: $(OLDEST)/dev  ## Run the core tests on the oldest supported versions
	PATH="$(CURDIR)/$(OLDEST)/bin:$$PATH" pytest --numprocesses 4 --dist loadfile -m "" \
		tests/graph tests/nodes tests/models tests/test_oldest.py

lint: $(VENV)/dev  ## Check style and types
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy -p langgraph_reflexion

format: $(VENV)/dev  ## Put the code into shape
	$(RUN) ruff check --fix .
	$(RUN) ruff format .

clean:  ## Remove what the targets above have made
	rm -rf $(VENV) $(OLDEST) build runs .cache .mypy_cache .pytest_cache .ruff_cache
