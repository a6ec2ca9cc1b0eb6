//! Checks of what devices bring, and what follows from them, on either store.

use std::collections::BTreeMap;

use malla_fetch::ledger::{Account, HOUSE, Transfer};
use malla_fetch::trust::{
    Check, CheckId, CheckKind, CheckState, Claim, Consequence, DeviceRepute, Finding, Party, Refetch, Repute, Settling,
    TrustRules, Watch,
};
use malla_fetch::{About, Device, DeviceId, JobId, PageId, PageTask, PageUrl, Settled, Settlement};
use malla_queue::{Act, Error, Event, GroupId, LaneSettings, TaskId, UnixMs};

use crate::fetch_rows::{DEVICES, from_json, to_json};
use crate::ledger;
use crate::rows::{Hands, Held, Row, Rows, both, one, values};
pub(crate) use crate::trust_cases::{case, checks, complete};

/// Commits of a device that are looked through for what to evict.
const HAULS_MAX: i64 = 200;
/// Pages that are fetched again in one job.
const REFETCH_STEP: usize = 500;
/// Checks for anybody get this long to be found by themselves before a device of the house is sent.
const FOUND_WITHIN_MS: i64 = 10_000;
/// And those that clients wait for.
const HELD_WITHIN_MS: i64 = 1_000;

/// A check that is open for longer will never end: its task is gone.
const GIVEN_UP_MS: i64 = 2 * 86_400_000;

/// What a commit brought that may be checked: the task, the page's URL and what was claimed.
pub(crate) type Claimed = (TaskId, PageUrl, Claim);

/// What a commit brought that is to be checked.
#[derive(Debug, Default)]
pub(crate) struct Doubts {
    pub(crate) claimed: Vec<Claimed>,
    /// Those who wait for the check of a page.
    pub(crate) held: Vec<Held>,
    /// Tasks that were redirected, and those who wait have not followed.
    pub(crate) stayed: Vec<i64>,
}

/// Pages that were checked within this time are known.
const KNOWN_FOR_MS: f64 = 86_400_000.0;

/// Opens the checks of a commit and takes in those that ended.
pub(crate) async fn after_commit<H: Hands>(
    hands: &mut H,
    watch: Option<&Watch>,
    lanes: LaneSettings,
    doubts: Doubts,
    settled: &[&Settled],
) -> Result<(), H::Error> {
    let rules = watch.map(|watch| watch.rules).unwrap_or_default();
    for one in settled {
        if let Settlement::Checked(settling) = &one.outcome {
            settle(hands, settling, &rules, lanes).await?;
        }
    }
    let Some(watch) = watch.filter(|watch| watch.checks()) else { return Ok(()) };
    let Doubts { claimed, held, stayed } = doubts;
    let mut waiting: BTreeMap<i64, Vec<Held>> = BTreeMap::new();
    for held in held {
        waiting.entry(held.of).or_default().push(held);
    }
    for (task, url, claim) in &claimed {
        let held = waiting.remove(&task.0).unwrap_or_default();
        if held.is_empty() && !watch.drawn.contains(task) {
            continue;
        }
        let check = watch.check(CheckId(TaskId(hands.new_id().await?)), url, claim.clone(), hands.now());
        let fresh_until = watch.held.iter().find(|(of, _)| of == task).and_then(|(_, until)| *until);
        let check = open(hands, Check { held: !held.is_empty(), fresh_until, ..check }, lanes).await?;
        for held in &held {
            hands.add_wish(check.task, held).await?;
        }
    }
    let taken = |task: &TaskId| settled.iter().any(|settled| settled.token.task == *task);
    for moved in watch.moved.iter().filter(|moved| taken(&moved.task)) {
        let held = stayed.contains(&moved.task.0);
        if !held && !moved.drawn {
            continue;
        }
        let claim = Claim { status: 302, location: Some(moved.to.url.to_string()), ..Claim::default() };
        let check = watch.check(CheckId(TaskId(hands.new_id().await?)), &moved.from, claim, hands.now());
        let check = open(hands, Check { held, hops: moved.to.hops, ..check }, lanes).await?;
        if held {
            hands.move_wishes(moved.task, check.task).await?;
        }
    }
    for (_, url, page) in watch.robots.iter().filter(|(task, ..)| taken(task)) {
        let kept = PageId(TaskId(hands.add_page(page, None).await?));
        let claim = Claim { status: page.status, page: Some(kept), ..Claim::default() };
        let check = watch.check(CheckId(TaskId(hands.new_id().await?)), url, claim, hands.now());
        open(hands, check, lanes).await?;
    }
    for (url, etag) in &watch.lazy {
        let id = CheckId(TaskId(hands.new_id().await?));
        let claim = Claim { by: watch.party.clone(), status: 304, ..Claim::default() };
        let check = Check::new(id, CheckKind::Etag, url, Some(claim), hands.now());
        open(hands, Check { secret: Some(etag.clone()), ..check }, lanes).await?;
    }
    let pages: Vec<i64> = claimed.iter().filter_map(|(.., claim)| claim.page).map(|page| page.0.0).collect();
    // A page is brought once, so its number will do for the haul's.
    let new = claimed.iter().filter(|(.., claim)| !claim.unchanged).filter_map(|(.., claim)| claim.page);
    if let Some(last) = new.map(|page| page.0.0).max() {
        let row = values![last, watch.party.device, watch.party.owner.as_str(), hands.now(), to_json(&pages)];
        hands.run(both!("trust/add_haul"), row).await?;
    }
    Ok(())
}

async fn open<H: Hands>(hands: &mut H, mut check: Check, lanes: LaneSettings) -> Result<Check, H::Error> {
    check.task = hands.submit(check.to_task()?.to_task(lanes)).await?;
    let [first, second] = devices(&check);
    let (kind, state, held) = (check.kind.name(), check.state.name(), i64::from(check.held));
    let row = values![check.id.0.0, kind, state, first, second, check.at, check.ended_at, held, to_json(&check)];
    hands.run(both!("trust/add_check"), row).await?;
    Ok(check)
}

fn devices(check: &Check) -> [Option<i64>; 2] {
    [&check.first, &check.second].map(|claim| claim.as_ref().map(|claim| claim.by.device))
}

/// Takes in what a fetch for a check has shown, with all that follows.
async fn settle<H: Hands>(
    hands: &mut H,
    settling: &Settling,
    rules: &TrustRules,
    lanes: LaneSettings,
) -> Result<(), H::Error> {
    let Some(row) = hands.locked(both!("trust/check"), values![settling.check.0.0]).await?.into_iter().next() else {
        return Ok(());
    };
    let mut check: Check = from_json(row[0].text()?)?;
    if check.state.is_over() || (check.state != settling.from && settling.finding != Finding::Lapsed) {
        return Ok(());
    }
    let mut said = settling.said.clone();
    if let Some(page) = &settling.page {
        said.page = Some(PageId(TaskId(hands.add_page(page, None).await?)));
    }
    let now = hands.now();
    for follows in check.settle(settling.from, said, settling.finding, now) {
        match follows {
            Consequence::Valid(party) => change(hands, &party, Repute::valid).await?,
            Consequence::Doubted(party) => change(hands, &party, Repute::doubted).await?,
            Consequence::Contradicted(party) => change(hands, &party, Repute::contradicted).await?,
            Consequence::Again => {
                let url = PageUrl::parse(&check.url).map_err(|why| Error::Internal(why.to_string()))?;
                let task = hands.submit(PageTask::new(url).to_task(lanes)).await?;
                hands.move_wishes(check.task, task).await?;
            }
            Consequence::Lied { by, site, hard } => {
                lied(hands, &check, &by, |repute| repute.lied(rules, &site, hard)).await?;
            }
            Consequence::Apart { by, site } => {
                lied(hands, &check, &by, |repute| repute.stood_apart(rules, &site)).await?;
            }
            Consequence::Follow { to } => {
                let url = PageUrl::parse(&to).map_err(|why| Error::Internal(why.to_string()))?;
                let task = hands.submit(PageTask { hops: check.hops, ..PageTask::new(url) }.to_task(lanes)).await?;
                hands.move_wishes(check.task, task).await?;
            }
            Consequence::Trial => {
                let task = hands.submit(check.to_task()?.to_task(lanes)).await?;
                hands.move_wishes(check.task, task).await?;
                check.task = task;
            }
            Consequence::Tell { page, verified } => {
                let first = check.first.as_ref().and_then(|claim| claim.page);
                if let (Some(until), Some(page), true) = (check.fresh_until, page, verified && page == first) {
                    hands.run(both!("trust/freshen"), values![until, page.0.0]).await?;
                }
                tell(hands, check.task, page, verified).await?;
            }
        }
    }
    if matches!(check.state, CheckState::Cleared | CheckState::Upheld) {
        ask_again_for_robots(hands, &check).await?;
    }
    let [first, second] = devices(&check);
    let row = values![check.state.name(), first, second, check.ended_at, to_json(&check), check.id.0.0];
    hands.run(both!("trust/write_check"), row).await?;
    Ok(())
}

/// Not all agreed about a site's robots.txt: what we know of it holds no longer.
async fn ask_again_for_robots<H: Hands>(hands: &mut H, check: &Check) -> Result<(), H::Error> {
    match PageUrl::parse(&check.url) {
        Ok(url) if url.path_and_query() == "/robots.txt" => {
            hands.run(both!("trust/forget_robots"), values![url.site().lane().as_str()]).await.map(drop)
        }
        _ => Ok(()),
    }
}

async fn tell<H: Hands>(hands: &mut H, task: TaskId, page: Option<PageId>, verified: bool) -> Result<(), H::Error> {
    let Some(page) = page.map(|page| page.0.0) else { return Ok(()) };
    if verified {
        hands.run(both!("trust/vouch"), values![page]).await?;
    }
    // If it is not kept any more, those who wait are told so as orphans.
    if let Some(row) = one(hands, both!("trust/page_status"), values![page]).await? {
        hands.tell(task, page, u16::try_from(row[0].int()?).unwrap_or(0)).await?;
    }
    Ok(())
}

/// Changes how a device and its user stand.
async fn change<H: Hands>(hands: &mut H, party: &Party, how: impl Fn(&mut Repute)) -> Result<(), H::Error> {
    if party.trusted || party.device == 0 {
        return Ok(());
    }
    for subject in [device_key(party.device), user_key(&party.owner)] {
        let mut repute = locked(hands, &subject).await?;
        how(&mut repute);
        hands.run(both!("trust/write_repute"), values![subject, to_json(&repute)]).await?;
    }
    Ok(())
}

fn device_key(device: i64) -> String {
    format!("device:{device}")
}

fn user_key(owner: &str) -> String {
    format!("user:{owner}")
}

async fn locked<H: Hands>(hands: &mut H, subject: &str) -> Result<Repute, H::Error> {
    // What is not there cannot be locked.
    hands.run(both!("trust/add_repute"), values![subject, "{}"]).await?;
    let row = hands.locked(both!("trust/repute"), values![subject]).await?.into_iter().next();
    Ok(row.map(|row| from_json(row[0].text()?)).transpose()?.unwrap_or_default())
}

async fn lied<H: Hands>(
    hands: &mut H,
    check: &Check,
    by: &Party,
    how: impl Fn(&mut Repute) -> bool,
) -> Result<(), H::Error> {
    if by.trusted {
        return Ok(());
    }
    let forged = [&check.first, &check.second].into_iter().flatten().filter(|claim| claim.by.device == by.device);
    hands.evict(forged.filter_map(|claim| claim.page).map(|page| page.0.0).collect()).await?;
    let mut own = locked(hands, &device_key(by.device)).await?;
    let convicted = how(&mut own) && !own.convicted;
    if convicted {
        own.convicted = true;
        own.reason = Some(format!("check {} of {}", check.id, check.url));
    }
    hands.run(both!("trust/write_repute"), values![device_key(by.device), to_json(&own)]).await?;
    let mut owner = locked(hands, &user_key(&by.owner)).await?;
    how(&mut owner);
    hands.run(both!("trust/write_repute"), values![user_key(&by.owner), to_json(&owner)]).await?;
    if convicted { convict(hands, check, by).await } else { Ok(()) }
}

/// Blocks the device, takes its pledge, and forgets what it brought of late.
async fn convict<H: Hands>(hands: &mut H, check: &Check, by: &Party) -> Result<(), H::Error> {
    // What it is bringing at this moment comes first, and is forgotten with the rest.
    let device = hands.locked(both!("trust/device"), values![by.device]).await?.into_iter().next();
    hands.run(both!("trust/block"), values![by.device]).await?;
    let rows = hands.rows(both!("trust/hauls"), values![by.device, HAULS_MAX]).await?;
    let mut pages: Vec<i64> = Vec::new();
    for row in &rows {
        pages.extend(from_json::<Vec<i64>>(row[0].text()?)?);
    }
    let evicted = hands.evict(pages).await?;
    for urls in evicted.chunks(REFETCH_STEP) {
        let row = values![hands.new_id().await?, by.device, to_json(&urls)];
        hands.run(both!("trust/add_refetch"), row).await?;
    }
    let evicted = evicted.len();
    let escrow = Account::Escrow(by.device);
    let forfeited = ledger::locked_balance(hands, &escrow).await?;
    let note = format!("device {} was convicted by check {}", by.name, check.id);
    if forfeited > 0 {
        ledger::post(hands, Transfer::between(escrow, Account::House, forfeited), "forfeit", Some(&note)).await?;
    }
    let group = device.and_then(|row| row[2].maybe_int()).map(GroupId);
    let body = serde_json::json!({
        "device": by.device, "name": by.name, "owner": by.owner, "check": check.id.to_string(), "url": check.url,
        "evicted": evicted, "forfeited_micro": forfeited,
    });
    let act = Act { group, detail: body.clone(), ..Act::new(HOUSE, "device.convict", format!("device {}", by.name)) };
    hands.audit(&act).await?;
    let event = Event { kind: "device.convicted".into(), group, body: body.to_string().into_bytes() };
    hands.event(check.task, event).await?;
    hands.rouse(DEVICES);
    Ok(())
}

pub(crate) async fn refetch_next<R: Rows>(rows: &mut R) -> Result<Option<Refetch>, R::Error> {
    let row = one(rows, both!("trust/refetch"), Vec::new()).await?;
    let read = |row: Row| {
        let urls = from_json(row[2].text()?)?;
        Ok::<_, Error>(Refetch { id: row[0].int()?, device: DeviceId(row[1].int()?), urls })
    };
    Ok(row.map(read).transpose()?)
}

pub(crate) async fn refetched<H: Hands>(hands: &mut H, id: i64) -> Result<(), H::Error> {
    hands.run(both!("trust/drop_refetch"), values![id]).await.map(drop)
}

pub(crate) async fn repute<R: Rows>(rows: &mut R, device: DeviceId) -> Result<DeviceRepute, R::Error> {
    let own = of(rows, device_key(device.0)).await?;
    let row = one(rows, both!("trust/device"), values![device.0]).await?;
    let owner = row.map(|row| row[1].text().map(user_key)).transpose()?;
    let owner = match owner {
        Some(key) => of(rows, key).await?,
        None => Repute::default(),
    };
    Ok(DeviceRepute { device, own, owner })
}

async fn of<R: Rows>(rows: &mut R, subject: String) -> Result<Repute, R::Error> {
    let row = one(rows, both!("trust/repute"), values![subject]).await?;
    Ok(row.map(|row| from_json(row[0].text()?)).transpose()?.unwrap_or_default())
}

pub(crate) async fn reputes<R: Rows>(rows: &mut R, devices: Vec<Device>) -> Result<Vec<DeviceRepute>, R::Error> {
    let mut all: BTreeMap<String, Repute> = BTreeMap::new();
    for row in rows.rows(both!("trust/reputes"), Vec::new()).await? {
        all.insert(row[0].text()?.to_owned(), from_json(row[1].text()?)?);
    }
    let of = |key: String| all.get(&key).cloned().unwrap_or_default();
    let read = |device: &Device| DeviceRepute {
        device: device.id,
        own: of(device_key(device.id.0)),
        owner: of(user_key(&device.owner)),
    };
    Ok(devices.iter().map(read).collect())
}

pub(crate) async fn waiting<R: Rows>(rows: &mut R) -> Result<u64, R::Error> {
    let now = rows.now().0;
    let (anybody, held) = (now - FOUND_WITHIN_MS, now - HELD_WITHIN_MS);
    let row = one(rows, both!("trust/waiting"), values![now - GIVEN_UP_MS, anybody, held]).await?;
    Ok(row.map(|row| row[0].int()).transpose()?.and_then(|count| u64::try_from(count).ok()).unwrap_or(0))
}

pub(crate) async fn control<H: Hands>(
    hands: &mut H,
    url: &PageUrl,
    mark: &str,
    lanes: LaneSettings,
) -> Result<(), H::Error> {
    let check = Check::new(CheckId(TaskId(hands.new_id().await?)), CheckKind::Control, url, None, hands.now());
    open(hands, Check { secret: Some(mark.to_owned()), ..check }, lanes).await.map(drop)
}

pub(crate) async fn send_for_known<H: Hands>(hands: &mut H, draw: f64, lanes: LaneSettings) -> Result<bool, H::Error> {
    let now = hands.now();
    #[allow(clippy::cast_possible_truncation)] // some moment of the day
    let since = TaskId::first_at(UnixMs(now.0 - (draw * KNOWN_FOR_MS) as i64));
    let Some(row) = one(hands, both!("trust/known_page"), values![since.0]).await? else { return Ok(false) };
    let Ok(url) = PageUrl::parse(row[1].text()?) else { return Ok(false) };
    let page = Some(PageId(TaskId(row[0].int()?)));
    let status = u16::try_from(row[2].int()?).unwrap_or(0);
    // Not its word any more who brought it, but ours.
    let by = Party { name: HOUSE.to_owned(), owner: HOUSE.to_owned(), trusted: true, ..Party::default() };
    let known = Claim { by, status, page, ..Claim::default() };
    let check = Check::new(CheckId(TaskId(hands.new_id().await?)), CheckKind::Known, &url, None, now);
    open(hands, Check { second: Some(known), ..check }, lanes).await?;
    Ok(true)
}

/// A client's word against a result: a trusted device decides.
pub(crate) async fn report<H: Hands>(
    hands: &mut H,
    job: JobId,
    n: u64,
    lanes: LaneSettings,
) -> Result<Check, H::Error> {
    let missing = || Error::NotFound(format!("result {job}:{n}"));
    let row = one(hands, both!("trust/answer"), values![job.0.0, n]).await?.ok_or_else(missing)?;
    let (page, status) = (row[0].int()?, u16::try_from(row[2].int()?).unwrap_or(0));
    let url =
        PageUrl::parse(row[1].text()?).map_err(|_| Error::Invalid("nothing was fetched for this result".into()))?;
    let device = brought_by(hands, page).await?.ok_or_else(|| {
        let why = "this result was not brought by a device that can be checked, or too long ago: fetch it again";
        Error::Conflict(why.into())
    })?;
    let row = one(hands, both!("trust/device"), values![device]).await?.ok_or_else(missing)?;
    let about: About = from_json(row[3].text()?)?;
    let (name, owner) = (row[0].text()?.to_owned(), row[1].text()?.to_owned());
    let by = Party { device, name, owner, network: String::new(), country: about.country, trusted: about.own };
    let claim = Claim { by, status, page: Some(PageId(TaskId(page))), ..Claim::default() };
    let check = Check::new(CheckId(TaskId(hands.new_id().await?)), CheckKind::Report, &url, Some(claim), hands.now());
    open(hands, check, lanes).await
}

/// The device that brought a page, if it is one of a stranger's and not long ago.
async fn brought_by<R: Rows>(rows: &mut R, page: i64) -> Result<Option<i64>, R::Error> {
    for row in rows.rows(both!("trust/haul_of"), values![page]).await? {
        if from_json::<Vec<i64>>(row[1].text()?)?.contains(&page) {
            return Ok(Some(row[0].int()?));
        }
    }
    Ok(None)
}

/// Lets a device in again and gives its pledge back.
pub(crate) async fn acquit<H: Hands>(hands: &mut H, device: DeviceId) -> Result<DeviceRepute, H::Error> {
    let mut own = locked(hands, &device_key(device.0)).await?;
    if !own.convicted {
        return Err(Error::Conflict("this device is not convicted: there is nothing to acquit it of".into()).into());
    }
    own.acquit();
    hands.run(both!("trust/write_repute"), values![device_key(device.0), to_json(&own)]).await?;
    hands.run(both!("trust/unblock"), values![device.0]).await?;
    let escrow = Account::Escrow(device.0);
    let mut lost = 0;
    for row in hands.rows(both!("ledger/forfeited"), values![escrow.to_string()]).await? {
        lost -= row[0].int()?;
    }
    if lost > 0 {
        let note = format!("device {} was acquitted", device.0);
        ledger::post(hands, Transfer::between(Account::House, escrow, lost), "restore", Some(&note)).await?;
    }
    hands.rouse(DEVICES);
    repute(hands, device).await
}

pub(crate) async fn control_key<H: Hands>(hands: &mut H, new: [u8; 32]) -> Result<[u8; 32], H::Error> {
    hands.run(both!("trust/add_control_key"), vec![crate::rows::Value::Bytes(new.to_vec())]).await?;
    let row = one(hands, both!("trust/control_key"), Vec::new()).await?;
    let key = row.and_then(|row| row[0].maybe_bytes()).and_then(|bytes| bytes.try_into().ok());
    Ok(key.ok_or_else(|| Error::Internal("the key of the control site is damaged".into()))?)
}

/// Forgets old checks and hauls, one bounded step.
pub(crate) async fn trim<H: Hands>(hands: &mut H, step: usize) -> Result<u64, H::Error> {
    let now = hands.now();
    let days = |days: i64| UnixMs(now.0 - days * 86_400_000);
    let checks = hands.run(both!("trust/drop_checks"), values![days(90), step as u64]).await?;
    Ok(checks + hands.run(both!("trust/drop_hauls"), values![days(7), step as u64]).await?)
}
