#!/bin/sh
# `make lint`: formatting, clippy, rustdoc, lock files. Warnings are errors here and nowhere else, so that work in progress compiles.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh
need_rust rustfmt clippy

say "cargo fmt"
cargo fmt --all --check
say "cargo clippy"
cargo clippy --workspace --all-targets --locked -- -D warnings
# Not among "all targets", since `cargo test` alone cannot run it.
cargo clippy --workspace --test unity_host --locked -- -D warnings
say "rustdoc"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --locked
say "lock file of fuzz/"
# A workspace of its own: nothing else here notices that its lock file has fallen behind.
cargo metadata --locked --manifest-path fuzz/Cargo.toml --format-version 1 >/dev/null
echo "lint: passed"
