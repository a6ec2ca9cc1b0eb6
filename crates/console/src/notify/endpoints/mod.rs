//! Endpoints: the list, a new one, one with its options, and a first event to try it with.

pub(crate) mod detail;
pub(crate) mod list;
pub(crate) mod new;
mod options;
pub(crate) mod trial;

use malla_notify::Endpoint;
use maud::{Markup, html};

/// What a publisher must show.
fn asks_for(endpoint: &Endpoint) -> Markup {
    let options = &endpoint.options;
    let (token, signature) = (options.token_sha256.is_some(), !options.signature_secrets.is_empty());
    html! {
        @match (token, signature) {
            (true, true) => (t!("token and signature")),
            (true, false) => (t!("token")),
            (false, true) => (t!("signature")),
            (false, false) => span.quiet { (t!("nothing")) },
        }
    }
}

/// Where its events come from, to be copied.
fn address(endpoint: &Endpoint) -> Markup {
    html! {
        @match &endpoint.options.mqtt {
            Some(source) => code { (source.broker) " " (source.topic) },
            None if endpoint.is_system() => span.quiet { (t!("from within")) },
            None => span.copyable data-copy { code { "/in/" (endpoint.name) } },
        }
    }
}
