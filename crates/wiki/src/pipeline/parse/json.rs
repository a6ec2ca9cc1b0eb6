//! JSON whose objects keep the order of their keys: in `$sort` and `$group` it means something.

use std::fmt;

use malla_queue::{Error, Result};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// How deep lists and objects may lie in one another.
const DEPTH_MAX: usize = 32;
/// Characters of a text that a refusal repeats.
const SHOWN_MAX: usize = 60;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Null,
    Flag(bool),
    Whole(i64),
    Real(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Refuses what is nested too deep.
    pub(super) fn check_depth(&self) -> Result<()> {
        self.shallow(DEPTH_MAX)
    }

    fn shallow(&self, left: usize) -> Result<()> {
        let left = left.checked_sub(1).ok_or_else(too_deep)?;
        match self {
            Self::List(items) => items.iter().try_for_each(|item| item.shallow(left)),
            Self::Object(pairs) => pairs.iter().try_for_each(|(_, value)| value.shallow(left)),
            _ => Ok(()),
        }
    }

    /// A whole number, also when it was written as `1.0`.
    pub(super) fn whole(&self) -> Option<i64> {
        match self {
            Self::Whole(number) => Some(*number),
            // Up to 2^53 a real number says exactly which whole one it is.
            Self::Real(number) if number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0 => {
                Some(*number as i64)
            }
            _ => None,
        }
    }

    /// Whether it is an object that says what to do (`{"$gt": 5}`), not one with fields of its own.
    pub(super) fn is_operator(&self) -> bool {
        matches!(self, Self::Object(pairs) if pairs.iter().any(|(key, _)| key.starts_with('$')))
    }
}

/// As a refusal shows it.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Flag(flag) => flag.fmt(f),
            Self::Whole(number) => number.fmt(f),
            Self::Real(number) => number.fmt(f),
            Self::Text(text) => f.write_str(&quoted(text)),
            Self::List(_) => f.write_str("a list"),
            Self::Object(pairs) => match pairs.first() {
                Some((key, _)) => write!(f, "an object with {}", quoted(key)),
                None => f.write_str("an empty object"),
            },
        }
    }
}

/// Between quotes, and not at any length.
pub(super) fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}

fn too_deep() -> Error {
    Error::Invalid(format!("the pipeline is nested too deep: at most {DEPTH_MAX} levels"))
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(flag) => Self::Flag(*flag),
            Value::Number(number) => {
                number.as_i64().map_or_else(|| Self::Real(number.as_f64().unwrap_or(f64::MAX)), Self::Whole)
            }
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(items) => Self::List(items.iter().map(Self::from).collect()),
            Value::Object(fields) => {
                Self::Object(fields.iter().map(|(key, field)| (key.clone(), Self::from(field))).collect())
            }
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reading)
    }
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Json, E> {
        Ok(Json::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json, E> {
        Ok(Json::Whole(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
        Ok(i64::try_from(number).map_or(Json::Real(number as f64), Json::Whole))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json, E> {
        Ok(Json::Real(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Json, A::Error> {
        let mut pairs: Vec<(String, Json)> = Vec::new();
        let mut keys = std::collections::HashSet::new();
        while let Some((key, value)) = fields.next_entry::<String, Json>()? {
            if !keys.insert(key.clone()) {
                let twice = format!("{} is there twice in one object", quoted(&key));
                return Err(serde::de::Error::custom(twice));
            }
            pairs.push((key, value));
        }
        Ok(Json::Object(pairs))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> serde_json::Result<Json> {
        serde_json::from_str(text)
    }

    #[test]
    fn keys_stay_in_their_order() {
        let written = r#"{"z": 1, "a": -2.5, "m": [null, true, "x"]}"#;
        let Json::Object(pairs) = read(written).expect("JSON") else {
            panic!("an object");
        };
        assert_eq!(pairs.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["z", "a", "m"]);
        assert_eq!(pairs[1].1, Json::Real(-2.5));
        assert_eq!(pairs[2].1, Json::from(&json!([null, true, "x"])));
    }

    #[test]
    fn what_is_no_json_or_too_deep_or_says_a_key_twice_is_refused() {
        assert!(read("[{]").is_err());
        assert!(read(&"[".repeat(100_000)).is_err());
        let twice = read(r#"{"a": 1, "a": 2}"#).expect_err("refused").to_string();
        assert!(twice.contains(r#""a" is there twice in one object"#), "{twice}");
        let nested = |levels| read(&format!("{}{}", "[".repeat(levels), "]".repeat(levels))).expect("JSON");
        let refused = nested(33).check_depth().expect_err("refused").to_string();
        assert_eq!(refused, "the pipeline is nested too deep: at most 32 levels");
        assert_eq!(nested(32).check_depth(), Ok(()));
    }

    #[test]
    fn numbers_are_whole_where_they_can_be() {
        let whole = |text: &str| read(text).expect("JSON").whole();
        assert_eq!((whole("5"), whole("5.0"), whole("5.5")), (Some(5), Some(5), None));
        assert_eq!((whole("9223372036854775807"), whole("9223372036854775808")), (Some(i64::MAX), None));
    }
}
