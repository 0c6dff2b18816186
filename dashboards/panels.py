"""The content of the dashboard.

A panel is `kind(title, unit, width x height, description, targets)`. In expressions `$f` is the filter by job and instance
that every selector has, `[$i]` the window that fits the scrape interval. One gateway is one (job, instance,
pid): `instance` is the project, and clients start several copies for one project.
"""

import re
from pathlib import Path

CHARTS = Path(__file__).resolve().parent.parent / "src" / "fsm" / "charts"


def states(machine):
    """State -> number, in the order of the machine's chart, from 0."""
    names = re.findall(r"^## (\w+)", (CHARTS / f"{machine}.md").read_text(), re.M)
    return {name: number for number, name in enumerate(names)}


# The machines that have a state to look at.
MACHINES = {machine: states(machine) for machine in ("bridge", "discovery", "push", "registry", "session")}

BAD, WAITS, MOVES, GOOD, RESTS, OVER = "red", "orange", "yellow", "green", "blue", "#808080"

# One colour for a state wherever it appears. Red is for states that somebody should look at.
STATE_COLOURS = {
    "idle": OVER, "stopped": OVER, "closed": OVER, "empty": OVER, "awaiting_open": OVER,
    "scanning": MOVES, "seeking": MOVES, "dialing": MOVES, "greeting": MOVES, "binding": MOVES, "refreshing": MOVES, "waiting_for_tools": MOVES,
    "backing_off": WAITS, "leaving": WAITS, "parting": WAITS, "draining": WAITS, "stale": WAITS,
    "watching": RESTS, "listening": RESTS, "cached": RESTS,
    "ready": GOOD, "offering": GOOD, "live": GOOD, "serving": GOOD,
    "stalled": BAD, "stuck": BAD,
}  # fmt: skip

# Causes that are the gateway's own fault. prometheus/recording.yaml has the same selector.
OURS = "connecting|listing|overload|gateway|hub_ended|unrecorded"


def quantiles(base, by="", of=(0.5, 0.95, 0.99)):
    """Lines of quantiles; `by` splits them."""
    labels = f"le, {by}" if by else "le"
    name = f" {{{{{by}}}}}" if by else ""
    return [
        (f"histogram_quantile({q}, sum by ({labels}) (rate({base}_bucket{{$f}}[$i])))", f"p{q * 100:g}{name}")
        for q in of
    ]


def panel(kind, title, unit, size, text, *targets, **more):
    w, h = size
    return {"type": kind, "title": title, "unit": unit, "w": w, "h": h, "text": text, "targets": targets, **more}


def row(title):
    return {"type": "row", "title": title, "w": 24, "h": 1, "text": ""}


def graph(title, unit, size, text, *targets, **more):
    return panel("timeseries", title, unit, size, text, *targets, **more)


def counts(title, size, text, *targets, **more):
    """Rare events: a bar is a number of them, not a rate."""
    return graph(title, "short", size, text, *targets, bars=True, stack=True, min=0, **more)


def stat(title, unit, size, text, *targets, **more):
    return panel("stat", title, unit, size, text, *targets, **more)


def table(title, unit, size, text, *targets, **more):
    return panel("table", title, unit, size, text, *targets, **more)


def heatmap(title, unit, size, text, base):
    return panel("heatmap", title, unit, size, text, (f"sum by (le) (increase({base}_bucket{{$f}}[$i]))", "{{le}}"))


def present(machine):
    """The number of a machine's present state, which stands in the mapping of the panel. In a hub the machine of the connection is
    each editor's, except of those that share the project `other`."""
    numbered = (
        f'holdfast_fsm_state{{$f, machine="{machine}", state="{state}", project!="other"}} * {number}'
        for state, number in MACHINES[machine].items()
    )
    return f"sum by (job, instance, pid, project, machine) ({' or '.join(numbered)})", "{{instance}} {{pid}} {{project}} {{machine}}"


def timeline(title, size, text, machines, **more):
    return panel("state-timeline", title, "short", size, text, *map(present, machines), machines=machines, **more)


STAT, THIRD, HALF, WIDE = (4, 4), (8, 8), (12, 8), (24, 6)
ZERO_IS_GOOD = [(None, GOOD), (1, BAD)]

# A gateway that is no hub has 0 hubs before it, and is not shown among the hubs.
A_HUB = "holdfast_hub_starts{$f} > 0"

PANELS = [
    row("Does it work now?"),
    stat(
        "Broken promises", "short", STAT,
        "Invariant violations in the time shown. Anything but 0 is a bug of holdfast.",
        ("sum(increase(holdfast_invariant_violations_total{$f}[$__range]))", "violations"),
        steps=ZERO_IS_GOOD, decimals=0, runbook="invariant-violated",
    ),
    stat(
        "Definitive answers", "percentunit", STAT,
        "Share of tool calls, in the time shown, that did not fail because of the gateway. Objective: 99.5 % over 28 days. Failures "
        "that a closed or killed editor causes, cancelled calls, and tools that fail in Unity do not count against it.",
        (
            f'1 - sum(increase(holdfast_tool_calls_total{{$f, cause=~"{OURS}"}}[$__range])) '
            "/ (sum(increase(holdfast_tool_calls_total{$f}[$__range])) > 0)", "definitive",
        ),
        steps=[(None, BAD), (0.99, WAITS), (0.995, GOOD)], max=1, noValue="no calls", runbook="tool-call-budget",
    ),
    stat(
        "Editors connected", "short", STAT, "Editors that are connected and greeted.",
        ('sum(holdfast_fsm_state{$f, machine="bridge", state="ready"})', "ready"), steps=[(None, RESTS)], runbook="link-stuck",
    ),
    stat(
        "Calls waiting", "short", STAT, "Calls that are held. Nothing of them has been sent yet, so they can still run safely.",
        ("sum(holdfast_tool_calls_queued{$f})", "held"), steps=[(None, RESTS), (1, WAITS)], runbook="link-stuck",
    ),
    stat(
        "Gateways", "short", STAT, "Gateways that are scraped. One client may start two or three; all but one stay idle.",
        ("count(holdfast_build_info{$f})", "gateways"), steps=[(None, RESTS)],
    ),
    stat(
        "Alerts firing", "short", STAT, "Alerts of holdfast that fire now; the list is below.",
        ('count(ALERTS{job=~"$job", alertname=~"Holdfast.+", alertstate="firing"}) or vector(0)', "firing"),
        steps=ZERO_IS_GOOD,
    ),
    timeline(
        "Connections", (16, 8),
        "The state of each connection to an editor. Red is `stalled`: Unity is silent while it has a call to answer. States shorter than a "
        "scrape interval may not appear.",
        ["bridge"], runbook="link-stuck",
    ),
    table(
        "Alerts", "short", (8, 8), "Alerts that fire or are pending. Each alert has the address of its runbook.",
        ('ALERTS{job=~"$job", alertname=~"Holdfast.+"}', ""), hide=["Value", "project"],
    ),
    row("Calls"),
    graph(
        "Calls by verdict", "cps", THIRD, "How calls ended. `not_executed` is safe to repeat, `outcome_unknown` is not.",
        ("sum by (verdict) (rate(holdfast_tool_calls_total{$f}[$i]))", "{{verdict}}"), stack=True, min=0,
        runbook="tool-call-budget",
    ),
    counts(
        "Why calls were not executed, or their outcome is unknown", THIRD,
        "The causes have the same names as in the answers that the AI reads.",
        ('sum by (verdict, cause) (increase(holdfast_tool_calls_total{$f, cause!=""}[$i]))', "{{verdict}}: {{cause}}"),
        runbook="tool-call-budget",
    ),
    counts(
        "Calls sent again", THIRD, "Only calls whose tool is repeatable, or that an editor turned away before anything ran.",
        ("sum by (cause) (increase(holdfast_tool_call_resends_total{$f}[$i]))", "{{cause}}"),
    ),
    graph(
        "Call duration, by project", "s", THIRD, "Time from a call's arrival to its answer, including Unity's own work.",
        *quantiles("holdfast_tool_call_duration_seconds", by="project", of=(0.5, 0.95)), min=0,
    ),
    graph(
        "Time not spent in Unity", "s", THIRD, "How long calls waited in the gateway, p95 by what they waited for.",
        *quantiles("holdfast_tool_call_wait_seconds", by="cause", of=(0.95,)), min=0, runbook="link-stuck",
    ),
    graph(
        "Calls that wait, and calls in Unity", "short", THIRD,
        "By project. A call waits for an editor that is away, or behind a long one, since most editors take one call at a time.",
        ("sum by (project) (holdfast_tool_calls_queued{$f})", "{{project}} waiting"),
        ("sum by (project) (holdfast_tool_calls_in_flight{$f})", "{{project}} in Unity"),
        min=0, runbook="link-stuck",
    ),
    row("The editor: reaching it, losing it, reloads"),
    counts(
        "Connect attempts by result", THIRD,
        "`refused`: nothing listens on the port. `vanished`: what accepted was gone at once. `wrong_peer`: the program on the port is not a Unity bridge. `wrong_project`, "
        "`unproven`: it is not this project's editor, or not known to be, so it gets no calls.",
        ("sum by (result) (increase(holdfast_unity_connect_attempts_total{$f}[$i]))", "{{result}}"), runbook="wrong-peer",
    ),
    counts(
        "Connections lost, by why", THIRD, "`reload` and `quit` were announced; `disconnect` was not. `protocol`: what the editor sent could not be read.",
        ("sum by (reason) (increase(holdfast_unity_disconnects_total{$f}[$i]))", "{{reason}}"),
    ),
    graph(
        "Connect and greeting", "s", THIRD, "Time for both, for attempts where both succeeded. The editor's main thread takes part in most greetings.",
        *quantiles("holdfast_unity_connect_duration_seconds"), min=0, runbook="recovery-slow",
    ),
    counts(
        "Reloads by result", THIRD, "Domain reloads of the editor. `presumed`: the bridge went away, and its package does not announce reloads.",
        ("sum by (result) (increase(holdfast_unity_reloads_total{$f}[$i]))", "{{result}}"),
    ),
    heatmap(
        "Reload duration", "s", THIRD,
        "Time from a connection's end by a reload until the next connection is greeted. Unity spends it: assembly definitions and less "
        "`InitializeOnLoad` code make it shorter.",
        "holdfast_unity_reload_duration_seconds",
    ),
    graph(
        "Recovery: listening again to the first call on its way", "s", THIRD,
        "The gateway's part of an outage, for calls that were held during it. The line is the objective: 99 % within 1 s.",
        *quantiles("holdfast_unity_recovery_duration_seconds"), min=0, line=True, steps=[(None, GOOD), (1, BAD)],
        runbook="recovery-slow",
    ),
    graph(
        "Age of the editor's last frame", "s", HALF,
        "As the editor reports it, without its main thread; only holdfast's package does. It grows while the main thread works, imports, or shows a dialog.",
        ("time() - (holdfast_unity_last_editor_tick_timestamp_seconds{$f} > 0)", "{{instance}} {{pid}}"), min=0,
        runbook="editor-silent",
    ),
    timeline(
        "The other machines", HALF, "How the editor is searched for, the push listener, the tool list and the client's session.",
        ["discovery", "push", "registry", "session"],
    ),
    row("The client and the hub"),
    graph(
        "Requests by method and outcome", "reqps", THIRD, "Counted when answered. A tool that failed is an answered request.",
        ("sum by (method, outcome) (rate(holdfast_mcp_requests_total{$f}[$i])) > 0", "{{method}} {{outcome}}"), stack=True, min=0,
    ),
    graph(
        "Open requests, and lines that wait for the client", "short", THIRD, "If the lines only grow, the client has stopped reading.",
        ("sum(holdfast_mcp_requests_in_flight{$f})", "open requests"),
        ("sum(holdfast_stdout_queued_messages{$f})", "lines waiting"),
        min=0, runbook="stdout-stalled",
    ),
    graph(
        "stdout: time since it last took bytes, while lines wait", "s", THIRD, "0 while no lines wait.",
        (
            "(time() - (holdfast_stdout_last_write_timestamp_seconds{$f} > 0)) "
            "* on (job, instance, pid) (holdfast_stdout_queued_messages{$f} > bool 0)", "{{instance}} {{pid}}",
        ),
        min=0, runbook="stdout-stalled",
    ),
    graph(
        "Open sessions, by client", "short", THIRD, "AI clients whose session is open.",
        ("sum by (client) (holdfast_mcp_sessions{$f}) > 0", "{{client}}"), min=0,
    ),
    graph(
        "Sessions on the hub", "short", THIRD, "AI clients that share the hub. A hub that was replaced gets its sessions back within seconds.",
        (f"sum by (instance, pid) (holdfast_hub_sessions{{$f}} and {A_HUB})", "{{instance}} {{pid}}"), min=0,
        runbook="hub-takeover-loop",
    ),
    counts(
        "Refused by the hub", THIRD,
        "Sessions, and requests over HTTP (`unauthorized`: without the token; `foreign_page` and `bad_host`: a web page in somebody's browser).",
        ("sum by (reason) (increase(holdfast_hub_sessions_refused_total{$f}[$i]))", "session: {{reason}}"),
        ("sum by (reason) (increase(holdfast_http_refusals_total{$f}[$i]))", "HTTP: {{reason}}"),
    ),
    graph(
        "Hubs so far", "short", HALF, "How many hubs have used the same state folder. Each step is a hub that replaced another one.",
        (f"max by (instance, pid) ({A_HUB})", "{{instance}} {{pid}}"), decimals=0, runbook="hub-takeover-loop",
    ),
    counts(
        "Records that the hub could not write", HALF,
        "A call whose sending cannot be recorded is not sent, and is answered `not executed: unrecorded`.",
        ("sum by (instance, pid) (increase(holdfast_hub_records_unwritten_total{$f}[$i]))", "{{instance}} {{pid}}: records"),
        (f"max by (instance, pid) (holdfast_hub_records_failing{{$f}} and {A_HUB})", "{{instance}} {{pid}}: the last one failed"),
        runbook="hub-records-failing",
    ),
    row("The gateway itself"),
    counts(
        "Bugs: broken promises, restarts, unexpected events", HALF,
        "Anything but 0 is a bug of holdfast. Open calls get their answers all the same.",
        ("sum by (invariant) (increase(holdfast_invariant_violations_total{$f}[$i]))", "promise: {{invariant}}"),
        ("sum by (actor, reason) (increase(holdfast_actor_restarts_total{$f}[$i])) > 0", "{{actor}} restarted: {{reason}}"),
        ("sum by (supervisor) (increase(holdfast_supervisor_escalations_total{$f}[$i]))", "{{supervisor}} gave up"),
        ("sum by (machine, state) (increase(holdfast_fsm_unexpected_events_total{$f}[$i])) > 0", "unexpected: {{machine}} in {{state}}"),
        runbook="restart-loop",
    ),
    graph(
        "Runtime lag", "s", HALF, "How late a tick comes that is due every second. High values mean an overloaded machine or a blocked gateway.",
        *quantiles("holdfast_runtime_lag_seconds"), min=0, runbook="recovery-slow",
    ),
    graph(
        "Resident memory", "bytes", THIRD, "Budget: 10 MiB idle, 20 MiB after load.",
        ("max by (instance, pid) (process_resident_memory_bytes{$f})", "{{instance}} {{pid}}"), min=0,
    ),
    graph(
        "Processor", "percentunit", THIRD, "1 is one core.",
        ("sum by (instance, pid) (rate(process_cpu_seconds_total{$f}[$i]))", "{{instance}} {{pid}}"), min=0,
    ),
    graph(
        "File descriptors, share of the limit", "percentunit", THIRD, "Open file descriptors divided by the limit.",
        ("max by (instance, pid) (process_open_fds{$f} / process_max_fds{$f})", "{{instance}} {{pid}}"), min=0, max=1, line=True,
        steps=[(None, GOOD), (0.8, BAD)], runbook="fds-nearly-exhausted",
    ),
    table(
        "Versions", "short", WIDE, "The versions that run. A line on the graphs marks each start.",
        ("holdfast_build_info{$f}", ""), hide=["Value", "project"],
    ),
]  # fmt: skip

# name, colour, expression, title, text, whether the value is the time
ANNOTATIONS = [
    (
        "Restarts", "red", "sum by (instance, pid, actor, reason) (increase(holdfast_actor_restarts_total{$f}[$i])) > 0",
        "{{actor}} restarted", "{{reason}}, {{instance}} {{pid}}",
    ),
    (
        "Gateway starts", "blue",
        "process_start_time_seconds{$f} * 1000 * on (job, instance, pid) group_left (version) holdfast_build_info{$f}",
        "holdfast {{version}} started", "{{instance}} {{pid}}", True,
    ),
]  # fmt: skip

NAME = "connection-health"
TITLE = "Connection health"
DESCRIPTION = "Does holdfast work for its users now, since when not, and why do calls wait?"
