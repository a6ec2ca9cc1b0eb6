//! `malla bikes generate`: a data set of bike rides.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use malla_analyze::bikes::generate;
use serde::Serialize;

use crate::commands::Usage;
use crate::output::Output;

/// Trips at most: some 64 GB.
const TRIPS_MAX: u64 = 1_000_000_000;

#[derive(Debug, Args)]
pub(super) struct Generate {
    /// Where to: a folder a city, each with weather.csv, stations.csv and trips.csv
    dir: PathBuf,
    /// Trips of all cities together
    #[arg(long, default_value_t = 1_000_000)]
    trips: u64,
    /// Which data set
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Serialize)]
struct Generated {
    dir: String,
    cities: usize,
    trips: u64,
    bytes: u64,
}

pub(super) fn run(generate: Generate, json: bool) -> Result<()> {
    let Generate { dir, trips, seed } = generate;
    if trips > TRIPS_MAX {
        return Err(Usage(format!("--trips may be {TRIPS_MAX} at most")).into());
    }
    if dir.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Usage(format!("{} is not empty: choose another folder", dir.display())).into());
    }
    let mut bytes = 0;
    for (city, share) in generate::CITIES.iter().zip(generate::shares(trips)) {
        bytes += write_city(&dir, *city, share, seed)?;
    }
    let made = Generated { dir: dir.display().to_string(), cities: generate::CITIES.len(), trips, bytes };
    Output::new(json).one(&made, |made| {
        let mb = made.bytes as f64 / 1e6;
        format!("{} cities with {} trips in {} ({mb:.1} MB)", made.cities, made.trips, made.dir)
    })?;
    Ok(())
}

/// Returns how many bytes it wrote.
fn write_city(dir: &Path, (city, placed): (&str, bool), trips: u64, seed: u64) -> Result<u64> {
    let dir = dir.join(city);
    fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let write = |name: &str, rows: &dyn Fn(&mut BufWriter<File>) -> std::io::Result<()>| {
        let path = dir.join(name);
        let made = File::create(&path).and_then(|file| {
            let mut out = BufWriter::with_capacity(1 << 20, file);
            rows(&mut out)?;
            out.flush()?;
            Ok(out.get_ref().metadata()?.len())
        });
        made.with_context(|| format!("cannot write {}", path.display()))
    };
    let weather = write("weather.csv", &|out| generate::weather(city, seed, out))?;
    let stations = write("stations.csv", &|out| generate::stations((city, placed), seed, out))?;
    let trips = write("trips.csv", &|out| generate::trips(city, trips, seed, out))?;
    Ok(weather + stations + trips)
}
