//! Where the wiki of a locale is, as the operator says: a page of it or its `api.php`, with `{locale}` in it or not.

use malla_queue::{Error, Result};
use url::Url;

const PLACE: &str = "{locale}";
/// Stands for the locale while the template is taken apart as a URL.
const STAND_IN: &str = "malla-locale";
const LOCALE_BYTES_MAX: usize = 32;

/// A template that can be used.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    text: String,
    /// What its host has before and after the locale; without one, the host and nothing.
    host: (String, Option<String>),
    port: Option<u16>,
}

/// Whether this can be a template; if not, what is wrong with it.
pub fn check_template(text: &str) -> Result<()> {
    Template::new(text).map(drop)
}

impl Template {
    pub(crate) fn new(text: &str) -> Result<Self> {
        let wrong = |why: &str| {
            Error::Invalid(format!("\"{text}\" {why}: write something like https://{{locale}}.wikipedia.org/"))
        };
        let url = Url::parse(&text.replace(PLACE, STAND_IN)).map_err(|_| wrong("is not a URL"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("is not a URL of http or https"));
        }
        let host = url.host_str().ok_or_else(|| wrong("names no host"))?;
        let host = match host.split_once(STAND_IN) {
            Some((before, after)) => (before.to_owned(), Some(after.to_owned())),
            None => (host.to_owned(), None),
        };
        Ok(Self { text: text.to_owned(), host, port: url.port_or_known_default() })
    }

    /// The URL of the wiki of this locale.
    pub(crate) fn url(&self, locale: &str) -> Result<Url> {
        let fits = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
        if locale.is_empty() || locale.len() > LOCALE_BYTES_MAX || !locale.bytes().all(fits) {
            return Err(Error::Invalid(format!("locale \"{locale}\" is not one: write en, es, pt-br and the like")));
        }
        let text = self.text.replace(PLACE, locale);
        Url::parse(&text)
            .map_err(|error| Error::Invalid(format!("the locale {locale} makes no address of {text}: {error}")))
    }

    /// Whether this is an address of the operator's own choice.
    pub(crate) fn is_home(&self, url: &Url) -> bool {
        self.locale_in(url).is_some()
    }

    /// The locale that leads to the host of this URL.
    pub(crate) fn locale_of(&self, url: &Url) -> Option<String> {
        self.locale_in(url).filter(|locale| !locale.is_empty()).map(str::to_owned)
    }

    /// What stands for the locale in the host; nothing if the template's host has no place for it.
    fn locale_in<'u>(&self, url: &'u Url) -> Option<&'u str> {
        if url.port_or_known_default() != self.port {
            return None;
        }
        let host = url.host_str()?;
        match &self.host {
            (whole, None) => (host == whole).then_some(""),
            (before, Some(after)) => {
                let locale = host.strip_prefix(before.as_str())?.strip_suffix(after.as_str())?;
                (!locale.is_empty() && !locale.contains('.')).then_some(locale)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    #[test]
    fn a_locale_leads_to_its_wiki() {
        let template = Template::new("https://{locale}.wikipedia.org/").expect("a template");
        assert_eq!(template.url("pt-br").expect("a URL").as_str(), "https://pt-br.wikipedia.org/");
        for wrong in ["", "EN", "en/..", "en.evil.org", &"a".repeat(33)] {
            assert!(template.url(wrong).is_err(), "{wrong}");
        }
        assert_eq!(template.locale_of(&url("https://de.wikipedia.org/wiki/Haus")).as_deref(), Some("de"));
    }

    #[test]
    fn home_is_the_templates_host_and_no_other() {
        for (template, at, home) in [
            ("https://{locale}.wikipedia.org/", "https://en.wikipedia.org/w/api.php", true),
            ("https://{locale}.wikipedia.org/", "https://a.b.wikipedia.org/", false),
            ("https://{locale}.wikipedia.org/", "https://.wikipedia.org/", false),
            ("https://{locale}.wikipedia.org/", "http://en.wikipedia.org/", false),
            ("http://127.0.0.1:8080/{locale}/api.php", "http://127.0.0.1:8080/es/api.php", true),
            ("http://127.0.0.1:8080/api.php", "http://127.0.0.1:8081/api.php", false),
        ] {
            assert_eq!(Template::new(template).expect("a template").is_home(&url(at)), home, "{template} {at}");
        }
    }

    #[test]
    fn what_is_no_template_is_refused_with_an_example() {
        for wrong in ["", "wikipedia", "ftp://{locale}.example.org/", "https://"] {
            let said = check_template(wrong).expect_err(wrong).to_string();
            assert!(said.contains("https://{locale}.wikipedia.org/"), "{said}");
        }
    }
}
