//! Whom to believe and what is never fetched, as the dispatcher goes by it when it gives work out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use malla_queue::{Result, UnixMs};

use super::judge::Case;
use super::{Batch, Dispatcher};
use crate::blocklist::Blocklist;
use crate::ledger::Prices;
use crate::trust::{Claim, DeviceRepute, Finding, Party, Settling, Trust, TrustRules, Watch};
use crate::{Device, DeviceId, NOT_ASKED, PageTask, ROBOTS, Ready, Settled, Settlement, Tally};

/// How long a device's standing is remembered.
const REPUTE_FOR_MS: i64 = 1_000;
const DEVICES_MAX: usize = 10_000;
/// Pages of blocked sites that are refused in one step.
const REFUSED_STEP: usize = 256;

/// What the operator decides about trust, money and what is never fetched. By default nothing is checked or counted.
#[derive(Clone, Default)]
pub struct Care {
    pub trust: Option<Arc<dyn Trust>>,
    pub rules: TrustRules,
    pub prices: Prices,
    pub blocked: Blocklist,
    /// Where our own control site is, and the key of its marks.
    pub control: Option<(String, [u8; 32])>,
}

impl std::fmt::Debug for Care {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { rules, prices, blocked, .. } = self;
        f.debug_struct("Care").field("rules", rules).field("prices", prices).field("blocked", blocked).finish()
    }
}

#[derive(Default)]
pub(super) struct Reputes(Mutex<HashMap<DeviceId, (UnixMs, DeviceRepute)>>);

impl Reputes {
    /// As it was last looked up.
    pub(super) fn cv(&self, device: DeviceId) -> u64 {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&device).map_or(0, |(_, repute)| repute.cv())
    }
}

/// Decides which pages of a block get a validator that no page has.
pub(super) struct Traps(Option<(TrustRules, u64)>);

impl Traps {
    pub(super) fn draw(&self) -> Option<String> {
        self.0.filter(|(rules, cv)| rules.is_trapped(*cv, draw()))?;
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).ok()?;
        Some(format!("\"{:016x}\"", u64::from_le_bytes(bytes)))
    }
}

/// The task as the device gets it.
pub(super) fn with_trap(task: &PageTask, trap: Option<&String>) -> PageTask {
    match trap {
        Some(etag) => PageTask { etag: Some(etag.clone()), last_modified: None, ..task.clone() },
        None => task.clone(),
    }
}

/// From 0 to 1.
pub(super) fn draw() -> f64 {
    let mut bytes = [0; 4];
    // Without randomness everything is checked.
    if getrandom::fill(&mut bytes).is_err() {
        return 0.0;
    }
    f64::from(u32::from_le_bytes(bytes)) / (f64::from(u32::MAX) + 1.0)
}

impl Dispatcher {
    fn trust(&self) -> Option<&Arc<dyn Trust>> {
        self.options.care.trust.as_ref().filter(|_| self.options.care.rules.enabled)
    }

    pub(super) async fn repute(&self, device: DeviceId) -> Result<DeviceRepute> {
        let now = self.clock.now();
        let known = self.reputes.0.lock().unwrap_or_else(PoisonError::into_inner).get(&device).cloned();
        if let Some((_, repute)) = known.filter(|(at, _)| now.0 - at.0 < REPUTE_FOR_MS) {
            return Ok(repute);
        }
        let Some(trust) = self.trust() else { return Ok(DeviceRepute::default()) };
        let repute = trust.repute(device).await?;
        let mut all = self.reputes.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= DEVICES_MAX {
            all.clear();
        }
        all.insert(device, (now, repute.clone()));
        Ok(repute)
    }

    /// How far what this device brings is believed; `None` if nothing is checked here.
    pub(super) async fn watch(&self, device: &Device) -> Result<Option<Watch>> {
        let trusts = self.trust().is_some();
        if !trusts && !self.options.care.prices.is_on() {
            return Ok(None);
        }
        let (party, house) = (Party::of(device), device.is_of_the_house());
        if trusts && !party.trusted {
            self.repute(device.id).await?;
        }
        let rules = TrustRules { enabled: trusts, ..self.options.care.rules };
        Ok(Some(Watch { party, house, rules, ..Watch::default() }))
    }

    pub(super) async fn traps(&self, device: &Device) -> Result<Traps> {
        if self.trust().is_none() || device.is_trusted() {
            return Ok(Traps(None));
        }
        let repute = self.repute(device.id).await?;
        Ok(Traps(Some((self.options.care.rules, repute.cv()))))
    }

    /// Why a leased page is not for this device, if it is not: its site is blocked, or it is a check for somebody else.
    pub(super) fn pass_on(&self, device: &Device, case: &Case<'_>) -> Option<Settled> {
        let blocked = self.options.care.blocked.refuse(&case.task.url);
        let Some(check) = &case.task.check else {
            return blocked.map(|why| case.refuse(NOT_ASKED, why));
        };
        let late = case.now.0 - check.since.0 > self.options.care.rules.patience_ms;
        if blocked.is_some() || late || self.trust().is_none() {
            return Some(case.drop_it(lapsed(case)));
        }
        if check.suits(&Party::of(device)) {
            return None;
        }
        let run_at = UnixMs(case.now.0 + check.again_after_ms(case.now));
        self.reserved.keep(&case.task.url.site(), case.leased.token.task, check.clone(), case.now);
        Some(case.later("it is for another device", run_at))
    }

    /// Refuses what waits on sites that are blocked as a whole, before their robots.txt is asked for. Returns the others.
    pub(super) async fn without_blocked(&self, device: &Device, line: Vec<Ready>, now: UnixMs) -> Result<Vec<Ready>> {
        let refuses = |ready: &Ready| self.options.care.blocked.refuse_site(&ready.site).is_some();
        if !line.iter().any(refuses) {
            return Ok(line);
        }
        let (blocked, others): (Vec<Ready>, Vec<Ready>) = line.into_iter().partition(refuses);
        let lanes = blocked.iter().filter(|ready| ready.since <= now).map(|ready| ready.site.lane()).collect();
        let batch = Batch { lanes, run_max: REFUSED_STEP, most: REFUSED_STEP, lease_for: self.beyond() };
        if batch.lanes.is_empty() {
            return Ok(others);
        }
        let mut settled = Vec::new();
        for leased in self.lease_from(device, &batch).await? {
            let task = PageTask::from_payload(&leased.payload)?;
            let case = self.case(&leased, &task, 0, 0, None);
            settled.push(match self.options.care.blocked.refuse_site(&task.url.site()) {
                _ if leased.kind.as_str() == ROBOTS => case.drop_it(Settlement::Open),
                _ if task.check.is_some() => case.drop_it(lapsed(&case)),
                Some(why) => case.refuse(NOT_ASKED, why),
                None => case.release("its site is not blocked any more"),
            });
        }
        self.commit(None, settled, Tally::default()).await?;
        Ok(others)
    }
}

/// Nobody does this check.
pub(super) fn lapsed(case: &Case<'_>) -> Settlement {
    let Some(check) = &case.task.check else { return Settlement::Open };
    Settlement::Checked(Box::new(Settling {
        check: check.id,
        from: crate::trust::CheckState::Open,
        said: Claim::default(),
        page: None,
        finding: Finding::Lapsed,
    }))
}
