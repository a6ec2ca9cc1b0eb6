//! The verbs of cluster on the embedded store, where there is one process: its members and leaders come one after another.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use malla_cluster::{
    Assignment, Cluster, Leadership, Load, MEMBERS_MAX, Member, MemberId, NewMember, PastTerm, Restarted, Rolling, Term,
};
use malla_queue::{Act, Error, Holder, Result};
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::tx::Tx;
use super::writer::Durability::{Power, Process};
use super::{Sqlite, broken, many, sql};
use crate::cluster_rows::{
    KEPT, LeaderRow, MemberRow, RestartRow, Vote, assignment, first_words, in_order, let_go_at, lost, past_term,
    rolling, too_many, under_way, unknown,
};
use crate::notify_rows::to_json;

impl Sqlite {
    /// The same store, for what its leader of this term does.
    pub fn under(&self, term: Term) -> Arc<Self> {
        Arc::new(Self {
            path: self.path.clone(),
            writer: self.writer.clone(),
            thread: self.thread.clone(),
            readers: self.readers.clone(),
            words: self.words.clone(),
            signals: self.signals.clone(),
            clock: self.clock.clone(),
            limits: self.limits.clone(),
            depot: self.depot.clone(),
            term: Some(term),
        })
    }
}

#[async_trait]
impl Cluster for Sqlite {
    async fn join(&self, new: NewMember) -> Result<MemberId> {
        new.check()?;
        self.write("cluster", Process, move |tx| join(tx, &new)).await
    }

    async fn beat(&self, member: MemberId, load: Load) -> Result<()> {
        self.write("cluster", Process, move |tx| {
            match tx.run(sql!("cluster/beat"), (member.0, tx.now.0, to_json(&load)))? {
                0 => Err(unknown(member)),
                _ => Ok(()),
            }
        })
        .await
    }

    async fn leave(&self, member: MemberId) -> Result<()> {
        self.write("cluster", Process, move |tx| leave(tx, member)).await
    }

    async fn members(&self) -> Result<Vec<Member>> {
        self.read(|conn| {
            let select = concat!(include_str!("../../sql/both/cluster/member.sql"), " ORDER BY m.id");
            many(conn, select, (), read_member)?.into_iter().map(MemberRow::read).collect()
        })
        .await
    }

    async fn campaign(&self, member: MemberId, lease_for: Duration) -> Result<Leadership> {
        // Flushed: a term that was told to somebody is never given again.
        self.write("cluster", Power, move |tx| campaign(tx, member, lease_for)).await
    }

    async fn resign(&self, term: Term) -> Result<()> {
        self.write("cluster", Process, move |tx| {
            let leader = leader(tx.conn)?.filter(|leader| leader.term == term);
            leader.map_or(Ok(()), |leader| step_down(tx, &leader))
        })
        .await
    }

    async fn leadership(&self) -> Result<Option<Leadership>> {
        self.read(leader).await
    }

    async fn terms(&self, limit: usize) -> Result<Vec<PastTerm>> {
        self.read(move |conn| {
            many(conn, sql!("cluster/past"), (limit,), |row| {
                Ok(past_term(row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })
        })
        .await
    }

    async fn give_up(&self, dead_after: Duration, keep: Duration) -> Result<Vec<Member>> {
        self.write("cluster", Power, move |tx| give_up(tx, dead_after, keep)).await
    }

    async fn assign(&self, assignments: &[Assignment]) -> Result<()> {
        let assignments = in_order(assignments);
        self.write("cluster", Power, move |tx| {
            if assigned(tx.conn)? == assignments {
                return Ok(());
            }
            tx.run(sql!("cluster/unassign"), ())?;
            for assignment in &assignments {
                tx.run(sql!("cluster/assign"), (assignment.medic.0, &assignment.role, assignment.count))?;
            }
            Ok(())
        })
        .await
    }

    async fn ask_to_restart(&self, member: MemberId) -> Result<()> {
        self.write("cluster", Power, move |tx| match tx.run(sql!("cluster/ask_to_restart"), (member.0,))? {
            0 => Err(unknown(member)),
            _ => Ok(()),
        })
        .await
    }

    async fn end_rolling(&self, id: i64, note: Option<&str>) -> Result<()> {
        let note = note.map(str::to_owned);
        self.write("cluster", Power, move |tx| tx.run(sql!("cluster/end_rolling"), (id, tx.now.0, &note)).map(drop))
            .await
    }

    async fn assignments(&self) -> Result<Vec<Assignment>> {
        self.read(assigned).await
    }

    async fn begin_rolling(&self, act: Act) -> Result<Rolling> {
        self.write("cluster", Power, move |tx| tx.perform(&act, |tx| begin_rolling(tx, &act.actor))).await
    }

    async fn rolling(&self) -> Result<Option<Rolling>> {
        self.read(last_rolling).await
    }

    async fn note_restart(&self, restarted: Restarted) -> Result<()> {
        self.write("cluster", Process, move |tx| {
            let RestartRow { at, machine, role, why, note, delay_ms } = RestartRow::of(&restarted);
            let id = inserted(tx, sql!("cluster/add_restart"), (at, machine, role, why, note, delay_ms))?;
            tx.run(sql!("cluster/drop_restarts"), (id - KEPT,)).map(drop)
        })
        .await
    }

    async fn restarts(&self, limit: usize) -> Result<Vec<Restarted>> {
        self.read(move |conn| {
            many(conn, sql!("cluster/restarts"), (limit,), read_restart)?.into_iter().map(RestartRow::read).collect()
        })
        .await
    }
}

fn read_member(row: &Row<'_>) -> rusqlite::Result<MemberRow> {
    Ok(MemberRow {
        id: row.get(0)?,
        name: row.get(1)?,
        machine: row.get(2)?,
        address: row.get(3)?,
        roles: row.get(4)?,
        version: row.get(5)?,
        medic: row.get(6)?,
        supervises: row.get(7)?,
        load: row.get(8)?,
        joined_at: row.get(9)?,
        seen_at: row.get(10)?,
        lost_at: row.get(11)?,
        to_restart: row.get(12)?,
    })
}

fn read_restart(row: &Row<'_>) -> rusqlite::Result<RestartRow> {
    Ok(RestartRow {
        at: row.get(0)?,
        machine: row.get(1)?,
        role: row.get(2)?,
        why: row.get(3)?,
        note: row.get(4)?,
        delay_ms: row.get(5)?,
    })
}

/// The number of the row that a statement adds.
fn inserted(tx: &Tx<'_>, sql: &'static str, params: impl rusqlite::Params) -> Result<i64> {
    tx.one(sql, params, |row| row.get(0))?.ok_or_else(|| Error::Internal("a row vanished".into()))
}

fn join(tx: &Tx<'_>, new: &NewMember) -> Result<MemberId> {
    let (roles, load) = first_words(new);
    let (medic, most) = (new.medic.map(|medic| medic.0), MEMBERS_MAX);
    let row = (&new.name, &new.machine, &new.address, roles, &new.version, medic, new.supervises, load, tx.now.0, most);
    tx.one(sql!("cluster/join"), row, |row| row.get(0))?.map(MemberId).ok_or_else(too_many)
}

fn leave(tx: &Tx<'_>, member: MemberId) -> Result<()> {
    tx.run(sql!("cluster/let_go"), (member.0, let_go_at(tx.now).0, Holder::MEMBER_PREFIX))?;
    tx.run(sql!("cluster/leave"), (member.0,))?;
    tx.run(sql!("cluster/drop_assignments"), (member.0,))?;
    match leader(tx.conn)?.filter(|leader| leader.member == member) {
        Some(leader) => step_down(tx, &leader),
        None => Ok(()),
    }
}

fn leader_row(conn: &Connection) -> Result<LeaderRow> {
    let read = |row: &Row<'_>| {
        let (term, member, name) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(LeaderRow { term, member, name, since: row.get(3)?, until: row.get(4)? })
    };
    let mut statement = conn.prepare_cached(include_str!("../../sql/both/cluster/leader.sql")).map_err(broken)?;
    statement.query_row((), read).map_err(broken)
}

fn leader(conn: &Connection) -> Result<Option<Leadership>> {
    Ok(leader_row(conn)?.read())
}

fn campaign(tx: &Tx<'_>, member: MemberId, lease_for: Duration) -> Result<Leadership> {
    let find = concat!(include_str!("../../sql/both/cluster/member.sql"), " WHERE m.id = ?1");
    let found = tx.one(find, (member.0,), read_member)?.ok_or_else(|| unknown(member))?;
    match leader_row(tx.conn)?.vote(member, found.name, lease_for, tx.now) {
        Vote::Leave(leader) => Ok(leader),
        Vote::Prolong(own) => {
            tx.run(sql!("cluster/prolong"), (own.until.0,))?;
            tx.run(sql!("cluster/hold"), (own.term.0, tx.now.0))?;
            Ok(own)
        }
        Vote::Elect(own) => {
            tx.run(sql!("cluster/lead"), (own.term.0, own.member.0, &own.name, own.since.0, own.until.0))?;
            tx.run(sql!("cluster/add_past"), (own.term.0, &own.name, tx.now.0))?;
            tx.run(sql!("cluster/drop_past"), (own.term.0 - KEPT,))?;
            Ok(own)
        }
    }
}

fn step_down(tx: &Tx<'_>, leader: &Leadership) -> Result<()> {
    if leader.until > tx.now {
        tx.run(sql!("cluster/prolong"), (tx.now.0,))?;
        tx.run(sql!("cluster/hold"), (leader.term.0, tx.now.0))?;
    }
    Ok(())
}

fn give_up(tx: &mut Tx<'_>, dead_after: Duration, keep: Duration) -> Result<Vec<Member>> {
    let silent = tx.many(sql!("cluster/lose"), (tx.now.0, tx.now.minus(dead_after).0), read_member)?;
    let mut given_up = silent.into_iter().map(MemberRow::read).collect::<Result<Vec<_>>>()?;
    given_up.sort_by_key(|member| member.id);
    for member in &given_up {
        let (event, id) = (lost(member), tx.next_id());
        tx.run(sql!("submit/add_event"), (id, &event.kind, None::<i64>, None::<i64>, &event.body))?;
    }
    if tx.run(sql!("cluster/forget"), (tx.now.minus(keep).0,))? > 0 {
        tx.run(sql!("cluster/forget_assignments"), ())?;
    }
    Ok(given_up)
}

fn assigned(conn: &Connection) -> Result<Vec<Assignment>> {
    let select = include_str!("../../sql/both/cluster/assignments.sql");
    many(conn, select, (), |row| Ok(assignment(row.get(0)?, row.get(1)?, row.get(2)?)))
}

fn last_rolling(conn: &Connection) -> Result<Option<Rolling>> {
    let read = |row: &Row<'_>| Ok(rolling(row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?));
    let mut statement = conn.prepare_cached(include_str!("../../sql/both/cluster/rolling.sql")).map_err(broken)?;
    statement.query_row((), read).optional().map_err(broken)
}

fn begin_rolling(tx: &Tx<'_>, by: &str) -> Result<Rolling> {
    if last_rolling(tx.conn)?.is_some_and(|last| last.ended_at.is_none()) {
        return Err(under_way());
    }
    let id = inserted(tx, sql!("cluster/begin_rolling"), (by, tx.now.0))?;
    tx.run(sql!("cluster/drop_rollings"), (id - KEPT,))?;
    Ok(rolling(id, by.to_owned(), tx.now.0, None, None))
}

/// The process before is dead, for this one has its store: its members are gone, and nobody leads.
pub(super) fn begin_alone(tx: &Tx<'_>) -> Result<()> {
    tx.run(sql!("cluster/forget_all"), ())?;
    tx.run(sql!("cluster/unassign"), ())?;
    tx.run(sql!("cluster/free"), (tx.now.0,))?;
    Ok(())
}

/// Refuses the work of a leader that was deposed.
pub(super) fn check_term(tx: &Tx<'_>, term: Term) -> Result<()> {
    let current: Option<i64> = tx.one(sql!("cluster/term"), (), |row| row.get(0))?;
    if current == Some(term.0) { Ok(()) } else { Err(Error::Deposed) }
}
