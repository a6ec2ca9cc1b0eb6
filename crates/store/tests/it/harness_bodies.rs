//! Object stores for tests: the S3 server that `MALLA_TEST_S3` names, with a place of its own for each test.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::TryStreamExt as _;
use malla_queue::ManualClock;
use malla_store::bodies::{self, Objects, Options};
use malla_store::postgres::Postgres;
use malla_store::sqlite::Sqlite;
use tokio::net::{TcpListener, TcpStream};

use crate::harness::{House, START, fresh_database, house, small_limits};

pub(crate) const GRACE: Duration = Duration::from_secs(24 * 3_600);
/// After this, everything put before is older than the grace, and so is the window it was put in.
pub(crate) const LONG: Duration = Duration::from_secs(26 * 3_600);

#[allow(clippy::disallowed_methods)] // a setting of the tests
fn server() -> String {
    std::env::var("MALLA_TEST_S3").expect("MALLA_TEST_S3 must name an S3 server: run ./scripts/test, which starts one")
}

/// Bodies above a kilobyte go into an object store.
pub(crate) fn large() -> Options {
    let mut bytes = [0u8; 8];
    getrandom::fill(&mut bytes).expect("randomness");
    Options {
        url: format!("s3://malla/test/{:016x}", u64::from_le_bytes(bytes)),
        endpoint: server(),
        region: "us-east-1".into(),
        key_id: "S3RVER".into(),
        secret: "S3RVER".into(),
        allow_http: true,
        timeout: Duration::from_secs(10),
        retries: 2,
        concurrency: 4,
        takes_new: true,
        inline_bytes_max: 1_024,
        grace: GRACE,
    }
}

/// Every body goes into an object store.
pub(crate) fn all() -> Options {
    Options { inline_bytes_max: 0, ..large() }
}

/// As [`large`], in a folder.
pub(crate) fn folder(path: &std::path::Path) -> Options {
    Options { url: format!("file://{}", path.display()), endpoint: String::new(), ..large() }
}

/// What packs badly.
pub(crate) fn noise(bytes: usize, seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut letter = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b' ' + (state % 94) as u8)
    };
    (0..bytes).map(|_| letter()).collect()
}

/// A store that is opened again and again, as with other settings.
pub(crate) struct Home {
    sqlite: Option<tempfile::TempDir>,
    postgres: String,
    clock: Arc<ManualClock>,
    opened: Mutex<Option<Arc<Sqlite>>>,
}

impl Home {
    pub(crate) fn sqlite() -> Self {
        Self::new(Some(tempfile::tempdir().expect("a directory")), String::new())
    }

    pub(crate) async fn postgres() -> Self {
        Self::new(None, fresh_database().await)
    }

    fn new(sqlite: Option<tempfile::TempDir>, postgres: String) -> Self {
        Self { sqlite, postgres, clock: Arc::new(ManualClock::at(START)), opened: Mutex::default() }
    }

    /// The one before is closed. (A directory goes with its home, but a test that holds the house has the files open.)
    pub(crate) async fn open(&self, outside: Option<&Options>) -> House {
        let Some(directory) = &self.sqlite else {
            let store = Postgres::open_with(&self.postgres, self.clock.clone(), small_limits(), outside).await;
            return house(store.expect("opens"), self.clock.clone(), None);
        };
        let before = self.opened.lock().unwrap().take();
        if let Some(before) = before {
            before.close().await;
        }
        let path: PathBuf = directory.path().join("malla.db");
        let store = Sqlite::open_with(&path, self.clock.clone(), small_limits(), outside).await.expect("opens");
        *self.opened.lock().unwrap() = Some(store.clone());
        house(store, self.clock.clone(), None)
    }
}

/// The object store without Malla.
pub(crate) fn objects(options: &Options) -> Box<dyn Objects> {
    bodies::open(options).expect("opens")
}

/// All names in it.
pub(crate) async fn names(options: &Options) -> Vec<String> {
    let mut names: Vec<String> = objects(options).list("").try_collect().await.expect("lists");
    names.sort_unstable();
    names
}

/// Stands before the S3 server, and can be closed.
pub(crate) struct Gate {
    pub(crate) url: String,
    closed: Arc<AtomicBool>,
}

impl Gate {
    pub(crate) async fn before(url: &str) -> Self {
        let server = url.strip_prefix("http://").unwrap().trim_end_matches('/').to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let closed = Arc::new(AtomicBool::new(false));
        let is_closed = closed.clone();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let (server, is_closed) = (server.clone(), is_closed.clone());
                tokio::spawn(async move {
                    if is_closed.load(Ordering::SeqCst) {
                        return;
                    }
                    let mut server = TcpStream::connect(server).await.unwrap();
                    let both = tokio::io::copy_bidirectional(&mut client, &mut server);
                    let closing = async {
                        while !is_closed.load(Ordering::SeqCst) {
                            tokio::time::sleep(Duration::from_millis(5)).await;
                        }
                    };
                    tokio::select! { _ = both => {}, () = closing => {} }
                });
            }
        });
        Self { url, closed }
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    pub(crate) fn open(&self) {
        self.closed.store(false, Ordering::SeqCst);
    }
}
