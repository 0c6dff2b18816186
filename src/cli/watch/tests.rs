//! Compares the drawn screens of fixed records at a fixed time with stored ones.
//!
//! A changed screen fails until it is reviewed: look at the `.snap.new` file next to the stored one, and rename it if it is right
//! (`cargo insta review` does that).

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use serde_json::{Value, json};

use super::draw::{Screen, Selection};
use super::{Pressed, press};
use crate::telemetry::view::told::Told;

/// The time at which every screen is drawn, in seconds since the Unix epoch.
const NOW: f64 = 1_700_000_000.0;

/// Returns the history of a machine that has been in its state for `since` seconds. The sparkline is 120 letters, given as
/// (letter, count).
fn timeline(machine: &str, state: &str, tone: &str, since: f64, sparkline: &[(char, usize)]) -> Value {
    let sparkline: String = sparkline.iter().flat_map(|(letter, count)| std::iter::repeat_n(*letter, *count)).collect();
    assert_eq!(sparkline.len(), 120, "{machine}");
    json!({"machine": machine, "state": state, "tone": tone, "since": NOW - since, "strip": sparkline, "steps": []})
}

fn ready() -> Value {
    json!({
        "written_at": NOW - 0.4,
        "summary": "Unity (Castle) is connected and ready.",
        "project": "/games/Castle",
        "editor": {
            "ready": true, "tone": "good", "state": "ready", "why": null, "since_ms": 31_000, "port": 8701, "port_named_by": "project",
            "pid": 4711, "unity_version": "2022.3.62f1", "connections": 2,
        },
        "problems": [],
        "tools": {"count": 14, "from": "the editor"},
        "queue": {"held": 0, "running": 1},
        "calls": {
            "open_count": 1,
            "open": [{"tool": "run-tests", "state": "sent", "verdict": null, "accepted_ms_ago": 4200, "took_ms": 4200}],
            "recent": [
                {"tool": "compile", "state": "answered", "verdict": "ok", "accepted_ms_ago": 40_000, "took_ms": 3456, "held_ms": 3100},
                {"tool": "get-logs", "state": "answered", "verdict": "not_executed", "cause": "reloading",
                 "accepted_ms_ago": 90_000, "took_ms": 55_000},
                {"tool": "menu", "state": "uncertain", "verdict": "outcome_unknown", "cause": "reload",
                 "accepted_ms_ago": 95_000, "took_ms": 12},
            ],
        },
        "outages": [
            {"why": "reload", "cause": "reloading", "ago_ms": 33_000, "back_after_ms": 2340},
            {"why": "disconnect", "cause": "lost", "ago_ms": 600_000, "back_after_ms": 41_000},
        ],
        "timelines": [
            timeline("bridge", "ready", "good", 31.0, &[(' ', 5), ('-', 5), ('W', 1), ('G', 76), ('T', 2), ('W', 1), ('G', 30)]),
            timeline("discovery", "offering", "good", 31.0, &[(' ', 5), ('-', 5), ('W', 1), ('G', 76), ('W', 3), ('G', 30)]),
            timeline("push", "listening", "good", 110.0, &[(' ', 5), ('-', 5), ('W', 1), ('G', 109)]),
            timeline("registry", "live", "good", 30.0, &[(' ', 5), ('W', 6), ('G', 76), ('W', 4), ('G', 29)]),
            timeline("session", "serving", "good", 114.0, &[(' ', 5), ('-', 1), ('G', 114)]),
        ],
        "gateway": {"version": "0.1.0", "pid": 4242, "up_ms": 115_000, "client": "claude-code", "actor_restarts": {}},
    })
}

fn reloading() -> Value {
    let mut record = ready();
    record["editor"] = json!({
        "ready": false, "tone": "waiting", "state": "backing_off", "why": "reloading", "since_ms": 2100, "port": 8701, "pid": 4711,
        "unity_version": "6000.0.23f1", "connections": 1,
    });
    record["project"] = json!("/games/Dungeon");
    record["queue"] = json!({"held": 3, "running": 0});
    let held =
        |tool: &str, ms: u64| json!({"tool": tool, "state": "held", "waits_for": "reloading", "accepted_ms_ago": ms});
    record["calls"] = json!({
        "open_count": 3, "open": [held("compile", 2000), held("get-logs", 1500), held("run-tests", 300)], "recent": [],
    });
    record["outages"] = json!([{"why": "reload", "cause": "reloading", "ago_ms": 2100, "back_after_ms": null}]);
    record["timelines"][0] =
        timeline("bridge", "backing_off", "waiting", 2.1, &[(' ', 59), ('W', 1), ('G', 57), ('W', 3)]);
    record["gateway"] = json!({
        "version": "0.1.0", "pid": 4300, "up_ms": 61_000, "client": "cursor-vscode", "actor_restarts": {"bridge": 2, "push": 1},
    });
    record
}

fn absent() -> Value {
    json!({
        "written_at": NOW - 61.0,
        "project": null,
        "editor": {"ready": false, "tone": "trouble", "state": "backing_off", "why": "not_running", "since_ms": 500_000},
        "problems": ["UserSettings/UnityMcpSettings.json is not JSON: set the port again in the package's window in Unity."],
        "tools": {"count": 4, "from": "nowhere yet"},
        "gateway": {"version": "0.1.0", "pid": 5000, "up_ms": 7_300_000, "client": ""},
    })
}

/// Returns a record with hostile values in every field whose value another program supplies.
fn hostile() -> Value {
    let long = "x".repeat(5000);
    let mut record = ready();
    record["project"] = json!(format!("/games/\u{1b}[31m\u{1b}]0;owned\u{7}{long}"));
    record["gateway"]["client"] = json!("\u{202e}evil\r\n\u{1b}[2Jclient");
    record["editor"]["unity_version"] = json!("日本語".repeat(100));
    record["editor"]["why"] = json!("a\tb\u{9b}31m");
    record["calls"]["open"] = json!([
        {"tool": "日本語の道具".repeat(40), "state": "held", "waits_for": "\u{1b}c", "accepted_ms_ago": u64::MAX},
        {"tool": "👩‍👩‍👧‍👦e\u{301}\u{200b}\u{2028}", "state": long, "accepted_ms_ago": 1},
        {"tool": "", "state": "", "accepted_ms_ago": 0},
    ]);
    record["calls"]["open_count"] = json!(u64::MAX);
    record["calls"]["recent"][0]["verdict"] = json!("\u{1b}[5m");
    record["outages"][0]["why"] = json!("\n\n\n");
    record["outages"][0]["back_after_ms"] = json!(u64::MAX);
    record["timelines"][0]["machine"] = json!("\u{7f}bridge\u{85}");
    record["timelines"][1]["since"] = json!(-1e300);
    record["timelines"][1]["strip"] = json!("\u{1b}[31m日本語");
    record["timelines"][2]["strip"] = json!(long);
    record["problems"] = json!(["\u{1b}[1;1Hno problem", long]);
    record["gateway"]["actor_restarts"] = json!({"\u{1b}[7m": u64::MAX});
    record
}

fn told(records: &[Value]) -> Vec<Told> {
    records.iter().map(|record| Told::of(record, NOW)).collect()
}

fn drawn(records: &[Value], size: (u16, u16), selection: Selection, colours: bool) -> Terminal<TestBackend> {
    let gateways = told(records);
    let screen = Screen { gateways: &gateways, state_folder: true, selection, colours };
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    terminal.draw(|frame| frame.render_widget(screen, frame.area())).unwrap();
    terminal
}

fn picture(records: &[Value], size: (u16, u16), selection: Selection) -> String {
    drawn(records, size, selection, true).backend().to_string()
}

/// Returns the colour of each cell as a letter.
fn colours(terminal: &Terminal<TestBackend>) -> String {
    let buffer = terminal.backend().buffer();
    let letter = |cell: &ratatui::buffer::Cell| match cell.fg {
        Color::Reset => '.',
        Color::Green => 'g',
        Color::Yellow => 'y',
        Color::Red => 'r',
        Color::Magenta => 'm',
        Color::DarkGray => 'd',
        other => panic!("{other} has no meaning"),
    };
    let lines = buffer.content.chunks(usize::from(buffer.area.width));
    lines.map(|line| line.iter().map(letter).collect::<String>() + "\n").collect()
}

#[test]
fn no_gateway_says_what_to_do() {
    insta::assert_snapshot!(picture(&[], (80, 12), Selection::default()));
    let screen = Screen { gateways: &[], state_folder: false, selection: Selection::default(), colours: true };
    let mut terminal = Terminal::new(TestBackend::new(60, 8)).unwrap();
    terminal.draw(|frame| frame.render_widget(screen, frame.area())).unwrap();
    insta::assert_snapshot!("no_state_folder", terminal.backend());
}

#[test]
fn the_sessions_of_a_hub_are_told_apart() {
    let mut other = reloading();
    other["gateway"]["pid"] = json!(4242);
    other["gateway"]["session"] = json!(2);
    let gateways = told(&[ready(), other]);
    let mut selection = Selection::default();
    press(ratatui::crossterm::event::KeyCode::Down.into(), &gateways, &mut selection);
    assert_eq!(selection.index(&gateways), 1);
}

#[test]
fn one_ready_gateway_and_its_machines() {
    insta::assert_snapshot!(picture(&[ready()], (100, 36), Selection { machines: true, ..Selection::default() }));
}

#[test]
fn one_ready_gateway() {
    let terminal = drawn(&[ready()], (100, 32), Selection::default(), true);
    insta::assert_snapshot!(terminal.backend());
    insta::assert_snapshot!("one_ready_gateway_colours", colours(&terminal));
}

#[test]
fn a_reload_shows_why_each_call_waits() {
    insta::assert_snapshot!(picture(&[reloading()], (80, 34), Selection::default()));
}

#[test]
fn several_gateways_and_one_whose_record_is_old() {
    let selection = Selection { gateway: Some((5000, 0)), ..Selection::default() };
    let odd = json!({"gateway": {"pid": 6000}, "editor": "of another version"});
    insta::assert_snapshot!(picture(&[ready(), reloading(), absent(), odd], (120, 30), selection));
}

#[test]
fn one_gateway_alone_with_the_keys_over_it() {
    let selection = Selection { gateway: Some((4300, 0)), detail: true, help: true, ..Selection::default() };
    insta::assert_snapshot!(picture(&[ready(), reloading()], (80, 24), selection));
}

#[test]
fn hostile_texts_stay_texts() {
    let terminal = drawn(&[hostile()], (80, 40), Selection::default(), true);
    for cell in &terminal.backend().buffer().content {
        let odd = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2028}');
        assert!(!cell.symbol().contains(odd), "{:?}", cell.symbol());
    }
    insta::assert_snapshot!(terminal.backend());
}

#[test]
fn no_size_is_too_small() {
    insta::assert_snapshot!("tiny_overview", picture(&[ready(), reloading()], (40, 10), Selection::default()));
    let detail = Selection { detail: true, ..Selection::default() };
    insta::assert_snapshot!("tiny_detail", picture(&[reloading()], (40, 10), detail));
    let all = [ready(), reloading(), absent(), hostile()];
    for width in (1..=12).chain([29, 30, 59, 60, 112]) {
        for height in 1..=18 {
            for help in [false, true] {
                for detail in [false, true] {
                    for records in [&[], &all[..]] {
                        let selection = Selection { gateway: Some((5000, 0)), detail, machines: !help, help };
                        drawn(records, (width, height), selection, true);
                    }
                }
            }
        }
    }
}

#[test]
fn without_colours_signs_say_the_same() {
    let terminal = drawn(&[reloading(), ready()], (80, 24), Selection::default(), false);
    assert!(colours(&terminal).chars().all(|letter| matches!(letter, '.' | '\n')));
    insta::assert_snapshot!(terminal.backend());
}

#[test]
fn keys_select_and_quit() {
    use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    let gateways = told(&[ready(), reloading(), absent()]);
    let mut selection = Selection::default();
    let mut after = |codes: &[KeyCode]| {
        for code in codes {
            assert_eq!(press(KeyEvent::from(*code), &gateways, &mut selection), Pressed::GoOn);
        }
        selection
    };
    let down = KeyCode::Char('j');
    assert_eq!(after(&[down]).gateway, Some((4300, 0)));
    assert_eq!(after(&[KeyCode::Down, down, down]).gateway, Some((5000, 0)), "it stays at the end");
    assert_eq!(after(&[KeyCode::Up, KeyCode::Char('k'), KeyCode::Up]).gateway, Some((4242, 0)));
    assert!(after(&[KeyCode::Enter]).detail && !after(&[KeyCode::Tab]).detail);
    for key in [KeyCode::Esc, KeyCode::Char('?'), KeyCode::Down, KeyCode::Enter] {
        let before = after(&[KeyCode::Char('?')]);
        assert_eq!(
            (before.help, after(&[key])),
            (true, Selection { help: false, ..before }),
            "{key:?} closes the keys first"
        );
    }
    assert!(after(&[KeyCode::Char('m')]).machines && !after(&[KeyCode::Char('m')]).machines);
    // The selected gateway stays selected when a gateway before it ends. If the selected one ends, the first one is selected.
    let mut selection = Selection { gateway: Some((4300, 0)), ..Selection::default() };
    assert_eq!((selection.index(&gateways[1..]), selection.index(&gateways[2..])), (0, 0));
    let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    for key in [KeyCode::Char('q').into(), KeyCode::Esc.into(), control_c] {
        assert_eq!(press(key, &[], &mut selection), Pressed::Quit);
    }
    assert_eq!(press(KeyCode::Char('j').into(), &[], &mut selection), Pressed::GoOn);
}
