#!/bin/sh
# `make check`: the checks that are quick enough for every edit. `make lint` and `make test` check more.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh
need_rust rustfmt clippy

say "cargo fmt"
cargo fmt --all --check
say "cargo clippy"
cargo clippy --workspace --all-targets --locked -- -D warnings
say "unit tests"
cargo test --workspace --lib --locked --quiet
say "imports and layers"
cargo test --package holdfast --test it --locked --quiet -- imports:: layers::
say "a quick simulation"
SEEDS=${SEEDS:-50} cargo test --package chaos-tests --test sim --locked --quiet -- every_seed
echo "check: passed"
