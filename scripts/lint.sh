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
# The gateway alone, without the demo.
cargo clippy --no-default-features --locked -- -D warnings
# Not among "all targets", since `cargo test` alone cannot run it.
cargo clippy --workspace --test unity_host --locked -- -D warnings
say "rustdoc"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --locked
say "nothing that is built or installed is committed"
tracked=$(git ls-files --cached --ignored --exclude-standard 2>/dev/null | head -n 5)
[ -z "$tracked" ] || die "these are committed and git is told to ignore them; git rm --cached them: $tracked"
say "lock files of fuzz/ and tests/clients/rmcp/"
# Workspaces of their own: nothing else here notices that a lock file has fallen behind.
for package in fuzz tests/clients/rmcp; do
    cargo metadata --locked --manifest-path "$package/Cargo.toml" --format-version 1 >/dev/null
done
cargo fmt --manifest-path tests/clients/rmcp/Cargo.toml --check
echo "lint: passed"
