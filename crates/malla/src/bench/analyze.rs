//! How fast batches of trips become partials, and whether the answers are the true ones.

use std::time::Instant;

use anyhow::{Result, ensure};
use malla_analyze::analysis::{Batch, Partial as _};
use malla_analyze::bikes::naive::{self, CityFiles};
use malla_analyze::bikes::{Answers, City, Params, Partial, answer, generate, map};
use serde_json::{Value, json};

use super::report::{Report, memory_mb};

/// Lines in a batch, as `malla bikes` sends them.
const BATCH_LINES: usize = 10_000;
/// The simple way is slow: it answers for so many trips.
const CHECKED_TRIPS: u64 = 30_000;
pub(super) const SEED: u64 = 1;

struct Files {
    name: &'static str,
    weather: Vec<u8>,
    stations: Vec<u8>,
    trips: Vec<u8>,
}

/// Maps `trips` trips on one thread.
pub(crate) fn run(trips: u64, report: &mut Report) -> Result<()> {
    report.store("none");
    check()?;
    let files = generated(trips)?;
    let bytes: usize = files.iter().map(|files| files.trips.len()).sum();
    let params = Params::default();
    let cities = files.iter().map(|files| city(files, &params)).collect::<Result<Vec<_>>>()?;
    let batches: Vec<Vec<Vec<u8>>> = files.iter().map(|files| batches(&files.trips)).collect();
    let began = Instant::now();
    let mut size = 0;
    let mut partials = Vec::with_capacity(files.len());
    for ((files, city), batches) in files.iter().zip(&cities).zip(&batches) {
        let mut sum = Partial::default();
        for batch in batches {
            let partial = map(trips_of(batch), files.name, city, &params)?.to_bytes();
            size += partial.len();
            sum.merge(Partial::from_bytes(&partial)?);
        }
        partials.push(sum);
    }
    let answers = answer(cities.iter().zip(&partials), &params);
    let took = began.elapsed().as_secs_f64();
    let count: usize = batches.iter().map(Vec::len).sum();
    let note = format!("one thread, {:.0} MB/s, partials of {} bytes", bytes as f64 / took / 1e6, size / count.max(1));
    report.line(&format!("map and merge {trips} trips in {count} batches"), trips as f64 / took, "rows/s", &note);
    let found = [answers.rain.days.len(), answers.year.stations.len(), answers.city.stations.len()];
    report.line(
        "memory of this process",
        memory_mb(),
        "MB",
        &format!("resident, the data among it; answers {found:?}"),
    );
    Ok(())
}

/// The answers for so many trips, made here, as the service gives them.
pub(super) fn answers_of(trips: u64) -> Result<Value> {
    let Answers { rain, year, city } = answers(&generated(trips)?, &Params::default())?;
    Ok(json!({ "rain": rain, "year": year, "city": city }))
}

fn answers(files: &[Files], params: &Params) -> Result<Answers> {
    let mut cities = Vec::new();
    for files in files {
        let city = city(files, params)?;
        let mut sum = Partial::default();
        for batch in batches(&files.trips) {
            sum.merge(map(trips_of(&batch), files.name, &city, params)?);
        }
        cities.push((city, sum));
    }
    Ok(answer(cities.iter().map(|(city, sum)| (city, sum)), params))
}

/// The answers for a few trips are those of the simple way.
fn check() -> Result<()> {
    let files = generated(CHECKED_TRIPS)?;
    let params = Params::default();
    let Answers { rain, year, city } = answers(&files, &params)?;
    let texts = files
        .iter()
        .map(|files| {
            let text = |bytes| std::str::from_utf8(bytes);
            let (weather, stations) = (text(&files.weather)?, text(&files.stations)?);
            Ok(CityFiles { name: files.name, weather, stations, trips: text(&files.trips)? })
        })
        .collect::<Result<Vec<_>>>()?;
    let truth = naive::answer(&texts, &params);
    ensure!(
        [rain.left_out, year.left_out, city.left_out] == truth.left_out,
        "trips left out differ from the simple way"
    );
    ensure!(rain.days.len() == truth.days.len() && year.stations.len() == truth.grown.len(), "the answers differ");
    let near = |ours: f64, truth: f64| (ours - truth).abs() < 2e-6;
    ensure!(near(rain.overall.unwrap_or(0.0), truth.overall.unwrap_or(0.0)), "the average of rainy days differs");
    let far = city.stations.iter().zip(truth.far.values()).all(|(ours, (truth, _))| near(ours.average_km, *truth));
    ensure!(far && city.stations.len() == truth.far.len(), "the distances differ");
    Ok(())
}

fn generated(trips: u64) -> Result<Vec<Files>> {
    let mut all = Vec::new();
    for ((name, placed), share) in generate::CITIES.into_iter().zip(generate::shares(trips)) {
        let mut files = Files { name, weather: Vec::new(), stations: Vec::new(), trips: Vec::new() };
        generate::weather(name, SEED, &mut files.weather)?;
        generate::stations((name, placed), SEED, &mut files.stations)?;
        generate::trips(name, share, SEED, &mut files.trips)?;
        all.push(files);
    }
    Ok(all)
}

fn city(files: &Files, params: &Params) -> Result<City> {
    let tables = [("weather", &files.weather), ("stations", &files.stations)];
    Ok(City::new(&tables.map(|(input, bytes)| Batch { name: input, input, bytes }), params)?)
}

fn trips_of(bytes: &[u8]) -> Batch<'_> {
    Batch { name: "trips", input: "trips", bytes }
}

/// Each with the header line.
fn batches(table: &[u8]) -> Vec<Vec<u8>> {
    let mut lines = table.split_inclusive(|byte| *byte == b'\n');
    let header = lines.next().unwrap_or_default();
    let lines: Vec<&[u8]> = lines.collect();
    lines.chunks(BATCH_LINES).map(|chunk| [&[header], chunk].concat().concat()).collect()
}
