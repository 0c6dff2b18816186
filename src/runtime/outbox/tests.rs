use super::*;
use crate::limits::{FLUSH_MAX, FLUSH_READING_MAX, OPEN_REQUESTS_MAX, STDOUT_NOTIFICATIONS_MAX};

fn id(number: u64) -> RequestId {
    RequestId::from_number(number)
}

fn opened(outbox: &Outbox, number: u64) -> Hold {
    outbox.open(&id(number), Method::CallTool, None).unwrap()
}

async fn written(outbox: &Outbox) -> String {
    let (mut near, far) = tokio::io::duplex(1 << 20);
    let pump = outbox.pump_out(far);
    let read = async {
        outbox.flushed().await;
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
    let outbox = Outbox::default();
    let first = opened(&outbox, 1).key();
    let second = opened(&outbox, 2).key();
    assert_eq!(outbox.open(&id(1), Method::CallTool, None).map(|hold| hold.key()), Err(NotOpened::Duplicate));
    assert_eq!((outbox.cancel(&id(2)), outbox.cancel(&id(2))), (Some(second), None));
    assert!(outbox.answer(first, "{}"));
    assert!(!outbox.answer(first, "{\"again\":true}"));
    assert!(!outbox.answer_error(second, &RpcError::internal("late")));
    let text = written(&outbox).await;
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[tokio::test]
async fn what_is_said_of_a_cancelled_request_is_not_said_of_the_next_one_with_its_id() {
    let outbox = Outbox::default();
    let hold = opened(&outbox, 7);
    let first = hold.key();
    assert_eq!(outbox.cancel(&id(7)), Some(first));
    let second = opened(&outbox, 7).key();
    assert!(!outbox.is_open(first) && outbox.was_cancelled(first));
    assert!(!outbox.answer(first, "{\"of\":\"the first\"}") && !outbox.answer_error(first, &RpcError::internal("")));
    outbox.progress(first, 1.0, "progress of the first".to_owned());
    assert!(!hold.pass(Holder::Ledger) && !hold.is_open());
    assert_eq!((outbox.requests_with_call(), outbox.requests_without_call()), (vec![], vec![second]));
    assert!(outbox.is_open(second) && !outbox.was_cancelled(second));
    assert!(outbox.answer(second, "{\"of\":\"the second\"}"));
    let text = written(&outbox).await;
    assert!(text.lines().count() == 1 && text.contains("the second"), "{text}");
}

#[tokio::test]
async fn open_requests_and_notifications_are_bounded_and_list_changes_coalesce() {
    let outbox = Outbox::default();
    for number in 0..OPEN_REQUESTS_MAX as u64 {
        opened(&outbox, number);
    }
    assert_eq!(outbox.open(&id(9999), Method::CallTool, None).map(|hold| hold.key()), Err(NotOpened::Full));
    for _ in 0..10 {
        outbox.notify("changed", "{}".into(), true);
    }
    assert_eq!(outbox.counts().queued, 1);
    let dropped = (0..2 * STDOUT_NOTIFICATIONS_MAX).filter(|_| !outbox.notify("progress", "{}".into(), false)).count();
    assert_eq!((outbox.counts().queued, dropped), (STDOUT_NOTIFICATIONS_MAX, STDOUT_NOTIFICATIONS_MAX + 1));
}

#[test]
fn a_question_that_finds_no_room_is_known_as_not_sent() {
    let outbox = Outbox::default();
    let sent =
        (0..=STDOUT_NOTIFICATIONS_MAX).map(|_| outbox.notify(PING, "{}".into(), false)).filter(|sent| *sent).count();
    assert_eq!(sent, STDOUT_NOTIFICATIONS_MAX);
}

#[test]
fn progress_that_was_overtaken_is_not_told() {
    let outbox = Outbox::default();
    let key = opened(&outbox, 1).key();
    for progress in [2.0, 1.0, 2.0, 3.0] {
        outbox.progress(key, progress, progress.to_string());
    }
    assert_eq!(outbox.counts().queued, 2);
    outbox.answer(key, "{}");
    outbox.progress(key, 4.0, "late".to_owned());
    assert_eq!(outbox.counts().queued, 3);
    // The id can be used again for a new request.
    let next = opened(&outbox, 1).key();
    outbox.progress(next, 1.0, "1".to_owned());
    assert_eq!(outbox.counts().queued, 4);
}

#[tokio::test]
async fn a_client_that_is_gone_blocks_nobody() {
    let outbox = Outbox::default();
    let (near, far) = tokio::io::duplex(64);
    drop(near);
    let key = opened(&outbox, 1).key();
    outbox.answer(key, "{}");
    outbox.pump_out(far).await;
    outbox.flushed().await;
    outbox.room().await;
}

#[tokio::test]
async fn the_end_does_not_lose_the_answers_of_a_batch_that_is_still_being_read() {
    let outbox = Outbox::default();
    let batch = outbox.begin_batch();
    let [first, second] = [1, 2].map(|number| opened(&outbox, number).key());
    for key in [first, second] {
        outbox.join_batch(key, batch);
    }
    outbox.answer(first, "{\"of\":1}");
    assert_eq!(outbox.counts().queued, 0, "it waits for the others");
    outbox.end_batches();
    outbox.answer(second, "{\"of\":2}");
    outbox.end_batch(batch);
    let text = written(&outbox).await;
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<_> = lines.iter().map(|line| line[0]["id"].as_u64()).collect();
    assert_eq!(ids, [Some(1), Some(2)], "{text}");
}

/// Reads `piece` bytes every 100 ms. Returns at the end of input; after `most` bytes it stops reading and never returns.
async fn read_slowly(mut near: tokio::io::DuplexStream, piece: usize, most: usize) -> usize {
    let (mut read, mut bytes) = (0, vec![0; piece]);
    while read < most {
        tokio::time::sleep(Duration::from_millis(100)).await;
        match tokio::io::AsyncReadExt::read(&mut near, &mut bytes).await {
            Ok(0) | Err(_) => return read,
            Ok(count) => read += count,
        }
    }
    std::future::pending().await
}

/// Queues three answers of a mebibyte for a client that reads `piece` bytes every 100 ms, up to `most`. Returns whether all was
/// written, how long that took, and how much the client has read.
async fn end_with(piece: usize, most: usize) -> (bool, Duration, usize) {
    let outbox = Arc::new(Outbox::default());
    let (near, far) = tokio::io::duplex(STDOUT_WRITE_MAX_BYTES);
    for number in 0..3 {
        let request = opened(&outbox, number).key();
        assert!(outbox.answer(request, &format!("\"{}\"", "x".repeat(1 << 20))));
    }
    let pumped = Arc::clone(&outbox);
    let pump = tokio::spawn(async move { pumped.pump_out(far).await });
    let reader = tokio::spawn(read_slowly(near, piece, most));
    // Fill the pipe.
    tokio::time::sleep(Duration::from_millis(1)).await;
    let began = Instant::now();
    let all = outbox.flushed_while_it_reads(FLUSH_MAX, FLUSH_READING_MAX).await;
    let took = began.elapsed();
    pump.abort();
    let read = tokio::time::timeout(Duration::from_secs(60), reader).await;
    (all, took, read.map_or(most, |read| read.unwrap()))
}

#[tokio::test(start_paused = true)]
async fn the_end_waits_for_a_client_that_reads_and_not_for_one_that_does_not() {
    let (all, took, read) = end_with(STDOUT_WRITE_MAX_BYTES, usize::MAX).await;
    assert!(all && took > Duration::from_secs(4), "{took:?}");
    assert!(read > 3 << 20, "only {read} bytes of three answers were read");

    let (all, took, _) = end_with(STDOUT_WRITE_MAX_BYTES, 1 << 20).await;
    assert!(!all && took > Duration::from_secs(1) && took < Duration::from_secs(3), "{took:?}");

    let (all, took, _) = end_with(STDOUT_WRITE_MAX_BYTES, 0).await;
    assert_eq!((all, took), (false, FLUSH_MAX), "nothing is read");

    let (all, took, _) = end_with(STDOUT_WRITE_MAX_BYTES / 4, usize::MAX).await;
    assert_eq!((all, took), (false, FLUSH_READING_MAX), "it is read too slowly");
}

thread_local! {
    /// The bytes that stdout took at once, and how many it takes of each write.
    static STDOUT: std::cell::RefCell<(Vec<u8>, usize)> = const { std::cell::RefCell::new((Vec::new(), 0)) };
}

/// Returns a stdout that takes at most this many bytes of each write at once.
fn takes(outbox: &Outbox, bytes: usize) {
    STDOUT.with_borrow_mut(|(taken, most)| {
        taken.clear();
        *most = bytes;
    });
    outbox.write_at_once(Box::new(|line: &[u8]| {
        STDOUT.with_borrow_mut(|(taken, most)| {
            if *most == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let count = line.len().min(*most);
            taken.extend_from_slice(&line[..count]);
            Ok(count)
        })
    }));
}

/// Returns the lines that this stdout took.
fn taken() -> String {
    STDOUT.with_borrow(|(taken, _)| String::from_utf8(taken.clone()).unwrap())
}

#[tokio::test]
async fn a_short_answer_is_written_at_once_and_takes_the_lock_once() {
    let outbox = Outbox::default();
    takes(&outbox, usize::MAX);
    let before = outbox.times_locked();
    let key = opened(&outbox, 1).key();
    assert!(outbox.answer(key, "{}"));
    assert_eq!(outbox.times_locked() - before, 2, "opened and answered");
    assert!(taken().ends_with("}\n") && taken().lines().count() == 1);
    assert!(outbox.is_flushed());
    assert_eq!(outbox.counts().queued, 0);
}

#[tokio::test]
async fn what_stdout_does_not_take_at_once_is_left_to_the_pump_in_order() {
    for most in [0, 1, 10] {
        let outbox = Outbox::default();
        takes(&outbox, most);
        let keys = [1, 2].map(|number| opened(&outbox, number).key());
        assert!(outbox.answer(keys[0], "{\"first\":1}"));
        assert!(!outbox.is_flushed());
        assert_eq!(outbox.counts().queued, 1);
        // The rest of that line comes first, even if stdout would take more by now.
        STDOUT.with_borrow_mut(|(_, most)| *most = usize::MAX);
        outbox.notify("changed", "{\"second\":2}".into(), false);
        assert!(outbox.answer(keys[1], "{\"third\":3}"));
        let whole = taken() + &written(&outbox).await;
        let numbers: Vec<usize> = ["first", "second", "third"].map(|word| whole.find(word).unwrap()).into();
        assert!(numbers.is_sorted() && whole.lines().count() == 3, "{whole}");
        assert!(whole.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{whole}");
    }
}

#[tokio::test]
async fn a_long_answer_and_one_behind_others_go_to_the_pump() {
    let outbox = Outbox::default();
    takes(&outbox, usize::MAX);
    let keys = [1, 2].map(|number| opened(&outbox, number).key());
    let long = format!("\"{}\"", "x".repeat(STDOUT_AT_ONCE_MAX_BYTES));
    outbox.answer(keys[0], &long);
    outbox.answer(keys[1], "{}");
    assert_eq!((taken().len(), outbox.counts().queued), (0, 2));
    assert_eq!(written(&outbox).await.lines().count(), 2);
}

#[test]
fn who_does_not_get_the_right_to_write_takes_it_from_nobody() {
    let outbox = Outbox::default();
    let right = outbox.take_right(&outbox.lock());
    assert!(right.is_some());
    for _ in 0..2 {
        assert!(outbox.take_right(&outbox.lock()).is_none(), "somebody writes");
    }
    drop(right);
    assert!(outbox.take_right(&outbox.lock()).is_some());
}

#[test]
fn lines_of_many_threads_are_whole_and_none_is_lost() {
    static OUT: Mutex<Vec<u8>> = Mutex::new(Vec::new());
    /// Takes, in turn, all of a write, part of it, or nothing.
    fn moody(line: &[u8]) -> io::Result<usize> {
        static NTH: AtomicUsize = AtomicUsize::new(0);
        let count = match NTH.fetch_add(1, Ordering::Relaxed) % 3 {
            0 => line.len(),
            1 => line.len() / 2,
            _ => return Err(io::ErrorKind::WouldBlock.into()),
        };
        enter(&OUT).extend_from_slice(&line[..count]);
        Ok(count)
    }
    struct Out;
    impl AsyncWrite for Out {
        fn poll_write(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            bytes: &[u8],
        ) -> std::task::Poll<io::Result<usize>> {
            enter(&OUT).extend_from_slice(bytes);
            std::task::Poll::Ready(Ok(bytes.len()))
        }
        fn poll_flush(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<io::Result<()>> {
            std::task::Poll::Ready(Ok(()))
        }
        fn poll_shutdown(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<io::Result<()>> {
            std::task::Poll::Ready(Ok(()))
        }
    }
    let outbox = Arc::new(Outbox::default());
    outbox.write_at_once(Box::new(moody));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let pumping = Arc::clone(&outbox);
    runtime.spawn(async move { pumping.pump_out(Out).await });
    const EACH: u64 = 2000;
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let outbox = &outbox;
            scope.spawn(move || {
                for number in thread * EACH..(thread + 1) * EACH {
                    let key = opened(outbox, number).key();
                    let long = if number % 7 == 0 { "x".repeat(STDOUT_AT_ONCE_MAX_BYTES + 1) } else { String::new() };
                    assert!(outbox.answer(key, &format!("{{\"n\":{number},\"x\":\"{long}\"}}")));
                }
            });
        }
    });
    runtime.block_on(outbox.flushed());
    let whole = String::from_utf8(enter(&OUT).clone()).unwrap();
    let lines: Vec<serde_json::Value> = whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut numbers: Vec<u64> = lines.iter().map(|line| line["result"]["n"].as_u64().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..3 * EACH).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn who_takes_nothing_of_what_waits_is_noticed_and_who_has_nothing_to_take_is_not() {
    let (outbox, most) = (Outbox::default(), Duration::from_secs(60));
    assert!(tokio::time::timeout(20 * most, outbox.stands_still(most)).await.is_err(), "nothing waits");
    outbox.notify(PING, "{}".to_owned(), false);
    assert!(tokio::time::timeout(2 * most, outbox.stands_still(most)).await.is_ok());
    // A client that takes a little each time is slow, but it is there.
    let taking = async {
        loop {
            tokio::time::sleep(most / 2).await;
            outbox.left.fetch_add(1, Ordering::Relaxed);
        }
    };
    tokio::select! {
        () = outbox.stands_still(most) => panic!("it takes something"),
        () = taking => {}
        () = tokio::time::sleep(20 * most) => {}
    }
}
