//! Trust, the ledger, quotas and the block-list on the shared store: the hands that the shared verbs work with.

use async_trait::async_trait;
use deadpool_postgres::{GenericClient, Object, Transaction};
use malla_fetch::blocklist::{Blocked, Blocking, Pattern};
use malla_fetch::ledger::{Account, Audit, Balance, Entry, Ledger, Prices};
use malla_fetch::quota::{Quotas, Used};
use malla_fetch::trust::{CaseFile, Check, CheckId, DeviceRepute, Refetch, Trust, TrustRules};
use malla_fetch::{Commit, DeviceId, Fetch as _, JobId, NewPage, PageUrl, Settled, Settlement, UrlKey};
use malla_queue::{Act, Clock as _, Error, Event, LaneSettings, NewTask, Result, Scope, TaskId, UnixMs};
use tokio_postgres::types::{IsNull, ToSql, Type, private::BytesMut};

use super::commit::commit;
use super::fetch::begin;
use super::fetch_pages::{add_pages, new_ids};
use super::fetch_shelf::unshelve;
use super::fetch_told::{Notes, Tell, tell};
use super::perform::{audit, first_answer, settle};
use super::pool::{Broken, with_retries};
use super::submit::Columns;
use super::{Postgres, fetch_devices as devices, fetch_jobs as jobs, point, said, sql, verb};
use crate::fetch_rows::ANSWERS;
use crate::ledger::Charges;
use crate::rows::{Hands, Held, Row, Rows, Value, both};
use crate::{ledger, refusing, trust};

type AnyError = Box<dyn std::error::Error + Sync + Send>;

impl ToSql for Value {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> std::result::Result<IsNull, AnyError> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Int(value) if *kind == Type::INT4 => i32::try_from(*value)?.to_sql(kind, out),
            Value::Int(value) => value.to_sql(kind, out),
            Value::Text(value) => value.to_sql(kind, out),
            Value::Bytes(value) => value.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::INT4, Type::TEXT, Type::BYTEA].contains(kind)
    }

    tokio_postgres::types::to_sql_checked!();
}

fn read_row(row: &tokio_postgres::Row) -> Result<Row> {
    let wrong = |error: tokio_postgres::Error| Error::Internal(error.to_string());
    let read = |(at, column): (usize, &tokio_postgres::Column)| {
        let int = |value: Option<i64>| value.map_or(Value::Null, Value::Int);
        Ok(match *column.type_() {
            Type::INT8 => int(row.try_get(at).map_err(wrong)?),
            Type::INT4 => int(row.try_get::<_, Option<i32>>(at).map_err(wrong)?.map(i64::from)),
            Type::BOOL => int(row.try_get::<_, Option<bool>>(at).map_err(wrong)?.map(i64::from)),
            Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(at).map_err(wrong)?.map_or(Value::Null, Value::Bytes),
            _ => row.try_get::<_, Option<String>>(at).map_err(wrong)?.map_or(Value::Null, Value::Text),
        })
    };
    row.columns().iter().enumerate().map(read).collect()
}

fn bound(params: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    params.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

/// A connection that reads.
struct Reader<'c, C> {
    client: &'c C,
    now: UnixMs,
}

impl<C: GenericClient + Sync> Rows for Reader<'_, C> {
    type Error = Broken;

    fn now(&self) -> UnixMs {
        self.now
    }

    async fn rows(&mut self, sql: &'static str, params: Vec<Value>) -> Result<Vec<Row>, Broken> {
        let rows = self.client.query(&self.client.prepare_cached(sql).await?, &bound(&params)).await?;
        Ok(rows.iter().map(read_row).collect::<Result<_>>()?)
    }
}

/// A transaction that writes.
struct Writing<'t, 'c> {
    tx: &'t Transaction<'c>,
    now: UnixMs,
    notes: &'t mut Notes,
    rouse: Vec<String>,
}

impl Rows for Writing<'_, '_> {
    type Error = Broken;

    fn now(&self) -> UnixMs {
        self.now
    }

    async fn rows(&mut self, sql: &'static str, params: Vec<Value>) -> Result<Vec<Row>, Broken> {
        Reader { client: self.tx, now: self.now }.rows(sql, params).await
    }
}

impl Hands for Writing<'_, '_> {
    async fn run(&mut self, sql: &'static str, params: Vec<Value>) -> Result<u64, Broken> {
        Ok(self.tx.execute(&self.tx.prepare_cached(sql).await?, &bound(&params)).await?)
    }

    async fn locked(&mut self, sql: &'static str, params: Vec<Value>) -> Result<Vec<Row>, Broken> {
        let locking = format!("{} FOR UPDATE", sql.trim_end());
        let rows = self.tx.query(&self.tx.prepare_cached(&locking).await?, &bound(&params)).await?;
        Ok(rows.iter().map(read_row).collect::<Result<_>>()?)
    }

    async fn new_id(&mut self) -> Result<i64, Broken> {
        Ok(new_ids(self.tx, 1, self.now).await?.remove(0))
    }

    async fn audit(&mut self, act: &Act) -> Result<(), Broken> {
        audit(self.tx, act, self.now).await
    }

    async fn event(&mut self, task: TaskId, event: Event) -> Result<(), Broken> {
        let statement = self.tx.prepare_cached(sql!("fetch/add_events")).await?;
        let group = event.group.map(|group| group.0);
        let params: [&(dyn ToSql + Sync); 5] =
            [&self.now.0, &vec![event.kind], &vec![group], &vec![task.0], &vec![event.body]];
        self.tx.execute(&statement, &params).await?;
        Ok(())
    }

    async fn submit(&mut self, task: NewTask) -> Result<TaskId, Broken> {
        let mut columns = Columns::default();
        columns.push(&task, None, self.now);
        let (submitted, rouse) = columns.submit(self.tx, self.now, None).await?;
        self.rouse.extend(rouse);
        let missing = || Error::Internal("the server did not answer for a task".into());
        Ok(submitted.first().ok_or_else(missing)?.id)
    }

    fn rouse(&mut self, what: &str) {
        self.rouse.push(what.to_owned());
    }

    async fn add_page(&mut self, page: &NewPage, key: Option<UrlKey>) -> Result<i64, Broken> {
        let added = add_pages(self.tx, &[(page, key)], self.now).await?;
        let missing = || Error::Internal("the server did not answer for a page".into());
        Ok(added.first().ok_or_else(missing)?.id)
    }

    async fn evict(&mut self, pages: Vec<i64>) -> Result<Vec<String>, Broken> {
        if pages.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self.tx.query(&self.tx.prepare_cached(sql!("fetch/shelved_of")).await?, &[&pages]).await?;
        let keys: Vec<&[u8]> = rows.iter().map(|row| row.get(0)).collect();
        unshelve(self.tx, &keys).await?;
        Ok(rows.iter().map(|row| row.get(1)).collect())
    }

    async fn move_wishes(&mut self, from: TaskId, to: TaskId) -> Result<(), Broken> {
        let statement = self.tx.prepare_cached(sql!("fetch/move_wishes")).await?;
        self.tx.execute(&statement, &[&vec![from.0], &vec![to.0]]).await?;
        Ok(())
    }

    async fn add_wish(&mut self, task: TaskId, wish: &Held) -> Result<(), Broken> {
        let statement = self.tx.prepare_cached(sql!("fetch/add_wish")).await?;
        self.tx.execute(&statement, &[&task.0, &wish.job, &wish.seq, &wish.url]).await?;
        Ok(())
    }

    async fn tell(&mut self, task: TaskId, page: i64, status: u16) -> Result<(), Broken> {
        let hold = std::mem::replace(&mut self.notes.hold, false);
        let told = tell(self.tx, &[Tell::new(task.0, page, status)], self.now, self.notes).await;
        self.notes.hold = hold;
        if !told?.is_empty() {
            self.rouse.push(ANSWERS.to_owned());
        }
        Ok(())
    }
}

/// What follows from a commit: checks and verdicts. Returns whom to rouse.
pub(super) async fn after_commit(
    tx: &Transaction<'_>,
    commit: &Commit,
    settled: &[&Settled],
    notes: &mut Notes,
    now: UnixMs,
) -> Result<Vec<String>, Broken> {
    let checks = settled.iter().any(|settled| matches!(settled.outcome, Settlement::Checked(_)));
    if commit.watch.is_none() && !checks && notes.vouched.is_empty() {
        return Ok(Vec::new());
    }
    let doubts = std::mem::take(&mut notes.doubts);
    let vouched = std::mem::take(&mut notes.vouched);
    let mut hands = Writing { tx, now, notes, rouse: Vec::new() };
    for page in vouched {
        hands.run(both!("trust/vouch"), vec![Value::Int(page)]).await?;
    }
    trust::after_commit(&mut hands, commit.watch.as_ref(), commit.lanes, doubts, settled).await?;
    Ok(hands.rouse)
}

/// Settles what a commit costs, last of all.
pub(super) async fn pay(
    tx: &Transaction<'_>,
    commit: &Commit,
    settled: &[&Settled],
    mut notes: Notes,
    now: UnixMs,
) -> Result<(), Broken> {
    let charges = std::mem::take(&mut notes.charges);
    let hands = &mut Writing { tx, now, notes: &mut notes, rouse: Vec::new() };
    ledger::pay(hands, &commit.prices, commit.watch.as_ref(), settled, charges).await
}

pub(super) async fn pay_cached(
    tx: &Transaction<'_>,
    now: UnixMs,
    prices: &Prices,
    charges: Charges,
) -> Result<(), Broken> {
    let hands = &mut Writing { tx, now, notes: &mut Notes::default(), rouse: Vec::new() };
    ledger::pay_cached(hands, prices, charges).await
}

pub(super) async fn trim(tx: &Transaction<'_>, step: usize, now: UnixMs) -> Result<u64, Broken> {
    trust::trim(&mut Writing { tx, now, notes: &mut Notes::default(), rouse: Vec::new() }, step).await
}

/// Runs a shared verb in a transaction of its own.
macro_rules! written {
    ($store:ident, |$hands:ident| $verb:expr) => {{
        let (answer, rouse) = verb!($store, "fetch", |client, now| async {
            let tx = begin(&mut client).await?;
            let mut notes = Notes::default();
            let (answer, rouse) = {
                let mut writing = Writing { tx: &tx, now, notes: &mut notes, rouse: Vec::new() };
                let $hands = &mut writing;
                let answer = $verb.await?;
                (answer, writing.rouse)
            };
            commit(tx).await?;
            Ok::<_, Broken>((answer, rouse))
        });
        $store.nudger.rouse(rouse);
        Ok(answer)
    }};
}

/// Runs a shared verb as an act.
macro_rules! performed {
    ($store:ident, $act:expr, |$hands:ident| $verb:expr) => {{
        let act = $act;
        let (answer, rouse) = verb!($store, "fetch", |client, now| async {
            let tx = begin(&mut client).await?;
            if let Some(answer) = first_answer(&tx, &act, now).await? {
                return Ok((answer, Vec::new()));
            }
            let mut notes = Notes::default();
            let (answer, rouse) = {
                let mut writing = Writing { tx: &tx, now, notes: &mut notes, rouse: Vec::new() };
                let $hands = &mut writing;
                let answer = $verb.await?;
                (answer, writing.rouse)
            };
            Ok::<_, Broken>((settle(tx, &act, now, "fetch", answer).await?, rouse))
        });
        $store.nudger.rouse(rouse);
        Ok(answer)
    }};
}

macro_rules! looked {
    ($store:ident, |$rows:ident| $look:expr) => {{
        let (client, now): (Object, UnixMs) = ($store.client().await?, $store.clock.now());
        let $rows = &mut Reader { client: &client, now };
        $look.await.map_err(said)
    }};
}

#[async_trait]
impl Trust for Postgres {
    async fn repute(&self, device: DeviceId) -> Result<DeviceRepute> {
        looked!(self, |rows| trust::repute(rows, device))
    }

    async fn reputes(&self, scope: &Scope) -> Result<Vec<DeviceRepute>> {
        let devices = self.devices(scope).await?;
        looked!(self, |rows| trust::reputes(rows, devices))
    }

    async fn case(&self, id: CheckId) -> Result<Option<CaseFile>> {
        // The connection is given back first: objects may take their time.
        let filed: Result<_> = async { looked!(self, |rows| trust::case(rows, id)) }.await;
        trust::complete(self.depot(), filed?).await
    }

    async fn checks(&self, device: Option<DeviceId>, below: Option<CheckId>, limit: usize) -> Result<Vec<Check>> {
        looked!(self, |rows| trust::checks(rows, device, below, limit))
    }

    async fn checks_waiting(&self) -> Result<u64> {
        looked!(self, |rows| trust::waiting(rows))
    }

    async fn control(&self, url: PageUrl, mark: String, lanes: LaneSettings) -> Result<()> {
        written!(self, |hands| trust::control(hands, &url, &mark, lanes))
    }

    async fn send_for_known(&self, draw: f64, lanes: LaneSettings) -> Result<bool> {
        written!(self, |hands| trust::send_for_known(hands, draw, lanes))
    }

    async fn report(&self, scope: &Scope, job: JobId, n: u64, lanes: LaneSettings, act: Act) -> Result<Check> {
        let group = jobs::get(&self.client().await?, scope, job).await.map_err(said)?.group;
        performed!(self, Act { group, ..act }, |hands| trust::report(hands, job, n, lanes))
    }

    async fn acquit(&self, scope: &Scope, device: DeviceId, _: TrustRules, act: Act) -> Result<DeviceRepute> {
        let found = devices::get(&self.client().await?, scope, device).await.map_err(said)?;
        let act = Act { group: found.group, object: format!("device {}", found.name), ..act };
        performed!(self, act, |hands| trust::acquit(hands, device))
    }

    async fn refetch_next(&self) -> Result<Option<Refetch>> {
        looked!(self, |rows| trust::refetch_next(rows))
    }

    async fn refetched(&self, id: i64) -> Result<()> {
        written!(self, |hands| trust::refetched(hands, id))
    }

    async fn control_key(&self, new: [u8; 32]) -> Result<[u8; 32]> {
        written!(self, |hands| trust::control_key(hands, new))
    }
}

#[async_trait]
impl Ledger for Postgres {
    async fn balances(&self) -> Result<Vec<Balance>> {
        looked!(self, |rows| ledger::balances(rows))
    }

    async fn balance(&self, account: &Account) -> Result<i64> {
        let found = looked!(self, |rows| ledger::balance(rows, account));
        found.map(|found| found.map_or(0, |(micro, _)| micro))
    }

    async fn statement(&self, account: &Account, below: Option<i64>, limit: usize) -> Result<Vec<Entry>> {
        looked!(self, |rows| ledger::statement(rows, account, below, limit))
    }

    async fn top_up(&self, account: Account, micro: i64, note: String, act: Act) -> Result<Balance> {
        performed!(self, act, |hands| ledger::top_up(hands, &account, micro, &note))
    }

    async fn release(&self, before: UnixMs) -> Result<u64> {
        written!(self, |hands| ledger::release(hands, before))
    }

    async fn carry_forward(&self, before: UnixMs, limit: usize) -> Result<u64> {
        written!(self, |hands| ledger::carry_forward(hands, before, limit))
    }

    async fn audit(&self) -> Result<Audit> {
        let mut client = self.client().await?;
        // One moment for all sums.
        let tx = client.build_transaction().isolation_level(tokio_postgres::IsolationLevel::RepeatableRead);
        let tx = tx.read_only(true).start().await.map_err(|error| said(error.into()))?;
        ledger::audit(&mut Reader { client: &tx, now: UnixMs(0) }).await.map_err(said)
    }
}

#[async_trait]
impl Blocking for Postgres {
    async fn blocked_sites(&self) -> Result<Vec<Blocked>> {
        looked!(self, |rows| refusing::blocked(rows))
    }

    async fn block_site(&self, blocked: Blocked, act: Act) -> Result<Blocked> {
        blocked.check()?;
        performed!(self, act, |hands| refusing::block(hands, &blocked))
    }

    async fn unblock_site(&self, pattern: &Pattern, act: Act) -> Result<()> {
        performed!(self, act, |hands| refusing::unblock(hands, pattern))
    }
}

#[async_trait]
impl Quotas for Postgres {
    async fn used(&self, client: &str, now: UnixMs) -> Result<Used> {
        looked!(self, |rows| refusing::used(rows, client, now))
    }

    async fn use_up(&self, client: &str, more: Used, now: UnixMs) -> Result<()> {
        let day = now;
        written!(self, |hands| refusing::use_up(hands, client, more, day))
    }
}
