//! What somebody wants compared, and the places that pages are asked for from.

use malla_queue::{Error, Result, UnixMs};
use serde::{Deserialize, Serialize};

use crate::{Device, DeviceId, PageUrl};

const URLS_MAX: usize = 50;
const PLACES_MAX: usize = 20;
const EVERY_MIN_S: u64 = 60;
const EVERY_MAX_S: u64 = 366 * 24 * 3_600;
const WAIT_MAX_S: u64 = 24 * 3_600;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompareSpec {
    pub urls: Vec<String>,
    /// Two capital letters each.
    pub countries: Vec<String>,
    /// Instead: from so many devices.
    pub devices: u32,
    /// Again after this long; 0: once.
    pub every_s: u64,
    /// How long a page waits for a device of its place.
    pub wait_s: u64,
}

impl Default for CompareSpec {
    fn default() -> Self {
        Self { urls: Vec::new(), countries: Vec::new(), devices: 0, every_s: 0, wait_s: 300 }
    }
}

impl CompareSpec {
    /// How many it asks for in one round.
    pub fn asks_for(&self) -> u64 {
        self.urls.len().saturating_mul(self.countries.len().max(self.devices as usize).max(1)) as u64
    }

    pub fn check(&self) -> Result<()> {
        let wrong = |why: String| Err(Error::Invalid(why));
        if self.urls.is_empty() || self.urls.len() > URLS_MAX {
            return wrong(format!("a comparison has 1 to {URLS_MAX} URLs"));
        }
        let places = self.countries.len().max(self.devices as usize);
        if self.countries.is_empty() == (self.devices == 0) {
            return wrong("say either from which countries the pages are compared, or from how many devices".into());
        }
        if !(2..=PLACES_MAX).contains(&places) {
            return wrong(format!("pages are compared from 2 to {PLACES_MAX} places"));
        }
        let is_country = |code: &&String| code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_uppercase());
        if let Some(code) = self.countries.iter().find(|code| !is_country(code)) {
            return wrong(format!("\"{code}\" is not a country: two capital letters, as in DE"));
        }
        let mut once = self.countries.clone();
        once.sort();
        once.dedup();
        if once.len() < self.countries.len() {
            return wrong("name each country once".into());
        }
        if self.every_s != 0 && !(EVERY_MIN_S..=EVERY_MAX_S).contains(&self.every_s) {
            return wrong(format!("a comparison is repeated every {EVERY_MIN_S} to {EVERY_MAX_S} s"));
        }
        if !(1..=WAIT_MAX_S).contains(&self.wait_s) {
            return wrong(format!("a page waits 1 to {WAIT_MAX_S} s for a device"));
        }
        self.pages().map(drop)
    }

    pub fn pages(&self) -> Result<Vec<PageUrl>> {
        let read = |text: &String| {
            let url =
                PageUrl::parse(text).map_err(|why| Error::Invalid(format!("\"{text}\" cannot be compared: {why}")))?;
            match crate::suspicious(&url) {
                Some(what) => Err(Error::Invalid(format!("\"{text}\" looks like an attack ({what})"))),
                None => Ok(url),
            }
        };
        self.urls.iter().map(read).collect()
    }
}

/// A page that waits for a device of a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPin {
    /// A country, or a device.
    pub place: String,
    pub url: PageUrl,
    /// It is answered without having been asked for after this.
    pub deadline: UnixMs,
}

impl NewPin {
    /// As it is answered.
    pub fn label(&self) -> String {
        format!("{} {}", self.place, self.url)
    }
}

pub fn place_of_device(id: DeviceId) -> String {
    format!("device:{}", id.0)
}

/// Whether a device is at a place.
pub fn fits(place: &str, device: &Device) -> bool {
    device.about.country.as_deref() == Some(place) || place == place_of_device(device.id)
}

/// What a comparison has come to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    pub rounds: u64,
    /// Rounds that were not as the one before.
    pub changes: u64,
    /// Of the round under way.
    pub deadline: Option<UnixMs>,
    pub places: Vec<String>,
    pub compared_at: Option<UnixMs>,
    pub next_at: Option<UnixMs>,
    /// Of the last round: how many URLs differ, and what names its differences.
    pub differing: u64,
    pub signature: Option<String>,
    pub note: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_comparison_is_refused_with_the_reason() {
        let spec = |change: fn(&mut CompareSpec)| {
            let countries = vec!["AR".to_owned(), "DE".to_owned()];
            let mut spec = CompareSpec { urls: vec!["https://a.example/".into()], countries, ..CompareSpec::default() };
            change(&mut spec);
            spec.check().map_err(|error| error.to_string())
        };
        assert_eq!(spec(|_| {}), Ok(()));
        for (wrong, words) in [
            (spec(|spec| spec.urls.clear()), "1 to 50 URLs"),
            (spec(|spec| spec.devices = 2), "say either"),
            (spec(|spec| spec.countries.clear()), "say either"),
            (spec(|spec| spec.countries.truncate(1)), "2 to 20 places"),
            (spec(|spec| spec.countries[1] = "de".into()), "is not a country"),
            (spec(|spec| spec.countries[1] = "AR".into()), "once"),
            (spec(|spec| spec.every_s = 1), "repeated every"),
            (spec(|spec| spec.urls[0] = "mailto:a".into()), "only http and https"),
        ] {
            assert!(wrong.as_ref().is_err_and(|why| why.contains(words)), "{wrong:?} lacks {words}");
        }
    }
}
