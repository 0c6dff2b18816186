"""The content of the dashboards.

A panel is `kind(title, unit, width x height, description, targets)`. In expressions `$f` is the filter by job and instance
that every selector has, `[$i]` the window that fits the scrape interval. One gateway is one (job, instance,
pid): `instance` is the project, and clients start several copies for one project.
"""

BAD, WAITS, MOVES, GOOD, RESTS, OVER = "red", "orange", "yellow", "green", "blue", "#808080"

# One colour for a state wherever it appears. Red is for states that somebody should look at.
STATE_COLOURS = {
    "idle": OVER, "stopped": OVER, "closed": OVER, "stopping": OVER, "empty": OVER, "awaiting_open": OVER,
    "cancelled": OVER,
    "scanning": MOVES, "seeking": MOVES, "dialing": MOVES, "greeting": MOVES, "binding": MOVES, "refreshing": MOVES,
    "waiting_for_tools": MOVES, "awaiting_roots": MOVES, "looking": MOVES, "waiting": MOVES, "recovering": MOVES, "accepted": MOVES,
    "backing_off": WAITS, "leaving": WAITS, "parting": WAITS, "draining": WAITS, "stale": WAITS, "held": WAITS, "abandoned": WAITS,
    "watching": RESTS, "listening": RESTS, "cached": RESTS, "sent": RESTS, "embedded": RESTS,
    "bound": GOOD, "choosing": GOOD, "unsettled": RESTS, "adrift": WAITS,
    "ready": GOOD, "offering": GOOD, "attached": GOOD, "live": GOOD, "serving": GOOD, "counting": GOOD, "answered": GOOD,
    "stalled": BAD, "stuck": BAD, "exhausted": BAD, "uncertain": BAD,
}  # fmt: skip

# Causes that are the gateway's own fault. prometheus/recording.yaml has the same selector.
OURS = "connecting|listing|overload|gateway|hub_ended|unrecorded"


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
        f'sum by (job, instance, pid, project, machine) (holdfast_fsm_state{{$f, machine=~"{machines}", project!="other"}} '
        f'* on (job, instance, pid, machine, state) group_left holdfast_fsm_state_code{{$f, machine=~"{machines}"}})'
    )
    return panel("state-timeline", title, "short", size, text, (expr, "{{instance}} {{pid}} {{project}} {{machine}}"), states=True, **more)


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
        "Share of tool calls, in the time shown, that did not fail because of the gateway. Objective: 99.5 % over 28 days. Failures "
        "that a closed or killed editor causes, cancelled calls, and tools that fail in Unity do not count against it.",
        (definitive("increase", "$__range"), "definitive"),
        steps=[(None, BAD), (0.99, WAITS), (0.995, GOOD)], max=1, noValue="no calls", runbook="tool-call-budget",
    ),
    stat(
        "Links ready", "short", STAT, "Editors that are connected and greeted.",
        ('sum(holdfast_fsm_state{$f, machine="bridge", state="ready"})', "ready"), steps=[(None, RESTS)], runbook="link-stuck",
    ),
    stat(
        "Gateways", "short", STAT, "Gateways that are scraped. One client may start two or three; all but one stay idle.",
        ("count(holdfast_build_info{$f})", "gateways"), steps=[(None, RESTS)], runbook="metrics-stale",
    ),
    stat(
        "Calls waiting", "short", STAT, "Calls that are held. Nothing of them has been sent yet, so they can still run safely.",
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
        "The state of the bridge machine of every gateway, and in a hub of every project's editor. States shorter than a scrape interval may not appear; *Transitions* on the "
        "next dashboard counts them.",
        "bridge", runbook="link-stuck",
    ),
    table(
        "In this state since", "dateTimeFromNow", (8, 8), "When each link entered its state; not of a hub's editors that share the project `other`.",
        ('(holdfast_fsm_state_entered_timestamp_seconds{$f, machine="bridge", project!="other"} > 0) * 1000', ""), hide=["machine"],
        rename={"Value": "since"}, runbook="link-stuck",
    ),
    table(
        "Alerts", "short", HALF, "Alerts that fire or are pending. Each alert has the address of its runbook.",
        ('ALERTS{job=~"$job", alertname=~"Holdfast.+"}', ""), hide=["Value", "project"],
    ),
    table(
        "Versions", "short", (6, 8), "The versions that run. A line on the graphs marks each start.",
        ("holdfast_build_info{$f}", ""), hide=["Value", "project"],
    ),
    table(
        "Sessions", "short", (6, 8), "Clients that have a session open, with their MCP version and era.",
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
        "The causes have the same names as in the answers that the AI reads.",
        ('sum by (verdict, cause) (increase(holdfast_tool_calls_total{$f, cause!=""}[$i]))', "{{verdict}}: {{cause}}"),
        runbook="tool-call-budget",
    ),
    graph(
        "Call duration", "s", HALF, "Time from a call's arrival to its answer, including Unity's own work.",
        *quantiles("holdfast_tool_call_duration_seconds"), min=0,
    ),
    graph(
        "Calls by project", "cps", THIRD, "Calls of each project's editor, also of those that share a hub.",
        ("sum by (project) (rate(holdfast_tool_calls_by_project_total{$f}[$i]))", "{{project}}"), stack=True, min=0,
    ),
    graph(
        "Calls of each project that did not end as ok", "cps", THIRD, "By project and verdict.",
        ('sum by (project, verdict) (rate(holdfast_tool_calls_by_project_total{$f, verdict!="ok"}[$i]))', "{{project}}: {{verdict}}"),
        min=0, runbook="tool-call-budget",
    ),
    graph(
        "Call duration, p95 by project", "s", THIRD, "Time from a call's arrival to its answer, including Unity's own work.",
        *quantiles("holdfast_tool_call_duration_by_project_seconds", by="project", of=(0.95,)), min=0,
    ),
    graph(
        "Calls waiting, by project", "short", HALF, "Calls that are held. A project whose calls wait while those of others go on has a stuck editor.",
        ("sum by (project) (holdfast_tool_calls_queued{$f})", "{{project}}"), min=0, runbook="link-stuck",
    ),
    heatmap(
        "Call duration, all calls", "s", HALF, "Usually there are two bands: calls that ran at once, and calls that waited for a reload to end.",
        "holdfast_tool_call_duration_seconds",
    ),
    graph(
        "Time not spent in Unity", "s", HALF, "How long calls waited in the gateway, p95 by cause.",
        *quantiles("holdfast_tool_call_wait_seconds", by="cause", of=(0.95,)), min=0, runbook="queue-nearly-full",
    ),
    graph(
        "Calls in flight, waiting, and the bound", "short", HALF,
        "Serial bridges take one call at a time. Calls that wait behind it have certainly not run.",
        ("sum(holdfast_tool_calls_in_flight{$f})", "in flight"),
        ("sum(holdfast_tool_calls_queued{$f})", "waiting"),
        ("sum(holdfast_tool_call_queue_capacity{$f})", "bound"),
        min=0, runbook="queue-nearly-full",
    ),
    table(
        "Tools", "short", HALF, "Calls in the time shown, and how many of them did not end as `ok`. The very first call of a tool is not counted here.",
        ("sum by (tool) (increase(holdfast_tool_calls_by_tool_total{$f}[$__range]))", ""),
        ('sum by (tool) (increase(holdfast_tool_calls_by_tool_total{$f, verdict!="ok"}[$__range]))', ""),
        rename={"Value #A": "calls", "Value #B": "not ok"}, decimals=0,
    ),
    counts(
        "Calls sent again", HALF, "Only calls whose tool is repeatable, or that an editor turned away before anything ran.",
        ("sum by (cause) (increase(holdfast_tool_call_resends_total{$f}[$i]))", "{{cause}}"),
    ),
    graph(
        "Result size", "bytes", HALF, "A result above 6 MiB is written to a file, and the answer names the file.",
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
        "Lines that are no request", THIRD, "Errors of the client. Each line was answered, and nothing of it ran.",
        ("sum by (reason) (increase(holdfast_mcp_invalid_messages_total{$f}[$i]))", "{{reason}}"),
    ),
    graph(
        "Open requests and stdout", "short", THIRD, "If the queue only grows, the client has stopped reading.",
        ("sum(holdfast_mcp_requests_in_flight{$f})", "open requests"),
        ("sum(holdfast_stdout_queued_messages{$f})", "lines waiting"),
        ("sum(holdfast_stdout_queue_capacity{$f})", "bound"),
        min=0, runbook="stdout-stalled",
    ),
    counts(
        "Answers that nobody waited for any more", HALF, "Their request was no longer open: it had been cancelled or already answered. Nothing was written.",
        ("sum(increase(holdfast_mcp_surplus_answers_total{$f}[$i]))", "answers"),
    ),
    counts(
        "Notifications that were not written", HALF, "Notifications are dropped while the client does not read. Answers are never dropped.",
        ("sum(increase(holdfast_stdout_dropped_notifications_total{$f}[$i]))", "notifications"), runbook="stdout-stalled",
    ),
    graph(
        "stdout: time since it last took bytes, while lines wait", "s", WIDE, "0 while no lines wait.",
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
        "One line for each machine. Red is `stalled`: Unity is silent while it has a call to answer. States shorter than a scrape "
        "interval may not appear; *Transitions* below counts them.",
        "discovery|bridge|push|registry|session", runbook="link-stuck",
    ),
    graph(
        "Transitions", "cps", HALF, "All transitions, including those between two scrapes.",
        ("sum by (machine, from, to) (rate(holdfast_fsm_transitions_total{$f}[$i])) > 0", "{{machine}}: {{from}} to {{to}}"),
    ),
    graph(
        "How long states lasted, p95", "s", HALF, "Recorded when the machine leaves a state.",
        *quantiles("holdfast_fsm_state_duration_seconds", by="state", extra=', machine="bridge"', of=(0.95,)), min=0,
    ),
    row("Reaching the editor"),
    counts(
        "Connect attempts by result", HALF,
        "`refused`: nothing listens on the port. `vanished`: what accepted was gone at once. `wrong_peer`: the program on the port is not a Unity bridge. `wrong_project`, "
        "`unproven`: it is not this project's editor, or not known to be, so it gets no calls.",
        ("sum by (result) (increase(holdfast_unity_connect_attempts_total{$f}[$i]))", "{{result}}"), runbook="wrong-peer",
    ),
    graph(
        "Connect and greeting", "s", HALF, "Time for both, for attempts where both succeeded.", *quantiles("holdfast_unity_connect_duration_seconds"), min=0,
    ),
    graph(
        "Delay before the next dial", "s", HALF,
        "At most 0.1 s while an editor is likely to be there, up to 5 s otherwise; 0 if there is no delay.",
        ("max by (instance, pid) (holdfast_unity_backoff_delay_seconds{$f})", "{{instance}} {{pid}}"), min=0,
        runbook="link-stuck",
    ),
    counts(
        "Backoff waits ended early by a hint", HALF, "The hint is a changed file, a push message, or a request that needs the editor now.",
        ("sum by (hint) (increase(holdfast_unity_backoff_shortcuts_total{$f}[$i]))", "{{hint}}"),
    ),
    graph(
        "Editors found", "short", THIRD, "Editors that the last survey found.",
        ("sum by (state) (holdfast_unity_instances{$f})", "{{state}}"), min=0,
    ),
    counts(
        "Connections lost, by why", THIRD, "`reload` and `quit` were announced; `disconnect` was not.",
        ("sum by (reason) (increase(holdfast_unity_disconnects_total{$f}[$i]))", "{{reason}}"),
    ),
    graph(
        "Connection number", "short", THIRD, "Number of the present connection, 0 if there is none. A steep line means that connections do not last.",
        ("max by (instance, pid, project) (holdfast_unity_connection_epoch{$f})", "{{instance}} {{pid}} {{project}}"), min=0,
    ),
    row("Reloads"),
    counts(
        "Reloads by result", THIRD, "Domain reloads of the editor. `presumed`: the bridge went away, and its package does not announce reloads.",
        ("sum by (result) (increase(holdfast_unity_reloads_total{$f}[$i]))", "{{result}}"), runbook="slow-reloads",
    ),
    heatmap(
        "Reload duration", "s", THIRD, "Time from a connection's end by a reload until the next connection is greeted.",
        "holdfast_unity_reload_duration_seconds",
    ),
    graph(
        "Recovery: listening again to the first call on its way", "s", THIRD,
        "The gateway's part of an outage, for calls that were held during it. The line is the objective: 99 % within 1 s.",
        *quantiles("holdfast_unity_recovery_duration_seconds"), min=0, line=True, steps=[(None, GOOD), (1, BAD)],
        runbook="recovery-slow",
    ),
    row("The editor"),
    graph(
        "Time since the editor said anything", "s", WIDE, "A long time is normal while the editor has nothing to answer.",
        ("time() - (holdfast_unity_last_message_timestamp_seconds{$f} > 0)", "{{instance}} {{pid}}"), min=0,
        runbook="editor-silent",
    ),
    graph(
        "Age of the editor's last frame", "s", THIRD,
        "As the editor reports it, without its main thread; only holdfast's package does. It grows while the main thread works, imports, or shows a dialog.",
        ("time() - (holdfast_unity_last_editor_tick_timestamp_seconds{$f} > 0)", "{{instance}} {{pid}}"), min=0,
        runbook="editor-silent",
    ),
    graph(
        "The editor's answer to \"how are you\"", "s", THIRD, "The gateway asks every two seconds. The editor answers without its main thread.",
        *quantiles("holdfast_unity_heartbeat_seconds"), min=0,
    ),
    counts(
        "What the editor's journal said", THIRD, "For calls whose connection had ended. Only `forgotten` and `interrupted` leave the outcome unknown.",
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
        "Frames that broke the protocol", HALF, "Each of them ends the connection.",
        ("sum by (reason) (increase(holdfast_unity_frame_errors_total{$f}[$i]))", "{{reason}}"),
    ),
    counts(
        "Replies to nothing that is open", HALF, "They are dropped: a reply on one connection never completes a call of another.",
        ("sum by (reason) (increase(holdfast_unity_unmatched_responses_total{$f}[$i]))", "{{reason}}"),
    ),
    row("Push channel"),
    counts(
        "Push events by kind and result", HALF, "Push messages are hints: they can shorten a wait or name a cause, but nothing depends on them.",
        ("sum by (kind, result) (increase(holdfast_push_events_total{$f}[$i]))", "{{kind}} {{result}}"), runbook="push-dropping",
    ),
    graph(
        "Push queue and its bound", "short", HALF, "Push messages that wait to be handled.",
        ("sum(holdfast_push_queue_depth{$f})", "waiting"), ("sum(holdfast_push_queue_capacity{$f})", "bound"), min=0,
        runbook="push-dropping",
    ),
]  # fmt: skip

# A gateway that is no hub has 0 hubs before it, and is not shown among the hubs.
A_HUB = "holdfast_hub_starts{$f} > 0"
WRITTEN = ({"written": 0, "not written": 1}, {"written": GOOD, "not written": BAD})
UP_DOWN = ({"down": 0, "up": 1}, {"down": BAD, "up": GOOD})

SUPERVISION = [
    row("Supervision"),
    panel(
        "state-timeline", "Actors", "short", (24, 8), "Which actors run. A restart is usually too short to be seen here.",
        ("clamp_max(min by (instance, pid, actor) (holdfast_actor_up{$f}), 1)", "{{instance}} {{pid}} {{actor}}"), values=UP_DOWN,
        runbook="restart-loop",
    ),
    counts(
        "Restarts by actor and reason", THIRD, "Each restart is a bug of holdfast. Open calls still get their answers.",
        ("sum by (actor, reason) (increase(holdfast_actor_restarts_total{$f}[$i]))", "{{actor}}: {{reason}}"),
        runbook="restart-loop",
    ),
    counts(
        "Starts by actor", THIRD, "The first start counts too.",
        ("sum by (actor) (increase(holdfast_actor_starts_total{$f}[$i]))", "{{actor}}"), runbook="restart-loop",
    ),
    counts(
        "Supervisors that gave up", THIRD, "Its children restarted too often in a short time. It starts again after a pause.",
        ("sum by (supervisor) (increase(holdfast_supervisor_escalations_total{$f}[$i]))", "{{supervisor}}"),
        runbook="supervisor-escalated",
    ),
    counts(
        "Broken promises by kind", THIRD, "Anything but 0 is a bug of holdfast.",
        ("sum by (invariant) (increase(holdfast_invariant_violations_total{$f}[$i]))", "{{invariant}}"),
        runbook="invariant-violated",
    ),
    counts(
        "Unexpected events", THIRD, "They have no effect, but anything other than 0 is a bug of holdfast.",
        ("sum by (machine, state) (increase(holdfast_fsm_unexpected_events_total{$f}[$i])) > 0", "{{machine}} in {{state}}"),
        runbook="unexpected-event",
    ),
    counts(
        "Trees that were built again", THIRD, "A supervisor gave up. A link goes on so; a session ends after the third time in ten minutes.",
        ("sum(increase(holdfast_tree_rebuilds_total{$f}[$i]))", "rebuilds"), runbook="supervisor-escalated",
    ),
    stat(
        "States at once, per machine", "short", (16, 8), "Each machine is in exactly one state: every number here is 1.",
        (
            'max by (machine) (count by (job, instance, pid, project, machine) (holdfast_fsm_state{$f, project!="other"} == 1))', "{{machine}}",
        ),
        steps=[(None, BAD), (1, GOOD), (2, BAD)],
    ),
    graph(
        "Messages waiting for an actor", "short", HALF, "Messages from outside need a permit, so their number is bounded.",
        ("sum by (actor) (holdfast_actor_mailbox_depth{$f})", "{{actor}}"), min=0,
    ),
    graph(
        "Time an actor takes over one message, p99", "s", HALF,
        "Actors do not wait while they handle a message, so this is the gateway's own part of a call's latency. The line is the objective: 5 ms.",
        *quantiles("holdfast_actor_handle_duration_seconds", by="actor", of=(0.99,)), min=0, line=True,
        steps=[(None, GOOD), (0.005, BAD)],
    ),
    row("The hub"),
    graph(
        "Sessions on the hub", "short", THIRD, "AI clients that share the hub. A hub that was replaced gets its sessions back within seconds.",
        (f"sum by (instance, pid) (holdfast_hub_sessions{{$f}} and {A_HUB})", "{{instance}} {{pid}}"), min=0,
        runbook="hub-takeover-loop",
    ),
    counts(
        "Sessions opened and refused", THIRD,
        "A session that lost its hub waits for the successor of one that is `ending`. After any other refusal it serves its client by itself.",
        ("sum(increase(holdfast_hub_sessions_opened_total{$f}[$i]))", "opened"),
        ("sum by (reason) (increase(holdfast_hub_sessions_refused_total{$f}[$i]))", "refused: {{reason}}"),
        runbook="hub-takeover-loop",
    ),
    graph(
        "Hubs so far", "short", THIRD, "How many hubs have used the same state folder. Each step is a hub that replaced another one.",
        (f"max by (instance, pid) ({A_HUB})", "{{instance}} {{pid}}"), decimals=0, runbook="hub-takeover-loop",
    ),
    graph(
        "Calls taken over", "short", THIRD,
        "Calls that an earlier hub sent and did not answer. Counted at a hub's start, so it is a height and not a rise.",
        (f"sum by (instance, pid) (holdfast_hub_calls_taken_over_total{{$f}} and {A_HUB})", "{{instance}} {{pid}}"), min=0, decimals=0,
        runbook="hub-takeover-loop",
    ),
    counts(
        "Records that were not written", THIRD, "A call whose sending cannot be recorded is not sent, and is answered `not executed: unrecorded`.",
        ("sum by (instance, pid) (increase(holdfast_hub_records_unwritten_total{$f}[$i]))", "{{instance}} {{pid}}"),
        runbook="hub-records-failing",
    ),
    panel(
        "state-timeline", "The hub's last record", "short", THIRD, "Whether the last record of a call could be written.",
        (f"max by (instance, pid) (holdfast_hub_records_failing{{$f}} and {A_HUB})", "{{instance}} {{pid}}"), values=WRITTEN,
        runbook="hub-records-failing",
    ),
    row("MCP over HTTP"),
    counts(
        "Answers over HTTP", THIRD,
        "By the era of the message and the class of the status. `none`: no message was read that has an answer.",
        ("sum by (era, status) (increase(holdfast_http_requests_total{$f}[$i]))", "{{era}} {{status}}"),
    ),
    counts(
        "Requests refused over HTTP", THIRD,
        "`unauthorized`: a client without the token. `foreign_page` and `bad_host`: a web page in somebody's browser.",
        ("sum by (reason) (increase(holdfast_http_refusals_total{$f}[$i]))", "{{reason}}"),
    ),
    graph(
        "Open streams over HTTP", "short", THIRD, "Answers that take long, progress, and subscriptions.",
        (f"sum by (instance, pid) (holdfast_http_streams{{$f}} and {A_HUB})", "{{instance}} {{pid}}"), min=0,
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
        "File descriptors, share of the limit", "percentunit", HALF, "Open file descriptors divided by the limit.",
        ("max by (instance, pid) (process_open_fds{$f} / process_max_fds{$f})", "{{instance}} {{pid}}"), min=0, max=1, line=True,
        steps=[(None, GOOD), (0.8, BAD)], runbook="fds-nearly-exhausted",
    ),
    graph(
        "Runtime lag", "s", HALF, "How late a tick comes that is due every second. High values mean an overloaded machine or a blocked gateway.",
        *quantiles("holdfast_runtime_lag_seconds"), min=0, runbook="runtime-starved",
    ),
    counts(
        "Clock jumps", THIRD, "The machine slept, or somebody set its clock. This can explain odd graphs.",
        ("sum by (direction) (increase(holdfast_clock_jumps_total{$f}[$i]))", "{{direction}}"),
    ),
    table(
        "Running since", "dateTimeFromNow", THIRD, "When each gateway was started by its client.",
        ("process_start_time_seconds{$f} * 1000", ""), hide=["project"], rename={"Value": "since"}, runbook="metrics-stale",
    ),
    counts(
        "Scrapes", THIRD, "Requests for these metrics. All results but `ok` are refusals.",
        ("sum by (result) (increase(holdfast_scrapes_total{$f}[$i]))", "{{result}}"), runbook="metrics-stale",
    ),
    graph(
        "Log events by level", "cps", HALF, "Log lines, whether they were written or not.",
        ("sum by (level) (rate(holdfast_log_events_total{$f}[$i]))", "{{level}}"), stack=True, min=0,
    ),
    counts(
        "Log lines that were not written", HALF, "`queue_full`: stderr is not read fast enough. The gateway does not wait for it.",
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
    "holdfast_shutdowns_total": "counted when the process ends, so only the snapshot at exit has it, never a scrape",
}
