use strum::VariantArray as _;

use super::text::{Paint, Rows, Style, bars, legend, span, wrap};
use super::*;

const PLAIN: Style = Style { columns: 80, colour: false, unicode: false };
const FULL: Style = Style { columns: 80, colour: true, unicode: true };

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn moment(at: u64, from: usize, to: usize, tone: Tone, text: &str) -> Moment {
    Moment { at: ms(at), from, to, tone, text: text.to_owned(), measured: None }
}

/// Unity reloads from 2 s to 4 s. The reload interrupts one call, another is held until its end, a third is cancelled, and a
/// fourth stays open.
fn session() -> Timeline {
    let mut timeline = Timeline::new(["client", "gateway", "Unity"]);
    timeline.enters(0, ms(500), Phase::Up);
    timeline.enters(1, ms(500), Phase::Up);
    timeline.enters(2, ms(0), Phase::Up);
    timeline.enters(2, ms(2000), Phase::Reloading);
    timeline.enters(2, ms(4000), Phase::Up);
    timeline.moments = vec![
        Moment { measured: Some(ms(12)), ..moment(1000, 0, 2, Tone::Plain, "#1 count: sent to Unity") },
        moment(2000, 2, 2, Tone::Trouble, "domain reload"),
        moment(2001, 1, 0, Tone::Unsure, "#1 count: outcome unknown"),
        moment(2500, 0, 1, Tone::Waiting, "#2 count: held"),
        moment(4000, 2, 0, Tone::Good, "#2 count: ok"),
    ];
    let call = |name: &str, asked, sent: Option<u64>, end: Option<(u64, Verdict)>| Call {
        name: name.to_owned(),
        asked: ms(asked),
        sent: sent.map(ms),
        end: end.map(|(at, verdict)| (ms(at), verdict)),
    };
    timeline.calls = vec![
        call("#1 count", 1000, Some(1000), Some((2001, Verdict::OutcomeUnknown))),
        call("#2 count", 2500, Some(4000), Some((4010, Verdict::Ok))),
        call("#3 count", 2600, None, Some((3000, Verdict::Cancelled))),
        call("#4 echo", 4100, Some(4100), None),
    ];
    timeline.moments.push(moment(5000, 0, 1, Tone::Plain, "end"));
    timeline
}

fn rows(timeline: &Timeline, style: Style) -> Vec<String> {
    let rows = Rows::new(&timeline.lanes, style);
    let drawn = timeline.moments.iter().flat_map(|moment| rows.moment(&timeline.lanes, moment));
    std::iter::once(rows.heads(&timeline.lanes)).chain(drawn).collect()
}

/// Returns the line without its escape sequences.
fn plain(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        out.push_str(before);
        rest = after.split_once('m').expect("an escape ends").1;
    }
    out + rest
}

#[test]
fn rows_show_who_speaks_to_whom_and_how_each_lane_is() {
    let expected = "
          client   gateway   Unity
   1.000     o--------+-------->  #1 count: sent to Unity                  12 ms
   2.000     |        |        x  domain reload
   2.001     <--------?        :  #1 count: outcome unknown
   2.500     ~-------->        :  #2 count: held
   4.000     <--------+--------*  #2 count: ok
   5.000     o-------->        |  end";
    assert_eq!(rows(&session(), PLAIN).join("\n"), expected.trim_start_matches('\n'));
}

#[test]
fn bars_show_when_a_call_was_held_and_when_it_ran() {
    let expected = "
  Unity     ================:::::::::::::::::=========
  #1 count          #########                           outcome unknown  1.00 s
  #2 count                       ............#          ok               1.51 s
  #3 count                       .....                  cancelled        400 ms
  #4 echo                                     ########  no answer
            0 s     1 s     2 s      3 s     4 s";
    let drawn: Vec<String> = bars(&session(), PLAIN);
    assert_eq!(drawn.join("\n"), expected.trim_start_matches('\n'));
}

#[test]
fn colours_and_characters_change_nothing_about_the_layout() {
    let session = session();
    for (coloured, bare) in rows(&session, FULL).iter().zip(rows(&session, PLAIN)) {
        assert_eq!(plain(coloured).chars().count(), bare.chars().count(), "{bare}");
    }
    for (coloured, bare) in bars(&session, FULL).iter().zip(bars(&session, PLAIN)) {
        assert_eq!(plain(coloured).trim_end().chars().count(), bare.chars().count(), "{bare}");
    }
    assert!(rows(&session, FULL).concat().contains("\u{1b}["), "colours are drawn at all");
}

#[test]
fn without_colours_and_unicode_everything_is_printable_ascii() {
    let session = session();
    let mut lines = rows(&session, PLAIN);
    lines.extend(bars(&session, PLAIN));
    lines.push(legend(PLAIN));
    lines.push(PLAIN.title(1, "A title"));
    for line in lines {
        assert!(line.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{line:?}");
    }
    assert_eq!(PLAIN.paint(Paint::Red, "x"), "x");
}

#[test]
fn no_line_is_wider_than_it_may_be() {
    let mut timeline = session();
    timeline.moments[0].text = "a text of many words ".repeat(20);
    for columns in [60, 80, 120] {
        let style = Style::new(columns, true, true);
        let mut lines = rows(&timeline, style);
        lines.extend(bars(&timeline, style));
        lines.push(style.title(7, "A title"));
        for line in lines {
            let width = plain(&line).chars().count();
            assert!(width <= columns, "{width} columns of {columns}: {}", plain(&line));
        }
    }
}

#[test]
fn a_width_that_nobody_can_read_is_not_used() {
    assert_eq!(Style::new(0, false, false).columns, 60);
    assert_eq!(Style::new(100_000, false, false).columns, 120);
}

#[test]
fn every_tone_phase_and_verdict_looks_different() {
    let mut timeline = Timeline::new(["one"]);
    let mut seen = Vec::new();
    for tone in Tone::VARIANTS {
        seen.push(Rows::new(&timeline.lanes, PLAIN).moment(&timeline.lanes, &moment(0, 0, 0, *tone, "-")).concat());
    }
    for phase in Phase::VARIANTS {
        timeline.lanes[0].phases = vec![(ms(0), *phase)];
        // The second line of a text shows only the lanes.
        let text = format!("{} b", "a".repeat(70));
        seen.push(
            Rows::new(&timeline.lanes, PLAIN).moment(&timeline.lanes, &moment(0, 0, 0, Tone::Plain, &text))[1].clone(),
        );
    }
    seen.extend(Verdict::VARIANTS.iter().map(|verdict| verdict.word().to_owned()));
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), count, "{seen:#?}");
}

#[test]
fn an_empty_or_odd_timeline_is_drawn_too() {
    assert!(!bars(&Timeline::default(), PLAIN).is_empty());
    let mut odd = Timeline::new(["a"]);
    odd.enters(9, ms(1), Phase::Up);
    odd.calls.push(Call { name: "x".into(), asked: ms(5), sent: Some(ms(3)), end: Some((ms(1), Verdict::Ok)) });
    odd.moments.push(moment(0, 7, 9, Tone::Plain, ""));
    assert!(!bars(&odd, FULL).is_empty());
    assert_eq!(rows(&odd, FULL).len(), 2);
}

#[test]
fn spans_are_short_and_keep_what_matters() {
    let shown =
        [0, 1_234, 9_999, 10_000, 999_999, 1_000_000, 75_500_000].map(|micros| span(Duration::from_micros(micros)));
    assert_eq!(shown, ["0.0 ms", "1.2 ms", "10.0 ms", "10 ms", "999 ms", "1.00 s", "75.50 s"]);
}

#[test]
fn texts_break_at_spaces() {
    assert_eq!(wrap("one two  three", 8), ["one two", "three"]);
    assert_eq!(wrap("a-word-that-is-too-long b", 8), ["a-word-that-is-too-long", "b"]);
    assert_eq!(wrap("", 8), [""]);
}
