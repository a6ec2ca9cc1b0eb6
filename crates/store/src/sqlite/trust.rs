//! Trust, the ledger, quotas and the block-list on the embedded store: the hands that the shared verbs work with.

use std::future::ready;

use async_trait::async_trait;
use malla_fetch::blocklist::{Blocked, Blocking, Pattern};
use malla_fetch::ledger::{Account, Audit, Balance, Entry, Ledger, Prices};
use malla_fetch::quota::{Quotas, Used};
use malla_fetch::trust::{CaseFile, Check, CheckId, DeviceRepute, Refetch, Trust, TrustRules};
use malla_fetch::{Commit, DeviceId, Fetch as _, JobId, NewPage, PageUrl, Settled, Settlement, UrlKey};
use malla_queue::{Act, Error, Event, LaneSettings, NewTask, Result, Scope, TaskId, UnixMs};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, params_from_iter};

use super::fetch_commit::{Told, tell};
use super::fetch_devices as devices;
use super::fetch_pages::{add_page, unshelve};
use super::submit::{add_events, submit_one};
use super::tx::Tx;
use super::writer::Durability::{Power, Process};
use super::{Sqlite, broken, fetch_jobs as jobs, sql};
use crate::fetch_rows::to_json;
use crate::ledger::Charges;
use crate::rows::{Hands, Held, Row, Rows, Value, at_once, both};
use crate::{ledger, refusing, trust};

impl rusqlite::ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        Ok(match self {
            Value::Null => rusqlite::types::Null.into(),
            Value::Int(value) => (*value).into(),
            Value::Text(value) => value.as_str().into(),
            Value::Bytes(value) => value.as_slice().into(),
        })
    }
}

fn read_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    let read = |at: usize| {
        Ok(match row.get_ref(at)? {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(value) => Value::Int(value),
            #[allow(clippy::cast_possible_truncation)] // no statement here gives fractions
            ValueRef::Real(value) => Value::Int(value as i64),
            ValueRef::Text(value) => Value::Text(String::from_utf8_lossy(value).into_owned()),
            ValueRef::Blob(value) => Value::Bytes(value.to_vec()),
        })
    };
    (0..row.as_ref().column_count()).map(read).collect()
}

/// A reader.
struct Reader<'c> {
    conn: &'c Connection,
    now: UnixMs,
}

impl Rows for Reader<'_> {
    type Error = Error;

    fn now(&self) -> UnixMs {
        self.now
    }

    fn rows(&mut self, sql: &'static str, params: Vec<Value>) -> impl Future<Output = Result<Vec<Row>>> + Send {
        ready(super::many(self.conn, sql, params_from_iter(params), read_row))
    }
}

/// The writer inside a verb.
pub(super) struct Writing<'t, 'c> {
    pub(super) tx: &'t mut Tx<'c>,
    pub(super) told: &'t mut Told,
}

impl Rows for Writing<'_, '_> {
    type Error = Error;

    fn now(&self) -> UnixMs {
        self.tx.now
    }

    fn rows(&mut self, sql: &'static str, params: Vec<Value>) -> impl Future<Output = Result<Vec<Row>>> + Send {
        ready(self.tx.many(sql, params_from_iter(params), read_row))
    }
}

impl Hands for Writing<'_, '_> {
    fn run(&mut self, sql: &'static str, params: Vec<Value>) -> impl Future<Output = Result<u64>> + Send {
        ready(self.tx.run(sql, params_from_iter(params)).map(|rows| rows as u64))
    }

    fn locked(&mut self, sql: &'static str, params: Vec<Value>) -> impl Future<Output = Result<Vec<Row>>> + Send {
        self.rows(sql, params)
    }

    fn new_id(&mut self) -> impl Future<Output = Result<i64>> + Send {
        ready(Ok(self.tx.next_id()))
    }

    fn audit(&mut self, act: &Act) -> impl Future<Output = Result<()>> + Send {
        ready(self.tx.audit(act))
    }

    fn event(&mut self, task: TaskId, event: Event) -> impl Future<Output = Result<()>> + Send {
        ready(add_events(self.tx, task, &[event]))
    }

    fn submit(&mut self, task: NewTask) -> impl Future<Output = Result<TaskId>> + Send {
        ready(submit_one(self.tx, &task, None).map(|submitted| submitted.id))
    }

    fn rouse(&mut self, what: &str) {
        self.tx.rouse(what);
    }

    fn add_page(&mut self, page: &NewPage, key: Option<UrlKey>) -> impl Future<Output = Result<i64>> + Send {
        ready(add_page(self.tx, page, key).map(|added| added.id))
    }

    fn evict(&mut self, pages: Vec<i64>) -> impl Future<Output = Result<Vec<String>>> + Send {
        ready(evict(self.tx, &pages))
    }

    fn move_wishes(&mut self, from: TaskId, to: TaskId) -> impl Future<Output = Result<()>> + Send {
        ready(self.tx.run(sql!("fetch/move_wishes"), (from.0, to.0)).map(drop))
    }

    fn add_wish(&mut self, task: TaskId, wish: &Held) -> impl Future<Output = Result<()>> + Send {
        ready(self.tx.run(sql!("fetch/add_wish"), (task.0, wish.job, wish.seq, &wish.url)).map(drop))
    }

    fn tell(&mut self, task: TaskId, page: i64, status: u16) -> impl Future<Output = Result<()>> + Send {
        let hold = std::mem::replace(&mut self.told.hold, false);
        let told = tell(self.tx, task, page, status, false, self.told).map(drop);
        self.told.hold = hold;
        ready(told)
    }
}

fn evict(tx: &Tx<'_>, pages: &[i64]) -> Result<Vec<String>> {
    if pages.is_empty() {
        return Ok(Vec::new());
    }
    let found = tx.many(sql!("fetch/shelved_of"), (to_json(&pages),), |row| Ok((UrlKey(row.get(0)?), row.get(1)?)))?;
    found.into_iter().map(|(key, url)| unshelve(tx, key).map(|_| url)).collect()
}

/// Runs a shared verb inside a transaction of the writer.
macro_rules! written {
    ($tx:ident, |$hands:ident| $verb:expr) => {{
        let mut told = Told::default();
        let answer = {
            let $hands = &mut Writing { tx: &mut *$tx, told: &mut told };
            at_once($verb)
        };
        match answer {
            Ok(answer) => told.write($tx).map(|()| answer),
            Err(error) => Err(error),
        }
    }};
}

impl Sqlite {
    async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&mut Reader<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let now = self.clock.now();
        self.read(move |conn| look(&mut Reader { conn, now })).await
    }
}

/// What follows from a commit: checks, verdicts, and who pays whom.
pub(super) fn after_commit(tx: &mut Tx<'_>, commit: &Commit, settled: &[&Settled], told: &mut Told) -> Result<()> {
    let checks = settled.iter().any(|settled| matches!(settled.outcome, Settlement::Checked(_)));
    if commit.watch.is_none() && !checks && !commit.prices.is_on() && told.vouched.is_empty() {
        return Ok(());
    }
    for page in std::mem::take(&mut told.vouched) {
        tx.run(both!("trust/vouch"), (page,))?;
    }
    let doubts = std::mem::take(&mut told.doubts);
    let watch = commit.watch.as_ref();
    let hands = &mut Writing { tx, told };
    at_once(trust::after_commit(hands, watch, commit.lanes, doubts, settled))?;
    let charges = std::mem::take(&mut hands.told.charges);
    at_once(ledger::pay(hands, &commit.prices, watch, settled, charges))
}

pub(super) fn pay_cached(tx: &mut Tx<'_>, prices: &Prices, charges: Charges) -> Result<()> {
    if prices.cached == 0 {
        return Ok(());
    }
    written!(tx, |hands| ledger::pay_cached(hands, prices, charges))
}

pub(super) fn trim(tx: &mut Tx<'_>, step: usize) -> Result<u64> {
    written!(tx, |hands| trust::trim(hands, step))
}

#[async_trait]
impl Trust for Sqlite {
    async fn repute(&self, device: DeviceId) -> Result<DeviceRepute> {
        self.look(move |rows| at_once(trust::repute(rows, device))).await
    }

    async fn reputes(&self, scope: &Scope) -> Result<Vec<DeviceRepute>> {
        let devices = self.devices(scope).await?;
        self.look(move |rows| at_once(trust::reputes(rows, devices))).await
    }

    async fn case(&self, id: CheckId) -> Result<Option<CaseFile>> {
        let filed = self.look(move |rows| at_once(trust::case(rows, id))).await?;
        trust::complete(self.depot(), filed).await
    }

    async fn checks(&self, device: Option<DeviceId>, below: Option<CheckId>, limit: usize) -> Result<Vec<Check>> {
        self.look(move |rows| at_once(trust::checks(rows, device, below, limit))).await
    }

    async fn checks_waiting(&self) -> Result<u64> {
        self.look(|rows| at_once(trust::waiting(rows))).await
    }

    async fn control(&self, url: PageUrl, mark: String, lanes: LaneSettings) -> Result<()> {
        self.write("fetch", Process, move |tx| written!(tx, |hands| trust::control(hands, &url, &mark, lanes))).await
    }

    async fn send_for_known(&self, draw: f64, lanes: LaneSettings) -> Result<bool> {
        self.write("fetch", Process, move |tx| written!(tx, |hands| trust::send_for_known(hands, draw, lanes))).await
    }

    async fn report(&self, scope: &Scope, job: JobId, n: u64, lanes: LaneSettings, act: Act) -> Result<Check> {
        let scope = scope.clone();
        self.write("fetch", Power, move |tx| {
            let group = jobs::get(tx.conn, &scope, job)?.group;
            tx.perform(&Act { group, ..act.clone() }, |tx| written!(tx, |hands| trust::report(hands, job, n, lanes)))
        })
        .await
    }

    async fn acquit(&self, scope: &Scope, device: DeviceId, _: TrustRules, act: Act) -> Result<DeviceRepute> {
        let scope = scope.clone();
        let acquit = move |tx: &mut Tx<'_>| {
            let found = devices::get(tx.conn, &scope, device)?;
            let act = Act { group: found.group, object: format!("device {}", found.name), ..act.clone() };
            tx.perform(&act, |tx| written!(tx, |hands| trust::acquit(hands, device)))
        };
        self.write("fetch", Power, acquit).await
    }

    async fn refetch_next(&self) -> Result<Option<Refetch>> {
        self.look(|rows| at_once(trust::refetch_next(rows))).await
    }

    async fn refetched(&self, id: i64) -> Result<()> {
        self.write("fetch", Power, move |tx| written!(tx, |hands| trust::refetched(hands, id))).await
    }

    async fn control_key(&self, new: [u8; 32]) -> Result<[u8; 32]> {
        self.write("fetch", Power, move |tx| written!(tx, |hands| trust::control_key(hands, new))).await
    }
}

#[async_trait]
impl Ledger for Sqlite {
    async fn balances(&self) -> Result<Vec<Balance>> {
        self.look(|rows| at_once(ledger::balances(rows))).await
    }

    async fn balance(&self, account: &Account) -> Result<i64> {
        let account = account.clone();
        self.look(move |rows| at_once(ledger::balance(rows, &account)))
            .await
            .map(|found| found.map_or(0, |(micro, _)| micro))
    }

    async fn statement(&self, account: &Account, below: Option<i64>, limit: usize) -> Result<Vec<Entry>> {
        let account = account.clone();
        self.look(move |rows| at_once(ledger::statement(rows, &account, below, limit))).await
    }

    async fn top_up(&self, account: Account, micro: i64, note: String, act: Act) -> Result<Balance> {
        self.write("fetch", Power, move |tx| {
            tx.perform(&act, |tx| written!(tx, |hands| ledger::top_up(hands, &account, micro, &note)))
        })
        .await
    }

    async fn release(&self, before: UnixMs) -> Result<u64> {
        self.write("fetch", Power, move |tx| written!(tx, |hands| ledger::release(hands, before))).await
    }

    async fn carry_forward(&self, before: UnixMs, limit: usize) -> Result<u64> {
        self.write("fetch", Power, move |tx| written!(tx, |hands| ledger::carry_forward(hands, before, limit))).await
    }

    async fn audit(&self) -> Result<Audit> {
        self.read(|conn| {
            // One moment for all sums.
            let tx = conn.unchecked_transaction().map_err(broken)?;
            at_once(ledger::audit(&mut Reader { conn: &tx, now: UnixMs(0) }))
        })
        .await
    }
}

#[async_trait]
impl Blocking for Sqlite {
    async fn blocked_sites(&self) -> Result<Vec<Blocked>> {
        self.look(|rows| at_once(refusing::blocked(rows))).await
    }

    async fn block_site(&self, blocked: Blocked, act: Act) -> Result<Blocked> {
        blocked.check()?;
        self.write("fetch", Power, move |tx| {
            tx.perform(&act, |tx| written!(tx, |hands| refusing::block(hands, &blocked)))
        })
        .await
    }

    async fn unblock_site(&self, pattern: &Pattern, act: Act) -> Result<()> {
        let pattern = pattern.clone();
        self.write("fetch", Power, move |tx| {
            tx.perform(&act, |tx| written!(tx, |hands| refusing::unblock(hands, &pattern)))
        })
        .await
    }
}

#[async_trait]
impl Quotas for Sqlite {
    async fn used(&self, client: &str, now: UnixMs) -> Result<Used> {
        let client = client.to_owned();
        self.look(move |rows| at_once(refusing::used(rows, &client, now))).await
    }

    async fn use_up(&self, client: &str, more: Used, now: UnixMs) -> Result<()> {
        let client = client.to_owned();
        self.write("fetch", Process, move |tx| written!(tx, |hands| refusing::use_up(hands, &client, more, now))).await
    }
}
