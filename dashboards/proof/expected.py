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
    ('holdfast_mcp_request_duration_seconds_count{method="tools/call"}', "calls"),
    ("holdfast_mcp_requests_in_flight", "a call was open over a scrape"),
    ('holdfast_mcp_messages_total{direction="rx", kind="request"}', "requests"),
    ('holdfast_mcp_messages_total{direction="rx", kind="notification"}', "initialized, cancelled"),
    ('holdfast_mcp_messages_total{direction="tx", kind="response"}', "answers"),
    ('holdfast_mcp_messages_total{direction="tx", kind="notification"}', "a tool was added"),
    ('holdfast_mcp_invalid_messages_total{reason="not_json"}', "a line that is no JSON"),
    ('holdfast_mcp_session_info{client="claude_code", protocol="2025-06-18"}', "sessions were opened"),
    ("holdfast_stdout_queued_messages", "a client did not read"),
    ("holdfast_stdout_queue_capacity", "gateways ran"),
    ("holdfast_stdout_last_write_timestamp_seconds", "answers"),
    ('holdfast_tool_calls_total{verdict="ok"}', "calls"),
    ('holdfast_tool_calls_total{verdict="tool_error"}', "a tool that failed"),
    ('holdfast_tool_calls_total{verdict="cancelled"}', "a call was cancelled"),
    ('holdfast_tool_calls_total{verdict="still_running"}', "a call outlasted its client's patience"),
    ('holdfast_tool_calls_total{verdict="outcome_unknown", cause="reload"}', "a reload in the middle of a call"),
    ('holdfast_tool_calls_total{verdict="outcome_unknown", cause="disconnect"}', "an editor was killed in the middle of a call"),
    ('holdfast_tool_calls_total{verdict="not_executed", cause="closed"}', "a call to an editor that was closed"),
    ('holdfast_tool_calls_total{verdict="not_executed", cause="wrong_peer"}', "a call to a stranger"),
    ('holdfast_tool_calls_by_tool_total{tool="echo", verdict="ok"}', "calls"),
    ('holdfast_tool_calls_by_tool_total{tool="hold", verdict="outcome_unknown"}', "calls that were cut"),
    ('holdfast_tool_call_duration_seconds_count{verdict="ok"}', "calls"),
    ('holdfast_tool_call_wait_seconds_count{cause="queue"}', "calls"),
    ('holdfast_tool_call_wait_seconds_count{cause="reload"}', "a call waited out a reload"),
    ("holdfast_tool_calls_in_flight", "a call ran over a scrape"),
    ("holdfast_tool_calls_queued", "a call was held over a scrape"),
    ("holdfast_tool_call_queue_capacity", "gateways ran"),
    ("holdfast_tool_call_resends_total", "a call that only reads lost its connection"),
    ("holdfast_tool_result_bytes_count", "calls"),
    ('holdfast_unity_connect_attempts_total{result="ok"}', "editors were reached"),
    ('holdfast_unity_connect_attempts_total{result="refused"}', "a reload, a silent editor"),
    ('holdfast_unity_connect_attempts_total{result="wrong_peer"}', "a stranger on the port"),
    ("holdfast_unity_connect_duration_seconds_count", "editors were reached"),
    ('holdfast_unity_disconnects_total{reason="reload"}', "a reload"),
    ('holdfast_unity_disconnects_total{reason="disconnect"}', "an editor was killed"),
    ('holdfast_unity_disconnects_total{reason="quit"}', "an editor was closed"),
    ("holdfast_unity_backoff_delay_seconds", "an editor that does not listen"),
    ("holdfast_unity_backoff_shortcuts_total", "an editor that came back"),
    ("holdfast_unity_connection_epoch", "editors were reached"),
    ("holdfast_unity_last_message_timestamp_seconds", "editors answered"),
    ("holdfast_unity_last_editor_tick_timestamp_seconds", "an editor told how old its last frame is"),
    ("holdfast_unity_heartbeat_seconds_count", "an editor was asked how it is"),
    ('holdfast_unity_journal_outcomes_total{outcome="interrupted"}', "a reload in the middle of a call that the journal knew"),
    ('holdfast_unity_frames_total{direction="rx"}', "editors answered"),
    ('holdfast_unity_frames_total{direction="tx"}', "calls"),
    ('holdfast_unity_bytes_total{direction="rx"}', "editors answered"),
    ('holdfast_unity_bytes_total{direction="tx"}', "calls"),
    ("holdfast_unity_frame_errors_total", "a stranger answered in HTTP"),
    ('holdfast_unity_reloads_total{result="completed"}', "a reload"),
    ("holdfast_unity_reload_duration_seconds_count", "a reload"),
    ("holdfast_unity_recovery_duration_seconds_count", "a call waited out a reload"),
    ('holdfast_unity_instances{state="callable"}', "editors were reached"),
    ('holdfast_push_events_total{kind="connection_established", result="delivered"}', "editors opened the push channel"),
    ('holdfast_push_events_total{kind="unknown"}', "a push of no known kind"),
    ("holdfast_push_queue_capacity", "gateways ran"),
    ('holdfast_fsm_state{machine="bridge", state="ready"}', "editors were reached"),
    ('holdfast_fsm_state{machine="bridge", state=~"seeking|dialing|greeting|backing_off"}', "an editor that does not listen"),
    ('holdfast_fsm_state_code{machine="bridge", state="ready"}', "gateways ran"),
    ('holdfast_fsm_state_entered_timestamp_seconds{machine="session"}', "gateways ran"),
    ('holdfast_fsm_transitions_total{machine="registry", to="stale"}', "a reload"),
    ('holdfast_fsm_state_duration_seconds_count{machine="bridge", state="ready"}', "a reload"),
    ('holdfast_actor_up{actor="bridge"}', "gateways ran"),
    ('holdfast_actor_up{actor="exporter"}', "gateways ran"),
    ('holdfast_actor_starts_total{actor="session"}', "gateways ran"),
    ('holdfast_actor_handle_duration_seconds_count{actor="bridge"}', "calls"),
    ('holdfast_log_events_total{level="info"}', "gateways told what happened"),
    ('holdfast_log_events_total{level="warn"}', "a stranger on the port"),
    ('holdfast_log_events_dropped_total{reason="sink_error"}', "a stderr that takes nothing"),
    ('holdfast_scrapes_total{result="ok"}', "scrapes"),
    ('holdfast_scrapes_total{result="bad_host"}', "a foreign name"),
]

# Metrics that this session cannot make rise, and why, or where another test makes them rise.
NOT_CAUSED = {
    "process_cpu_seconds_total": "whole seconds, which a quick machine does not use in this time",
    "holdfast_clock_jumps_total": "the clock is the whole machine's; the exporter's own tests move a simulated one",
    "holdfast_stdout_dropped_notifications_total": "needs hundreds of notifications behind a blocked stdout; tests/it/session.rs",
    "holdfast_mcp_surplus_answers_total": "needs an answer and a cancel at the same moment; src/core/requests/mod.rs",
    "holdfast_unity_unmatched_responses_total": "fake editors answer what they were asked; tests/it/process/losses.rs forges replies",
    "holdfast_push_queue_depth": "back at zero within a millisecond; a scrape meets it by chance",
    "holdfast_actor_mailbox_depth": "back at zero within a millisecond; a scrape meets it by chance",
    "holdfast_fsm_unexpected_events_total": "would be a bug",
    "holdfast_actor_restarts_total": "would be a bug; tests/it/metrics.rs plants some",
    "holdfast_supervisor_escalations_total": "would be a bug; tests/it/metrics.rs plants some",
    "holdfast_tree_rebuilds_total": "would be a bug; tests/it/metrics.rs plants some",
    "holdfast_invariant_violations_total": "would be a bug",
    "holdfast_shutdowns_total": "counted at the end, behind the last scrape; tests/it/process/metrics.rs reads the last words",
}
# Metrics that nothing from outside may change.
FLAT_ZERO = [
    "holdfast_fsm_unexpected_events_total",
    "holdfast_actor_restarts_total",
    "holdfast_supervisor_escalations_total",
    "holdfast_tree_rebuilds_total",
    "holdfast_invariant_violations_total",
    'holdfast_tool_calls_total{cause="gateway"}',
]

# Alerts that the session must cause, and the state that they reach within its seconds.
ALERTS = {"HoldfastWrongPeer": "firing", "HoldfastLinkStuck": "pending"}
# Alerts that a slow machine may cause as well.
MAY_FIRE = {
    "HoldfastRuntimeStarved": "timers are late on a machine that is busy with something else",
    "HoldfastStdoutStalled": "the client that does not read, if all takes long",
}

# Panels with data of only one editor, which belongs to another project.
ELSEWHERE = {
    "Age of the editor's last frame A": "Tower",
    'The editor\'s answer to "how are you" A': "Tower",
    'The editor\'s answer to "how are you" B': "Tower",
    'The editor\'s answer to "how are you" C': "Tower",
    "What the editor's journal said A": "Tower",
}
# Panels without data after this session, and why.
EMPTY = {
    "Restarts": "no part was restarted",
    "Unexpected events A": "there were none",
}
# Panels that show what is happening now, and show nothing at the end of the session.
QUIET_AT_THE_END = {
    "Transitions A": "the rates above zero",
    "Definitive answers over time A": "no call in the last seconds",
}
