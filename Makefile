# The commands of this repository. Only the Rust tool chain is needed.
# One profile (release) for everything, so that dependencies compile once.

CARGO ?= cargo
export CARGO
TARGET := $(if $(CARGO_TARGET_DIR),$(CARGO_TARGET_DIR),target)
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: demo test bench fairness cmt soak properties coverage lint fuzz dist clean help

demo: ## build, then load a page over WLAN, LTE and both; writes target/demo/report.html
	@$(CARGO) build --locked --release --quiet -p anabranch-cli
	@rm -rf target/demo
	@$(TARGET)/release/anabranch compare scenarios/demo.toml --out target/demo

test: ## every test of the repository; the last line counts them
	@.ci/test

bench: ## one line a figure: name value unit
	@$(CARGO) run --locked --release --quiet -p anabranch-simulator --example bench
	@optimised=$(TARGET)/dist-build/release/examples/bench; [ ! -x $$optimised ] || \
	  $$optimised sim/tcp-bulk sim/mptcp-two-path sim/connections | sed 's/^/dist\//'
	@$(CARGO) run --locked --release --quiet -p anabranch-linux --example live_bench

fairness: ## shares, gains and balance of coupled congestion control, some minutes
	@$(CARGO) test --locked --release --quiet -p anabranch-simulator --test fairness -- \
	  --ignored --nocapture --test-threads 1 study

cmt: ## the tables of docs/cmt.md, some minutes; TABLES="remedies figures" for some of them
	@$(CARGO) run --locked --release --quiet -p anabranch-lab --example cmt -- $(TABLES)

soak: ## 1 GiB both ways with kernel and usrsctp, CMT with usrsctp; CASES (100000) random ones
	@ANABRANCH_SOAK_MIB=1024 $(CARGO) test --locked --release --quiet -p anabranch-linux \
	  -- sixty_four_mebibytes --show-output
	@ANABRANCH_SOAK_MIB=1024 $(CARGO) test --locked --release --quiet -p anabranch-linux \
	  --test peers -- concurrent:: --show-output --test-threads 1
	@PROPTEST_CASES=$(or $(CASES),100000) $(CARGO) test --locked --release --quiet \
	  -p anabranch-transport --test sctp -- whatever_is_abandoned damaged_packets
	@PROPTEST_CASES=$(or $(CASES),100000) $(CARGO) test --locked --release --quiet \
	  -p anabranch-simulator --test suite -- sctp::every_byte

properties: ## the random tests ROUNDS (10) times, with new cases each time
	@for round in $$(seq $(or $(ROUNDS),10)); do \
	  export PROPTEST_RNG_SEED=$$RANDOM$$RANDOM; echo "PROPTEST_RNG_SEED=$$PROPTEST_RNG_SEED"; \
	  $(CARGO) test --locked --release --quiet -p anabranch-base -p anabranch-wire \
	    -p anabranch-transport -p anabranch-network -p anabranch-traffic -p anabranch-simulator \
	    || exit 1; done

coverage: ## how often the deciding intervals contain the truth; the table of docs/statistics.md
	@$(CARGO) run --locked --release --quiet -p anabranch-lab --example coverage

lint: ## formatting, and clippy with warnings as errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --release --workspace --all-targets -- -D warnings

fuzz: ## every fuzz target for SECONDS (60); needs a nightly tool chain and cargo-fuzz
	@fuzz/run $(or $(filter-out 0,$(SECONDS)),60)

dist: ## archive, Debian package and checksums in target/dist; PLAIN=1 without profiles
	@packaging/dist

clean: ## remove everything that was built
	$(CARGO) clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
