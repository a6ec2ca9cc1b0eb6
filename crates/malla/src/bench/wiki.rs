//! Histories: read in from a dump, read back, asked about, and walked politely.

use std::io::BufReader;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use malla_queue::{Act, Limits as QueueLimits, Scope, SystemClock};
use malla_store::Opened;
use malla_wiki::dump::{self, Batches};
use malla_wiki::pipeline::{Collection, Plan, Stage, parse};
use malla_wiki::{Limits, NewImport, NewWiki, Reader, RevId, Wiki, Wikis, questions};
use serde_json::json;
use tokio::process::Command;

use super::histories::{Dump, Shape, title};
use super::report::Report;
use super::small_wiki::SmallWiki;
use crate::throwaway::Throwaway;

const LIMITS: Limits = Limits { rows: 10_000, time: Duration::from_secs(60) };
/// Every question is asked so often; the middle one counts.
const TIMES: usize = 5;
/// How long the wiki that is walked takes for an answer.
const WIKI_TAKES: Duration = Duration::from_millis(30);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// Texts as they are: for speed and size.
    texts: Shape,
    /// One page with a long history.
    long: Shape,
    /// Many revisions with short texts: for questions.
    many: Shape,
    /// What is walked, and how far apart.
    walked: Shape,
    gap_ms: u64,
}

impl Load {
    pub(crate) const FULL: Self = Self {
        texts: Shape { pages: 100, revisions: 500, paragraphs: 200, users: 2_000 },
        long: Shape { pages: 1, revisions: 20_000, paragraphs: 120, users: 2_000 },
        many: Shape { pages: 10_000, revisions: 100, paragraphs: 3, users: 50_000 },
        walked: Shape { pages: 1, revisions: 3_000, paragraphs: 20, users: 100 },
        gap_ms: 1_000,
    };
    pub(crate) const QUICK: Self = Self {
        texts: Shape { pages: 10, ..Self::FULL.texts },
        long: Shape { revisions: 2_000, ..Self::FULL.long },
        many: Shape { pages: 1_000, ..Self::FULL.many },
        walked: Shape { revisions: 1_000, ..Self::FULL.walked },
        gap_ms: 200,
    };
}

/// Measures the store at `url`; `file` is where it lies if it is embedded.
pub(crate) async fn run(url: &str, file: Option<&Path>, load: Load, report: &mut Report) -> Result<()> {
    report.store(if file.is_some() { "sqlite" } else { "postgres" });
    let store = open(url).await?;
    let (_, raw) = import(&store.wikis, "texts", load.texts, report).await?;
    let store = match file {
        None => store,
        // Closed, all of it is in its file.
        Some(file) => {
            store.close().await;
            let size = std::fs::metadata(file)?.len();
            let note = format!("{:.1} MB of texts, with everything told about them in {:.1} MB", mb(raw), mb(size));
            report.line("bytes on disk for a byte of text", size as f64 / raw as f64, "bytes", &note);
            open(url).await?
        }
    };
    let wikis = store.wikis.clone();
    let (wiki, _) = import(&wikis, "a long page", load.long, report).await?;
    read_back(&wikis, &wiki, load.long, report).await?;
    let (wiki, _) = import(&wikis, "many revisions", load.many, report).await?;
    ask(&wikis, &wiki, load.many, report).await?;
    store.close().await;
    Ok(())
}

fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

async fn open(url: &str) -> Result<Opened> {
    Ok(malla_store::open(url, Arc::new(SystemClock::default()), QueueLimits::default()).await?)
}

/// Reads histories in from a dump, as `malla wiki import` and its server do together. Returns the bytes of the texts.
async fn import(wikis: &Arc<dyn Wikis>, name: &str, shape: Shape, report: &mut Report) -> Result<(Wiki, u64)> {
    let new = NewWiki {
        group: None,
        api: format!("http://{}.invalid/api.php", name.replace(' ', "-")).parse()?,
        locale: "en".into(),
        name: name.to_owned(),
        about: json!({}),
        scraped: false,
    };
    let wiki = wikis.found(new).await?;
    let begun = NewImport { wiki: wiki.id, name: name.to_owned() };
    let import = wikis.begin_import(&Scope::All, begun, Act::new("malla", "wiki.import", name)).await?;
    let (mut raw, mut revisions) = (0_u64, 0_u64);
    let began = Instant::now();
    for (number, batch) in (0..).zip(Batches::new(dump::Reader::new(BufReader::new(Dump::new(shape))))) {
        let batch = batch?;
        let texts = batch.pages.iter().flat_map(|part| &part.revisions).filter_map(|fetched| fetched.text.as_ref());
        raw += texts.map(|text| text.len() as u64).sum::<u64>();
        revisions += batch.revisions() as u64;
        let import = wikis.import(&Scope::All, import.id).await?;
        dump::take(&**wikis, &import, number, &batch.encode()?, false).await?;
    }
    let took = began.elapsed().as_secs_f64();
    let note = format!("{took:.1} s, {:.0} MB/s of texts, read, packed and written by one caller", mb(raw) / took);
    report.line(
        &format!("{revisions} revisions of {} pages from a dump", shape.pages),
        revisions as f64 / took,
        "rev/s",
        &note,
    );
    ensure!(revisions == shape.pages * shape.revisions, "revisions are missing");
    Ok((wikis.wiki(&Scope::All, wiki.id).await?, raw))
}

/// Reads revisions of a long history back, in no order.
async fn read_back(wikis: &Arc<dyn Wikis>, wiki: &Wiki, shape: Shape, report: &mut Report) -> Result<()> {
    let reader = Reader::new(wikis.clone());
    let mut times = Vec::new();
    for number in 0..200_u64 {
        let revid = i64::try_from(number * 7_919 % shape.revisions + 1)?;
        let began = Instant::now();
        let text = reader.text(wiki.id, RevId(revid)).await?;
        times.push(began.elapsed());
        ensure!(text.is_some_and(|text| !text.is_empty()), "a text is missing");
    }
    times.sort();
    let ms = |at: usize| times[at].as_secs_f64() * 1e3;
    let note = format!("p50 of {}; p99 {:.2} ms", times.len(), ms(times.len() * 99 / 100));
    report.line(&format!("one revision of {} of a page", shape.revisions), ms(times.len() / 2), "ms", &note);
    Ok(())
}

/// Asks about many revisions: some with a filter that few pass, some about everything.
async fn ask(wikis: &Arc<dyn Wikis>, wiki: &Wiki, shape: Shape, report: &mut Report) -> Result<()> {
    let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        let of_wiki = ("wiki".to_owned(), wiki.id.to_string());
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).chain([of_wiki]).collect()
    };
    let page = title(shape.pages / 2);
    let days = [("datestart", "2010-03-01"), ("dateend", "2010-03-02")];
    let plans: Vec<(&str, Plan)> = vec![
        ("count of a page", questions::count(&pairs(&[("title", &page)]))?),
        ("count of a user", questions::count(&pairs(&[("user", "Editor 12")]))?),
        ("avg of two days", questions::avg(&pairs(&days))?.0),
        ("mode of users of a page", mode(&pairs(&[("title", &page), ("attribute", "user")]))?),
        ("count of all", questions::count(&pairs(&[]))?),
        ("avg of ten years", questions::avg(&pairs(&[("datestart", "2005-01-01"), ("dateend", "2014-12-31")]))?.0),
        ("mode of users", mode(&pairs(&[("attribute", "user")]))?),
        ("mode of days", mode(&pairs(&[("attribute", "date")]))?),
        ("mode of sizes", mode(&pairs(&[("attribute", "size")]))?),
        (
            "edits of a user by year",
            pipeline(&json!([
                { "$match": { "user": "Editor 12" } },
                { "$group": { "_id": { "$year": "$timestamp" }, "edits": { "$sum": 1 } } }, { "$sort": { "_id": 1 } },
            ]))?,
        ),
        (
            "edits by year and month",
            pipeline(&json!([
                { "$group": { "_id": { "year": { "$year": "$timestamp" }, "month": { "$month": "$timestamp" } }, "edits": { "$sum": 1 } } },
                { "$sort": { "_id.year": 1, "_id.month": 1 } },
            ]))?,
        ),
        (
            "ten users with most edits",
            pipeline(&json!([
                { "$group": { "_id": "$user", "edits": { "$sum": 1 }, "size": { "$avg": "$size" } } },
                { "$sort": { "edits": -1 } }, { "$limit": 10 },
            ]))?,
        ),
    ];
    for (name, plan) in plans {
        let mut times = Vec::new();
        let mut rows = 0;
        for _ in 0..TIMES {
            let began = Instant::now();
            rows = wikis.ask(&Scope::All, &plan, LIMITS).await?.len();
            times.push(began.elapsed());
        }
        times.sort();
        let note = format!("of {} revisions, {rows} rows", shape.pages * shape.revisions);
        report.line(name, times[TIMES / 2].as_secs_f64() * 1e3, "ms", &note);
    }
    Ok(())
}

/// The most frequent values, as the service asks for them.
fn mode(pairs: &questions::Pairs) -> Result<Plan> {
    let (mut plan, _) = questions::mode(pairs)?;
    plan.stages.push(Stage::Limit(LIMITS.rows as u64));
    Ok(plan)
}

fn pipeline(stages: &serde_json::Value) -> Result<Plan> {
    Ok(parse(stages, Collection::Revisions, None)?)
}

/// Walks the history of a page of a small wiki through the service, and compares with what politeness allows.
pub(crate) async fn walk(store: &str, load: Load, report: &mut Report) -> Result<()> {
    report.store(if store.is_empty() { "sqlite" } else { "postgres" });
    let wiki = SmallWiki::start(load.walked, WIKI_TAKES).await?;
    let data = tempfile::tempdir_in(".").context("cannot make a temporary directory here")?;
    let arguments: &[&str] = if store.is_empty() { &[] } else { &["--store", store] };
    let gap = load.gap_ms.to_string();
    let variables =
        [("MALLA_WIKI_CONTACT", "bench@example.org"), ("MALLA_WIKI_API", &wiki.url), ("MALLA_WIKI_GAP_MS", &gap)];
    let server = Throwaway::start(data, arguments, &variables).await?;
    let began = Instant::now();
    let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
    command.args(["wiki", "extract", &title(0), "--server", &server.url, "--token", &server.token]);
    let status = command.stdout(Stdio::null()).kill_on_drop(true).status().await.context("cannot start a client")?;
    let took = began.elapsed().as_secs_f64();
    server.stop().await?;
    ensure!(status.success(), "the extraction failed");
    let seen = wiki.seen();
    let least = seen.requests.saturating_sub(1) as f64 * load.gap_ms as f64 / 1e3;
    let note = format!(
        "{took:.1} s for {} requests {gap} ms apart; shortest gap {:.1} ms, {} at once",
        seen.requests,
        seen.gap_min.map_or(0.0, |gap| gap.as_secs_f64() * 1e3),
        seen.overlapping
    );
    report.line(&format!("{} revisions walked, by the politest time", load.walked.revisions), took / least, "×", &note);
    Ok(())
}
