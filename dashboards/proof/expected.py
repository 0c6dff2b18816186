"""What the session must leave in Prometheus, and what it cannot."""

# (selector, what the session did): the selector is above zero in at least one sample.
EVENTS = [
    ("holdfast_build_info", "gateways ran"),
    ("process_start_time_seconds", "gateways were started"),
    ("process_resident_memory_bytes", "gateways ran"),
    ("process_open_fds", "gateways ran"),
    ("process_max_fds", "gateways ran"),
    ("holdfast_runtime_lag_seconds_count", "seconds passed"),
    ('holdfast_mcp_requests_total{method="initialize", outcome="ok"}', "sessions were opened"),
    ('holdfast_mcp_requests_total{method="ping", outcome="ok"}', "pings"),
    ('holdfast_mcp_requests_total{method="tools/list", outcome="ok"}', "tools were listed"),
    ('holdfast_mcp_requests_total{method="tools/call", outcome="ok"}', "calls"),
    ('holdfast_mcp_requests_total{method="tools/call", outcome="cancelled"}', "a call was cancelled"),
    ('holdfast_mcp_requests_total{method="other", outcome="error"}', "an unknown method"),
    ("holdfast_mcp_requests_in_flight", "a call was open over a scrape"),
    ('holdfast_mcp_sessions{client="claude_code"}', "sessions were opened"),
    ("holdfast_stdout_queued_messages", "a client did not read"),
    ("holdfast_stdout_last_write_timestamp_seconds", "answers"),
    ('holdfast_tool_calls_total{verdict="ok"}', "calls"),
    ('holdfast_tool_calls_total{instance=~"hub-.+", project="Castle", verdict="ok"}', "calls over a hub"),
    ('holdfast_tool_calls_total{verdict="tool_error"}', "a tool that failed"),
    ('holdfast_tool_calls_total{verdict="cancelled"}', "a call was cancelled"),
    ('holdfast_tool_calls_total{verdict="still_running"}', "a call outlasted its client's patience"),
    ('holdfast_tool_calls_total{verdict="outcome_unknown", cause="reload"}', "a reload in the middle of a call"),
    ('holdfast_tool_calls_total{verdict="outcome_unknown", cause="interrupted"}', "a reload in the middle of a call that the journal knew"),
    ('holdfast_tool_calls_total{verdict="outcome_unknown", cause="disconnect"}', "an editor was killed in the middle of a call"),
    ('holdfast_tool_calls_total{verdict="outcome_unknown", cause="hub_ended"}', "a hub was killed in the middle of a call"),
    ('holdfast_tool_calls_total{verdict="not_executed", cause="closed"}', "a call to an editor that was closed"),
    ('holdfast_tool_calls_total{verdict="not_executed", cause="wrong_peer"}', "a call to a stranger"),
    ("holdfast_tool_call_duration_seconds_count", "calls"),
    ('holdfast_tool_call_wait_seconds_count{cause="queue"}', "calls"),
    ('holdfast_tool_call_wait_seconds_count{cause="reload"}', "a call waited out a reload"),
    ("holdfast_tool_calls_in_flight", "a call ran over a scrape"),
    ("holdfast_tool_calls_queued", "a call was held over a scrape"),
    ("holdfast_tool_call_resends_total", "a call that only reads lost its connection"),
    ('holdfast_unity_connect_attempts_total{result="ok"}', "editors were reached"),
    ('holdfast_unity_connect_attempts_total{result="refused"}', "a reload, a silent editor"),
    ('holdfast_unity_connect_attempts_total{result="wrong_peer"}', "a stranger on the port"),
    ("holdfast_unity_connect_duration_seconds_count", "editors were reached"),
    ('holdfast_unity_disconnects_total{reason="reload"}', "a reload"),
    ('holdfast_unity_disconnects_total{reason="disconnect"}', "an editor was killed"),
    ('holdfast_unity_disconnects_total{reason="quit"}', "an editor was closed"),
    ("holdfast_unity_last_editor_tick_timestamp_seconds", "an editor told how old its last frame is"),
    ('holdfast_unity_reloads_total{result="completed"}', "a reload"),
    ("holdfast_unity_reload_duration_seconds_count", "a reload"),
    ("holdfast_unity_recovery_duration_seconds_count", "a call waited out a reload"),
    ('holdfast_fsm_state{machine="bridge", state="ready"}', "editors were reached"),
    ('holdfast_fsm_state{machine="bridge", state=~"seeking|dialing|greeting|backing_off"}', "an editor that does not listen"),
    ("holdfast_hub_sessions", "a client shared a hub"),
    ('holdfast_hub_sessions_refused_total{reason="bad_hello"}', "a stranger spoke to a hub"),
    ("holdfast_hub_starts", "hubs ran"),
    ('holdfast_http_refusals_total{reason="unauthorized"}', "a client without the token"),
]

# Metrics that this session cannot make rise, and why, or where another test makes them rise.
NOT_CAUSED = {
    "process_cpu_seconds_total": "whole seconds, which a quick machine does not use in this time",
    "holdfast_fsm_unexpected_events_total": "would be a bug",
    "holdfast_actor_restarts_total": "would be a bug; tests/it/metrics.rs plants some",
    "holdfast_supervisor_escalations_total": "would be a bug; tests/it/metrics.rs plants some",
    "holdfast_invariant_violations_total": "would be a bug",
    "holdfast_hub_records_unwritten_total": "needs a full disk; src/storage/call_files/mod.rs",
    "holdfast_hub_records_failing": "needs a full disk; src/storage/call_files/mod.rs",
}
# Metrics that nothing from outside may change.
FLAT_ZERO = [
    "holdfast_fsm_unexpected_events_total",
    "holdfast_actor_restarts_total",
    "holdfast_supervisor_escalations_total",
    "holdfast_invariant_violations_total",
    'holdfast_tool_calls_total{cause="gateway"}',
]

# Alerts that the session must cause, and the state that they reach within its seconds.
ALERTS = {"HoldfastWrongPeer": "firing", "HoldfastLinkStuck": "pending"}
# Alerts that a slow machine may cause as well.
MAY_FIRE = {
    "HoldfastStdoutStalled": "the client that does not read, if all takes long",
}

# Panels with data of only one gateway: of another project, or a hub.
ELSEWHERE = {
    "Age of the editor's last frame A": "Tower",
    "Sessions on the hub A": "hub-.+",
    "Hubs so far A": "hub-.+",
    "Records that the hub could not write B": "hub-.+",
}
# Panels without data after this session, and why.
EMPTY = {
    "Restarts": "no part was restarted",
    "Bugs: broken promises, restarts, unexpected events B": "no part was restarted",
    "Bugs: broken promises, restarts, unexpected events D": "there were none",
}
# Panels that show what is happening now, and show nothing at the end of the session.
QUIET_AT_THE_END = {
    "Requests by method and outcome A": "the rates above zero",
}
