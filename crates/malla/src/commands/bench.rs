//! `malla bench`: figures of this machine. A benchmark prints what it measured; it never passes or fails.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use malla_fetch::Strategy;
use malla_fetch::trust::world as trust;

use crate::bench::report::Report;
use crate::bench::{
    analyze, cluster, console, crawl, fetch, maze, notify, origin, queue, small_wiki, stream, trust as trust_bench,
    wiki,
};
use crate::commands::Usage;
use crate::output::talk;

#[derive(Debug, Args)]
pub(crate) struct Command {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Submitting, leasing and committing tasks
    #[command(
        after_help = "Examples:\n  malla bench queue --quick\n  malla bench queue --postgres postgres://postgres@127.0.0.1/bench\n\nThe embedded store is made in a temporary directory and removed. A PostgreSQL database must be empty, and is left full."
    )]
    Queue(Stores),
    /// Taking events in and delivering them, over HTTP
    #[command(
        after_help = "Examples:\n  malla bench notify --quick\n  malla bench notify --only isolation\n  malla bench notify --postgres postgres://postgres@127.0.0.1/bench\n\nIt starts a server of its own on loopback, with a store in a temporary directory here. A PostgreSQL database must be empty, and is left full."
    )]
    Notify {
        #[command(flatten)]
        stores: Stores,
        /// Measure this part only; may be given several times
        #[arg(long, value_name = "PART")]
        only: Vec<notify::Part>,
    },
    /// Fetching pages with devices, from an origin on loopback
    #[command(
        after_help = "Examples:\n  malla bench fetch --quick\n  malla bench fetch --only makespan\n  malla bench fetch --strategy all\n\nIt starts an origin, a server and devices of its own on loopback, with a store in a temporary directory here. A PostgreSQL database must be empty, and is left full."
    )]
    Fetch {
        #[command(flatten)]
        stores: Stores,
        /// Measure this part only; may be given several times
        #[arg(long, value_name = "PART")]
        only: Vec<fetch::Part>,
        #[command(flatten)]
        strategies: Strategies,
    },
    /// Answers over record streams: mapping alone, and through the service
    #[command(
        after_help = "Examples:\n  malla bench analyze --quick\n  malla bench analyze --trips 1000000 --trips 16000000\n\nIt makes data sets in a temporary directory here, and starts a server and a client of its own on loopback. The answers are checked against those made without a service, and those against a simple way to find them. A PostgreSQL database must be empty, and is left full."
    )]
    Analyze {
        #[command(flatten)]
        stores: Stores,
        /// Trips of the data set; may be given several times [default: 4000000]
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..=20_000_000))]
        trips: Vec<u64>,
    },
    /// Histories: from a dump into the store and back, questions about them, and a polite walk
    #[command(
        after_help = "Examples:\n  malla bench wiki --quick\n  malla bench wiki --postgres postgres://postgres@127.0.0.1/bench\n\nIt makes histories of its own, with a store in a temporary directory here, and starts a wiki and a server on loopback. A PostgreSQL database must be empty, and is left full."
    )]
    Wiki(Stores),
    /// The console's pages over a full store: a million tasks, events and revisions each
    #[command(
        after_help = "Examples:\n  malla bench console --quick\n  malla bench console --at ./full --only /notify\n  malla bench console --postgres postgres://postgres@127.0.0.1/bench --no-sqlite\n\nIt fills a store, starts a server on it and asks for each page as an admin and as somebody of one group. A PostgreSQL database must be empty, and is left full."
    )]
    Console {
        #[command(flatten)]
        stores: Stores,
        /// Keep the data in this directory; a store that an earlier run filled is measured as it is
        #[arg(long, value_name = "DIR")]
        at: Option<PathBuf>,
        /// Measure the pages whose address contains this; may be given several times
        #[arg(long, value_name = "TEXT")]
        only: Vec<String>,
    },
    /// Scaling over nodes that share a PostgreSQL: deliveries and analyses
    #[command(
        after_help = "Examples:\n  malla bench cluster --store postgres://postgres@127.0.0.1/postgres --quick\n  malla bench cluster --store postgres://postgres@127.0.0.1/postgres --only deliveries --away-ms 20\n\nIt makes a database of its own on that server and drops it. Nodes are processes with data in temporary directories here. From afar, each node has little in hand and a way to the store with a delay, so that more nodes are what helps; nearby there is no delay, and nodes are added until this machine or the store gives no more."
    )]
    Cluster {
        /// The PostgreSQL server; its user must be allowed to make databases
        #[arg(long, value_name = "URL")]
        store: Option<String>,
        /// Measure this part only; may be given several times
        #[arg(long, value_name = "PART")]
        only: Vec<cluster::Part>,
        /// How far nodes are from the store: milliseconds in each direction
        #[arg(long, value_name = "MS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(0..=100))]
        away_ms: u64,
        /// Short, to see that it works
        #[arg(long)]
        quick: bool,
        /// Print JSON, one line a figure
        #[arg(long)]
        json: bool,
    },
    /// A crawl of a site on loopback with loops, calendars and sessions
    #[command(
        after_help = "Examples:\n  malla bench crawl\n  malla bench crawl --pages 10000 --kills 3 --json\n\nIt starts a site and a server of its own on loopback, with a store in a temporary directory here. It fails if a page is missed, or if the crawl goes where it should not."
    )]
    Crawl {
        /// Pages of the site
        #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=500_000))]
        pages: u64,
        /// Kill the server so many times on the way: it goes on where it was
        #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=100))]
        kills: u64,
        /// Print JSON, one line a figure
        #[arg(long)]
        json: bool,
    },
    /// A simulated fleet with liars: who is found, how soon, and at what cost
    #[command(
        after_help = "Examples:\n  malla bench trust\n  malla bench trust --results 100000 --seed 7 --json\n\nNothing is fetched: devices are played through, and judged by the functions that judge real ones. The same seed gives the same figures."
    )]
    Trust {
        /// Results for clients
        #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
        results: u64,
        #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(2..=100_000))]
        devices: u32,
        /// Of a hundred devices, how many lie
        #[arg(long, value_name = "PERCENT", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=90))]
        liars: u32,
        /// Which fleet
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Of a thousand checked pages, how many have become another page before their check
        #[arg(long, value_name = "PER_MILLE", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=1000))]
        changed: u32,
        /// With a control site
        #[arg(long)]
        control: bool,
        /// Print JSON, one line a figure
        #[arg(long)]
        json: bool,
    },
    /// A web site to get lost in, until standard input ends
    #[command(hide = true)]
    Maze(maze::Plan),
    /// Many web sites on loopback, until standard input ends
    #[command(hide = true)]
    Origin(origin::Manners),
    /// A small wiki on loopback, until standard input ends
    #[command(hide = true)]
    SmallWiki(small_wiki::Manners),
}

#[derive(Debug, Args)]
struct Strategies {
    /// Compare strategies on a simulated world instead: democratic, less_busy, geography, adaptive, or all
    #[arg(long, value_name = "NAME")]
    strategy: Vec<String>,
    /// Which world
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Args)]
struct Stores {
    /// Measure this PostgreSQL database too: an empty one that may be thrown away
    #[arg(long, value_name = "URL")]
    postgres: Option<String>,
    /// Leave out the embedded store
    #[arg(long, requires = "postgres")]
    no_sqlite: bool,
    /// A tenth of the load
    #[arg(long)]
    quick: bool,
    /// Print JSON, one line a figure
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(command: Command) -> anyhow::Result<()> {
    match command.what {
        What::Queue(stores) => queue(stores).await,
        What::Notify { stores, only } => notify(stores, &only).await,
        What::Fetch { stores, strategies, .. } if !strategies.strategy.is_empty() => compare(&stores, &strategies),
        What::Fetch { stores, only, .. } => fetch(stores, &only).await,
        What::Analyze { stores, trips } => analyze(stores, trips).await,
        What::Wiki(stores) => wiki(stores).await,
        What::Console { stores, at, only } => console(stores, at, &only).await,
        What::Cluster { store, only, away_ms, quick, json } => {
            let Some(store) = store else {
                let text = "nodes need a shared store: give a PostgreSQL server whose user may make databases with --store \
                            postgres://USER:PASSWORD@HOST/DATABASE";
                return Err(Usage(text.into()).into());
            };
            let load = if quick { cluster::Load::QUICK } else { cluster::Load::FULL };
            let away = Duration::from_millis(away_ms);
            cluster::run(&store, load, away, &only, &mut Report::new(json)).await
        }
        What::Crawl { pages, kills, json } => {
            crawl::run(usize::try_from(pages).unwrap_or(usize::MAX), kills, &mut Report::new(json)).await
        }
        What::Maze(plan) => maze::serve(plan).await,
        What::Trust { results, devices, liars, seed, changed, control, json } => {
            let setting =
                trust::Setting { seed, results, devices, liars, changed, control, ..trust::Setting::default() };
            trust_bench::run(setting, &mut Report::new(json));
            Ok(())
        }
        What::Origin(manners) => origin::serve(manners).await,
        What::SmallWiki(manners) => small_wiki::serve(manners).await,
    }
}

async fn queue(stores: Stores) -> anyhow::Result<()> {
    let load = if stores.quick { queue::Load::QUICK } else { queue::Load::FULL };
    let mut report = Report::new(stores.json);
    if !stores.no_sqlite {
        let place = tempfile::tempdir_in(".").context("cannot make a temporary directory here")?;
        talk("measuring the embedded store");
        queue::run(&format!("sqlite:{}", place.path().join("bench.db").display()), load, &mut report).await?;
    }
    if let Some(url) = &stores.postgres {
        talk("measuring PostgreSQL");
        queue::run(url, load, &mut report).await?;
    }
    Ok(())
}

async fn notify(stores: Stores, parts: &[notify::Part]) -> anyhow::Result<()> {
    let load = if stores.quick { notify::Load::QUICK } else { notify::Load::FULL };
    let mut report = Report::new(stores.json);
    if !stores.no_sqlite {
        talk("measuring a server on the embedded store");
        notify::run("", load, parts, &mut report).await?;
    }
    if let Some(url) = &stores.postgres {
        talk("measuring a server on PostgreSQL");
        notify::run(url, load, parts, &mut report).await?;
    }
    Ok(())
}

async fn fetch(stores: Stores, parts: &[fetch::Part]) -> anyhow::Result<()> {
    let load = if stores.quick { fetch::Load::QUICK } else { fetch::Load::FULL };
    let mut report = Report::new(stores.json);
    if !stores.no_sqlite {
        talk("measuring a fleet with a server on the embedded store");
        fetch::run("", load, parts, &mut report).await?;
    }
    if let Some(url) = &stores.postgres {
        talk("measuring a fleet with a server on PostgreSQL");
        fetch::run(url, load, parts, &mut report).await?;
    }
    Ok(())
}

async fn analyze(stores: Stores, mut trips: Vec<u64>) -> anyhow::Result<()> {
    if trips.is_empty() {
        trips.push(if stores.quick { 400_000 } else { 4_000_000 });
    }
    let mut report = Report::new(stores.json);
    analyze::run(trips[0], &mut report)?;
    if !stores.no_sqlite {
        talk("measuring a server on the embedded store");
        stream::run("", &trips, &mut report).await?;
    }
    if let Some(url) = &stores.postgres {
        talk("measuring a server on PostgreSQL");
        stream::run(url, &trips, &mut report).await?;
    }
    Ok(())
}

async fn wiki(stores: Stores) -> anyhow::Result<()> {
    let load = if stores.quick { wiki::Load::QUICK } else { wiki::Load::FULL };
    let mut report = Report::new(stores.json);
    if !stores.no_sqlite {
        let place = tempfile::tempdir_in(".").context("cannot make a temporary directory here")?;
        let file = place.path().join("bench.db");
        talk("measuring the embedded store");
        wiki::run(&format!("sqlite:{}", file.display()), Some(&file), load, &mut report).await?;
        wiki::walk("", load, &mut report).await?;
    }
    if let Some(url) = &stores.postgres {
        talk("measuring PostgreSQL");
        wiki::run(url, None, load, &mut report).await?;
        wiki::walk(url, load, &mut report).await?;
    }
    Ok(())
}

async fn console(stores: Stores, at: Option<PathBuf>, only: &[String]) -> anyhow::Result<()> {
    let load = if stores.quick { console::Load::QUICK } else { console::Load::FULL };
    let mut report = Report::new(stores.json);
    if !stores.no_sqlite {
        talk("measuring a server on the embedded store");
        let data = at.clone().map_or(console::Data::Temporary, console::Data::Kept);
        console::run("", data, load, only, &mut report).await?;
    }
    if let Some(url) = &stores.postgres {
        talk("measuring a server on PostgreSQL");
        let data = at.map_or(console::Data::Temporary, |at| console::Data::Kept(at.join("postgres")));
        console::run(url, data, load, only, &mut report).await?;
    }
    Ok(())
}

fn compare(stores: &Stores, strategies: &Strategies) -> anyhow::Result<()> {
    let mut chosen = Vec::new();
    for name in &strategies.strategy {
        match name.as_str() {
            "all" => chosen.extend(Strategy::ALL),
            name => chosen.push(name.parse().map_err(|error: malla_queue::Error| Usage(error.to_string()))?),
        }
    }
    fetch::strategies(&chosen, strategies.seed, &mut Report::new(stores.json));
    Ok(())
}
