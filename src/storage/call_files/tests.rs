use super::*;

/// Opens records under a lock that stays in place.
fn open(path: &Path, gateway: String) -> io::Result<CallFile> {
    let lock = path.with_extension("lock");
    std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
    let placed = Placed::of(&lock_file::open(&lock, true)?, &lock)?;
    CallFile::open(path, gateway, placed)
}

fn call(number: u8) -> CallId {
    CallId::from_random([number; 16])
}

fn origin(number: u8) -> Origin {
    Origin { session: "s".into(), number: number.into() }
}

fn sent(number: u8) -> SentCall {
    SentCall {
        origin: origin(number),
        call: call(number),
        tool: Arc::from("count"),
        project: None,
        journal: None,
        repeatable: false,
        client: Default::default(),
    }
}

fn told(file: &CallFile, number: u8) -> String {
    match file.known(&origin(number)) {
        None => "not sent".to_owned(),
        Some(Known::Sent(_)) => "sent".to_owned(),
        Some(Known::Answered(result) | Known::Repeatable(result)) => result.get().to_owned(),
    }
}

#[test]
fn a_successor_knows_what_was_sent_and_answered_whatever_was_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hub/calls.jsonl");
    let first = open(&path, "one".to_owned()).unwrap();
    for number in 1..=4 {
        first.sent(sent(number)).unwrap();
    }
    first.dropped(call(1));
    first.answered(call(2), r#"{"text":"two\nlines"}"#, (false, false));
    first.answered(call(3), "[3]", (false, false));
    first.delivered(origin(3));
    drop(first);
    // Without its file number, the new file does not count as a copy of the old one.
    let text = std::fs::read_to_string(&path).unwrap();
    let head: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let text = text.replace(&format!(r#","file":{}"#, head["gateway"]["file"]), "").into_bytes();
    let last_line = text[..text.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    // The last line deletes the third record. It may be cut anywhere: all other records are still known.
    for cut in last_line..=text.len() {
        std::fs::write(&path, &text[..cut]).unwrap();
        let second = open(&path, "two".to_owned()).unwrap();
        assert_eq!(second.gateway, "one", "editors know it by this name");
        let third = if cut == text.len() { "not sent" } else { "[3]" };
        let expected = ["not sent", r#"{"text":"two\nlines"}"#, third, "sent"];
        assert_eq!([1, 2, 3, 4].map(|number| told(&second, number)), expected, "{cut}");
        let open: Vec<Left> = second.left().into_iter().filter(|left| left.result.is_none()).collect();
        assert_eq!(open.iter().map(|left| &left.sent).collect::<Vec<_>>(), [&sent(4)]);
    }
}

#[test]
fn what_is_forgotten_behind_a_line_that_was_cut_off_stays_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    let killed = open(&path, "one".to_owned()).unwrap();
    killed.sent(sent(1)).unwrap();
    killed.sent(sent(2)).unwrap();
    drop(killed);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}{{\"sent\":{{\"ori")).unwrap();
    CallFile::reopen(&path).unwrap().forget(call(1));
    let next = CallFile::reopen(&path).unwrap();
    assert!(!next.is_damaged);
    assert_eq!(next.left().iter().map(|left| left.sent.call).collect::<Vec<_>>(), [call(2)]);
}

#[test]
fn a_late_result_gets_no_younger_when_its_file_is_read_again_or_another_gateway_takes_it() {
    let folder = tempfile::tempdir().unwrap();
    let [path, other] = ["a.jsonl", "b.jsonl"].map(|name| folder.path().join(name));
    let first = open(&path, "one".to_owned()).unwrap();
    let long_ago = seconds_now() - LATE_RESULT_MAX_AGE.as_secs() - 10;
    for (number, at) in [(1, long_ago), (2, seconds_now())] {
        let result = RawValue::from_string("[1]".to_owned()).unwrap();
        let left =
            Left { sent: sent(number), told: true, delivered: true, result: Some(result.into()), unknown: true, at };
        first.take_in(&left).unwrap();
    }
    drop(first);
    let again = CallFile::reopen(&path).unwrap();
    let second = open(&other, "two".to_owned()).unwrap();
    for left in again.left() {
        assert!(left.told && left.unknown && left.result.is_some());
        second.take_in(&left).unwrap();
    }
    for file in [again, second] {
        assert_eq!(file.left().len(), 2);
        file.tidy(Duration::ZERO, Duration::MAX);
        let kept: Vec<CallId> = file.left().iter().map(|left| left.sent.call).collect();
        assert_eq!(kept, [call(2)]);
    }
}

#[test]
fn a_call_is_not_sent_once_its_record_would_not_be_found() {
    type Change = fn(&Path);
    let changes: [(Change, Lost); 6] = [
        (|path| std::fs::remove_file(path.with_extension("lock")).unwrap(), Lost::Lock),
        (|path| replaced_by_a_copy(&path.with_extension("lock")), Lost::Lock),
        (|path| std::fs::remove_file(path).unwrap(), Lost::Records),
        (replaced_by_a_copy, Lost::Records),
        (|path| std::fs::write(path, "").unwrap(), Lost::Records),
        (|path| drop(open(path, "two".to_owned()).unwrap()), Lost::Records),
    ];
    for (nth, (change, why)) in changes.into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls.jsonl");
        let file = open(&path, "one".to_owned()).unwrap();
        file.sent(sent(1)).unwrap();
        change(&path);
        assert_eq!(file.owned(), Err(why), "{nth}");
        let refused = file.sent(sent(2));
        assert!(matches!(refused, Err(Unrecorded::Lost(lost)) if lost == why), "{nth}: {refused:?}");
        assert_eq!(told(&file, 2), "not sent", "{nth}");
        // A gateway does not touch records that it no longer owns.
        let before = std::fs::read(&path).ok();
        file.tidy(Duration::from_secs(9), Duration::ZERO);
        assert_eq!(std::fs::read(&path).ok(), before, "{nth}");
    }
}

fn replaced_by_a_copy(path: &Path) {
    let copy = path.with_extension("copy");
    std::fs::copy(path, &copy).unwrap();
    std::fs::rename(copy, path).unwrap();
}

#[test]
fn whoever_takes_records_over_knows_all_that_was_found_to_be_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    let first = Arc::new(open(&path, "one".to_owned()).unwrap());
    let writes = std::thread::spawn({
        let first = Arc::clone(&first);
        move || (0..u8::MAX).take_while(|number| first.sent(sent(*number)).is_ok()).collect::<Vec<u8>>()
    });
    while first.is_empty() {
        std::thread::yield_now();
    }
    let second = open(&path, "two".to_owned()).unwrap();
    let written = writes.join().unwrap();
    assert!(!written.is_empty());
    for number in written {
        assert_eq!(told(&second, number), "sent", "{number}");
    }
    let third = open(&path, "three".to_owned()).unwrap();
    assert_eq!(third.left().len(), second.left().len());
    assert!(third.has_those_of(&first.name) && third.has_those_of(&second.name) && !third.has_those_of("one"));
}

#[cfg(unix)]
#[test]
fn a_copy_has_another_name_and_is_not_believed_to_know_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    let first = open(&path, "one".to_owned()).unwrap();
    first.sent(sent(1)).unwrap();
    let copy = folder.path().join("copy.jsonl");
    std::fs::copy(&path, &copy).unwrap();
    let second = open(&copy, "two".to_owned()).unwrap();
    assert!(second.is_copy && second.is_damaged && second.gateway == "two" && !second.has_those_of(&first.name));
    assert_eq!(told(&second, 1), "sent");
    // The copy has its own name by now, so the next hub does not take it for a copy.
    drop(second);
    assert!(!open(&copy, "three".to_owned()).unwrap().is_copy);
    assert_eq!(first.owned(), Ok(()));
}

/// The rewritten file no longer contains the damaged line. A later successor must not take the file for complete.
#[test]
fn what_was_damaged_is_no_proof_to_a_later_successor_either() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    let first = open(&path, "one".to_owned()).unwrap();
    first.sent(sent(1)).unwrap();
    first.sent(sent(2)).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("\"sent\"", "\"s?nt\"", 1)).unwrap();
    let second = open(&path, "two".to_owned()).unwrap();
    assert!(second.is_damaged && told(&second, 1) == "not sent" && told(&second, 2) == "sent");
    // The client's session is told that the outcome is unknown. Then the hub is killed before that answer is delivered.
    second.unknown(sent(1), "[0]");
    let third = open(&path, "three".to_owned()).unwrap();
    assert!(!third.is_damaged && third.has_those_of(&second.name) && !third.has_those_of(&first.name));
    assert_eq!((told(&third, 1).as_str(), told(&third, 2).as_str()), ("[0]", "sent"));
}

#[test]
fn records_without_names_are_those_of_the_gateway_that_they_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    std::fs::write(&path, "{\"gateway\":{\"id\":\"old\",\"starts\":3}}\n").unwrap();
    let file = open(&path, "new".to_owned()).unwrap();
    assert_eq!((file.gateway.as_str(), file.starts), ("old", 4));
    assert!(file.has_those_of("old") && !file.is_damaged);
}

#[test]
fn a_file_that_no_gateway_can_have_written_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    File::create(&path).unwrap().set_len(3 << 30).unwrap();
    let file = open(&path, "one".to_owned()).unwrap();
    assert!(file.is_damaged && file.is_empty());
    file.sent(sent(1)).unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() < 1000);
}

#[test]
fn records_that_were_lost_are_written_anew_under_the_lock_or_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    let file = open(&path, "one".to_owned()).unwrap();
    file.sent(sent(1)).unwrap();
    std::fs::remove_file(&path).unwrap();
    file.put_back();
    file.sent(sent(2)).unwrap();
    assert_eq!(CallFile::read(&path).unwrap().left().len(), 2);
    std::fs::remove_file(path.with_extension("lock")).unwrap();
    file.put_back();
    assert!(file.sent(sent(3)).is_err(), "another process may have them");
    let other = folder.path().join("other.jsonl");
    let lock = folder.path().join("other.lock");
    file.move_to(other.clone(), Placed::of(&File::create(&lock).unwrap(), &lock).unwrap()).unwrap();
    file.sent(sent(3)).unwrap();
    assert_eq!(CallFile::read(&other).unwrap().left().len(), 3);
    assert!(CallFile::read(&path).unwrap().is_empty(), "nobody finds the calls of a process that lives");
}

#[test]
fn the_file_shrinks_once_everything_is_delivered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    let file = open(&path, "one".to_owned()).unwrap();
    let result = format!("\"{}\"", "x".repeat(CALL_RECORDS_SPENT_BYTES));
    for number in 0..3 {
        file.sent(sent(number)).unwrap();
        file.answered(call(number), &result, (false, false));
        file.delivered(origin(number));
    }
    assert!(std::fs::metadata(&path).unwrap().len() < 1000);
    file.sent(sent(9)).unwrap();
    drop(file);
    assert_eq!(told(&open(&path, "two".to_owned()).unwrap(), 9), "sent");
}

#[test]
fn what_was_delivered_is_soon_nowhere_on_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    let file = open(&path, "one".to_owned()).unwrap();
    let text = || std::fs::read_to_string(&path).unwrap();
    for number in 0..3 {
        file.sent(sent(number)).unwrap();
        file.answered(call(number), &format!("\"secret-{number}\""), (false, false));
    }
    file.delivered(origin(0));
    file.tidy(Duration::ZERO, Duration::MAX);
    assert!(!text().contains("secret-0") && text().contains("secret-1") && text().contains("secret-2"), "{}", text());
    // A call that is still open does not keep the records of other calls in the file.
    file.sent(sent(9)).unwrap();
    file.delivered(origin(1));
    file.dropped(call(2));
    file.delivered(origin(2));
    file.tidy(Duration::ZERO, Duration::MAX);
    assert!(!text().contains("secret"), "{}", text());
    let size = text().len();
    file.tidy(Duration::ZERO, Duration::MAX);
    assert_eq!(text().len(), size);
    drop(file);
    assert_eq!(told(&open(&path, "two".to_owned()).unwrap(), 9), "sent");
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_recorded_is_not_sent_and_the_problem_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    let file = open(&path, "one".to_owned()).unwrap();
    file.sent(sent(1)).unwrap();
    // The disk is full.
    file.lock().file = Some(std::fs::OpenOptions::new().append(true).open("/dev/full").unwrap());
    assert!(matches!(file.sent(sent(2)), Err(Unrecorded::Io(_))));
    assert_eq!((told(&file, 1).as_str(), told(&file, 2).as_str()), ("sent", "not sent"));
    assert_eq!(file.problem().unwrap().0, path);
    file.answered(call(1), "[1]", (false, false));
    assert_eq!((told(&file, 1).as_str(), file.unwritten()), ("[1]", 2), "an answer counts too");
    file.lock().file = Some(open_end(&path).unwrap());
    file.sent(sent(2)).unwrap();
    assert_eq!((told(&file, 2).as_str(), file.problem(), file.unwritten()), ("sent", None, 2));
}

/// A hub took the record over, and was killed before it deleted the record at the old place.
#[test]
fn what_is_taken_in_twice_is_there_once_and_nothing_goes_into_records_that_nobody_finds() {
    let folder = tempfile::tempdir().unwrap();
    let [path, other] = ["a.jsonl", "b.jsonl"].map(|name| folder.path().join(name));
    let first = open(&path, "one".to_owned()).unwrap();
    first.sent(sent(1)).unwrap();
    let second = open(&other, "two".to_owned()).unwrap();
    let left = first.left();
    assert!(second.take_in(&left[0]).unwrap());
    assert!(!second.take_in(&left[0]).unwrap());
    assert_eq!(CallFile::read(&other).unwrap().left().len(), 1);
    std::fs::remove_file(&other).unwrap();
    first.sent(sent(2)).unwrap();
    assert!(second.take_in(&first.left()[1]).is_err());
    assert!(!second.is_sent(call(2)));
}

#[test]
fn a_hubs_records_that_are_visited_are_taken_over_and_count_no_hub() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    let first = open(&path, "one".to_owned()).unwrap();
    (1..=3).for_each(|number| first.sent(sent(number)).unwrap());
    first.told(call(3));
    let lock = path.with_extension("lock");
    let visit = || CallFile::visit(&path, Placed::of(&lock_file::open(&lock, true).unwrap(), &lock).unwrap()).unwrap();
    visit().forget(call(1));
    assert_eq!(first.owned(), Err(Lost::Records), "a hub that lives all the same sends nothing more");
    assert!(visit().inherited(|_| true).is_empty());
    let second = open(&path, "two".to_owned()).unwrap();
    assert_eq!((second.starts, second.gateway.as_str(), second.has_those_of(&first.name)), (2, "one", true));
    let inherited = |wanted: u8| second.inherited(|left| left.sent.call == call(wanted)).len();
    // Each record is inherited once, except those whose clients already know the outcome.
    assert_eq!([1, 2, 2, 3].map(inherited), [0, 1, 0, 0]);
}

/// Editors refuse a gateway without a name.
#[test]
fn a_hub_has_a_name_whatever_became_of_the_first_line_and_whoever_visited_its_records() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    let lock = path.with_extension("lock");
    for text in ["", "damaged\n", "{\"gateway\":{\"id\":\"\",\"starts\":1}}\n"] {
        std::fs::write(&path, text).unwrap();
        let placed = Placed::of(&lock_file::open(&lock, true).unwrap(), &lock).unwrap();
        drop(CallFile::visit(&path, placed).unwrap());
        let hub = open(&path, "one".to_owned()).unwrap();
        assert!(!hub.gateway.is_empty(), "{text}");
    }
}
