//! A connection that ends after any byte. The editor's own count proves that each call ran at most once, and each answer must
//! be true.

use serde_json::json;

use super::client::{Client, Verdict};
use super::proxy::{Act, Keep, Proxy};
use super::unity::Unity;
use super::{Room, until};

/// Which message is cut, how much of it is delivered, and whether the connections end with a reset.
struct Cut {
    act: fn(Keep) -> Act,
    keep: Keep,
    reset: bool,
}

/// The outcome of a call.
struct Outcome {
    key: String,
    /// Number of bytes that were delivered; `of` is the length of the whole message.
    kept: usize,
    of: usize,
    verdict: Verdict,
}

struct Bench {
    client: Client,
    proxy: Proxy,
    unity: Unity,
    room: Room,
}

impl Bench {
    fn new() -> Self {
        let room = Room::new();
        let unity = Unity::start(&room, &["--quiet"]);
        let proxy = Proxy::start(unity.port);
        let mut client = Client::open(&room, &["--port", &proxy.port.to_string()]);
        client.echoes();
        Self { room, unity, proxy, client }
    }

    fn count(&mut self, cut: &Cut) -> Outcome {
        let key = format!("key-{}-end", self.proxy.dials() * 1000 + u64::from(cut.reset));
        self.proxy.plan(&key, (cut.act)(cut.keep), cut.reset);
        let dials = self.proxy.dials();
        let verdict = self.client.done("count", &json!({"key": key})).verdict();
        assert!(self.proxy.is_done(), "the message never came by");
        // A call that is written before the gateway notices the end of the connection would be lost without reaching the
        // proxy.
        until("it connects again", || self.proxy.dials() > dials && self.proxy.open() == 1);
        let of = self.proxy.length();
        let kept = match cut.keep {
            Keep::Front(bytes) => bytes.min(of),
            Keep::AllBut(bytes) => of - bytes,
        };
        Outcome { key, kept, of, verdict }
    }

    /// Cuts a message after every byte, alternately without and with a reset.
    fn everywhere(&mut self, act: fn(Keep) -> Act) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        let mut at = 0;
        let mut reset = false;
        loop {
            reset = !reset;
            let outcome = self.count(&Cut { act, keep: Keep::Front(at), reset });
            let whole = outcome.kept == outcome.of;
            outcomes.push(outcome);
            if whole {
                break;
            }
            at += 1;
        }
        for (bytes, reset) in [(2, false), (1, true), (1, false), (0, true), (0, false)] {
            outcomes.push(self.count(&Cut { act, keep: Keep::AllBut(bytes), reset }));
        }
        outcomes
    }

    fn close(mut self) {
        // By now the gateway has handled everything that arrived after its connection ended.
        self.client.echoes();
        self.client.close(&self.room);
    }
}

#[test]
fn a_request_cut_after_any_byte_runs_at_most_once_and_is_never_sent_again() {
    let mut bench = Bench::new();
    let outcomes = bench.everywhere(Act::CutRequest);
    assert!(outcomes.len() > 130, "{} cuts only", outcomes.len());
    for Outcome { key, kept, of, verdict } in outcomes {
        assert_eq!(verdict, Verdict::Unknown, "{kept} of {of} bytes of {key}");
        if kept == of {
            until("a whole request runs", || bench.room.runs(&key) == 1);
        }
        assert_eq!(bench.room.runs(&key), usize::from(kept == of), "{kept} of {of} bytes of {key}");
        assert_eq!(bench.proxy.requests_with(&key), 1, "{kept} of {of} bytes of {key}: sent again");
    }
    bench.close();
}

#[test]
fn a_reply_cut_after_any_byte_leaves_one_run_and_only_a_whole_one_is_an_answer() {
    let mut bench = Bench::new();
    let outcomes = bench.everywhere(Act::CutReply);
    assert!(outcomes.len() > 100, "{} cuts only", outcomes.len());
    for Outcome { key, kept, of, verdict } in outcomes {
        let expected = if kept == of { Verdict::Ok } else { Verdict::Unknown };
        assert_eq!(verdict, expected, "{kept} of {of} bytes of the reply to {key}");
        assert_eq!(bench.room.runs(&key), 1, "{kept} of {of} bytes of the reply to {key}");
        assert_eq!(bench.proxy.requests_with(&key), 1, "{kept} of {of} bytes of the reply to {key}: sent again");
    }
    bench.close();
}

#[test]
fn a_tool_that_only_looks_is_asked_again_and_its_answer_comes() {
    let mut bench = Bench::new();
    let acts: [fn(Keep) -> Act; 2] = [Act::CutRequest, Act::CutReply];
    for (number, act) in acts.into_iter().enumerate() {
        for (at, keep) in
            [Keep::Front(0), Keep::Front(1), Keep::Front(18), Keep::Front(60), Keep::AllBut(1)].iter().enumerate()
        {
            let mark = format!("looked-for-{number}-{at}-end");
            bench.proxy.plan(&mark, act(*keep), at % 2 == 0);
            let answer = bench.client.done("get-logs", &json!({"SearchText": mark}));
            assert_eq!(answer.verdict(), Verdict::Ok, "{keep:?}: {}", answer.0);
            assert_eq!(bench.proxy.requests_with(&mark), 2, "{keep:?}");
        }
    }
    bench.close();
}

#[test]
fn a_tool_that_only_looks_is_asked_three_times_at_the_most() {
    let mut bench = Bench::new();
    let mark = "thrice-end";
    bench.proxy.plan_times(9, mark, Act::CutReply(Keep::Front(9)), false);
    let answer = bench.client.done("get-logs", &json!({"SearchText": mark}));
    assert_eq!(answer.verdict(), Verdict::Unknown, "{}", answer.0);
    bench.client.echoes();
    assert_eq!(bench.proxy.requests_with(mark), 3);
    bench.close();
}

#[test]
fn what_was_not_sent_when_the_bridge_went_down_is_sent_once_it_is_up() {
    let mut bench = Bench::new();
    for verb in ["down", "rst"] {
        bench.unity.say(verb);
        until("the connection has ended", || bench.proxy.open() == 0);
        let ids: Vec<u64> =
            (0..5).map(|n| bench.client.call("count", &json!({"key": format!("{verb}-{n}")}))).collect();
        bench.unity.say("up");
        for (n, id) in ids.into_iter().enumerate() {
            let answer = bench.client.answer(id);
            // The gateway may have noticed the end only after it wrote the first bytes. Only then may the outcome be unknown.
            let key = format!("{verb}-{n}");
            match answer.verdict() {
                Verdict::Ok => assert_eq!(bench.room.runs(&key), 1, "{key}"),
                Verdict::Unknown if n == 0 => assert!(bench.room.runs(&key) <= 1, "{key}"),
                other => panic!("{key}: {other:?}: {}", answer.0),
            }
        }
    }
    bench.close();
}
