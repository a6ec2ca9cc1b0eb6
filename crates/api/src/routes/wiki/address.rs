//! Where the API of a dump's wiki is: as it was said, or as the address of its main page suggests.

use malla_protocol::NewImport;
use url::Url;

use crate::problem::Refusal;

/// Under this name nothing can ever be reached (RFC 2606).
const NOWHERE: &str = "invalid";
const LOCALE: &str = "en";

/// The address of `api.php`. A wiki without any address gets one that is its own and leads nowhere.
pub(super) fn api_of(new: &NewImport) -> Result<Url, Refusal> {
    if let Some(api) = &new.api {
        return web("api", api);
    }
    if let Some(page) = &new.url {
        return Ok(beside(web("url", page)?));
    }
    let Some(name) = new.name.as_deref().map(label).filter(|name| !name.is_empty()) else {
        let detail = "it is not known which wiki the dump is of: name it by wiki, api, url, or by name and locale";
        return Err(Refusal::invalid(detail));
    };
    let locale = new.locale.as_deref().map(label).filter(|locale| !locale.is_empty());
    let address = format!("https://{name}.{}.{NOWHERE}/api.php", locale.as_deref().unwrap_or(LOCALE));
    Url::parse(&address).map_err(|_| Refusal::invalid(format!("name: \"{name}\" cannot be used: give another")))
}

fn web(field: &str, text: &str) -> Result<Url, Refusal> {
    let url = Url::parse(text).ok().filter(|url| ["http", "https"].contains(&url.scheme()) && url.has_host());
    url.ok_or_else(|| Refusal::invalid(format!("{field}: \"{text}\" is not an address: write https://example.org/…")))
}

/// `/w/api.php`, as most wikis have it, unless the page's address shows where their scripts are.
fn beside(mut page: Url) -> Url {
    let path = match page.path().find("/index.php") {
        Some(scripts) => format!("{}/api.php", &page.path()[..scripts]),
        None => "/w/api.php".to_owned(),
    };
    page.set_path(&path);
    page.set_query(None);
    page.set_fragment(None);
    page
}

/// Letters and digits, the rest as dashes: a part of a host's name.
fn label(text: &str) -> String {
    let dashed: String = text.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    dashed.trim_matches('-').chars().take(60).collect::<String>().trim_end_matches('-').to_owned()
}

/// The language as the first part of the host's name says it: `de` of `de.wikipedia.org`.
pub(super) fn locale_of(api: &Url) -> String {
    let host = api.host_str().unwrap_or_default();
    let first = host.split('.').next().unwrap_or_default();
    let is_language = host.split('.').count() > 2
        && (2..=12).contains(&first.len())
        && first != "www"
        && first.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    if is_language { first.to_owned() } else { LOCALE.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_is_found_from_whatever_is_known() {
        let of = |new: NewImport| api_of(&new).map(|url| url.to_string()).ok();
        let url = |text: &str| NewImport { url: Some(text.into()), ..NewImport::default() };
        let api = NewImport { api: Some("https://a.example/x/api.php".into()), ..NewImport::default() };
        assert_eq!(of(api).as_deref(), Some("https://a.example/x/api.php"));
        assert_eq!(
            of(url("https://de.wikipedia.org/wiki/Seite")).as_deref(),
            Some("https://de.wikipedia.org/w/api.php")
        );
        assert_eq!(of(url("http://localhost:8/w2/index.php/A?b#c")).as_deref(), Some("http://localhost:8/w2/api.php"));
        let named = NewImport { name: Some("My Wiki!".into()), locale: Some("pt-BR".into()), ..NewImport::default() };
        assert_eq!(of(named).as_deref(), Some("https://my-wiki.pt-br.invalid/api.php"));
        assert_eq!(of(NewImport::default()), None);
        assert_eq!(of(url("ftp://a/b")), None);
        assert_eq!(of(NewImport { name: Some("!!".into()), ..NewImport::default() }), None);
    }

    #[test]
    fn the_language_is_in_the_hosts_name() {
        for (api, locale) in [
            ("https://de.wikipedia.org/w/api.php", "de"),
            ("https://zh-min-nan.wikipedia.org/w/api.php", "zh-min-nan"),
            ("https://www.mediawiki.org/w/api.php", "en"),
            ("http://localhost:8/api.php", "en"),
            ("http://127.0.0.1:8/api.php", "en"),
        ] {
            assert_eq!(locale_of(&Url::parse(api).expect("a URL")), locale, "{api}");
        }
    }
}
