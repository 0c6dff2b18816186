use super::*;

fn id(number: u64) -> RequestId {
    RequestId::from_number(number)
}

async fn written(front: &Front) -> String {
    let (mut near, far) = tokio::io::duplex(1 << 20);
    let pump = front.pump_out(far);
    let read = async {
        front.flushed().await;
        let mut bytes = vec![0; 1 << 20];
        let count = tokio::io::AsyncReadExt::read(&mut near, &mut bytes).await.unwrap();
        String::from_utf8_lossy(bytes.get(..count).unwrap()).into_owned()
    };
    tokio::select! {
        biased;
        text = read => text,
        () = pump => panic!("the pump ended"),
    }
}

#[tokio::test]
async fn a_request_is_answered_once_and_a_cancelled_one_never() {
    let front = Front::default();
    let first = front.open(&id(1), Method::CallTool, None).unwrap();
    let second = front.open(&id(2), Method::CallTool, None).unwrap();
    assert_eq!(front.open(&id(1), Method::CallTool, None), Err(NotOpened::Duplicate));
    assert_eq!((front.cancel(&id(2)), front.cancel(&id(2))), (Some(second), None));
    assert!(front.answer(first, "{}"));
    assert!(!front.answer(first, "{\"again\":true}"));
    assert!(!front.answer_error(second, &RpcError::internal("late")));
    let text = written(&front).await;
    assert_eq!(text.lines().count(), 1, "{text}");
    assert_eq!(front.counts().surplus_answers, 2);
}

#[tokio::test]
async fn what_is_said_of_a_cancelled_request_is_not_said_of_the_next_one_with_its_id() {
    let front = Front::default();
    let first = front.open(&id(7), Method::CallTool, None).unwrap();
    assert_eq!(front.cancel(&id(7)), Some(first));
    let second = front.open(&id(7), Method::CallTool, None).unwrap();
    assert!(!front.is_open(first) && front.was_cancelled(first));
    assert!(!front.answer(first, "{\"of\":\"the first\"}") && !front.answer_error(first, &RpcError::internal("")));
    front.progress(first, 1.0, "progress of the first".to_owned());
    front.became_call(first);
    assert_eq!((front.requests_with_call(), front.requests_without_call()), (vec![], vec![second]));
    assert!(front.is_open(second) && !front.was_cancelled(second));
    assert!(front.answer(second, "{\"of\":\"the second\"}"));
    let text = written(&front).await;
    assert!(text.lines().count() == 1 && text.contains("the second"), "{text}");
}

#[tokio::test]
async fn open_requests_and_notifications_are_bounded_and_list_changes_coalesce() {
    let front = Front::default();
    for number in 0..OPEN_REQUESTS_MAX as u64 {
        front.open(&id(number), Method::CallTool, None).unwrap();
    }
    assert_eq!(front.open(&id(9999), Method::CallTool, None), Err(NotOpened::Full));
    for _ in 0..10 {
        front.notify("changed", "{}".into(), true);
    }
    assert_eq!(front.counts().queued, 1);
    for _ in 0..2 * STDOUT_NOTIFICATIONS_MAX {
        front.notify("progress", "{}".into(), false);
    }
    assert_eq!(front.counts().queued, STDOUT_NOTIFICATIONS_MAX);
    assert_eq!(front.counts().dropped_notifications as usize, STDOUT_NOTIFICATIONS_MAX + 1);
}

#[test]
fn a_question_that_finds_no_room_is_known_as_not_sent() {
    let front = Front::default();
    let sent =
        (0..=STDOUT_NOTIFICATIONS_MAX).map(|_| front.notify(PING, "{}".into(), false)).filter(|sent| *sent).count();
    assert_eq!(sent, STDOUT_NOTIFICATIONS_MAX);
}

#[test]
fn progress_that_was_overtaken_is_not_told() {
    let front = Front::default();
    let key = front.open(&id(1), Method::CallTool, None).unwrap();
    for progress in [2.0, 1.0, 2.0, 3.0] {
        front.progress(key, progress, progress.to_string());
    }
    assert_eq!(front.counts().queued, 2);
    front.answer(key, "{}");
    front.progress(key, 4.0, "late".to_owned());
    assert_eq!(front.counts().queued, 3);
    // The next request with this id begins anew.
    let next = front.open(&id(1), Method::CallTool, None).unwrap();
    front.progress(next, 1.0, "1".to_owned());
    assert_eq!(front.counts().queued, 4);
}

#[tokio::test]
async fn a_client_that_is_gone_blocks_nobody() {
    let front = Front::default();
    let (near, far) = tokio::io::duplex(64);
    drop(near);
    let key = front.open(&id(1), Method::CallTool, None).unwrap();
    front.answer(key, "{}");
    front.pump_out(far).await;
    front.flushed().await;
    front.room().await;
}

#[tokio::test]
async fn the_end_does_not_lose_the_answers_of_a_batch_that_is_still_being_read() {
    let front = Front::default();
    let batch = front.begin_batch();
    let [first, second] = [1, 2].map(|number| front.open(&id(number), Method::CallTool, None).unwrap());
    for key in [first, second] {
        front.join_batch(key, batch);
    }
    front.answer(first, "{\"of\":1}");
    assert_eq!(front.counts().queued, 0, "it waits for the others");
    front.end_batches();
    front.answer(second, "{\"of\":2}");
    front.end_batch(batch);
    let text = written(&front).await;
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<_> = lines.iter().map(|line| line[0]["id"].as_u64()).collect();
    assert_eq!(ids, [Some(1), Some(2)], "{text}");
}
