//! Sends a data set: the tables of each city, then its trips, several batches at once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use indicatif::{ProgressBar, ProgressStyle};
use malla_analyze::{BatchHash, Buffer};
use malla_client::{Client, Encoding};
use malla_protocol::PageQuery;
use tokio::sync::mpsc::{Sender, channel};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

use super::Ask;
use super::cut::{Cut, Cutter};
use crate::commands::Usage;

/// How hard batches are packed for a server elsewhere. One on this machine gets them plain: there only time counts.
const LEVEL_FAR: i32 = 1;
const TABLES: [&str; 2] = ["weather", "stations"];
const TRIPS: &str = "trips";

/// A folder of the data set.
#[derive(Debug, Clone)]
pub(super) struct City {
    name: String,
    dir: PathBuf,
    bytes: u64,
}

/// The folders of a data set, each with its three files.
pub(super) fn cities(dir: &Path) -> Result<Vec<City>> {
    let entries = fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    let mut cities = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("cannot read {}", dir.display()))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if !path.is_dir() || name.starts_with('.') {
            continue;
        }
        let mut bytes = 0;
        for input in TABLES.into_iter().chain([TRIPS]) {
            let file = path.join(format!("{input}.csv"));
            let found =
                fs::metadata(&file).with_context(|| format!("{name} lacks a file: cannot find {}", file.display()))?;
            bytes += found.len();
        }
        cities.push(City { name, dir: path, bytes });
    }
    cities.sort_by(|a, b| a.name.cmp(&b.name));
    if cities.is_empty() {
        let text = format!(
            "{} holds no city: there must be a folder for each, with weather.csv, stations.csv and trips.csv",
            dir.display()
        );
        return Err(Usage(text).into());
    }
    Ok(cities)
}

/// What the server has already: its hash by table, city and number.
pub(super) type Taken = HashMap<(String, String, u64), String>;

pub(super) async fn taken(client: &Client, id: &str) -> Result<Taken> {
    let mut taken = Taken::new();
    let mut cursor = None;
    loop {
        let page = client.batches_taken(id, &PageQuery { limit: None, cursor }).await?;
        taken.extend(page.items.into_iter().map(|batch| ((batch.input, batch.city, batch.seq), batch.hash)));
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(taken);
        }
    }
}

/// By the bytes of the files.
pub(super) fn progress(cities: &[City]) -> ProgressBar {
    let bar = ProgressBar::new(cities.iter().map(|city| city.bytes).sum());
    let style = ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}

/// A batch on its way.
struct Batch {
    city: String,
    input: &'static str,
    cut: Cut,
}

/// What all senders share.
struct Way {
    client: Client,
    id: String,
    taken: Taken,
    /// None: plain.
    level: Option<i32>,
    bar: ProgressBar,
}

/// Sends everything. Returns how many batches there are.
pub(super) async fn all(
    client: &Client,
    id: &str,
    cities: Vec<City>,
    ask: &Ask,
    taken: Taken,
    bar: &ProgressBar,
) -> Result<u64> {
    let level = ask.level.or((!client.is_local()).then_some(LEVEL_FAR));
    let way = Arc::new(Way { client: client.clone(), id: id.to_owned(), taken, level, bar: bar.clone() });
    let tables = stream(&cities, &TABLES, ask, &way).await?;
    let trips = stream(&cities, &[TRIPS], ask, &way).await?;
    Ok(tables + trips)
}

/// Reads these files of all cities beside each other, and sends their batches.
async fn stream(cities: &[City], inputs: &'static [&'static str], ask: &Ask, way: &Arc<Way>) -> Result<u64> {
    let (batches, to_send) = channel(ask.in_flight as usize);
    let to_send = Arc::new(Mutex::new(to_send));
    let mut readers = JoinSet::new();
    for city in cities {
        let (city, records, batches) = (city.clone(), ask.batch as usize, batches.clone());
        readers.spawn_blocking(move || read(&city, inputs, records, &batches));
    }
    drop(batches);
    let mut senders = JoinSet::new();
    for _ in 0..ask.in_flight {
        senders.spawn(send_on(to_send.clone(), way.clone()));
    }
    // A reader ends when nobody takes its batches any more.
    while let Some(ended) = senders.join_next().await {
        ended??;
    }
    let mut count = 0;
    while let Some(ended) = readers.join_next().await {
        count += ended??;
    }
    Ok(count)
}

/// Returns how many batches it read.
fn read(city: &City, inputs: &[&'static str], records: usize, batches: &Sender<Batch>) -> Result<u64> {
    let mut count = 0;
    for input in inputs {
        let mut cutter = Cutter::open(&city.dir.join(format!("{input}.csv")), records)?;
        while let Some(cut) = cutter.next()? {
            count += 1;
            if batches.blocking_send(Batch { city: city.name.clone(), input, cut }).is_err() {
                return Ok(count);
            }
        }
    }
    Ok(count)
}

async fn send_on(to_send: Arc<Mutex<mpsc::Receiver<Batch>>>, way: Arc<Way>) -> Result<()> {
    loop {
        let Some(batch) = to_send.lock().await.recv().await else { return Ok(()) };
        way.send(batch).await?;
    }
}

impl Way {
    async fn send(&self, batch: Batch) -> Result<()> {
        let Batch { city, input, cut } = batch;
        let Cut { seq, bytes, read } = cut;
        if let Some(hash) = self.taken.get(&(input.to_owned(), city.to_lowercase(), seq)) {
            ensure!(
                *hash == BatchHash::of(&bytes).to_string(),
                "{input} of {city} differ from what was sent before: give the same --batch and files, or begin anew"
            );
        } else {
            let (body, encoding) = match self.level {
                None => (bytes, Encoding::Plain),
                Some(level) => {
                    let packed = tokio::task::spawn_blocking(move || pack(&bytes, level));
                    (packed.await?.context("cannot pack a batch")?, Encoding::Zstd)
                }
            };
            self.client.send_batch(&self.id, input, &city, seq, Bytes::from_owner(body), encoding).await?;
        }
        self.bar.inc(read);
        Ok(())
    }
}

thread_local! {
    /// Made once: it takes long to make.
    static PACKER: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
}

fn pack(bytes: &[u8], level: i32) -> std::io::Result<Buffer> {
    PACKER.with_borrow_mut(|packer| {
        let packer = match packer {
            Some(packer) => packer,
            None => packer.insert(zstd::bulk::Compressor::new(level)?),
        };
        let mut packed = Buffer::with_capacity(zstd::zstd_safe::compress_bound(bytes.len()));
        packer.compress_to_buffer(bytes, packed.vec())?;
        Ok(packed)
    })
}
