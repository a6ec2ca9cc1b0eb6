//! Where a campaign happens: a data directory and a store that outlive the processes on them.

use std::time::Duration;

use crate::server::{Place, Server};

use super::caller::Servers;
use super::setting;

/// Short, so that what a dead process held comes back soon.
pub(super) const LEASE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Store {
    Sqlite,
    Postgres,
}

/// More variables for a process.
pub(super) type Variables<'a> = &'a [(&'a str, &'a str)];

pub(super) struct World {
    place: Place,
    store: String,
}

impl World {
    pub(super) fn new(store: Store) -> Self {
        match store {
            Store::Sqlite => Self::on(String::new()),
            Store::Postgres => Self::on(fresh_database()),
        }
    }

    /// A data directory of its own on the store with this URL.
    pub(super) fn on(store: String) -> Self {
        Self { place: Place::new(), store }
    }

    /// Another machine on the same store.
    pub(super) fn neighbour(&self) -> Self {
        assert!(!self.store.is_empty(), "an embedded store has one process");
        Self::on(self.store.clone())
    }

    /// Where the store is.
    pub(super) fn store(&self) -> String {
        match self.store.as_str() {
            "" => format!("sqlite:{}", self.place.data().join("malla.db").display()),
            url => url.to_owned(),
        }
    }

    /// A process that may not come up.
    pub(super) fn spawn(&self, crash_at: Option<&str>, more: Variables<'_>) -> Server {
        let lease = LEASE.as_secs().to_string();
        let mut variables = vec![("MALLA_STORE", self.store.as_str()), ("MALLA_QUEUE_LEASE_S", lease.as_str())];
        variables.extend(crash_at.map(|point| ("MALLA_CRASH_AT", point)));
        variables.extend_from_slice(more);
        self.place.spawn(&[], &variables)
    }

    pub(super) fn start(&self) -> Server {
        self.start_with(&[])
    }

    pub(super) fn start_with(&self, more: Variables<'_>) -> Server {
        let mut server = self.spawn(None, more);
        assert!(server.comes_up(), "malla ended instead of starting:\n{}", server.said.join("\n"));
        server
    }

    /// How to reach a server that is up here.
    pub(super) fn way_to(&self, server: &Server) -> Servers {
        let token = std::fs::read_to_string(self.place.data().join("admin.token")).expect("a server has made it");
        Servers { urls: vec![server.url.clone()], token: token.trim().to_owned() }
    }
}

/// The URL of a new database. The throw-away server takes it along when it ends.
pub(crate) fn fresh_database() -> String {
    let server = setting("MALLA_TEST_POSTGRES")
        .expect("MALLA_TEST_POSTGRES must name a PostgreSQL server: run scripts/test, which starts one");
    let mut bytes = [0u8; 8];
    getrandom::fill(&mut bytes).expect("randomness");
    let name = format!("malla_{:016x}", u64::from_le_bytes(bytes));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let connected = tokio_postgres::connect(&server, tokio_postgres::NoTls).await;
        let (client, connection) = connected.expect("the test server answers");
        tokio::spawn(connection);
        client.batch_execute(&format!("CREATE DATABASE {name}")).await.expect("a database");
    });
    let (base, query) = server.split_once('?').map_or((server.as_str(), ""), |(base, query)| (base, query));
    let base = base.trim_end_matches(|letter| letter != '/');
    format!("{base}{name}?{query}")
}
