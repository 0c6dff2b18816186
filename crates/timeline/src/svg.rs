//! Draws a [`Timeline`] as an SVG picture. Time runs to the right, the lanes are at the top, and the calls are bars below them.
//!
//! The picture loads nothing and follows the reader's light or dark colour scheme. It repeats in words what its colours mean (in
//! titles, and with a word next to each colour). All foreign text is escaped.

use std::fmt::Write as _;
use std::time::Duration;

use super::text::span;
use super::{Call, Lane, Moment, Phase, Timeline, Tone, Verdict};

/// Width of the picture in SVG units; a page may scale it.
const WIDTH: f64 = 960.0;
/// Left edge of the drawing; the names are to its left.
const LEFT: f64 = 130.0;
/// Right edge of the drawing; the verdicts are to its right.
const RIGHT: f64 = 770.0;
/// Height of a lane, including the space below it.
const LANE_PITCH: f64 = 34.0;
/// Height of a call, including the space below it.
const CALL_PITCH: f64 = 17.0;
/// Height of a bar.
const BAR: f64 = 11.0;
/// Space above the first row.
const TOP: f64 = 18.0;
/// Width of the narrowest bar, so that a short time stays visible.
const BAR_WIDTH_MIN: f64 = 1.5;
/// Length of the longest name that fits, in characters.
const NAME_CHARS_MAX: usize = 19;
/// Length of the longest title, in characters.
const TITLE_CHARS_MAX: usize = 300;

/// The colours for light and dark schemes, with a class for each tone and for each phase except `Gone`. Colours are defined
/// nowhere else.
const STYLE: &str = "\
.tl{font:12px system-ui,sans-serif;color-scheme:light dark;--ink:#1c1f24;--dim:#6a7280;--line:#d5d9e0;--good:#1a7f4b;--wait:#b7791f;\
--unsure:#8250c4;--bad:#c9302c;--plain:#3b6fb6;--held:#e7c98a}\
@media(prefers-color-scheme:dark){.tl{--ink:#e6e8ec;--dim:#98a1b0;--line:#3a404b;--good:#4ac387;--wait:#e0a84a;--unsure:#b794f4;\
--bad:#f2706b;--plain:#7aa7e8;--held:#6b5a34}}\
.tl text{fill:var(--ink)}.tl .tl-dim{fill:var(--dim)}.tl .tl-end{text-anchor:end}.tl .tl-mid{text-anchor:middle}\
.tl .tl-grid{stroke:var(--line);stroke-width:1}\
.tl .tl-up{fill:var(--good);opacity:.55}.tl .tl-reloading{fill:var(--wait);opacity:.55}.tl .tl-frozen{fill:var(--plain);opacity:.55}\
.tl .tl-held{fill:var(--held)}\
.tl .tl-plain{fill:var(--plain);stroke:var(--plain)}.tl .tl-good{fill:var(--good);stroke:var(--good)}\
.tl .tl-waiting{fill:var(--wait);stroke:var(--wait)}.tl .tl-unsure{fill:var(--unsure);stroke:var(--unsure)}\
.tl .tl-trouble{fill:var(--bad);stroke:var(--bad)}.tl .tl-broken{fill:var(--bad);stroke:var(--ink);stroke-width:2}\
.tl text.tl-word{stroke:none}";

/// Escapes any text for XML, and replaces the characters that XML 1.0 does not allow.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(c),
            c if c < ' ' || ('\u{fffe}'..='\u{ffff}').contains(&c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

fn cut(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(chars.saturating_sub(1)).collect();
    short.push('…');
    short
}

fn phase_class(phase: Phase) -> (&'static str, &'static str) {
    match phase {
        Phase::Gone => ("tl-gone", "gone"),
        Phase::Up => ("tl-up", "up"),
        Phase::Reloading => ("tl-reloading", "reloading"),
        Phase::Frozen => ("tl-frozen", "frozen"),
    }
}

fn tone_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "tl-plain",
        Tone::Good => "tl-good",
        Tone::Waiting => "tl-waiting",
        Tone::Unsure => "tl-unsure",
        Tone::Trouble => "tl-trouble",
        Tone::Broken => "tl-broken",
    }
}

/// Returns the class of a call's bar.
fn verdict_class(verdict: Option<Verdict>) -> &'static str {
    verdict.map_or("tl-plain", |verdict| tone_class(verdict.tone()))
}

struct Drawing {
    end: Duration,
    lanes: usize,
    out: String,
}

/// Draws the timeline. `title` is the label that a screen reader reads out first.
pub fn draw(timeline: &Timeline, title: &str) -> String {
    let lanes_height = timeline.lanes.len() as f64 * LANE_PITCH;
    let calls_height = timeline.calls.len() as f64 * CALL_PITCH;
    let bottom = TOP + lanes_height + calls_height;
    let height = bottom + 44.0;
    let end = timeline.end().max(Duration::from_millis(1));
    let mut drawing = Drawing { end, lanes: timeline.lanes.len(), out: String::new() };
    let _ = write!(
        drawing.out,
        "<svg class=\"tl\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" \
         aria-label=\"{label}\"><style>{STYLE}</style>",
        label = escape(&cut(title, TITLE_CHARS_MAX))
    );
    drawing.grid(bottom);
    for (row, lane) in timeline.lanes.iter().enumerate() {
        drawing.lane(row, lane);
    }
    for moment in &timeline.moments {
        drawing.moment(moment);
    }
    for (row, call) in timeline.calls.iter().enumerate() {
        drawing.call(TOP + lanes_height + row as f64 * CALL_PITCH, call);
    }
    drawing.legend(height - 8.0);
    drawing.out.push_str("</svg>\n");
    drawing.out
}

impl Drawing {
    fn x(&self, at: Duration) -> f64 {
        let share = (at.as_secs_f64() / self.end.as_secs_f64()).clamp(0.0, 1.0);
        LEFT + share * (RIGHT - LEFT)
    }

    fn axis(&self, lane: usize) -> f64 {
        TOP + lane.min(self.lanes.saturating_sub(1)) as f64 * LANE_PITCH + BAR / 2.0
    }

    fn text(&mut self, x: f64, y: f64, class: &str, text: &str) {
        let _ = write!(self.out, "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{}</text>", escape(text));
    }

    fn bar(&mut self, from: Duration, to: Duration, y: f64, class: &str, title: &str) {
        let (left, right) = (self.x(from), self.x(to));
        let width = (right - left).max(BAR_WIDTH_MIN);
        let _ = write!(
            self.out,
            "<rect x=\"{left:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\" class=\"{class}\"><title>{}</title></rect>",
            escape(&cut(title, TITLE_CHARS_MAX))
        );
    }

    /// Draws vertical lines at round times, about ten at most.
    fn grid(&mut self, bottom: f64) {
        let ms = self.end.as_millis().max(1);
        let steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 300_000, 600_000];
        let step = steps.into_iter().find(|step| ms / step <= 10).unwrap_or(ms.div_ceil(10));
        for tick in 0..=ms / step {
            let at = Duration::from_millis(u64::try_from(tick * step).unwrap_or(u64::MAX));
            let x = self.x(at);
            let _ = write!(
                self.out,
                "<line x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\" class=\"tl-grid\"/>",
                TOP - 6.0
            );
            let label = if step >= 1000 {
                format!("{} s", at.as_secs())
            } else if ms < 1000 {
                format!("{} ms", at.as_millis())
            } else {
                format!("{:.1} s", at.as_secs_f64())
            };
            self.text(x, bottom + 13.0, "tl-dim tl-mid", &label);
        }
    }

    fn lane(&mut self, row: usize, lane: &Lane) {
        let y = TOP + row as f64 * LANE_PITCH;
        self.text(LEFT - 8.0, y + 10.0, "tl-end", &cut(&lane.name, NAME_CHARS_MAX));
        for (index, (since, phase)) in lane.phases.iter().enumerate() {
            if *phase == Phase::Gone {
                continue;
            }
            let until = lane.phases.get(index + 1).map_or(self.end, |(next, _)| *next);
            let (class, word) = phase_class(*phase);
            let title = format!("{}: {word} from {} to {}", lane.name, span(*since), span(until));
            self.bar(*since, until, y, class, &title);
        }
    }

    fn moment(&mut self, moment: &Moment) {
        if self.lanes == 0 {
            return;
        }
        let x = self.x(moment.at);
        let (from, to) = (self.axis(moment.from), self.axis(moment.to));
        let class = tone_class(moment.tone);
        let measured = moment.measured.map(|measured| format!(" ({})", span(measured))).unwrap_or_default();
        let title = format!("{}: {}{measured}", span(moment.at), moment.text);
        let _ = write!(self.out, "<g class=\"{class}\"><title>{}</title>", escape(&cut(&title, TITLE_CHARS_MAX)));
        if from == to {
            let _ = write!(self.out, "<circle cx=\"{x:.1}\" cy=\"{from:.1}\" r=\"3\"/>");
        } else {
            let back = if to > from { -5.0 } else { 5.0 };
            let _ = write!(
                self.out,
                "<line x1=\"{x:.1}\" y1=\"{from:.1}\" x2=\"{x:.1}\" y2=\"{to:.1}\"/>\
                 <path d=\"M{x:.1} {to:.1}l-3 {back}h6z\"/>"
            );
        }
        self.out.push_str("</g>");
    }

    fn call(&mut self, y: f64, call: &Call) {
        let verdict = call.end.map(|(_, verdict)| verdict);
        let until = call.end.map_or(self.end, |(at, _)| at);
        let class = verdict_class(verdict);
        let word = match call.end {
            Some((at, verdict)) => format!("{} {}", verdict.word(), span(at.saturating_sub(call.asked))),
            None => "no answer".to_owned(),
        };
        self.text(LEFT - 8.0, y + 10.0, "tl-end", &cut(&call.name, NAME_CHARS_MAX));
        let held_until = call.sent.unwrap_or(until);
        if held_until > call.asked || call.sent.is_none() {
            let title = format!("{}: held for {}", call.name, span(held_until.saturating_sub(call.asked)));
            self.bar(call.asked, held_until, y, "tl-held", &title);
        }
        if let Some(sent) = call.sent {
            let title = format!("{}: with the editor for {}; {word}", call.name, span(until.saturating_sub(sent)));
            self.bar(sent, until, y, class, &title);
        }
        self.text(RIGHT + 10.0, y + 10.0, &format!("tl-word {class}"), &word);
    }

    fn legend(&mut self, y: f64) {
        let parts = [
            ("tl-up", "up"),
            ("tl-reloading", "reloading, unreachable"),
            ("tl-frozen", "frozen"),
            ("tl-held", "call held"),
            ("tl-good", "call sent: ok"),
            ("tl-trouble", "failed"),
            ("tl-unsure", "outcome unknown"),
        ];
        let mut x = LEFT;
        for (class, word) in parts {
            let _ = write!(
                self.out,
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"12\" height=\"9\" class=\"{class}\"/>",
                y - 9.0
            );
            self.text(x + 16.0, y, "tl-dim", word);
            x += 34.0 + word.len() as f64 * 6.2;
        }
    }
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn session() -> Timeline {
        let mut timeline = Timeline::new(["client", "gateway", "Unity"]);
        timeline.enters(2, ms(0), Phase::Up);
        timeline.enters(2, ms(2000), Phase::Reloading);
        timeline.enters(2, ms(3000), Phase::Up);
        timeline.moments.push(Moment {
            at: ms(2000),
            from: 2,
            to: 0,
            tone: Tone::Trouble,
            text: "a <b>reload</b> & \"more\"\u{1b}[31m".to_owned(),
            measured: Some(ms(12)),
        });
        timeline.calls = vec![
            Call { name: "#1 count".into(), asked: ms(2500), sent: Some(ms(3000)), end: Some((ms(4000), Verdict::Ok)) },
            Call {
                name: "#2 </text>".into(),
                asked: ms(2600),
                sent: None,
                end: Some((ms(3600), Verdict::NotExecuted)),
            },
            Call { name: "#3 open".into(), asked: ms(3900), sent: Some(ms(3900)), end: None },
        ];
        timeline
    }

    /// Checks that tags close in the reverse order of their opening, and that text contains no bare `<` or `&`. The picture uses
    /// no other features of XML.
    fn assert_well_formed(svg: &str) {
        let mut open: Vec<String> = Vec::new();
        let mut rest = svg;
        while let Some((text, after)) = rest.split_once('<') {
            assert!(!text.contains('>') || open.last().is_some_and(|tag| tag == "style"), "{text}");
            for entity in text.split('&').skip(1) {
                assert!(entity.split_once(';').is_some_and(|(name, _)| name.len() <= 4), "&{entity}");
            }
            let (tag, after) = after.split_once('>').expect("a tag ends");
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            match tag.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop().as_deref(), Some(name)),
                None if tag.ends_with('/') => {}
                None => open.push(tag.split(' ').next().unwrap_or_default().to_owned()),
            }
            rest = after;
        }
        assert!(open.is_empty(), "{open:?}");
        assert!(!svg.chars().any(|c| c.is_control() && c != '\n'));
    }

    /// Returns the position and width of the bar with this title.
    fn bar(svg: &str, title: &str) -> (f64, f64) {
        let before = svg.split(title).next().expect("the title").rsplit("<rect ").next().expect("its bar");
        let number = |name: &str| -> f64 {
            let value = before.split(&format!("{name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
            value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name} in {before}"))
        };
        (number("x"), number("width"))
    }

    #[test]
    fn bars_stand_where_their_times_are() {
        let svg = draw(&session(), "a session");
        let second = (RIGHT - LEFT) / 4.0;
        let close = |a: f64, b: f64| assert!((a - b).abs() < 0.11, "{a} {b}\n{svg}");
        let (x, width) = bar(&svg, "Unity: reloading");
        close(x, LEFT + 2.0 * second);
        close(width, second);
        let (x, width) = bar(&svg, "#1 count: held");
        close(x, LEFT + 2.5 * second);
        close(width, 0.5 * second);
        let (x, width) = bar(&svg, "#1 count: with the editor");
        close(x, LEFT + 3.0 * second);
        close(width, second);
        assert!(!svg.contains("#2 &lt;/text&gt;: with the editor"), "what was never sent has no such bar");
        assert!(svg.contains("not executed 1.00 s") || svg.contains("not executed 1.0 s"), "{svg}");
        assert!(svg.contains(">no answer<"));
    }

    #[test]
    fn foreign_text_stays_text_and_nothing_is_fetched() {
        let svg = draw(&session(), "<script>\"x\"</script>");
        assert_well_formed(&svg);
        assert!(!svg.contains("<script") && !svg.contains("<b>") && !svg.contains('\u{1b}'));
        assert!(svg.contains("a &lt;b&gt;reload&lt;/b&gt; &amp; &quot;more&quot;"));
        for outside in ["href", "url(", "@import", "src="] {
            assert!(!svg.contains(outside), "{outside}");
        }
        assert_eq!(svg.matches("http").count(), 1, "the name space and no other address");
    }

    #[test]
    fn it_follows_the_readers_scheme_and_every_class_has_a_colour_in_both() {
        let svg = draw(&session(), "x");
        let (light, dark) = STYLE.split_once("@media(prefers-color-scheme:dark)").expect("a dark scheme");
        assert!(svg.contains(STYLE));
        let dark = dark.split_once("}}").expect("its end").0;
        let names = |part: &str| -> Vec<String> {
            let names = part.split("--").skip(1).map(|rest| rest.split(':').next().unwrap_or_default().to_owned());
            names.collect()
        };
        assert_eq!(names(light), names(dark));
        let tones = Tone::VARIANTS.iter().map(|tone| tone_class(*tone));
        let phases = Phase::VARIANTS.iter().filter(|phase| **phase != Phase::Gone).map(|phase| phase_class(*phase).0);
        for class in tones.chain(phases) {
            assert!(STYLE.contains(&format!(".{class}{{fill:var(")), "{class}");
        }
    }

    #[test]
    fn an_empty_or_odd_timeline_is_drawn_too() {
        assert_well_formed(&draw(&Timeline::default(), ""));
        let mut odd = Timeline::new(["only"]);
        let far = Moment { at: ms(0), from: 9, to: 7, tone: Tone::Broken, text: "\0".repeat(1000), measured: None };
        odd.moments.push(far);
        odd.calls.push(Call {
            name: "x".repeat(500),
            asked: ms(9),
            sent: Some(ms(5)),
            end: Some((ms(1), Verdict::Internal)),
        });
        let svg = draw(&odd, "odd");
        assert_well_formed(&svg);
        assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains("width=\"-"), "{svg}");
        assert!(svg.len() < 10_000);
        assert_well_formed(&draw(&Timeline { moments: odd.moments, ..Timeline::default() }, "no lanes"));
        let mut long = Timeline::new(["long"]);
        long.enters(0, Duration::MAX, Phase::Up);
        let svg = draw(&long, "long");
        assert!(svg.matches("tl-grid").count() < 20 && !svg.contains("NaN"));
    }
}
