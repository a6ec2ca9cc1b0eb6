//! What a verb works with inside a transaction: the connection, the time, new ids, the counters' changes.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

use malla_queue::{Act, Error, GroupId, LaneId, Once, Result, TaskId, UnixMs};
use rusqlite::{CachedStatement, Connection, OptionalExtension as _, Params, Row};
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::routes::Routes;
use super::{broken, sql};
use crate::codes::{CODES, Code};

/// Lanes whose number is remembered between transactions.
const LANES_KNOWN_MAX: usize = 200_000;

/// What the writer knows by heart; a rolled-back group makes it read again.
pub(super) struct Memory {
    last_id: i64,
    /// Tasks queued or running, for the limit on them.
    open: i64,
    lanes: FxHashMap<String, LaneId>,
    /// Places in the line, of lanes that have one: most submissions find their lane in its place already.
    places: FxHashMap<LaneId, i64>,
    routes: Routes,
    /// How far the last step of forgetting has looked through each final state; 0: to the end.
    pruned_to: [i64; CODES],
}

impl Memory {
    pub(super) fn load(conn: &Connection) -> rusqlite::Result<Self> {
        let last = |table: &str| {
            conn.query_row(&format!("SELECT coalesce(max(id), 0) FROM {table}"), (), |row| row.get::<_, i64>(0))
        };
        Ok(Self {
            last_id: [
                "task",
                "event",
                "audit",
                "job",
                "page",
                "analysis",
                "wiki_extraction",
                "wiki_import",
                "trust_check",
                "haul",
                "refetch",
                "ledger_entry",
            ]
            .into_iter()
            .try_fold(0, |most, table| last(table).map(|id| id.max(most)))?,
            open: conn.query_row(sql!("tally/open"), (), |row| row.get(0))?,
            lanes: FxHashMap::default(),
            places: FxHashMap::default(),
            routes: Routes::default(),
            pruned_to: [0; CODES],
        })
    }
}

/// One counter's change.
type Delta = ((LaneId, Arc<str>, i64), [i64; CODES]);

pub(super) struct Tx<'c> {
    pub(super) conn: &'c Connection,
    /// Statements this group has used, by the address of their text: a group of verbs runs the same few again and
    /// again, and to find one by its text costs as much as many of them take.
    statements: RefCell<FxHashMap<(*const u8, usize), Option<CachedStatement<'c>>>>,
    pub(super) now: UnixMs,
    memory: &'c mut Memory,
    deltas: Vec<Delta>,
    roused: Vec<String>,
    reopened: Vec<String>,
}

/// The rooms to rouse after a commit.
#[derive(Default)]
pub(super) struct Roused {
    pub(super) when_safe: HashSet<String>,
    pub(super) at_once: HashSet<String>,
}

/// A state to go back to when a verb fails.
pub(super) struct Mark {
    deltas: usize,
    roused: usize,
    reopened: usize,
    open: i64,
}

impl<'c> Tx<'c> {
    pub(super) fn new(conn: &'c Connection, now: UnixMs, memory: &'c mut Memory) -> Self {
        let statements = RefCell::default();
        Self { conn, statements, now, memory, deltas: Vec::new(), roused: Vec::new(), reopened: Vec::new() }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark {
            deltas: self.deltas.len(),
            roused: self.roused.len(),
            reopened: self.reopened.len(),
            open: self.memory.open,
        }
    }

    pub(super) fn undo_to(&mut self, mark: Mark) {
        self.deltas.truncate(mark.deltas);
        self.roused.truncate(mark.roused);
        self.reopened.truncate(mark.reopened);
        self.memory.open = mark.open;
    }

    /// Writes the counters and says which rooms to rouse.
    pub(super) fn settle(mut self) -> Result<Roused> {
        let mut lanes: FxHashMap<(LaneId, Arc<str>, i64), [i64; CODES]> = FxHashMap::default();
        let mut kinds: FxHashMap<(Arc<str>, i64), [i64; CODES]> = FxHashMap::default();
        for ((lane, kind, group), changes) in std::mem::take(&mut self.deltas) {
            add(kinds.entry((kind.clone(), group)).or_default(), &changes);
            add(lanes.entry((lane, kind, group)).or_default(), &changes);
        }
        for ((lane, kind, group), [a, b, c, d, e, f]) in lanes {
            if [a, b, c, d, e, f] != [0; CODES] {
                self.run(sql!("tally/add_lane"), (lane.0, &*kind, group, a, b, c, d, e, f))?;
            }
        }
        for ((kind, group), [a, b, c, d, e, f]) in kinds {
            if [a, b, c, d, e, f] != [0; CODES] {
                self.run(sql!("tally/add"), (&*kind, group, a, b, c, d, e, f))?;
            }
        }
        Ok(Roused { when_safe: self.roused.into_iter().collect(), at_once: self.reopened.into_iter().collect() })
    }

    /// The next id: later than all before it, and telling the time.
    pub(super) fn next_id(&mut self) -> i64 {
        self.memory.last_id = (self.memory.last_id + 1).max(TaskId::first_at(self.now).0);
        self.memory.last_id
    }

    pub(super) fn open_tasks(&self) -> u64 {
        u64::try_from(self.memory.open).unwrap_or(0)
    }

    /// Notes that a task moved between counters; `None` is outside (submitted or forgotten).
    pub(super) fn count(
        &mut self,
        lane: LaneId,
        kind: &Arc<str>,
        group: Option<i64>,
        from: Option<Code>,
        to: Option<Code>,
    ) {
        if from == to {
            return;
        }
        let mut changes = [0; CODES];
        if let Some(from) = from {
            changes[from as usize] -= 1;
        }
        if let Some(to) = to {
            changes[to as usize] += 1;
        }
        self.memory.open += changes[Code::Open as usize];
        self.deltas.push(((lane, kind.clone(), group.unwrap_or(0)), changes));
    }

    /// Whether counters of this lane wait to be written.
    pub(super) fn counts_change(&self, lane: LaneId) -> bool {
        self.deltas.iter().any(|((changed, ..), _)| *changed == lane)
    }

    /// By how much the lane's counter has changed since it was written.
    pub(super) fn unwritten(&self, lane: LaneId, code: Code) -> i64 {
        self.deltas.iter().filter(|((changed, ..), _)| *changed == lane).map(|(_, by)| by[code as usize]).sum()
    }

    /// By how much the kind's counter has changed since it was written.
    pub(super) fn unwritten_of(&self, kind: &str, code: Code) -> i64 {
        self.deltas.iter().filter(|((_, changed, _), _)| **changed == *kind).map(|(_, by)| by[code as usize]).sum()
    }

    /// Something new may be done in the room: told when it is safe, for nobody shall work on what may yet be lost.
    pub(super) fn rouse(&mut self, room: &str) {
        if self.roused.last().is_none_or(|last| last != room) {
            self.roused.push(room.to_owned());
        }
    }

    /// A lane of the room has a place free for what waits already: told at once.
    pub(super) fn reopen(&mut self, room: &str) {
        if self.reopened.last().is_none_or(|last| last != room) {
            self.reopened.push(room.to_owned());
        }
    }

    pub(super) fn known_lane(&self, key: &str) -> Option<LaneId> {
        self.memory.lanes.get(key).copied()
    }

    pub(super) fn remember_lane(&mut self, key: &str, lane: LaneId) {
        if self.memory.lanes.len() >= LANES_KNOWN_MAX {
            self.memory.lanes.clear();
        }
        self.memory.lanes.insert(key.to_owned(), lane);
    }

    pub(super) fn forget_lanes(&mut self) {
        self.memory.lanes.clear();
        self.memory.places.clear();
    }

    pub(super) fn pruned_to(&self, code: Code) -> i64 {
        self.memory.pruned_to[code as usize]
    }

    pub(super) fn set_pruned_to(&mut self, code: Code, id: i64) {
        self.memory.pruned_to[code as usize] = id;
    }

    pub(super) fn routes(&mut self) -> &mut Routes {
        &mut self.memory.routes
    }

    pub(super) fn known_place(&self, lane: LaneId) -> Option<i64> {
        self.memory.places.get(&lane).copied()
    }

    /// To be told of every change of a lane's place.
    pub(super) fn remember_place(&mut self, lane: LaneId, place: Option<i64>) {
        if self.memory.places.len() >= LANES_KNOWN_MAX {
            self.memory.places.clear();
        }
        match place {
            Some(place) => self.memory.places.insert(lane, place),
            None => self.memory.places.remove(&lane),
        };
    }

    pub(super) fn run(&self, sql: &'static str, params: impl Params) -> Result<usize> {
        self.with(sql, |statement| statement.execute(params))
    }

    pub(super) fn one<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        self.with(sql, |statement| statement.query_row(params, read).optional())
    }

    pub(super) fn many<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        self.with(sql, |statement| statement.query_map(params, read)?.collect())
    }

    fn with<T>(
        &self,
        sql: &'static str,
        work: impl FnOnce(&mut CachedStatement<'c>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let key = (sql.as_ptr(), sql.len());
        let held = self.statements.borrow_mut().get_mut(&key).and_then(Option::take);
        let mut statement = match held {
            Some(statement) => statement,
            None => self.conn.prepare_cached(sql).map_err(broken)?,
        };
        let outcome = work(&mut statement);
        self.statements.borrow_mut().insert(key, Some(statement));
        outcome.map_err(broken)
    }

    /// Does `verb` as `act` says: a repeat of its idempotency key gets the first answer, and the audit line and the
    /// key are written with the change.
    pub(super) fn perform<T: Serialize + DeserializeOwned>(
        &mut self,
        act: &Act,
        verb: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        if let Some(answer) = self.first_answer(act.once.as_ref())? {
            let answer = answer.ok_or(Error::ShownOnce)?;
            return serde_json::from_str(&answer).map_err(|error| Error::Internal(error.to_string()));
        }
        let answer = verb(self)?;
        self.audit(act)?;
        let text = serde_json::to_string(&answer).map_err(|error| Error::Internal(error.to_string()))?;
        self.keep_answer(act.once.as_ref(), Some(&text))?;
        Ok(answer)
    }

    /// The stored answer under this key: `Some(None)` if it was one that is not kept.
    pub(super) fn first_answer(&self, once: Option<&Once>) -> Result<Option<Option<String>>> {
        let Some(once) = once else { return Ok(None) };
        let found = self.one(sql!("once/find"), (&once.scope, &once.key, self.now.0), |row| {
            Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, Option<String>>(1)?))
        })?;
        match found {
            Some((fingerprint, _)) if fingerprint != once.fingerprint => Err(Error::KeyReused),
            Some((_, answer)) => Ok(Some(answer)),
            None => Ok(None),
        }
    }

    pub(super) fn keep_answer(&self, once: Option<&Once>, answer: Option<&str>) -> Result<()> {
        if let Some(once) = once {
            let expires_at = self.now.plus(once.keep_for).0;
            self.run(sql!("once/add"), (&once.scope, &once.key, &once.fingerprint, answer, expires_at))?;
        }
        Ok(())
    }

    pub(super) fn audit(&mut self, act: &Act) -> Result<()> {
        let id = self.next_id();
        let group = act.group.map(|GroupId(id)| id);
        let line = (id, self.now.0, &act.actor, act.action, &act.object, group, act.detail.to_string());
        self.run(sql!("once/audit"), line)?;
        Ok(())
    }
}

fn add(sum: &mut [i64; CODES], changes: &[i64; CODES]) {
    sum.iter_mut().zip(changes).for_each(|(sum, change)| *sum += change);
}
