//! The three answers once more, as simply as they can be told: whole texts, maps of strings and floating-point sums. It
//! is what the fast way is checked against, and shares nothing with it but the shape of the answers.

use std::collections::BTreeMap;

use super::Params;

/// The three files of a city.
pub struct CityFiles<'t> {
    pub name: &'t str,
    pub weather: &'t str,
    pub stations: &'t str,
    pub trips: &'t str,
}

/// Averages by day or name, with the count behind each.
pub type Averages = BTreeMap<String, (f64, u64)>;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct NaiveAnswers {
    pub overall: Option<f64>,
    pub days: Averages,
    pub grown: BTreeMap<String, (u64, u64)>,
    pub far: Averages,
    pub left_out: [u64; 3],
}

/// What is gathered of all cities.
#[derive(Default)]
struct Gathered {
    days: BTreeMap<String, Vec<f64>>,
    counts: BTreeMap<String, (u64, u64)>,
    ways: BTreeMap<String, Vec<f64>>,
    left_out: [u64; 3],
}

/// A station's name and place.
type Station = (String, Option<(f64, f64)>);

pub fn answer(cities: &[CityFiles<'_>], params: &Params) -> NaiveAnswers {
    let mut gathered = Gathered::default();
    cities.iter().for_each(|city| gathered.add(city, params));
    let Gathered { days, mut counts, ways, left_out } = gathered;
    let average = |values: &Vec<f64>| (values.iter().sum::<f64>() / values.len() as f64, values.len() as u64);
    let all: Vec<f64> = days.values().flatten().copied().collect();
    counts.retain(|_, (base, compared)| *base > 0 && *compared as f64 >= params.factor * *base as f64);
    let mut far: Averages = ways.iter().map(|(name, values)| (name.clone(), average(values))).collect();
    far.retain(|_, (km, _)| *km > params.distance_km);
    NaiveAnswers {
        overall: (!all.is_empty()).then(|| average(&all).0),
        days: days.iter().map(|(day, values)| (day.clone(), average(values))).collect(),
        grown: counts,
        far,
        left_out,
    }
}

impl Gathered {
    fn add(&mut self, city: &CityFiles<'_>, params: &Params) {
        let mut rain: BTreeMap<String, f64> = BTreeMap::new();
        for row in rows(city.weather) {
            rain.entry(day_before(&row["date"])).or_insert(row["prectot"].parse().expect("a number"));
        }
        let mut stations: BTreeMap<(String, String), Station> = BTreeMap::new();
        for row in rows(city.stations) {
            let place = row["latitude"].parse().ok().zip(row["longitude"].parse().ok());
            let key = (row["code"].clone(), row["yearid"].clone());
            stations.entry(key).or_insert((row["name"].clone(), place));
        }
        let here = city.name.eq_ignore_ascii_case(&params.city);
        for row in rows(city.trips) {
            let station = |code: &str| stations.get(&(row[code].clone(), row["yearid"].clone()));
            let (from, to) = (station("start_station_code"), station("end_station_code"));
            self.add_rain(&row, &rain, params);
            self.add_year(&row, from, params);
            if here {
                self.add_way(from, to);
            }
        }
    }

    fn add_rain(&mut self, row: &BTreeMap<&str, String>, rain: &BTreeMap<String, f64>, params: &Params) {
        let day = &row["start_date"][..10];
        match rain.get(day) {
            None => self.left_out[0] += 1,
            Some(rain) if *rain > params.precipitation_mm => {
                let duration: f64 = row["duration_sec"].parse().expect("a number");
                self.days.entry(day.to_owned()).or_default().push(duration.max(0.0));
            }
            Some(_) => {}
        }
    }

    fn add_year(&mut self, row: &BTreeMap<&str, String>, from: Option<&Station>, params: &Params) {
        let year: i32 = row["start_date"][..4].parse().expect("a year");
        if year != params.year_base && year != params.year_compared {
            return;
        }
        let Some((name, _)) = from else {
            self.left_out[1] += 1;
            return;
        };
        let count = self.counts.entry(name.clone()).or_default();
        if year == params.year_base { count.0 += 1 } else { count.1 += 1 }
    }

    fn add_way(&mut self, from: Option<&Station>, to: Option<&Station>) {
        match (from, to) {
            (Some((_, Some(from))), Some((name, Some(to)))) => {
                self.ways.entry(name.clone()).or_default().push(haversine_km(*from, *to));
            }
            _ => self.left_out[2] += 1,
        }
    }
}

fn rows(text: &str) -> impl Iterator<Item = BTreeMap<&str, String>> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    lines.map(move |line| header.iter().copied().zip(line.split(',').map(str::to_owned)).collect())
}

fn day_before(date: &str) -> String {
    let part = |range: std::ops::Range<usize>| date[range].parse::<u32>().expect("a date");
    let (year, month, day) = (part(0..4), part(5..7), part(8..10));
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let (year, month, day) = match (month, day) {
        (1, 1) => (year - 1, 12, 31),
        (3, 1) => (year, 2, if leap { 29 } else { 28 }),
        (5 | 7 | 10 | 12, 1) => (year, month - 1, 30),
        (_, 1) => (year, month - 1, 31),
        _ => (year, month, day - 1),
    };
    format!("{year:04}-{month:02}-{day:02}")
}

fn haversine_km((lat1, lon1): (f64, f64), (lat2, lon2): (f64, f64)) -> f64 {
    let (dlat, dlon) = ((lat2 - lat1).to_radians(), (lon2 - lon1).to_radians());
    let a = (dlat / 2.0).sin().powi(2) + lat1.to_radians().cos() * lat2.to_radians().cos() * (dlon / 2.0).sin().powi(2);
    2.0 * 6371.0088 * a.sqrt().atan2((1.0 - a).sqrt())
}
