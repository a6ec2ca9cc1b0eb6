//! A small data set of bike rides, in batches.

use std::io;

use malla_analyze::bikes::generate;

pub(super) struct City {
    pub(super) name: &'static str,
    pub(super) weather: Vec<u8>,
    pub(super) stations: Vec<u8>,
    /// Each with the header line.
    pub(super) trips: Vec<Vec<u8>>,
}

pub(super) fn cities(trips: u64, seed: u64, batch: usize) -> io::Result<Vec<City>> {
    let city = |((name, placed), share): ((&'static str, bool), u64)| {
        let (mut weather, mut stations, mut all) = (Vec::new(), Vec::new(), Vec::new());
        generate::weather(name, seed, &mut weather)?;
        generate::stations((name, placed), seed, &mut stations)?;
        generate::trips(name, share, seed, &mut all)?;
        Ok(City { name, weather, stations, trips: batches(&all, batch) })
    };
    generate::CITIES.into_iter().zip(generate::shares(trips)).map(city).collect()
}

fn batches(csv: &[u8], batch: usize) -> Vec<Vec<u8>> {
    let mut lines = csv.split_inclusive(|byte| *byte == b'\n');
    let head = lines.next().unwrap_or_default();
    let rows: Vec<&[u8]> = lines.collect();
    rows.chunks(batch).map(|rows| [&[head], rows].concat().concat()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_have_their_head_and_all_rows() {
        let cities = cities(100, 1, 15).expect("made");
        let rows =
            |city: &City| city.trips.iter().map(|batch| batch.split(|byte| *byte == b'\n').count() - 2).sum::<usize>();
        assert_eq!(cities.iter().map(rows).sum::<usize>(), 100);
        assert!(cities.iter().flat_map(|city| &city.trips).all(|batch| batch.starts_with(b"start_date,")));
    }
}
