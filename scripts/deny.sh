#!/bin/sh
# Checks the dependency tree against deny.toml: bans, licences and sources always, advisories when the database can be had.
# A machine without a way to the database hears of it loudly, but does not fail: the other three checks stand on their own.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh

DENY_VERSION=0.20.2
need_rust
DENY=.tools/bin/cargo-deny
if [ "$("$DENY" --version 2>/dev/null)" != "cargo-deny $DENY_VERSION" ]; then
    say "installing cargo-deny $DENY_VERSION into .tools (some minutes, once)"
    cargo install cargo-deny --locked --version "$DENY_VERSION" --root .tools --quiet </dev/null
fi

say "cargo deny: bans, licences, sources"
"$DENY" --log-level error check bans licenses sources </dev/null

say "cargo deny: advisories"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Fetching is asked for separately, so that "no database" is never mistaken for "bad news" nor the other way round.
need git git
limit=$(command -v timeout >/dev/null 2>&1 && echo "timeout 90" || true)
if GIT_TERMINAL_PROMPT=0 $limit "$DENY" --log-level error fetch db </dev/null >"$log" 2>&1; then
    "$DENY" --log-level error check --disable-fetch advisories </dev/null
    say "cargo deny: all four checks passed"
else
    sed 's/^/    /' "$log" | tail -n 5 >&2
    loud "ADVISORIES WERE NOT CHECKED: the RustSec database could not be fetched. Bans, licences and sources were, and passed."
fi
