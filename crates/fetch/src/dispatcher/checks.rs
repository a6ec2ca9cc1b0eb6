//! Which results are checked, and what a fetch for a check shows.

use std::time::Duration;

use malla_queue::{Result, UnixMs};

use super::Dispatcher;
use super::care::{draw, lapsed};
use super::judge::Case;
use crate::trust::{CaseFile, Claim, Finding, Glance, Moved, Party, Settling, Statement, Watch, find};
use crate::{Answer, CheckedBody, Device, NOT_ASKED, NewPage, Page, Settled, Settlement, unpack_page};

/// How long what a newcomer says of a site's robots.txt holds.
const ROBOTS_OF_NEWCOMERS: Duration = Duration::from_secs(600);

impl Dispatcher {
    /// Settles a stranger's result, and notes whether it is checked.
    pub(super) fn watched(
        &self,
        watch: &mut Watch,
        case: &Case<'_>,
        trap: Option<&str>,
        answer: Answer,
        body: Option<CheckedBody>,
    ) -> Settled {
        let url = &case.task.url;
        if let Some(etag) = trap.filter(|_| answer.status == 304) {
            watch.lazy.push((url.clone(), etag.to_owned()));
            return case.release("its device said that the page has not changed, which it cannot know");
        }
        let conditional = trap.is_some() || !case.task.validators().is_empty();
        let hash = body.as_ref().map(|body| body.hash);
        let device = crate::DeviceId(watch.party.device);
        let glance = Glance { device, url, answer: &answer, body: hash, conditional, now: case.now };
        let odd = self.free.look(&glance);
        if let Some(why) = odd {
            tracing::info!(device = watch.party.name, %url, why, "a result is odd: it is checked");
        }
        let robots = case.task.robots_of.is_some().then(|| case.brought(&answer, body.as_ref()));
        let mut settled = case.settle(answer, body);
        let tells = match &settled.outcome {
            Settlement::Page { page, .. } => page.status != NOT_ASKED,
            Settlement::Unchanged { .. } | Settlement::Moved { .. } => case.task.robots_of.is_none(),
            Settlement::Robots { .. } => true,
            _ => false,
        };
        let cv = self.reputes.cv(device);
        // What differs by place is fetched there because of that: another place is no witness.
        let tells = tells && case.task.pin.is_none();
        let drawn = tells && (odd.is_some() || watch.rules.is_checked(cv, draw()));
        if let (true, Settlement::Moved { to }) = (tells, &settled.outcome) {
            let (task, from, to) = (settled.token.task, url.clone(), to.clone());
            watch.moved.push(Moved { task, from, to, drawn });
        }
        if drawn {
            if watch.rules.holds(cv) {
                // Nobody gets it from the cache before that either.
                let fresh_until = match &mut settled.outcome {
                    Settlement::Page { shelf: Some(shelf), .. } => {
                        Some(std::mem::replace(&mut shelf.fresh_until, UnixMs(0)))
                    }
                    // It is soon asked for again, by somebody else.
                    Settlement::Robots { robots, .. } => {
                        robots.until = robots.until.min(case.now.plus(ROBOTS_OF_NEWCOMERS));
                        None
                    }
                    _ => None,
                };
                watch.held.push((settled.token.task, fresh_until));
            }
            match robots {
                Some(page) => watch.robots.push((settled.token.task, url.clone(), page)),
                None => watch.drawn.push(settled.token.task),
            }
            self.send_for_known();
        }
        settled
    }

    /// Now and then somebody is sent for a page that we know: one of our own site, if there is one, or one that was checked
    /// before.
    fn send_for_known(&self) {
        let care = &self.options.care;
        let Some(trust) = care.trust.clone().filter(|_| care.rules.sends_to_control(draw())) else { return };
        let own = care.control.as_ref().filter(|_| draw() < 0.5).and_then(|(base, key)| {
            let mut nonce = [0; 16];
            getrandom::fill(&mut nonce).ok()?;
            let url = crate::control::address(base, nonce)?;
            let mark = crate::control::mark(key, url.as_url().path());
            Some((url, mark))
        });
        let lanes = self.lanes();
        // By itself: nobody waits for it, and if it is lost there will be others.
        tokio::spawn(async move {
            let sent = match own {
                Some((url, mark)) => trust.control(url, mark, lanes).await,
                None => trust.send_for_known(draw(), lanes).await.map(drop),
            };
            if let Err(error) = sent {
                tracing::warn!(%error, "nobody could be sent for a page that is known");
            }
        });
    }

    /// What a fetch for a check shows.
    pub(super) async fn compare(
        &self,
        device: &Device,
        case: &Case<'_>,
        answer: Answer,
        body: Option<CheckedBody>,
    ) -> Result<Settled> {
        let (Some(check), Some(trust)) = (&case.task.check, &self.options.care.trust) else {
            return Ok(case.drop_it(lapsed(case)));
        };
        let Some(file) = trust.case(check.id).await? else { return Ok(case.drop_it(Settlement::Open)) };
        let settled = case.settle(answer, body);
        let by = Party::of(device);
        let (said, page) = match &settled.outcome {
            Settlement::Open => return Ok(settled),
            Settlement::Moved { to } => {
                (Claim { by, status: 302, location: Some(to.url.to_string()), ..Claim::default() }, None)
            }
            Settlement::Page { page, .. } => {
                (Claim { by, status: page.status, ..Claim::default() }, Some(page.clone()))
            }
            _ => return Ok(case.drop_it(lapsed(case))),
        };
        let finding = find_in(&file, &said, page.as_ref())?;
        let from = file.check.state;
        let outcome = Settlement::Checked(Box::new(Settling { check: check.id, from, said, page, finding }));
        Ok(Settled { outcome, ..settled })
    }
}

/// A claim with the body behind it.
struct Told<'a> {
    claim: &'a Claim,
    body: Vec<u8>,
}

impl<'a> Told<'a> {
    /// `None` if its page is not kept any more.
    fn of(claim: Option<&'a Claim>, page: Option<&Page>) -> Result<Option<Self>> {
        let Some(claim) = claim else { return Ok(None) };
        Ok(match (claim.page, page) {
            (Some(_), None) => None,
            (_, page) => Some(Self { claim, body: page.map(unpack_page).transpose()?.unwrap_or_default() }),
        })
    }

    fn statement(&self) -> Statement<'_> {
        let Claim { by, status, location, unchanged, .. } = self.claim;
        let status = if *unchanged { 200 } else { *status };
        Statement { by, status, location: location.as_deref(), body: &self.body, unchanged: *unchanged }
    }
}

/// What the fetch shows, with the bodies that are behind the claims.
fn find_in(file: &CaseFile, said: &Claim, page: Option<&NewPage>) -> Result<Finding> {
    let check = &file.check;
    let body = page.and_then(|page| page.body.as_ref());
    let body = body.map(|body| crate::unpack(&body.packed, body.bytes)).transpose()?.unwrap_or_default();
    let told = Told { claim: said, body };
    let first = Told::of(check.first.as_ref(), file.first.as_ref())?;
    let second = Told::of(check.second.as_ref(), file.second.as_ref())?;
    let [first, second] = [&first, &second].map(|told| told.as_ref().map(Told::statement));
    Ok(find(check, first.as_ref(), second.as_ref(), &told.statement()))
}
