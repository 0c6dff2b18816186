#!/bin/sh
# Proves dashboards, rules and alerts against a real Prometheus. Builds nothing: HOLDFAST_BIN names the binary. Linux only.
set -eu
cd "$(dirname "$0")/../.."
. scripts/lib.sh
need_prometheus
: "${HOLDFAST_BIN:=$PWD/target/debug/holdfast}"
export HOLDFAST_BIN
exec python3 dashboards/proof/prove.py
