//! Where the devices are: how many in each country, and what they brought.

use std::collections::BTreeMap;

use malla_fetch::{Device, DeviceState};
use malla_queue::UnixMs;
use maud::{Markup, html};

use super::map;
use crate::{parts, words};

/// Countries with a line of their own.
const SHOWN_MAX: usize = 20;
/// Marks in place of a country.
const UNKNOWN: &str = "?";
const OTHERS: &str = "+";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Figures {
    pub(super) online: u64,
    pub(super) devices: u64,
    pub(super) pages: u64,
}

impl Figures {
    fn add(&mut self, other: Figures) {
        self.online += other.online;
        self.devices += other.devices;
        self.pages += other.pages;
    }
}

pub(super) fn card(now: UnixMs, devices: &[Device]) -> Markup {
    let rows = count(now, devices);
    let most_devices = rows.iter().map(|(_, figures)| figures.devices).max().unwrap_or(0);
    let most_pages = rows.iter().map(|(_, figures)| figures.pages).max().unwrap_or(0);
    html! {
        section.card {
            div.card-head { h2 { (t!("By country")) } }
            (map::draw(&by_country(now, devices)))
            table.rows.dense {
                thead { tr { th { (t!("Country")) } th.num { (t!("Devices")) } th {} th.num { (t!("Pages")) } th {} } }
                tbody { @for (country, figures) in &rows { tr {
                    td data-label=(t!("Country")) { @match country.as_str() {
                            UNKNOWN => span.quiet { (t!("not known")) },
                            OTHERS => span.quiet { (t!("others")) },
                            country => (country),
                        } }
                    td.num data-label=(t!("Devices")) { (words::count(figures.devices)) }
                    td.bar { (devices_bar(*figures, most_devices)) }
                    td.num data-label=(t!("Pages")) { (words::count(figures.pages)) }
                    td.bar { (parts::stacked(&[("running", t!("pages"), figures.pages)], most_pages)) }
                } } }
            }
        }
    }
}

fn devices_bar(figures: Figures, most: u64) -> Markup {
    let away = figures.devices - figures.online;
    parts::stacked(&[("succeeded", t!("online"), figures.online), ("discarded", t!("not online"), away)], most)
}

fn by_country(now: UnixMs, devices: &[Device]) -> BTreeMap<&str, Figures> {
    let mut by_country: BTreeMap<&str, Figures> = BTreeMap::new();
    for device in devices {
        let online = u64::from(device.state(now) == DeviceState::Online);
        let country = device.about.country.as_deref().unwrap_or(UNKNOWN);
        by_country.entry(country).or_default().add(Figures { online, devices: 1, pages: device.tally.pages });
    }
    by_country
}

/// Each country with its figures, the one with most devices first; the small ones together at the end.
fn count(now: UnixMs, devices: &[Device]) -> Vec<(String, Figures)> {
    let counted = by_country(now, devices).into_iter();
    let mut rows: Vec<(String, Figures)> = counted.map(|(country, figures)| (country.to_owned(), figures)).collect();
    rows.sort_by_key(|(_, figures)| std::cmp::Reverse((figures.devices, figures.pages)));
    if rows.len() > SHOWN_MAX {
        let mut others = Figures::default();
        rows.drain(SHOWN_MAX - 1..).for_each(|(_, figures)| others.add(figures));
        rows.push((OTHERS.to_owned(), others));
    }
    rows
}

#[cfg(test)]
mod tests {
    use malla_fetch::{About, DeviceId, Measures, Tally};

    use super::*;

    fn device(country: Option<&str>, pages: u64, left: bool) -> Device {
        Device {
            id: DeviceId(1),
            name: "pi".into(),
            owner: "ana".into(),
            group: None,
            about: About { country: country.map(str::to_owned), ..About::default() },
            blocked: false,
            joined_at: UnixMs(0),
            seen_at: UnixMs(0),
            left,
            measures: Measures::default(),
            tally: Tally { pages, ..Tally::default() },
        }
    }

    #[test]
    fn countries_are_counted_and_the_small_ones_put_together() {
        let mut devices = vec![device(Some("DE"), 5, false), device(None, 9, false), device(Some("DE"), 1, true)];
        let rows = count(UnixMs(0), &devices);
        assert_eq!(
            rows,
            [
                ("DE".to_owned(), Figures { online: 1, devices: 2, pages: 6 }),
                (UNKNOWN.to_owned(), Figures { online: 1, devices: 1, pages: 9 }),
            ]
        );
        for letter in b'A'..=b'Z' {
            devices.push(device(Some(&format!("X{}", char::from(letter))), 0, false));
        }
        let rows = count(UnixMs(0), &devices);
        assert_eq!((rows.len(), rows[0].0.as_str(), rows[19].0.as_str()), (20, "DE", OTHERS));
        assert_eq!(rows.iter().map(|(_, figures)| figures.devices).sum::<u64>(), 29);
    }
}
