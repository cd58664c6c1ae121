# The commands of this repository; `make` alone lists them. scripts/setup brings what a command needs and the
# machine lacks, and is silent when nothing is missing.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run check test night bless bench vm tables cost storm small-worlds policies fuzz documentation map clean
.PHONY: lint licences tests-built
.PHONY: setup-run setup-check setup-bench setup-vm setup-cost setup-tables setup-storm setup-fuzz

export PATH := $(CURDIR)/.cache/bin:$(HOME)/.cargo/bin:$(PATH)

target := $(or $(CARGO_TARGET_DIR),target)
c_files := $(sort $(shell find bpf core policies include examples crates/policy-build -name '*.[ch]'))

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

run: setup-run ## check the hierarchy of the HLS paper's Figure 1, run it in the simulator, draw what happened
	cargo build --locked --release -p hls-cli --no-default-features
	mkdir -p out
	$(target)/release/hls check examples/figure1.kdl
	$(target)/release/hls run examples/figure1.kdl --for 10s --timeline out/figure1.svg --trace out/figure1.pftrace

test: ## before you hand a change in: formatting, lints, licences, all tests, guests in exact time; 20 minutes once built
	scripts/gate

night: ## each night: long tests, CPUs that run at once, fuzzing, campaigns, all small worlds; three hours
	scripts/gate night

check: setup-check lint ## while you work: formatting, lints, unit tests, the repository's own rules
	cargo test --locked --workspace --lib --bins
	cargo test --locked -p hls-tidy

# The crates with tests that compare with golden files.
golden := $(patsubst crates/%/Cargo.toml,%,$(shell grep -l '^hls-golden' crates/*/Cargo.toml))

bless: setup-check ## write all golden files and the blocks of the documents anew; then read what git says has changed
	HLS_BLESS=1 cargo test --locked $(patsubst %,-p hls-%,$(golden))

bench: setup-bench ## events per second beside a bare event queue, memory per thread, analysis, cost of a decision
	scripts/bench

vm: setup-vm ## boot a kernel with sched_ext in a virtual machine; SCRIPT=path runs a script in it
	cargo build --locked -p hls-vm
	$(target)/debug/hls-vm $(SCRIPT)

cost: setup-cost ## instructions of one switch in the kernel, by scheduler and depth, beside other schedulers
	cargo build --locked -p hls-bench
	$(target)/debug/cost

tables: setup-tables ## run the experiments for a real kernel, beside the fair class; an hour
	cargo build --locked --release -p hls-cli -p hls-experiments
	$(target)/release/hls-experiments --engine kernel --hls $(target)/release/hls

storm: setup-storm ## before a release: the longest storms in the kernel; STORMS="gallery loaders" runs these scripts
	scripts/kernel-tests --ignored $(if $(STORMS),,storm)

policies: setup-run ## for each policy, hold its promises in thousands of random hierarchies; ten minutes
	HLS_BLESS=1 cargo test --locked --release -p hls-sim -- --ignored --nocapture the_promises_of_every_policy
	HLS_BLESS=1 cargo test --locked -p hls-experiments policies::

small-worlds: setup-run ## every sequence of events in every small hierarchy, and the engine's glue; 45 minutes, two CPUs
	cargo run --locked --release --quiet -p hls-small-worlds

fuzz: setup-fuzz ## fuzz the readers of untrusted bytes, ten minutes each; TARGET=socket SECONDS=3600 for one, longer
	scripts/fuzz $(or $(TARGET),all) $(or $(SECONDS),600)

documentation: setup-check ## the documentation of all code, private items too
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace --no-deps --document-private-items

map: setup-run ## draw which crate needs which, in docs/internals/crates.svg
	cargo run --locked --quiet -p hls-tidy >docs/internals/crates.svg

clean: ## remove what was built and written; the tools in .cache stay
	cargo clean
	rm -rf out

lint:
	cargo fmt --all --check
	rustfmt --edition 2024 --check crates/calculus/src/schedulers/*.rs # found by the build, unknown to cargo fmt
	clang-format-19 --dry-run -Werror $(c_files)
	cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo clippy --locked --workspace $(guests) -- -D warnings

# Tests that boot guests: cargo takes them only where they are named.
guests := --test kernel --test tables

tests-built:
	cargo test --locked --workspace --no-run
	cargo test --locked --workspace $(guests) --no-run

licences:
	cargo deny --locked check --hide-inclusion-graph licenses bans sources

setup-run:
	@scripts/setup rust cc

setup-check:
	@scripts/setup rust cc clang bpf

setup-tables:
	@scripts/setup rust cc clang bpf vm

setup-bench:
	@scripts/setup rust cc bpf valgrind

setup-vm:
	@scripts/setup rust cc vm

setup-cost:
	@scripts/setup rust cc clang vm

setup-storm:
	@scripts/setup rust cc clang bpf storm

setup-fuzz:
	@scripts/setup rust cc clang fuzz
