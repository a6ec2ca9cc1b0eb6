//! What both stores write and read of analyze in the same way, and what changes about a study.

use malla_analyze::analysis::Role;
use malla_analyze::lines::Lines;
use malla_analyze::{
    BatchHash, BatchKey, KnownBatch, MappedBatch, NewBatch, NewStudy, PARTS_MAX, Study, StudyId, StudyState, TakenBatch,
};
use malla_queue::{Error, GroupId, Result, TaskId, UnixMs};
use serde::{Deserialize, Serialize};

use crate::fetch_rows::{from_json, plain, to_json};

/// Why a study that somebody cancelled is over.
pub(crate) const CANCELLED: &str = "cancelled";

/// A study's row. As JSON it is what a repeated request is answered with.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StudyRow {
    pub(crate) id: i64,
    pub(crate) group: Option<i64>,
    pub(crate) kind: String,
    pub(crate) params: String,
    pub(crate) state: i16,
    pub(crate) created_at: i64,
    pub(crate) changed_at: i64,
    pub(crate) finished_at: Option<i64>,
    pub(crate) expected: Option<i64>,
    pub(crate) taken: i64,
    pub(crate) mapped: i64,
    pub(crate) bytes: i64,
    pub(crate) waiting_bytes: i64,
    pub(crate) lines_read: i64,
    pub(crate) lines_bad: i64,
    pub(crate) samples: String,
    pub(crate) why: Option<String>,
}

impl StudyRow {
    pub(crate) fn of(study: &Study) -> Self {
        Self {
            id: study.id.0.0,
            group: study.group.map(|group| group.0),
            kind: study.kind.clone(),
            params: study.params.to_string(),
            state: code(study.state),
            created_at: study.created_at.0,
            changed_at: study.changed_at.0,
            finished_at: study.finished_at.map(|at| at.0),
            expected: study.expected.map(int),
            taken: int(study.taken),
            mapped: int(study.mapped),
            bytes: int(study.bytes),
            waiting_bytes: int(study.waiting_bytes),
            lines_read: int(study.lines.read),
            lines_bad: int(study.lines.bad),
            samples: to_json(&study.lines.samples),
            why: study.why.as_deref().map(|why| plain(why).into_owned()),
        }
    }

    pub(crate) fn read(self) -> Result<Study> {
        Ok(Study {
            id: StudyId(TaskId(self.id)),
            group: self.group.map(GroupId),
            kind: self.kind,
            params: from_json(&self.params)?,
            state: state(self.state),
            created_at: UnixMs(self.created_at),
            changed_at: UnixMs(self.changed_at),
            finished_at: self.finished_at.map(UnixMs),
            expected: self.expected.map(count),
            taken: count(self.taken),
            mapped: count(self.mapped),
            bytes: count(self.bytes),
            waiting_bytes: count(self.waiting_bytes),
            lines: Lines {
                read: count(self.lines_read),
                bad: count(self.lines_bad),
                samples: from_json(&self.samples)?,
            },
            why: self.why,
        })
    }
}

/// The state column: those under way are less than 2.
fn code(state: StudyState) -> i16 {
    match state {
        StudyState::Collecting => 0,
        StudyState::Computing => 1,
        StudyState::Succeeded => 2,
        StudyState::Failed => 3,
        StudyState::Cancelled => 4,
    }
}

fn state(code: i16) -> StudyState {
    match code {
        0 => StudyState::Collecting,
        1 => StudyState::Computing,
        2 => StudyState::Succeeded,
        3 => StudyState::Failed,
        _ => StudyState::Cancelled,
    }
}

pub(crate) fn int(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

pub(crate) fn count(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

/// The key before all others, as columns: input, part and number.
pub(crate) fn after_columns(after: Option<&BatchKey>) -> (&str, &str, i64) {
    after.map_or(("", "", -1), |key| (&key.input, &key.part, int(key.seq)))
}

pub(crate) fn known_batch(key: BatchKey, hash: &[u8], size: i64, mapped: bool) -> Result<KnownBatch> {
    let hash = hash.try_into().map_err(|_| Error::Internal(format!("the hash of the batch {key} is damaged")))?;
    Ok(KnownBatch { key, hash: BatchHash(hash), size: count(size), mapped })
}

pub(crate) fn not_found(id: StudyId) -> Error {
    Error::NotFound(format!("analysis {id}"))
}

/// A study as it begins, unless as many as may be are under way.
pub(crate) fn begun(new: &NewStudy, id: i64, under_way: i64, now: UnixMs) -> Result<Study> {
    let (under_way, limit) = (count(under_way), new.studies_max);
    if under_way >= limit {
        return Err(Error::NotAvailable(format!(
            "{under_way} analyses are under way, and the limit is {limit}: cancel one, or try again when one has ended"
        )));
    }
    Ok(Study {
        id: StudyId(TaskId(id)),
        group: new.group,
        kind: new.kind.to_owned(),
        params: new.params.clone(),
        state: StudyState::Collecting,
        created_at: now,
        changed_at: now,
        finished_at: None,
        expected: None,
        taken: 0,
        mapped: 0,
        bytes: 0,
        waiting_bytes: 0,
        lines: Lines::default(),
        why: None,
    })
}

/// What is known of the place where a batch is to go.
pub(crate) struct Place {
    /// Of the batch that is there already.
    pub(crate) hash: Option<Vec<u8>>,
    pub(crate) sealed: Option<bool>,
    pub(crate) dimension_bytes: i64,
    /// Parts of the study; counted only if this one is new.
    pub(crate) parts: i64,
    /// In the house.
    pub(crate) waiting_bytes: i64,
}

impl Place {
    /// Whether this batch was taken in before; an error if it was another one.
    fn has(&self, key: &BatchKey, hash: &BatchHash) -> Result<bool> {
        match &self.hash {
            Some(known) if *known == hash.0 => Ok(true),
            Some(_) => Err(key.another()),
            None => Ok(false),
        }
    }

    /// Whether the batch, mapped already, is to be taken in, or was before; why not.
    pub(crate) fn check_mapped(&self, study: &Study, batch: &MappedBatch, paused: bool) -> Result<TakenBatch> {
        if self.has(&batch.key, &batch.hash)? {
            return Ok(TakenBatch::Again);
        }
        study.may_take()?;
        Ok(if self.sealed == Some(true) && !paused { TakenBatch::New } else { TakenBatch::NotYet })
    }

    /// Whether the batch is to be taken in, or was before; why not.
    pub(crate) fn check(&self, study: &Study, batch: &NewBatch) -> Result<TakenBatch> {
        if self.has(&batch.key, &batch.hash)? {
            return Ok(TakenBatch::Again);
        }
        study.may_take()?;
        if self.sealed.is_none() && count(self.parts) >= PARTS_MAX {
            return Err(NewBatch::one_part_too_many());
        }
        match batch.role {
            Role::Dimension if self.sealed == Some(true) => return Err(batch.too_late()),
            Role::Dimension => batch.fits_dimensions(count(self.dimension_bytes))?,
            Role::Records => batch.fits(count(self.waiting_bytes))?,
        }
        Ok(TakenBatch::New)
    }
}

/// Counts a batch that came.
pub(crate) fn came(study: &mut Study, batch: &NewBatch, now: UnixMs) {
    study.taken += 1;
    study.bytes += batch.size;
    match batch.role {
        Role::Dimension => study.mapped += 1,
        Role::Records => study.waiting_bytes += batch.packed.len() as u64,
    }
    study.changed_at = now;
}

/// Counts a batch that came and was mapped on its way.
pub(crate) fn came_mapped(study: &mut Study, batch: &MappedBatch, now: UnixMs) {
    study.taken += 1;
    study.bytes += batch.size;
    mapped(study, 0, &batch.lines, now);
}

/// All batches have come.
pub(crate) fn completed(study: &mut Study, batches: u64, now: UnixMs) {
    study.state = StudyState::Computing;
    study.expected = Some(batches);
    study.changed_at = now;
}

/// Counts a batch that is mapped; so many packed bytes of it waited.
pub(crate) fn mapped(study: &mut Study, waited: i64, lines: &Lines, now: UnixMs) {
    study.mapped += 1;
    study.waiting_bytes = study.waiting_bytes.saturating_sub(count(waited));
    study.lines.merge(lines.clone());
    study.changed_at = now;
}

/// The study comes to its end. Nothing waits any more.
pub(crate) fn over(study: &mut Study, state: StudyState, why: Option<String>, now: UnixMs) {
    study.state = state;
    study.why = why;
    study.waiting_bytes = 0;
    study.changed_at = now;
    study.finished_at = Some(now);
}
