//! Which devices: read from the address.

use malla_fetch::{Device, DeviceId, DeviceState};
use malla_queue::UnixMs;

use super::STATES;
use crate::params::Params;
use crate::refusal::Refusal;

/// The filter's names in the address.
pub(super) const NAMES: &[&str] = &["state", "search"];

#[derive(Default)]
pub(super) struct Wanted {
    pub(super) state: Option<DeviceState>,
    /// Part of its name, owner, hostname, address or system, or its country; in lower case.
    search: Option<String>,
    after: Option<DeviceId>,
}

impl Wanted {
    pub(super) fn read(params: &Params) -> Result<Self, Refusal> {
        let named = |name: &str| STATES.into_iter().find(|state| state.name() == name);
        let no_state = |name: &str| Refusal::bad(say!("\"{name}\" is not a state: online, offline or blocked", name));
        let state = params.get("state").map(|name| named(name).ok_or_else(|| no_state(name))).transpose()?;
        let no_place = |text: &str| Refusal::bad(say!("\"{text}\" is not a place in this list", text));
        let after = params.get("cursor").map(|text| text.parse().map_err(|_| no_place(text))).transpose()?;
        Ok(Self { state, search: params.get("search").map(str::to_lowercase), after: after.map(DeviceId) })
    }

    pub(super) fn fits(&self, now: UnixMs, device: &Device) -> bool {
        self.state.is_none_or(|state| device.state(now) == state)
            && self.search.as_deref().is_none_or(|search| holds(device, search))
    }

    /// At most `rows` of them, and where the next ones begin.
    pub(super) fn page<'d>(
        &self,
        now: UnixMs,
        devices: &'d [Device],
        rows: usize,
    ) -> (Vec<&'d Device>, Option<DeviceId>) {
        let begin = self.after.and_then(|id| devices.iter().position(|device| device.id == id)).map_or(0, |at| at + 1);
        let mut found = devices[begin..].iter().filter(|device| self.fits(now, device));
        let page: Vec<&Device> = found.by_ref().take(rows).collect();
        let more = found.next().is_some();
        let next = page.last().filter(|_| more).map(|device| device.id);
        (page, next)
    }
}

fn holds(device: &Device, search: &str) -> bool {
    let about = &device.about;
    let texts = [&device.name, &device.owner, &about.hostname, &about.address, &about.system];
    texts.into_iter().any(|text| text.to_lowercase().contains(search))
        || about.country.as_ref().is_some_and(|country| country.eq_ignore_ascii_case(search))
}

#[cfg(test)]
mod tests {
    use malla_fetch::{About, Measures, Tally};

    use super::*;

    fn device(id: i64, name: &str, country: &str) -> Device {
        Device {
            id: DeviceId(id),
            name: name.into(),
            owner: "ana".into(),
            group: None,
            about: About { country: Some(country.into()), ..About::default() },
            blocked: id == 3,
            joined_at: UnixMs(0),
            seen_at: UnixMs(0),
            left: false,
            measures: Measures::default(),
            tally: Tally::default(),
        }
    }

    fn found(query: &str, rows: usize) -> (Vec<i64>, Option<i64>) {
        let devices = [device(7, "attic", "DE"), device(2, "Barn", "FR"), device(3, "cellar", "DE")];
        let wanted = Wanted::read(&Params::parse(query.as_bytes())).expect("reads");
        let (page, next) = wanted.page(UnixMs(0), &devices, rows);
        (page.iter().map(|device| device.id.0).collect(), next.map(|id| id.0))
    }

    #[test]
    fn devices_are_found_by_words_country_and_state_page_by_page() {
        for (query, rows, ids, next) in [
            ("", 9, vec![7, 2, 3], None),
            ("", 2, vec![7, 2], Some(2)),
            ("cursor=2", 2, vec![3], None),
            ("cursor=99", 9, vec![7, 2, 3], None),
            ("search=bar", 9, vec![2], None),
            ("search=de", 9, vec![7, 3], None),
            ("search=de", 1, vec![7], Some(7)),
            ("search=ANA&state=online", 9, vec![7, 2], None),
            ("state=blocked", 9, vec![3], None),
            ("state=offline", 9, vec![], None),
        ] {
            assert_eq!(found(query, rows), (ids, next), "{query}");
        }
        assert!(Wanted::read(&Params::from([("state", "asleep")])).is_err());
    }
}
