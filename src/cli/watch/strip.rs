//! Draws a machine's last minutes as a row of blocks.

use crate::telemetry::tone::Tone;

/// Scales a strip of one letter per second to `columns` columns; `None` where the state is unknown. A column of several seconds
/// shows the worst of them, because the user looks for outages. The strip is `behind` seconds old; its last letter is assumed to
/// have lasted since.
pub fn columns(strip: &str, behind: u64, columns: usize) -> Vec<Option<Tone>> {
    let mut seconds: Vec<Option<Tone>> = strip.chars().map(Tone::of_letter).collect();
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

    fn drawn(strip: &str, behind: u64, wide: usize) -> String {
        columns(strip, behind, wide).into_iter().map(|tone| tone.map_or(' ', Tone::letter)).collect()
    }

    #[test]
    fn what_was_short_is_seen_at_any_width() {
        let strip = "   --WGGGGGGTGGGGGGG";
        assert_eq!(drawn(strip, 0, 20), strip);
        assert_eq!(drawn(strip, 0, 5), "-WGTG");
        assert_eq!(drawn(strip, 0, 3), "WTG");
        assert_eq!(drawn("GT", 0, 6), "GGGTTT");
        assert_eq!(drawn("GT", 0, 3), "GTT");
    }

    #[test]
    fn an_old_strip_has_moved_on() {
        assert_eq!(drawn("WTTG", 1, 4), "TTGG");
        assert_eq!(drawn("WTTG", u64::MAX, 4), "GGGG");
    }

    #[test]
    fn nonsense_in_a_record_is_drawn_and_does_not_panic() {
        for (strip, wide) in [("", 7), ("x\u{1b}\u{65e5}G", 3), ("G", 0), ("", 0)] {
            assert_eq!(columns(strip, 3, wide).len(), wide);
        }
    }
}
