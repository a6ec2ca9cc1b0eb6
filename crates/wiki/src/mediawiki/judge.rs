//! What an answer means before its contents are looked at: whether to go on, wait, come again or give up.

use std::time::Duration;

use malla_queue::UnixMs;
use malla_reach::retry_after;
use url::Url;

use super::answer::{Answer, read};
use super::http::Response;

/// No wiki sends us away for longer.
const WAIT_MAX: Duration = Duration::from_secs(24 * 3_600);
/// What a wiki that lags or limits us gets if it does not say.
const WAIT_UNSAID: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Nothing is asked of the host before this has passed.
    Wait(Duration, String),
    /// It may be better next time.
    Again(String),
    /// There is no API at this address, or it is not for us.
    NotHere(String),
    /// Trying again is senseless.
    Never(String),
    /// It has moved.
    Moved(Url),
    /// The place to go on from is not known any more.
    BadContinue,
}

/// The answer of an API, or what stands against it.
pub(crate) fn judge(response: &Response, now: UnixMs) -> Result<Answer, Trouble> {
    status(response, now)?;
    let answer = read(&response.body).map_err(|why| match response.body.trim_ascii_start().first() {
        Some(b'{') => Trouble::Again(format!("the answer cannot be read: {why}")),
        Some(b'<') => Trouble::NotHere("the answer is a page instead of JSON".into()),
        _ => Trouble::NotHere("the answer is not JSON".into()),
    })?;
    match &answer.error {
        None => Ok(answer),
        Some(error) => Err(refusal(&error.code, &error.info, response.retry_after.as_deref(), now)),
    }
}

/// What the status says, whatever was asked for.
pub(crate) fn status(response: &Response, now: UnixMs) -> Result<(), Trouble> {
    let said = format!("the wiki answered {}", response.status);
    let asked_wait = response.retry_after.as_deref().and_then(|text| retry_after(text, now, WAIT_MAX));
    match (response.status, asked_wait) {
        (200..=299, _) => Ok(()),
        (300..=399, _) => Err(match &response.location {
            Some(to) => Trouble::Moved(to.clone()),
            None => Trouble::Again(format!("{said} and did not say where to go")),
        }),
        (429 | 500..=599, Some(wait)) => {
            Err(Trouble::Wait(wait, format!("{said} and asked to wait {} s", wait.as_secs())))
        }
        (429, None) => Err(Trouble::Wait(WAIT_UNSAID, said)),
        (400 | 401 | 403 | 404 | 405 | 410 | 501, _) => Err(Trouble::NotHere(said)),
        _ => Err(Trouble::Again(said)),
    }
}

/// Errors come as 200 with a code.
fn refusal(code: &str, info: &str, wait: Option<&str>, now: UnixMs) -> Trouble {
    let said = match info.is_empty() {
        true => format!("the wiki refused: {code}"),
        false => format!("the wiki refused: {code} ({})", info.chars().take(300).collect::<String>()),
    };
    match code {
        "maxlag" | "ratelimited" | "readonly" => {
            let wait = wait.and_then(|text| retry_after(text, now, WAIT_MAX)).unwrap_or(WAIT_UNSAID);
            Trouble::Wait(wait, said)
        }
        code if code.contains("badcontinue") => Trouble::BadContinue,
        "readapidenied" | "permissiondenied" => Trouble::Never(format!("{said}: its pages are not for everybody")),
        _ => Trouble::Again(said),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMs = UnixMs(784_111_777_000); // Sun, 06 Nov 1994 08:49:37 GMT

    fn response(status: u16, retry_after: Option<&str>, body: &str) -> Response {
        Response {
            status,
            retry_after: retry_after.map(str::to_owned),
            location: None,
            last_modified: None,
            content_type: None,
            body: body.as_bytes().to_vec(),
        }
    }

    fn wait_s(trouble: &Trouble) -> Option<u64> {
        match trouble {
            Trouble::Wait(wait, _) => Some(wait.as_secs()),
            _ => None,
        }
    }

    #[test]
    fn errors_inside_an_answer_are_errors() {
        for (code, retry_after, expected) in [
            ("maxlag", Some("7"), Some(7)),
            ("maxlag", None, Some(5)),
            ("ratelimited", Some("Sun, 06 Nov 1994 08:50:37 GMT"), Some(60)),
            ("readonly", Some("99999999999999999999999"), Some(86_400)),
            ("internal_api_error_DBQueryError", Some("7"), None),
        ] {
            let body = format!(r#"{{"error":{{"code":"{code}","info":"why"}}}}"#);
            let trouble = judge(&response(200, retry_after, &body), NOW).expect_err(code);
            assert_eq!(wait_s(&trouble), expected, "{code}");
        }
        let bad = judge(&response(200, None, r#"{"error":{"code":"badcontinue","info":"x"}}"#), NOW);
        assert_eq!(bad.err(), Some(Trouble::BadContinue));
    }

    #[test]
    fn statuses_say_whether_to_wait_come_again_or_look_elsewhere() {
        for (status, retry_after, expected) in
            [(429, Some("3"), Some(3)), (429, None, Some(5)), (503, Some("9"), Some(9)), (503, None, None)]
        {
            let trouble = judge(&response(status, retry_after, ""), NOW).expect_err("trouble");
            assert_eq!(wait_s(&trouble), expected, "{status} {retry_after:?}");
        }
        assert!(matches!(judge(&response(404, None, "{}"), NOW), Err(Trouble::NotHere(_))));
        assert!(matches!(judge(&response(502, None, "{}"), NOW), Err(Trouble::Again(_))));
    }

    #[test]
    fn a_page_of_a_proxy_is_no_answer() {
        let trouble = judge(&response(200, None, "\n<!DOCTYPE html><html>"), NOW).err();
        assert_eq!(trouble, Some(Trouble::NotHere("the answer is a page instead of JSON".into())));
        assert!(matches!(judge(&response(200, None, r#"{"query":{"pages":[{"pageid":"#), NOW), Err(Trouble::Again(_))));
        assert!(judge(&response(200, None, "{}"), NOW).is_ok());
    }
}
