# Assay. `make` alone lists the targets; the work is in scripts/ and in xtask/.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help quick test qualify bench release clean

# Where rustup puts cargo, and where sshd and losetup live for those who are not root.
export PATH := $(PATH):$(HOME)/.cargo/bin:/usr/sbin:/sbin

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

quick: ## build the lean static binary, measure WHERE (a directory; default: the temporary one), report, clean up
	@scripts/prepare.sh quick
	@scripts/quick.sh $(ARGS)

test: ## everything CI checks: install what is needed, build, fmt, clippy, tidy, all tests
	@scripts/prepare.sh test
	@cargo xtask ci

qualify: ## hours: each benches/qualify-*.sh in turn (repetitions, crashes, soak, speed ratios)
	@scripts/each.sh 'benches/qualify-*.sh'

bench: ## minutes: each benches/bench-*.sh in turn
	@scripts/each.sh 'benches/bench-*.sh'

release: ## the full static binary as an archive in target/
	@scripts/prepare.sh quick
	@scripts/release.sh

clean: ## remove what was built
	@cargo clean
