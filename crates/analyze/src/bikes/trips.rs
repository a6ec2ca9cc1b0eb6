//! A batch of trips becomes a partial: one pass over its bytes.

use super::Params;
use super::city::{City, Sky};
use super::partial::{Partial, Sum};
use crate::analysis::{Batch, Rejected};
use crate::csv::Table;
use crate::day::Day;
use crate::lines::Lines;
use crate::number::{integer, millionths};

/// Ways that are measured together.
const WAYS_MAX: usize = 256;

/// Reads the trips of a batch. `city_name` is that of its city.
pub fn map(batch: Batch<'_>, city_name: &str, city: &City, params: &Params) -> Result<Partial, Rejected> {
    let name = batch.name;
    let wrong = |why| Rejected::Batch { batch: name.to_owned(), why };
    let table = Table::new(batch.bytes).map_err(wrong)?;
    let columns = ["start_date", "start_station_code", "end_station_code", "duration_sec", "yearid"];
    let columns = table.find(columns).map_err(wrong)?;
    let mut sums = Sums::new(city, params, params.is_the_city(city_name));
    let mut lines = Lines::default();
    table.each(columns, |line, fields, record| match fields.map(read) {
        None => lines.spoilt(name, line, "it has too few fields", record),
        Some(Err(why)) => lines.spoilt(name, line, why, record),
        Some(Ok(trip)) => {
            lines.read += 1;
            sums.add(&trip);
        }
    });
    Ok(sums.end(lines))
}

struct Trip<'b> {
    day: Day,
    year: i32,
    from: &'b [u8],
    to: &'b [u8],
    /// In microseconds.
    duration: u64,
    /// The year of its stations.
    year_id: i32,
}

#[inline(always)]
fn read<'b>([start, from, to, duration, year_id]: [&'b [u8]; 5]) -> Result<Trip<'b>, &'static str> {
    let (day, year) = Day::read(start).or_else(|| Day::read(start.trim_ascii())).ok_or("its start_date is none")?;
    let duration = millionths(duration).ok_or("its duration_sec is no number")?;
    let year_id = match year_id {
        // The usual way to write one, read without further ado.
        [a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', d @ b'0'..=b'9'] => {
            [a, b, c, d].iter().fold(0, |year, digit| year * 10 + i32::from(**digit - b'0'))
        }
        other => integer(other).and_then(|year| i32::try_from(year).ok()).ok_or("its yearid is no year")?,
    };
    Ok(Trip { day, year, from, to, duration: u64::try_from(duration).unwrap_or(0), year_id })
}

/// Sums while they grow, each in a place of its own.
struct Sums<'c> {
    city: &'c City,
    years: [i32; 2],
    is_the_city: bool,
    rain: Vec<(i32, Sum)>,
    /// Where in it the last rainy day is: trips come in order of days, mostly.
    last_rain: usize,
    year: Vec<[u64; 2]>,
    arrivals: Vec<Sum>,
    /// Ways whose length is yet to be looked up: many at once, for the memory answers several questions in the time of
    /// one.
    ways: Vec<(u32, u32)>,
    left_out: [u64; 3],
}

impl<'c> Sums<'c> {
    fn new(city: &'c City, params: &Params, is_the_city: bool) -> Self {
        let names = city.names().len();
        Self {
            city,
            years: [params.year_base, params.year_compared],
            is_the_city,
            rain: Vec::new(),
            last_rain: 0,
            year: vec![[0; 2]; names],
            arrivals: vec![Sum::default(); if is_the_city { names } else { 0 }],
            ways: Vec::with_capacity(WAYS_MAX),
            left_out: [0; 3],
        }
    }

    #[inline(always)]
    fn add(&mut self, trip: &Trip<'_>) {
        match self.city.sky(trip.day) {
            Sky::Dry => {}
            Sky::Unknown => self.left_out[0] += 1,
            Sky::Wet => self.add_rain(trip),
        }
        let year = self.years.iter().position(|year| *year == trip.year);
        if year.is_none() && !self.is_the_city {
            return;
        }
        let from = self.city.station(trip.from, trip.year_id);
        if let Some(year) = year {
            match from {
                Some(from) => self.year[self.city.name_of(from)][year] += 1,
                None => self.left_out[1] += 1,
            }
        }
        if self.is_the_city {
            self.add_arrival(from, trip);
        }
    }

    fn add_rain(&mut self, trip: &Trip<'_>) {
        if self.rain.get(self.last_rain).is_none_or(|(day, _)| *day != trip.day.0) {
            let at = self.rain.binary_search_by_key(&trip.day.0, |(day, _)| *day);
            self.last_rain = at.unwrap_or_else(|place| {
                self.rain.insert(place, (trip.day.0, Sum::default()));
                place
            });
        }
        let (_, sum) = &mut self.rain[self.last_rain];
        sum.trips += 1;
        sum.total += u128::from(trip.duration);
    }

    #[inline(always)]
    fn add_arrival(&mut self, from: Option<usize>, trip: &Trip<'_>) {
        match from.zip(self.city.station(trip.to, trip.year_id)) {
            Some((from, to)) => {
                self.ways.push((from as u32, to as u32));
                if self.ways.len() == WAYS_MAX {
                    self.measure();
                }
            }
            None => self.left_out[2] += 1,
        }
    }

    fn measure(&mut self) {
        for (from, to) in self.ways.drain(..) {
            match self.city.distance(from as usize, to as usize) {
                Some(mm) => {
                    let sum = &mut self.arrivals[self.city.name_of(to as usize)];
                    sum.trips += 1;
                    sum.total += u128::from(mm);
                }
                None => self.left_out[2] += 1,
            }
        }
    }

    fn end(mut self, lines: Lines) -> Partial {
        self.measure();
        let numbered = |at: usize| u32::try_from(at).expect("names are numbered so");
        let year = self.year.into_iter().enumerate().filter(|(_, counts)| *counts != [0; 2]);
        let city = self.arrivals.into_iter().enumerate().filter(|(_, sum)| sum.trips > 0);
        Partial {
            rain: self.rain,
            year: year.map(|(name, counts)| (numbered(name), counts)).collect(),
            city: city.map(|(name, sum)| (numbered(name), sum)).collect(),
            left_out: self.left_out,
            lines,
        }
    }
}
