//! The flags that say how a subscription delivers.

use std::collections::BTreeMap;

use clap::Args;
use malla_protocol::{Auth, CloudEvents, Condition, SubscriptionChange};

/// How it delivers.
#[derive(Debug, Args)]
pub(super) struct Delivery {
    /// Seconds before each further attempt, with commas
    #[arg(long, value_name = "S,S,…", value_delimiter = ',')]
    retry: Vec<u64>,
    /// A single attempt
    #[arg(long, conflicts_with = "retry")]
    no_retry: bool,
    /// Seconds for the whole exchange
    #[arg(long, value_name = "S")]
    timeout_s: Option<u64>,
    /// Deliveries at once
    #[arg(long, value_name = "N")]
    parallel: Option<u32>,
    /// A header to add; may be repeated
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = parse_header)]
    headers: Vec<(String, String)>,
    /// Whether to repeat the event's own headers
    #[arg(long, value_name = "true|false")]
    forward_headers: Option<bool>,
    /// Whether to repeat the event's query
    #[arg(long, value_name = "true|false")]
    forward_query: Option<bool>,
    /// Conditions that an event must meet, as a JSON list
    #[arg(long, value_name = "JSON", value_parser = parse_filter)]
    filter: Option<Conditions>,
    /// Sign with this secret (whsec_… or, for ed25519, whsk_…); `generate` makes one and shows it once
    #[arg(long, value_name = "SECRET")]
    secret: Option<String>,
    /// off, binary or structured
    #[arg(long, value_name = "MODE", value_parser = parse_cloudevents)]
    cloudevents: Option<CloudEvents>,
    /// Show this name and password to the target
    #[arg(long, value_name = "USER:PASSWORD", value_parser = parse_basic, conflicts_with = "bearer")]
    basic: Option<Login>,
    /// Show this token to the target
    #[arg(long, value_name = "TOKEN")]
    bearer: Option<String>,
    /// After a 202, the confirmation must come within this time
    #[arg(long, value_name = "S")]
    confirm_within_s: Option<u64>,
}

/// A list is one value here, not many.
#[derive(Debug, Clone)]
struct Conditions(Vec<Condition>);

#[derive(Clone)]
struct Login {
    username: String,
    password: String,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Login({})", self.username)
    }
}

impl Delivery {
    pub(super) fn change(self) -> SubscriptionChange {
        let retries = !self.retry.is_empty() || self.no_retry;
        let headers: BTreeMap<_, _> = self.headers.into_iter().collect();
        let basic = self.basic.map(|Login { username, password }| Auth::Basic { username, password });
        SubscriptionChange {
            state: None,
            target: None,
            retry_delays_s: retries.then_some(Some(self.retry)),
            timeout_s: self.timeout_s.map(Some),
            parallel: self.parallel.map(Some),
            headers: (!headers.is_empty()).then_some(Some(headers)),
            forward_headers: self.forward_headers.map(Some),
            forward_query: self.forward_query.map(Some),
            filter: self.filter.map(|Conditions(conditions)| Some(conditions)),
            secret: self.secret.map(Some),
            cloudevents: self.cloudevents.map(Some),
            auth: basic.or(self.bearer.map(Auth::Bearer)).map(Some),
            confirm_within_s: self.confirm_within_s.map(Some),
        }
    }
}

/// `X-Tenant: acme`
pub(super) fn parse_header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("write it as NAME: VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn parse_filter(text: &str) -> Result<Conditions, String> {
    let wrong = |error| format!("{error}; write it as [{{\"field\": \"type\", \"equals\": \"order.paid\"}}]");
    serde_json::from_str(text).map(Conditions).map_err(wrong)
}

fn parse_cloudevents(text: &str) -> Result<CloudEvents, String> {
    [CloudEvents::Off, CloudEvents::Binary, CloudEvents::Structured]
        .into_iter()
        .find(|mode| mode.name() == text)
        .ok_or_else(|| "modes are off, binary and structured".into())
}

fn parse_basic(text: &str) -> Result<Login, String> {
    let (username, password) = text.split_once(':').ok_or("write it as USER:PASSWORD")?;
    Ok(Login { username: username.to_owned(), password: password.to_owned() })
}
