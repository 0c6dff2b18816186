//! Draws the last minutes of a state machine as a row of blocks.

use crate::telemetry::tone::Tone;

/// Scales a sparkline of one letter per second to `columns` columns; a column is `None` where the state is unknown. A column of
/// several seconds shows the worst state of them, because the user looks for outages. The sparkline was written `behind` seconds
/// ago; the state of its last letter is assumed to have lasted since then.
pub fn columns(sparkline: &str, behind: u64, columns: usize) -> Vec<Option<Tone>> {
    let mut seconds: Vec<Option<Tone>> = sparkline.chars().map(Tone::of_letter).collect();
    let all = seconds.len();
    let passed = usize::try_from(behind).unwrap_or(all).min(all);
    if let Some(last) = seconds.last().copied() {
        seconds.drain(..passed);
        seconds.resize(all, last);
    }
    let part = |column: usize| {
        let from = column * all / columns;
        let to = ((column + 1) * all).div_ceil(columns);
        seconds.get(from..to).and_then(|part| part.iter().copied().max()).flatten()
    };
    (0..columns).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(sparkline: &str, behind: u64, wide: usize) -> String {
        columns(sparkline, behind, wide).into_iter().map(|tone| tone.map_or(' ', Tone::letter)).collect()
    }

    #[test]
    fn what_was_short_is_seen_at_any_width() {
        let sparkline = "   --WGGGGGGTGGGGGGG";
        assert_eq!(drawn(sparkline, 0, 20), sparkline);
        assert_eq!(drawn(sparkline, 0, 5), "-WGTG");
        assert_eq!(drawn(sparkline, 0, 3), "WTG");
        assert_eq!(drawn("GT", 0, 6), "GGGTTT");
        assert_eq!(drawn("GT", 0, 3), "GTT");
    }

    #[test]
    fn an_old_sparkline_has_moved_on() {
        assert_eq!(drawn("WTTG", 1, 4), "TTGG");
        assert_eq!(drawn("WTTG", u64::MAX, 4), "GGGG");
    }

    #[test]
    fn nonsense_in_a_record_is_drawn_and_does_not_panic() {
        for (sparkline, wide) in [("", 7), ("x\u{1b}\u{65e5}G", 3), ("G", 0), ("", 0)] {
            assert_eq!(columns(sparkline, 3, wide).len(), wide);
        }
    }
}
