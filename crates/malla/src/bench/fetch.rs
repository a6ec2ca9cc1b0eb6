//! Fetching with a fleet: how much a device does, what the way through the dispatcher costs, how near to the ideal the
//! makespan comes, and whether politeness is kept meanwhile.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use malla_client::{Client, ClientOptions};
use malla_fetch::Strategy;
use malla_fetch::world::{World, play};
use malla_protocol::{FetchPages, JobState};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use super::direct::{Direct, cpu_of_self};
use super::origin::{Manners, Origin, Seen};
use super::report::{Report, cpu_of};
use crate::throwaway::Throwaway;

/// URLs in one job, as `malla fetch` asks for them.
const JOB_URLS: usize = 1_000;
/// Requests at once of each device where the origin takes its time: so it is the devices that are counted, and not how fast
/// they find out what they can do.
const AT_ONCE: usize = 16;
const LOOK_EVERY: Duration = Duration::from_millis(20);
const DONE_WITHIN: Duration = Duration::from_secs(300);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pages: usize,
    sites: usize,
    /// How often the rate is measured; the middle one of each kind counts.
    rounds: usize,
    /// Pages of an origin that takes its time.
    slow_pages: usize,
    /// For the makespan.
    polite_sites: usize,
    polite_pages: usize,
}

impl Load {
    pub(crate) const FULL: Self =
        Self { pages: 40_000, sites: 200, rounds: 3, slow_pages: 20_000, polite_sites: 300, polite_pages: 10 };
    pub(crate) const QUICK: Self =
        Self { pages: 5_000, sites: 50, rounds: 1, slow_pages: 2_000, polite_sites: 50, polite_pages: 4 };
}

/// What can be measured alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// Pages a second, bound by this machine
    Rate,
    /// The same with an origin that answers after 20 ms, and 16 requests at once of each device
    Latency,
    /// Many sites with a gap, against the ideal
    Makespan,
    /// One site with half of the pages, and some that hang
    Uneven,
}

pub(crate) async fn run(store: &str, load: Load, parts: &[Part], report: &mut Report) -> Result<()> {
    use clap::ValueEnum as _;
    report.store(if store.is_empty() { "sqlite" } else { "postgres" });
    let house = &House::on(store)?;
    let parts = if parts.is_empty() { Part::value_variants() } else { parts };
    for part in parts {
        match part {
            Part::Rate => Trial::bound_by_machine(load).run(house, report).await?,
            Part::Latency => Trial::bound_by_network(load).run(house, report).await?,
            Part::Makespan => makespan(house, load, report).await?,
            Part::Uneven => uneven(house, load, report).await?,
        }
    }
    Ok(())
}

/// Pages a second and for each CPU-second, without a dispatcher and with 1, 2 and 4 devices.
struct Trial {
    what: &'static str,
    delay_ms: u64,
    at_once: Option<usize>,
    sites: usize,
    pages: usize,
    rounds: usize,
}

/// Pages a second of time, of the devices' CPU and of all CPU.
#[derive(Clone, Copy)]
struct Rate {
    pages: f64,
    of_devices: f64,
    in_all: f64,
}

impl Trial {
    fn bound_by_machine(load: Load) -> Self {
        let Load { sites, pages, rounds, .. } = load;
        Self { what: "bound by this machine", delay_ms: 0, at_once: None, sites, pages, rounds }
    }

    fn bound_by_network(load: Load) -> Self {
        let Load { sites, slow_pages: pages, .. } = load;
        Self { what: "after 20 ms, 16 at once", delay_ms: 20, at_once: Some(AT_ONCE), sites, pages, rounds: 1 }
    }

    /// Each kind in turn: what this machine can do changes from one minute to the next.
    async fn run(&self, house: &House, report: &mut Report) -> Result<()> {
        let kinds = [0, 1, 2, 4];
        let mut rates = kinds.map(|_| Vec::new());
        for _ in 0..self.rounds {
            for (devices, rates) in kinds.into_iter().zip(&mut rates) {
                rates.push(if devices == 0 { self.direct().await? } else { self.fleet(house, devices).await? });
            }
        }
        let [direct, fleets @ ..] = rates.map(middle);
        let note = format!("{:.0} pages a CPU-second of the device", direct.of_devices);
        report.line(&format!("10 kB pages {}: direct", self.what), direct.pages, "pages/s", &note);
        for (devices, rate) in kinds[1..].iter().zip(&fleets) {
            let note = format!(
                "{:.2} × direct, {:.2} × one device; {:.0} pages a CPU-second of the devices, {:.0} with the server",
                rate.pages / direct.pages,
                rate.pages / fleets[0].pages,
                rate.of_devices,
                rate.in_all
            );
            report.line(&format!("10 kB pages {}: {devices} devices", self.what), rate.pages, "pages/s", &note);
        }
        Ok(())
    }

    async fn direct(&self) -> Result<Rate> {
        let origin = Origin::start(&self.manners()).await?;
        let urls = urls(&origin, self.sites, self.pages / self.sites);
        let (began, cpu) = (Instant::now(), cpu_of_self());
        Direct::fetch(&urls, self.at_once).await?;
        let (took, cpu) = (began.elapsed().as_secs_f64(), cpu_of_self() - cpu);
        origin.stop().await?;
        let pages = urls.len() as f64;
        Ok(Rate { pages: pages / took, of_devices: pages / cpu, in_all: pages / cpu })
    }

    async fn fleet(&self, house: &House, devices: usize) -> Result<Rate> {
        let origin = Origin::start(&self.manners()).await?;
        let urls = urls(&origin, self.sites, self.pages / self.sites);
        let fleet = Fleet::start(house, 0, devices, self.at_once).await?;
        let took = fleet.fetch(&urls).await?;
        let (of_devices, of_server) = fleet.cpu();
        fleet.stop().await?;
        check(&origin.stop().await?, urls.len())?;
        let pages = urls.len() as f64;
        Ok(Rate { pages: pages / took, of_devices: pages / of_devices, in_all: pages / (of_devices + of_server) })
    }

    fn manners(&self) -> Manners {
        Manners { bytes: 10_000, delay_ms: self.delay_ms, gap_ms: 0, hanging: 0 }
    }
}

fn middle(mut rates: Vec<Rate>) -> Rate {
    rates.sort_by(|a, b| a.pages.total_cmp(&b.pages));
    rates[rates.len() / 2]
}

/// Sites with a gap of a second. The ideal: each site is asked for its robots.txt and then a page a second.
async fn makespan(house: &House, load: Load, report: &mut Report) -> Result<()> {
    let manners = Manners { bytes: 10_000, delay_ms: 0, gap_ms: 1_000, hanging: 0 };
    let origin = Origin::start(&manners).await?;
    let urls = urls(&origin, load.polite_sites, load.polite_pages);
    let fleet = Fleet::start(house, 1_000, 1, None).await?;
    let took = fleet.fetch(&urls).await?;
    fleet.stop().await?;
    let seen = origin.stop().await?;
    check(&seen, urls.len())?;
    let ideal = load.polite_pages as f64;
    let what = format!("{} sites × {} pages at 1 s", load.polite_sites, load.polite_pages);
    report.line(&what, took, "s", &format!("{:.3} × ideal; {}", took / ideal, politeness(&seen)));
    Ok(())
}

/// Half of the pages on one site, and every twentieth site hangs: the others must not feel it.
async fn uneven(house: &House, load: Load, report: &mut Report) -> Result<()> {
    let (sites, pages) = (load.polite_sites, load.polite_pages);
    let hanging = sites.div_ceil(20);
    let manners = Manners { bytes: 10_000, delay_ms: 0, gap_ms: 1_000, hanging };
    let origin = Origin::start(&manners).await?;
    let healthy: Vec<String> = (hanging..sites)
        .flat_map(|site| (0..pages).map(move |page| (site, page)))
        .map(|(site, page)| origin.url(site, page))
        .collect();
    let large: Vec<String> = (0..healthy.len()).map(|page| origin.url(sites, page)).collect();
    let hung: Vec<String> = (0..hanging).map(|site| origin.url(site, 0)).collect();
    let fleet = Fleet::start(house, 1_000, 1, None).await?;
    fleet.submit(&hung).await?;
    fleet.submit(&large).await?;
    let took = fleet.fetch(&healthy).await?;
    fleet.stop().await?;
    let seen = origin.stop().await?;
    let ideal = pages as f64;
    let what = format!("{} sites × {pages} pages at 1 s beside a large and {hanging} hanging ones", sites - hanging);
    report.line(&what, took, "s", &format!("{:.3} × ideal; {}", took / ideal, politeness(&seen)));
    Ok(())
}

fn politeness(seen: &Seen) -> String {
    format!(
        "the origin saw {} gaps too short (shortest {:.1} ms) and {} requests at once with another",
        seen.gaps_short,
        seen.gap_min_ms.unwrap_or(0.0),
        seen.overlapping
    )
}

fn check(seen: &Seen, pages: usize) -> Result<()> {
    if (seen.pages as usize) < pages {
        bail!("{pages} pages were asked for, and the origin gave {}", seen.pages);
    }
    Ok(())
}

fn urls(origin: &Origin, sites: usize, pages: usize) -> Vec<String> {
    (0..pages).flat_map(|page| (0..sites).map(move |site| (site, page))).map(|(s, p)| origin.url(s, p)).collect()
}

/// Where servers have their store.
struct House {
    store: String,
    /// What belongs to a store that they share, one after the other. The embedded one is new each time.
    data: Option<TempDir>,
}

impl House {
    fn on(store: &str) -> Result<Self> {
        let data = if store.is_empty() { None } else { Some(temporary()?) };
        Ok(Self { store: store.to_owned(), data })
    }

    /// Starts a server; and where its devices have their data.
    async fn open(&self, variables: &[(&str, &str)]) -> Result<(Throwaway, PathBuf)> {
        let of_devices = |data: &TempDir| data.path().join("of-devices");
        let Some(data) = &self.data else {
            let data = temporary()?;
            let own = of_devices(&data);
            return Ok((Throwaway::start(data, &[], variables).await?, own));
        };
        Ok((Throwaway::start_in(data.path(), &["--store", &self.store], variables).await?, of_devices(data)))
    }
}

fn temporary() -> Result<TempDir> {
    tempfile::tempdir_in(".").context("cannot make a temporary directory here")
}

/// A server with its devices.
struct Fleet {
    server: Throwaway,
    devices: Vec<Child>,
    client: Client,
}

/// Names of their own, because those of a fleet that was killed a moment ago on the same store are taken.
fn device_name(number: usize) -> String {
    format!("device-{}-{number}", std::process::id())
}

impl Fleet {
    async fn start(house: &House, gap_ms: u64, devices: usize, at_once: Option<usize>) -> Result<Self> {
        let gap = gap_ms.to_string();
        let variables = [
            ("MALLA_ALLOW_PRIVATE", "true"),
            ("MALLA_FETCH_GAP_MS", gap.as_str()),
            ("MALLA_FETCH_PENDING_MAX", "1000000"),
            ("MALLA_FETCH_WORKERS_MIN", "0"),
            // All devices are one user's, so nobody could check them.
            ("MALLA_TRUST_ENABLED", "false"),
        ];
        let (server, own) = house.open(&variables).await?;
        let options =
            ClientOptions { servers: vec![server.url.clone()], token: Some(server.token.clone()), ca_pem: None };
        let client = Client::new(options)?;
        let mut started = Vec::new();
        for number in 0..devices {
            let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
            command
                .args(["worker", "--server", &server.url, "--token", &server.token])
                .args(["--name", &device_name(number), "--data"])
                .arg(&own)
                .args(at_once.map(|at_once| format!("--parallel={at_once}")))
                .env("MALLA_ALLOW_PRIVATE", "true")
                .stderr(std::process::Stdio::null())
                .kill_on_drop(true);
            started.push(command.spawn().context("cannot start a device")?);
        }
        let fleet = Self { server, devices: started, client };
        fleet.joined().await?;
        Ok(fleet)
    }

    async fn joined(&self) -> Result<()> {
        let began = Instant::now();
        let names: Vec<String> = (0..self.devices.len()).map(device_name).collect();
        loop {
            let known = self.client.devices().await?.items;
            if names.iter().all(|name| known.iter().any(|device| device.name == *name)) {
                return Ok(());
            }
            if began.elapsed() > Duration::from_secs(30) {
                bail!("the devices did not join");
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn submit(&self, urls: &[String]) -> Result<Vec<String>> {
        let mut jobs = Vec::new();
        for part in urls.chunks(JOB_URLS) {
            let pages = FetchPages { urls: part.to_vec(), cached: Some(false), ..FetchPages::default() };
            jobs.push(self.client.start_fetch(&pages).await?.id);
        }
        Ok(jobs)
    }

    /// Fetches these and returns the seconds from the first submission to the last answer.
    async fn fetch(&self, urls: &[String]) -> Result<f64> {
        let began = Instant::now();
        let jobs = self.submit(urls).await?;
        for job in &jobs {
            while self.client.job(job).await?.state == JobState::Running {
                if began.elapsed() > DONE_WITHIN {
                    bail!("the pages did not come within {DONE_WITHIN:?}");
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
        Ok(began.elapsed().as_secs_f64())
    }

    /// CPU-seconds of the devices and of the server so far.
    fn cpu(&self) -> (f64, f64) {
        let devices = self.devices.iter().filter_map(Child::id).map(cpu_of).sum();
        (devices, self.server.pid().map_or(0.0, cpu_of))
    }

    async fn stop(self) -> Result<()> {
        for mut device in self.devices {
            device.kill().await?;
        }
        self.server.stop().await
    }
}

/// What the strategies make of one and the same simulated world.
pub(crate) fn strategies(chosen: &[Strategy], seed: u64, report: &mut Report) {
    report.store("simulated");
    let world = World::generate(seed, 300, 20, 40);
    for strategy in chosen {
        let played = play(&world, *strategy);
        let note = format!(
            "a page takes {:.0} ms over {:.0} km; the busiest device has {:.2} × the mean",
            played.page_ms,
            played.km,
            played.most_by_mean()
        );
        report.line(&format!("{strategy}: makespan by ideal"), played.makespan_by_ideal(), "×", &note);
    }
}
