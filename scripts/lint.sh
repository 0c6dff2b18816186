#!/bin/sh
# `make lint`: formatting, clippy, rustdoc. Warnings are errors here and nowhere else, so that work in progress compiles.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh
need_rust rustfmt clippy

say "cargo fmt"
cargo fmt --all --check
say "cargo clippy"
cargo clippy --workspace --all-targets --locked -- -D warnings
say "rustdoc"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --locked
echo "lint: passed"
