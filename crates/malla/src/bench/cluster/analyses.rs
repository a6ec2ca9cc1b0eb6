//! Batches of bike rides for one analysis, or for a few at once.

use anyhow::Result;
use bytes::Bytes;
use malla_analyze::bikes::generate;
use malla_client::{Client, ClientOptions, Encoding};
use malla_protocol::NewAnalysis;
use serde_json::Value;
use tokio::task::JoinSet;

use super::nodes::Kind;
use super::{Distance, Workload};
use crate::bench::analyze::SEED;
use crate::throwaway::Throwaway;

/// Analyses under way at once. Commits to one of them happen one after the other.
pub(super) const STUDIES: usize = 8;
/// Few enough that a node far away waits for the store, not for this machine.
const ROWS: u64 = 2_000;
const CITY: (&str, bool) = generate::CITIES[0];
/// Batches on their way in at once.
const SENDERS: u64 = 8;
const LEVEL: i32 = 1;

pub(super) struct Analyses {
    client: Client,
    studies: Vec<String>,
    /// Batches of trips for each study.
    sent: u64,
    packed: Bytes,
    /// Tables, which no node works on.
    tables: u64,
}

impl Analyses {
    /// With so many studies.
    pub(super) async fn prepare(api: &Throwaway, studies: usize) -> Result<Self> {
        let client = Client::new(ClientOptions {
            servers: vec![api.url.clone()],
            token: Some(api.token.clone()),
            ca_pem: None,
        })?;
        let mut made = Self { client, studies: Vec::new(), sent: 0, packed: trips()?, tables: 0 };
        for _ in 0..studies {
            let new = NewAnalysis { kind: "bike-rides".into(), params: Value::Null, group: None };
            let id = made.client.begin_analysis(&new).await?.id;
            let (mut weather, mut stations) = (Vec::new(), Vec::new());
            generate::weather(CITY.0, SEED, &mut weather)?;
            generate::stations(CITY, SEED, &mut stations)?;
            for (input, table) in [("weather", weather), ("stations", stations)] {
                made.client.send_batch(&id, input, CITY.0, 0, table.into(), Encoding::Plain).await?;
            }
            made.studies.push(id);
        }
        made.tables = made.mapped().await?;
        Ok(made)
    }

    /// Batches that need no more work, tables among them.
    async fn mapped(&self) -> Result<u64> {
        let mut mapped = 0;
        for id in &self.studies {
            mapped += self.client.analysis(id).await?.batches.mapped;
        }
        Ok(mapped)
    }

    /// Makes room for others.
    pub(super) async fn cancel(self) -> Result<()> {
        for id in &self.studies {
            self.client.cancel_analysis(id).await?;
        }
        Ok(())
    }
}

impl Workload for Analyses {
    const UNIT: &'static str = "rows/s";
    const ONE: u64 = ROWS;
    const EXPECTED: (f64, f64) = (60.0, 200.0);

    fn name(&self) -> &'static str {
        if self.studies.len() == 1 { "rows of one analysis" } else { "rows of analyses" }
    }

    fn kind(&self, distance: Distance) -> Kind {
        let mut settings = Vec::new();
        if let Distance::Far(_) = distance {
            settings.push(("MALLA_ANALYZE_CONCURRENCY", "1".into()));
        }
        Kind { role: "analyst", settings }
    }

    fn place(&mut self, _: Distance) {}

    async fn give(&mut self, count: u64) -> Result<()> {
        let last = self.sent + count.div_ceil(self.studies.len() as u64);
        let mut senders = JoinSet::new();
        for first in (self.sent..last).take(usize::try_from(SENDERS)?) {
            let (client, packed, studies) = (self.client.clone(), self.packed.clone(), self.studies.clone());
            senders.spawn(async move {
                for seq in (first..last).step_by(usize::try_from(SENDERS)?) {
                    for id in &studies {
                        client.send_batch(id, "trips", CITY.0, seq, packed.clone(), Encoding::Zstd).await?;
                    }
                }
                Ok::<_, anyhow::Error>(())
            });
        }
        while let Some(ended) = senders.join_next().await {
            ended??;
        }
        self.sent = last;
        Ok(())
    }

    fn given(&self) -> u64 {
        self.sent * self.studies.len() as u64
    }

    async fn done(&mut self) -> Result<u64> {
        Ok(self.mapped().await? - self.tables)
    }
}

/// A batch, packed as a client sends it.
fn trips() -> Result<Bytes> {
    let mut trips = Vec::new();
    generate::trips(CITY.0, ROWS, SEED, &mut trips)?;
    Ok(zstd::bulk::compress(&trips, LEVEL)?.into())
}
