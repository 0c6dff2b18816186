//! Checks that the bounds fit together.

use super::*;

#[test]
fn limits_stand_in_the_order_that_the_design_needs() {
    const {
        assert!(FRAME_HEADER_MAX_BYTES < ULOOP_REQUEST_MAX_BYTES);
        assert!(ULOOP_REQUEST_MAX_BYTES < CLIENT_LINE_MAX_BYTES);
        assert!(RESULT_INLINE_MAX_BYTES < CLIENT_MESSAGE_MAX_BYTES);
        assert!(CLIENT_MESSAGE_MAX_BYTES < 10 * MIB);
        assert!(
            RESULT_INLINE_MAX_BYTES + REQUEST_ID_MAX_BYTES + RESPONSE_ENVELOPE_MAX_BYTES < CLIENT_MESSAGE_MAX_BYTES
        );
        assert!(TOOL_SCHEMA_MAX_BYTES < TOOLS_LIST_MAX_BYTES && TOOLS_LIST_MAX_BYTES < RESULT_INLINE_MAX_BYTES);
        assert!(CALLS_LISTED_MAX < FINISHED_CALLS_MAX);
        // The strictest known client takes 100 tools of all its servers together.
        assert!(TOOLS_LISTED_MAX + TOOLS_FOUND_MAX < 100 && TOOLS_SHOWN_MAX < TOOLS_FOUND_MAX);
        assert!(CLIENT_LINE_MAX_BYTES <= MAILBOX_BYTES_MAX);
        assert!(ROOT_RESTARTS_MAX != LINK_RESTARTS_MAX);
    }
    const {
        // The fake editor's bounds exceed ours, so that ours can be tested.
        use holdfast_fake_unity::limits as fake;
        assert!(fake::TOOLS_MAX > TOOLS_MAX);
        assert!(fake::BIG_MAX_BYTES > EDITOR_MESSAGE_MAX_BYTES);
        assert!(fake::SCHEMA_MAX_BYTES > TOOL_SCHEMA_MAX_BYTES && fake::SCHEMA_MAX_BYTES >= TOOLS_LIST_MAX_BYTES);
    }
    assert!(ROOTS_WAIT + TOOLS_WAIT_HEARING < TOOLS_WAIT);
    assert!(RETRY_FIRST <= RETRY_LIKELY_MAX && RETRY_LIKELY_MAX < RETRY_UNLIKELY_MAX);
    assert!(HOLD_WITHOUT_EVIDENCE < Duration::from_secs(1));
    assert!(PATIENCE_MARGIN < PATIENCE_UNKNOWN && PATIENCE_UNKNOWN < PATIENCE_MAX);
    assert!(STALL_AFTER < SILENCE_MAX);
    assert!(CLIENT_ANSWER_MAX < CLIENT_ASK_EVERY && PATIENCE_MAX < CLIENT_SILENCE_MAX);
}
