//! Wake-up calls between nodes by LISTEN and NOTIFY: never the truth, only a nudge. A node that misses one looks for
//! work by itself a moment later.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use deadpool_postgres::Pool;
use futures_util::future::poll_fn;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, Config, NoTls, Socket};

use super::quiet::Quiet;
use super::{hosts, pool};
use crate::arrivals::Signals;

/// A notification takes a lock that all commits share: so at most one batch in this time.
const NUDGE_EVERY: Duration = Duration::from_millis(5);
/// Before the listener connects again.
const RECONNECT_AFTER: Duration = Duration::from_secs(1);
pub(super) const CHANNEL: &str = "malla";

/// Rouses workers of this process at once and those of others soon.
pub(super) struct Nudger {
    signals: Arc<Signals>,
    others: mpsc::Sender<String>,
}

impl Nudger {
    pub(super) fn start(signals: Arc<Signals>, pool: Pool) -> Self {
        let (others, rooms) = mpsc::channel(1_024);
        tokio::spawn(nudge_others(rooms, pool));
        Self { signals, others }
    }

    pub(super) fn rouse(&self, rooms: Vec<String>) {
        for room in rooms {
            self.signals.rouse(&room);
            // Full means that a nudge is on its way already.
            let _ = self.others.try_send(room);
        }
    }
}

async fn nudge_others(mut rooms: mpsc::Receiver<String>, pool: Pool) {
    let mut gathered = Vec::new();
    while rooms.recv_many(&mut gathered, 1_024).await > 0 {
        let distinct: HashSet<String> = gathered.drain(..).collect();
        if let Ok(client) = pool.get().await {
            for room in distinct {
                let _ = client.execute("SELECT pg_notify($1, $2)", &[&CHANNEL, &room]).await;
            }
        }
        tokio::time::sleep(NUDGE_EVERY).await;
    }
}

/// Listens for other nodes' nudges until the store is dropped.
pub(super) async fn listen(config: Config, signals: std::sync::Weak<Signals>, quiet: Quiet) {
    let last = AtomicUsize::new(0);
    while signals.upgrade().is_some() {
        let heard = match pool::tls() {
            Ok(tls) => listen_once(&config, tls, &last, &signals, &quiet).await,
            Err(_) => listen_once(&config, NoTls, &last, &signals, &quiet).await,
        };
        if let Err(error) = heard {
            tracing::debug!(%error, "not listening for other nodes");
        }
        tokio::time::sleep(RECONNECT_AFTER).await;
    }
}

async fn listen_once<T>(
    config: &Config,
    tls: T,
    last: &AtomicUsize,
    signals: &std::sync::Weak<Signals>,
    quiet: &Quiet,
) -> Result<(), tokio_postgres::Error>
where
    T: MakeTlsConnect<Socket> + Clone,
    T::Stream: Send + 'static,
{
    // A host that stands still is left for another one, by and by.
    let Ok(connected) = timeout(pool::CONNECT_WAIT, hosts::connect(config, tls, last)).await else { return Ok(()) };
    let (client, mut connection) = connected?;
    let (heard, mut notes) = mpsc::channel(64);
    let driver = tokio::spawn(async move {
        while let Some(message) = poll_fn(|cx| connection.poll_message(cx)).await {
            match message {
                Ok(AsyncMessage::Notification(note)) if heard.send(note.payload().to_owned()).await.is_err() => break,
                Ok(_) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    });
    client.batch_execute("LISTEN malla").await?;
    // Nobody knows what was missed while nobody listened.
    if let Some(signals) = signals.upgrade() {
        signals.rouse_all();
    }
    while let Some(room) = notes.recv().await {
        let Some(signals) = signals.upgrade() else { break };
        if !quiet.hears(&room) {
            signals.rouse(&room);
        }
    }
    drop(client);
    driver.await.unwrap_or(Ok(()))
}
