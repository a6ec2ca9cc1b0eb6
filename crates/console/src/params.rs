//! The fields of a query string or a form, and the links that keep them.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use malla_queue::UnixMs;
use maud::{Markup, html};

use crate::refusal::Refusal;
use crate::words;

/// Names with values, in order. A name may come more than once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Params(Vec<(String, String)>);

impl Params {
    pub(crate) const NONE: Params = Params(Vec::new());

    pub(crate) fn parse(text: &[u8]) -> Self {
        Self(form_urlencoded::parse(text).into_owned().collect())
    }

    /// The first value of `name` without the space around it; an empty one does not count.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(key, value)| key == name && !value.trim().is_empty())?;
        Some(value.trim())
    }

    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(key, _)| key == name)
            .map(|(_, value)| value.trim())
            .filter(|value| !value.is_empty())
    }

    /// The value exactly as it came: for passwords.
    pub(crate) fn raw(&self, name: &str) -> &str {
        self.0.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// What the user typed, to show it again.
    pub(crate) fn typed(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// A time, as [`words::read_time`] reads it.
    pub(crate) fn time(&self, name: &str) -> Result<Option<UnixMs>, Refusal> {
        let wrong =
            |text: &str| Refusal::bad(say!("\"{text}\" is not a time: write it as 2026-01-31T12:00 (UTC)", text));
        self.get(name).map(|text| words::read_time(text).ok_or_else(|| wrong(text))).transpose()
    }

    /// Only these names, without empty values.
    pub(crate) fn only(&self, names: &[&str]) -> Self {
        let keep = |(key, value): &&(String, String)| names.contains(&key.as_str()) && !value.trim().is_empty();
        Self(self.0.iter().filter(keep).map(|(key, value)| (key.clone(), value.trim().to_owned())).collect())
    }

    pub(crate) fn without(&self, name: &str) -> Self {
        Self(self.0.iter().filter(|(key, _)| key != name).cloned().collect())
    }

    /// With this one value for `name`.
    pub(crate) fn with(&self, name: &str, value: impl Into<String>) -> Self {
        let mut params = self.without(name);
        params.0.push((name.to_owned(), value.into()));
        params
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `path?name=value&…`
    pub(crate) fn link(&self, path: &str) -> String {
        if self.0.is_empty() {
            return path.to_owned();
        }
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.0).finish();
        format!("{path}?{query}")
    }

    /// The same fields inside a form.
    pub(crate) fn hidden(&self) -> Markup {
        html! {
            @for (name, value) in &self.0 {
                input type="hidden" name=(name) value=(value);
            }
        }
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Params {
    fn from(pairs: [(&str, &str); N]) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }
}

impl<S: Sync> FromRequestParts<S> for Params {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::parse(parts.uri.query().unwrap_or_default().as_bytes()))
    }
}

/// A path on this site that a redirect may lead to: never another site's.
pub(crate) fn local_path(text: &str) -> Option<&str> {
    let local = text.starts_with('/')
        && !text.starts_with("//")
        && text.len() <= 4096
        && !text.chars().any(|c| c.is_control() || c == '\\');
    local.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_read_back_from_the_links_they_make() {
        let params = Params::from([("lane", "fetch/https://a.org/?x=1&y#z"), ("state", "failed"), ("state", "queued")]);
        let link = params.link("/tasks");
        let query = link.split_once('?').expect("a query").1;
        assert_eq!(Params::parse(query.as_bytes()), params);
        assert_eq!(params.all("state").collect::<Vec<_>>(), ["failed", "queued"]);
        assert_eq!(params.with("state", "paused").all("state").collect::<Vec<_>>(), ["paused"]);
        assert_eq!(Params::default().link("/tasks"), "/tasks");
    }

    #[test]
    fn empty_values_do_not_count() {
        let params = Params::parse(b"lane=&kind=+drill+&password=+p+");
        assert_eq!((params.get("lane"), params.get("kind")), (None, Some("drill")));
        assert_eq!(params.raw("password"), " p ");
        assert_eq!(params.only(&["lane", "kind"]).link("/tasks"), "/tasks?kind=drill");
    }

    #[test]
    fn only_paths_of_this_site_are_local() {
        for path in ["/", "/tasks?state=failed", "/lane?key=fetch/https://a.org"] {
            assert_eq!(local_path(path), Some(path));
        }
        for path in ["", "tasks", "//evil.org", "/\\evil.org", "https://evil.org", "/a\r\nb", "javascript:alert(1)"] {
            assert_eq!(local_path(path), None, "{path}");
        }
    }
}
