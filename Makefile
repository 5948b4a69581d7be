# What a person needs of Flowsieve in addition to cargo: `make help` says it. How is in scripts/.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: run lab lab-compare lab-applications agent test test-all test-random test-cluster race generate wheel wheel-release bench fuzz doc book playground pictures pages prose clean help

# Everything is built with the versions of Cargo.lock, or not at all.
CARGO := cargo
DOC := RUSTDOCFLAGS='-D warnings' $(CARGO) doc --locked --workspace --no-deps

run: ## build, run experiments/quickstart.toml and show what came out
	@scripts/setup.sh
	$(CARGO) build --locked --profile quick -p flowsieve
	$(CARGO) run --locked --profile quick --quiet -p flowsieve -- run experiments/quickstart.toml --out results/quickstart

lab: ## run papers/lab/demonstration.toml on the TCP of this machine's Linux, as root, and show the times of short messages
	@scripts/setup.sh lab
	$(CARGO) build --locked --release -p flowsieve
	$(CARGO) run --locked --release --quiet -p flowsieve -- lab run papers/lab/demonstration.toml --out results/lab --replace

lab-compare: ## compare the simulator with the TCP of this machine's Linux, flow by flow: four schemes, ten minutes, as root
	@scripts/setup.sh lab
	$(CARGO) run --locked --release --quiet -p flowsieve -- lab compare papers/lab/agreement.toml \
		--set scheme=dctcp,pias,qc-las,nos2 --out results/lab-compare --replace

lab-applications: ## show what schedulers do to memcached and nginx between network namespaces of this machine, as root: a quarter of an hour
	@scripts/setup.sh lab-applications
	$(CARGO) build --locked --release -p flowsieve
	scripts/lab_applications.py "$${CARGO_TARGET_DIR:-target}/release/flowsieve"

# One optimised profile with every check on, which clippy, tests and documentation share.
agent: ## the whole way of an operator between network namespaces, as root: record, tune, tag half of the hosts, judge; two minutes
	@scripts/setup.sh agent
	$(CARGO) build --locked --release -p flowsieve
	@scripts/agent.py "$${CARGO_TARGET_DIR:-target}/release/flowsieve"

test: ## everything that has to pass: format, lints, tests, documentation, licences
	@scripts/setup.sh test
	$(CARGO) fmt --all --check
	rustfmt --check --edition 2024 fuzz/fuzz_targets/*.rs
	@scripts/prose.py
	$(CARGO) clippy --locked --workspace --all-targets --profile ci -- -D warnings
	$(CARGO) test --locked --workspace --profile ci --no-run
	@scripts/tests.sh --locked --workspace --profile ci
	$(DOC) --profile ci
	@scripts/size.sh

test-all: ## the same, with the catalogues of papers also if nothing that they run has changed since they passed
	@ALL=1 $(MAKE) --no-print-directory test

test-random: ## the property tests on new cases for ten minutes (MINUTES=60: an hour); prints the seed of each round
	@scripts/setup.sh test
	@MINUTES=$(MINUTES) scripts/test_random.sh

race: ## try every order of what two threads of a run do at their barrier, by loom
	@scripts/setup.sh
	RUSTFLAGS='--cfg loom' CARGO_TARGET_DIR="$${CARGO_TARGET_DIR:-target}/loom" \
		$(CARGO) test --locked -p flowsieve-sim --lib --profile ci races

test-cluster: ## sweeps on two nodes of Ray on this machine; brings Ray if it is not there
	@scripts/setup.sh
	@scripts/package.sh cluster

wheel: ## build a wheel of the Python package for development into target/wheels: quick to build
	@scripts/setup.sh
	@scripts/wheel.sh quick target
	@ls -l target/wheels

wheel-release: ## build the wheel that is quick to run, as pip does
	@scripts/setup.sh
	@scripts/wheel.sh release target
	@ls -l target/wheels

generate: ## write what follows from declarations: the options of the Python package, and tables of docs/reference
	@scripts/setup.sh
	FLOWSIEVE_GENERATE=1 $(CARGO) test --quiet --locked --workspace --profile ci --test flowsieve_tests generated

bench: ## measure: packet-hops per CPU-second, instructions and mispredicted branches, memory (LARGE=1: the k = 16 fat-tree too)
	@scripts/setup.sh bench
	@LARGE=$(LARGE) scripts/bench.sh

fuzz: ## fuzz the readers of files for a minute each (SECONDS_EACH=600: ten)
	@SECONDS_EACH=$(SECONDS_EACH) scripts/fuzz.sh

doc: ## build the documentation of the code into target/doc
	@scripts/setup.sh
	$(DOC)

book: ## build docs/ as a book into target/book, with search; brings mdBook if it is not there
	@scripts/setup.sh
	@scripts/book.sh
	@echo target/book/index.html

playground: ## build the playground into target/playground/index.html: the simulator in one page for a browser
	@scripts/setup.sh
	@scripts/playground.sh

pictures: ## draw the pictures of docs/ anew: two minutes
	@scripts/setup.sh test
	@CARGO=$(CARGO) scripts/pictures.sh

pages: ## write every claim of the papers into target/pages, PAPER.html and PAPER.csv, from the kept measurements: no new runs
	@scripts/setup.sh
	@CARGO=$(CARGO) scripts/pages.sh

prose: ## check the English of the documents: lengths of pages, paragraphs and sentences, words to avoid, and the size of docs
	@scripts/prose.py

clean: ## remove what was built and the tools that were installed; results stay
	$(CARGO) clean
	rm -rf .cargo-tools fuzz/target python/.venv python/*/.venv python/*/node_modules

help: ## say this
	@sed -n 's/^\([a-z-]*\): ## /\1\t/p' Makefile | while IFS='	' read -r name what; do printf '  make %-16s %s\n' "$$name" "$$what"; done
