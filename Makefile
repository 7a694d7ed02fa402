# make test and make check install what they miss, and say so.
.DEFAULT_GOAL := help
.PHONY: help test check campaign demo bench scale bench-peers bench-test docs format trace-example clean

BENCH_ARGS ?=
MINUTES ?= 60

help: ## prints the targets
	@cat Makefile packaging/library.mk | grep -E '^[a-z-]+:.*##' | sed -E 's/:.*## /: /'

test: ## lint, debug build and all unit tests, before each commit; ONLY=STEP for one step
	@Tools/ci test $(foreach step,$(ONLY),--only $(step))

check: ## what CI runs after make test: release, sanitizers, model checks, examples, …; ONLY=STEP for one step
	@Tools/ci check $(foreach step,$(ONLY),--only $(step))

campaign: ## long model checks, fuzzing, soak, valgrind, stress with random seeds, before a version; MINUTES=60, ONLY=PART
	@Tools/campaign $(MINUTES) $(ONLY)

# The text goes through the environment as it was written: no shell reads its | and $.
unexport BENCH_ARGS
bench: export BENCH_WORDS := $(value BENCH_ARGS)
bench: ## runs the benchmark against Dispatch and other peers, and writes bench/RESULTS.md; BENCH_ARGS="--quick --filter K1|K2"
	@Tools/setup bench
	@bench/run --words "$$BENCH_WORDS"

demo: ## runs the program of README.md and a quick benchmark against Dispatch, and prints its table
	@Tools/setup bench
	@bench/demo

scale: ## how the core scales: a simulated multiprocessor, 1 to 128 processors, beside this machine; SCALE_ARGS="--only workers"
	@Tools/setup model
	@bench/scale/run $(SCALE_ARGS)

bench-peers: # installs the libraries and languages that the benchmark compares with
	@Tools/setup bench-peers

bench-test: # runs the benchmark's own tests
	@bench/page --self-test
	@Tools/setup bench
	@swift build -c release --build-tests --package-path bench --scratch-path .build-bench
	@swift test -c release --skip-build --disable-xctest --package-path bench --scratch-path .build-bench
	@bench/run --list > /dev/null
	@bench/Tests/program

docs: ## writes a static site of all documentation; OUT=.build/docs, BASE=/path at which it will be served
	@Tools/setup docs
	@Documentation/site/build --out $(or $(OUT),.build/docs) --base $(or $(BASE),/)

format: ## formats all sources
	@Tools/format

trace-example: ## writes a trace of examples/SearchAsYouType for Perfetto; FILE=path
	@Tools/setup trace
	@examples/trace-example $(FILE)

include packaging/library.mk

clean: ## removes what was built
	rm -rf .build .build-* bench/out
