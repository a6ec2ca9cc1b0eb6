//! `malla bench cluster`: what more nodes on one PostgreSQL bring, and where that ends.
//!
//! From afar, a node is bound by distance: it has little in hand, and each word to the store (and to a subscriber) takes its
//! time. So one machine can show what many would do. Nearby, nodes are added until the rate no longer grows.

mod analyses;
mod busy;
mod deliveries;
mod far;
mod nodes;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use malla_store::postgres::Scratch;

use self::analyses::{Analyses, STUDIES};
use self::busy::{Busy, Moment};
use self::deliveries::Deliveries;
use self::far::{Address, Far};
use self::nodes::{Kind, Node};
use super::report::Report;
use crate::output::talk;
use crate::signals::Signals;
use crate::throwaway::Throwaway;

/// How much to measure, and for how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// What happens first does not count: connections are made, statements prepared.
    settle: Duration,
    window: Duration,
    /// Counts of nodes far away.
    far: &'static [usize],
    /// Nodes nearby at most.
    near_max: usize,
    /// If nobody chooses.
    parts: &'static [Part],
    /// All of it ends at the latest after this.
    at_most: Duration,
}

impl Load {
    pub(crate) const FULL: Self = Self {
        settle: Duration::from_millis(1_500),
        window: Duration::from_secs(6),
        far: &[1, 2, 4, 8],
        near_max: 8,
        parts: &[Part::Deliveries, Part::Analyses, Part::OneAnalysis, Part::Saturation],
        at_most: Duration::from_secs(240),
    };
    pub(crate) const QUICK: Self = Self {
        settle: Duration::from_millis(500),
        window: Duration::from_millis(1_500),
        far: &[1, 2, 4],
        near_max: 2,
        parts: &[Part::Deliveries, Part::Analyses, Part::Saturation],
        at_most: Duration::from_secs(45),
    };
}

/// What can be measured alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// Nodes far from the store deliver to subscribers who answer after 50 ms
    Deliveries,
    /// Nodes far from the store map batches of eight analyses
    Analyses,
    /// The same with one analysis, whose batches are committed one after the other (--quick leaves it out)
    OneAnalysis,
    /// Deliveries and analyses nearby, with more nodes until the rate no longer grows
    Saturation,
}

/// Where nodes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Distance {
    /// The store is so far away, in each direction.
    Far(Duration),
    Near,
}

/// Something of which there is enough to do.
trait Workload {
    const UNIT: &'static str;
    /// What one piece of it counts.
    const ONE: u64;
    /// Pieces in a second that one node may do, far away and nearby, until it is measured.
    const EXPECTED: (f64, f64);

    fn name(&self) -> &'static str;
    /// Nodes that do it.
    fn kind(&self, distance: Distance) -> Kind;
    /// Others than nodes may be far away, too.
    fn place(&mut self, distance: Distance);
    /// Gives the nodes so many pieces more to do, or a few more than that.
    async fn give(&mut self, count: u64) -> Result<()>;
    fn given(&self) -> u64;
    async fn done(&mut self) -> Result<u64>;
}

/// Counts of nodes for a single analysis.
const ONE_STUDY: [usize; 2] = [1, 4];
/// Less than this more is no growth.
const GROWTH: f64 = 1.1;
/// What waits shall last for longer than it is expected to.
const MORE: f64 = 1.3;
/// When only this part of what waited is left, nodes begin to want for it.
const DRY: f64 = 0.05;
/// How often it is looked whether there is enough to do.
const LOOK: Duration = Duration::from_millis(250);
/// What was expected may be wrong so often.
const TRIES: usize = 3;
/// Sessions of a node, and of all others.
const CONNECTIONS: (u32, u32) = (13, 35);

/// Measures these parts (none: those of the load) with nodes that are `away` from the store.
pub(crate) async fn run(url: &str, load: Load, away: Duration, parts: &[Part], report: &mut Report) -> Result<()> {
    report.store("postgres");
    let server = Address::parse(url)?;
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let scratch = Scratch::make(url).await.context("cannot make a database there")?;
    let parts = if parts.is_empty() { load.parts } else { parts };
    let measured = tokio::select! {
        measured = tokio::time::timeout(load.at_most, measure(&server, &scratch, load, away, parts, report)) => {
            let late = || anyhow!("not everything was measured within {:?}: this machine is too slow or too busy", load.at_most);
            measured.unwrap_or_else(|_| Err(late()))
        }
        asked = signals.next() => Err(anyhow!("{}: not everything was measured", asked.name())),
    };
    // Its processes are gone with what held them.
    let removed = scratch.remove().await.context("cannot drop the database that was made for this");
    measured.and(removed)
}

async fn measure(
    server: &Address,
    scratch: &Scratch,
    load: Load,
    away: Duration,
    parts: &[Part],
    report: &mut Report,
) -> Result<()> {
    let url = server.database(scratch.name());
    let data = tempfile::tempdir_in(".").context("cannot make a temporary directory here")?;
    let studies = STUDIES.to_string();
    let settings =
        [("MALLA_STORE", url.as_str()), ("MALLA_ALLOW_PRIVATE", "true"), ("MALLA_ANALYZE_STUDIES_MAX", &studies)];
    let api = Throwaway::start(data, &["--roles", "api,medic"], &settings).await?;
    let far = Distance::Far(away);
    let mut bench = Bench { server, scratch, url: &url, api: &api, load, report };
    talk(&format!("nodes from afar are {away:?} from the store in each direction"));
    let wants = |part: Part| parts.contains(&part);
    if wants(Part::Deliveries) || wants(Part::Saturation) {
        let mut deliveries = Deliveries::prepare(&api).await?;
        if wants(Part::Deliveries) {
            bench.scale(&mut deliveries, far, load.far).await?;
        }
        if wants(Part::Saturation) {
            bench.saturate(&mut deliveries).await?;
        }
    }
    if wants(Part::Analyses) || wants(Part::Saturation) {
        let mut analyses = Analyses::prepare(&api, STUDIES).await?;
        if wants(Part::Analyses) {
            bench.scale(&mut analyses, far, load.far).await?;
        }
        if wants(Part::Saturation) {
            bench.saturate(&mut analyses).await?;
        }
        analyses.cancel().await?;
    }
    if wants(Part::OneAnalysis) {
        bench.scale(&mut Analyses::prepare(&api, 1).await?, far, &ONE_STUDY).await?;
    }
    api.stop().await
}

struct Bench<'a> {
    server: &'a Address,
    scratch: &'a Scratch,
    url: &'a str,
    api: &'a Throwaway,
    load: Load,
    report: &'a mut Report,
}

/// What so many nodes did.
struct Measured {
    nodes: usize,
    /// Pieces in a second.
    rate: f64,
    busy: Busy,
}

impl Bench<'_> {
    /// A line for each count of nodes.
    async fn scale<W: Workload>(&mut self, work: &mut W, distance: Distance, counts: &[usize]) -> Result<()> {
        let (room, mut one) = (self.room(), None);
        let mut expected = W::EXPECTED.0;
        for nodes in counts.iter().copied().filter(|nodes| *nodes <= room) {
            let Measured { rate, busy, .. } = self.step(work, nodes, distance, expected).await?;
            expected = rate / nodes as f64;
            let one = *one.get_or_insert(rate);
            let note = format!("{:.2} × one node; {busy}", rate / one);
            let what = format!("{} from afar, {}", work.name(), counted(nodes));
            self.report.line(&what, rate * W::ONE as f64, W::UNIT, &note);
        }
        Ok(())
    }

    /// Twice as many nodes as before, until that brings nothing. Then a line for what was the most.
    async fn saturate<W: Workload>(&mut self, work: &mut W) -> Result<()> {
        let room = self.room();
        let mut all: Vec<Measured> = Vec::new();
        let mut nodes = 1;
        while nodes <= self.load.near_max.min(room) {
            let before = all.last().map(|last| last.rate);
            let expected = before.map_or(W::EXPECTED.1, |rate| rate / nodes as f64 * 2.0);
            let measured = self.step(work, nodes, Distance::Near, expected).await?;
            let (rate, busy) = (measured.rate, &measured.busy);
            let growth = before.map_or(GROWTH, |before| rate / before);
            let note = format!("{:.2} × one node; {busy}", rate / all.first().map_or(rate, |one| one.rate));
            let what = format!("{} nearby, {}", work.name(), counted(nodes));
            self.report.line(&what, rate * W::ONE as f64, W::UNIT, &note);
            all.push(measured);
            if growth < GROWTH {
                break;
            }
            nodes *= 2;
        }
        self.tell_most(work, &all);
        Ok(())
    }

    /// Nodes for which the server has connections.
    fn room(&self) -> usize {
        let (each, others) = CONNECTIONS;
        (self.scratch.connections_max.saturating_sub(others) / each).max(1) as usize
    }

    fn tell_most<W: Workload>(&mut self, work: &W, all: &[Measured]) {
        let Some(most) = all.iter().max_by(|a, b| a.rate.total_cmp(&b.rate)) else { return };
        let after = match all.last() {
            Some(last) if last.nodes > most.nodes => {
                format!("{} gave {:.2} × that", counted(last.nodes), last.rate / most.rate)
            }
            _ => "more were not tried".into(),
        };
        let note = format!("with {}; {after}; {}", counted(most.nodes), most.busy);
        self.report.line(&format!("{} nearby, at most", work.name()), most.rate * W::ONE as f64, W::UNIT, &note);
    }

    /// What so many nodes do, of which each is expected to do so many pieces in a second.
    async fn step<W: Workload>(
        &self,
        work: &mut W,
        nodes: usize,
        distance: Distance,
        mut expected: f64,
    ) -> Result<Measured> {
        work.place(distance);
        for _ in 0..TRIES {
            let lasts = (self.load.settle + self.load.window).as_secs_f64() * MORE;
            let wanted = (expected * nodes as f64 * lasts) as u64;
            let waiting = work.given().saturating_sub(work.done().await?);
            if wanted > waiting {
                work.give(wanted - waiting).await?;
            }
            let started = self.start(&work.kind(distance), nodes, distance).await?;
            let (started, measured) = self.watch(work, started).await?;
            nodes::stop(started).await?;
            match measured {
                Some(measured) => return Ok(measured),
                None => expected *= 3.0,
            }
        }
        bail!("the nodes ran out of work {TRIES} times: it cannot be given as fast as it is done")
    }

    /// All at once.
    async fn start(&self, kind: &Kind, count: usize, distance: Distance) -> Result<Vec<Node>> {
        let starting = (0..count).map(|_| async {
            match distance {
                Distance::Far(away) => {
                    let way = Far::start(self.server, self.scratch.name(), away).await?;
                    let url = way.url.clone();
                    Node::start(kind, &url, Some(way)).await
                }
                Distance::Near => Node::start(kind, self.url, None).await,
            }
        });
        futures_util::future::try_join_all(starting).await
    }

    /// Counts what is done from a moment after the start until the time is over or the work runs out. Nothing is known if
    /// that happens too early.
    async fn watch<W: Workload>(&self, work: &mut W, mut nodes: Vec<Node>) -> Result<(Vec<Node>, Option<Measured>)> {
        tokio::time::sleep(self.load.settle).await;
        let before = Moment::now(self.scratch, &nodes, self.api.pid()).await?;
        let (began, first) = (Instant::now(), work.done().await?);
        let left = work.given().saturating_sub(first) as f64 * DRY;
        let enough = work.given().saturating_sub(left as u64);
        let mut waiting = Vec::new();
        let (took, done) = loop {
            tokio::time::sleep(LOOK.min(self.load.window.saturating_sub(began.elapsed()))).await;
            waiting.push(self.scratch.waiting().await?);
            let (done, took) = (work.done().await?, began.elapsed());
            if took >= self.load.window || done >= enough {
                break (took, done);
            }
        };
        let busy = Moment::now(self.scratch, &nodes, self.api.pid()).await?.since(&before, &waiting);
        nodes.iter_mut().try_for_each(Node::check)?;
        if took < self.load.window / 2 {
            return Ok((nodes, None));
        }
        let rate = done.saturating_sub(first) as f64 / took.as_secs_f64();
        let count = nodes.len();
        Ok((nodes, Some(Measured { nodes: count, rate, busy })))
    }
}

fn counted(nodes: usize) -> String {
    if nodes == 1 { "1 node".into() } else { format!("{nodes} nodes") }
}
