//! The object store as the verbs use it: bounded, counted, checked, and not asked again and again while it is away.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use malla_queue::{Clock, Error, Result, UnixMs};
use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use super::objects::{self, Objects, Trouble};
use super::{Away, name};

/// While it is away it is asked this often at first, and at last.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// How an object store is used.
#[derive(Clone)]
pub struct Options {
    /// `s3://BUCKET/PREFIX` or `file:///PATH`.
    pub url: String,
    /// Of what speaks like S3; empty: Amazon's of the region.
    pub endpoint: String,
    pub region: String,
    /// Empty: those of the machine's role.
    pub key_id: String,
    pub secret: String,
    pub allow_http: bool,
    /// Of one request.
    pub timeout: Duration,
    /// After the first try.
    pub retries: usize,
    /// Requests at once, per process.
    pub concurrency: usize,
    /// New bodies go there; otherwise it is only read.
    pub takes_new: bool,
    /// What has no more packed bytes than this stays in the database.
    pub inline_bytes_max: usize,
    /// Objects without a row are removed after this.
    pub grace: Duration,
}

impl Options {
    /// For one object, all tries included.
    pub(super) fn time_max(&self) -> Duration {
        self.timeout * u32::try_from(self.retries + 1).unwrap_or(u32::MAX)
    }
}

/// Without its secret.
impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Options({}, key {})", self.url, self.key_id)
    }
}

/// Until when a row may name an object that was put a while ago: long before anybody would take that for an orphan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Deadline(Option<UnixMs>);

impl Deadline {
    /// Asked inside the transaction that names the object.
    pub(crate) fn check(self, now: UnixMs) -> Result<()> {
        match self.0.filter(|until| now > *until) {
            Some(_) => Err(Error::Unavailable("storing a body took too long: send it again".into())),
            None => Ok(()),
        }
    }
}

/// Of one try after the other while it is away.
struct Absence {
    away: Away,
    ask_again_at: Instant,
    pause: Duration,
}

pub(crate) struct Depot {
    objects: Box<dyn Objects>,
    options: Options,
    /// The store's own number, with which all of its names begin.
    house: String,
    clock: Arc<dyn Clock>,
    turns: Semaphore,
    absence: Mutex<Option<Absence>>,
}

impl Depot {
    pub(crate) fn open(options: &Options, house: String, clock: Arc<dyn Clock>) -> Result<Arc<Self>> {
        describe();
        gauge!("malla_bodies_away").set(0.0);
        Ok(Arc::new(Self {
            objects: objects::open(options)?,
            turns: Semaphore::new(options.concurrency.max(1)),
            options: options.clone(),
            house,
            clock,
            absence: Mutex::default(),
        }))
    }

    /// Whether a new body of so many packed bytes goes outside.
    pub(crate) fn takes(&self, bytes: usize) -> bool {
        self.options.takes_new && bytes > self.options.inline_bytes_max
    }

    pub(super) fn takes_new(&self) -> bool {
        self.options.takes_new
    }

    pub(super) fn concurrency(&self) -> usize {
        self.options.concurrency.max(1)
    }

    pub(super) fn grace(&self) -> Duration {
        self.options.grace
    }

    pub(super) fn now(&self) -> UnixMs {
        self.clock.now()
    }

    /// For what is put from now on.
    pub(super) fn deadline(&self) -> Deadline {
        Deadline(Some(self.now().plus(self.options.grace / 2)))
    }

    /// Puts these there, several at a time. Returns their names.
    pub(super) async fn put_all(&self, bodies: Vec<Bytes>) -> Result<Vec<String>> {
        let puts = bodies.into_iter().map(|bytes| self.put(bytes));
        stream::iter(puts).buffered(self.concurrency()).try_collect().await
    }

    pub(super) async fn put(&self, bytes: Bytes) -> Result<String> {
        let name = name::name(&self.house, self.now(), &bytes)?;
        let length = bytes.len() as u64;
        self.ask("put", self.objects.put(&name, bytes)).await?;
        counter!("malla_bodies_bytes_total", "op" => "put").increment(length);
        Ok(name)
    }

    /// Reads one that a row names. It must be there, and be what was put there.
    pub(super) async fn get(&self, name: &str) -> Result<Bytes> {
        let found = self.ask("get", self.objects.get(name)).await?;
        let wrong = |what: &str| {
            counter!("malla_bodies_damaged_total").increment(1);
            Error::Internal(format!("the object {name} in {} is {what}: restore it from a copy", self.options.url))
        };
        let bytes = found.ok_or_else(|| wrong("missing"))?;
        if !name::holds(name, &bytes) {
            return Err(wrong("damaged"));
        }
        counter!("malla_bodies_bytes_total", "op" => "get").increment(bytes.len() as u64);
        Ok(bytes)
    }

    pub(super) async fn remove(&self, names: Vec<String>) -> Result<()> {
        if names.is_empty() {
            return Ok(());
        }
        self.ask("delete", self.objects.remove(names)).await
    }

    /// The windows in which anything of ours was put, oldest first.
    pub(super) async fn windows(&self) -> Result<Vec<i64>> {
        let folders = self.ask("list", self.objects.folders(&self.house)).await?;
        let mut windows: Vec<i64> = folders.iter().filter_map(|folder| name::window_of(folder)).collect();
        windows.sort_unstable();
        Ok(windows)
    }

    /// What was put in a window, so many names at a time.
    pub(super) fn names(&self, window: i64, at_a_time: usize) -> BoxStream<'_, Result<Vec<String>>> {
        let listed = self.objects.list(&format!("{}/{}", self.house, name::folder(window)));
        let chunks = listed.try_chunks(at_a_time).map_err(|error| error.1);
        stream::try_unfold(chunks, move |mut chunks| async move {
            let next = self.ask("list", async { chunks.try_next().await }).await?;
            Ok(next.map(|names| (names, chunks)))
        })
        .boxed()
    }

    /// Whether it is there: whoever says that it has no such object is.
    pub(crate) async fn look(&self) -> Result<()> {
        let nothing = format!("{}/look", self.house);
        self.ask("look", self.objects.get(&nothing)).await.map(drop)
    }

    pub(crate) fn away(&self) -> Option<Away> {
        self.absence().as_ref().map(|absence| absence.away.clone())
    }

    fn absence(&self) -> std::sync::MutexGuard<'_, Option<Absence>> {
        self.absence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask<T>(&self, op: &'static str, asked: impl Future<Output = Result<T, Trouble>>) -> Result<T> {
        self.come_in()?;
        let _turn = self.turns.acquire().await.map_err(|error| Error::Internal(error.to_string()))?;
        let began = Instant::now();
        let time_max = self.options.time_max();
        let answer = match timeout(time_max, asked).await {
            Ok(answer) => answer,
            Err(_) => Err(Trouble(format!("it did not answer within {time_max:?}"))),
        };
        histogram!("malla_bodies_seconds", "op" => op).record(began.elapsed());
        let result = if answer.is_ok() { "ok" } else { "failed" };
        counter!("malla_bodies_requests_total", "op" => op, "result" => result).increment(1);
        match answer {
            Ok(answer) => {
                self.is_there();
                Ok(answer)
            }
            Err(Trouble(why)) => Err(self.is_away(why)),
        }
    }

    /// While it is away, only one comes in now and then to see whether it is back.
    fn come_in(&self) -> Result<()> {
        let mut absence = self.absence();
        let Some(absence) = absence.as_mut() else { return Ok(()) };
        if Instant::now() < absence.ask_again_at {
            return Err(self.unavailable(&absence.away.why));
        }
        absence.ask_again_at = Instant::now() + absence.pause;
        Ok(())
    }

    fn is_there(&self) {
        if let Some(absence) = self.absence().take() {
            gauge!("malla_bodies_away").set(0.0);
            tracing::info!(url = self.options.url, since = absence.away.since.0, "the object store is back");
        }
    }

    fn is_away(&self, why: String) -> Error {
        let error = self.unavailable(&why);
        let mut absence = self.absence();
        let (since, pause) = match absence.as_ref() {
            Some(before) => (before.away.since, (before.pause * 2).min(LONGEST_PAUSE)),
            None => {
                gauge!("malla_bodies_away").set(1.0);
                tracing::warn!(
                    url = self.options.url,
                    why,
                    "the object store is away: bodies that are there, or should be, wait"
                );
                (self.now(), FIRST_PAUSE)
            }
        };
        *absence = Some(Absence { away: Away { since, why }, ask_again_at: Instant::now() + pause, pause });
        error
    }

    fn unavailable(&self, why: &str) -> Error {
        Error::Unavailable(format!("the object store {} is away: {why}", self.options.url))
    }
}

fn describe() {
    describe_counter!(
        "malla_bodies_requests_total",
        "Requests to the object store, by what was asked and how it went."
    );
    describe_counter!("malla_bodies_bytes_total", "Packed bytes put into the object store and read from it.");
    describe_counter!("malla_bodies_damaged_total", "Objects that a row names and that are missing or damaged.");
    describe_histogram!("malla_bodies_seconds", Unit::Seconds, "Time of a request to the object store");
    describe_gauge!("malla_bodies_away", "1 while the object store does not answer.");
    describe_counter!("malla_bodies_collected_total", "Objects that were removed because no row names them.");
    describe_counter!("malla_bodies_moved_total", "Bodies that were moved, by where to.");
}
