//! An analysis of bike rides from its beginning to its answers, for other people's programs.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use malla_protocol::{Analysis, City, LIMIT_MAX, NewAnalysis, PageQuery, Rain, Year};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;

use crate::analyze::Encoding;
use crate::error::{Error, Result};
use crate::transport::Client;

const KIND: &str = "bike-rides";
/// Fast: what is packed is unpacked once, soon.
const LEVEL: i32 = 1;
/// How long a server may be away, unless the client has more patience.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two questions whether an answer is ready, if the server does not say.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// One analysis of bike rides.
///
/// Batches are numbered by themselves: of each table of a city, the first one sent is number 0. A batch that cannot reach
/// the server is sent again for as long as the client is [patient](Client::patient), a minute at least; a `send` that fails
/// all the same may be repeated, and counts once. Cities may be sent at the same time.
///
/// ```no_run
/// # async fn example(client: malla_client::Client) -> Result<(), malla_client::Error> {
/// use std::time::Duration;
///
/// use malla_client::BikeRides;
/// use serde_json::json;
///
/// let rides = BikeRides::begin(&client, &json!({ "precipitation_mm": 20 })).await?;
/// rides.send_weather("montreal", "date,prectot\n2016-07-15,42.5\n").await?;
/// rides.send_stations("montreal", "code,name,latitude,longitude,yearid\n6100,Berri,45.51,-73.56,2016\n").await?;
/// let trips = "start_date,start_station_code,end_date,end_station_code,duration_sec,is_member,yearid\n\
///              2016-07-14 08:00:00,6100,2016-07-14 08:10:00,6100,600,1,2016\n";
/// rides.send_trips("montreal", trips).await?;
/// rides.complete().await?;
/// for day in rides.rain(Duration::from_secs(3600)).await?.days {
///     println!("{}: {} s on average", day.date, day.average_s);
/// }
/// # Ok(())
/// # }
/// ```
///
/// A program that was interrupted begins with [`BikeRides::go_on`] instead, and sends the same batches in the same order
/// again: what the server has is not sent twice.
pub struct BikeRides {
    client: Client,
    id: String,
    lines: std::sync::Mutex<Lines>,
}

/// By table and city.
type Lines = HashMap<(Table, String), Arc<Mutex<Line>>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Table {
    Weather,
    Stations,
    Trips,
}

impl Table {
    const ALL: [Self; 3] = [Self::Weather, Self::Stations, Self::Trips];

    fn name(self) -> &'static str {
        match self {
            Self::Weather => "weather",
            Self::Stations => "stations",
            Self::Trips => "trips",
        }
    }
}

/// The batches of one table of one city.
#[derive(Default)]
struct Line {
    /// The number of the next one.
    next: u64,
    /// What the server had before, by number: its hash.
    before: BTreeMap<u64, String>,
}

impl BikeRides {
    /// Begins an analysis. `params` says what shall differ from the defaults: `{}` if nothing does.
    pub async fn begin(client: &Client, params: &impl Serialize) -> Result<Self> {
        let params = serde_json::to_value(params)
            .map_err(|error| Error::Protocol(format!("the parameters cannot be written as JSON: {error}")))?;
        let analysis = client.begin_analysis(&NewAnalysis { kind: KIND.into(), params, group: None }).await?;
        Ok(Self::of(client, analysis.id))
    }

    /// Goes on with an analysis that was begun before.
    pub async fn go_on(client: &Client, id: &str) -> Result<Self> {
        let rides = Self::of(client, id.to_owned());
        let analysis = rides.client.analysis(id).await?;
        if analysis.kind != KIND {
            return Err(Error::Protocol(format!("the analysis {id} is of the kind {}, not {KIND}", analysis.kind)));
        }
        let mut page = PageQuery { limit: Some(LIMIT_MAX), cursor: None };
        loop {
            let taken = rides.client.batches_taken(id, &page).await?;
            for batch in taken.items {
                let Some(table) = Table::ALL.into_iter().find(|table| table.name() == batch.input) else { continue };
                rides.line(table, &batch.city).lock().await.before.insert(batch.seq, batch.hash);
            }
            page.cursor = match taken.next_cursor {
                None => return Ok(rides),
                next => next,
            };
        }
    }

    fn of(client: &Client, id: String) -> Self {
        let client = client.patient(client.patience().max(PATIENCE));
        Self { client, id, lines: std::sync::Mutex::default() }
    }

    /// The id, to go on with after an interruption.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Sends the weather of a city: a CSV with its header line. It comes before the city's trips.
    pub async fn send_weather(&self, city: &str, csv: impl Into<Bytes>) -> Result<()> {
        self.send(Table::Weather, city, csv.into()).await
    }

    /// Sends stations of a city. They come before the city's trips.
    pub async fn send_stations(&self, city: &str, csv: impl Into<Bytes>) -> Result<()> {
        self.send(Table::Stations, city, csv.into()).await
    }

    /// Sends a batch of trips; some ten thousand in one are a good number.
    pub async fn send_trips(&self, city: &str, csv: impl Into<Bytes>) -> Result<()> {
        self.send(Table::Trips, city, csv.into()).await
    }

    /// The batches of a line go one after the other, so that they have the same numbers whenever they are sent.
    async fn send(&self, table: Table, city: &str, csv: Bytes) -> Result<()> {
        let line = self.line(table, city);
        let mut line = line.lock().await;
        let before = line.before.get(&line.next).cloned();
        if let Some(packed) = blocking(move || packed(&csv, before.as_deref())).await? {
            self.client.send_batch(&self.id, table.name(), city, line.next, packed, Encoding::Zstd).await?;
        }
        line.next += 1;
        Ok(())
    }

    fn line(&self, table: Table, city: &str) -> Arc<Mutex<Line>> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.entry((table, city.to_lowercase())).or_default().clone()
    }

    /// Says that all was sent. Fails if the server has another number of batches.
    pub async fn complete(&self) -> Result<Analysis> {
        let lines: Vec<_> = self.lines.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        let mut batches = 0;
        for line in lines {
            batches += line.lock().await.next;
        }
        self.client.complete_analysis(&self.id, batches).await
    }

    /// How long trips take on rainy days. Waits until it is ready, but no longer than `within`.
    pub async fn rain(&self, within: Duration) -> Result<Rain> {
        self.answer("rain", within).await
    }

    /// Stations that have grown from one year to the other. Waits as [`BikeRides::rain`] does.
    pub async fn year(&self, within: Duration) -> Result<Year> {
        self.answer("year", within).await
    }

    /// Stations that people come to from afar. Waits as [`BikeRides::rain`] does.
    pub async fn city(&self, within: Duration) -> Result<City> {
        self.answer("city", within).await
    }

    async fn answer<T: DeserializeOwned>(&self, name: &str, within: Duration) -> Result<T> {
        let began = Instant::now();
        loop {
            let error = match self.client.answer(&self.id, name).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let Some(wait) = error.passes_after(ASK_AGAIN) else { return Err(error) };
            let left = within.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Err(error);
            }
            tokio::time::sleep(wait.min(left)).await;
        }
    }

    /// Ends the analysis; forgets it if it is over.
    pub async fn cancel(self) -> Result<()> {
        self.client.cancel_analysis(&self.id).await
    }
}

/// A batch ready to be sent; `None` if the server has it.
fn packed(csv: &[u8], before: Option<&str>) -> Result<Option<Bytes>> {
    if before.is_some_and(|before| *blake3::hash(csv).to_hex() == *before) {
        return Ok(None);
    }
    let packed = zstd::bulk::compress(csv, LEVEL)
        .map_err(|error| Error::Protocol(format!("the batch cannot be packed: {error}")))?;
    Ok(Some(packed.into()))
}

/// Runs something long where it may block.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(Error::Protocol(format!("the batch could not be packed: {error}"))))
}
