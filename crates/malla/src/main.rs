//! `malla`: one program. Here the command line is read and the exit code is chosen; what happens stands elsewhere.

mod analyzing;
mod backup_file;
mod bench;
mod caring;
mod cli;
mod commands;
mod config;
mod data_dir;
mod demo;
mod device_secret;
mod dice;
mod duties;
mod fetching;
mod first_run;
mod fleet;
mod guard;
mod leading;
mod mediawiki;
mod member;
mod notifying;
mod output;
mod places;
mod roles;
mod router;
mod serve;
mod signals;
mod stderr;
mod supervise;
mod telemetry;
mod tending;
mod throwaway;
mod up;
mod wikis;

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Parser as _;

use self::cli::{Cli, Command, Place, Reach};
use self::commands::{
    Usage, analyses, audit, backup, bikes, blocklist, cluster, compare, completions, connect, crawl, crawls, devices,
    fetch, groups, healthcheck, lanes, ledger, notify,
};
use self::commands::{print_config, restore, robots, tasks, tokens, users, watches, wiki, worker};

use self::config::{Config, Flag, Sources};
use self::member::Part;
use self::roles::Role;
use self::supervise::Launcher;

/// Threads that still read or write when everything else has ended.
const LINGER: Duration = Duration::from_millis(200);

/// Events and deliveries are many small pieces of memory that one thread takes and another gives back.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    use_small_pages();
    let cli = Cli::parse();
    let _ = rustls::crypto::ring::default_provider().install_default();
    let code = match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::talk(&format!("malla: {error:#}"));
            if is_wrong_usage(&error) { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    };
    stderr::flush();
    code
}

/// The allocator asks for pages of 2 MB, and the kernel clears each as a whole when its first byte is touched: with a few
/// threads that hold a few batches that was a fifth of the time and half of the memory. If it cannot be, it stays slow.
fn use_small_pages() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

fn run(cli: Cli) -> Result<()> {
    let Cli { place, command } = cli;
    match command {
        Command::Up(up) => serve(&place, &up),
        Command::Demo(command) => threaded(demo::run(&place, command)),
        Command::Supervise(command) => supervise(&place, command),
        Command::Cluster(command) => ask(&place, command.reach.clone(), async |c| cluster::run(command, c).await),
        Command::Config(command) => print_config::run(&place, &command),
        Command::Bench(command) => measure(command),
        Command::Completions(command) => completions::run(&command),
        Command::Fetch(command) => threaded(fetch::run(&place, command)),
        Command::Crawl(command) => threaded(crawl::run(&place, command)),
        Command::Crawls(command) => ask(&place, command.reach.clone(), async |c| crawls::run(command, c).await),
        Command::Watches(command) => ask(&place, command.reach.clone(), async |c| watches::run(command, c).await),
        Command::Compare(command) => ask(&place, command.reach.clone(), async |c| compare::run(command, c).await),
        Command::Worker(command) => threaded(worker::run(&place, command)),
        Command::Devices(command) => ask(&place, command.reach.clone(), async |c| devices::run(command, c).await),
        Command::Ledger(command) => ask(&place, command.reach.clone(), async |c| ledger::run(command, c).await),
        Command::Blocklist(command) => ask(&place, command.reach.clone(), async |c| blocklist::run(command, c).await),
        Command::Robots(command) => match robots::run(command)? {
            true => Ok(()),
            false => std::process::exit(1),
        },
        Command::Analyses(command) => ask(&place, command.reach.clone(), async |c| analyses::run(command, c).await),
        Command::Bikes(command) => threaded(bikes::run(&place, command)),
        Command::Wiki(wiki::Command { verb: wiki::Verb::Simulate(simulate), .. }) => wiki::simulate::run(simulate),
        Command::Wiki(command) => ask(&place, command.reach.clone(), async |c| wiki::run(command, c).await),
        Command::Notify(command) => ask(&place, command.reach.clone(), async |c| notify::run(command, c).await),
        Command::Tasks(command) => ask(&place, command.reach.clone(), async |c| tasks::run(command, c).await),
        Command::Lanes(command) => ask(&place, command.reach.clone(), async |c| lanes::run(command, c).await),
        Command::Users(command) => ask(&place, command.reach.clone(), async |c| users::run(command, c).await),
        Command::Groups(command) => ask(&place, command.reach.clone(), async |c| groups::run(command, c).await),
        Command::Tokens(command) => ask(&place, command.reach.clone(), async |c| tokens::run(command, c).await),
        Command::Backup(command) => threaded(backup::run(&place, command)),
        Command::Restore(command) => threaded(restore::run(&place, command)),
        Command::Audit(command) => ask(&place, command.reach.clone(), async |c| audit::run(command, c).await),
        Command::Healthcheck(command) => {
            ask(&place, command.reach.clone(), async |c| healthcheck::run(command, c).await)
        }
    }
}

/// Starts a server and runs it to its end.
fn serve(place: &Place, up: &cli::Up) -> Result<()> {
    let config = commands::load(place, &up.settings)?.config()?;
    let part = match (&up.slot, up.medic) {
        (Some(slot), Some(medic)) => Part::Child { slot: slot.clone(), medic },
        _ => Part::Alone,
    };
    run_to_the_end(config, part)
}

/// Starts a medic, and through it the processes that shall run here.
fn supervise(place: &Place, command: cli::Supervise) -> Result<()> {
    if command.settings.roles.is_some() {
        return Err(Usage("--roles belongs to `malla up`: give --role NAME=N, as in --role notifier=2".into()).into());
    }
    let mut flags = place.flags(&command.settings);
    flags.extend(command.role);
    let launcher = Launcher::new(&flags, place.config.as_deref())?;
    flags.push(Flag { key: "roles", name: "supervise", value: Role::Medic.to_string() });
    let config = config::load(Sources::gather(place.config.as_deref(), flags)?)?.config()?;
    if config.store_url().starts_with("sqlite:") {
        let text = "malla supervise starts many processes, and the embedded store takes one: give a shared one with \
                    --store postgres://USER:PASSWORD@HOST/DATABASE";
        return Err(Usage(text.into()).into());
    }
    run_to_the_end(config, Part::Medic(Arc::new(launcher)))
}

fn run_to_the_end(config: Config, part: Part) -> Result<()> {
    if !matches!(part, Part::Alone) {
        stderr::wait_for_nobody().context("cannot start a thread")?;
    }
    telemetry::log(&config.log)?;
    #[cfg(feature = "crash-points")]
    arm_crash_point()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start threads")?;
    let ended = runtime.block_on(up::run(config, part));
    runtime.shutdown_timeout(LINGER);
    ended
}

/// Works with as many threads as this machine has.
fn threaded(work: impl Future<Output = Result<()>>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start threads")?;
    let ended = runtime.block_on(work);
    runtime.shutdown_timeout(LINGER);
    ended
}

/// Measures, with as many threads as a server has.
fn measure(command: commands::bench::Command) -> Result<()> {
    threaded(commands::bench::run(command))
}

/// Asks a server something.
fn ask(place: &Place, reach: Reach, question: impl AsyncFnOnce(&malla_client::Client) -> Result<()>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    runtime.block_on(async {
        let client = connect(place, &reach)?;
        question(&client).await.map_err(|error| match is_unauthorized(&error) {
            true => error.context("give a token that is good here with --token or MALLA_TOKEN"),
            false => error,
        })
    })
}

/// Lets a test stop this process dead at a named point, or take it for the next version.
#[cfg(feature = "crash-points")]
#[allow(clippy::disallowed_methods)] // no settings: they exist in builds for tests only
fn arm_crash_point() -> Result<()> {
    if let Ok(sql) = std::env::var("MALLA_CRASH_NEXT_VERSION") {
        malla_store::be_the_next_version(sql);
    }
    match std::env::var("MALLA_CRASH_AT") {
        Ok(point) => malla_queue::crash::arm(&point).map_err(|why| anyhow::anyhow!("MALLA_CRASH_AT: {why}")),
        Err(_) => Ok(()),
    }
}

fn is_unauthorized(error: &anyhow::Error) -> bool {
    let problem = error.downcast_ref::<malla_client::Error>().and_then(malla_client::Error::problem);
    problem.is_some_and(|problem| problem.code == malla_protocol::Code::Unauthorized)
}

/// The reader of our output has seen enough (`| head`).
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn is_wrong_usage(error: &anyhow::Error) -> bool {
    error.is::<Usage>() || error.downcast_ref::<config::Wrong>().is_some_and(|wrong| wrong.usage)
}
