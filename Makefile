# The verbs of the project. Each does its own set-up; set-up that is done costs milliseconds.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup setup-browser serve test test-all build check fix lock lab lab-check bench mutate clean

bin := .venv/bin
run = PATH="$(CURDIR)/$(bin):$$PATH" NO_MKDOCS_2_WARNING=1
port ?= 8000
jobs ?= 2

help:  ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:
	@scripts/setup.sh
setup-browser:
	@scripts/setup.sh browser

serve: setup  ## the site at http://127.0.0.1:8000/ with live reload (port=8001 for another port)
	@$(bin)/python -c 'import socket; socket.create_server(("127.0.0.1", $(port))).close()' 2>/dev/null || \
		{ echo "port $(port) is not free; for another one: make serve port=8001" >&2; exit 1; }
	@$(run) $(bin)/mkdocs serve --dev-addr 127.0.0.1:$(port)

test: setup-browser  ## every test, real browser included
	@$(run) $(bin)/ruff check .
	@$(run) $(bin)/python -m pytest -n 2 --dist worksteal

test-all: setup-browser  ## the same with the full browser matrix
	@$(run) FULL_MATRIX=1 $(bin)/python -m pytest -n 2 --dist worksteal

build: setup  ## write the static site to site/
	@$(run) $(bin)/mkdocs build --quiet

check: setup  ## numbers, claims, twins, terms and sources of all pages (about a second)
	@$(run) $(bin)/python -m blocklib check

fix: setup  ## what a machine may mend: formatting of Python code
	@$(bin)/ruff check --fix --quiet . ; $(bin)/ruff format --quiet blocklib snippets scripts tests

lock: setup  ## recompute the facts that need torch, the lab or seconds
	@$(run) $(bin)/python -m blocklib facts --lock

lab: setup  ## train what is missing in the lab; resumes, takes hours (arms="gelu relu" for some)
	@$(run) $(bin)/python -m blocklib lab run $(if $(arms),--only $(arms))

lab-check: setup  ## re-run the first steps of one kept run and compare
	@$(run) $(bin)/python -m blocklib lab check

bench: setup  ## cold and warm build and the preview, as ratios to importing torch and plotly
	@$(run) $(bin)/python scripts/bench.py
	@$(run) $(bin)/python scripts/bench_library.py

mutate: setup  ## small faults put into the exact rooms one by one: do the tests notice? (only=MODULE, jobs=2)
	@$(run) $(bin)/python scripts/mutate.py --jobs $(jobs) $(only)

clean:  ## remove what the verbs made, but not the set-up, nor a reference model half trained
	rm -rf site
	if [ -d .cache ]; then find .cache -mindepth 1 -maxdepth 1 ! -name lab -exec rm -rf {} +; fi
