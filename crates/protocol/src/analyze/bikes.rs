//! The answers about bike rides.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How long trips take that start on rainy days.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Rain {
    /// Seconds, over all trips; null if there were none.
    pub overall: Option<f64>,
    /// In the order of their dates.
    pub days: Vec<RainyDay>,
    /// Trips without what this answer needs.
    pub left_out: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RainyDay {
    /// `2016-07-14`
    pub date: String,
    pub average_s: f64,
    pub trips: u64,
}

/// Stations that have grown from the base year to the compared one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Year {
    /// In the order of their names.
    pub stations: Vec<GrownStation>,
    /// Trips without what this answer needs.
    pub left_out: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GrownStation {
    pub name: String,
    /// Trips that started there in the base year.
    pub base: u64,
    /// And in the year compared with it.
    pub compared: u64,
}

/// Stations of a city that people come to from afar.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct City {
    /// In the order of their names.
    pub stations: Vec<FarStation>,
    /// Trips without what this answer needs.
    pub left_out: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FarStation {
    pub name: String,
    pub average_km: f64,
    pub trips: u64,
}
