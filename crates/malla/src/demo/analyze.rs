//! Answers: every few minutes somebody sends a season of bike rides, batch by batch, and looks at the three answers.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use malla_client::BikeRides;
use malla_protocol::{AnalysisState, LIMIT_MAX, PageQuery};
use serde_json::json;

use super::bikes::{City, cities};
use super::stage::{Stage, rest};

/// Trips of the first data set, which is there to have answers soon, and of the others.
const TRIPS: (u64, u64) = (9_000, 45_000);
/// Trips in one batch.
const BATCH: usize = 1_500;
/// Between two batches, so that one sees them come.
const BATCH_MS: u64 = 400;
const APART_MS: u64 = 180_000;
const ANSWER_WITHIN: Duration = Duration::from_secs(120);

/// What the last demo could not send to its end is given up: it would take the place of others.
pub(super) async fn prepare(stage: &Stage) -> malla_client::Result<()> {
    let page = PageQuery { limit: Some(LIMIT_MAX), cursor: None };
    for left in stage.client.analyses(&page).await?.items {
        if left.state == AnalysisState::Collecting {
            stage.client.cancel_analysis(&left.id).await?;
        }
    }
    Ok(())
}

pub(super) async fn run(stage: Arc<Stage>) {
    for turn in 0_u64.. {
        let first = turn == 0;
        if let Err(error) =
            analyse(&stage, turn, if first { TRIPS.0 } else { TRIPS.1 }, if first { 20 } else { BATCH_MS }).await
        {
            tracing::warn!("demo: cannot have bike rides analysed: {error:#}");
        }
        rest(if first { APART_MS / 6 } else { APART_MS }).await;
    }
}

async fn analyse(stage: &Stage, turn: u64, trips: u64, batch_ms: u64) -> Result<()> {
    let seed = stage.now_s().unsigned_abs() + turn;
    let cities = tokio::task::spawn_blocking(move || cities(trips, seed, BATCH)).await??;
    // Fewer trips than the original has: stations are told apart by less.
    let rides = BikeRides::begin(&stage.client, &json!({ "distance_km": 5 })).await?;
    for City { name, weather, stations, .. } in &cities {
        rides.send_weather(name, weather.clone()).await?;
        rides.send_stations(name, stations.clone()).await?;
    }
    let most = cities.iter().map(|city| city.trips.len()).max().unwrap_or(0);
    for place in 0..most {
        for city in &cities {
            if let Some(batch) = city.trips.get(place) {
                rides.send_trips(city.name, batch.clone()).await?;
                rest(batch_ms).await;
            }
        }
    }
    rides.complete().await?;
    rides.rain(ANSWER_WITHIN).await?;
    Ok(())
}
