//! The three answers, from the partials of all cities.

use std::collections::BTreeMap;

use serde::Serialize;

use super::partial::Sum;
use super::{City, Params, Partial};
use crate::day::Day;
use crate::number::mean;

/// Millimetres in a kilometre: a millimetre is a millionth of it.
const MM_A_KM: f64 = 1e6;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answers {
    pub rain: RainAnswer,
    pub year: YearAnswer,
    pub city: CityAnswer,
}

/// How long trips take on rainy days.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RainAnswer {
    /// Seconds, over all trips; none if there were none.
    pub overall: Option<f64>,
    pub days: Vec<RainyDay>,
    pub left_out: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RainyDay {
    pub date: Day,
    pub average_s: f64,
    pub trips: u64,
}

/// Stations that have grown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct YearAnswer {
    pub stations: Vec<GrownStation>,
    pub left_out: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GrownStation {
    pub name: String,
    pub base: u64,
    pub compared: u64,
}

/// Stations that people come to from afar.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CityAnswer {
    pub stations: Vec<FarStation>,
    pub left_out: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FarStation {
    pub name: String,
    pub average_km: f64,
    pub trips: u64,
}

/// Each city with what its trips add up to.
pub fn answer<'c>(cities: impl IntoIterator<Item = (&'c City, &'c Partial)>, params: &Params) -> Answers {
    let mut days: BTreeMap<i32, Sum> = BTreeMap::new();
    let mut years: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    let mut arrivals: BTreeMap<&str, Sum> = BTreeMap::new();
    let mut left_out = [0; 3];
    for (city, partial) in cities {
        for (day, sum) in &partial.rain {
            add(days.entry(*day).or_default(), *sum);
        }
        for (name, [base, compared]) in &partial.year {
            let counts = years.entry(&city.names()[*name as usize]).or_default();
            counts[0] += base;
            counts[1] += compared;
        }
        for (name, sum) in &partial.city {
            add(arrivals.entry(&city.names()[*name as usize]).or_default(), *sum);
        }
        left_out.iter_mut().zip(partial.left_out).for_each(|(sum, more)| *sum += more);
    }
    Answers {
        rain: rain(days, left_out[0]),
        year: year(years, params.factor, left_out[1]),
        city: city(arrivals, params.distance_km, left_out[2]),
    }
}

fn rain(days: BTreeMap<i32, Sum>, left_out: u64) -> RainAnswer {
    let mut all = Sum::default();
    days.values().for_each(|sum| add(&mut all, *sum));
    let days = days.into_iter().map(|(day, sum)| RainyDay {
        date: Day(day),
        average_s: mean(sum.total, sum.trips),
        trips: sum.trips,
    });
    let days = days.collect();
    RainAnswer { overall: (all.trips > 0).then(|| mean(all.total, all.trips)), days, left_out }
}

fn year(years: BTreeMap<&str, [u64; 2]>, factor: f64, left_out: u64) -> YearAnswer {
    let grown = |base: u64, compared: u64| base > 0 && compared as f64 >= factor * base as f64;
    let stations = years.into_iter().filter(|(_, [base, compared])| grown(*base, *compared));
    let stations =
        stations.map(|(name, [base, compared])| GrownStation { name: name.to_owned(), base, compared }).collect();
    YearAnswer { stations, left_out }
}

fn city(arrivals: BTreeMap<&str, Sum>, distance_km: f64, left_out: u64) -> CityAnswer {
    let far = |sum: &Sum| sum.total as f64 > distance_km * MM_A_KM * sum.trips as f64;
    let stations = arrivals.into_iter().filter(|(_, sum)| sum.trips > 0 && far(sum));
    let stations = stations.map(|(name, sum)| FarStation {
        name: name.to_owned(),
        average_km: mean(sum.total, sum.trips),
        trips: sum.trips,
    });
    CityAnswer { stations: stations.collect(), left_out }
}

fn add(sum: &mut Sum, more: Sum) {
    sum.trips += more.trips;
    sum.total += more.total;
}
