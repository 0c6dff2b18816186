#!/bin/sh
# Everything about dashboards, rules and runbooks that can be checked without a Grafana. Installs nothing.
set -eu
cd "$(dirname "$0")"

for tool in python3 promtool; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        echo "dashboards/check.sh: $tool is missing, so nothing was checked" >&2
        [ "$tool" = python3 ] || echo "promtool comes with Prometheus (Debian and Ubuntu: apt-get install prometheus)" >&2
        exit 1
    fi
done

export PYTHONDONTWRITEBYTECODE=1
expressions=$(mktemp)
trap 'rm -f "$expressions"' EXIT

python3 generate.py --check
python3 lint.py --self-test
python3 lint.py
python3 lint.py --promql "$expressions"
# Every dashboard expression must be PromQL; promtool reads them as rules.
promtool check rules "$expressions" >/dev/null
cd prometheus
promtool check rules recording.yaml alerts.yaml
promtool test rules rules_test.yaml
# No record folder is linked here: that warning is expected.
promtool check config --syntax-only prometheus.yaml
echo "dashboards: all checks passed"
