//! Whole numbers and clearable fields in JSON, refused in words that a person understands.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Unexpected, Visitor};

/// A number from 0 up, without a fraction.
struct Whole(u64);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_u64(WholeVisitor).map(Self)
    }
}

struct WholeVisitor;

impl Visitor<'_> for WholeVisitor {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<u64, E> {
        Ok(number)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<u64, E> {
        u64::try_from(number)
            .map_err(|_| E::custom(format_args!("{number} is negative: give a whole number from 0 up")))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<u64, E> {
        Err(match number {
            // JSON's 1e30 and the like.
            number if number.fract() == 0.0 => E::invalid_value(Unexpected::Float(number), &self),
            number => E::custom(format_args!("{number} is not a whole number")),
        })
    }
}

fn narrow<T: TryFrom<u64>, E: de::Error>(Whole(number): Whole) -> Result<T, E> {
    T::try_from(number).map_err(|_| E::custom(format_args!("{number} is too large")))
}

/// A number that may be missing or null.
pub(crate) fn whole<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<u64>,
{
    Option::<Whole>::deserialize(deserializer)?.map(narrow).transpose()
}

/// A list of numbers that may be missing or null.
pub(crate) fn wholes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<u64>>, D::Error> {
    let numbers = Option::<Vec<Whole>>::deserialize(deserializer)?;
    Ok(numbers.map(|numbers| numbers.into_iter().map(|Whole(number)| number).collect()))
}

/// A field of a change: missing leaves it as it is (`None`), null clears it (`Some(None)`).
pub(crate) fn given<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Some)
}

/// Like [`given`], for a number.
pub(crate) fn given_whole<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<u64>,
{
    whole(deserializer).map(Some)
}

/// Like [`given`], for a list of numbers.
pub(crate) fn given_wholes<'de, D>(deserializer: D) -> Result<Option<Option<Vec<u64>>>, D::Error>
where
    D: Deserializer<'de>,
{
    wholes(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    #[derive(Deserialize)]
    struct Change {
        #[serde(default, deserialize_with = "super::given_whole")]
        days: Option<Option<u32>>,
        #[serde(default, deserialize_with = "super::wholes")]
        delays: Option<Vec<u64>>,
    }

    #[test]
    fn missing_null_and_given_are_three_things() {
        let days = |text: &str| serde_json::from_str::<Change>(text).map(|change| change.days).expect("reads");
        assert_eq!(days("{}"), None);
        assert_eq!(days(r#"{"days":null}"#), Some(None));
        assert_eq!(days(r#"{"days":7}"#), Some(Some(7)));
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused_in_plain_words() {
        check(r#"{"delays":[5,-1]}"#, "-1 is negative");
        check(r#"{"delays":[1.5]}"#, "1.5 is not a whole number");
        check(r#"{"delays":["5"]}"#, "expected a whole number");
        check(r#"{"delays":5}"#, "expected a sequence");
        check(r#"{"days":5000000000}"#, "5000000000 is too large");
        check(r#"{"days":1e30}"#, "expected a whole number");
    }

    fn check(text: &str, words: &str) {
        let error = serde_json::from_str::<Change>(text).map(|change| change.delays).expect_err("refused").to_string();
        assert!(error.contains(words), "{error}");
    }
}
