#!/usr/bin/env python3
"""Writes the dashboard in grafana/ from panels.py and the machines' charts. With --check it writes nothing and fails if it is stale.

Needs nothing but Python 3. The panels stand in panels.py; this file knows what Grafana wants around them.
"""

import json
import re
import sys
from pathlib import Path

import panels

HERE = Path(__file__).resolve().parent
CARGO = (HERE.parent / "Cargo.toml").read_text()
RUNBOOKS = re.search(r'^repository = "(.+)"$', CARGO, re.M).group(1) + "/blob/main/docs/runbooks/"

# The schema of Grafana 11. Newer versions read it and migrate it in memory.
SCHEMA_VERSION = 39
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
FILTER = 'job=~"$job", instance=~"$instance"'


def expression(short):
    """`{$f}` is the filter that every selector carries; `[$i]` is the window that fits the scrape interval."""
    return short.replace("$f", FILTER).replace("[$i]", "[$__rate_interval]")


def state_override(machine):
    """Number -> name and colour of a machine's states. The legend of its series ends in its name."""
    options = {
        str(number): {"text": name, "color": panels.STATE_COLOURS[name], "index": number}
        for name, number in panels.MACHINES[machine].items()
    }
    return {
        "matcher": {"id": "byRegexp", "options": f"/(^| ){machine}$/"},
        "properties": [{"id": "mappings", "value": [{"type": "value", "options": options}]}],
    }


def thresholds(steps):
    """Steps are (from, colour), the first from minus infinity."""
    return {"mode": "absolute", "steps": [{"value": value, "color": colour} for value, colour in steps]}


def defaults(panel):
    custom = {
        "timeseries": {"lineWidth": 1, "fillOpacity": 10, "showPoints": "auto", "spanNulls": False},
        "state-timeline": {"lineWidth": 0, "fillOpacity": 80},
    }.get(panel["type"], {})
    if panel.get("stack"):
        custom |= {"stacking": {"mode": "normal", "group": "A"}, "fillOpacity": 40}
    if panel.get("bars"):
        custom |= {"drawStyle": "bars", "fillOpacity": 80}
    if panel.get("line"):
        custom |= {"thresholdsStyle": {"mode": "line"}}
    field = {"unit": panel["unit"], "custom": custom}
    steps = panel.get("steps", [(None, "green")])
    field["thresholds"] = thresholds(steps)
    fixed = panel["type"] in ("stat", "state-timeline")
    field["color"] = {"mode": "thresholds" if fixed else "palette-classic"}
    for key in ("min", "max", "decimals", "noValue"):
        if key in panel:
            field[key] = panel[key]
    return field


OPTIONS = {
    "timeseries": {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
    "stat": {
        "colorMode": "background",
        "graphMode": "none",
        "justifyMode": "auto",
        "orientation": "auto",
        "textMode": "auto",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
    },
    "state-timeline": {
        "mergeValues": True,
        "showValue": "auto",
        "alignValue": "left",
        "rowHeight": 0.9,
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "single", "sort": "none"},
    },
    "heatmap": {
        "calculate": False,
        "cellGap": 1,
        "color": {"mode": "scheme", "scheme": "Blues", "steps": 32, "exponent": 0.5, "reverse": False},
        "exemplars": {"color": "rgba(255,0,255,0.7)"},
        "filterValues": {"le": 1e-9},
        "legend": {"show": True},
        "rowsFrame": {"layout": "auto"},
        "tooltip": {"mode": "single", "showColorScale": False, "yHistogram": False},
        "yAxis": {"axisPlacement": "left", "reverse": False},
    },
    "table": {"showHeader": True, "cellHeight": "sm", "footer": {"show": False, "reducer": ["sum"], "countRows": False}},
}


def targets(panel):
    out = []
    for index, (short, legend) in enumerate(panel["targets"]):
        kind = panel["type"]
        instant = kind == "table" or (kind == "stat" and "$__range" in short)
        target = {
            "refId": chr(ord("A") + index),
            "datasource": DATASOURCE,
            "expr": expression(short),
            "legendFormat": legend,
            "format": {"table": "table", "heatmap": "heatmap"}.get(kind, "time_series"),
            "instant": instant,
            "range": not instant,
        }
        out.append(target)
    return out


def render(panel, number, at):
    text = panel["text"]
    if "runbook" in panel:
        text += f"\n\nRunbook: [{panel['runbook']}]({RUNBOOKS}{panel['runbook']}.md)"
    if panel["type"] == "row":
        return {"id": number, "type": "row", "title": panel["title"], "collapsed": False, "gridPos": at, "panels": []}
    out = {
        "id": number,
        "type": panel["type"],
        "title": panel["title"],
        "description": text,
        "gridPos": at,
        "datasource": DATASOURCE,
        "targets": targets(panel),
        "fieldConfig": {"defaults": defaults(panel), "overrides": [state_override(one) for one in panel.get("machines", [])]},
        "options": json.loads(json.dumps(OPTIONS[panel["type"]])),
    }
    if panel["type"] == "state-timeline":
        # A step finer than the scrape shows nothing more. Without a least step, the edges move with the width of the window.
        out["interval"] = "15s"
    if panel["type"] == "heatmap":
        out["options"]["yAxis"]["unit"] = panel["unit"]
        out["options"]["cellValues"] = {"unit": "short"}
    if panel["type"] == "table":
        hidden = {name: True for name in ["Time", "__name__", "job", *panel.get("hide", [])]}
        organise = {"excludeByName": hidden, "renameByName": panel.get("rename", {}), "indexByName": {}}
        out["transformations"] = [{"id": "merge", "options": {}}, {"id": "organize", "options": organise}]
    return out


def place(declared):
    """From left to right, a new line where the next does not fit."""
    out, x, y, tallest = [], 0, 0, 0
    for number, panel in enumerate(declared, start=1):
        if panel["type"] == "row" or x + panel["w"] > 24:
            x, y, tallest = 0, y + tallest, 0
        out.append(render(panel, number, {"x": x, "y": y, "w": panel["w"], "h": panel["h"]}))
        x, tallest = x + panel["w"], max(tallest, panel["h"])
    return out


def variable(name, query):
    return {
        "name": name,
        "label": name,
        "type": "query",
        "datasource": DATASOURCE,
        "query": {"query": query, "refId": f"variable-{name}"},
        "definition": query,
        "multi": True,
        "includeAll": True,
        "allValue": ".+",
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
        "refresh": 2,
        "sort": 1,
        "regex": "",
        "hide": 0,
        "options": [],
        "skipUrlSync": False,
    }


def annotation(name, colour, short, title, text, at_value=False):
    return {
        "name": name,
        "enable": True,
        "hide": False,
        "iconColor": colour,
        "datasource": DATASOURCE,
        "expr": expression(short),
        "step": "15s",
        "titleFormat": title,
        "textFormat": text,
        "useValueForTime": at_value,
    }


def dashboard():
    return {
        "uid": f"holdfast-{panels.NAME}",
        "title": f"holdfast / {panels.TITLE}",
        "description": panels.DESCRIPTION,
        "tags": ["gateway", "holdfast"],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": False,
        "graphTooltip": 1,
        "timezone": "utc",
        "time": {"from": "now-1h", "to": "now"},
        "timepicker": {},
        "refresh": "30s",
        "weekStart": "",
        "templating": {
            "list": [
                {
                    "name": "datasource",
                    "label": "Data source",
                    "type": "datasource",
                    "query": "prometheus",
                    "current": {},
                    "hide": 0,
                    "includeAll": False,
                    "multi": False,
                    "options": [],
                    "refresh": 1,
                    "regex": "",
                    "skipUrlSync": False,
                },
                variable("job", "label_values(holdfast_build_info, job)"),
                variable("instance", 'label_values(holdfast_build_info{job=~"$job"}, instance)'),
            ]
        },
        "annotations": {"list": [annotation(*declared) for declared in panels.ANNOTATIONS]},
        "panels": place(panels.PANELS),
    }


FILE = HERE / "grafana" / f"{panels.NAME}.json"


def written(value, indent=0):
    """JSON in which what fits stays on one line."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) + indent <= 120 or not isinstance(value, (dict, list)):
        return text
    inner = " " * (indent + 2)
    if isinstance(value, list):
        parts, (begin, end) = [written(one, indent + 2) for one in value], "[]"
    else:
        parts, (begin, end) = [f"{json.dumps(key)}: {written(one, indent + 2)}" for key, one in value.items()], "{}"
    return f"{begin}\n{inner}" + f",\n{inner}".join(parts) + f"\n{' ' * indent}{end}"


def main():
    text = written(dashboard()) + "\n"
    if "--check" not in sys.argv[1:]:
        FILE.write_text(text)
        return 0
    if FILE.exists() and FILE.read_text() == text:
        return 0
    print(f"dashboards/grafana/{FILE.name} is not what generate.py writes; run python3 dashboards/generate.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
