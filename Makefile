# make test and make bench are all the set-up there is: each installs what it misses first, and says so.
# All tests are Swift Testing's; there are none for XCTest to run.

SHELL := /bin/bash
.DEFAULT_GOAL := help
BENCH_ARGS ?=
BUDGET ?= 3m
TRAITS := --traits Combine

# step NAME, COMMAND: runs it, and says how long it took; the first that fails ends the run by its name.
define step
	@echo "== $(1)"; start=$$SECONDS; $(2) || { echo "make: $(1) failed" >&2; exit 1; }; echo "== $(1): $$((SECONDS - start)) s"
endef

.PHONY: help test unit layers proofs lint check-model probes sanitize bench bench-peers bench-test format clean

help: ## says what there is
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /: /'

test: ## builds and tests everything, as CI does; QUICK=1 leaves the models and the sanitizers out
	$(call step,setup,Tools/setup test)
	$(call step,layers,Tools/layers --self-test)
	$(call step,proofs,Tools/proofs --self-test)
	$(call step,lint,Tools/format --lint)
	$(call step,unit tests,swift build --build-tests $(TRAITS) && swift test --skip-build --disable-xctest $(TRAITS))
	$(call step,unit tests on one processor,taskset -c 0 swift test --skip-build --disable-xctest $(TRAITS))
	$(call step,probes,Tools/probes)
	$(if $(QUICK),,$(call step,models,Tools/promela && Tools/model $(BUDGET)))
	$(if $(QUICK),,$(call step,sanitizers,Tools/sanitize thread address undefined delays thread-annotated thread-plain memory memcheck helgrind drd))

unit: ## the unit tests alone
	swift test --disable-xctest $(TRAITS)

check-model: ## model checks and mutants of the C core and the Swift module; BUDGET=1h for longer, ONLY=TEXT for some of the mutants
	@Tools/setup model
	@$(if $(ONLY),,Tools/promela)
	@Tools/model $(BUDGET) $(if $(ONLY),--only '$(ONLY)')

layers proofs lint probes sanitize: ## one gate alone; KIND=thread for one sanitizer
	@case $@ in layers) Tools/layers --self-test ;; proofs) Tools/proofs --self-test ;; lint) Tools/format --lint ;; probes) Tools/probes ;; \
	  sanitize) Tools/sanitize $(or $(KIND),thread address undefined) ;; esac

# The text goes through the environment as it was written: no shell reads its | and $.
unexport BENCH_ARGS
bench: export BENCH_WORDS := $(value BENCH_ARGS)
bench: ## runs the benchmark against Dispatch and the other peers; BENCH_ARGS="--quick --filter K1|K2"
	$(call step,setup,Tools/setup bench)
	@Tools/bench --words "$$BENCH_WORDS"

bench-peers: ## installs the libraries and languages that the benchmark compares with where they are there
	@Tools/setup bench-peers

bench-test: ## the benchmark's own tests: calibration, targets, comparison; the program; what its renderer refuses
	@Tools/readme-table --self-test
	@Tools/setup bench
	@swift build -c release --build-tests --package-path bench --scratch-path .build-bench
	@swift test -c release --skip-build --disable-xctest --package-path bench --scratch-path .build-bench
	@Tools/bench --list > /dev/null
	@bench/Tests/program

format: ## formats all sources
	@Tools/format

clean: ## removes what was built
	rm -rf .build .build-* bench/out
