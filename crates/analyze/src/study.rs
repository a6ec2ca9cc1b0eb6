//! A study: an analysis that somebody asked for, with its parameters, batches and answers. People see it as *analysis*.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use malla_queue::{Error, Event, GroupId, Kind, LaneKey, LaneSettings, NewTask, Result, RetryDelays, TaskId, UnixMs};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::analysis::{AnyAnalysis, Role, find, known};
use crate::buffer::Buffer;
use crate::lines::Lines;

/// The room whose lanes are studies.
pub const ROOM: &str = "analyze";
/// The kind of a task that maps a batch.
pub const MAP: &str = "analyze.map";
/// The kind of the task that makes the answers.
pub const REDUCE: &str = "analyze.reduce";
/// The event of a study that came to its end.
pub const FINISHED: &str = "analysis.finished";

/// Batches of one study at most.
pub const BATCHES_MAX: u64 = 1_000_000;
/// Parts (cities, say) of one study at most.
pub const PARTS_MAX: u64 = 1_000;
/// A batch's number at most, so that it fits wherever a number does.
pub const SEQ_MAX: u64 = i64::MAX as u64;
const PART_CHARS_MAX: usize = 100;
/// What goes wrong around a task (the store is away, say) is tried again so often.
const RETRY_S: [u64; 6] = [1, 2, 5, 15, 60, 300];
/// Tasks of one study at work at once, over all nodes.
const PARALLEL: u32 = 1_024;

/// A study's number, from the same sequence as the tasks'.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StudyId(pub TaskId);

impl fmt::Display for StudyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for StudyId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        text.parse().map(Self)
    }
}

impl StudyId {
    /// The lane of its tasks.
    pub fn lane(self) -> LaneKey {
        LaneKey::trusted(format!("{ROOM}/{self}"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StudyState {
    /// Batches may come.
    Collecting,
    /// All have come; they are worked on.
    Computing,
    Succeeded,
    Failed,
    Cancelled,
}

impl StudyState {
    pub const ALL: [Self; 5] = [Self::Collecting, Self::Computing, Self::Succeeded, Self::Failed, Self::Cancelled];

    pub fn name(self) -> &'static str {
        match self {
            Self::Collecting => "collecting",
            Self::Computing => "computing",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    pub fn is_over(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}

impl fmt::Display for StudyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A study on its way in.
#[derive(Debug, Clone)]
pub struct NewStudy {
    pub group: Option<GroupId>,
    pub kind: &'static str,
    /// Checked, with the defaults filled in.
    pub params: Value,
    /// Studies that may be under way in the house at once.
    pub studies_max: u64,
}

impl NewStudy {
    /// What a client asked for, checked.
    pub fn new(group: Option<GroupId>, kind: &str, params: &Value, studies_max: u64) -> Result<Self> {
        let analysis = known_kind(kind)?;
        let params = analysis.params(params).map_err(|why| Error::Invalid(format!("params: {why}")))?;
        Ok(Self { group, kind: analysis.kind(), params, studies_max })
    }
}

fn known_kind(kind: &str) -> Result<&'static dyn AnyAnalysis> {
    find(kind).ok_or_else(|| {
        let kinds = known().iter().map(|analysis| analysis.kind()).collect::<Vec<_>>().join(", ");
        Error::Invalid(format!("\"{kind}\" is not a kind of analysis: there are {kinds}"))
    })
}

#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    pub id: StudyId,
    pub group: Option<GroupId>,
    pub kind: String,
    pub params: Value,
    pub state: StudyState,
    pub created_at: UnixMs,
    /// When a batch last came, was mapped, or the state changed.
    pub changed_at: UnixMs,
    pub finished_at: Option<UnixMs>,
    /// How many batches there are, once that was said.
    pub expected: Option<u64>,
    /// Batches that came, tables of dimensions included.
    pub taken: u64,
    /// Of those, the ones that need no more work: mapped, or dimensions.
    pub mapped: u64,
    /// Bytes that came, unpacked.
    pub bytes: u64,
    /// Packed bytes of batches that are not mapped yet.
    pub waiting_bytes: u64,
    /// Lines of the batches that are mapped.
    pub lines: Lines,
    /// Why it failed or was cancelled.
    pub why: Option<String>,
}

impl Study {
    pub fn analysis(&self) -> Result<&'static dyn AnyAnalysis> {
        known_kind(&self.kind)
    }

    /// Whether the answers can be made now.
    pub fn is_whole(&self) -> bool {
        self.state == StudyState::Computing && self.expected == Some(self.mapped)
    }

    /// Whether a batch may be added; why not.
    pub fn may_take(&self) -> Result<()> {
        match self.state {
            StudyState::Collecting if self.taken >= BATCHES_MAX => {
                Err(Error::Invalid(format!("an analysis has at most {BATCHES_MAX} batches: make them larger")))
            }
            StudyState::Collecting => Ok(()),
            StudyState::Computing => Err(Error::Conflict(format!(
                "the analysis {} was completed with {} batches: nothing more can come",
                self.id, self.taken
            ))),
            StudyState::Cancelled => {
                Err(Error::Conflict(format!("the analysis {} was cancelled: nothing more can come", self.id)))
            }
            over => Err(Error::Conflict(format!("the analysis {} has {over}: nothing more can come", self.id))),
        }
    }

    /// Whether it may be completed with so many batches; false if it was already.
    pub fn may_complete(&self, batches: u64) -> Result<bool> {
        if self.state == StudyState::Cancelled {
            return Err(Error::Conflict(format!("the analysis {} was cancelled", self.id)));
        }
        if self.state != StudyState::Collecting {
            return match self.expected {
                Some(said) if said != batches => Err(Error::Conflict(format!(
                    "the analysis {} was completed with {said} batches before, not {batches}",
                    self.id
                ))),
                _ => Ok(false),
            };
        }
        if self.taken == batches {
            return Ok(true);
        }
        let advice = if self.taken < batches {
            "send those that are missing, then complete it again"
        } else {
            "some were sent that are not counted"
        };
        Err(Error::Conflict(format!("{} batches came, and {batches} were said to be sent: {advice}", self.taken)))
    }

    /// The task that makes its answers.
    pub fn reduce_task(&self) -> NewTask {
        self.task(REDUCE, json!({ "analysis": self.id }))
    }

    /// The task that maps a batch.
    pub fn map_task(&self, key: &BatchKey, hash: &BatchHash) -> NewTask {
        self.task(MAP, json!({ "analysis": self.id, "batch": key, "hash": hash.to_string() }))
    }

    fn task(&self, kind: &str, payload: Value) -> NewTask {
        NewTask {
            group: self.group,
            lane_group: self.group,
            lane_settings: LaneSettings { ceiling: PARALLEL, ..LaneSettings::default() },
            retry: RetryDelays::seconds(RETRY_S),
            ..NewTask::new(self.id.lane(), Kind::new(kind), payload.to_string())
        }
    }

    /// What subscribers are told when it is over.
    pub fn finished_event(&self) -> Event {
        let body = json!({
            "id": self.id, "kind": self.kind, "state": self.state, "batches": self.taken, "rows": self.lines.read,
            "bad_lines": self.lines.bad, "why": self.why,
        });
        Event { kind: FINISHED.into(), group: self.group, body: body.to_string().into_bytes() }
    }
}

/// Which batch of a study.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BatchKey {
    pub input: String,
    /// Lower case: names of parts compare without regard to it.
    pub part: String,
    pub seq: u64,
}

impl BatchKey {
    /// As a client names it.
    pub fn new(analysis: &dyn AnyAnalysis, input: &str, part: &str, seq: u64) -> Result<Self> {
        if !analysis.inputs().iter().any(|known| known.name == input) {
            let inputs = analysis.inputs().iter().map(|input| input.name).collect::<Vec<_>>().join(", ");
            return Err(Error::Invalid(format!(
                "\"{input}\" is not a table of {}: there are {inputs}",
                analysis.kind()
            )));
        }
        let part = part.to_lowercase();
        if part.trim().is_empty() || part.chars().count() > PART_CHARS_MAX || part.chars().any(char::is_control) {
            return Err(Error::Invalid(format!(
                "a city's name has from 1 to {PART_CHARS_MAX} characters, and no control characters"
            )));
        }
        if seq > SEQ_MAX {
            return Err(Error::Invalid(format!("a batch's number is at most {SEQ_MAX}")));
        }
        Ok(Self { input: input.to_owned(), part, seq })
    }

    pub fn role(&self, analysis: &dyn AnyAnalysis) -> Option<Role> {
        analysis.inputs().iter().find(|input| input.name == self.input).map(|input| input.role)
    }

    /// Another body under the same number.
    pub fn another(&self) -> Error {
        Error::Conflict(format!("the batch {self} came before with another body"))
    }
}

impl fmt::Display for BatchKey {
    /// `trips/montreal/17`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.input, self.part, self.seq)
    }
}

/// Of the unpacked bytes of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct BatchHash(pub [u8; 32]);

impl BatchHash {
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

impl fmt::Display for BatchHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for BatchHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for BatchHash {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let hash = blake3::Hash::from_hex(text);
        hash.map(|hash| Self(*hash.as_bytes())).map_err(|_| Error::Invalid(format!("\"{text}\" is not a batch's hash")))
    }
}

/// A batch on its way in.
#[derive(Debug, Clone)]
pub struct NewBatch {
    pub key: BatchKey,
    pub role: Role,
    pub hash: BatchHash,
    /// Unpacked bytes.
    pub size: u64,
    /// As it is kept: zstd.
    pub packed: Arc<Buffer>,
    /// Packed bytes of batches that may wait in the house.
    pub waiting_bytes_max: u64,
    /// Packed bytes of the dimensions that a part may have.
    pub dimension_bytes_max: u64,
}

/// A batch of records that was mapped as it came in: its partial is kept, its bytes never are.
#[derive(Debug, Clone)]
pub struct MappedBatch {
    pub key: BatchKey,
    pub hash: BatchHash,
    /// Unpacked bytes.
    pub size: u64,
    pub partial: Vec<u8>,
    pub lines: Lines,
}

/// What became of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenBatch {
    New,
    /// It came before.
    Again,
    /// It may not be mapped yet: its bytes are to be kept for later. Only said of a [`MappedBatch`].
    NotYet,
}

/// A batch that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownBatch {
    pub key: BatchKey,
    pub hash: BatchHash,
    pub size: u64,
    /// It needs no more work.
    pub mapped: bool,
}

impl NewBatch {
    /// Dimensions after the first records.
    pub fn too_late(&self) -> Error {
        let BatchKey { input, part, .. } = &self.key;
        Error::Conflict(format!("the {input} of {part} came after its first records: send {input} before them"))
    }

    /// A new part when there are so many.
    pub fn one_part_too_many() -> Error {
        Error::Invalid(format!("an analysis has at most {PARTS_MAX} cities"))
    }

    /// Whether so many packed bytes in the house leave room for it.
    pub fn fits(&self, waiting: u64) -> Result<()> {
        // One batch always fits where nothing waits.
        if waiting == 0 || waiting.saturating_add(self.packed.len() as u64) <= self.waiting_bytes_max {
            return Ok(());
        }
        let mb = |bytes: u64| bytes.div_ceil(1_000_000);
        let (waiting, limit) = (mb(waiting), mb(self.waiting_bytes_max));
        Err(Error::NotAvailable(format!(
            "{waiting} MB of batches wait to be worked on, and the limit is {limit} MB: try again in a moment"
        )))
    }

    /// Whether so many packed bytes of dimensions leave room for it.
    pub fn fits_dimensions(&self, kept: u64) -> Result<()> {
        if kept.saturating_add(self.packed.len() as u64) <= self.dimension_bytes_max {
            return Ok(());
        }
        let limit = self.dimension_bytes_max.div_ceil(1_000_000);
        Err(Error::Invalid(format!("the tables that come before the records of a city have at most {limit} MB packed")))
    }
}
