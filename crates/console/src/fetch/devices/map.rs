//! The fleet on a map: a faint point in the middle of every country, and a disc where devices are, the larger the more.

use std::collections::BTreeMap;

use malla_fetch::Country;
use maud::{Markup, html};

use super::countries::Figures;
use crate::words;

/// Of the drawing, in its own units: two for a degree, from 84° north to 56° south.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 280.0;
const NORTH: f64 = 84.0;
/// The discs' radius, from one device to the most.
const RADIUS: (f64, f64) = (5.0, 22.0);

/// Nothing if no device is in a country that is known.
pub(super) fn draw(by_country: &BTreeMap<&str, Figures>) -> Markup {
    let everywhere: Vec<(Country, f64, f64)> = Country::everywhere().collect();
    let mut there: Vec<_> = everywhere
        .iter()
        .filter_map(|(country, north, east)| Some((country, at(*north, *east), *by_country.get(country.as_str())?)))
        .collect();
    // Small discs over large ones.
    there.sort_by_key(|(_, _, figures)| std::cmp::Reverse(figures.devices));
    let most = there.first().map_or(1, |(_, _, figures)| figures.devices.max(1));
    let told: Vec<String> = there.iter().map(|(country, _, figures)| told(country, *figures)).collect();
    html! {
        @if !there.is_empty() {
            svg.plot.world viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-labelledby="world-title world-desc" {
                title #world-title { (t!("Where the devices are")) }
                desc #world-desc { (told.join("; ")) }
                @for (_, north, east) in &everywhere {
                    @let (x, y) = at(*north, *east);
                    circle.land cx=(unit(x)) cy=(unit(y)) r="2" {}
                }
                @for ((country, (x, y), figures), told) in there.iter().zip(&told) {
                    @let radius = radius(figures.devices, most);
                    circle.there.s-succeeded[figures.online > 0].s-discarded[figures.online == 0] cx=(unit(*x)) cy=(unit(*y)) r=(unit(radius)) {
                        title { (told) }
                    }
                    text.there-name x=(unit(*x)) y=(unit(y + radius + 13.0)) { (country) }
                }
            }
        }
    }
}

fn at(north: f64, east: f64) -> (f64, f64) {
    ((east + 180.0) / 360.0 * WIDTH, ((NORTH - north) * 2.0).clamp(RADIUS.0, HEIGHT - RADIUS.0))
}

/// Its area grows with the devices.
fn radius(devices: u64, most: u64) -> f64 {
    let share = (devices as f64 / most as f64).sqrt();
    if most == 1 { RADIUS.0 * 1.4 } else { RADIUS.0 + (RADIUS.1 - RADIUS.0) * share }
}

fn unit(value: f64) -> String {
    format!("{value:.1}")
}

fn told(country: &Country, figures: Figures) -> String {
    say!(
        "{country}: {}, {} online",
        country,
        counted!(figures.devices, "device", "devices"),
        words::count(figures.online)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_where_their_countries_are() {
        let figures = |online, devices| Figures { online, devices, pages: 0 };
        let drawn = draw(&BTreeMap::from([("AR", figures(1, 2)), ("DE", figures(0, 8)), ("?", figures(1, 1))]));
        let drawn = drawn.into_string();
        assert!(drawn.contains("DE: 8 devices, 0 online; AR: 2 devices, 1 online"), "{drawn}");
        assert_eq!(drawn.matches("class=\"there ").count(), 2, "{drawn}");
        // Argentina is south-west of Germany.
        let (argentina, germany) = (at(-34.0, -64.0), at(51.0, 10.0));
        assert!(argentina.0 < germany.0 && argentina.1 > germany.1);
        assert_eq!(draw(&BTreeMap::from([("?", figures(1, 1))])).into_string(), "");
    }
}
