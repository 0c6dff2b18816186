"""What stands on the dashboards.

A panel is `kind(title, unit, width x height, what it tells, targets)`. In expressions `$f` stands for the filter by job and
instance that every selector carries, `[$i]` for the window that fits the scrape interval. One gateway is one (job, instance,
pid): `instance` is the project, and clients start several copies for one project.
"""

BAD, WAITS, MOVES, GOOD, RESTS, OVER = "red", "orange", "yellow", "green", "blue", "#808080"

# One colour for a state wherever it appears. Red is for states that somebody should look at.
STATE_COLOURS = {
    "idle": OVER, "stopped": OVER, "closed": OVER, "stopping": OVER, "empty": OVER, "awaiting_open": OVER,
    "cancelled": OVER,
    "scanning": MOVES, "seeking": MOVES, "dialing": MOVES, "greeting": MOVES, "binding": MOVES, "refreshing": MOVES,
    "waiting_for_tools": MOVES, "recovering": MOVES, "accepted": MOVES,
    "backing_off": WAITS, "leaving": WAITS, "parting": WAITS, "draining": WAITS, "stale": WAITS, "held": WAITS, "abandoned": WAITS,
    "watching": RESTS, "listening": RESTS, "cached": RESTS, "sent": RESTS,
    "ready": GOOD, "offering": GOOD, "attached": GOOD, "live": GOOD, "serving": GOOD, "counting": GOOD, "answered": GOOD,
    "stalled": BAD, "stuck": BAD, "exhausted": BAD, "uncertain": BAD,
}  # fmt: skip

# Causes that are the gateway's own fault. prometheus/recording.yaml has the same selector.
OURS = "connecting|listing|overload|gateway"


def definitive(fn, w):
    bad = f'sum({fn}(holdfast_tool_calls_total{{$f, cause=~"{OURS}"}}[{w}]))'
    total = f"sum({fn}(holdfast_tool_calls_total{{$f}}[{w}]))"
    return f"1 - {bad} / ({total} > 0)"


def quantiles(base, by="", extra="", of=(0.5, 0.95, 0.99)):
    """Lines of quantiles; `by` splits them, then one quantile is enough."""
    labels = f"le, {by}" if by else "le"
    name = f" {{{{{by}}}}}" if by else ""
    return [
        (f"histogram_quantile({q}, sum by ({labels}) (rate({base}_bucket{{$f{extra}}}[$i])))", f"p{q * 100:g}{name}")
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


def timeline(title, size, text, machines, **more):
    expr = (
        f'sum by (job, instance, pid, machine) (holdfast_fsm_state{{$f, machine=~"{machines}"}} '
        f'* on (job, instance, pid, machine, state) holdfast_fsm_state_code{{$f, machine=~"{machines}"}})'
    )
    return panel("state-timeline", title, "short", size, text, (expr, "{{instance}} {{pid}} {{machine}}"), states=True, **more)


STAT, THIRD, HALF, WIDE = (4, 4), (8, 8), (12, 8), (24, 8)
ZERO_IS_GOOD = [(None, GOOD), (1, BAD)]

OVERVIEW = [
    row("Is it broken for users now?"),
    stat(
        "Broken promises", "short", STAT,
        "Invariant violations in the time shown. Anything but 0 is a bug of holdfast.",
        ("sum(increase(holdfast_invariant_violations_total{$f}[$__range]))", "violations"),
        steps=ZERO_IS_GOOD, decimals=0, runbook="invariant-violated",
    ),
    stat(
        "Definitive answers", "percentunit", STAT,
        "Share of tool calls that the gateway did not fail itself, in the time shown. Objective: 99.5 % over 28 days. What a "
        "closed or killed editor causes, what the client cancelled, and tools that failed in Unity do not count against it.",
        (definitive("increase", "$__range"), "definitive"),
        steps=[(None, BAD), (0.99, WAITS), (0.995, GOOD)], max=1, noValue="no calls", runbook="tool-call-budget",
    ),
    stat(
        "Links ready", "short", STAT, "Gateways whose editor is connected and greeted.",
        ('sum(holdfast_fsm_state{$f, machine="bridge", state="ready"})', "ready"), steps=[(None, RESTS)], runbook="link-stuck",
    ),
    stat(
        "Gateways", "short", STAT, "Gateways that are scraped. One client may start two or three; all but one stay idle.",
        ("count(holdfast_build_info{$f})", "gateways"), steps=[(None, RESTS)], runbook="metrics-stale",
    ),
    stat(
        "Calls waiting", "short", STAT, "Calls that are held: no byte of them has left, so they can still be made safely.",
        ("sum(holdfast_tool_calls_queued{$f})", "held"), steps=[(None, RESTS), (1, WAITS)], runbook="link-stuck",
    ),
    stat(
        "Alerts firing", "short", STAT, "Alerts of holdfast that fire now; the list is below.",
        ('count(ALERTS{job=~"$job", alertname=~"Holdfast.+", alertstate="firing"}) or vector(0)', "firing"),
        steps=ZERO_IS_GOOD,
    ),
    row("Which state is it in, since when, and what changed?"),
    timeline(
        "Links", (16, 8),
        "The bridge machine of every gateway. States shorter than a scrape do not appear; the transitions on the next dashboard "
        "count them.",
        "bridge", runbook="link-stuck",
    ),
    table(
        "In this state since", "dateTimeFromNow", (8, 8), "When each link entered its state.",
        ('holdfast_fsm_state_entered_timestamp_seconds{$f, machine="bridge"} * 1000', ""), hide=["machine", "project"],
        rename={"Value": "since"}, runbook="link-stuck",
    ),
    table(
        "Alerts", "short", HALF, "What fires or is about to. The runbook's address stands in the alert.",
        ('ALERTS{job=~"$job", alertname=~"Holdfast.+"}', ""), hide=["Value", "project"],
    ),
    table(
        "Versions", "short", (6, 8), "What runs. A line on the graphs marks each start.",
        ("holdfast_build_info{$f}", ""), hide=["Value", "project"],
    ),
    table(
        "Sessions", "short", (6, 8), "Which clients have a session open, and how they speak MCP.",
        ("holdfast_mcp_session_info{$f} == 1", ""), hide=["Value", "project"],
    ),
    row("Tool calls"),
    graph(
        "Calls by verdict", "cps", HALF, "How calls ended. `not_executed` is safe to repeat, `outcome_unknown` is not.",
        ("sum by (verdict) (rate(holdfast_tool_calls_total{$f}[$i]))", "{{verdict}}"), stack=True, min=0,
        runbook="tool-call-budget",
    ),
    graph(
        "Definitive answers over time", "percentunit", HALF, "The same share as above; the line is the objective.",
        (definitive("rate", "$__rate_interval"), "definitive"), max=1, line=True, steps=[(None, BAD), (0.995, GOOD)],
        runbook="tool-call-budget",
    ),
    counts(
        "Why calls were not executed, or their outcome is unknown", HALF,
        "Causes in the vocabulary of the answers that the AI reads.",
        ('sum by (verdict, cause) (increase(holdfast_tool_calls_total{$f, cause!=""}[$i]))', "{{verdict}}: {{cause}}"),
        runbook="tool-call-budget",
    ),
    graph(
        "Call duration", "s", HALF, "From acceptance to verdict, Unity's own work included.",
        *quantiles("holdfast_tool_call_duration_seconds"), min=0,
    ),
    heatmap(
        "Call duration, all calls", "s", HALF, "Two ridges: calls that ran at once, and calls that waited out a reload.",
        "holdfast_tool_call_duration_seconds",
    ),
    graph(
        "Time not spent in Unity", "s", HALF, "What calls waited for in the gateway, p95 by cause.",
        *quantiles("holdfast_tool_call_wait_seconds", by="cause", of=(0.95,)), min=0, runbook="queue-nearly-full",
    ),
    graph(
        "Calls in flight, waiting, and the bound", "short", HALF,
        "Serial bridges take one call at a time: what waits behind it is provably not executed.",
        ("sum(holdfast_tool_calls_in_flight{$f})", "in flight"),
        ("sum(holdfast_tool_calls_queued{$f})", "waiting"),
        ("sum(holdfast_tool_call_queue_capacity{$f})", "bound"),
        min=0, runbook="queue-nearly-full",
    ),
    table(
        "Tools", "short", HALF, "Calls in the time shown, and those that ended other than `ok`. A tool's very first call is not seen.",
        ("sum by (tool) (increase(holdfast_tool_calls_by_tool_total{$f}[$__range]))", ""),
        ('sum by (tool) (increase(holdfast_tool_calls_by_tool_total{$f, verdict!="ok"}[$__range]))', ""),
        rename={"Value #A": "calls", "Value #B": "not ok"}, decimals=0,
    ),
    counts(
        "Calls sent again", HALF, "Only calls that are declared repeatable, or that an editor turned away before anything ran.",
        ("sum by (cause) (increase(holdfast_tool_call_resends_total{$f}[$i]))", "{{cause}}"),
    ),
    graph(
        "Result size", "bytes", HALF, "Results above 6 MiB go to a file that the answer names.",
        *quantiles("holdfast_tool_result_bytes"), min=0,
    ),
    row("MCP"),
    graph(
        "Requests by method and outcome", "reqps", HALF, "Counted when answered. A tool that failed is an answered request.",
        ("sum by (method, outcome) (rate(holdfast_mcp_requests_total{$f}[$i]))", "{{method}} {{outcome}}"), stack=True, min=0,
    ),
    graph(
        "Request duration, p95 by method", "s", HALF, "`initialize` and `ping` never wait for Unity.",
        *quantiles("holdfast_mcp_request_duration_seconds", by="method", of=(0.95,)), min=0,
    ),
    graph(
        "Messages", "cps", THIRD, "JSON-RPC messages, by direction and kind.",
        ("sum by (direction, kind) (rate(holdfast_mcp_messages_total{$f}[$i]))", "{{direction}} {{kind}}"), min=0,
    ),
    counts(
        "Lines that are no request", THIRD, "The client's fault; each was answered, and nothing of it ran.",
        ("sum by (reason) (increase(holdfast_mcp_invalid_messages_total{$f}[$i]))", "{{reason}}"),
    ),
    graph(
        "Open requests and stdout", "short", THIRD, "A queue that only grows: the client has stopped reading.",
        ("sum(holdfast_mcp_requests_in_flight{$f})", "open requests"),
        ("sum(holdfast_stdout_queued_messages{$f})", "lines waiting"),
        ("sum(holdfast_stdout_queue_capacity{$f})", "bound"),
        min=0, runbook="stdout-stalled",
    ),
    counts(
        "Answers that nobody waited for any more", HALF, "Their request was cancelled or answered at an end; nothing was written.",
        ("sum(increase(holdfast_mcp_surplus_answers_total{$f}[$i]))", "answers"),
    ),
    counts(
        "Notifications that were not written", HALF, "The client does not read; answers are never dropped.",
        ("sum(increase(holdfast_stdout_dropped_notifications_total{$f}[$i]))", "notifications"), runbook="stdout-stalled",
    ),
    graph(
        "stdout: time since it last took bytes, while lines wait", "s", WIDE, "0 as long as nothing waits.",
        (
            "(time() - (holdfast_stdout_last_write_timestamp_seconds{$f} > 0)) "
            "* on (job, instance, pid) (holdfast_stdout_queued_messages{$f} > bool 0)", "{{instance}} {{pid}}",
        ),
        min=0, runbook="stdout-stalled",
    ),
]  # fmt: skip

LINK_AND_RELOAD = [
    row("States"),
    timeline(
        "State machines", (24, 10),
        "One line per machine. Red: stalled, which is Unity silent on a call it was given. States shorter than a scrape do not "
        "appear; the transitions below count them.",
        "discovery|bridge|push|registry|session", runbook="link-stuck",
    ),
    graph(
        "Transitions", "cps", HALF, "Every edge that was taken, also between scrapes.",
        ("sum by (machine, from, to) (rate(holdfast_fsm_transitions_total{$f}[$i])) > 0", "{{machine}}: {{from}} to {{to}}"),
    ),
    graph(
        "How long states lasted, p95", "s", HALF, "Recorded when a state is left.",
        *quantiles("holdfast_fsm_state_duration_seconds", by="state", extra=', machine="bridge"', of=(0.95,)), min=0,
    ),
    row("Reaching the editor"),
    counts(
        "Connect attempts by result", HALF,
        "`refused`: nobody listens. `wrong_peer`: something listens that is no Unity bridge. `wrong_project`, `unproven`: it is "
        "not known to be this project's editor, so it is not called.",
        ("sum by (result) (increase(holdfast_unity_connect_attempts_total{$f}[$i]))", "{{result}}"), runbook="wrong-peer",
    ),
    graph(
        "Connect and greeting", "s", HALF, "Where both succeeded.", *quantiles("holdfast_unity_connect_duration_seconds"), min=0,
    ),
    graph(
        "Delay before the next dial", "s", HALF,
        "At most 0.1 s while an editor is likely, up to 5 s otherwise; 0 when none is waited for.",
        ("max by (instance, pid) (holdfast_unity_backoff_delay_seconds{$f})", "{{instance}} {{pid}}"), min=0,
        runbook="link-stuck",
    ),
    counts(
        "Backoff waits ended early by a hint", HALF, "Files that changed, a push, or somebody who wants the editor now.",
        ("sum by (hint) (increase(holdfast_unity_backoff_shortcuts_total{$f}[$i]))", "{{hint}}"),
    ),
    graph(
        "Editors found", "short", THIRD, "What the last survey saw.",
        ("sum by (state) (holdfast_unity_instances{$f})", "{{state}}"), min=0,
    ),
    counts(
        "Connections lost, by why", THIRD, "`reload` and `quit` were announced; `disconnect` was not.",
        ("sum by (reason) (increase(holdfast_unity_disconnects_total{$f}[$i]))", "{{reason}}"),
    ),
    graph(
        "Connection number", "short", THIRD, "Of the connection that is up, 0 when none is; a steep line is a link that does not hold.",
        ("max by (instance, pid) (holdfast_unity_connection_epoch{$f})", "{{instance}} {{pid}}"), min=0,
    ),
    row("Reloads"),
    counts(
        "Reloads by result", THIRD, "Domain reloads of the editor. `presumed`: its bridge stopped, and its package tells of none.",
        ("sum by (result) (increase(holdfast_unity_reloads_total{$f}[$i]))", "{{result}}"), runbook="slow-reloads",
    ),
    heatmap(
        "Reload duration", "s", THIRD, "From the connection's end by a reload until the next one is greeted.",
        "holdfast_unity_reload_duration_seconds",
    ),
    graph(
        "Recovery: listening again to the first call on its way", "s", THIRD,
        "Our part of an outage, for calls that were held through it. The line is the objective: 99 % within 1 s.",
        *quantiles("holdfast_unity_recovery_duration_seconds"), min=0, line=True, steps=[(None, GOOD), (1, BAD)],
        runbook="recovery-slow",
    ),
    row("The editor"),
    graph(
        "Time since the editor said anything", "s", WIDE, "Long is normal while nothing is asked of it.",
        ("time() - (holdfast_unity_last_message_timestamp_seconds{$f} > 0)", "{{instance}} {{pid}}"), min=0,
        runbook="editor-silent",
    ),
    graph(
        "Age of the editor's last frame", "s", THIRD,
        "By its own word, off its main thread; only holdfast's package tells. It grows while the main thread works, imports, or shows a dialog.",
        ("time() - (holdfast_unity_last_editor_tick_timestamp_seconds{$f} > 0)", "{{instance}} {{pid}}"), min=0,
        runbook="editor-silent",
    ),
    graph(
        "The editor's answer to \"how are you\"", "s", THIRD, "Asked every two seconds, answered off its main thread.",
        *quantiles("holdfast_unity_heartbeat_seconds"), min=0,
    ),
    counts(
        "What the editor's journal said", THIRD, "Of calls whose connection had ended: only `forgotten` and `interrupted` leave the outcome unknown.",
        ("sum by (outcome) (increase(holdfast_unity_journal_outcomes_total{$f}[$i]))", "{{outcome}}"),
    ),
    graph(
        "Frames", "cps", THIRD, "Messages of the editor's protocol.",
        ("sum by (direction) (rate(holdfast_unity_frames_total{$f}[$i]))", "{{direction}}"), min=0,
    ),
    graph(
        "Bytes", "Bps", THIRD, "Bytes of the editor's protocol.",
        ("sum by (direction) (rate(holdfast_unity_bytes_total{$f}[$i]))", "{{direction}}"), min=0,
    ),
    counts(
        "Frames that broke the protocol", HALF, "Each ends its connection.",
        ("sum by (reason) (increase(holdfast_unity_frame_errors_total{$f}[$i]))", "{{reason}}"),
    ),
    counts(
        "Replies to nothing that is open", HALF, "Dropped: a reply of one connection never completes a call of another.",
        ("sum by (reason) (increase(holdfast_unity_unmatched_responses_total{$f}[$i]))", "{{reason}}"),
    ),
    row("Push channel"),
    counts(
        "Push events by kind and result", HALF, "Hints: they shorten waits and name causes, and decide nothing.",
        ("sum by (kind, result) (increase(holdfast_push_events_total{$f}[$i]))", "{{kind}} {{result}}"), runbook="push-dropping",
    ),
    graph(
        "Push queue and its bound", "short", HALF, "Messages that wait to be handled.",
        ("sum(holdfast_push_queue_depth{$f})", "waiting"), ("sum(holdfast_push_queue_capacity{$f})", "bound"), min=0,
        runbook="push-dropping",
    ),
]  # fmt: skip

UP_DOWN = ({"down": 0, "up": 1}, {"down": BAD, "up": GOOD})

SUPERVISION = [
    row("Supervision"),
    panel(
        "state-timeline", "Actors", "short", (24, 8), "Which parts run. A restart is usually too short to be seen here.",
        ("min by (instance, pid, actor) (holdfast_actor_up{$f})", "{{instance}} {{pid}} {{actor}}"), values=UP_DOWN,
        runbook="restart-loop",
    ),
    counts(
        "Restarts by actor and reason", THIRD, "Each is a bug of holdfast, and no open call loses its answer by it.",
        ("sum by (actor, reason) (increase(holdfast_actor_restarts_total{$f}[$i]))", "{{actor}}: {{reason}}"),
        runbook="restart-loop",
    ),
    counts(
        "Starts by actor", THIRD, "The first start counts too.",
        ("sum by (actor) (increase(holdfast_actor_starts_total{$f}[$i]))", "{{actor}}"), runbook="restart-loop",
    ),
    counts(
        "Supervisors that gave up", THIRD, "Too many restarts in too short a time; what is above starts the whole part anew.",
        ("sum by (supervisor) (increase(holdfast_supervisor_escalations_total{$f}[$i]))", "{{supervisor}}"),
        runbook="supervisor-escalated",
    ),
    counts(
        "Broken promises by kind", THIRD, "Flat zero, or a bug of holdfast.",
        ("sum by (invariant) (increase(holdfast_invariant_violations_total{$f}[$i]))", "{{invariant}}"),
        runbook="invariant-violated",
    ),
    counts(
        "Unexpected events", THIRD, "They do nothing. Flat zero, or a bug of holdfast.",
        ("sum by (machine, state) (increase(holdfast_fsm_unexpected_events_total{$f}[$i])) > 0", "{{machine}} in {{state}}"),
        runbook="unexpected-event",
    ),
    counts(
        "The whole tree was built again", THIRD, "The root supervisor gave up. After the third time in ten minutes holdfast ends.",
        ("sum(increase(holdfast_tree_rebuilds_total{$f}[$i]))", "rebuilds"), runbook="supervisor-escalated",
    ),
    stat(
        "States at once, per machine", "short", (16, 8), "Each machine is in exactly one state: every number here is 1.",
        (
            "max by (machine) (count by (job, instance, pid, machine) (holdfast_fsm_state{$f} == 1))", "{{machine}}",
        ),
        steps=[(None, BAD), (1, GOOD), (2, BAD)],
    ),
    graph(
        "Messages waiting for an actor", "short", HALF, "Bounded at the edges by permits.",
        ("sum by (actor) (holdfast_actor_mailbox_depth{$f})", "{{actor}}"), min=0,
    ),
    graph(
        "Time an actor takes over one message, p99", "s", HALF,
        "Handlers wait for nothing, so this is the gateway's own part of a call's latency. The line is the objective: 5 ms.",
        *quantiles("holdfast_actor_handle_duration_seconds", by="actor", of=(0.99,)), min=0, line=True,
        steps=[(None, GOOD), (0.005, BAD)],
    ),
    row("Resources"),
    graph(
        "Resident memory", "bytes", HALF, "Budget: 10 MiB idle, 20 MiB after load.",
        ("max by (instance, pid) (process_resident_memory_bytes{$f})", "{{instance}} {{pid}}"), min=0,
    ),
    graph(
        "Processor", "percentunit", HALF, "1 is one core.",
        ("sum by (instance, pid) (rate(process_cpu_seconds_total{$f}[$i]))", "{{instance}} {{pid}}"), min=0,
        runbook="runtime-starved",
    ),
    graph(
        "File descriptors, share of the limit", "percentunit", HALF, "Open ones over those that may be open.",
        ("max by (instance, pid) (process_open_fds{$f} / process_max_fds{$f})", "{{instance}} {{pid}}"), min=0, max=1, line=True,
        steps=[(None, GOOD), (0.8, BAD)], runbook="fds-nearly-exhausted",
    ),
    graph(
        "Runtime lag", "s", HALF, "How late a tick came that is due every second: a starved machine, or a blocked executor.",
        *quantiles("holdfast_runtime_lag_seconds"), min=0, runbook="runtime-starved",
    ),
    counts(
        "Clock jumps", THIRD, "The machine slept, or its clock was set: explains odd graphs.",
        ("sum by (direction) (increase(holdfast_clock_jumps_total{$f}[$i]))", "{{direction}}"),
    ),
    table(
        "Running since", "dateTimeFromNow", THIRD, "When each gateway was started by its client.",
        ("process_start_time_seconds{$f} * 1000", ""), hide=["project"], rename={"Value": "since"}, runbook="metrics-stale",
    ),
    counts(
        "Scrapes", THIRD, "Requests for these metrics. All but `ok` were refused.",
        ("sum by (result) (increase(holdfast_scrapes_total{$f}[$i]))", "{{result}}"), runbook="metrics-stale",
    ),
    graph(
        "Log events by level", "cps", HALF, "Counted whether written or not.",
        ("sum by (level) (rate(holdfast_log_events_total{$f}[$i]))", "{{level}}"), stack=True, min=0,
    ),
    counts(
        "Log lines that were not written", HALF, "`queue_full`: nobody reads stderr fast enough. The gateway does not wait for it.",
        ("sum by (reason) (increase(holdfast_log_events_dropped_total{$f}[$i]))", "{{reason}}"),
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

DASHBOARDS = [
    ("overview", "Overview", "Is holdfast broken for users now, since when, and what changed?", OVERVIEW),
    ("link-and-reload", "Link and reload", "The connection to the Unity Editor: states, reloads, push.", LINK_AND_RELOAD),
    ("supervision-and-resources", "Supervision and resources", "The gateway's own parts and what they use.", SUPERVISION),
]

# Metrics that no dashboard shows, and why.
NOT_SHOWN = {
    "holdfast_shutdowns_total": "counted when the process ends: only ever seen in the snapshot at exit, never in a scrape",
}
