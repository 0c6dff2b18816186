#!/usr/bin/env python3
"""Checks the dashboard, rules and runbooks against metrics.json and against the rules of Grafana's dashboard linter.

    lint.py               lints what is committed
    lint.py --promql FILE writes every expression of the dashboard as a recording rule, for `promtool check rules`

A finding is "where: rule: what". An exception stands in EXCLUDED with its reason; one that excuses nothing is a finding too.
"""

import json
import re
import sys
from pathlib import Path

import generate
import panels

HERE = Path(__file__).resolve().parent
RUNBOOK_FOLDER = HERE.parent / "docs" / "runbooks"

# (rule, panel title): why the panel may break the rule.
EXCLUDED = {
    ("target-rate-interval", "Broken promises"): "a total over the time shown",
    ("target-rate-interval", "Definitive answers"): "a ratio over the time shown",
    ("target-instance", "Alerts firing"): "some alerts are about a job and have no instance",
    ("target-instance", "Alerts"): "some alerts are about a job and have no instance",
}

UNITS = {"short", "s", "bytes", "Bps", "cps", "reqps", "percentunit", "dateTimeFromNow"}
TARGET_LABELS = {"job", "instance", "project", "pid"}
FOREIGN = {"ALERTS": {"alertname", "alertstate", "severity"}, "up": set()}
COUNTER_FUNCTIONS = ("rate", "increase", "resets")
SELECTOR = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\{([^{}]*)\}")
MATCHER = re.compile(r'([a-zA-Z_]\w*)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"')
WINDOW = re.compile(r"\[([^\]]+)\]")
OURS = re.compile(r"\b(?:holdfast|process)_[a-z0-9_]+\b")


class Contract:
    """What metrics.json promises."""

    def __init__(self, document):
        self.machines = document.get("machines", panels.MACHINES)
        self.metrics = {entry["name"]: entry for entry in document["metrics"]}

    def find(self, series):
        """The metric behind a series' name: histograms have three series."""
        if series in self.metrics:
            return self.metrics[series] if self.metrics[series]["type"] != "histogram" else None
        base, _, suffix = series.rpartition("_")
        entry = self.metrics.get(base)
        return entry if entry and entry["type"] == "histogram" and suffix in ("bucket", "sum", "count") else None

    def complaints(self, series, label, operator, value):
        """Why a matcher can never match, or always does."""
        if label in TARGET_LABELS:
            return
        if series in FOREIGN:
            if label not in FOREIGN[series]:
                yield f"{series} has no label {label}"
            return
        entry = self.find(series)
        if entry is None:
            return
        if label == "le" and series.endswith("_bucket"):
            number = value.removesuffix("(\\\\.0)?").removesuffix("(\\.0)?")
            if "buckets" in entry and float(number) not in entry["buckets"]:
                yield f"{series} has no bucket with the bound {number}"
            return
        if label not in entry["labels"]:
            yield f"{series} has no label {label}"
            return
        known = entry["labels"][label]
        if value and "*" not in known:
            for one in value.split("|") if "~" in operator else [value]:
                if one not in known:
                    yield f'{series}: {label} is never "{one}"'

    def of_selectors(self, text):
        """What is wrong with the selectors and the names in a piece of PromQL, or in a file full of it."""
        for series, inside in SELECTOR.findall(text):
            matchers = MATCHER.findall(inside)
            if OURS.fullmatch(series) and self.find(series) is None:
                yield "metric-known", f"{series} is no metric of holdfast"
            if MATCHER.sub("", inside).strip(" ,\n"):
                yield "target-promql", f"the matchers of {series} cannot be read"
            values = dict((label, value) for label, operator, value in matchers if operator in ("=", "=~"))
            for label, operator, value in matchers:
                yield from (("label-known", found) for found in self.complaints(series, label, operator, value))
            machine, state = values.get("machine"), values.get("state")
            if machine in self.machines and state:
                missing = [one for one in state.split("|") if one not in self.machines[machine]]
                yield from (("label-known", f"the machine {machine} has no state {one}") for one in missing)


def of_panel(panel, contract):
    """The linter's rules for one panel."""
    if panel["type"] == "row":
        return
    title = panel.get("title", "")
    if not title.strip() or not panel.get("description", "").strip():
        yield "panel-title-description", "a title and a description are needed"
    if panel.get("datasource", {}).get("uid") != "${datasource}":
        yield "panel-datasource", "the data source is not the templated one"
    if panel.get("fieldConfig", {}).get("defaults", {}).get("unit") not in UNITS:
        yield "panel-units", "a unit from the list is needed"
    if not panel.get("targets"):
        yield "target-promql", "there is nothing to show"
    for target in panel.get("targets", []):
        if target.get("datasource", {}).get("uid") != "${datasource}":
            yield "panel-datasource", "a target's data source is not the templated one"
        yield from of_expression(target.get("expr", ""), contract)
    for name in re.findall(re.escape(generate.RUNBOOKS) + r"([\w-]+)\.md", panel.get("description", "")):
        if not (RUNBOOK_FOLDER / f"{name}.md").exists():
            yield "runbook", f"docs/runbooks/{name}.md does not exist"


def of_expression(expr, contract):
    if expr.count("(") != expr.count(")") or not expr.strip():
        yield "target-promql", f"not balanced, or empty: {expr}"
    yield from contract.of_selectors(expr)
    for series, inside in SELECTOR.findall(expr):
        matched = {(label, operator, value) for label, operator, value in MATCHER.findall(inside)}
        if ("job", "=~", "$job") not in matched:
            yield "target-job", f'{series} is not filtered by job=~"$job"'
        if ("instance", "=~", "$instance") not in matched:
            yield "target-instance", f'{series} is not filtered by instance=~"$instance"'
    bare = SELECTOR.sub("", expr)
    for name in OURS.findall(bare):
        yield "target-job", f"{name} has no filter at all"
    for window in WINDOW.findall(expr):
        if window != "$__rate_interval":
            yield "target-rate-interval", f"[{window}] in place of [$__rate_interval]"
    for match in SELECTOR.finditer(expr):
        entry = contract.find(match[1])
        counts = entry and (entry["type"] == "counter" or match[1] != entry["name"])
        before, after = expr[: match.start()], expr[match.end() :]
        if counts and not (before.endswith(tuple(f"{name}(" for name in COUNTER_FUNCTIONS)) and after.startswith("[")):
            yield "target-counter-agg", f"{match[1]} only rises: take its rate or increase"
    for clause in re.findall(r"\b(?:by|without|on|group_left) \(([^)]*)\)", expr):
        known = {name for entry in contract.metrics.values() for name in entry["labels"]} | TARGET_LABELS | {"le"}
        for label in (label.strip() for label in clause.split(",")):
            if label not in known:
                yield "label-known", f"no metric has a label {label}"


def of_dashboard(board, contract):
    """The linter's rules for one dashboard, and what we ask of ours. Yields panel title, rule, what."""
    wanted = {"schemaVersion": generate.SCHEMA_VERSION, "editable": False, "timezone": "utc", "graphTooltip": 1}
    for key, value in wanted.items():
        if board.get(key) != value:
            yield "", "dashboard", f"{key} is not {value}"
    for key in ("id", "__inputs", "__requires"):
        if key in board:
            yield "", "dashboard", f"{key} belongs to one Grafana, not into a file"
    if not re.fullmatch(r"holdfast-[a-z-]{1,31}", board.get("uid", "")) or "holdfast" not in board.get("tags", []):
        yield "", "dashboard", "a stable uid and the tag holdfast are needed"
    variables = {one["name"]: one for one in board.get("templating", {}).get("list", [])}
    source = variables.get("datasource", {})
    if (source.get("type"), source.get("query"), source.get("label")) != ("datasource", "prometheus", "Data source"):
        yield "", "template-datasource", "a variable `datasource` of type prometheus is needed"
    for name in ("job", "instance"):
        one = variables.get(name, {})
        facts = (one.get("type"), one.get("label"), one.get("multi"), one.get("allValue"), one.get("datasource", {}).get("uid"))
        if facts != ("query", name, True, ".+", "${datasource}"):
            yield "", f"template-{name}", f"a variable `{name}` is needed: query, multi, all value .+, templated source"
        if one.get("refresh") != 2:
            yield "", "template-on-time-change-reload", f"`{name}` is not read anew when the time range changes"
        query = re.fullmatch(r"label_values\((\w+)(?:\{[^{}]*\})?, (\w+)\)", one.get("query", {}).get("query", ""))
        if not query or contract.find(query[1]) is None or query[2] != name:
            yield "", "template-label-promql", f"`{name}` is not label_values of a metric of ours"
    ids, titles, taken = set(), set(), set()
    for one in board.get("panels", []):
        title, at = one.get("title", ""), one["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        if one["id"] in ids or title in titles or cells & taken or at["x"] + at["w"] > 24:
            yield title, "layout", "an id or title twice, or panels over each other or over the edge"
        ids, titles, taken = ids | {one["id"]}, titles | {title}, taken | cells
        yield from ((title, *found) for found in of_panel(one, contract))
        yield from ((title, *found) for found in of_states(one, contract))
    for one in board.get("annotations", {}).get("list", []):
        yield from ((f"annotation {one['name']}", *found) for found in of_expression(one["expr"], contract))


def of_states(panel, contract):
    """Names and numbers of states are those of the charts, in the mapping as in the expression, and red is for the bad ones."""
    if not any("holdfast_fsm_state{" in target["expr"] for target in panel.get("targets", [])) or panel["type"] != "state-timeline":
        return
    shown = {}
    for override in panel["fieldConfig"]["overrides"]:
        machine = re.fullmatch(r"/\(\^\| \)(\w+)\$/", override["matcher"]["options"])[1]
        options = override["properties"][0]["value"][0]["options"]
        shown[machine] = {one["text"]: int(number) for number, one in options.items()}
        for one in options.values():
            if one["color"] != panels.STATE_COLOURS[one["text"]]:
                yield "states", f"{one['text']} has another colour elsewhere"
    for target in panel["targets"]:
        pairs = re.findall(r'machine="(\w+)", state="(\w+)", project!="other"\} \* (\d+)', target["expr"])
        machine = pairs[0][0] if pairs else ""
        numbered = {state: int(number) for _, state, number in pairs}
        if not numbered or shown.get(machine) != contract.machines[machine] or numbered != contract.machines[machine]:
            yield "states", f"the names or numbers of {machine} are not those of its chart"


def of_coverage(board, contract):
    """Every metric is on the dashboard, and every state has a colour."""
    shown = {contract.find(name)["name"] for name in OURS.findall(json.dumps(board)) if contract.find(name)}
    for name in contract.metrics:
        if name not in shown:
            yield "coverage", f"{name} is not on the dashboard"
    unknown = {state for states in contract.machines.values() for state in states} ^ set(panels.STATE_COLOURS)
    yield from (("states", f"{state} has no colour, or is no state") for state in sorted(unknown))


def of_rules(texts, contract, runbooks):
    """Rules as text (there is no YAML reader in Python's library): names, labels, runbooks, and a test for every alert."""
    recorded = set(re.findall(r"^\s*- record: (\S+)$", texts["recording.yaml"], re.M))
    for name in ("recording.yaml", "alerts.yaml", "rules_test.yaml"):
        text = re.sub(r"^\s*#.*$", "", texts[name], flags=re.M)
        yield from ((name, rule, what) for rule, what in contract.of_selectors(text))
        if name == "rules_test.yaml":
            continue
        for word in OURS.findall(SELECTOR.sub("", text)):
            if contract.find(word) is None and not any(word in rule.split(":") for rule in recorded):
                yield name, "metric-known", f"{word} is no metric of holdfast"
        for word in re.findall(r"\bjob:[\w:]+", text):
            if word not in recorded:
                yield name, "metric-known", f"{word} is not recorded"
    alerts = dict(re.findall(r"^\s*- alert: (\S+)$(.*?)(?=^\s*- alert: |\Z)", texts["alerts.yaml"], re.M | re.S))
    linked = set()
    for alert, body in alerts.items():
        url = re.search(r"^\s*runbook_url: (\S+)$", body, re.M)
        book = url and url[1].removeprefix(generate.RUNBOOKS).removesuffix(".md")
        linked.add(book)
        if not url or not url[1].startswith(generate.RUNBOOKS) or book not in runbooks:
            yield alert, "runbook", "runbook_url does not end in a file of docs/runbooks/"
        cases = re.findall(rf"alertname: {alert}\b[\s,]*exp_alerts:\s*(\[\])?", texts["rules_test.yaml"])
        if "[]" not in cases or "" not in cases:
            yield alert, "alert-tested", "a case in which it fires and one in which it stays quiet are needed"
    for book in sorted(runbooks - linked):
        yield book, "runbook", "no alert leads to this runbook"


def findings(board, contract, rules, runbooks):
    """Everything that is wrong, as (where, rule, what)."""
    used, out = set(), []
    for title, rule, what in of_dashboard(board, contract):
        if (rule, title) in EXCLUDED:
            used.add((rule, title))
        else:
            out.append((title or "the dashboard", rule, what))
    out += [("exclusions", rule, f"excuses nothing: {title}") for rule, title in EXCLUDED if (rule, title) not in used]
    out += [("the dashboard", *found) for found in of_coverage(board, contract)]
    out += list(of_rules(rules, contract, runbooks))
    return out


def committed():
    rules = {path.name: path.read_text() for path in sorted((HERE / "prometheus").glob("*.yaml"))}
    runbooks = {path.stem for path in RUNBOOK_FOLDER.glob("*.md")} - {"README"}
    return json.loads(generate.FILE.read_text()), json.loads((HERE / "metrics.json").read_text()), rules, runbooks


def as_rules():
    """Every expression with its variables filled in, so that promtool parses real PromQL."""
    out = []
    board = committed()[0]
    holders = [target for one in board["panels"] for target in one.get("targets", [])] + board["annotations"]["list"]
    for number, holder in enumerate(holders):
        expr = holder["expr"].replace("$__rate_interval", "1m").replace("$__range", "1h")
        expr = expr.replace("$job", ".+").replace("$instance", ".+")
        out.append({"record": f"lint:dashboard:{number}", "expr": expr})
    return {"groups": [{"name": "dashboard", "rules": out}]}


def main(arguments):
    if arguments[:1] == ["--promql"]:
        Path(arguments[1]).write_text(json.dumps(as_rules(), indent=1))
        return 0
    board, metrics, rules, runbooks = committed()
    found = findings(board, Contract(metrics), rules, runbooks)
    for where, rule, what in found:
        print(f"{where}: {rule}: {what}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
