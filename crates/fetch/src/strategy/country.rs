//! Countries, and how far they are from each other.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use malla_queue::Error;
use serde::{Deserialize, Serialize};

use super::centroids::CENTROIDS;

const EARTH_RADIUS_KM: f64 = 6_371.008_8;

/// Two letters of ISO 3166: `AR`, `DE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Country([u8; 2]);

impl Country {
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("two letters")
    }

    /// From the middle of one to the middle of the other. `None` if one of them is nowhere.
    pub fn km_to(self, other: Self) -> Option<u32> {
        let (here, there) = (self.row()?, other.row()?);
        Some(u32::from(DISTANCES.km[here * CENTROIDS.len() + there]))
    }

    /// Every country with its middle, in degrees north and east.
    pub fn everywhere() -> impl Iterator<Item = (Self, f64, f64)> {
        CENTROIDS.iter().map(|(code, north, east)| (Self(**code), *north, *east))
    }

    fn row(self) -> Option<usize> {
        DISTANCES.row[usize::from(self.0[0] - b'A') * 26 + usize::from(self.0[1] - b'A')]
    }
}

/// Every country to every other: strategies look at many sites for each device.
static DISTANCES: LazyLock<Distances> = LazyLock::new(Distances::measure);

struct Distances {
    /// The row of a country by its two letters.
    row: [Option<usize>; 26 * 26],
    km: Vec<u16>,
}

impl Distances {
    fn measure() -> Self {
        let mut row = [None; 26 * 26];
        for (index, ([a, b], ..)) in CENTROIDS.iter().enumerate() {
            row[usize::from(a - b'A') * 26 + usize::from(b - b'A')] = Some(index);
        }
        let pairs = CENTROIDS.iter().flat_map(|here| CENTROIDS.iter().map(move |there| (here, there)));
        let km = pairs.map(|((_, north, east), (_, to_north, to_east))| km((*north, *east), (*to_north, *to_east)));
        Self { row, km: km.map(|km| km.round() as u16).collect() }
    }
}

/// Between two places in degrees north and east.
fn km((north, east): (f64, f64), (to_north, to_east): (f64, f64)) -> f64 {
    let half = |from: f64, to: f64| ((to - from).to_radians() / 2.0).sin().powi(2);
    let across = north.to_radians().cos() * to_north.to_radians().cos() * half(east, to_east);
    2.0 * EARTH_RADIUS_KM * (half(north, to_north) + across).min(1.0).sqrt().asin()
}

impl FromStr for Country {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.trim().as_bytes() {
            [a, b] if a.is_ascii_alphabetic() && b.is_ascii_alphabetic() => {
                Ok(Self([a.to_ascii_uppercase(), b.to_ascii_uppercase()]))
            }
            _ => Err(Error::Invalid(format!("\"{text}\" is not a country: give its two letters, as in AR or DE"))),
        }
    }
}

impl TryFrom<String> for Country {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<Country> for String {
    fn from(country: Country) -> Self {
        country.as_str().to_owned()
    }
}

impl fmt::Display for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_the_globe() {
        for (a, b, expected_km, within_km) in [
            ("AR", "UY", 900, 150),
            ("ES", "PT", 430, 60),
            ("DE", "FR", 770, 100),
            ("AR", "ES", 10_400, 300),
            ("US", "JP", 9_900, 500),
            ("NZ", "ES", 19_600, 400),
            // Over the date line, not around the world.
            ("FJ", "WS", 1_150, 150),
            ("DE", "DE", 0, 0),
        ] {
            let [a, b]: [Country; 2] = [a, b].map(|text| text.parse().expect("a country"));
            let km = a.km_to(b).expect("both are somewhere");
            assert!(km.abs_diff(expected_km) <= within_km, "{a} {b}: {km}");
            assert_eq!(b.km_to(a), Some(km), "{a} {b}");
        }
        let nowhere: Country = "QQ".parse().expect("two letters");
        assert_eq!(nowhere.km_to("DE".parse().expect("a country")), None);
    }

    #[test]
    fn the_table_is_in_order_and_on_the_globe() {
        assert!(CENTROIDS.is_sorted_by(|(a, ..), (b, ..)| a < b));
        for (code, north, east) in CENTROIDS {
            assert!(code.iter().all(u8::is_ascii_uppercase) && north.abs() <= 90.0 && east.abs() <= 180.0, "{code:?}");
        }
    }

    #[test]
    fn a_country_is_two_letters() {
        assert_eq!("ar".parse::<Country>().expect("a country").to_string(), "AR");
        for wrong in ["", "A", "ARG", "4R", "ü"] {
            let error = wrong.parse::<Country>().expect_err(wrong).to_string();
            assert!(error.contains("give its two letters"), "{error}");
        }
        let written = serde_json::to_string(&"de".parse::<Country>().expect("a country")).expect("it is written");
        assert_eq!(written, "\"DE\"");
        assert!(serde_json::from_str::<Country>("\"Germany\"").is_err());
    }
}
