//! `malla demo`: a server and a small world on loopback for it to work on. The world (`town`) has web sites, a wiki and a
//! receiver; each room has a part (`notify`, `fetch`, …) that uses the server through its API, as people would.

mod analyze;
mod articles;
mod bikes;
mod devices;
mod fetch;
mod histories;
mod kept;
mod notify;
mod orders;
mod people;
mod receiver;
mod settings;
mod site;
mod stage;
mod tasks;
mod tours;
mod town;
mod welcome;
mod wiki;
mod wiki_site;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use malla_queue::{Clock as _, SystemClock};

use self::kept::Kept;
pub(crate) use self::stage::Player;
use self::town::Town;
use crate::cli::Place;
use crate::config::Config;
use crate::data_dir::DataDir;
use crate::member::Part;
use crate::{telemetry, up};

/// Where the demo keeps its data, unless it is told otherwise.
const DATA: &str = "./malla-demo";

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  malla demo\n  malla demo --listen 127.0.0.1:0 --data /tmp/look\n\nIts data go to ./malla-demo unless --data says otherwise; a second start there goes on. What it fetches, reads and sends to are its own sites, wiki and receivers on loopback. It takes no settings from malla.toml or variables, except MALLA_LOG_*."
)]
pub(crate) struct Command {
    /// Where to listen; port 0 takes a free one [default: 127.0.0.1:7070]
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<String>,
    /// Say where everything is in one line of JSON
    #[arg(long)]
    json: bool,
}

/// Runs until a signal.
pub(crate) async fn run(place: &Place, command: Command) -> Result<()> {
    let data = PathBuf::from(place.data.as_deref().unwrap_or(DATA));
    // A mistake in the flags is told before anything is made.
    settings::config(&data, command.listen.as_deref(), 0)?;
    let kept = Kept::read(&data)?;
    let now = SystemClock::default().now();
    let town = Town::open(&data, kept.as_ref(), now).await?;
    let kept = match kept {
        Some(kept) => kept,
        None => Kept::begin(&data, town.port(), now)?,
    };
    let config = settings::config(&data, command.listen.as_deref(), town.port())?;
    telemetry::log(&config.log)?;
    up::run_with(config, Part::Alone, Some(Demo { town: Arc::new(town), kept, json: command.json })).await
}

/// What a server is started with.
pub(crate) struct Demo {
    town: Arc<Town>,
    kept: Kept,
    json: bool,
}

impl Demo {
    /// Whoever uses the server at this address.
    pub(crate) fn player(
        &self,
        url: &str,
        config: &Arc<Config>,
        data: &DataDir,
        clock: &Arc<SystemClock>,
    ) -> Result<Player> {
        let data: &Path = data.path();
        Player::new(url, config, data, clock, (self.town.clone(), self.kept.clone()), self.json)
    }
}
