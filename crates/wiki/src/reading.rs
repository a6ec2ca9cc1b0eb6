//! Answers as people get them: rows made into documents, with the texts that are wanted.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use malla_queue::{Error, Result, Scope, UnixMs};
use serde_json::{Map, Value as Json, json};

use crate::page::PageId;
use crate::pipeline::{Column, Plan, Stage, Type};
use crate::revision::RevId;
use crate::site::WikiId;
use crate::texts::{Block, TextHash, part, unpack};
use crate::verbs::{Limits, Row, Value, Wikis};

/// Bytes of texts in one answer.
const TEXTS_BYTES_MAX: u64 = 64 << 20;

/// How dates look in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dates {
    /// `"2018-03-09T12:00:00Z"`
    Iso,
    /// `{"$date": milliseconds}`
    Extended,
}

pub struct Reader {
    wikis: Arc<dyn Wikis>,
}

type TextKey = (WikiId, PageId, TextHash);
type Texts = HashMap<TextKey, String>;

impl Reader {
    pub fn new(wikis: Arc<dyn Wikis>) -> Self {
        Self { wikis }
    }

    /// The documents that a plan answers with. What is not there is left out of them; in groups it is null.
    pub async fn documents(&self, scope: &Scope, plan: &Plan, dates: Dates, limits: Limits) -> Result<Vec<Json>> {
        let rows = self.wikis.ask(scope, plan, limits).await?;
        let texts = tokio::time::timeout(limits.time, self.texts(&rows)).await.map_err(|_| {
            Error::Invalid("reading the texts took too long: ask for fewer revisions, or without the field *".into())
        })??;
        let documents = Documents {
            texts,
            dates,
            shows_null: plan.stages.iter().any(|stage| matches!(stage, Stage::Group { .. })),
        };
        Ok(rows.into_iter().map(|row| documents.of(row, &plan.columns)).collect())
    }

    /// The number that a plan answers with whose last stage counts.
    pub async fn count(&self, scope: &Scope, plan: &Plan, limits: Limits) -> Result<u64> {
        let rows = self.wikis.ask(scope, plan, limits).await?;
        match rows.first().and_then(|row| row.first()) {
            None => Ok(0),
            Some(Value::Whole(number)) => {
                u64::try_from(*number).map_err(|_| Error::Internal(format!("a count is {number}")))
            }
            Some(other) => Err(Error::Internal(format!("a count is {other:?}"))),
        }
    }

    /// The values that a plan of values and counts has most often: several if they tie.
    pub async fn mode(&self, scope: &Scope, plan: &Plan, limits: Limits) -> Result<Vec<Json>> {
        let mut plan = plan.clone();
        plan.stages.push(Stage::Limit(limits.rows as u64));
        let rows = self.wikis.ask(scope, &plan, limits).await?;
        let most = rows.first().and_then(|row| row.get(1)).cloned();
        let ties = rows.iter().take_while(|row| row.get(1) == most.as_ref()).count();
        if ties > 0 && ties == limits.rows {
            return Err(Error::Invalid(format!("{ties} values or more are the most frequent ones: filter more")));
        }
        let documents = Documents { texts: Texts::new(), dates: Dates::Iso, shows_null: true };
        let first = |row: Row| row.into_iter().next().and_then(|value| documents.value(value, Type::Text));
        Ok(rows.into_iter().take(ties).filter_map(first).collect())
    }

    /// A revision's text, byte by byte; `None` if the revision or its text is not kept.
    pub async fn text(&self, wiki: WikiId, revid: RevId) -> Result<Option<Vec<u8>>> {
        let Some(revision) = self.wikis.revision(wiki, revid).await? else { return Ok(None) };
        let Some(hash) = revision.text else { return Ok(None) };
        let places = self.wikis.places(wiki, revision.pageid, &[hash]).await?;
        let Some((_, place)) = places.first() else { return Ok(None) };
        let found = self.of_block(wiki, revision.pageid, place.block, BTreeSet::from([hash])).await?;
        Ok(found.into_iter().next().map(|(_, text)| text))
    }

    /// The texts that rows want, each block read once.
    async fn texts(&self, rows: &[Row]) -> Result<Texts> {
        let mut wanted: BTreeMap<(WikiId, PageId), HashMap<TextHash, u64>> = BTreeMap::new();
        for value in rows.iter().flatten() {
            if let Value::Content { wiki, pageid, hash } = value {
                *wanted.entry((*wiki, *pageid)).or_default().entry(*hash).or_default() += 1;
            }
        }
        let (mut texts, mut bytes) = (Texts::new(), 0);
        for ((wiki, pageid), times) in wanted {
            let hashes: Vec<TextHash> = times.keys().copied().collect();
            let mut blocks: BTreeMap<u32, BTreeSet<TextHash>> = BTreeMap::new();
            for (hash, place) in self.wikis.places(wiki, pageid, &hashes).await? {
                bytes += u64::from(place.length) * times.get(&hash).copied().unwrap_or(1);
                blocks.entry(place.block).or_default().insert(hash);
            }
            if bytes > TEXTS_BYTES_MAX {
                return Err(too_much());
            }
            for (number, hashes) in blocks {
                for (hash, text) in self.of_block(wiki, pageid, number, hashes).await? {
                    let text = String::from_utf8(text).unwrap_or_else(|error| lossy(error.as_bytes()));
                    texts.insert((wiki, pageid, hash), text);
                }
            }
        }
        Ok(texts)
    }

    /// Texts out of a block by the places that it has now: what was erased meanwhile is not among them.
    async fn of_block(
        &self,
        wiki: WikiId,
        pageid: PageId,
        number: u32,
        hashes: BTreeSet<TextHash>,
    ) -> Result<Vec<(TextHash, Vec<u8>)>> {
        let Some(block) = self.wikis.block(wiki, pageid, number).await? else { return Ok(Vec::new()) };
        let read = tokio::task::spawn_blocking(move || cut(&block, &hashes)).await;
        read.map_err(|error| Error::Internal(format!("reading a block of texts broke off: {error}")))?
    }
}

fn cut(block: &Block, hashes: &BTreeSet<TextHash>) -> Result<Vec<(TextHash, Vec<u8>)>> {
    let bytes = unpack(&block.packed, block.bytes)?;
    let wanted = block.texts.iter().filter(|(hash, _)| hashes.contains(hash));
    wanted.map(|(hash, place)| Ok((*hash, part(&bytes, *place)?.to_vec()))).collect()
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn too_much() -> Error {
    Error::Invalid(format!(
        "the texts of this answer are more than {} MiB: ask for fewer revisions ($match, $limit, page_size), or without the \
         field * ($project, project=)",
        TEXTS_BYTES_MAX >> 20
    ))
}

struct Documents {
    texts: Texts,
    dates: Dates,
    /// What is not there is null instead of being left out.
    shows_null: bool,
}

impl Documents {
    fn of(&self, row: Row, columns: &[Column]) -> Json {
        let mut document = Map::new();
        for (value, column) in row.into_iter().zip(columns) {
            if let Some(value) = self.value(value, column.kind) {
                put(&mut document, &column.path, value);
            }
        }
        Json::Object(document)
    }

    fn value(&self, value: Value, kind: Type) -> Option<Json> {
        let shown = match value {
            Value::Null | Value::Flag(false) if kind == Type::Tags => json!([]),
            Value::Null | Value::Flag(false) => Json::Null,
            Value::Flag(true) => Json::Bool(true),
            Value::Whole(number) => json!(number),
            Value::Real(number) => json!(number),
            Value::Text(text) => Json::String(text),
            Value::Date(at) => self.date(at),
            Value::Tags(tags) => json!(tags),
            Value::Content { wiki, pageid, hash } => {
                self.texts.get(&(wiki, pageid, hash)).map_or(Json::Null, |text| Json::String(text.clone()))
            }
        };
        (self.shows_null || !shown.is_null()).then_some(shown)
    }

    fn date(&self, at: UnixMs) -> Json {
        match (self.dates, Timestamp::from_millisecond(at.0)) {
            (Dates::Iso, Ok(moment)) => Json::String(moment.to_string()),
            // A moment beyond the calendar has no other form.
            _ => json!({ "$date": at.0 }),
        }
    }
}

fn put(document: &mut Map<String, Json>, path: &[String], value: Json) {
    match path {
        [] => {}
        [name] => {
            document.insert(name.clone(), value);
        }
        [name, below @ ..] => {
            let inner = document.entry(name.clone()).or_insert_with(|| Json::Object(Map::new()));
            if let Json::Object(inner) = inner {
                put(inner, below, value);
            }
        }
    }
}

#[cfg(test)]
mod tests;
