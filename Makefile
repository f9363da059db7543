# A bare `make` lists what there is. PYTHON, TORCH_INDEX, BROWSER and PORT may be set: make start BROWSER=none PORT=8899

PY = $(shell for p in "$(PYTHON)" python3 python3.13 python3.12 python3.11 /usr/bin/python3; do \
	"$$p" -c '' 2>/dev/null && echo "$$p" && break; done)
SETUP = $(if $(PY),"$(PY)" course_lib/house/bootstrap.py,$(error course set-up: no python3 that runs is on PATH: \
	install Python 3.11 or newer from https://www.python.org/downloads))

help: ## list these targets
	@awk -F ':.*## ' -v authors="$(wildcard tests)" '/^ifneq/ && !authors {exit} \
		/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

start: env ## open the course in JupyterLab (BROWSER=none prints the address, PORT=8899 sets the port)
	@.venv/bin/course start --browser "$(BROWSER)" $(if $(PORT),--port "$(PORT)")

doctor: env ## say what works on this machine, and what to do about what does not
	@.venv/bin/course doctor

env: ## only install, into .venv (PYTHON=python3.12, TORCH_INDEX=https://download.pytorch.org/whl/cpu)
	@$(SETUP) lab grade

clean: ## remove .venv and everything that tools leave behind
	rm -rf .venv .course .pytest_cache .ruff_cache .mypy_cache .hypothesis .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help start doctor env clean

# For authors and instructors; the student bundle, which has no tests, has none of these.
ifneq ($(wildcard tests),)

sync: env ## regenerate notebooks and frozen cases from their sources
	@.venv/bin/course sync

test: env-test ## check generated files, style, floors and types, then run the tests
	.venv/bin/course sync --check
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/lint-imports
	.venv/bin/mypy
	.venv/bin/pytest -m "not slow"

check-all: test ## test, then what is slow: many seeds, fresh environments, a fresh clone
	.venv/bin/pytest -m slow

figures: env ## redraw every figure
	@for figure in figures/*.py; do echo "$$figure"; .venv/bin/python "$$figure" || exit 1; done

bench: env ## run every benchmark against its peer
	@for bench in tests/benchmarks/bench_*.py; do echo "$$bench"; .venv/bin/python "$$bench" || exit 1; done

env-test:
	@$(SETUP) lab grade test

.PHONY: sync test check-all figures bench env-test
endif
