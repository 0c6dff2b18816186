use std::time::Duration;

use super::fate::{Adopter, Asker, Facts, Fate, SetFacts, SetFate, Takeover, fate, fate_of_set};
use super::*;
use crate::limits::hub::{CALL_RECORD_MAX_AGE, CALL_RECORDS_READ_MAX_BYTES, LEFT_CALLS_MAX_AGE};

fn call(number: u8) -> CallId {
    CallId::from_random([number; 16])
}

fn origin(number: u64) -> Origin {
    Origin { session: "s".into(), number }
}

fn sent(number: u8) -> Record {
    Record::Sent(SentCall {
        origin: origin(number.into()),
        call: call(number),
        tool: "count".into(),
        project: Some("/Castle".into()),
        journal: Some(JournalKey { journal: "j".to_owned(), id: format!("{number}.1"), seq: 7 }),
        repeatable: false,
        client: ("c".to_owned(), "2025-06-18".to_owned()),
    })
}

fn answered(number: u8, result: &str) -> Record {
    Record::Answered {
        call: call(number),
        result: RawValue::from_string(result.to_owned()).unwrap(),
        runs_on: false,
        unknown: false,
        at: None,
    }
}

fn runs_on(number: u8) -> Record {
    Record::Answered {
        call: call(number),
        result: RawValue::from_string("[\"runs\"]".to_owned()).unwrap(),
        runs_on: true,
        unknown: false,
        at: None,
    }
}

#[test]
fn the_oldest_late_results_make_room_and_nothing_else_does() {
    let mut records = CallRecords::default();
    for number in 1..=4 {
        records.apply(sent(number), number.into());
        if number != 3 {
            records.apply(runs_on(number), number.into());
        }
        if number != 2 {
            records.apply(answered(number, "[12345678]"), number.into());
        }
        if number == 1 || number == 4 {
            records.apply(Record::Delivered(origin(number.into())), number.into());
        }
    }
    // The client of call 2 does not know yet that its call runs on.
    records.apply(answered(2, "[12345678]"), 2);
    records.make_room(30);
    assert_eq!(told_late(&records), ["2 [12345678]", "3 [12345678]", "4 [12345678]"]);
    records.make_room(0);
    assert_eq!(told_late(&records), ["2 [12345678]", "3 [12345678]"], "their clients may bring the requests");
}

fn told(records: &CallRecords, number: u64) -> String {
    match records.known(&origin(number)) {
        None => "not sent".to_owned(),
        Some(Known::Sent(sent)) => format!("sent {}", sent.tool),
        Some(Known::Answered(result)) => result.get().to_owned(),
        Some(Known::Repeatable(result)) => format!("may be sent again, or {result}"),
    }
}

fn told_late(records: &CallRecords) -> Vec<String> {
    let ended = records.left().into_iter().filter_map(|left| Some((left.sent.origin.number, left.result?)));
    ended.map(|(number, result)| format!("{number} {}", result.get())).collect()
}

#[test]
fn a_request_is_unsent_sent_answered_and_forgotten() {
    let mut records = CallRecords::default();
    assert_eq!(told(&records, 1), "not sent");
    records.apply(sent(1), 0);
    assert_eq!(told(&records, 1), "sent count");
    records.apply(answered(1, "{\"a\":1}"), 0);
    assert_eq!((told(&records, 1), records.bytes()), ("{\"a\":1}".to_owned(), 7));
    assert!(records.left().iter().all(|left| left.result.is_some()));
    records.apply(Record::Delivered(origin(1)), 0);
    assert_eq!(told(&records, 1), "not sent");
    assert!(records.is_empty() && records.bytes() == 0 && records.by_origin.is_empty());
}

#[test]
fn a_call_of_unknown_outcome_may_be_sent_again_if_its_tool_is_repeatable() {
    for repeatable in [true, false] {
        let mut records = CallRecords::default();
        let Record::Sent(call) = sent(1) else { unreachable!() };
        records.apply(Record::Sent(SentCall { repeatable, ..call.clone() }), 0);
        let Record::Answered { call, result, runs_on, at, .. } = answered(1, "[0]") else { unreachable!() };
        records.apply(Record::Answered { call, result, runs_on, unknown: true, at }, 0);
        assert_eq!(told(&records, 1), if repeatable { "may be sent again, or [0]" } else { "[0]" });
        // A certain result replaces the uncertain one, and the gateway does not search for the outcome again.
        records.apply(answered(1, "[1]"), 0);
        assert_eq!(told(&records, 1), "[1]");
    }
}

#[test]
fn a_claim_that_is_taken_back_leaves_nothing_and_a_second_sending_counts() {
    let mut records = CallRecords::default();
    records.apply(sent(1), 0);
    records.apply(Record::Dropped { call: call(1) }, 0);
    assert_eq!(told(&records, 1), "not sent");
    records.apply(sent(1), 0);
    records.apply(sent(1), 0);
    assert_eq!((told(&records, 1).as_str(), records.calls.len()), ("sent count", 1));
    records.apply(answered(9, "{}"), 0);
    assert_eq!(records.bytes(), 0, "an answer without a sending is nobody's");
}

#[test]
fn what_the_lines_say_is_what_was_kept() {
    let mut records = CallRecords::default();
    for number in 1..=4 {
        records.apply(sent(number), 0);
    }
    records.apply(answered(2, "[2]"), 0);
    records.apply(answered(3, "[3]"), 0);
    records.apply(Record::Delivered(origin(3)), 0);
    let lines: Vec<String> = records.lines().map(|line| serde_json::to_string(&line).unwrap()).collect();
    let mut again = CallRecords::default();
    for line in &lines {
        again.apply(serde_json::from_str(line).unwrap(), 0);
    }
    for number in 1..=4 {
        assert_eq!(told(&again, number), told(&records, number), "{number}");
    }
    let open = |records: &CallRecords| records.left().iter().filter(|left| left.result.is_none()).count();
    assert_eq!((again.bytes(), open(&again), open(&records)), (records.bytes(), 2, 2));
}

#[test]
fn a_call_that_runs_on_stays_until_its_late_result_is_old_whenever_its_client_has_the_answer() {
    let written_anew = |records: &CallRecords| {
        let mut again = CallRecords::default();
        for line in records.lines() {
            again.apply(serde_json::from_str(&serde_json::to_string(&line).unwrap()).unwrap(), 5);
        }
        again
    };
    let delivered = || Record::Delivered(origin(1));
    // The late result comes before or after the client has its answer.
    for steps in [[runs_on(1), delivered(), answered(1, "[1]")], [runs_on(1), answered(1, "[1]"), delivered()]] {
        let mut records = CallRecords::default();
        records.apply(sent(1), 5);
        for (done, step) in steps.into_iter().enumerate() {
            records.apply(step, 5);
            records = written_anew(&records);
            let left = records.left().pop().unwrap();
            assert!(left.told, "{done}");
            match left.result {
                None => assert!(records.is_sent(call(1)), "{done}"),
                Some(result) => assert_eq!((result.get(), records.is_sent(call(1))), ("[1]", false), "{done}"),
            }
        }
        assert_eq!(told(&records, 1), "not sent", "its request is answered");
        assert!(!records.expire(5, 99, 9) && records.expire(6, 0, 9));
        assert!(records.is_empty() && records.bytes() == 0 && records.by_origin.is_empty());
    }
    let mut records = CallRecords::default();
    records.apply(sent(1), 5);
    records.apply(runs_on(1), 5);
    assert_eq!(told(&records, 1), "[\"runs\"]", "a client that does not have the answer gets it");
    records.apply(answered(1, "[1]"), 5);
    assert_eq!(told(&records, 1), "[1]", "and the result, once that is there");
    records.apply(Record::Dropped { call: call(1) }, 5);
    records.apply(sent(1), 5);
    records.apply(Record::Told { call: call(1) }, 5);
    assert_eq!(told(&written_anew(&records), 1), "sent count", "a client that comes all the same");
    records.apply(answered(1, "[1]"), 5);
    records.apply(delivered(), 5);
    assert_eq!(told_late(&written_anew(&records)), ["1 [1]"]);
    records.apply(Record::Dropped { call: call(1) }, 5);
    assert!(records.is_empty() && records.by_origin.is_empty());
}

/// A step in the life of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Records(usize),
    BytesLeave,
    ClientIsAnswered,
}

/// The gateway is killed at every point of a call's life, also within each record. The call never runs twice, and the
/// client is told the truth.
#[test]
fn a_kill_at_every_point_of_a_call_leaves_a_successor_that_sends_nothing_twice_and_tells_no_lie() {
    let lines: Vec<String> = [sent(1), answered(1, "[1]"), Record::Delivered(origin(1))]
        .iter()
        .map(|record| format!("{}\n", serde_json::to_string(record).unwrap()))
        .collect();
    let steps = [Step::Records(0), Step::BytesLeave, Step::Records(1), Step::ClientIsAnswered, Step::Records(2)];
    let (mut kills, mut again, mut unknown) = (0, 0, 0);
    for killed_at in 0..=steps.len() {
        let torn = match steps.get(killed_at) {
            Some(Step::Records(nth)) => lines[*nth].len(),
            _ => 0,
        };
        for cut in 0..=torn {
            let (mut file, mut runs, mut has_answer) = (String::new(), 0, false);
            for step in &steps[..killed_at] {
                match step {
                    Step::Records(nth) => file.push_str(&lines[*nth]),
                    Step::BytesLeave => runs += 1,
                    Step::ClientIsAnswered => has_answer = true,
                }
            }
            if let Some(Step::Records(nth)) = steps.get(killed_at) {
                file.push_str(&lines[*nth][..cut]);
            }
            kills += 1;
            let mut successor = CallRecords::default();
            let whole = file.rfind('\n').map_or("", |end| &file[..=end]);
            for line in whole.lines() {
                successor.apply(serde_json::from_str(line).unwrap(), 0);
            }
            // The session brings a request that is not answered.
            if has_answer {
                continue;
            }
            match successor.known(&origin(1)) {
                None => {
                    assert_eq!(runs, 0, "{killed_at} {cut}: it would run twice");
                    again += 1;
                }
                Some(Known::Sent(_) | Known::Repeatable(_)) => unknown += 1,
                Some(Known::Answered(result)) => assert_eq!((runs, result.get()), (1, "[1]"), "{killed_at} {cut}"),
            }
        }
    }
    assert!(kills > 300 && again > 0 && unknown > 0, "{kills} {again} {unknown}");
}

#[test]
fn answers_that_nobody_fetches_are_deleted_and_open_calls_are_not() {
    let mut records = CallRecords::default();
    records.apply(sent(1), 5);
    records.apply(sent(2), 5);
    records.apply(answered(2, "[2]"), 9);
    assert!(!records.expire(99, 5, 9));
    assert!(records.expire(0, 4, 9));
    assert_eq!((told(&records, 1).as_str(), told(&records, 2).as_str()), ("sent count", "not sent"));
}

fn facts(known: Option<Known>, adopter: Adopter) -> Facts {
    let (waited, is_ending) = (Duration::ZERO, false);
    Facts { known, was_sent: true, are_lost: false, is_damaged: false, waited, is_ending, adopter }
}

fn text(fate: &Fate) -> String {
    match fate {
        Fate::New => "new".to_owned(),
        Fate::Again => "again".to_owned(),
        Fate::Answered(result) => format!("answered {result}"),
        Fate::Adopt { seek, .. } => if *seek { "sought and adopted" } else { "adopted" }.to_owned(),
        Fate::Unknown(Some(_)) => "unknown, with its id".to_owned(),
        Fate::Unknown(None) => "unknown".to_owned(),
    }
}

/// What is on record of call 1 after these lines.
fn on_record(repeatable: bool, lines: &[Record]) -> Option<Known> {
    let mut records = CallRecords::default();
    let Record::Sent(call) = sent(1) else { unreachable!() };
    records.apply(Record::Sent(SentCall { repeatable, ..call }), 0);
    for line in lines {
        records.apply(serde_json::from_str(&serde_json::to_string(line).unwrap()).unwrap(), 0);
    }
    records.known(&origin(1))
}

fn unknown(number: u8) -> Record {
    let Record::Answered { call, result, .. } = answered(number, "[0]") else { unreachable!() };
    Record::Answered { call, result, runs_on: false, unknown: true, at: None }
}

/// For every state of a record: how its request is answered while the session goes on, and while it ends.
#[test]
fn what_becomes_of_a_request_follows_from_its_record() {
    let lacks = Adopter::Lacks(call(1));
    let told = || Record::Told { call: call(1) };
    let rows: Vec<(&str, Option<Known>, Adopter, [&str; 2])> = vec![
        ("nothing", None, Adopter::Owner, ["new", "new"]),
        ("nothing", None, Adopter::Reader, ["new", "new"]),
        ("nothing any more", None, lacks, ["unknown, with its id"; 2]),
        ("sent", on_record(false, &[]), Adopter::Owner, ["adopted"; 2]),
        ("sent", on_record(false, &[]), Adopter::Reader, ["sought and adopted"; 2]),
        ("sent", on_record(false, &[]), lacks, ["unknown, with its id"; 2]),
        ("sent, repeatable", on_record(true, &[]), Adopter::Owner, ["adopted"; 2]),
        ("sent, repeatable", on_record(true, &[]), lacks, ["again", "unknown, with its id"]),
        ("asks by the id, and comes all the same", on_record(false, &[told()]), Adopter::Owner, ["adopted"; 2]),
        ("runs on", on_record(false, &[runs_on(1)]), Adopter::Owner, ["answered [\"runs\"]"; 2]),
        ("runs on, repeatable", on_record(true, &[runs_on(1)]), Adopter::Owner, ["answered [\"runs\"]"; 2]),
        ("late", on_record(false, &[runs_on(1), answered(1, "[1]")]), Adopter::Owner, ["answered [1]"; 2]),
        ("answered", on_record(false, &[answered(1, "[1]")]), Adopter::Owner, ["answered [1]"; 2]),
        ("answered", on_record(true, &[answered(1, "[1]")]), lacks, ["answered [1]"; 2]),
        ("unknown", on_record(false, &[unknown(1)]), Adopter::Owner, ["answered [0]"; 2]),
        ("unknown, repeatable", on_record(true, &[unknown(1)]), Adopter::Owner, ["again", "answered [0]"]),
        ("unknown, repeatable", on_record(true, &[unknown(1)]), lacks, ["again", "answered [0]"]),
    ];
    for (record, known, adopter, becomes) in rows {
        for (is_ending, becomes) in [false, true].into_iter().zip(becomes) {
            let fate = fate(Facts { is_ending, ..facts(known.clone(), adopter) });
            assert_eq!(text(&fate), becomes, "{record}, {adopter:?}, ending: {is_ending}");
        }
    }
    let no_journal = on_record(false, &[]).map(|known| match known {
        Known::Sent(sent) => Known::Sent(SentCall { journal: None, ..sent }),
        known => known,
    });
    assert_eq!(text(&fate(facts(no_journal, Adopter::Reader))), "adopted", "no journal could be asked");
}

/// A request without a record was not sent, unless its record may be missing. An existing record is true in any case.
#[test]
fn a_record_that_may_be_missing_is_no_proof_that_nothing_was_sent() {
    let nothing = || facts(None, Adopter::Owner);
    let old = CALL_RECORD_MAX_AGE;
    let rows = [
        ("all is there", nothing(), "new"),
        ("lost", Facts { are_lost: true, ..nothing() }, "unknown"),
        ("damaged", Facts { is_damaged: true, ..nothing() }, "unknown"),
        ("older than the limit", Facts { waited: old, ..nothing() }, "unknown"),
        ("just not so old", Facts { waited: old - Duration::from_secs(1), ..nothing() }, "new"),
    ];
    for (case, facts, becomes) in rows {
        for is_ending in [false, true] {
            assert_eq!(text(&fate(Facts { is_ending, ..facts.clone() })), becomes, "{case}");
            assert_eq!(text(&fate(Facts { is_ending, was_sent: false, ..facts.clone() })), "new", "{case}");
            let known = on_record(false, &[answered(1, "[1]")]);
            assert_eq!(text(&fate(Facts { is_ending, known, ..facts.clone() })), "answered [1]", "{case}");
        }
    }
}

#[test]
fn who_takes_records_over_seeks_what_is_open_and_keeps_what_has_ended() {
    let verdict = |lines: Vec<Record>| {
        let mut records = CallRecords::default();
        records.apply(sent(1), 0);
        lines.into_iter().for_each(|line| records.apply(line, 0));
        match records.left().pop().map(Left::takeover) {
            None => "nothing".to_owned(),
            Some(Takeover::Seek(sent)) => format!("seek {}", sent.origin.number),
            Some(Takeover::Keep(_, result, verdict)) => format!("keep {result} as {}", verdict.label()),
        }
    };
    let delivered = || Record::Delivered(origin(1));
    let failed = answered(1, "{\"isError\":true}");
    for (lines, becomes) in [
        (vec![], "seek 1"),
        (vec![Record::Told { call: call(1) }, delivered()], "seek 1"),
        (vec![runs_on(1)], "seek 1"),
        (vec![runs_on(1), delivered()], "seek 1"),
        (vec![runs_on(1), delivered(), answered(1, "[1]")], "keep [1] as ok"),
        (vec![answered(1, "[1]")], "keep [1] as ok"),
        (vec![failed], "keep {\"isError\":true} as tool_error"),
        (vec![unknown(1)], "keep [0] as outcome_unknown"),
        (vec![answered(1, "[1]"), delivered()], "nothing"),
        (vec![Record::Dropped { call: call(1) }], "nothing"),
    ] {
        let said = format!("{lines:?}");
        assert_eq!(verdict(lines), becomes, "{said}");
    }
}

#[test]
fn records_of_others_are_taken_over_if_their_process_is_dead_and_they_are_its_own_and_not_too_old() {
    let dead = SetFacts { is_free: true, age: LEFT_CALLS_MAX_AGE, bytes: 9, is_copy: false };
    let old = LEFT_CALLS_MAX_AGE + Duration::from_secs(1);
    let large = CALL_RECORDS_READ_MAX_BYTES as u64 + 1;
    for (facts, becomes) in [
        (dead, SetFate::TakenOver),
        (SetFacts { is_free: false, age: old, bytes: large, ..dead }, SetFate::Lives),
        (SetFacts { age: old, ..dead }, SetFate::Removed),
        (SetFacts { bytes: large, ..dead }, SetFate::Removed),
        (SetFacts { is_copy: true, ..dead }, SetFate::Stays),
    ] {
        assert_eq!(fate_of_set(facts), becomes, "{facts:?}");
    }
    let mut records = CallRecords::default();
    records.apply(sent(1), 0);
    let left = records.left().pop().unwrap();
    let is_for = |project: &str, client| left.is_for(project.as_ref(), client);
    assert!(is_for("/Castle", None) && is_for("/Castle", Some("c")));
    assert!(!is_for("/Tower", None) && !is_for("/Castle", Some("d")));
}

#[test]
fn what_a_session_may_still_bring_is_left_to_it_and_what_nobody_brings_is_told() {
    // Calls that were sent, that run on (with and without the client's knowledge), and that were answered.
    let mut records = CallRecords::default();
    (1..=4).for_each(|number| records.apply(sent(number), 0));
    [2, 3].into_iter().for_each(|number| records.apply(runs_on(number), 0));
    records.apply(Record::Delivered(origin(3)), 0);
    records.apply(answered(4, "[4]"), 0);
    let all = |is: &dyn Fn(&Left) -> bool| records.left().iter().map(is).collect::<Vec<bool>>();
    assert_eq!(all(&|left| left.is_left_behind(Asker::Lives)), [false; 4]);
    assert_eq!(all(&|left| left.is_left_behind(Asker::Killed)), [true; 4]);
    assert_eq!(all(&|left| left.is_left_behind(Asker::Unknown)), [false, false, true, false]);
    assert_eq!(all(&|left| left.is_to_be_told(Asker::Killed)), [true, true, false, true]);
    assert_eq!(all(&|left| left.is_to_be_told(Asker::Lives) || left.is_to_be_told(Asker::Unknown)), [false; 4]);
    // A later gateway knows the same about these calls, until their clients were told.
    let mut later = CallRecords::default();
    records.left().iter().flat_map(|left| left.lines(true)).for_each(|line| later.apply(line, 0));
    let shown = |records: &CallRecords| format!("{:?}", records.left());
    assert_eq!(shown(&later), shown(&records));
    for number in [1, 2, 4] {
        let asker = later.untold(call(number)).unwrap();
        later.apply(Record::Told { call: call(number) }, 0);
        later.apply(Record::Delivered(asker), 0);
    }
    assert!(later.left().iter().all(|left| left.delivered && left.told) && later.untold(call(3)).is_none());
}
