//! The request for an item.

use http_body_util::Empty;
use hyper::Request;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, HOST, HeaderMap, HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, USER_AGENT,
};
use url::Position;

use super::line::Question;
use crate::{Item, PageUrl};

const ENCODINGS: HeaderValue = HeaderValue::from_static("gzip, deflate, br, zstd");
const ANYTHING: HeaderValue = HeaderValue::from_static("*/*");

/// The request, or why the item cannot be asked for.
pub(super) fn question(item: &Item, user_agent: &HeaderValue) -> Result<Question, String> {
    let unfit = || format!("{} cannot be asked for: HTTP has no way to write it", item.url);
    let mut question = Request::new(Empty::new());
    *question.uri_mut() = item.url.path_and_query().parse().map_err(|_| unfit())?;
    let headers = question.headers_mut();
    headers.reserve(6);
    headers.insert(HOST, host(&item.url).ok_or_else(unfit)?);
    headers.insert(USER_AGENT, user_agent.clone());
    headers.insert(ACCEPT, ANYTHING);
    headers.insert(ACCEPT_ENCODING, ENCODINGS);
    validator(headers, IF_NONE_MATCH, item.validators.etag.as_deref());
    validator(headers, IF_MODIFIED_SINCE, item.validators.last_modified.as_deref());
    Ok(question)
}

/// Host and, unless it is the scheme's own, port.
fn host(url: &PageUrl) -> Option<HeaderValue> {
    HeaderValue::from_str(&url.as_url()[Position::BeforeHost..Position::AfterPort]).ok()
}

/// What HTTP cannot carry stays behind: the page is then simply fetched.
fn validator(headers: &mut HeaderMap, name: HeaderName, value: Option<&str>) {
    if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use malla_queue::{LeaseToken, TaskId};

    use super::*;
    use crate::{Validators, What};

    fn ask(url: &str, validators: Validators) -> Question {
        let token = LeaseToken { task: TaskId(1), nonce: 1 };
        let url = PageUrl::parse(url).expect("a URL");
        let item = Item { token, url, what: What::Page, validators };
        question(&item, &HeaderValue::from_static("MallaBot/1 (+test)")).expect("a request")
    }

    #[test]
    fn a_request_names_its_page() {
        for (url, target, host) in [
            ("http://example.org", "/", "example.org"),
            ("https://example.org:443/a?b=c#d", "/a?b=c", "example.org"),
            ("http://127.0.0.1:8080/%20|^[]", "/%20|^[]", "127.0.0.1:8080"),
            ("http://[::1]:81/?q={}", "/?q={}", "[::1]:81"),
        ] {
            let question = ask(url, Validators::default());
            assert_eq!(
                (question.uri().to_string().as_str(), &question.headers()[HOST]),
                (target, &host.parse().expect("a value"))
            );
        }
    }

    #[test]
    fn validators_go_along_if_http_can_carry_them() {
        let validators = Validators { etag: Some("\"x\"".into()), last_modified: Some("never\n".into()) };
        let question = ask("http://example.org/", validators);
        assert_eq!(question.headers()[IF_NONE_MATCH], "\"x\"");
        assert!(!question.headers().contains_key(IF_MODIFIED_SINCE));
    }
}
