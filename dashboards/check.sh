#!/bin/sh
# Checks dashboards, rules and runbooks as far as that needs no server.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh
need_prometheus
cd dashboards

export PYTHONDONTWRITEBYTECODE=1
expressions=$(mktemp)
trap 'rm -f "$expressions"' EXIT

python3 generate.py --check
python3 lint_faults.py
python3 lint.py
python3 lint.py --promql "$expressions"
# Every dashboard expression must be PromQL. promtool reads the expressions as rules.
promtool check rules "$expressions" >/dev/null
cd prometheus
promtool check rules recording.yaml alerts.yaml
promtool test rules rules_test.yaml
# No folder of records is linked here, so promtool's warning about it is expected.
promtool check config --syntax-only prometheus.yaml
echo "dashboards: all checks passed"
