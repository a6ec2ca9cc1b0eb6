//! `malla notify events send`: posts an event, as a publisher would.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use malla_client::{Client, SendEvent};

use super::subscription_flags::parse_header;
use crate::commands::Usage;
use crate::output::Output;

pub(super) const EXAMPLES: &str = "Examples:
  malla notify events send orders '{\"id\": 7}'
  malla notify events send orders --file order.xml --content-type application/xml
  date | malla notify events send clock --header 'X-Zone: here'";

/// No endpoint takes more.
const BODY_BYTES_MAX: u64 = 16 * 1024 * 1024;

#[derive(Debug, Args)]
pub(super) struct Send {
    endpoint: String,
    /// The body [default: stdin]
    #[arg(conflicts_with = "file")]
    body: Option<String>,
    /// Take the body from a file; - is stdin
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// [default: what the body looks like]
    #[arg(long, value_name = "TYPE")]
    content_type: Option<String>,
    /// POST, PUT or PATCH
    #[arg(long, default_value = "POST", ignore_case = true, value_parser = ["POST", "PUT", "PATCH"])]
    method: String,
    /// A header; may be repeated
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = parse_header)]
    headers: Vec<(String, String)>,
    /// What follows the question mark
    #[arg(long, value_name = "QUERY")]
    query: Option<String>,
    /// The endpoint's own token, if it asks for one
    #[arg(long, value_name = "TOKEN")]
    endpoint_token: Option<String>,
}

pub(super) async fn run(send: Send, client: &Client, output: &Output) -> anyhow::Result<()> {
    let body = body(send.body, send.file.as_deref())?;
    let event = SendEvent {
        method: Some(send.method.to_ascii_uppercase()),
        query: send.query,
        content_type: send.content_type.or_else(|| content_type(&body).map(str::to_owned)),
        headers: send.headers,
        token: send.endpoint_token,
        body,
    };
    let accepted = client.send_event(&send.endpoint, event).await?;
    Ok(output.one(&accepted, |accepted| accepted.id.clone())?)
}

fn body(given: Option<String>, file: Option<&Path>) -> anyhow::Result<Vec<u8>> {
    match (given, file) {
        (Some(text), _) => Ok(text.into_bytes()),
        (None, Some(path)) if path != Path::new("-") => {
            let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
            whole(file).with_context(|| format!("cannot read {}", path.display()))
        }
        (None, None) if io::stdin().is_terminal() => {
            Err(Usage("give a body: as an argument, with --file, or on stdin".into()).into())
        }
        (None, _) => whole(io::stdin().lock()).context("cannot read stdin"),
    }
}

fn whole(reader: impl Read) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(BODY_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BODY_BYTES_MAX {
        bail!("a body has at most {BODY_BYTES_MAX} bytes");
    }
    Ok(bytes)
}

fn content_type(body: &[u8]) -> Option<&'static str> {
    match std::str::from_utf8(body) {
        _ if body.is_empty() => None,
        Ok(text) if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() => Some("application/json"),
        Ok(_) => Some("text/plain; charset=utf-8"),
        Err(_) => Some("application/octet-stream"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_type_is_what_the_body_looks_like() {
        check(b"", None);
        check(b"{\"a\": 1}", Some("application/json"));
        check(b"hello", Some("text/plain; charset=utf-8"));
        check(&[0xff], Some("application/octet-stream"));
    }

    fn check(body: &[u8], expected: Option<&str>) {
        assert_eq!(content_type(body), expected, "{body:?}");
    }

    #[test]
    fn an_endless_body_is_refused() {
        assert!(whole(io::repeat(0)).is_err());
    }
}
