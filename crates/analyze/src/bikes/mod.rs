//! Bike rides: three answers about cities, their weather and the trips between their stations.

mod answers;
mod city;
pub mod generate;
pub mod naive;
#[cfg(test)]
mod oddities;
mod partial;
#[cfg(test)]
mod tests;
mod trips;

pub use answers::{Answers, CityAnswer, RainAnswer, YearAnswer, answer};
pub use city::City;
pub use partial::Partial;
pub use trips::map;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::analysis::{Analysis, Batch, Input, Part, Rejected, Role};
use crate::number::ONE;

/// Days of rain, stations that have grown, stations that people come to from afar.
pub struct BikeRides;

impl Analysis for BikeRides {
    const KIND: &'static str = "bike-rides";
    const INPUTS: &'static [Input] = &[
        Input { name: "weather", role: Role::Dimension, columns: &["date", "prectot"] },
        Input {
            name: "stations",
            role: Role::Dimension,
            columns: &["code", "name", "latitude", "longitude", "yearid"],
        },
        Input {
            name: "trips",
            role: Role::Records,
            columns: &["start_date", "start_station_code", "end_station_code", "duration_sec", "yearid"],
        },
    ];
    const ANSWERS: &'static [&'static str] = &["rain", "year", "city"];
    type Params = Params;
    type Dimensions = City;
    type Partial = Partial;

    fn check(params: &Params) -> Result<(), String> {
        params.check()
    }

    fn bad_lines_max(params: &Params) -> f64 {
        params.bad_lines_max
    }

    fn dimensions(params: &Params, _: &str, tables: &[Batch<'_>]) -> Result<City, Rejected> {
        City::new(tables, params)
    }

    fn map(params: &Params, part: &str, city: &City, batch: Batch<'_>) -> Result<Partial, Rejected> {
        map(batch, part, city, params)
    }

    fn finish(params: &Params, parts: &[Part<'_, Self>]) -> Vec<Value> {
        let Answers { rain, year, city } = answer(parts.iter().map(|part| (part.dimensions, &part.partial)), params);
        let json = |answer: serde_json::Result<Value>| answer.expect("plain data");
        vec![json(serde_json::to_value(rain)), json(serde_json::to_value(year)), json(serde_json::to_value(city))]
    }
}

/// What may be asked otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Days with more rain than this are rainy, in millimetres.
    pub precipitation_mm: f64,
    pub year_base: i32,
    pub year_compared: i32,
    /// So many times the trips of the base year, or more.
    pub factor: f64,
    /// The city of the answer `city`.
    pub city: String,
    /// Farther than this on average, in kilometres.
    pub distance_km: f64,
    /// The share of a batch's lines that may be unreadable.
    pub bad_lines_max: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            precipitation_mm: 30.0,
            year_base: 2016,
            year_compared: 2017,
            factor: 2.0,
            city: "Montreal".into(),
            distance_km: 6.0,
            bad_lines_max: 0.01,
        }
    }
}

impl Params {
    /// One sentence about what is wrong with them.
    pub fn check(&self) -> Result<(), String> {
        let within = |name: &str, value: f64, most: f64| {
            if (0.0..=most).contains(&value) { Ok(()) } else { Err(format!("{name} must lie between 0 and {most}")) }
        };
        within("precipitation_mm", self.precipitation_mm, 1e6)?;
        within("factor", self.factor, 1e6)?;
        within("distance_km", self.distance_km, 30_000.0)?;
        within("bad_lines_max", self.bad_lines_max, 1.0)?;
        if self.year_base == self.year_compared {
            return Err("year_base and year_compared must be two years".into());
        }
        Ok(())
    }

    fn precipitation(&self) -> i64 {
        (self.precipitation_mm * ONE as f64).round() as i64
    }

    /// City names compare without regard to case.
    pub fn is_the_city(&self, city: &str) -> bool {
        self.city.to_lowercase() == city.to_lowercase()
    }
}
