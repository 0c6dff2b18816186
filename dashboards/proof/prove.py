#!/usr/bin/env python3
"""Dashboard, rules and alerts against a real Prometheus that scrapes real gateways through a session full of faults.

    HOLDFAST_BIN=target/debug/holdfast dashboards/proof/prove.py

Builds nothing; needs prometheus and promtool. Linux only.
"""

import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
DASHBOARDS = HERE.parent
sys.path.insert(0, str(DASHBOARDS))
sys.dont_write_bytecode = True

import expected
import lint
from session import PROJECT, Session
from stage import Broken, Stage, insist

SELECTOR = re.compile(r"\b((?:holdfast|process)_[a-z0-9_]+|job:[\w:]+)\b\s*(\{[^{}]*\})?")


class Proof:
    def __init__(self, session):
        self.session, self.prometheus = session, session.prometheus
        self.board, self.metrics, self.rules, _ = lint.committed()
        self.contract = lint.Contract(self.metrics)
        self.window = f"{math.ceil(session.ended - session.began) + 5}s"
        self.faults = []

    def fault(self, where, what):
        self.faults.append(f"{where}: {what}")

    # ---- expressions

    def panels(self):
        """(where, expression) of everything on the dashboard, variables still in it."""
        for panel in self.board["panels"]:
            for target in panel.get("targets", []):
                yield f"{panel['title']} {target['refId']}", target["expr"]
        for annotation in self.board["annotations"]["list"]:
            yield annotation["name"], annotation["expr"]

    def as_grafana(self, expression, instance):
        """What Grafana puts in: a scrape interval of 1 s gives a rate interval of four scrapes."""
        for name, value in {"$__rate_interval": "4s", "$__range": self.window, "$job": ".+", "$instance": instance}.items():
            expression = expression.replace(name, value)
        insist("$" not in expression, f"a variable is left in {expression}")
        return expression

    def runs(self, where, expression, may_be_empty=None):
        """As instant and range query; both succeed, and the range has a number unless it may be empty."""
        try:
            now = self.prometheus.query(expression, self.session.ended)
            over_time = self.prometheus.query_range(expression, self.session.began, self.session.ended)
        except Broken as broken:
            return self.fault(where, broken)
        numbers = [value for series in over_time for _, value in series["values"] if value != "NaN"]
        if may_be_empty is None and not numbers:
            self.fault(where, ("only NaN: " if over_time else "no data: ") + expression)
        if may_be_empty is not None and numbers:
            self.fault(where, f"has data, so its excuse ({may_be_empty}) is wrong: {expression}")
        if may_be_empty is None and not now and where not in expected.QUIET_AT_THE_END:
            self.fault(where, f"no data at the end: {expression}")

    def every_panel(self):
        count = 0
        for where, expression in self.panels():
            count += 1
            for instance in (".+", expected.ELSEWHERE.get(where, PROJECT)):
                self.runs(where, self.as_grafana(expression, instance), expected.EMPTY.get(where))
        for variable in self.board["templating"]["list"][1:]:
            match, label = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"]).groups()
            success, values = self.prometheus.get(f"label/{label}/values", **{"match[]": self.as_grafana(match, ".+")})
            wanted = {"job": {"holdfast"}}.get(label)
            if not success or not values or (wanted and set(values) != wanted):
                self.fault(f"variable {label}", values)
        return f"{count} expressions of the dashboard, for all and for one project, instant and over time"

    def every_rule(self):
        success, data = self.prometheus.get("rules")
        insist(success, data)
        rules = [rule for group in data["groups"] for rule in group["rules"]]
        committed = re.findall(r"^\s*- (?:record|alert): (\S+)$", self.rules["recording.yaml"] + self.rules["alerts.yaml"], re.M)
        insist(sorted(rule["name"] for rule in rules) == sorted(committed), "the rules that are loaded are those committed")
        for rule in rules:
            if rule["health"] != "ok" or rule.get("lastError"):
                self.fault(rule["name"], f"{rule['health']}: {rule.get('lastError')}")
            if rule["type"] == "recording":
                self.runs(rule["name"], rule["query"])
                self.runs(rule["name"], rule["name"])
            else:
                self.alert_condition(rule["name"], rule["query"])
            for series, inside in SELECTOR.findall(rule["query"]):
                self.has_series(rule["name"], series, inside)
        return f"{len(rules)} rules loaded and evaluated without an error"

    def alert_condition(self, name, expression):
        """It runs, and held at some time exactly if the session called for it."""
        self.prometheus.query(expression, self.session.ended)
        held = self.prometheus.query_range(expression, self.session.began, self.session.ended)
        if name in expected.ALERTS and not held:
            self.fault(name, f"its condition was never true: {expression}")
        if held and name not in expected.ALERTS and name not in expected.MAY_FIRE:
            self.fault(name, f"its condition was true, and nothing called for it: {held[0]['metric']}")

    def has_series(self, where, series, matchers):
        """A selector that finds nothing in a real scrape can never fire, and shows nothing."""
        if not self.prometheus.query(f"last_over_time({series}{matchers or ''}[{self.window}])", self.session.ended):
            self.fault(where, f"{series}{matchers or ''} is no series of a real scrape")

    def every_selector(self):
        selectors = set()
        for _, expression in self.panels():
            selectors |= {(series, inside) for series, inside in SELECTOR.findall(self.as_grafana(expression, ".+"))}
        for series, inside in sorted(selectors):
            self.has_series("the dashboard", series, inside)
        return f"{len(selectors)} selectors of the dashboard find series"

    def alerts(self):
        """Quiet while all was well; then those that the session causes, and no other."""
        active = 'ALERTS{alertname=~"Holdfast.+"}'
        healthy = self.prometheus.query_range(active, self.session.began, self.session.was_healthy)
        for series in healthy:
            if series["metric"]["alertname"] not in expected.MAY_FIRE:
                self.fault("the healthy part", series["metric"])
        states = [series["metric"] for series in self.prometheus.query(f"last_over_time({active}[{self.window}])")]
        seen = {(state["alertname"], state["alertstate"]) for state in states}
        for name, state in expected.ALERTS.items():
            if (name, state) not in seen:
                self.fault(name, f"was not {state}")
        for name, state in sorted(seen):
            if name not in expected.ALERTS and name not in expected.MAY_FIRE:
                self.fault(name, f"was {state}, and nothing called for it")
        return "none while all was well, then " + ", ".join(f"{name} {state}" for name, state in sorted(seen))

    # ---- samples

    def every_metric(self):
        """Each is scraped, with no label value that the contract does not know."""
        of_the_session = {"match[]": '{job="holdfast"}', "start": self.session.began, "end": self.session.ended}
        success, data = self.prometheus.get("series", **of_the_session)
        insist(success, data)
        scraped = set()
        for series in data:
            name = series.pop("__name__")
            entry = self.contract.find(name)
            if entry is None:
                if name.startswith(("holdfast_", "process_")):
                    self.fault(name, "is scraped, and metrics.json does not know it")
                continue
            scraped.add(entry["name"])
            for label, value in series.items():
                if label in lint.TARGET_LABELS or label == "le":
                    continue
                known = entry["labels"].get(label, [])
                # Prometheus drops empty labels.
                if value not in known and "*" not in known:
                    self.fault(name, f'{label}="{value}" is not in metrics.json')
        for name in sorted(set(self.contract.metrics) - scraped):
            self.fault(name, "stands in metrics.json and was not scraped")
        return f"{len(scraped)} metrics, {len(data)} series"

    def every_event(self):
        """What the session caused was counted."""
        covered = set()
        for selector, cause in expected.EVENTS:
            name = re.match(r"[a-z_]+", selector)[0]
            entry = self.contract.find(name)
            insist(entry, f"expected.py: {name} is no metric")
            covered.add(entry["name"])
            found = self.prometheus.query(f"max_over_time({selector}[{self.window}]) > 0", self.session.ended)
            if not found:
                self.fault(selector, f"is zero, although the session had this: {cause}")
        for name, reason in expected.NOT_CAUSED.items():
            insist(name in self.contract.metrics, f"expected.py: {name} is no metric")
            if name in covered:
                self.fault(name, f"is covered; its excuse is not needed: {reason}")
        for name in sorted(set(self.contract.metrics) - covered - set(expected.NOT_CAUSED)):
            self.fault(name, "is neither caused nor excused in expected.py")
        for name in expected.FLAT_ZERO:
            if self.prometheus.query(f"max_over_time({name}[{self.window}]) > 0", self.session.ended):
                self.fault(name, "is not zero")
        return f"{len(expected.EVENTS)} events counted, {len(expected.NOT_CAUSED)} metrics excused"

    def every_state(self):
        """At every sample of every gateway, and of each project in a hub, each machine is in exactly one state."""
        ones = Counter()
        for series in self.prometheus.query(f"holdfast_fsm_state[{self.window}]", self.session.ended):
            where = (series["metric"]["pid"], series["metric"]["machine"], series["metric"].get("project", ""))
            for at, value in series["values"]:
                ones[(*where, at)] += float(value)
        for where, count in sorted(ones.items()):
            if count != 1:
                self.fault(f"holdfast_fsm_state {where}", f"{count} states at once")
        insist(len(ones) > 100, "samples of states")
        return f"{len(ones)} samples of {len({where[:3] for where in ones})} machines, one state each"

    def scrape_lint(self):
        """promtool's own opinion on one scrape."""
        with urllib.request.urlopen(f"http://{self.session.main.target()}/metrics", timeout=10) as response:
            scrape = response.read()
        done = subprocess.run(["promtool", "check", "metrics"], input=scrape, capture_output=True)
        if done.returncode or done.stderr:
            self.fault("promtool check metrics", done.stderr.decode())
        return f"{len(scrape)} bytes of a scrape without a complaint of promtool"

    def complete(self):
        for check in (
            self.every_metric, self.every_event, self.every_state, self.scrape_lint, self.every_rule, self.every_selector,
            self.every_panel, self.alerts,
        ):  # fmt: skip
            began = time.monotonic()
            print(f"    {check.__name__.replace('_', ' '):16} {check()} ({time.monotonic() - began:.1f} s)", flush=True)


def main():
    if sys.platform != "linux":
        sys.exit("the proof against Prometheus runs on Linux only")
    binary = str(Path(os.environ.get("HOLDFAST_BIN", "")).resolve())
    if not os.access(binary, os.X_OK) or os.path.isdir(binary):
        sys.exit("HOLDFAST_BIN must name the binary")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="holdfast-prometheus-") as folder:
        stage = Stage(folder, binary)
        try:
            session = Session(stage, DASHBOARDS / "prometheus")
            print("session:", flush=True)
            session.play()
            print("what Prometheus has of it:", flush=True)
            proof = Proof(session)
            proof.complete()
            faults = proof.faults
        except Broken as broken:
            stage.last_words()
            faults = [str(broken)]
        finally:
            stage.end()
    for fault in faults:
        print(f"FAIL {fault}")
    print(f"prometheus: {len(faults)} FAILED" if faults else f"prometheus: all held, in {time.monotonic() - began:.0f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
