# Few commands. `make demo` and `make test` are complete on a fresh machine; the others too.
.DEFAULT_GOAL := help
.PHONY: help setup demo tune dev test check bench lock clean
bin := .venv/bin

help: ## say what there is
	@sed -n 's/^\([a-z%-]*\):.*## /make \1: /p' $(MAKEFILE_LIST)

setup: ## make .venv from the lock; does nothing where it is up to date
	@bash deploy/setup.sh

demo: setup ## real pages, code and STEM text to a streamed mixture, on the sample
	@$(bin)/corpusmill demo

tune: demo ## find the fastest engine settings on the sample's prompts; synthesis then uses them (about an hour)
	@$(bin)/corpusmill materialize --assets tuning/smollm2/cpu

dev: setup ## the Dagster UI and its daemon
	@$(bin)/corpusmill dev

test: ## set up and run all tests, two at a time; TESTS="tests/dedup -m 'not slow'" runs some
	@bash deploy/setup.sh test
	@$(bin)/python -m pytest -n 2 --durations=25 --durations-min=4 $(TESTS)

check: setup ## lint, format, types
	@$(bin)/ruff check .
	@$(bin)/ruff format --check .
	@$(bin)/mypy

bench: setup ## run every benchmark
	@$(bin)/python -m benchmarks

bench-%: setup ## run one benchmark, for example bench-commits
	@$(bin)/python -m benchmarks $*

lock: ## resolve requirements.lock anew (needs uv)
	uv pip compile pyproject.toml --extra cpu --extra dev --override deploy/not-installed.txt --universal \
	    --python-version 3.11 --generate-hashes --no-annotate --upgrade --no-header --output-file requirements.lock

clean: ## forget the demo's lake and state in .corpusmill; keep .venv, and a lake or state_folder that settings put elsewhere
	rm -rf .corpusmill benchmarks/results
