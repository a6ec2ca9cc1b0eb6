//! What a field is compared with: checked against what the field is.

use malla_queue::{Error, Result};

use super::super::{Literal, Type};
use super::dates::{DateFormat, extended};
use super::json::Json;

/// The value that `json` means for a field of this kind.
pub(super) fn literal(name: &str, kind: Type, json: &Json, dates: &DateFormat) -> Result<Literal> {
    let named = |error: Error| Error::Invalid(format!("{name}: {error}"));
    match (kind, json) {
        (_, Json::Null) => Ok(Literal::Null),
        (Type::Whole | Type::Real, _) => number(json).ok_or_else(|| wrong(name, "a number", json)),
        (Type::Text | Type::Tags, Json::Text(text)) => Ok(Literal::Text(text.clone())),
        (Type::Text, Json::Whole(number)) => {
            Err(Error::Invalid(format!("{name} is text: write \"{number}\" between quotes")))
        }
        (Type::Tags, Json::List(_)) => {
            Err(Error::Invalid(format!("{name} is a list of words: ask for one of them, or for several with $in")))
        }
        (Type::Date, Json::Text(text)) => dates.read(text).map(Literal::Date).map_err(named),
        (Type::Date, Json::Object(pairs)) => match pairs.as_slice() {
            [(key, date)] if key == "$date" => extended(date).map(Literal::Date).map_err(named),
            _ => Err(wrong(name, "a date", json)),
        },
        (Type::Flag, Json::Flag(flag)) => Ok(Literal::Flag(*flag)),
        (Type::Content, _) => Err(content(name)),
        (Type::Text, _) => Err(wrong(name, "text", json)),
        (Type::Tags, _) => Err(wrong(name, "a list of words", json)),
        (Type::Date, _) => Err(wrong(name, "a date", json)),
        (Type::Flag, _) => Err(wrong(name, "true, or not there", json)),
    }
}

/// A number, also one between quotes: forms send them so, and it can mean nothing else.
fn number(json: &Json) -> Option<Literal> {
    match json {
        Json::Text(text) => {
            let real = |text: &str| text.parse().ok().filter(|real: &f64| real.is_finite()).map(Literal::Real);
            text.trim().parse().map(Literal::Whole).ok().or_else(|| real(text.trim()))
        }
        Json::Real(real) => Some(json.whole().map_or(Literal::Real(*real), Literal::Whole)),
        _ => json.whole().map(Literal::Whole),
    }
}

fn wrong(name: &str, what: &str, json: &Json) -> Error {
    Error::Invalid(format!("{name} is {what}, and cannot be compared with {json}"))
}

/// Texts lie packed together: comparing them would unpack them all.
pub(super) fn content(name: &str) -> Error {
    Error::Invalid(format!("{name} is a revision's text: it can be shown, not compared, sorted or grouped (sha1 can)"))
}

#[cfg(test)]
mod tests {
    use malla_queue::UnixMs;
    use serde_json::{Value, json};

    use super::*;

    fn read(kind: Type, value: &Value) -> Result<Literal> {
        literal("x", kind, &Json::from(value), &DateFormat::Iso)
    }

    #[test]
    fn values_are_what_their_field_is() {
        for (kind, value, expected) in [
            (Type::Whole, json!(5), Literal::Whole(5)),
            (Type::Whole, json!(5.0), Literal::Whole(5)),
            (Type::Whole, json!(5.5), Literal::Real(5.5)),
            (Type::Whole, json!("100"), Literal::Whole(100)),
            (Type::Real, json!(" 0.5 "), Literal::Real(0.5)),
            (Type::Text, json!("Venezuela"), Literal::Text("Venezuela".into())),
            (Type::Text, json!(null), Literal::Null),
            (Type::Tags, json!("mobile edit"), Literal::Text("mobile edit".into())),
            (Type::Date, json!("1970-01-02"), Literal::Date(UnixMs(86_400_000))),
            (Type::Date, json!({"$date": 5}), Literal::Date(UnixMs(5))),
            (Type::Date, json!({"$date": "1970-01-02T00:00:00Z"}), Literal::Date(UnixMs(86_400_000))),
            (Type::Date, json!({"$date": {"$numberLong": "7"}}), Literal::Date(UnixMs(7))),
            (Type::Flag, json!(true), Literal::Flag(true)),
        ] {
            assert_eq!(read(kind, &value), Ok(expected), "{kind:?} {value}");
        }
    }

    #[test]
    fn other_values_are_refused_with_the_field_s_name() {
        for (kind, value, expected) in [
            (Type::Whole, json!("many"), r#"x is a number, and cannot be compared with "many""#),
            (Type::Whole, json!("NaN"), r#"x is a number, and cannot be compared with "NaN""#),
            (Type::Whole, json!(true), "x is a number, and cannot be compared with true"),
            (Type::Text, json!(1984), r#"x is text: write "1984" between quotes"#),
            (Type::Text, json!([]), "x is text, and cannot be compared with a list"),
            (Type::Tags, json!(["a"]), "x is a list of words: ask for one of them, or for several with $in"),
            (Type::Date, json!(5), "x is a date, and cannot be compared with 5"),
            (Type::Date, json!({"$date": []}), "x: $date takes milliseconds since 1970 or an ISO date, not a list"),
            (Type::Flag, json!("yes"), r#"x is true, or not there, and cannot be compared with "yes""#),
            (
                Type::Content,
                json!("text"),
                "x is a revision's text: it can be shown, not compared, sorted or grouped (sha1 can)",
            ),
        ] {
            assert_eq!(read(kind, &value), Err(Error::Invalid(expected.into())), "{kind:?} {value}");
        }
    }
}
