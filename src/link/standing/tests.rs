//! Answers of a port as JSON: each value comes back unchanged, without the parts that must not leave the process.
//! `tests/vectors/port/` holds the literal text of some values, which reveals a change of the form.

use std::fmt::Debug;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use strum::VariantArray as _;
use tokio::time::Instant;

use super::*;
use crate::config::PortSource;
use crate::config::file::ProjectRules;
use crate::core::calls::Wanted;
use crate::core::link::{EditorIdentity, ForeignPeer, RESTING};
use crate::core::port::Seen;
use crate::core::router::Running;
use crate::fsm::bridge::{self, Evidence, Sign};
use crate::fsm::call;
use crate::fsm::cause::{Availability, Cause, Loss};
use crate::platform::host::Owner;
use crate::protocol::crossing::UNKNOWN;
use crate::protocol::dialect::{
    self, Activity, Compiled, Credentials, EditorState, Endpoint, Expected, Heartbeat, Issue, ProjectFacts, Secret,
};
use crate::protocol::ids::Epoch;
use crate::protocol::policy::{Pattern, Policy};
use crate::survey::{Listed, Target};

const SECRETS: [&str; 3] = ["the-token", "the-nonce", "--password=the-password"];

fn vector(name: &str) -> Value {
    let path = format!("{}/tests/vectors/port/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Compares both ways, including the order of the members.
fn is<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T, written: &Value) {
    assert_eq!(serde_json::to_string(value).unwrap(), written.to_string());
    assert_eq!(serde_json::from_value::<T>(written.clone()).unwrap(), *value);
}

/// Writes and reads a value.
fn crossed<T: Serialize + DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

fn comes_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    assert_eq!(crossed(value), *value);
}

/// Adds a member to each object, as a newer program may.
fn with_news(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let known = members.iter().map(|(name, value)| (name.clone(), with_news(value)));
            Value::Object(known.chain([("of_a_newer_program".to_owned(), json!({"more": [1]}))]).collect())
        }
        Value::Array(values) => values.iter().map(with_news).collect(),
        value => value.clone(),
    }
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(name)
}

fn ago(millis: u64) -> Instant {
    Instant::now().checked_sub(Duration::from_millis(millis)).unwrap()
}

fn call_id() -> CallId {
    CallId::from_random([7; 16])
}

fn seen() -> Seen {
    Seen {
        revision: 41,
        availability: Availability::Coming(Cause::Reloading),
        undecided: true,
        connections: 3,
        running: Some(Running { project: path("/Castle"), is_known: true }),
        wanted: Wanted::Settled(Some(path("/Castle"))),
        leads_to_the_wanted: true,
        project: Some(path("/Castle")),
        ambiguous: vec![path("/Forest"), path("/Lake")],
    }
}

fn expected() -> Option<Expected> {
    Some(Expected::Proven(Credentials {
        project: "/Castle".to_owned(),
        pid: 4711,
        nonce: SECRETS[1].to_owned(),
        token: Secret::new(SECRETS[0]),
    }))
}

fn picture() -> LinkPicture {
    let heartbeat = Heartbeat {
        state: EditorState::Playing,
        frame_age: Duration::from_millis(250),
        focused: true,
        inferred: false,
        every: Duration::ZERO,
        importing: true,
        compile_errors: true,
        queued: 1,
        running: 2,
    };
    let reload = Outage {
        at: ago(60_000),
        loss: Loss::Reload,
        cause: Some(Cause::Reloading),
        back_after: Some(Duration::from_secs(7)),
    };
    let last = Outage { at: ago(4_000), loss: Loss::Disconnect, cause: None, back_after: None };
    LinkPicture {
        state: "backing_off",
        availability: Availability::Absent(Cause::Crashed),
        undecided: true,
        since: ago(4_000),
        epoch: Some(Epoch(5)),
        target: Some(Target {
            endpoint: Endpoint::Port(8711),
            source: PortSource::UnityPort,
            project: Some(path("/Castle")),
            editor_pid: Some(4711),
            expected: expected(),
            dialect: dialect::OWN[0],
            package_version: Some("1.2.0".to_owned()),
        }),
        editor: EditorIdentity { pid: Some(4711), domain: Some(12) },
        foreign_peer: Some(ForeignPeer {
            port: 8700,
            what: Some("an HTTP server".to_owned()),
            owner: Some("node (pid 99)".to_owned()),
            since: ago(3_500),
            ours: true,
        }),
        obstacle: None,
        compile_error: None,
        connections: 2,
        heartbeat: Some((heartbeat, ago(1_500))),
        outages: [reload, last].into(),
    }
}

fn survey() -> Survey {
    let mut policy = Policy::default();
    policy.deny(vec![Pattern::parse("execute-*").unwrap()], "holdfast.toml");
    Survey {
        project: Some(path("/Castle")),
        ambiguous: vec![path("/Forest")],
        packages: vec![dialect::ALL[1].name(), dialect::ALL[dialect::ALL.len() - 2].name()],
        dialect: dialect::FALLBACK[0],
        facts: ProjectFacts {
            installed: true,
            by_record: true,
            package_version: Some("1.2.0".to_owned()),
            port: Some((8711, "Library/Holdfast/instance.json")),
            editor_pid: Some(4711),
            other_pid: Some(4712),
            editor_version: Some("6000.0.1f1".to_owned()),
            expected: expected(),
            token: Some(Secret::new(SECRETS[0])),
            activity: Some(Activity::Starting),
            problems: vec!["a problem".to_owned()],
            notes: Vec::new(),
        },
        rules: ProjectRules { found: true, policy, complaints: vec!["a complaint".to_owned()] },
        targets: vec![Target {
            endpoint: Endpoint::Http { port: 8712, token: Some(Secret::new(SECRETS[0])) },
            source: PortSource::Process,
            project: None,
            editor_pid: None,
            expected: expected(),
            dialect: dialect::ALL[dialect::ALL.len() - 2],
            package_version: None,
        }],
        listed: vec![Listed {
            port: 8700,
            source: PortSource::Default,
            owner: Some(Owner {
                pid: 99,
                name: "node".to_owned(),
                command_line: vec!["node".to_owned(), SECRETS[2].to_owned()],
            }),
            why: "nothing proves that it is the editor".to_owned(),
        }],
        evidence: Evidence {
            editor: Sign::Dead,
            activity: Some(Activity::Compiling),
            announces: Some(false),
            unpackaged: true,
            port_named: true,
            arrives: true,
        },
        starved: true,
        failed: true,
    }
}

fn status() -> LinkStatus {
    LinkStatus {
        picture: picture(),
        survey: Some(Arc::new(survey())),
        package: Some(json!({"dialect": "holdfast", "version": "1.2.0"})),
        source: Source::Stale,
        held: 4,
        running: 1,
        busy_with: Some((call_id(), "run-tests".into(), Duration::from_secs(30))),
        busy_for: Some("Claude".to_owned()),
    }
}

/// Returns the status as it arrives in another process.
fn status_elsewhere() -> LinkStatus {
    let mut status = status();
    status.picture.target.as_mut().unwrap().expected = None;
    let survey = Arc::make_mut(status.survey.as_mut().unwrap());
    (survey.facts.expected, survey.facts.token) = (None, None);
    survey.facts.port = Some((8711, UNKNOWN));
    (survey.targets[0].expected, survey.targets[0].endpoint) = (None, Endpoint::Port(8712));
    survey.listed[0].owner.as_mut().unwrap().command_line.clear();
    status
}

fn verdicts() -> Vec<Verdict> {
    let causes = Cause::VARIANTS.iter().map(|cause| Verdict::NotExecuted(*cause));
    let losses = Loss::VARIANTS.iter().map(|loss| Verdict::OutcomeUnknown(*loss));
    let plain = [Verdict::Ok, Verdict::ToolError, Verdict::StillRunning, Verdict::Cancelled];
    causes.chain(losses).chain(plain).collect()
}

#[test]
fn what_is_seen_of_a_link_comes_back_as_it_was() {
    is(&seen(), &vector("seen"));
    let absences = Cause::VARIANTS.iter().map(|cause| Availability::Absent(*cause));
    let comings = Cause::VARIANTS.iter().map(|cause| Availability::Coming(*cause));
    for availability in absences.chain(comings).chain([Availability::Open]) {
        comes_back(&Seen { availability, ..seen() });
    }
    for wanted in [Wanted::Asked, Wanted::Settled(None)] {
        comes_back(&Seen { wanted, running: None, project: None, ambiguous: Vec::new(), ..seen() });
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_comes_back_without_what_must_not_cross() {
    let elsewhere = status_elsewhere();
    is(&elsewhere, &vector("status"));
    let written = serde_json::to_string(&status()).unwrap();
    assert_eq!(written, vector("status").to_string(), "what must not cross changes nothing");
    for secret in SECRETS {
        assert!(!written.contains(secret), "{secret}");
    }
    let least = LinkStatus {
        picture: LinkPicture::new(Instant::now()),
        survey: Some(Arc::new(Survey::nothing())),
        package: None,
        source: Source::None,
        held: 0,
        running: 0,
        busy_with: None,
        busy_for: None,
    };
    comes_back(&least);
    comes_back(&LinkStatus { survey: Some(Arc::new(Survey::failed())), ..least.clone() });
    comes_back(&LinkStatus { survey: None, ..least });
}

#[tokio::test(start_paused = true)]
async fn a_record_comes_back_as_it_was() {
    let record: Record = serde_json::from_value(vector("record")).unwrap();
    is(&record, &vector("record"));
    assert_eq!((record.id, &*record.tool, record.state), (call_id(), "run-tests", "uncertain"));
    assert_eq!((record.verdict, record.unrun), (Some(Verdict::OutcomeUnknown(Loss::Silence)), true));
    assert_eq!(record.waits_for, Some(Cause::Compiling));
    assert_eq!((record.accepted, record.sent, record.ended), (ago(90_000), Some(ago(80_500)), Some(ago(1_250))));
    for verdict in verdicts() {
        let mut record = record.clone();
        record.verdict = Some(verdict);
        comes_back(&record);
    }
    for cause in Cause::VARIANTS {
        let mut record = record.clone();
        record.waits_for = Some(*cause);
        comes_back(&record);
    }
    let mut open = record.clone();
    (open.verdict, open.waits_for, open.sent, open.ended, open.unrun) = (None, None, None, None, false);
    comes_back(&open);
    for lookup in [
        Lookup::Unknown,
        Lookup::Open(open),
        Lookup::Ended(record.clone()),
        Lookup::Kept(r#"{"content":[{"type":"text","text":"\"well\""}]}"#.into()),
        Lookup::Expired(record),
    ] {
        comes_back(&lookup);
    }
    assert_eq!(serde_json::to_string(&Lookup::Kept("{}".into())).unwrap(), r#"{"kept":"{}"}"#);
    assert_eq!(serde_json::to_string(&Lookup::Unknown).unwrap(), r#""unknown""#);
}

#[tokio::test(start_paused = true)]
async fn a_compile_result_comes_back_as_it_was() {
    let issue = |message: &str| Issue { message: message.to_owned(), file: "Assets/A.cs".to_owned(), line: 7 };
    let compiled = Compiled {
        error_count: 2,
        warning_count: Some(1),
        errors: vec![issue("CS1002"), issue("CS0246")],
        warnings: vec![issue("CS0168")],
    };
    let seen = SeenCompile { call: call_id(), at: ago(12_345), compiled, is_followed: true };
    comes_back(&seen);
    comes_back(&SeenCompile { compiled: Compiled::default(), is_followed: false, ..seen });
}

#[test]
fn verdicts_and_sources_are_written_as_their_labels() {
    for verdict in verdicts() {
        comes_back(&verdict);
        let written = match verdict.cause() {
            Some(cause) => json!({ verdict.label(): cause }),
            None => json!(verdict.label()),
        };
        assert_eq!(serde_json::to_value(verdict).unwrap(), written);
    }
    for source in Source::VARIANTS {
        is(source, &json!(<&str>::from(source)));
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_newer_program_adds_is_skipped_but_no_cause_and_no_rule() {
    let mut news = vector("seen");
    news["later"] = json!([1]);
    news["running"]["later"] = json!(null);
    assert_eq!(serde_json::from_value::<Seen>(news).unwrap(), seen());
    let mut news = vector("status");
    let rules = news["survey"]["rules"]["policy"].take();
    let availability = news["picture"]["availability"].take();
    news = with_news(&news);
    news["survey"]["rules"]["policy"] = rules;
    news["picture"]["availability"] = availability;
    news["package"] = vector("status")["package"].clone();
    assert_eq!(serde_json::from_value::<LinkStatus>(news.clone()).unwrap(), status_elsewhere());
    news["survey"]["rules"]["policy"]["later"] = json!([]);
    assert!(serde_json::from_value::<LinkStatus>(news).is_err(), "a rule that is not known may not be passed over");
    let mut news = vector("record");
    news["later"] = json!(1);
    assert_eq!(serde_json::to_value(serde_json::from_value::<Record>(news).unwrap()).unwrap(), vector("record"));

    assert!(serde_json::from_value::<Cause>(json!("of_a_newer_program")).is_err());
    assert!(serde_json::from_value::<Verdict>(json!({"not_executed": "of_a_newer_program"})).is_err());
    assert!(serde_json::from_value::<Availability>(json!({"coming": "of_a_newer_program"})).is_err());
    let state = serde_json::from_value::<EditorState>(json!("of_a_newer_program"));
    assert_eq!(state.unwrap(), EditorState::Unknown);
}

#[tokio::test(start_paused = true)]
async fn what_is_left_out_is_absent() {
    let record = json!({"id": call_id(), "tool": "x", "state": "held", "accepted": 5});
    let record: Record = serde_json::from_value(record).unwrap();
    assert_eq!((record.verdict, record.waits_for, record.unrun), (None, None, false));
    assert_eq!((record.sent, record.ended, record.accepted), (None, None, ago(5)));
    let picture = json!({
        "state": "idle", "availability": {"coming": "connecting"}, "undecided": true, "since": 0, "connections": 0,
    });
    let status: LinkStatus = serde_json::from_value(json!({ "picture": picture })).unwrap();
    assert_eq!(status.picture, LinkPicture::new(Instant::now()));
    assert_eq!((status.survey, status.package, status.source), (None, None, Source::None));
    assert_eq!((status.held, status.running, status.busy_with, status.busy_for), (0, 0, None, None));
    assert_eq!(serde_json::from_value::<ProjectFacts>(json!({})).unwrap(), ProjectFacts::default());
    assert!(serde_json::from_value::<ProjectRules>(json!({})).is_err(), "no rules are not the same as unknown rules");
}

#[tokio::test(start_paused = true)]
async fn labels_are_those_of_this_program() {
    let (mut record, mut status) = (vector("record"), vector("status"));
    for state in call::State::VARIANTS.iter().map(|state| <&str>::from(*state)) {
        record["state"] = json!(state);
        assert_eq!(serde_json::from_value::<Record>(record.clone()).unwrap().state, state);
    }
    record["state"] = json!("of_a_newer_program");
    assert_eq!(serde_json::from_value::<Record>(record).unwrap().state, UNKNOWN);
    let idle = LinkPicture::new(Instant::now()).state;
    let states = bridge::State::VARIANTS.iter().map(|state| <&str>::from(*state));
    for state in states.chain([RESTING, idle]) {
        status["picture"]["state"] = json!(state);
        assert_eq!(serde_json::from_value::<LinkStatus>(status.clone()).unwrap().picture.state, state);
    }
    status["picture"]["state"] = json!("of_a_newer_program");
    assert!(serde_json::from_value::<LinkStatus>(status).is_err());
    for known in dialect::ALL {
        let target = Target { dialect: *known, expected: None, ..picture().target.unwrap() };
        comes_back(&target);
        assert_eq!(dialect::named(known.name()), Some(*known));
        comes_back(&Survey { packages: vec![known.name()], ..Survey::nothing() });
    }
    for unknown in [json!({"dialect": "of_a_newer_program"}), json!({"packages": ["of_a_newer_program"]})] {
        let mut survey = serde_json::to_value(Survey::nothing()).unwrap();
        survey.as_object_mut().unwrap().extend(unknown.as_object().unwrap().clone());
        assert!(serde_json::from_value::<Survey>(survey).is_err(), "{unknown}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_point_in_time_crosses_as_its_age() {
    let at = |at: Instant| SeenCompile { call: call_id(), at, compiled: Compiled::default(), is_followed: false };
    let future = at(Instant::now() + Duration::from_secs(5));
    assert_eq!(crossed(&future).at, Instant::now());
    let written = serde_json::to_string(&at(ago(1_000))).unwrap();
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(serde_json::from_str::<SeenCompile>(&written).unwrap().at, ago(1_000), "by the reader's clock");
    let mut endless = serde_json::to_value(at(Instant::now())).unwrap();
    endless["at"] = json!(u64::MAX);
    assert!(serde_json::from_value::<SeenCompile>(endless.clone()).unwrap().at <= Instant::now());
    endless["at"] = json!(-1);
    assert!(serde_json::from_value::<SeenCompile>(endless).is_err());
}
