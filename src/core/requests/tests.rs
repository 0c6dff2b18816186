use super::*;

fn full() -> (Requests, RequestKey) {
    let mut requests = Requests::default();
    let hold = requests.open(&RequestId::from_number(1), Method::CallTool, None).unwrap();
    for _ in 0..STDOUT_NOTIFICATIONS_MAX {
        assert_eq!(requests.notify(None, "changed", "{}".to_owned(), false), Notified::Queued);
    }
    (requests, hold.key())
}

#[test]
fn progress_that_found_no_room_was_not_told() {
    let (mut requests, key) = full();
    assert!(!requests.progress(key, 1.0, "1".to_owned()));
    while requests.take_write().is_some() {}
    assert!(requests.progress(key, 1.0, "1".to_owned()));
}

#[test]
fn a_client_that_is_gone_is_notified_of_nothing() {
    let (mut requests, _) = full();
    requests.fail();
    assert_eq!(requests.notify(None, "changed", "{}".to_owned(), false), Notified::Dropped);
    assert_eq!(requests.notifications, 0);
}
