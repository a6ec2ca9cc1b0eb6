//! The fast way against the simple one, whatever the batches.

use proptest::prelude::*;

use super::naive::{self, CityFiles, NaiveAnswers};
use super::*;
use crate::analysis::Partial as _;

struct Files {
    name: &'static str,
    weather: String,
    stations: String,
    trips: String,
}

fn generated(trips: u64, seed: u64) -> Vec<Files> {
    let text = |write: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| {
        let mut bytes = Vec::new();
        write(&mut bytes).expect("memory");
        String::from_utf8(bytes).expect("text")
    };
    generate::CITIES
        .map(|(name, placed)| Files {
            name,
            weather: text(&|out| generate::weather(name, seed, out)),
            stations: text(&|out| generate::stations((name, placed), seed, out)),
            trips: text(&|out| generate::trips(name, trips / 3, seed, out)),
        })
        .into()
}

fn city(files: &Files, params: &Params) -> City {
    let tables = [("weather", &files.weather), ("stations", &files.stations)];
    let tables = tables.map(|(input, text)| Batch { name: input, input, bytes: text.as_bytes() });
    City::new(&tables, params).expect("tables")
}

fn trips(text: &str) -> Batch<'_> {
    Batch { name: "trips", input: "trips", bytes: text.as_bytes() }
}

/// The trips in batches of so many lines, each with the header.
fn batches(trips: &str, lines: &[usize]) -> Vec<String> {
    let (header, mut rest) = trips.split_once('\n').expect("a header");
    let mut batches = Vec::new();
    let mut sizes = lines.iter().cycle();
    while !rest.is_empty() {
        let size = sizes.next().copied().unwrap_or(1).max(1);
        let end = rest.match_indices('\n').nth(size - 1).map_or(rest.len(), |(at, _)| at + 1);
        batches.push(format!("{header}\n{}", &rest[..end]));
        rest = &rest[end..];
    }
    batches
}

/// The answers, if the batches of each city are merged in this order and grouping.
fn answers(files: &[Files], params: &Params, sizes: &[usize], order: &[usize]) -> (Answers, Vec<Vec<u8>>) {
    let cities: Vec<(City, Partial)> = files
        .iter()
        .map(|files| {
            let city = city(files, params);
            let mut partials: Vec<Partial> = batches(&files.trips, sizes)
                .iter()
                .map(|batch| map(trips(batch), files.name, &city, params).expect("trips"))
                .collect();
            // Two that are picked by the dice become one, through their bytes, until one is left.
            let mut picks = order.iter().cycle();
            while partials.len() > 1 {
                let mut pick = || picks.next().copied().unwrap_or(0);
                let first = partials.swap_remove(pick() % partials.len());
                let at = pick() % partials.len();
                let mut sum = Partial::from_bytes(&first.to_bytes()).expect("a partial");
                sum.merge(partials.swap_remove(at));
                partials.push(sum);
            }
            (city, partials.pop().unwrap_or_default())
        })
        .collect();
    let bytes = cities.iter().map(|(_, partial)| partial.to_bytes()).collect();
    (answer(cities.iter().map(|(city, partial)| (city, partial)), params), bytes)
}

fn simply(files: &[Files], params: &Params) -> NaiveAnswers {
    let files: Vec<CityFiles<'_>> = files
        .iter()
        .map(|files| CityFiles {
            name: files.name,
            weather: &files.weather,
            stations: &files.stations,
            trips: &files.trips,
        })
        .collect();
    naive::answer(&files, params)
}

/// Averages are rounded to a millionth, distances to a millimetre before that; the sums of the simple way drift.
const BOUND: f64 = 2e-6;

fn same(fast: &Answers, simple: &NaiveAnswers) {
    assert_eq!([fast.rain.left_out, fast.year.left_out, fast.city.left_out], simple.left_out);
    assert!((fast.rain.overall.unwrap_or(0.0) - simple.overall.unwrap_or(0.0)).abs() < BOUND);
    assert_eq!(fast.rain.days.len(), simple.days.len());
    for (day, (date, (average, trips))) in fast.rain.days.iter().zip(&simple.days) {
        assert_eq!((day.date.to_string(), day.trips), (date.clone(), *trips));
        assert!((day.average_s - average).abs() < BOUND, "{date}: {} and {average}", day.average_s);
    }
    let grown: Vec<_> = fast.year.stations.iter().map(|s| (s.name.clone(), (s.base, s.compared))).collect();
    assert_eq!(grown, simple.grown.clone().into_iter().collect::<Vec<_>>());
    assert_eq!(fast.city.stations.len(), simple.far.len());
    for (station, (name, (average, trips))) in fast.city.stations.iter().zip(&simple.far) {
        assert_eq!((&station.name, station.trips), (name, *trips));
        assert!((station.average_km - average).abs() < BOUND, "{name}: {} and {average}", station.average_km);
    }
}

#[test]
fn the_fast_way_and_the_simple_one_agree() {
    let (files, params) = (generated(30_000, 1), Params::default());
    let (fast, _) = answers(&files, &params, &[10_000], &[0]);
    same(&fast, &simply(&files, &params));
    assert!(!fast.rain.days.is_empty() && !fast.year.stations.is_empty() && !fast.city.stations.is_empty());
    assert!(fast.rain.left_out > 0 && fast.year.left_out > 0 && fast.city.left_out > 0);
    for params in [
        Params { precipitation_mm: 50.0, factor: 3.0, distance_km: 12.5, ..Params::default() },
        Params { year_base: 2017, year_compared: 2016, factor: 1.0, city: "TORONTO".into(), ..Params::default() },
        Params { city: "nowhere".into(), precipitation_mm: 0.0, ..Params::default() },
    ] {
        same(&answers(&files, &params, &[997], &[3, 1]).0, &simply(&files, &params));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn batches_order_and_grouping_change_no_byte(
        seed in 0_u64..1_000,
        sizes in proptest::collection::vec(1_usize..700, 1..5),
        order in proptest::collection::vec(0_usize..1_000, 1..40),
    ) {
        let (files, params) = (generated(1_500, seed), Params::default());
        let whole = answers(&files, &params, &[usize::MAX], &[0]);
        let split = answers(&files, &params, &sizes, &order);
        prop_assert_eq!(&whole, &split);
        let json = |answers: &Answers| serde_json::to_string(answers).expect("plain data");
        prop_assert_eq!(json(&whole.0), json(&split.0));
    }

    #[test]
    fn a_damaged_partial_is_refused_and_never_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        if let Ok(partial) = Partial::from_bytes(&bytes) {
            prop_assert_eq!(Partial::from_bytes(&partial.to_bytes()), Ok(partial));
        }
    }
}
