# `make` alone lists the targets. Everything a target needs beyond Rust, git, make and python3 is installed by it into
# .tools/ and tests/clients/node_modules/ (on Debian also missing packages, by apt-get).

SHELL := /bin/sh
CARGO ?= cargo
.DEFAULT_GOAL := help
.PHONY: help demo test lint bench charts chaos fuzz clean
# The steps of a target stand in an order, and two cargos would only wait for each other.
.NOTPARALLEL:

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## watch a session survive a reload and a crash; needs nothing but this
	@echo "demo: building the release binary (a minute or two, the first time)"
	@$(CARGO) build --quiet --release --bin holdfast
	@$(CURDIR)/target/release/holdfast demo

test: ## everything: Rust tests, dependency checks, official MCP clients
	@sh scripts/test.sh

lint: ## formatting, clippy and rustdoc, warnings denied
	@sh scripts/lint.sh

bench: ## side by side against a bare relay, as ratios in one run
	$(CARGO) bench --bench side_by_side
	@echo "bench: done"

charts: ## write the state machines' tables and diagrams anew (src/fsm/charts/)
	UPDATE_CHARTS=1 $(CARGO) test --quiet --package holdfast --lib fsm
	@git --no-pager diff --stat -- src/fsm/charts || true
	@echo "charts: written; read the difference before you commit it"

SEEDS ?= 100000
chaos: ## many simulated seeds: make chaos SEEDS=100000 FROM=0
	SEEDS=$(SEEDS) FROM=$(or $(FROM),0) $(CARGO) test --package chaos-tests --test sim -- --nocapture every_seed
	@echo "chaos: $(SEEDS) seeds kept every promise"

SECONDS ?= 60
fuzz: ## coverage-guided fuzzing: make fuzz SECONDS=600 TARGETS="session lines"
	@TARGETS="$(TARGETS)" sh scripts/fuzz.sh $(SECONDS)

clean: ## remove what was built and what was installed here
	$(CARGO) clean
	rm -rf .tools tests/clients/node_modules tests/clients/__pycache__
	@echo "clean: done"
