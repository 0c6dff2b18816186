"""The lint's own test: one planted fault after the other, each of which must be named by the rule that is there for it."""

import copy
import sys

import lint


def first(board, kind="timeseries"):
    return next(one for one in board["panels"] if one["type"] == kind)


def replace(old, new):
    """Plants a fault into the first expression that has `old`, wherever it stands."""

    def plant(board, metrics, rules, runbooks):
        for one in board["panels"]:
            for candidate in one.get("targets", []):
                if old in candidate["expr"]:
                    candidate["expr"] = candidate["expr"].replace(old, new, 1)
                    return
        raise AssertionError(f"no expression has {old}")

    return plant


def in_rules(name, old, new):
    def plant(board, metrics, rules, runbooks):
        if old not in rules[name]:
            raise AssertionError(f"{name} has no {old}")
        rules[name] = rules[name].replace(old, new)

    return plant


def on_board(**change):
    return lambda board, metrics, rules, runbooks: board.update(change)


def variable(name, **change):
    def plant(board, metrics, rules, runbooks):
        next(one for one in board["templating"]["list"] if one["name"] == name).update(change)

    return plant


def on_panel(change):
    return lambda board, metrics, rules, runbooks: change(first(board))


def on_timeline(change):
    return lambda board, metrics, rules, runbooks: change(first(board, "state-timeline"))


def drop_metric_panel(board, metrics, rules, runbooks):
    board["panels"] = [p for p in board["panels"] if "holdfast_tool_call_resends_total" not in str(p.get("targets"))]


def rename_state(board, metrics, rules, runbooks):
    states = lint.panels.MACHINES["bridge"]
    bridge = {("away" if name == "ready" else name): code for name, code in states.items()}
    metrics["machines"] = {**lint.panels.MACHINES, "bridge": bridge}


def no_bucket_at_the_objective(board, metrics, rules, runbooks):
    name = "holdfast_unity_recovery_duration_seconds"
    next(entry for entry in metrics["metrics"] if entry["name"] == name)["buckets"] = [0.5, 2.0]


def recolour(timeline):
    options = timeline["fieldConfig"]["overrides"][0]["properties"][0]["value"][0]["options"]
    options["1"]["color"] = "#123456"


RUNBOOK = "/restart-loop.md"

FAULTS = [
    ("dashboard", on_board(id=7)),
    ("dashboard", on_board(editable=True)),
    ("dashboard", on_board(schemaVersion=12)),
    ("dashboard", on_board(timezone="browser")),
    ("dashboard", on_board(uid="Q1x-_zz")),
    ("dashboard", on_board(__inputs=[])),
    ("template-datasource", variable("datasource", query="loki")),
    ("template-job", variable("job", multi=False)),
    ("template-instance", variable("instance", allValue="")),
    ("template-on-time-change-reload", variable("instance", refresh=1)),
    ("template-label-promql", variable("job", query={"query": "label_values(holdfast_nothing, job)"})),
    ("panel-title-description", on_panel(lambda one: one.update(description=" "))),
    ("panel-datasource", on_panel(lambda one: one.update(datasource={"uid": "PBFA97CFB590B2093"}))),
    ("panel-units", on_panel(lambda one: one["fieldConfig"]["defaults"].update(unit=""))),
    ("layout", on_panel(lambda one: one.update(id=1))),
    ("layout", on_panel(lambda one: one["gridPos"].update(x=0, y=0))),
    ("runbook", on_panel(lambda one: one.update(description=lint.generate.RUNBOOKS + "no-such-page.md"))),
    ("target-promql", replace("sum by (verdict) (", "sum by (verdict) ((")),
    ("target-rate-interval", replace("[$__rate_interval]", "[5m]")),
    ("target-job", replace('job=~"$job"', 'job="holdfast"')),
    ("target-job", replace('holdfast_build_info{job=~"$job", instance=~"$instance"}', "holdfast_build_info")),
    ("target-instance", replace(', instance=~"$instance"', "")),
    ("target-counter-agg", replace("sum by (reason) (increase(", "sum by (reason) (abs(")),
    ("metric-known", replace("holdfast_tool_calls_total", "holdfast_tool_call_total")),
    ("metric-known", replace("holdfast_tool_call_duration_seconds_bucket", "holdfast_tool_call_duration_seconds")),
    ("label-known", replace('machine="bridge"', 'machine="brigde"')),
    ("label-known", replace('state="ready"', 'state="connected"')),
    ("label-known", replace("sum by (verdict)", "sum by (outcome_of_call)")),
    ("label-known", replace('cause!=""', 'result!=""')),
    ("states", on_timeline(recolour)),
    ("states", on_timeline(lambda one: one["fieldConfig"]["overrides"].pop())),
    ("states", rename_state),
    ("states", replace('state="ready", project!="other"} * 5', 'state="ready", project!="other"} * 6')),
    ("coverage", drop_metric_panel),
    ("target-rate-interval", lambda board, *rest: first(board).update(targets=[
        {"datasource": {"uid": "${datasource}"}, "expr": f"sum(rate(holdfast_tool_calls_total{{{lint.generate.FILTER}}}[1h]))"}
    ])),
    ("metric-known", in_rules("alerts.yaml", "holdfast_actor_restarts_total", "holdfast_actors_restarts_total")),
    ("label-known", in_rules("alerts.yaml", 'state="stalled"', 'state="hung"')),
    ("label-known", in_rules("alerts.yaml", 'result="wrong_peer"', 'result="stranger"')),
    ("label-known", in_rules("recording.yaml", 'cause=~"connecting|', 'cause=~"dialling|')),
    ("label-known", no_bucket_at_the_objective),
    ("label-known", in_rules("rules_test.yaml", 'invariant="answered_twice"', 'invariant="answer_once"')),
    ("metric-known", in_rules("alerts.yaml", ":ratio_rate5m", ":ratio_rate7m")),
    ("runbook", in_rules("alerts.yaml", RUNBOOK, "/no-such-page.md")),
    ("runbook", lambda board, metrics, rules, runbooks: runbooks.add("an-orphan")),
    ("alert-tested", in_rules("rules_test.yaml", "alertname: HoldfastRestartLoop, exp_alerts: []", "alertname: Other, exp_alerts: []")),
]  # fmt: skip


def run(whole):
    """Prints what went unseen; 0 if nothing did."""
    board, metrics, rules, runbooks = whole
    before = set(lint.findings(board, lint.Contract(metrics), rules, runbooks))
    unseen = 0
    for number, (rule, plant) in enumerate(FAULTS, start=1):
        planted = copy.deepcopy((board, metrics, rules, runbooks))
        plant(*planted)
        bad_board, bad_metrics, bad_rules, bad_runbooks = planted
        after = set(lint.findings(bad_board, lint.Contract(bad_metrics), bad_rules, bad_runbooks))
        if not any(found == rule for _, found, _ in after - before):
            print(f"planted fault {number} ({rule}) went unseen")
            unseen += 1
    print(f"lint self-test: {len(FAULTS) - unseen} of {len(FAULTS)} planted faults were seen")
    return 1 if unseen else 0


if __name__ == "__main__":
    sys.exit(run(lint.committed()))
