//! What is known of a city before its trips come: how much it rained, and where its stations are.

use std::sync::atomic::{AtomicU32, Ordering};

use rustc_hash::FxHashMap;

use super::Params;
use crate::analysis::{Batch, Rejected};
use crate::csv::{Table, WrongTable, text};
use crate::day::Day;
use crate::lines::Lines;
use crate::number::{ONE, integer, millionths};

/// The mean radius of the Earth, for the distances between stations.
const EARTH_MM: f64 = 6_371_008_800.0;
/// Up to so many places their distances are remembered: a table of 16 MB.
const REMEMBERED_MAX: usize = 2_048;
/// Codes that are numbers below this are found without a search.
const NUMBERED_MAX: usize = 65_536;
/// Years whose numbered codes are.
const NUMBERED_YEARS_MAX: usize = 16;
const NOBODY: u32 = u32::MAX;
/// A distance that is not known yet.
const UNKNOWN: u32 = u32::MAX;

/// What a day was like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sky {
    Unknown,
    Dry,
    Wet,
}

/// A city, ready for its trips.
#[derive(Debug)]
pub struct City {
    first_day: i32,
    sky: Vec<Sky>,
    codes: Codes,
    /// Of each station: its name's number, and where it is.
    stations: Vec<Station>,
    /// Sorted; each once.
    names: Vec<String>,
    /// Latitude and longitude, each place once: a station is mostly where it was the year before.
    places: Vec<(f64, f64)>,
    /// Of each pair of places, in millimetres.
    distances: Vec<AtomicU32>,
    pub lines: Lines,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Station {
    pub(super) name: u32,
    place: Option<u32>,
}

/// Stations by code and year. A code is a text, and nearly always a small number.
#[derive(Debug, Default)]
struct Codes {
    numbered: Vec<(i32, Vec<u32>)>,
    others: FxHashMap<(Vec<u8>, i32), u32>,
}

/// The number that is written so, and in no other way.
#[inline(always)]
fn numbered(code: &[u8]) -> Option<usize> {
    let (first, rest) = code.split_first()?;
    if rest.len() > 4 || !(b'1'..=b'9').contains(first) {
        return None;
    }
    let mut number = usize::from(first - b'0');
    for digit in rest {
        if !digit.is_ascii_digit() {
            return None;
        }
        number = number * 10 + usize::from(digit - b'0');
    }
    Some(number).filter(|number| *number < NUMBERED_MAX)
}

impl Codes {
    #[inline(always)]
    fn find(&self, code: &[u8], year: i32) -> Option<u32> {
        if let Some(number) = numbered(code)
            && let Some((_, stations)) = self.numbered.iter().find(|(of, _)| *of == year)
        {
            return stations.get(number).copied().filter(|station| *station != NOBODY);
        }
        self.find_other(code, year)
    }

    #[cold]
    fn find_other(&self, code: &[u8], year: i32) -> Option<u32> {
        if self.others.is_empty() { None } else { self.others.get(&(code.to_vec(), year)).copied() }
    }

    fn add(&mut self, code: &[u8], year: i32, station: u32) {
        let known = self.numbered.iter().any(|(of, _)| *of == year);
        if !known && self.numbered.len() < NUMBERED_YEARS_MAX {
            self.numbered.push((year, Vec::new()));
        }
        let stations = self.numbered.iter_mut().find(|(of, _)| *of == year);
        match numbered(code).zip(stations) {
            Some((number, (_, stations))) => {
                if stations.len() <= number {
                    stations.resize(number + 1, NOBODY);
                }
                stations[number] = station;
            }
            None => {
                self.others.insert((code.to_vec(), year), station);
            }
        }
    }
}

impl City {
    /// Where a day or a station is told of more than once, the first word counts.
    pub fn new(tables: &[Batch<'_>], params: &Params) -> Result<Self, Rejected> {
        let mut all = Lines::default();
        let mut rain: FxHashMap<i32, i64> = FxHashMap::default();
        let mut found = Vec::new();
        for batch in tables {
            let mut lines = Lines::default();
            let read = match batch.input {
                "weather" => read_weather(batch, &mut rain, &mut lines),
                _ => read_stations(batch, &mut found, &mut lines),
            };
            read.map_err(|why| Rejected::Batch { batch: batch.name.to_owned(), why })?;
            Rejected::unless_good(batch.name, &lines, params.bad_lines_max)?;
            all.merge(lines);
        }
        let mut names: Vec<String> = found.iter().map(|found| found.name.clone()).collect();
        names.sort_unstable();
        names.dedup();
        let mut codes = Codes::default();
        let mut stations = Vec::with_capacity(found.len());
        let (mut places, mut placed) = (Vec::new(), FxHashMap::default());
        for Found { code, year, name, place } in found {
            if codes.find(&code, year).is_none() {
                let name = names.binary_search(&name).expect("all names are in it") as u32;
                let place = place.map(|(lat, lon)| {
                    *placed.entry((lat.to_bits(), lon.to_bits())).or_insert_with(|| {
                        places.push((lat, lon));
                        places.len() as u32 - 1
                    })
                });
                codes.add(&code, year, stations.len() as u32);
                stations.push(Station { name, place });
            }
        }
        let pairs = if places.len() <= REMEMBERED_MAX { places.len() * places.len() } else { 0 };
        let distances = (0..pairs).map(|_| AtomicU32::new(UNKNOWN)).collect();
        let (first_day, sky) = skies(&rain, params.precipitation());
        Ok(Self { first_day, sky, codes, stations, names, places, distances, lines: all })
    }

    #[inline]
    pub(super) fn sky(&self, day: Day) -> Sky {
        let at = day.0.wrapping_sub(self.first_day) as u32 as usize;
        self.sky.get(at).copied().unwrap_or(Sky::Unknown)
    }

    #[inline]
    pub(super) fn station(&self, code: &[u8], year: i32) -> Option<usize> {
        self.codes.find(code, year).map(|at| at as usize)
    }

    #[inline]
    pub(super) fn name_of(&self, station: usize) -> usize {
        self.stations[station].name as usize
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// In millimetres; `None` if it is not known where one of them is.
    #[inline(always)]
    pub(super) fn distance(&self, from: usize, to: usize) -> Option<u64> {
        let (from, to) = (self.stations[from].place? as usize, self.stations[to].place? as usize);
        let remembered = self.distances.get(from * self.places.len() + to);
        match remembered.map_or(UNKNOWN, |known| known.load(Ordering::Relaxed)) {
            UNKNOWN => Some(self.measure(from, to, remembered)),
            known => Some(u64::from(known)),
        }
    }

    #[cold]
    fn measure(&self, from: usize, to: usize, remembered: Option<&AtomicU32>) -> u64 {
        let mm = distance_mm(self.places[from], self.places[to]);
        if let (Some(place), Ok(mm)) = (remembered, u32::try_from(mm)) {
            place.store(mm, Ordering::Relaxed);
        }
        mm
    }
}

/// Haversine, rounded to a millimetre.
pub(super) fn distance_mm((lat1, lon1): (f64, f64), (lat2, lon2): (f64, f64)) -> u64 {
    let (lat1, lon1, lat2, lon2) = (lat1.to_radians(), lon1.to_radians(), lat2.to_radians(), lon2.to_radians());
    let half = |angle: f64| (angle / 2.0).sin().powi(2);
    let h = half(lat2 - lat1) + lat1.cos() * lat2.cos() * half(lon2 - lon1);
    (2.0 * EARTH_MM * h.sqrt().min(1.0).asin()).round() as u64
}

/// Each day from the first to the last that is told of.
fn skies(rain: &FxHashMap<i32, i64>, more_than: i64) -> (i32, Vec<Sky>) {
    let (Some(first), Some(last)) = (rain.keys().min(), rain.keys().max()) else { return (0, Vec::new()) };
    let sky = |day: i32| match rain.get(&day) {
        None => Sky::Unknown,
        Some(rain) if *rain > more_than => Sky::Wet,
        Some(_) => Sky::Dry,
    };
    (*first, (*first..=*last).map(sky).collect())
}

/// The file's date is the day after the rain that it reports.
fn read_weather(
    Batch { name: batch, bytes, .. }: &Batch<'_>,
    rain: &mut FxHashMap<i32, i64>,
    lines: &mut Lines,
) -> Result<(), WrongTable> {
    let table = Table::new(bytes)?;
    table.each(table.find(["date", "prectot"])?, |line, fields, record| {
        let Some([date, amount]) = fields else { return lines.spoilt(batch, line, "it has too few fields", record) };
        let Some((day, _)) = Day::read(date.trim_ascii()) else {
            return lines.spoilt(batch, line, "its date is none", record);
        };
        let Some(amount) = millionths(amount) else {
            return lines.spoilt(batch, line, "its prectot is no number", record);
        };
        lines.read += 1;
        rain.entry(day.0 - 1).or_insert(amount);
    });
    Ok(())
}

struct Found {
    code: Vec<u8>,
    year: i32,
    name: String,
    place: Option<(f64, f64)>,
}

fn read_stations(
    Batch { name: batch, bytes, .. }: &Batch<'_>,
    found: &mut Vec<Found>,
    lines: &mut Lines,
) -> Result<(), WrongTable> {
    let table = Table::new(bytes)?;
    let columns = table.find(["code", "name", "latitude", "longitude", "yearid"])?;
    table.each(columns, |line, fields, record| {
        let Some([code, name, latitude, longitude, year]) = fields else {
            return lines.spoilt(batch, line, "it has too few fields", record);
        };
        let Some(year) = integer(year).and_then(|year| i32::try_from(year).ok()) else {
            return lines.spoilt(batch, line, "its yearid is no year", record);
        };
        let place = match (coordinate(latitude, 90), coordinate(longitude, 180)) {
            (Ok(latitude), Ok(longitude)) => latitude.zip(longitude),
            _ => return lines.spoilt(batch, line, "its coordinates are none", record),
        };
        lines.read += 1;
        found.push(Found { code: code.to_vec(), year, name: text(name), place });
    });
    Ok(())
}

/// Some cities leave them empty.
fn coordinate(field: &[u8], most: i64) -> Result<Option<f64>, ()> {
    if field.trim_ascii().is_empty() {
        return Ok(None);
    }
    let value = millionths(field).filter(|value| value.abs() <= most * ONE).ok_or(())?;
    let exact = std::str::from_utf8(field).ok().and_then(|text| text.trim().parse().ok());
    Ok(Some(exact.unwrap_or(value as f64 / ONE as f64)))
}
