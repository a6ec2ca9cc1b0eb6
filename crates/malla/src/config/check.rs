//! What a value may be: its type follows its default, its range stands here.

use figment::value::Value;

use crate::roles::Role;

/// Whole numbers have a least and a greatest value.
const BOUNDS: &[(&str, u64, u64)] = &[
    ("store_wait_s", 0, 86_400),
    ("store_doubt_s", 1, 3_600),
    ("shutdown_grace_s", 1, 3_600),
    ("http.body_bytes_max", 1_024, 1 << 30),
    ("http.request_timeout_s", 1, 3_600),
    ("http.idempotency_keep_h", 1, 24 * 30),
    ("http.connections_max", 1, 1_000_000),
    ("http.head_timeout_s", 1, 3_600),
    ("console.session_h", 1, 24 * 365),
    ("queue.lease_s", 1, 3_600),
    ("queue.concurrency", 1, 100_000),
    ("queue.batch", 1, 10_000),
    ("queue.pending_max", 1, 1_000_000_000),
    ("queue.payload_bytes_max", 1_024, 64 << 20),
    ("notify.concurrency", 1, 1_000_000),
    ("notify.batch", 1, 1_000),
    ("fetch.gap_ms", 0, 86_400_000),
    ("fetch.pending_max", 1, 10_000_000),
    ("fetch.timeout_s", 1, 600),
    ("fetch.body_bytes_max", 1_024, 1 << 30),
    ("fetch.fresh_s", 0, 31_536_000),
    ("fetch.recheck_percent", 0, 100),
    ("fetch.cache_entries_max", 0, 1_000_000_000),
    ("fetch.cache_mb_max", 0, 1_000_000_000),
    ("fetch.jobs_days", 0, 36_500),
    ("fetch.crawl_found_max", 1, 1_000_000_000),
    ("fetch.watch_visits_per_day", 1, 100_000_000),
    ("fetch.workers_min", 0, 64),
    ("fetch.devices_waiting_max", 1, 100_000),
    ("fetch.devices_days", 1, 36_500),
    ("trust.floor_percent", 1, 100),
    ("trust.strikes", 1, 100),
    ("trust.recover", 1, 10_000),
    ("trust.probation", 0, 10_000),
    ("trust.patience_s", 1, 86_400),
    ("credit.page_micro", 0, 1_000_000_000),
    ("credit.cached_micro", 0, 1_000_000_000),
    ("credit.share_percent", 0, 100),
    ("credit.escrow_pages", 0, 1_000_000),
    ("credit.escrow_days", 1, 3_650),
    ("credit.keep_days", 1, 36_500),
    ("quota.pages_per_minute", 0, 1_000_000_000),
    ("quota.pages_per_day", 0, 1_000_000_000_000),
    ("quota.bytes_per_day", 0, 1_000_000_000_000_000),
    ("wiki.gap_ms", 0, 86_400_000),
    ("wiki.timeout_s", 1, 600),
    ("wiki.maxlag", 1, 3_600),
    ("wiki.answer_mb_max", 1, 1_024),
    ("wiki.extractions_max", 1, 1_000_000),
    ("wiki.keep_days", 0, 36_500),
    ("wiki.visits_per_day", 0, 10_000_000),
    ("wiki.reconcile_days", 0, 36_500),
    ("analyze.studies_max", 1, 1_000),
    ("analyze.concurrency", 0, 1_024),
    ("analyze.batch_mb_max", 1, 1_024),
    ("analyze.waiting_mb_max", 1, 1_000_000_000),
    ("analyze.tables_mb_max", 1, 1_024),
    ("analyze.memory_mb", 1, 1_000_000),
    ("analyze.idle_h", 1, 24 * 365),
    ("analyze.keep_days", 0, 36_500),
    ("bodies.timeout_s", 1, 300),
    ("bodies.retries", 0, 10),
    ("bodies.concurrency", 1, 1_000),
    ("bodies.inline_max_kb", 0, 1_048_576),
    ("bodies.grace_h", 1, 24 * 365),
    ("cluster.heartbeat_s", 1, 60),
    ("cluster.dead_after_s", 3, 3_600),
    ("cluster.leader_lease_s", 3, 600),
    ("supervise.roles.api", 0, 100),
    ("supervise.roles.notifier", 0, 100),
    ("supervise.roles.fetcher", 0, 100),
    ("supervise.roles.wiki", 0, 100),
    ("supervise.roles.analyst", 0, 100),
    ("retention.every_s", 1, 86_400),
    ("retention.tasks_days", 0, 36_500),
    ("retention.events_days", 0, 36_500),
    ("retention.audit_days", 0, 36_500),
];

/// The value in the type of its default, or one sentence on what is wrong with it.
pub(super) fn settle(key: &str, default: &Value, given: Value) -> Result<Value, String> {
    let shown = display(&masked(key, given.clone()));
    let refuse = |expected: &str| Err(format!("{key} = {shown} is not {expected}"));
    let value = match (default, given) {
        (Value::String(..), Value::String(_, text)) => Value::from(text),
        (Value::String(..), _) => return refuse("text in quotes"),
        (Value::Bool(..), Value::Bool(_, switch)) => Value::from(switch),
        (Value::Bool(..), Value::String(_, text)) if text == "true" || text == "false" => Value::from(text == "true"),
        (Value::Bool(..), _) => return refuse("true or false"),
        (Value::Num(..), given) => match whole(&given) {
            Some(number) => Value::from(number),
            None => return refuse("a whole number"),
        },
        (Value::Array(..), given) => match words(&given) {
            Some(words) => Value::from(words),
            None => return refuse("a list of words"),
        },
        (_, given) => given,
    };
    in_range(key, &value).map_err(|why| format!("{key} = {shown} {why}"))?;
    Ok(value)
}

/// A number, or its digits as a variable and a flag give them.
fn whole(given: &Value) -> Option<u64> {
    match given {
        Value::Num(_, number) => number.to_u128_lossy().and_then(|number| u64::try_from(number).ok()),
        Value::String(_, text) => text.parse().ok(),
        _ => None,
    }
}

/// A list of words, or one text with commas between them.
fn words(given: &Value) -> Option<Vec<String>> {
    match given {
        Value::Array(_, items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        Value::String(_, text) => Some(text.split(',').map(|word| word.trim().to_owned()).collect()),
        _ => None,
    }
}

fn in_range(key: &str, value: &Value) -> Result<(), String> {
    if let Some((_, least, most)) = BOUNDS.iter().find(|(bounded, ..)| *bounded == key) {
        let fits = whole(value).is_some_and(|number| (*least..=*most).contains(&number));
        return if fits { Ok(()) } else { Err(format!("is out of range: from {least} to {most}")) };
    }
    let text = value.as_str().unwrap_or_default();
    match key {
        "anonymous_role" if !text.is_empty() => {
            let role: Result<malla_access::Role, _> = text.parse();
            role.map(drop).map_err(|_| "is not a role: readonly, user, admin, or empty".into())
        }
        "log.format" if !["text", "json"].contains(&text) => Err("is not a format: text or json".into()),
        "log.level" => {
            let filter = tracing_subscriber::EnvFilter::builder().parse(text);
            filter.map(drop).map_err(|error| format!("is not a level or filter: {error}"))
        }
        "smtp.url" if !text.is_empty() => {
            let mail = malla_notify::Mail::new(text, "malla@localhost");
            mail.map(drop).map_err(|error| format!("is wrong: {error}"))
        }
        "smtp.from" => malla_notify::Mail::check_from(text).map(drop).map_err(|error| format!("is wrong: {error}")),
        "fetch.contact" | "wiki.contact" if !text.chars().all(|c| c.is_ascii_graphic() || c == ' ') => {
            Err("is not an address: write a page or an e-mail in plain letters".into())
        }
        "fetch.strategy" => {
            let strategy: Result<malla_fetch::Strategy, _> = text.parse();
            strategy.map(drop).map_err(|error| format!("is wrong: {error}"))
        }
        "wiki.api" => malla_wiki::check_template(text).map_err(|error| format!("is wrong: {error}")),
        "wiki.stream_url" if !text.starts_with("http://") && !text.starts_with("https://") => {
            Err("is not the address of a stream: write https://…".into())
        }
        "wiki.revisit" if text != "off" => {
            let rule: Result<malla_wiki::revisit::Rule, _> = text.parse();
            rule.map(drop).map_err(|error| format!("is wrong: {error}"))
        }
        "bodies.store" if !["database", "objects"].contains(&text) => Err("is not a place: database or objects".into()),
        "bodies.url" if !text.is_empty() => {
            malla_store::bodies::check_url(text).map_err(|error| format!("is wrong: {error}"))
        }
        "bodies.endpoint" if !(text.is_empty() || is_http(text)) => {
            Err("is not the address of an object store: write https://HOST:PORT".into())
        }
        "data" if text.is_empty() => Err("is empty: give a directory".into()),
        "store" if !(text.is_empty() || is_store(text)) => {
            Err("is not a store: give sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE".into())
        }
        "allow_networks" => {
            words(value).unwrap_or_default().iter().filter(|word| !word.is_empty()).try_for_each(|word| {
                word.parse::<malla_reach::Network>().map(drop).map_err(|error| format!("holds a mistake: {error}"))
            })
        }
        "roles" => words(value).unwrap_or_default().iter().try_for_each(|word| word.parse::<Role>().map(drop)),
        _ => Ok(()),
    }
}

fn is_http(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

fn is_store(text: &str) -> bool {
    ["sqlite:", "postgres://", "postgresql://"]
        .iter()
        .any(|scheme| text.len() > scheme.len() && text.starts_with(scheme))
}

/// The value without what nobody should read over a shoulder.
pub(super) fn masked(key: &str, value: Value) -> Value {
    match (key, value) {
        ("store" | "smtp.url", Value::String(tag, url)) => Value::String(tag, masked_url(&url)),
        ("bodies.secret", Value::String(tag, secret)) if !secret.is_empty() => Value::String(tag, "****".into()),
        (_, value) => value,
    }
}

/// A URL of a store or mail server without its password, whether it stands before the host or among the parameters.
pub(crate) fn masked_url(url: &str) -> String {
    let mut masked = url.to_owned();
    // A password may hold an @ or a slash that nobody escaped: the last @ ends it. Too much masked does no harm.
    if let Some((scheme, rest)) = url.split_once("://")
        && let Some((person, host)) = rest.rsplit_once('@')
        && let Some((user, _password)) = person.split_once(':')
    {
        masked = format!("{scheme}://{user}:****@{host}");
    }
    for parameter in ["?password=", "&password="] {
        if let Some(start) = masked.find(parameter).map(|at| at + parameter.len()) {
            let end = masked[start..].find('&').map_or(masked.len(), |end| start + end);
            masked.replace_range(start..end, "****");
        }
    }
    masked
}

fn display(value: &Value) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
