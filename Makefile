# `make demo` and `make test` need nothing but a Python 3.12 or 3.13: the set-up is part of them.

VENV := .venv
PY := $(VENV)/bin/python
PIP_FLAGS := --quiet --quiet --disable-pip-version-check
WORK := build/make

# The stamps carry a checksum of this folder's path: a copied environment still points to the old folder.
HERE := $(shell printf %s '$(CURDIR)' | cksum | cut -d' ' -f1)
READY := $(VENV)/ready-$(HERE)

# The newest jaclang that the Jac code must pass the type check of, beside the one it runs on.
JAC16 := jaclang==0.16.7
JAC16_VENV := .venv-jac16
JAC16_READY := $(JAC16_VENV)/ready-$(JAC16)-$(HERE)

JAC_FILES = $(shell find jac py_bridge examples -type f -name '*.jac' ! -name '*.impl.jac' ! -path '*/.jac/*' 2>/dev/null | sort)

# The lock's line for package $(1), at the time the recipe runs.
pinned = $$(grep -E '^$(1)==' requirements.lock)

TARGETS := help setup demo test lint types format jac-check wheel lock clean
.DELETE_ON_ERROR:

help: ## list the targets
	@for name in $(TARGETS); do sed -n "s/^$$name:.*## /  $$name\t/p" Makefile; done | expand -t 16

setup: $(READY) ## make .venv with the locked dependencies and this project, editable

# After a change of the dependencies the environment is brought up to date; a new or moved one is made from nothing.
$(READY): pyproject.toml setup.py requirements.lock
	@set -e; \
	if [ ! -e $(READY) ] || ! $(PY) -c '' 2>/dev/null; then \
	    python=$$(sh scripts/find_python.sh); \
	    echo "Setting up $(VENV) with $$python"; \
	    "$$python" -m venv --clear $(VENV); \
	fi; \
	$(PY) -m pip install $(PIP_FLAGS) -r requirements.lock; \
	$(PY) -m pip install $(PIP_FLAGS) --no-deps --no-build-isolation --editable .; \
	touch $(READY)

demo: $(READY) ## replay a recorded run and show what is kept, restored and saved
	@$(VENV)/bin/contextrender demo

test: $(READY) ## run the whole suite, but for the client programs that take minutes to install (make test-clients)
	@$(PY) -m pytest -m "not more_clients"

lint: $(READY) ## check style
	@$(PY) -m ruff check .

types: $(READY) ## check Python types
	@$(PY) -m mypy

format: $(READY) ## sort imports and apply the safe fixes of the style check
	@$(PY) -m ruff check --fix .

jac-check: $(READY) $(JAC16_READY) ## check the Jac code with the jaclang it runs on, and with the newest
	@set -e; \
	if [ -z "$(JAC_FILES)" ]; then echo "jac-check: no .jac files in jac/, py_bridge/ and examples/" >&2; exit 1; fi; \
	for file in $(JAC_FILES); do echo "$$file"; $(VENV)/bin/jac check "$$file"; done; \
	$(JAC16_VENV)/bin/jac check $(JAC_FILES)

$(JAC16_READY): pyproject.toml setup.py requirements.lock
	@set -e; \
	python=$$(sh scripts/find_python.sh); \
	"$$python" -m venv --clear $(JAC16_VENV); \
	$(JAC16_VENV)/bin/python -m pip install $(PIP_FLAGS) '$(JAC16)' \
	    $(call pinned,tiktoken) $(call pinned,numpy) $(call pinned,setuptools); \
	$(JAC16_VENV)/bin/python -m pip install $(PIP_FLAGS) --no-deps --no-build-isolation --editable .; \
	touch '$(JAC16_READY)'

# Old build folders are removed first: setuptools would pack what was deleted since.
wheel: $(READY) ## build the wheel and try it in an empty environment
	@set -e; \
	rm -rf build dist; \
	$(PY) -m build --no-isolation --wheel . >/dev/null; \
	wheel=$$(ls dist/*.whl); \
	want=$$(find jac py_bridge/contextrender -type f -name '*.jac' ! -path '*/.jac/*' | wc -l | tr -d ' '); \
	have=$$($(PY) -m zipfile -l "$$wheel" | grep -c '\.jac ' || true); \
	echo "$$wheel: $$have of $$want .jac files"; \
	[ "$$have" = "$$want" ]; \
	$(PY) -m venv --clear $(WORK)/wheel-env; \
	$(WORK)/wheel-env/bin/python -m pip install $(PIP_FLAGS) --constraint requirements.lock "$$wheel"; \
	mkdir -p $(WORK)/elsewhere; cd $(WORK)/elsewhere; \
	../wheel-env/bin/contextrender --version; \
	../wheel-env/bin/contextrender --help; \
	cd ../../..; rm -rf build

lock: ## refresh requirements.lock from pyproject.toml, in a new environment
	@set -e; \
	python=$$(sh scripts/find_python.sh); \
	"$$python" -m venv --clear $(WORK)/lock-env; \
	$(WORK)/lock-env/bin/python -m pip install $(PIP_FLAGS) '.[dev]'; \
	{ \
	    echo "# Exact versions of everything, development tools included; the same on Python 3.12 and 3.13."; \
	    echo "# Made by \`make lock\` from pyproject.toml: change that file, then run it again."; \
	    $(WORK)/lock-env/bin/python -m pip freeze --all --exclude pip --exclude contextrender; \
	} > requirements.lock.new; \
	mv requirements.lock.new requirements.lock; \
	rm -rf build

ifneq ($(wildcard bench/*.py),)
TARGETS += bench
bench: $(READY) ## run the benchmarks
	@set -e; for file in $(sort $(wildcard bench/[!_]*.py)); do echo "== $$file"; $(PY) "$$file"; done
endif

ifneq ($(wildcard tests/faults/test_*.py),)
TARGETS += faults
faults: $(READY) ## kill processes and break things
	@$(PY) -m pytest tests/faults
endif

ifneq ($(wildcard tests/clients/test_*.py),)
TARGETS += test-clients
test-clients: $(READY) ## drive real client programs
	@$(PY) -m pytest tests/clients
endif

clean: ## remove environments, builds and caches
	rm -rf $(VENV) $(JAC16_VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . \( -name __pycache__ -o -name __jac_gen__ -o -name .jac \) -type d -prune -exec rm -rf {} +

.PHONY: $(TARGETS)
