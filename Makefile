# delaylab: what there is to do here. `make` alone prints this list.
#
#   make accept ONLY=rate          one of busy, rate, memory, capture, load, frames, simulation, records,
#                                  samples, serve, testbed, calibration, planted, servers, package
#   make accept SECONDS=10         a quick look
#   make accept ROUNDS=9           more repeats

SHELL := /bin/bash
.DEFAULT_GOAL := help

SECONDS ?= 60
FUZZ_SECONDS ?= 60

.PHONY: help demo test test-all accept build dist release guide lint fmt fuzz clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## build, ping by every method, run two experiments, show their tables and reports
	@scripts/install.sh demo
	cargo build --profile demo --package delaylab-cli
	@scripts/demo.sh

test: ## what a change can break: format, lints, tests, documents, dependencies (a quarter of an hour)
	@scripts/install.sh test
	@scripts/test.sh

test-all: ## the same and what is long: kills, the whole catalogue, peers, fuzzing, accept (an hour more; root)
	@scripts/install.sh test
	@scripts/install.sh accept
	@scripts/test.sh all

accept: ## measure side by side with ping, irtt and sockperf, and print one table (root)
	@scripts/install.sh accept
	@$(MAKE) --no-print-directory dist
	@python3 -B benches/accept.py --seconds $(SECONDS) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(ONLY),--only $(ONLY))

build: ## build target/release/delaylab
	cargo build --release --package delaylab-cli

dist: ## build target/dist/delaylab, with link-time optimisation: what is handed out and measured
	cargo build --profile dist --package delaylab-cli

release: ## build what people install into target/packages: wheel, Debian package, static program, container image
	scripts/install.sh release
	scripts/release.sh

guide: ## build the user guide into target/guide (mdBook, installed into target/mdbook)
	@scripts/guide.sh

lint: ## check the format and every lint, as test does
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

fmt: ## format the code
	cargo fmt --all

fuzz: ## fuzz each target for FUZZ_SECONDS (60)
	scripts/fuzz.sh $(FUZZ_SECONDS)

clean: ## remove what was built
	cargo clean
	rm -rf fuzz/target
