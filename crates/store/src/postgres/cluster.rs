//! The verbs of cluster on the shared store.

use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::{GenericClient, Object, Transaction};
use malla_cluster::{
    Assignment, Cluster, Leadership, Load, MEMBERS_MAX, Member, MemberId, NewMember, PastTerm, Restarted, Rolling, Term,
};
use malla_queue::{Act, Holder, Result, UnixMs};
use tokio_postgres::Row;

use super::commit::commit;
use super::lease::UNFLUSHED;
use super::perform::{first_answer, settle};
use super::pool::{Broken, with_retries};
use super::{Postgres, point, said, sql, verb};
use crate::cluster_rows::{
    KEPT, LeaderRow, MemberRow, RestartRow, Vote, assignment, first_words, in_order, let_go_at, lost, past_term,
    rolling, too_many, under_way, unknown,
};
use crate::notify_rows::to_json;

#[async_trait]
impl Cluster for Postgres {
    async fn join(&self, new: NewMember) -> Result<MemberId> {
        new.check()?;
        Ok(verb!(self, "cluster", |client, now| join(&mut client, &new, now)))
    }

    async fn beat(&self, member: MemberId, load: Load) -> Result<()> {
        verb!(self, "cluster", |client, now| beat(&mut client, member, load, now));
        Ok(())
    }

    async fn leave(&self, member: MemberId) -> Result<()> {
        verb!(self, "cluster", |client, now| leave(&mut client, member, now));
        Ok(())
    }

    async fn members(&self) -> Result<Vec<Member>> {
        let select = concat!(include_str!("../../sql/both/cluster/member.sql"), " ORDER BY m.id");
        let rows = ask(&self.client().await?, select, &[]).await.map_err(said)?;
        rows.iter().map(|row| read_member(row).read()).collect()
    }

    async fn campaign(&self, member: MemberId, lease_for: Duration) -> Result<Leadership> {
        Ok(verb!(self, "cluster", |client, now| campaign(&mut client, member, lease_for, now)))
    }

    async fn resign(&self, term: Term) -> Result<()> {
        verb!(self, "cluster", |client, now| async {
            let tx = client.transaction().await?;
            if let Some(leader) = lock_leader(&tx).await?.read().filter(|leader| leader.term == term) {
                step_down(&tx, &leader, now).await?;
            }
            Ok(tx.commit().await?)
        });
        Ok(())
    }

    async fn leadership(&self) -> Result<Option<Leadership>> {
        let select = include_str!("../../sql/both/cluster/leader.sql");
        let rows = ask(&self.client().await?, select, &[]).await.map_err(said)?;
        Ok(rows.first().and_then(|row| read_leader(row).read()))
    }

    async fn terms(&self, limit: usize) -> Result<Vec<PastTerm>> {
        let rows = ask(&self.client().await?, sql!("cluster/past"), &[&number(limit)]).await.map_err(said)?;
        Ok(rows.iter().map(|row| past_term(row.get(0), row.get(1), row.get(2), row.get(3))).collect())
    }

    async fn give_up(&self, dead_after: Duration, keep: Duration) -> Result<Vec<Member>> {
        Ok(verb!(self, "cluster", |client, now| give_up(&mut client, dead_after, keep, now)))
    }

    async fn assign(&self, assignments: &[Assignment]) -> Result<()> {
        let assignments = in_order(assignments);
        verb!(self, "cluster", |client, _now| assign(&mut client, &assignments));
        Ok(())
    }

    async fn ask_to_restart(&self, member: MemberId) -> Result<()> {
        match verb!(self, "cluster", |client, _now| alone(&mut client, sql!("cluster/ask_to_restart"), &[&member.0])) {
            0 => Err(unknown(member)),
            _ => Ok(()),
        }
    }

    async fn end_rolling(&self, id: i64, note: Option<&str>) -> Result<()> {
        verb!(self, "cluster", |client, now| async {
            alone(&mut client, sql!("cluster/end_rolling"), &[&id, &now.0, &note]).await
        });
        Ok(())
    }

    async fn assignments(&self) -> Result<Vec<Assignment>> {
        assigned(&self.client().await?).await.map_err(said)
    }

    async fn begin_rolling(&self, act: Act) -> Result<Rolling> {
        Ok(verb!(self, "cluster", |client, now| begin_rolling(&mut client, &act, now)))
    }

    async fn rolling(&self) -> Result<Option<Rolling>> {
        last_rolling(&self.client().await?).await.map_err(said)
    }

    async fn note_restart(&self, restarted: Restarted) -> Result<()> {
        let row = RestartRow::of(&restarted);
        verb!(self, "cluster", |client, _now| note_restart(&mut client, &row));
        Ok(())
    }

    async fn restarts(&self, limit: usize) -> Result<Vec<Restarted>> {
        let rows = ask(&self.client().await?, sql!("cluster/restarts"), &[&number(limit)]).await.map_err(said)?;
        rows.iter().map(|row| read_restart(row).read()).collect()
    }
}

type Param<'p> = &'p (dyn tokio_postgres::types::ToSql + Sync);

fn number(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

async fn ask(client: &impl GenericClient, select: &str, params: &[Param<'_>]) -> Result<Vec<Row>, Broken> {
    Ok(client.query(&client.prepare_cached(select).await?, params).await?)
}

async fn run(client: &impl GenericClient, statement: &str, params: &[Param<'_>]) -> Result<u64, Broken> {
    Ok(client.execute(&client.prepare_cached(statement).await?, params).await?)
}

/// One statement, which is its own transaction and may be done twice.
async fn alone(client: &mut Object, statement: &str, params: &[Param<'_>]) -> Result<u64, Broken> {
    run(&*client, statement, params).await
}

fn read_member(row: &Row) -> MemberRow {
    MemberRow {
        id: row.get(0),
        name: row.get(1),
        machine: row.get(2),
        address: row.get(3),
        roles: row.get(4),
        version: row.get(5),
        medic: row.get(6),
        supervises: row.get(7),
        load: row.get(8),
        joined_at: row.get(9),
        seen_at: row.get(10),
        lost_at: row.get(11),
        to_restart: row.get(12),
    }
}

fn read_leader(row: &Row) -> LeaderRow {
    LeaderRow { term: row.get(0), member: row.get(1), name: row.get(2), since: row.get(3), until: row.get(4) }
}

fn read_restart(row: &Row) -> RestartRow {
    RestartRow {
        at: row.get(0),
        machine: row.get(1),
        role: row.get(2),
        why: row.get(3),
        note: row.get(4),
        delay_ms: row.get(5),
    }
}

async fn join(client: &mut Object, new: &NewMember, now: UnixMs) -> Result<MemberId, Broken> {
    let (roles, load) = first_words(new);
    let (medic, most) = (new.medic.map(|medic| medic.0), number(MEMBERS_MAX));
    let tx = client.transaction().await?;
    let row: [Param<'_>; 10] =
        [&new.name, &new.machine, &new.address, &roles, &new.version, &medic, &new.supervises, &load, &now.0, &most];
    let id = ask(&tx, sql!("cluster/join"), &row).await?.first().map(|row| row.get(0)).ok_or_else(too_many)?;
    commit(tx).await?;
    Ok(MemberId(id))
}

/// Not flushed: a power cut only makes it look silent for a moment.
async fn beat(client: &mut Object, member: MemberId, load: Load, now: UnixMs) -> Result<(), Broken> {
    let tx = client.transaction().await?;
    tx.batch_execute(UNFLUSHED).await?;
    if run(&tx, sql!("cluster/beat"), &[&member.0, &now.0, &to_json(&load)]).await? == 0 {
        return Err(unknown(member).into());
    }
    Ok(tx.commit().await?)
}

async fn leave(client: &mut Object, member: MemberId, now: UnixMs) -> Result<(), Broken> {
    let tx = client.transaction().await?;
    let leader = lock_leader(&tx).await?.read();
    run(&tx, sql!("cluster/let_go"), &[&member.0, &let_go_at(now).0, &Holder::MEMBER_PREFIX]).await?;
    run(&tx, sql!("cluster/leave"), &[&member.0]).await?;
    run(&tx, sql!("cluster/drop_assignments"), &[&member.0]).await?;
    if let Some(leader) = leader.filter(|leader| leader.member == member) {
        step_down(&tx, &leader, now).await?;
    }
    Ok(tx.commit().await?)
}

/// Who leads, behind the lock that elections are held under.
async fn lock_leader(tx: &Transaction<'_>) -> Result<LeaderRow, Broken> {
    let select = concat!(include_str!("../../sql/both/cluster/leader.sql"), " FOR UPDATE");
    Ok(read_leader(&tx.query_one(&tx.prepare_cached(select).await?, &[]).await?))
}

async fn campaign(
    client: &mut Object,
    member: MemberId,
    lease_for: Duration,
    now: UnixMs,
) -> Result<Leadership, Broken> {
    let tx = client.transaction().await?;
    let leader = lock_leader(&tx).await?;
    let find = concat!(include_str!("../../sql/both/cluster/member.sql"), " WHERE m.id = $1");
    let found = ask(&tx, find, &[&member.0]).await?.first().map(read_member).ok_or_else(|| unknown(member))?;
    let own = match leader.vote(member, found.name, lease_for, now) {
        Vote::Leave(leader) => return Ok(leader),
        Vote::Prolong(own) => {
            run(&tx, sql!("cluster/prolong"), &[&own.until.0]).await?;
            run(&tx, sql!("cluster/hold"), &[&own.term.0, &now.0]).await?;
            own
        }
        Vote::Elect(own) => {
            run(&tx, sql!("cluster/set_term"), &[&own.term.0]).await?;
            let row: [Param<'_>; 5] = [&own.term.0, &own.member.0, &own.name, &own.since.0, &own.until.0];
            run(&tx, sql!("cluster/lead"), &row).await?;
            run(&tx, sql!("cluster/add_past"), &[&own.term.0, &own.name, &now.0]).await?;
            run(&tx, sql!("cluster/drop_past"), &[&(own.term.0 - KEPT)]).await?;
            own
        }
    };
    // Done twice, it is prolonged the second time.
    tx.commit().await?;
    Ok(own)
}

async fn step_down(tx: &Transaction<'_>, leader: &Leadership, now: UnixMs) -> Result<(), Broken> {
    if leader.until > now {
        run(tx, sql!("cluster/prolong"), &[&now.0]).await?;
        run(tx, sql!("cluster/hold"), &[&leader.term.0, &now.0]).await?;
    }
    Ok(())
}

async fn give_up(
    client: &mut Object,
    dead_after: Duration,
    keep: Duration,
    now: UnixMs,
) -> Result<Vec<Member>, Broken> {
    let tx = client.transaction().await?;
    let rows = ask(&tx, sql!("cluster/lose"), &[&now.0, &now.minus(dead_after).0]).await?;
    let mut given_up = rows.iter().map(|row| read_member(row).read()).collect::<Result<Vec<_>>>()?;
    given_up.sort_by_key(|member| member.id);
    if !given_up.is_empty() {
        let events: Vec<_> = given_up.iter().map(lost).collect();
        let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
        let bodies: Vec<&[u8]> = events.iter().map(|event| event.body.as_slice()).collect();
        let (groups, tasks) = (vec![None::<i64>; events.len()], vec![None::<i64>; events.len()]);
        run(&tx, sql!("fetch/add_events"), &[&now.0, &kinds, &groups, &tasks, &bodies]).await?;
    }
    if run(&tx, sql!("cluster/forget"), &[&now.minus(keep).0]).await? > 0 {
        run(&tx, sql!("cluster/forget_assignments"), &[]).await?;
    }
    commit(tx).await?;
    Ok(given_up)
}

async fn assign(client: &mut Object, assignments: &[Assignment]) -> Result<(), Broken> {
    let tx = client.transaction().await?;
    if assigned(&tx).await? == assignments {
        return Ok(());
    }
    run(&tx, sql!("cluster/unassign"), &[]).await?;
    let medics: Vec<i64> = assignments.iter().map(|assignment| assignment.medic.0).collect();
    let roles: Vec<&str> = assignments.iter().map(|assignment| assignment.role.as_str()).collect();
    let counts: Vec<i64> = assignments.iter().map(|assignment| i64::from(assignment.count)).collect();
    run(&tx, sql!("cluster/assign"), &[&medics, &roles, &counts]).await?;
    Ok(tx.commit().await?)
}

async fn assigned(client: &impl GenericClient) -> Result<Vec<Assignment>, Broken> {
    let rows = ask(client, include_str!("../../sql/both/cluster/assignments.sql"), &[]).await?;
    Ok(rows.iter().map(|row| assignment(row.get(0), row.get(1), row.get(2))).collect())
}

async fn last_rolling(client: &impl GenericClient) -> Result<Option<Rolling>, Broken> {
    let rows = ask(client, include_str!("../../sql/both/cluster/rolling.sql"), &[]).await?;
    Ok(rows.first().map(|row| rolling(row.get(0), row.get(1), row.get(2), row.get(3), row.get(4))))
}

async fn begin_rolling(client: &mut Object, act: &Act, now: UnixMs) -> Result<Rolling, Broken> {
    let tx = client.transaction().await?;
    if let Some(answer) = first_answer(&tx, act, now).await? {
        return Ok(answer);
    }
    // The one row that is always there: two who ask at the same time come one after the other.
    lock_leader(&tx).await?;
    if last_rolling(&tx).await?.is_some_and(|last| last.ended_at.is_none()) {
        return Err(under_way().into());
    }
    let row = tx.query_one(&tx.prepare_cached(sql!("cluster/begin_rolling")).await?, &[&act.actor, &now.0]).await?;
    let id: i64 = row.get(0);
    run(&tx, sql!("cluster/drop_rollings"), &[&(id - KEPT)]).await?;
    settle(tx, act, now, "cluster", rolling(id, act.actor.clone(), now.0, None, None)).await
}

async fn note_restart(client: &mut Object, row: &RestartRow) -> Result<(), Broken> {
    let tx = client.transaction().await?;
    let values: [Param<'_>; 6] = [&row.at, &row.machine, &row.role, &row.why, &row.note, &row.delay_ms];
    let added = ask(&tx, sql!("cluster/add_restart"), &values).await?;
    if let Some(added) = added.first() {
        run(&tx, sql!("cluster/drop_restarts"), &[&(added.get::<_, i64>(0) - KEPT)]).await?;
    }
    commit(tx).await
}
