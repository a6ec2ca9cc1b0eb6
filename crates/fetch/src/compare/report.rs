//! What differs between the answers that came from several places.

use std::collections::BTreeMap;

use malla_queue::{Result, UnixMs};
use serde::{Deserialize, Serialize};

use crate::text::{of_page, passages, similarity};
use crate::{Answered, NOT_ASKED, Page, PageUrl, UrlKey};

/// Texts that have more in common are the same page: ads, dates and tokens differ everywhere.
const ALIKE: f32 = 0.9;
/// Of a page's text, so much is compared.
const TEXT_BYTES_MAX: usize = 100_000;
const PASSAGES_MAX: usize = 20;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub at: UnixMs,
    pub urls: Vec<UrlReport>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UrlReport {
    pub url: String,
    /// Whether a place got something else than the others.
    pub differs: bool,
    pub places: Vec<PlaceReport>,
}

/// What came from one place, against what most places got.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlaceReport {
    pub place: String,
    pub device: Option<String>,
    pub status: u16,
    pub final_url: String,
    pub bytes: u64,
    /// From 0 (nothing in common) to 1 (the same); `None` if there is no text to compare.
    pub similarity: Option<f32>,
    /// Lines that are missing here, and lines that are only here.
    pub missing: Vec<String>,
    pub extra: Vec<String>,
    pub differs: bool,
    /// No device of the place was there, or something went wrong.
    pub note: Option<String>,
}

/// An answer from a place, as far as it is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported {
    place: String,
    url: String,
    device: Option<String>,
    status: u16,
    final_url: String,
    bytes: u64,
    text: Option<String>,
    note: Option<String>,
}

impl Reported {
    /// Reads an answer whose label is a place and a URL.
    pub fn read(answer: &Answered) -> Result<Self> {
        let (place, url) = answer.url.split_once(' ').unwrap_or(("", &answer.url));
        let page: &Page = &answer.page;
        let good = (200..300).contains(&page.status);
        let mut text = if good { of_page(page, None)? } else { None };
        if let Some(text) = text.as_mut().filter(|text| text.len() > TEXT_BYTES_MAX) {
            let cut = text.char_indices().map(|(at, _)| at).take_while(|at| *at <= TEXT_BYTES_MAX).last().unwrap_or(0);
            text.truncate(cut);
        }
        Ok(Self {
            place: place.to_owned(),
            url: url.to_owned(),
            device: page.device.clone(),
            status: page.status,
            // A place where nobody was has none.
            final_url: if page.status == NOT_ASKED { url.to_owned() } else { page.url.clone() },
            bytes: page.body.bytes,
            text,
            note: page.trouble.as_ref().map(|trouble| trouble.note.clone()),
        })
    }
}

/// Compares what came, URL by URL, in the order of `urls` and of the places.
pub fn report(urls: &[PageUrl], answers: &[Reported], at: UnixMs) -> Report {
    let of = |url: &PageUrl| {
        let mut of_url: Vec<&Reported> = answers.iter().filter(|answer| answer.url == url.as_str()).collect();
        of_url.sort_by(|a, b| a.place.cmp(&b.place));
        let usual = usual(&of_url);
        let places: Vec<PlaceReport> = of_url.iter().map(|answer| place(answer, usual)).collect();
        UrlReport { url: url.to_string(), differs: places.iter().any(|place| place.differs), places }
    };
    Report { at, urls: urls.iter().map(of).collect() }
}

/// What most places got: the same status, address and text. If all got something else, the first with a text.
fn usual<'a>(answers: &[&'a Reported]) -> Option<&'a Reported> {
    let asked: Vec<&&Reported> = answers.iter().filter(|answer| answer.status != NOT_ASKED).collect();
    let mut counts: BTreeMap<(u16, &str, Option<UrlKey>), usize> = BTreeMap::new();
    let name = |answer: &&'a Reported| {
        let text = answer.text.as_ref().map(|text| UrlKey::of_bytes(text.as_bytes()));
        (answer.status, answer.final_url.as_str(), text)
    };
    asked.iter().for_each(|answer| *counts.entry(name(answer)).or_default() += 1);
    let most = counts.values().copied().max()?;
    let is_good = |answer: &&&&Reported| (200..300).contains(&answer.status);
    let of_most = || asked.iter().filter(|answer| counts[&name(answer)] == most);
    of_most().find(is_good).or_else(|| of_most().next()).map(|answer| **answer)
}

fn place(answer: &Reported, usual: Option<&Reported>) -> PlaceReport {
    let nobody = answer.status == NOT_ASKED;
    let texts = answer.text.as_deref().zip(usual.and_then(|usual| usual.text.as_deref()));
    let alike = texts.map(|(text, usual)| similarity(usual, text));
    let (missing, extra) = match texts.filter(|(text, usual)| text != usual) {
        Some((text, usual)) => (passages(usual, text, PASSAGES_MAX), passages(text, usual, PASSAGES_MAX)),
        None => (Vec::new(), Vec::new()),
    };
    let elsewhere = |usual: &Reported| {
        answer.status != usual.status
            || answer.final_url != usual.final_url
            || answer.text.is_some() != usual.text.is_some()
    };
    let differs = !nobody && (usual.is_some_and(elsewhere) || alike.is_some_and(|alike| alike < ALIKE));
    PlaceReport {
        place: answer.place.clone(),
        device: answer.device.clone(),
        status: answer.status,
        final_url: answer.final_url.clone(),
        bytes: answer.bytes,
        similarity: alike,
        missing,
        extra,
        differs,
        note: answer.note.clone(),
    }
}

impl Report {
    pub fn differing(&self) -> u64 {
        self.urls.iter().filter(|url| url.differs).count() as u64
    }

    /// Names what differs where, so that two rounds can be told apart. Where nobody was, nothing is known.
    pub fn signature(&self) -> String {
        let mut text = String::new();
        for url in &self.urls {
            for place in url.places.iter().filter(|place| place.status != NOT_ASKED) {
                text.push_str(&format!(
                    "{} {} {} {} {}\n",
                    url.url, place.place, place.status, place.final_url, place.differs
                ));
            }
        }
        UrlKey::of_bytes(text.as_bytes()).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn came(place: &str, status: u16, text: &str) -> Reported {
        let url = "https://a.example/".to_owned();
        let good = status == 200;
        Reported {
            place: place.into(),
            url: url.clone(),
            device: None,
            status,
            final_url: url,
            bytes: 1,
            text: good.then(|| text.to_owned()),
            note: None,
        }
    }

    fn compare(answers: &[Reported]) -> Report {
        report(&[PageUrl::parse("https://a.example/").expect("a URL")], answers, UnixMs(0))
    }

    const TEXT: &str = "one two three four five six\nseven eight nine ten\neleven twelve thirteen\n";

    #[test]
    fn places_are_held_against_what_most_got() {
        let cut = "one two three four five six\n";
        let found = compare(&[came("AR", 200, TEXT), came("DE", 200, cut), came("US", 200, TEXT), came("FR", 451, "")]);
        let [url] = &found.urls[..] else { panic!("one URL") };
        let differing: Vec<&str> =
            url.places.iter().filter(|place| place.differs).map(|place| place.place.as_str()).collect();
        assert_eq!((differing, found.differing()), (vec!["DE", "FR"], 1));
        let de = url.places.iter().find(|place| place.place == "DE").expect("it is there");
        assert_eq!(de.missing, ["seven eight nine ten", "eleven twelve thirteen"]);
        assert!(de.similarity.is_some_and(|alike| alike < ALIKE));
    }

    #[test]
    fn ads_and_dates_make_no_difference_and_nobody_is_no_difference() {
        let long: String = (0..100).map(|n| format!("line {n} of a page\n")).collect();
        let dated = long.replace("line 50 of", "line 51 on");
        let found = compare(&[came("AR", 200, &long), came("DE", 200, &dated), came("US", NOT_ASKED, "")]);
        assert_eq!(found.differing(), 0);
        let again = compare(&[came("AR", 200, &dated), came("DE", 200, &long)]);
        assert_eq!(found.signature(), again.signature());
        let blocked = compare(&[came("AR", 200, &long), came("DE", 403, "")]);
        assert_ne!(found.signature(), blocked.signature());
    }
}
