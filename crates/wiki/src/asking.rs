//! Takes extractions in: whose history somebody wants, checked, with its first step.

use std::sync::Arc;

use malla_queue::{Act, Error, GroupId, Kind, NewTask, Result};
use url::Url;

use crate::extraction::{EXTRACT, Extraction, NewExtraction};
use crate::mediawiki::Template;
use crate::site::{lane_of, lane_settings};
use crate::verbs::Wikis;
use crate::walker::{Aim, Payload, retry_delays};

/// The locale of who does not say.
const LOCALE: &str = "en";
/// MediaWiki allows 255 without the namespace.
const TITLE_BYTES_MAX: usize = 512;
const URL_BYTES_MAX: usize = 2_048;

/// What somebody wants the history of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Title { title: String, locale: Option<String> },
    Url(String),
}

/// Takes extractions in.
pub struct Asking {
    pub wikis: Arc<dyn Wikis>,
    /// Who asks. Without it no request leaves.
    pub contact: String,
    /// Where the wiki of a locale is.
    pub template: String,
    pub gap_ms: u64,
    pub extractions_max: u64,
}

impl Asking {
    /// Takes one in; it goes on by itself from here.
    pub async fn extract(&self, group: Option<GroupId>, target: Target, act: Act) -> Result<Extraction> {
        if self.contact.trim().is_empty() {
            return Err(Error::NotAvailable(
                "wikis must be told who asks: set wiki.contact (MALLA_WIKI_CONTACT) to a page or an e-mail address"
                    .into(),
            ));
        }
        let (asked, aim) = self.aim(target)?;
        let key = match &aim.title {
            Some(title) => format!("{} {title}", aim.url),
            None => aim.url.to_string(),
        };
        let payload = Payload::first(aim.clone());
        let first = NewTask {
            lane_settings: lane_settings(self.gap_ms),
            group,
            retry: retry_delays(),
            ..NewTask::new(lane_of(&aim.url)?, Kind::new(EXTRACT), payload.to_bytes()?)
        };
        let new = NewExtraction { group, asked, key, first, extractions_max: self.extractions_max };
        self.wikis.extract(new, act).await
    }

    fn aim(&self, target: Target) -> Result<(String, Aim)> {
        match target {
            Target::Title { title, locale } => {
                let clean = title.replace('_', " ");
                let clean = clean.trim();
                check_title(clean)?;
                let locale = locale.filter(|locale| !locale.is_empty()).unwrap_or_else(|| LOCALE.to_owned());
                let url = Template::new(&self.template)?.url(&locale)?;
                let aim = Aim { url, title: Some(clean.to_owned()), locale: Some(locale) };
                Ok((title, aim))
            }
            Target::Url(text) => {
                let url = page_url(&text)?;
                Ok((text, Aim { url, title: None, locale: None }))
            }
        }
    }
}

fn check_title(title: &str) -> Result<()> {
    if title.is_empty() {
        return Err(Error::Invalid("title is empty: give the title of a page, or its url".into()));
    }
    if title.len() > TITLE_BYTES_MAX {
        return Err(Error::Invalid(format!("title has {} bytes: at most {TITLE_BYTES_MAX}", title.len())));
    }
    if let Some(bad) = title.chars().find(|c| c.is_control() || "#<>[]|{}".contains(*c)) {
        return Err(Error::Invalid(format!("title \"{title}\" has a {bad:?}, which no title has")));
    }
    Ok(())
}

fn page_url(text: &str) -> Result<Url> {
    let wrong = |why: &str| Error::Invalid(format!("url \"{text}\" {why}: give the address of a wiki's page"));
    if text.len() > URL_BYTES_MAX {
        return Err(Error::Invalid(format!("url has {} bytes: at most {URL_BYTES_MAX}", text.len())));
    }
    let mut url = Url::parse(text.trim()).map_err(|error| wrong(&format!("is not one ({error})")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("is not one of http or https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("has a password in it"));
    }
    url.set_fragment(None);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_and_urls_are_checked_with_a_reason() {
        for (title, word) in [("", "empty"), (&"x".repeat(513), "bytes"), ("a|b", "'|'"), ("a\nb", "\\n")] {
            let said = check_title(title).expect_err(title).to_string();
            assert!(said.contains(word), "{said}");
        }
        assert!(check_title("Ñandú: la 1ª/2ª (film)").is_ok());
        for (url, word) in [
            ("nowhere", "is not one"),
            ("ftp://w.test/x", "http"),
            ("https://ana:x@w.test/", "password"),
            (&format!("https://w.test/{}", "x".repeat(2_048)), "bytes"),
        ] {
            let said = page_url(url).expect_err(url).to_string();
            assert!(said.contains(word), "{said}");
        }
        assert_eq!(page_url(" https://w.test/wiki/A#b ").expect("a URL").as_str(), "https://w.test/wiki/A");
    }
}
