//! Reads what stands in a URL: query parameters (unknown ones are refused by name), path segments, times.

use axum::extract::FromRequestParts;
use axum::http::Uri;
use axum::http::request::Parts;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use malla_protocol::{LIMIT_DEFAULT, LIMIT_MAX, PageQuery};
use malla_queue::UnixMs;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use utoipa::IntoParams;

use crate::App;
use crate::problem::Refusal;

/// The only parameter that may be repeated.
const REPEATABLE: &str = "state";
const VALUE_BYTES_MAX: usize = 2_048;

/// The whole query string as two sets of parameters. Their OpenAPI description is what decides which are known.
pub(crate) struct Query<A, B>(pub(crate) A, pub(crate) B);

/// For a route with one set of parameters.
#[derive(serde::Deserialize, IntoParams)]
pub(crate) struct NoParams {}

impl<A, B> FromRequestParts<App> for Query<A, B>
where
    A: IntoParams + DeserializeOwned,
    B: IntoParams + DeserializeOwned,
{
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Refusal> {
        let values = values(&parts.uri)?;
        let known: Vec<String> = [A::into_params(|| None), B::into_params(|| None)]
            .into_iter()
            .flatten()
            .map(|parameter| parameter.name)
            .collect();
        check_names(&values, &known)?;
        Ok(Self(read(&values, &A::into_params(|| None))?, read(&values, &B::into_params(|| None))?))
    }
}

fn values(uri: &Uri) -> Result<Map<String, Value>, Refusal> {
    let axum::extract::Query(pairs) = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(uri)
        .map_err(|_| Refusal::invalid("the query string cannot be read: percent-encode it as UTF-8"))?;
    let mut values = Map::new();
    for (name, value) in pairs {
        if value.is_empty() || value.len() > VALUE_BYTES_MAX {
            let rule = format!("leave it out or give it from 1 to {VALUE_BYTES_MAX} bytes");
            return Err(Refusal::invalid(format!("the parameter {name} is empty or too long: {rule}")));
        }
        let joined = match values.get(&name).and_then(Value::as_str) {
            None => value,
            Some(earlier) if name == REPEATABLE => format!("{earlier},{value}"),
            Some(_) => return Err(Refusal::invalid(format!("the parameter {name} is given twice: give it once"))),
        };
        values.insert(name, Value::String(joined));
    }
    Ok(values)
}

fn check_names(values: &Map<String, Value>, known: &[String]) -> Result<(), Refusal> {
    let unknown: Vec<&str> =
        values.keys().map(String::as_str).filter(|name| !known.iter().any(|k| k == name)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let (unknown, known) = (unknown.join(", "), known.join(", "));
    Err(Refusal::invalid(format!("unknown parameters: {unknown}; this route knows {known}")))
}

fn read<T: DeserializeOwned>(
    values: &Map<String, Value>,
    known: &[utoipa::openapi::path::Parameter],
) -> Result<T, Refusal> {
    let own = values.iter().filter(|(name, _)| known.iter().any(|parameter| parameter.name == **name));
    let own: Map<String, Value> = own.map(|(name, value)| (name.clone(), value.clone())).collect();
    // One value at a time tells which one is wrong.
    for (name, value) in &own {
        let alone: Map<String, Value> = [(name.clone(), value.clone())].into_iter().collect();
        serde_json::from_value::<T>(Value::Object(alone))
            .map_err(|error| Refusal::invalid(format!("the parameter {name} cannot be read: {error}")))?;
    }
    serde_json::from_value(Value::Object(own)).map_err(|error| Refusal::invalid(format!("the query: {error}")))
}

/// How many items a page has at most.
pub(crate) fn limit(page: &PageQuery) -> Result<usize, Refusal> {
    match page.limit.unwrap_or(LIMIT_DEFAULT) {
        limit @ 1..=LIMIT_MAX => Ok(limit as usize),
        _ => Err(Refusal::invalid(format!("limit is from 1 to {LIMIT_MAX}"))),
    }
}

/// Path segments, decoded.
pub(crate) struct Path<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<App> for Path<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refusal> {
        match axum::extract::Path::from_request_parts(parts, app).await {
            Ok(axum::extract::Path(value)) => Ok(Self(value)),
            Err(_) => Err(Refusal::invalid("the path cannot be read: percent-encode each name in it as UTF-8")),
        }
    }
}

/// A time as people give it. With a day alone, `end_of_day` says which end is meant.
pub(crate) fn time(name: &str, text: &str, end_of_day: bool) -> Result<UnixMs, Refusal> {
    // In a query string an unescaped + has become a space.
    if let Ok(at) = text.replace(' ', "+").parse::<Timestamp>() {
        return Ok(UnixMs(at.as_millisecond()));
    }
    day(text, end_of_day).ok_or_else(|| {
        let example = "write 2026-01-31T12:00:00Z or 2026-01-31";
        Refusal::invalid(format!("{name}: \"{text}\" is not a time: {example}"))
    })
}

fn day(text: &str, end_of_day: bool) -> Option<UnixMs> {
    if text.len() != "2026-01-31".len() {
        return None;
    }
    let date: Date = text.parse().ok()?;
    let date = if end_of_day { date.tomorrow().ok()? } else { date };
    Some(UnixMs(date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        check("2026-01-31T12:00:00Z", false, Some(1_769_860_800_000));
        check("2026-01-31T12:00:00.250Z", false, Some(1_769_860_800_250));
        check("2026-01-31T14:00:00+02:00", false, Some(1_769_860_800_000));
        check("2026-01-31T14:00:00 02:00", false, Some(1_769_860_800_000)); // an unescaped plus
        check("2026-01-31", false, Some(1_769_817_600_000));
        check("2026-01-31", true, Some(1_769_904_000_000)); // the day is taken in whole
        for wrong in ["", "yesterday", "2026-02-30", "2026-01-31T12:00:00", "12:00"] {
            check(wrong, false, None);
        }
    }

    fn check(text: &str, end_of_day: bool, expected_ms: Option<i64>) {
        assert_eq!(time("from", text, end_of_day).ok().map(|at| at.0), expected_ms, "{text}");
    }

    #[test]
    fn states_may_be_repeated_and_nothing_else() {
        let read = |uri: &'static str| values(&Uri::from_static(uri));
        assert_eq!(read("/?state=failed&state=queued,paused").expect("reads")["state"], "failed,queued,paused");
        assert!(read("/?room=a&room=b").is_err());
        assert!(read("/?room=").is_err());
    }
}
