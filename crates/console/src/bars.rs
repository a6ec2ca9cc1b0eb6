//! Things compared by their length: a list with a name, a bar for each series and the figures beside it.

use maud::{Markup, html};

/// The thickness of a bar and the space below it, in the drawing's own units.
const BAR: usize = 4;
const GAP: usize = 1;

/// One thing with its values, one for each series.
pub(crate) struct Compared<'a, const N: usize> {
    pub(crate) name: &'a str,
    pub(crate) values: [f64; N],
    /// The values in words.
    pub(crate) told: String,
}

/// Bars as long as their values, the longest of all across the whole width; `tones` are the states whose colours the
/// series have.
pub(crate) fn bars<const N: usize>(label: &str, tones: [&str; N], things: &[Compared<'_, N>]) -> Markup {
    let most = things.iter().flat_map(|thing| thing.values).filter(|value| value.is_finite()).fold(0.0, f64::max);
    let height = N * BAR + N.saturating_sub(1) * GAP;
    html! {
        ol.bars aria-label=(label) {
            @for thing in things { li {
                span.bar-name title=(thing.name) { (thing.name) }
                svg viewBox={ "0 0 100 " (height) } preserveAspectRatio="none" aria-hidden="true" class={ "bars-of-" (N) } {
                    @for (nth, (value, tone)) in thing.values.into_iter().zip(tones).enumerate() {
                        rect class={ "s-" (tone) } y=(nth * (BAR + GAP)) width=(share(value, most)) height=(BAR) {}
                    }
                }
                span.bar-told { (thing.told) }
            } }
        }
    }
}

/// Of a hundred.
fn share(value: f64, most: f64) -> String {
    let share = if value.is_finite() && most > 0.0 { (value * 100.0 / most).clamp(0.0, 100.0) } else { 0.0 };
    format!("{share:.2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(things: &[(&str, [f64; 2])]) -> String {
        let things = things.iter().map(|(name, values)| Compared { name, values: *values, told: "x".into() });
        bars("Stations", ["queued", "running"], &things.collect::<Vec<_>>()).into_string()
    }

    #[test]
    fn bars_share_the_width_of_the_longest() {
        let text = drawn(&[("a", [10.0, 40.0]), ("b", [0.0, 20.0])]);
        for bar in [
            r#"class="s-queued" y="0" width="25.00""#,
            r#"class="s-running" y="5" width="100.00""#,
            r#"class="s-running" y="5" width="50.00""#,
        ] {
            assert!(text.contains(bar), "{bar} is not in {text}");
        }
    }

    #[test]
    fn names_are_escaped_and_odd_numbers_draw_nothing() {
        let text = drawn(&[("\"><script>", [f64::NAN, f64::INFINITY]), ("b", [0.0, -1.0])]);
        assert!(!text.contains("<script>") && text.contains("&quot;&gt;&lt;script&gt;"), "{text}");
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        assert_eq!(text.matches("width=\"0.00\"").count(), 4, "{text}");
    }
}
