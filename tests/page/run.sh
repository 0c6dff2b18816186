#!/bin/sh
# The status page in a real browser. HOLDFAST_BIN names the binary.
set -eu
cd "$(dirname "$0")/../.."
. scripts/lib.sh
[ -x "${HOLDFAST_BIN:-}" ] || die "HOLDFAST_BIN names no executable file; \`make test-all\` builds the binary and sets it"
need python3 python3
CHROMIUM=${CHROMIUM:-chromium}
need "$CHROMIUM" chromium
export CHROMIUM
exec python3 tests/page/run.py
