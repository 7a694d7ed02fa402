# make test, make check and make bench are all the set-up there is: each installs what it misses first, and says so.
# All tests are Swift Testing's; there are none for XCTest to run.

.DEFAULT_GOAL := help
BENCH_ARGS ?=
BUDGET ?= 3m
MINUTES ?= 10
TRAITS := --traits Combine

.PHONY: docs help test check unit layers proofs lint check-model probes sanitize bench bench-peers bench-test soak trace-example format clean

help: ## says what there is
	@cat Makefile packaging/library.mk | grep -E '^[a-z-]+:.*##' | sed -E 's/:.*## /: /'

test: ## what to run before a commit, in minutes; AGAIN=10 repeats the built tests beside four busy loops
	@Tools/gates test $(if $(AGAIN),--again $(AGAIN))

check: ## all the other gates, as CI runs them after make test; ONLY=gate for one of either
	@Tools/gates check $(foreach gate,$(ONLY),--only $(gate))

unit: ## the unit tests alone
	swift test --disable-xctest $(TRAITS)

check-model: ## model checks and mutants of the C core and the Swift module; BUDGET=1h for longer, ONLY=TEXT for some of the mutants
	@Tools/setup model
	@$(if $(ONLY),,Tools/promela)
	@Tools/model $(BUDGET) $(if $(ONLY),--only '$(ONLY)')

layers proofs lint: ## one gate alone
	@Tools/gates check --only $@

probes: ## uses the package as others would
	@Tools/setup test
	@Tools/probes

sanitize: ## one sanitizer alone: KIND=thread
	@Tools/gates check --only $(or $(KIND),thread)

# The text goes through the environment as it was written: no shell reads its | and $.
unexport BENCH_ARGS
bench: export BENCH_WORDS := $(value BENCH_ARGS)
bench: ## runs the benchmark against Dispatch and the other peers, and writes table and chart; BENCH_ARGS="--quick --filter K1|K2"
	@Tools/setup bench
	@Tools/bench --words "$$BENCH_WORDS"

bench-peers: ## installs the libraries and languages that the benchmark compares with where they are there
	@Tools/setup bench-peers

bench-test: ## the benchmark's own tests: calibration, targets, comparison; the program; what table and chart refuse
	@Tools/benchmark-page --self-test
	@Tools/setup bench
	@swift build -c release --build-tests --package-path bench --scratch-path .build-bench
	@swift test -c release --skip-build --disable-xctest --package-path bench --scratch-path .build-bench
	@Tools/bench --list > /dev/null
	@bench/Tests/program

docs: ## writes a site of all documentation, by DocC, from man pages and Markdown; OUT=.build/docs, BASE=/path that it will be served at
	@Tools/setup docs
	@Tools/docs --out $(or $(OUT),.build/docs) --base $(or $(BASE),/)

format: ## formats all sources
	@Tools/format

include packaging/library.mk

clean: ## removes what was built
	rm -rf .build .build-* bench/out

trace-example: ## writes a trace of examples/SearchAsYouType for Perfetto, and says where; FILE=path
	@Tools/setup trace
	@Tools/trace-example $(FILE)

soak: ## everything at once for ten minutes, with figures; MINUTES=60
	@Tools/soak $(MINUTES)
