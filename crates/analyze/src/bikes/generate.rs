//! A data set like the real one, made from a seed: the same seed makes the same bytes.

use std::io::{self, Write};

use crate::day::Day;

/// The cities, and whether their stations have coordinates.
pub const CITIES: [(&str, bool); 3] = [("montreal", true), ("toronto", false), ("washington", false)];
const STATIONS: usize = 600;
const YEARS: [i32; 2] = [2016, 2017];

/// A small generator of numbers (xorshift*), so that no version of a crate changes the data.
#[derive(Debug, Clone)]
struct Dice(u64);

impl Dice {
    fn new(seed: u64, of: &str) -> Self {
        let mixed = of.bytes().fold(seed ^ 0x9e37_79b9_7f4a_7c15, |mixed, byte| {
            (mixed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(23)
        });
        Self(mixed | 1)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

fn days(year: i32) -> std::ops::Range<i32> {
    let first = |year: i32| Day::read(format!("{year}-01-01").as_bytes()).map_or(0, |(day, _)| day.0);
    first(year)..first(year + 1)
}

/// How many trips each city gets.
pub fn shares(trips: u64) -> impl Iterator<Item = u64> {
    let cities = CITIES.len() as u64;
    (0..cities).map(move |n| trips / cities + u64::from(n < trips % cities))
}

/// Days of rain, one in nine of them heavy; some days are missing.
pub fn weather(city: &str, seed: u64, out: &mut impl Write) -> io::Result<()> {
    let mut dice = Dice::new(seed, &format!("weather/{city}"));
    writeln!(out, "date,prectot,qv2m,rh2m,ps,t2m_range")?;
    for day in YEARS.into_iter().flat_map(days) {
        if dice.one_in(97) {
            continue;
        }
        let tenths = if dice.one_in(9) { 300 + dice.below(400) } else { dice.below(301) };
        let (whole, tenth) = (tenths / 10, tenths % 10);
        writeln!(out, "{},{whole}.{tenth},4.{},61.5,100.4,8.2", Day(day + 1), dice.below(90) + 10)?;
    }
    Ok(())
}

/// The same station has the same name in both years; a few are new in the second. Some names have spaces that count.
pub fn stations((city, placed): (&str, bool), seed: u64, out: &mut impl Write) -> io::Result<()> {
    let mut dice = Dice::new(seed, &format!("stations/{city}"));
    writeln!(out, "code,name,latitude,longitude,yearid")?;
    for n in 0..STATIONS {
        // Spread over some 20 km, a few far out.
        let reach = if dice.one_in(15) { 300_000 } else { 60_000 };
        let (north, east) = (dice.below(reach), dice.below(reach));
        let spaces = if dice.one_in(20) { "  " } else { " " };
        let name = format!("Street {} / {city}{spaces}{}", n % 40, n / 40);
        let place = if placed { format!("45.{:06},-73.{:06}", 400_000 + north, 500_000 + east) } else { ",".into() };
        for year in YEARS {
            if year == YEARS[0] && n % 25 == 24 {
                continue;
            }
            writeln!(out, "{},{name},{place},{year}", 6_000 + n)?;
        }
    }
    Ok(())
}

/// Trips in the order of their starts.
pub fn trips(city: &str, count: u64, seed: u64, out: &mut impl Write) -> io::Result<()> {
    let mut dice = Dice::new(seed, &format!("trips/{city}"));
    writeln!(out, "start_date,start_station_code,end_date,end_station_code,duration_sec,is_member,yearid")?;
    let spans = YEARS.map(days);
    let all = spans.iter().map(|days| days.len() as u64).sum::<u64>();
    let mut text = Vec::with_capacity(128);
    for n in 0..count {
        let at = n * all / count.max(1);
        let (year, day) = match at.checked_sub(spans[0].len() as u64) {
            None => (YEARS[0], spans[0].start + at as i32),
            Some(at) => (YEARS[1], spans[1].start + at as i32),
        };
        let (hour, minute, second) = (dice.below(24), dice.below(60), dice.below(60));
        // Some stations are much more used in the second year, and some codes are unknown.
        let popular = year == YEARS[1] && dice.one_in(3);
        let from = if popular { dice.below(60) } else { dice.below(STATIONS as u64 + 2) };
        let (to, member) = (dice.below(STATIONS as u64), dice.below(2));
        let duration = if dice.one_in(500) { -(dice.below(60) as i64) } else { 60 + dice.below(3_600) as i64 };
        let fraction = if dice.one_in(4) { dice.below(10) } else { 0 };
        text.clear();
        writeln!(
            text,
            "{} {hour:02}:{minute:02}:{second:02},{},{} {hour:02}:{minute:02}:{second:02},{},{duration}.{fraction},{member},{year}",
            Day(day),
            6_000 + from,
            Day(day),
            6_000 + to,
        )?;
        out.write_all(&text)?;
    }
    Ok(())
}
