# `make` alone lists the targets. A target itself installs what it needs beyond Rust, git, make and python3, into .tools/ and
# tests/clients/node_modules/ (on Debian also missing packages, by apt-get).

SHELL := /bin/sh
CARGO ?= cargo
.DEFAULT_GOAL := help
.PHONY: help check demo pictures book static dist windows smoke-windows test-windows check-macos test-arm64 test test-all deny lint bench figures charts chaos chaos-cycles chaos-hub chaos-figures soak fuzz chaos-report clean
# The steps of a target have an order, and two cargos would only wait for each other.
.NOTPARALLEL:

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## watch a session survive a reload and a crash; needs nothing but this
	@echo "demo: building the release binary (the first time some minutes: 259 s were measured on two busy cores)"
	@$(CARGO) build --quiet --release --bin holdfast
	@$(CURDIR)/target/release/holdfast demo

static: ## the release binary of this machine; on Linux a static one, for every distribution
	@sh packaging/build.sh

dist: static ## every package for this machine with its sums, into dist/, installed and tried (packaging/README.md)
	@sh packaging/dist.sh

windows: ## the release program for Windows, built on Debian; it needs no library that Windows does not have
	@sh scripts/windows.sh build

smoke-windows: ## the Windows program under Wine: a session, a hub, the demo, setup and unity install
	@sh scripts/windows.sh smoke

test-windows: ## the Windows program's own tests under Wine, and the demo with every dialect (some 30 minutes)
	@sh scripts/windows.sh test

check-macos: ## type-check and lint for macOS, built on Debian; nothing is run
	@sh scripts/macos.sh

test-arm64: ## the program for Linux on arm64, its smoke part under qemu
	@sh scripts/arm64.sh

check: ## the inner loop: formatting, clippy, unit tests, the rules of the source, a quick simulation (some 3 minutes, warm)
	@sh scripts/check.sh

test: ## proves the promises: units, model, simulation, real processes; seeds and kills shared out over the packages
	@sh scripts/test.sh quick

test-all: ## that with full numbers, and MCP clients, Prometheus, the page in a browser, the Unity package, the packages, Wine
	@sh scripts/test.sh all

deny: ## the dependencies: bans, licences, sources, advisories (deny.toml)
	@sh scripts/deny.sh

lint: ## formatting, clippy and rustdoc, warnings denied
	@sh scripts/lint.sh

bench: ## side by side against a bare relay, as ratios in one run
	$(CARGO) bench --bench side_by_side
	@echo "bench: done"

BENCHES ?= 5
figures: ## run the benchmarks BENCHES times, and write the figures of README.md and docs/benchmarks.md (on a quiet machine)
	@mkdir -p target/figures && rm -f target/figures/*.json
	@for run in $$(seq $(BENCHES)); do \
		$(CARGO) bench --bench side_by_side -- --json $(CURDIR)/target/figures/$$run.json >/dev/null || exit 1; done
	@python3 scripts/figures.py target/figures/*.json

charts: ## write the state machines' tables and diagrams anew (src/fsm/charts/)
	UPDATE_CHARTS=1 $(CARGO) test --quiet --package holdfast --lib fsm
	@git --no-pager diff --stat -- src/fsm/charts || true
	@echo "charts: written; read the difference before you commit it"

pictures: ## make the pictures of README.md and docs/ anew, from the running program (docs/img/)
	@sh scripts/pictures.sh

book: ## build docs/ as a website, in target/book/
	@sh scripts/book.sh

SEEDS ?= 100000
chaos: ## many simulated seeds: make chaos SEEDS=100000 FROM=0
	SEEDS=$(SEEDS) FROM=$(or $(FROM),0) $(CARGO) test --package chaos-tests --test sim -- --nocapture every_seed
	@echo "chaos: $(SEEDS) seeds kept every promise"

# The promised figures are for the release binary, which people run.
# The feature `toy` is the package that only tests have.
RELEASE = $(CARGO) build --release --features toy --bin holdfast && HOLDFAST_BIN=$(or $(CARGO_TARGET_DIR),$(CURDIR)/target)/release/holdfast

CYCLES ?= 10000
# The name of a package (`holdfast fake-unity --help` lists them); empty for all of them.
DIALECT ?=
RUNS ?= 1000
chaos-cycles: ## kill and restart a real fake editor: make chaos-cycles CYCLES=10000 RUNS=1000 DIALECT=holdfast
	$(RELEASE) DIALECT=$(DIALECT) CYCLES=$(CYCLES) RUNS=$(RUNS) $(CARGO) test --package chaos-tests --test real -- --nocapture --test-threads=1 cycles:: exits::
	@echo "chaos-cycles: $(CYCLES) kills and $(RUNS) ends kept every promise"

SESSIONS ?= 20
ROUNDS ?= 1000
chaos-hub: ## kill, stop and end a hub under the load of several clients: make chaos-hub SESSIONS=20 ROUNDS=1000
	$(RELEASE) SESSIONS=$(SESSIONS) ROUNDS=$(ROUNDS) $(CARGO) test --package chaos-tests --test real -- --nocapture --test-threads=1 hub::
	@echo "chaos-hub: $(ROUNDS) rounds with $(SESSIONS) clients kept every promise"

chaos-figures: ## memory under floods, exit and recovery times, of a release build
	$(RELEASE) MEMORY_MIB=64 FLOOD_MIB=1024 STORM_SECONDS=10 RUNS=1000 CYCLES=200 $(CARGO) test --package chaos-tests --test real -- --nocapture --test-threads=1 floods:: exits:: cycles::
	@echo "chaos-figures: measured (lines above, and make chaos-report); the memory was held against 64 MiB"

MINUTES ?= 10
soak: ## mixed load and faults, memory, descriptors, threads and tasks sampled: make soak MINUTES=10
	$(RELEASE) SOAK_SECONDS=$$(($(MINUTES) * 60)) $(CARGO) test --package chaos-tests --test real -- --nocapture soak::
	@echo "soak: $(MINUTES) minutes kept every promise"

chaos-report: ## the report of what the last runs of the chaos suite left (target/chaos-report/)
	CHAOS_COMMIT=$$(git describe --always --dirty 2>/dev/null) $(CARGO) run --quiet --package chaos-tests --bin chaos-report

SECONDS ?= 60
fuzz: ## coverage-guided fuzzing: make fuzz SECONDS=600 TARGETS="session lines"
	@TARGETS="$(TARGETS)" sh scripts/fuzz.sh $(SECONDS)

clean: ## remove what was built and what was installed here
	$(CARGO) clean
	rm -rf .tools dist tests/clients/node_modules tests/clients/__pycache__
	@echo "clean: done"
