//! What both stores write and read of wikis, pages, extractions and imports in the same way.

use malla_queue::{Error, GroupId, Result, TaskId, UnixMs};
use malla_wiki::{
    Counts, Extraction, ExtractionId, ExtractionState, Import, ImportId, Mark, NewExtraction, NewWiki, Page, PageFacts,
    PageId, Pulse, RevId, Wiki, WikiId,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::analyze_rows::{count, int};
use crate::fetch_rows::{from_json, plain};

/// Why an extraction failed whose task came to a bad end.
pub(crate) const STUCK: &str = "its task failed or was discarded: ask for it again";
/// Bytes of an extraction's key: it must fit into an index.
const KEY_BYTES_MAX: usize = 2_000;
const DAY_MS: i64 = 24 * 3_600 * 1_000;

/// A wiki's row.
pub(crate) struct WikiRow {
    pub(crate) id: i64,
    pub(crate) group: Option<i64>,
    pub(crate) api: String,
    pub(crate) locale: String,
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) scraped: bool,
    pub(crate) found_at: i64,
    pub(crate) pages: i64,
    pub(crate) revisions: i64,
    pub(crate) visits_day: i64,
    pub(crate) visits: i64,
}

impl WikiRow {
    pub(crate) fn read(self) -> Result<Wiki> {
        let damaged = |error: &dyn std::fmt::Display| Error::Internal(format!("the URL of a wiki is damaged: {error}"));
        Ok(Wiki {
            id: WikiId(self.id),
            group: self.group.map(GroupId),
            api: self.api.parse().map_err(|error| damaged(&error))?,
            locale: self.locale,
            name: self.name,
            about: from_json(&self.about)?,
            scraped: self.scraped,
            found_at: UnixMs(self.found_at),
            pages: count(self.pages),
            revisions: count(self.revisions),
            visits_day: self.visits_day,
            visits: count(self.visits),
        })
    }
}

/// A wiki on its way in, as columns.
pub(crate) struct FoundRow {
    pub(crate) group: Option<i64>,
    pub(crate) api: String,
    /// As in the name of its lane.
    pub(crate) origin: String,
    pub(crate) locale: String,
    pub(crate) name: String,
    pub(crate) about: String,
}

impl FoundRow {
    pub(crate) fn of(wiki: &NewWiki) -> Result<Self> {
        let api = &wiki.api;
        if api.as_str().len() > KEY_BYTES_MAX {
            return Err(Error::Invalid(format!("the URL of a wiki's API has at most {KEY_BYTES_MAX} bytes")));
        }
        let host = api.host_str().ok_or_else(|| Error::Invalid(format!("\"{api}\" names no host")))?;
        Ok(Self {
            group: wiki.group.map(|group| group.0),
            api: api.as_str().to_owned(),
            origin: format!("{}://{host}:{}", api.scheme(), api.port_or_known_default().unwrap_or(0)),
            locale: plain(&wiki.locale).into_owned(),
            name: plain(&wiki.name).into_owned(),
            about: wiki.about.to_string(),
        })
    }
}

pub(crate) fn no_wiki(id: WikiId) -> Error {
    Error::NotFound(format!("wiki {id}"))
}

/// The day on which visits are counted.
pub(crate) fn day(now: UnixMs) -> i64 {
    now.0.div_euclid(DAY_MS)
}

/// A page's row. As JSON it is what a repeated request is answered with.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PageRow {
    pub(crate) wiki: i64,
    pub(crate) pageid: i64,
    pub(crate) title: String,
    pub(crate) ns: i64,
    pub(crate) deleted: bool,
    pub(crate) first_extraction: i64,
    pub(crate) last_extraction: i64,
    pub(crate) newest: (Option<i64>, Option<i64>),
    pub(crate) mark: (Option<i64>, Option<i64>),
    pub(crate) complete_at: Option<i64>,
    pub(crate) reconciled_at: Option<i64>,
    pub(crate) visited_at: Option<i64>,
    pub(crate) pulse: (Option<i64>, Option<i64>, Option<i64>),
    pub(crate) revisions: i64,
    pub(crate) version: i64,
    pub(crate) last_block: Option<i64>,
    pub(crate) watched: bool,
}

impl PageRow {
    pub(crate) fn read(self) -> Page {
        let pulse = match self.pulse {
            (Some(edits), Some(first), Some(last)) => {
                Some(Pulse { edits: count(edits), first: UnixMs(first), last: UnixMs(last) })
            }
            _ => None,
        };
        Page {
            wiki: WikiId(self.wiki),
            pageid: PageId(self.pageid),
            facts: PageFacts { title: self.title, ns: self.ns, deleted: self.deleted },
            first_extraction: UnixMs(self.first_extraction),
            last_extraction: UnixMs(self.last_extraction),
            newest: mark(self.newest),
            mark: mark(self.mark),
            complete_at: self.complete_at.map(UnixMs),
            reconciled_at: self.reconciled_at.map(UnixMs),
            visited_at: self.visited_at.map(UnixMs),
            pulse,
            revisions: count(self.revisions),
            version: count(self.version),
            last_block: self.last_block.and_then(|number| u32::try_from(number).ok()),
            watched: self.watched,
        }
    }
}

fn mark((at, revid): (Option<i64>, Option<i64>)) -> Option<Mark> {
    Some(Mark { at: UnixMs(at?), revid: RevId(revid?) })
}

pub(crate) fn no_page(wiki: WikiId, pageid: PageId) -> Error {
    Error::NotFound(format!("page {} of wiki {wiki}", pageid.0))
}

/// An extraction's row. As JSON it is what a repeated request is answered with.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ExtractionRow {
    pub(crate) id: i64,
    pub(crate) group: Option<i64>,
    pub(crate) asked: String,
    pub(crate) state: i16,
    pub(crate) wiki: Option<i64>,
    pub(crate) pageid: Option<i64>,
    pub(crate) title: Option<String>,
    pub(crate) requests: i64,
    pub(crate) done: i64,
    pub(crate) total: Option<i64>,
    pub(crate) new: i64,
    pub(crate) erased: i64,
    pub(crate) note: Option<String>,
    pub(crate) asked_at: i64,
    pub(crate) started_at: Option<i64>,
    pub(crate) changed_at: i64,
    pub(crate) finished_at: Option<i64>,
}

impl ExtractionRow {
    /// As it begins, unless as many as may be are under way.
    pub(crate) fn begun(new: &NewExtraction, id: i64, under_way: i64, now: UnixMs) -> Result<Self> {
        let (under_way, limit) = (count(under_way), new.extractions_max);
        if under_way >= limit {
            return Err(Error::NotAvailable(format!(
                "{under_way} extractions are under way, and the limit is {limit}: try again when one has ended"
            )));
        }
        Ok(Self {
            id,
            group: new.group.map(|group| group.0),
            asked: plain(&new.asked).into_owned(),
            state: code(ExtractionState::Pending),
            wiki: None,
            pageid: None,
            title: None,
            requests: 0,
            done: 0,
            total: None,
            new: 0,
            erased: 0,
            note: None,
            asked_at: now.0,
            started_at: None,
            changed_at: now.0,
            finished_at: None,
        })
    }

    pub(crate) fn read(self) -> Extraction {
        Extraction {
            id: ExtractionId(TaskId(self.id)),
            group: self.group.map(GroupId),
            asked: self.asked,
            state: state(self.state),
            wiki: self.wiki.map(WikiId),
            pageid: self.pageid.map(PageId),
            title: self.title,
            counts: Counts {
                requests: count(self.requests),
                done: count(self.done),
                total: self.total.map(count),
                new: count(self.new),
                erased: count(self.erased),
            },
            note: self.note,
            asked_at: UnixMs(self.asked_at),
            started_at: self.started_at.map(UnixMs),
            changed_at: UnixMs(self.changed_at),
            finished_at: self.finished_at.map(UnixMs),
        }
    }
}

/// The state column: those under way are less than 2.
pub(crate) fn code(state: ExtractionState) -> i16 {
    match state {
        ExtractionState::Pending => 0,
        ExtractionState::InProgress => 1,
        ExtractionState::Succeeded => 2,
        ExtractionState::Failed => 3,
    }
}

fn state(code: i16) -> ExtractionState {
    match code {
        0 => ExtractionState::Pending,
        1 => ExtractionState::InProgress,
        2 => ExtractionState::Succeeded,
        _ => ExtractionState::Failed,
    }
}

/// The numbers of an extraction as columns: requests, done, total, new, erased.
pub(crate) fn count_columns(counts: &Counts) -> (i64, i64, Option<i64>, i64, i64) {
    (int(counts.requests), int(counts.done), counts.total.map(int), int(counts.new), int(counts.erased))
}

pub(crate) fn no_extraction(id: ExtractionId) -> Error {
    Error::NotFound(format!("extraction {id}"))
}

/// What is refused before a store is asked. The key comes back as it is stored.
pub(crate) fn check_extraction(new: &NewExtraction) -> Result<String> {
    if new.key.is_empty() || new.key.len() > KEY_BYTES_MAX {
        return Err(Error::Invalid(format!("what to extract has from 1 to {KEY_BYTES_MAX} bytes: shorten it")));
    }
    Ok(plain(&new.key).into_owned())
}

/// The first task of an extraction, with its number in the payload.
pub(crate) fn first_task(new: &NewExtraction, id: i64) -> Result<malla_queue::NewTask> {
    let mut payload: serde_json::Map<String, Value> = serde_json::from_slice(&new.first.payload)
        .map_err(|error| Error::Internal(format!("the first task of an extraction has no JSON object: {error}")))?;
    payload.insert("extraction".into(), Value::String(TaskId(id).to_string()));
    Ok(malla_queue::NewTask { payload: Value::Object(payload).to_string().into_bytes(), ..new.first.clone() })
}

/// An import's row. As JSON it is what a repeated request is answered with.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ImportRow {
    pub(crate) id: i64,
    pub(crate) wiki: i64,
    pub(crate) group: Option<i64>,
    pub(crate) name: String,
    pub(crate) batches: i64,
    pub(crate) pages: i64,
    pub(crate) revisions: i64,
    pub(crate) finished: bool,
    pub(crate) begun_at: i64,
    pub(crate) changed_at: i64,
}

impl ImportRow {
    pub(crate) fn read(self) -> Import {
        Import {
            id: ImportId(TaskId(self.id)),
            wiki: WikiId(self.wiki),
            group: self.group.map(GroupId),
            name: self.name,
            batches: count(self.batches),
            pages: count(self.pages),
            revisions: count(self.revisions),
            finished: self.finished,
            begun_at: UnixMs(self.begun_at),
            changed_at: UnixMs(self.changed_at),
        }
    }
}

pub(crate) fn no_import(id: ImportId) -> Error {
    Error::NotFound(format!("import {id}"))
}

/// The name of an import as it is stored.
pub(crate) fn import_name(name: &str) -> Result<String> {
    if name.is_empty() || name.len() > KEY_BYTES_MAX {
        return Err(Error::Invalid(format!("the name of an import has from 1 to {KEY_BYTES_MAX} bytes")));
    }
    Ok(plain(name).into_owned())
}

/// Whether a batch is to be taken in, or was before; why not.
pub(crate) fn is_next_batch(import: &Import, batch: u64) -> Result<bool> {
    if batch < import.batches {
        return Ok(false);
    }
    if import.finished {
        return Err(Error::Conflict(format!("the import {} is finished: nothing more can come", import.id)));
    }
    if batch > import.batches {
        let next = import.batches;
        return Err(Error::Conflict(format!("batch {batch} came too early: the next one has the number {next}")));
    }
    Ok(true)
}
