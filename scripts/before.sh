#!/bin/sh
# Builds the release program of an earlier commit outside of this repository, and prints its path as the last line:
#   cargo bench --bench side_by_side -- --only recovery --before "$(sh scripts/before.sh COMMIT | tail -n 1)"
# HOLDFAST_BEFORE names the folder; without it, it is holdfast-builds-of-before among the temporary files.
set -eu
commit=$(git rev-parse --verify --short=8 "${1:?which commit?}^{commit}")
folder=${HOLDFAST_BEFORE:-${TMPDIR:-/tmp}/holdfast-builds-of-before}
program=$folder/holdfast-$commit
if [ ! -x "$program" ]; then
    mkdir -p "$folder"
    git worktree add --force --detach "$folder/source" "$commit" >&2
    trap 'git worktree remove --force "$folder/source" >&2' EXIT
    (cd "$folder/source" && CARGO_TARGET_DIR="$folder/target" nice cargo build --release --locked --bin holdfast >&2)
    cp "$folder/target/release/holdfast" "$program"
fi
echo "$program"
