//! A database of its own on a server, for measurements: made, watched and dropped.

use malla_queue::{Error, Result};
use tokio_postgres::{Client, NoTls};

use super::{broken, pool};

/// It is dropped by [`Scratch::remove`] alone; whoever forgets leaves an empty place on the server, never a danger.
pub struct Scratch {
    client: Client,
    name: String,
    /// The server's process that answers this.
    pub pid: u32,
    /// Sessions that the server takes at once.
    pub connections_max: u32,
}

impl Scratch {
    /// Makes a database on the server of `url`, with the rights of its user.
    pub async fn make(url: &str) -> Result<Self> {
        let client = connect(url).await?;
        let row = client.query_one("SELECT pg_backend_pid(), current_setting('max_connections')::int", &[]).await;
        let row = row.map_err(|error| broken(&error))?;
        let number = |at| u32::try_from(row.get::<_, i32>(at)).unwrap_or_default();
        let (pid, connections_max) = (number(0), number(1));
        let mut bytes = [0u8; 8];
        getrandom::fill(&mut bytes).map_err(|error| Error::Internal(format!("no randomness: {error}")))?;
        let name = format!("malla_bench_{:016x}", u64::from_le_bytes(bytes));
        client.batch_execute(&format!("CREATE DATABASE {name}")).await.map_err(|error| broken(&error))?;
        Ok(Self { client, name, pid, connections_max })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Transactions in it so far, as the server's sessions reported them: about a second ago.
    pub async fn transactions(&self) -> Result<u64> {
        let question = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = $1";
        let row = self.client.query_one(question, &[&self.name]).await.map_err(|error| broken(&error))?;
        Ok(u64::try_from(row.get::<_, i64>(0)).unwrap_or_default())
    }

    /// Sessions in it that wait for a lock right now.
    pub async fn waiting(&self) -> Result<u64> {
        let question = "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND wait_event_type = 'Lock'";
        let row = self.client.query_one(question, &[&self.name]).await.map_err(|error| broken(&error))?;
        Ok(u64::try_from(row.get::<_, i64>(0)).unwrap_or_default())
    }

    /// Drops it, with whoever is still in it.
    pub async fn remove(self) -> Result<()> {
        let drop = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        self.client.batch_execute(&drop).await.map_err(|error| broken(&error))
    }
}

async fn connect(url: &str) -> Result<Client> {
    let config = pool::config(url)?;
    match pool::tls() {
        Ok(tls) => {
            let (client, connection) = config.connect(tls).await.map_err(|error| broken(&error))?;
            tokio::spawn(connection);
            Ok(client)
        }
        // A machine without certificates can still talk without TLS.
        Err(_) => {
            let (client, connection) = config.connect(NoTls).await.map_err(|error| broken(&error))?;
            tokio::spawn(connection);
            Ok(client)
        }
    }
}
