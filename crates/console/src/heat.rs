//! A field of squares, darker where more happened: days of the week by hours of the day.

use maud::{Markup, html};

use crate::tongue::Noun;
use crate::words;

/// Of a square, and between squares, in the drawing's own units.
const SIDE: usize = 18;
const GAP: usize = 2;
/// Names of the rows stand on the left, hours below.
const LEFT: usize = 36;
const BOTTOM: usize = 18;
/// An hour is named every so many.
const HOURS_NAMED: usize = 3;
/// The lightest square that is not empty.
const FAINTEST: f64 = 0.12;

/// Counts of each hour (UTC) of each day, Monday first. `id` is unique in its page.
pub(crate) fn week(id: &str, title: &str, thing: Noun, counts: &[[u64; 24]; 7]) -> Markup {
    let most = counts.iter().flatten().copied().max().unwrap_or(0);
    let (title_id, described) = (format!("{id}-title"), format!("{id}-desc"));
    let (width, height) = (LEFT + 24 * (SIDE + GAP), 7 * (SIDE + GAP) + BOTTOM);
    html! {
        svg.plot.heat viewBox={ "0 0 " (width) " " (height) } role="img" aria-labelledby={ (title_id) " " (described) } {
            title id=(title_id) { (title) }
            desc id=(described) { (told(thing, counts)) }
            @for (day, hours) in counts.iter().enumerate() {
                @let y = day * (SIDE + GAP);
                text.number x=(LEFT - 6) y=(y + SIDE - 5) { (words::DAYS[day]) }
                @for (hour, count) in hours.iter().enumerate() {
                    rect.s-running.none[*count == 0] x=(LEFT + hour * (SIDE + GAP)) y=(y) width=(SIDE) height=(SIDE) rx="3"
                        fill-opacity=[(*count > 0).then(|| strength(*count, most))] {
                        title { (words::DAYS[day]) " " (hour) ":00: " (words::counted(*count, thing)) }
                    }
                }
            }
            @for hour in (0..24).step_by(HOURS_NAMED) {
                text.time x=(LEFT + hour * (SIDE + GAP) + SIDE / 2) y=(height - 4) { (hour) }
            }
        }
    }
}

/// Of one, as an attribute.
fn strength(count: u64, most: u64) -> String {
    let share = count as f64 / most.max(1) as f64;
    format!("{:.2}", FAINTEST + (1.0 - FAINTEST) * share)
}

/// For those who do not see it.
fn told(thing: Noun, counts: &[[u64; 24]; 7]) -> String {
    let all = counts.iter().enumerate().flat_map(|(day, hours)| hours.iter().enumerate().map(move |hour| (day, hour)));
    match all.max_by_key(|(_, (_, count))| **count) {
        Some((day, (hour, count))) if *count > 0 => {
            say!("Most on {} at {hour}:00 (UTC): {}.", words::DAYS[day].get(), hour, words::counted(*count, thing))
        }
        _ => say!("No {}.", thing.many.get()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_hour_is_the_darkest_and_is_told() {
        let mut counts = [[0; 24]; 7];
        (counts[2][13], counts[6][0]) = (1_200, 600);
        let text = week("w", "When", noun!("edit", "edits"), &counts).into_string();
        assert!(text.contains("Most on Wed at 13:00 (UTC): 1,200 edits."), "{text}");
        assert!(text.contains("fill-opacity=\"1.00\"") && text.contains("fill-opacity=\"0.56\""), "{text}");
        assert_eq!(text.matches("<rect").count(), 7 * 24);
        assert_eq!(text.matches("fill-opacity").count(), 2);
        assert!(!text.contains("style="), "nothing inline: the policy forbids it");
    }

    #[test]
    fn nothing_is_told_as_nothing() {
        assert!(week("w", "When", noun!("edit", "edits"), &[[0; 24]; 7]).into_string().contains("No edits."));
    }
}
