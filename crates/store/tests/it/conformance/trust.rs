//! Checks, verdicts and what follows from them.

use malla_fetch::ledger::{Account, Prices};
use malla_fetch::trust::{Check, CheckState, Claim, Finding, Moved, Party, Settling, TrustRules, Verdict, Watch};
use malla_fetch::{Commit, Device, NewJob, PageTask, Settled, Settlement, Terms};
use malla_queue::{Error, Leased, Result, Scope, UnixMs};

use crate::harness::{House, act, on_both_stores};
use crate::harness_fetch::{LANES, new_job, task_of, url};

on_both_stores!(
    a_drawn_result_is_told_at_once_and_fetched_again_for_its_check,
    who_waits_for_the_check_is_told_when_it_has_ended,
    a_mismatch_calls_a_trusted_device_before_anybody_is_blamed,
    a_conviction_blocks_forfeits_and_evicts_together,
    what_a_device_brings_beside_its_conviction_is_forfeited_or_refused,
    who_waits_for_the_check_is_told_the_truth,
    a_verdict_counts_once,
    an_acquitted_device_is_let_in_again,
    a_lazy_device_is_tried,
    a_redirect_can_be_checked,
    a_report_is_a_trial,
    a_check_that_nobody_did_lapses,
    a_result_on_probation_is_told_and_cached_after_its_check,
    a_forged_result_on_probation_reaches_nobody,
    verdicts_at_the_same_time_all_count,
    what_a_convicted_device_brought_is_fetched_again,
    a_device_of_the_operator_is_never_blamed,
    the_key_of_the_control_site_is_one,
    a_page_of_the_control_site_is_for_strangers,
);

const A: &str = "https://a.example/1";
const B: &str = "https://b.example/2";
/// After so many, each on a site of its own, a device is convicted.
const LIES: u32 = 6;

pub(super) fn watch(device: &Device, drawn: &[&Leased]) -> Watch {
    let drawn = drawn.iter().map(|leased| leased.token.task).collect();
    Watch { party: Party::of(device), rules: TrustRules::default(), drawn, ..Watch::default() }
}

impl House {
    pub(super) async fn commit_watched(&self, device: &Device, watch: Watch, settled: Vec<Settled>) -> Vec<Result<()>> {
        let commit = Commit { device: Some(device.id), settled, lanes: LANES, watch: Some(watch), ..Commit::default() };
        self.fetch.commit(commit).await.expect("the store answers")
    }

    /// A device brings the page that is asked for, and it is checked.
    pub(super) async fn bring_checked(&self, device: &Device, text: &str) -> Check {
        let leased = self.lease_page().await;
        let settled = self.found(&leased, text);
        assert_eq!(self.commit_watched(device, watch(device, &[&leased]), vec![settled]).await, [Ok(())]);
        self.last_check().await
    }

    pub(super) async fn last_check(&self) -> Check {
        self.trust.checks(None, None, 1).await.expect("lists").remove(0)
    }

    /// A fetch for the last check, with what it showed.
    pub(super) async fn settle_check(&self, by: &Device, text: &str, finding: Finding) -> Check {
        let settled = self.check_settled(by, text, finding).await;
        assert_eq!(self.commit_watched(by, watch(by, &[]), vec![settled]).await, [Ok(())]);
        self.last_check().await
    }

    async fn check_settled(&self, by: &Device, text: &str, finding: Finding) -> Settled {
        let leased = self.lease_page().await;
        let check = task_of(&leased).check.expect("a check's task");
        let page = self.new_page(&leased, 200, text);
        let said = Claim { by: Party::of(by), status: 200, ..Claim::default() };
        let from = self.last_check().await.state;
        let settling = Settling { check: check.id, from, said, page: Some(page), finding };
        self.settled(&leased, Settlement::Checked(Box::new(settling)))
    }

    /// Lets a device lie until it is convicted.
    async fn convict(&self, liar: &Device, other: &Device, house: &Device) {
        for site in 0..LIES {
            let verdict = self.lie(liar, other, house, site).await;
            assert_eq!(self.commit_watched(house, watch(house, &[]), vec![verdict]).await, [Ok(())]);
            let check = self.last_check().await;
            assert_eq!((check.state, check.guilty), (CheckState::Upheld, Some(liar.id)));
        }
    }

    /// Lets a device lie. Returns the verdict, to be committed by the house.
    async fn lie(&self, liar: &Device, other: &Device, house: &Device, site: u32) -> Settled {
        self.ask(&[&format!("https://site-{site}.example/")]).await;
        self.bring_checked(liar, &format!("forged {site}")).await;
        self.settle_check(other, "true", Finding::Differs).await;
        self.check_settled(house, "true", Finding::Judged(Verdict::FirstLied { hard: false })).await
    }
}

pub(super) fn verified(urls: &[&str]) -> NewJob {
    NewJob { terms: Terms { verified: true, ..Terms::default() }, ..new_job(urls) }
}

async fn a_drawn_result_is_told_at_once_and_fetched_again_for_its_check(house: House) {
    let (ana, bob) = (house.join("ana", "pi").await, house.join("bob", "pi").await);
    let job = house.ask(&[A]).await;
    let check = house.bring_checked(&ana, "hello").await;
    assert_eq!(house.texts(job.id).await, [(A.into(), "hello".into())]);
    assert!(!house.answers(job.id).await[0].page.verified);
    assert_eq!((check.state, check.url.as_str()), (CheckState::Open, A));
    let check = house.settle_check(&bob, "hello", Finding::Agreed).await;
    assert_eq!(check.state, CheckState::Agreed);
    assert!(house.answers(job.id).await[0].page.verified);
    assert_eq!(house.answers(job.id).await.len(), 1);
    for device in [&ana, &bob] {
        let repute = house.trust.repute(device.id).await.unwrap();
        assert_eq!((repute.own.cv, repute.owner.cv, repute.cv()), (1, 1, 1), "both were checked");
    }
    assert!(house.lease_pages().await.is_empty());
    house.verify().await;
}

async fn who_waits_for_the_check_is_told_when_it_has_ended(house: House) {
    let (ana, bob) = (house.join("ana", "pi").await, house.join("bob", "pi").await);
    let (hasty, careful) = (house.ask(&[A]).await, house.ask_for(verified(&[A])).await);
    let leased = house.lease_page().await;
    let settled = house.found(&leased, "hello");
    assert_eq!(house.commit_watched(&ana, watch(&ana, &[]), vec![settled]).await, [Ok(())]);
    assert_eq!(house.answers(hasty.id).await.len(), 1);
    assert!(house.answers(careful.id).await.is_empty(), "nobody drew it, and it is checked all the same");
    house.settle_check(&bob, "hello", Finding::Agreed).await;
    assert_eq!(house.texts(careful.id).await, [(A.into(), "hello".into())]);
    assert!(house.job(careful.id).await.is_over());
    let again = house.ask_for(verified(&[A])).await;
    assert_eq!(house.answers(again.id).await.len(), 1, "what was checked is given from the cache");
    house.verify().await;
}

async fn a_mismatch_calls_a_trusted_device_before_anybody_is_blamed(house: House) {
    let (ana, bob, own) =
        (house.join("ana", "pi").await, house.join("bob", "pi").await, house.join("malla", "server").await);
    house.ask(&[A]).await;
    house.bring_checked(&ana, "forged").await;
    let check = house.settle_check(&bob, "true", Finding::Differs).await;
    assert_eq!((check.state, check.guilty), (CheckState::Trial, None));
    assert_eq!(house.trust.repute(ana.id).await.unwrap().own.strikes, 0);
    assert_eq!(house.trust.checks_waiting().await.unwrap(), 1);
    let check = house.settle_check(&own, "true", Finding::Judged(Verdict::FirstLied { hard: false })).await;
    assert_eq!((check.state, check.guilty), (CheckState::Upheld, Some(ana.id)));
    let (ana, bob) = (house.trust.repute(ana.id).await.unwrap(), house.trust.repute(bob.id).await.unwrap());
    assert_eq!((ana.own.strikes, ana.own.cv, ana.own.convicted, bob.own.cv), (1, 0, false, 1));
    assert_eq!(house.trust.checks_waiting().await.unwrap(), 0);
}

async fn a_conviction_blocks_forfeits_and_evicts_together(house: House) {
    let (ana, bob, own) =
        (house.join("ana", "pi").await, house.join("bob", "pi").await, house.join("malla", "server").await);
    house.ask(&[A]).await;
    let leased = house.lease_page().await;
    house.commit_watched(&ana, watch(&ana, &[]), vec![house.found(&leased, "perhaps forged too")]).await;
    house.convict(&ana, &bob, &own).await;
    let repute = house.trust.repute(ana.id).await.unwrap();
    assert!(repute.own.convicted && repute.own.reason.is_some());
    assert!(house.device(ana.id).await.blocked);
    assert!(!house.device(bob.id).await.blocked);
    assert_eq!(house.fetch.cache_size().await.unwrap().entries, 0, "all that it brought is gone");
    let again = house.ask(&[A]).await;
    assert!(house.answers(again.id).await.is_empty(), "it is fetched again");
    let filter = malla_access::AuditFilter::default();
    let convicted = house.access.audit(&Scope::All, &filter, None, 100).await.unwrap();
    assert!(convicted.iter().any(|line| line.action == "device.convict"), "{convicted:?}");
    house.verify().await;
}

async fn what_a_device_brings_beside_its_conviction_is_forfeited_or_refused(house: House) {
    let (ana, bob, own) =
        (house.join("ana", "pi").await, house.join("bob", "pi").await, house.join("malla", "server").await);
    for site in 1..LIES {
        let verdict = house.lie(&ana, &bob, &own, site).await;
        house.commit_watched(&own, watch(&own, &[]), vec![verdict]).await;
    }
    let verdict = house.lie(&ana, &bob, &own, LIES).await;
    let urls: Vec<String> = (0..30).map(|n| format!("https://beside-{n}.example/")).collect();
    let job = house.ask(&urls.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let prices = Prices { page: 1_000, cached: 0, share: 70, escrow_pages: 100 };
    let brought = |device: &Device, settled| {
        let (device, watch) = (Some(device.id), Some(watch(device, &[])));
        Commit { device, settled: vec![settled], lanes: LANES, watch, prices, ..Commit::default() }
    };
    let mut commits: Vec<Commit> =
        house.lease_pages().await.iter().map(|leased| brought(&ana, house.found(leased, "late"))).collect();
    commits.insert(commits.len() / 3, brought(&own, verdict));
    let house = std::sync::Arc::new(house);
    let commits = commits.into_iter().map(|commit| {
        let house = house.clone();
        tokio::spawn(async move { house.fetch.commit(commit).await })
    });
    let (mut taken, mut refused) = (0, 0);
    for commit in commits.collect::<Vec<_>>() {
        match commit.await.unwrap().unwrap()[..] {
            [Ok(())] => taken += 1,
            [Err(Error::LeaseLost(_))] => refused += 1,
            ref other => panic!("{other:?}"),
        }
    }
    assert_eq!(taken + refused, 31);
    assert!(house.device(ana.id).await.blocked);
    assert_eq!(house.ledger.balance(&Account::Escrow(ana.id.0)).await.unwrap(), 0, "{taken} taken, {refused} refused");
    assert_eq!(house.fetch.cache_size().await.unwrap().entries, 0, "all that it brought is gone");
    assert_eq!(house.answers(job.id).await.len(), taken - 1);
    assert!(house.ledger.audit().await.unwrap().is_good());
    house.verify().await;
}

async fn who_waits_for_the_check_is_told_the_truth(house: House) {
    let (ana, bob, own) =
        (house.join("ana", "pi").await, house.join("bob", "pi").await, house.join("malla", "server").await);
    let careful = house.ask_for(verified(&[A])).await;
    house.bring_checked(&ana, "forged").await;
    house.settle_check(&bob, "true", Finding::Differs).await;
    assert!(house.answers(careful.id).await.is_empty());
    house.settle_check(&own, "the truth", Finding::Judged(Verdict::FirstLied { hard: false })).await;
    assert_eq!(house.texts(careful.id).await, [(A.into(), "the truth".into())]);
    house.verify().await;
}

async fn a_verdict_counts_once(house: House) {
    let (ana, bob) = (house.join("ana", "pi").await, house.join("bob", "pi").await);
    house.ask(&[A]).await;
    house.bring_checked(&ana, "hello").await;
    let leased = house.lease_page().await;
    let check = task_of(&leased).check.expect("a check's task");
    let said = Claim { by: Party::of(&bob), status: 200, ..Claim::default() };
    let settling = Settling { check: check.id, from: CheckState::Open, said, page: None, finding: Finding::Agreed };
    let settled = house.settled(&leased, Settlement::Checked(Box::new(settling)));
    for _ in 0..3 {
        assert_eq!(house.commit_watched(&bob, watch(&bob, &[]), vec![settled.clone()]).await, [Ok(())]);
    }
    assert_eq!(house.trust.repute(ana.id).await.unwrap().own.cv, 1);
}

async fn an_acquitted_device_is_let_in_again(house: House) {
    let (ana, bob, own) =
        (house.join("ana", "pi").await, house.join("bob", "pi").await, house.join("malla", "server").await);
    let acquit = |id| house.trust.acquit(&Scope::All, id, TrustRules::default(), act("device.acquit"));
    assert!(matches!(acquit(ana.id).await, Err(Error::Conflict(_))));
    house.convict(&ana, &bob, &own).await;
    let repute = acquit(ana.id).await.unwrap();
    assert_eq!((repute.own.convicted, repute.own.strikes, repute.own.cv), (false, 0, 0));
    assert!(!house.device(ana.id).await.blocked);
    let reputes = house.trust.reputes(&Scope::All).await.unwrap();
    assert_eq!(reputes.len(), 3);
    assert_eq!(house.trust.checks(Some(bob.id), None, 9).await.unwrap().len(), 6);
}

async fn a_lazy_device_is_tried(house: House) {
    let (ana, own) = (house.join("ana", "pi").await, house.join("malla", "server").await);
    house.ask(&[A]).await;
    let leased = house.lease_page().await;
    let lazy = vec![(task_of(&leased).url, "\"no page\"".to_owned())];
    let given_back = malla_queue::Verdict::Released { note: "lazy".into() };
    let ending = house.ending(&leased, given_back);
    let settled = Settled { token: leased.token, ending, outcome: Settlement::Open, seen: None };
    let watch = Watch { lazy, ..watch(&ana, &[]) };
    assert_eq!(house.commit_watched(&ana, watch, vec![settled]).await, [Ok(())]);
    let waiting = house.lease_pages().await;
    let trial = waiting.iter().find(|leased| task_of(leased).check.is_some()).expect("a trial");
    assert_eq!(task_of(trial).etag.as_deref(), Some("\"no page\""));
    assert!(task_of(trial).check.is_some_and(|check| check.trusted));
    let said = Claim { by: Party::of(&own), status: 200, ..Claim::default() };
    let (check, finding) = (house.last_check().await.id, Finding::Judged(Verdict::FirstLied { hard: true }));
    let settling = Settling { check, from: CheckState::Trial, said, page: None, finding };
    let settled = house.settled(trial, Settlement::Checked(Box::new(settling)));
    assert_eq!(house.commit_watched(&own, Watch { house: true, ..Watch::default() }, vec![settled]).await, [Ok(())]);
    let repute = house.trust.repute(ana.id).await.unwrap();
    assert!(repute.own.strikes == 1 && !house.device(ana.id).await.blocked, "nobody is convicted on one");
}

async fn a_redirect_can_be_checked(house: House) {
    let ana = house.join("ana", "pi").await;
    house.ask(&[A]).await;
    let leased = house.lease_page().await;
    let task = task_of(&leased);
    let to = PageTask { hops: 1, ..PageTask::new(url(B)) };
    let settled = house.settled(&leased, Settlement::Moved { to: to.clone() });
    let moved = Moved { task: leased.token.task, from: task.url, to, drawn: true };
    let watch = Watch { moved: vec![moved], ..watch(&ana, &[]) };
    assert_eq!(house.commit_watched(&ana, watch, vec![settled]).await, [Ok(())]);
    let check = house.last_check().await;
    assert_eq!(check.first.and_then(|claim| claim.location).as_deref(), Some(B));
    assert_eq!(house.lease_pages().await.len(), 2, "the other page, and this one once more");
}

async fn a_report_is_a_trial(house: House) {
    let (ana, own) = (house.join("ana", "pi").await, house.join("malla", "server").await);
    let job = house.ask(&[A]).await;
    let report = |n| house.trust.report(&Scope::All, job.id, n, LANES, act("fetch.report"));
    assert!(matches!(report(1).await, Err(Error::NotFound(_))));
    let leased = house.lease_page().await;
    house.commit_watched(&ana, watch(&ana, &[]), vec![house.found(&leased, "forged")]).await;
    let check = report(1).await.unwrap();
    assert_eq!(check.first.as_ref().map(|claim| claim.by.device), Some(ana.id.0));
    let waiting = house.lease_page().await;
    assert!(task_of(&waiting).check.is_some_and(|check| check.trusted && !check.suits(&Party::of(&ana))));
    let said = Claim { by: Party::of(&own), status: 200, ..Claim::default() };
    let settling = Settling { check: check.id, from: CheckState::Open, said, page: None, finding: Finding::Differs };
    let settled = house.settled(&waiting, Settlement::Checked(Box::new(settling)));
    house.commit_watched(&own, Watch { house: true, ..Watch::default() }, vec![settled]).await;
    assert_eq!(house.last_check().await.state, CheckState::Trial, "even a trusted device is not believed at once");
    house.cache(B, "ours").await;
    let own_page = house.ask(&[B]).await;
    let refused = house.trust.report(&Scope::All, own_page.id, 1, LANES, act("fetch.report")).await;
    assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
}

async fn a_check_that_nobody_did_lapses(house: House) {
    let ana = house.join("ana", "pi").await;
    let careful = house.ask_for(verified(&[A])).await;
    house.bring_checked(&ana, "hello").await;
    let leased = house.lease_page().await;
    let check = task_of(&leased).check.expect("a check's task").id;
    let (said, finding) = (Claim::default(), Finding::Lapsed);
    let settling = Settling { check, from: CheckState::Open, said, page: None, finding };
    house.settle(house.settled(&leased, Settlement::Checked(Box::new(settling)))).await;
    assert_eq!(house.last_check().await.state, CheckState::Lapsed);
    let answers = house.answers(careful.id).await;
    assert!(answers.len() == 1 && !answers[0].page.verified, "told in the end, as what it is");
    assert_eq!(house.trust.repute(ana.id).await.unwrap().own.checked, 0);
}

async fn the_key_of_the_control_site_is_one(house: House) {
    assert_eq!(house.trust.control_key([1; 32]).await.unwrap(), [1; 32]);
    assert_eq!(house.trust.control_key([2; 32]).await.unwrap(), [1; 32]);
}

async fn a_page_of_the_control_site_is_for_strangers(house: House) {
    let (ana, own) = (house.join("ana", "pi").await, house.join("malla", "server").await);
    house.trust.control(crate::harness_fetch::url(A), "mark".into(), LANES).await.unwrap();
    let leased = house.lease_page().await;
    let check = task_of(&leased).check.expect("a check's task");
    assert!(check.suits(&Party::of(&ana)) && !check.suits(&Party::of(&own)));
    let said = Claim { by: Party::of(&ana), status: 200, ..Claim::default() };
    let settling = Settling { check: check.id, from: CheckState::Open, said, page: None, finding: Finding::Agreed };
    let settled = house.settled(&leased, Settlement::Checked(Box::new(settling)));
    house.commit_watched(&ana, watch(&ana, &[]), vec![settled]).await;
    assert_eq!(house.trust.repute(ana.id).await.unwrap().own.cv, 1);
}

/// A result that waits for its check.
async fn bring_on_probation(house: &House, device: &Device, text: &str) -> Check {
    let leased = house.lease_page().await;
    let mut settled = house.found(&leased, text);
    let Settlement::Page { shelf: Some(shelf), .. } = &mut settled.outcome else { panic!("it can be cached") };
    let fresh_until = std::mem::replace(&mut shelf.fresh_until, UnixMs(0));
    let watch = Watch { held: vec![(leased.token.task, Some(fresh_until))], ..watch(device, &[&leased]) };
    assert_eq!(house.commit_watched(device, watch, vec![settled]).await, [Ok(())]);
    house.last_check().await
}

async fn a_result_on_probation_is_told_and_cached_after_its_check(house: House) {
    let (ana, bob) = (house.join("ana", "pi").await, house.join("bob", "pi").await);
    let job = house.ask(&[A]).await;
    let check = bring_on_probation(&house, &ana, "hello").await;
    assert!(check.held && house.answers(job.id).await.is_empty());
    let meanwhile = house.ask(&[A]).await;
    assert!(house.answers(meanwhile.id).await.is_empty(), "the cache does not give it either");
    house.wait(std::time::Duration::from_millis(1_001));
    assert_eq!(house.trust.checks_waiting().await.unwrap(), 1, "somebody waits for it");
    let tasks = house.lease_pages().await;
    let leased = tasks.iter().find(|leased| task_of(leased).check.is_some()).expect("the check's task");
    let said = Claim { by: Party::of(&bob), status: 200, ..Claim::default() };
    let settling = Settling { check: check.id, from: CheckState::Open, said, page: None, finding: Finding::Agreed };
    let settled = house.settled(leased, Settlement::Checked(Box::new(settling)));
    assert_eq!(house.commit_watched(&bob, watch(&bob, &[]), vec![settled]).await, [Ok(())]);
    assert_eq!(house.texts(job.id).await, [(A.into(), "hello".into())]);
    let later = house.ask(&[A]).await;
    assert_eq!(house.texts(later.id).await, [(A.into(), "hello".into())], "and then the cache does");
    house.verify().await;
}

async fn a_forged_result_on_probation_reaches_nobody(house: House) {
    let (ana, bob, own) =
        (house.join("ana", "pi").await, house.join("bob", "pi").await, house.join("malla", "server").await);
    let job = house.ask(&[A]).await;
    bring_on_probation(&house, &ana, "forged").await;
    house.settle_check(&bob, "moved", Finding::Differs).await;
    // The truth is no page: those who wait go on waiting for one.
    let leased = house.lease_page().await;
    let said = Claim { by: Party::of(&own), status: 302, ..Claim::default() };
    let (check, finding) = (house.last_check().await.id, Finding::Judged(Verdict::FirstLied { hard: false }));
    let settling = Settling { check, from: CheckState::Trial, said, page: None, finding };
    let settled = house.settled(&leased, Settlement::Checked(Box::new(settling)));
    assert_eq!(house.commit_watched(&own, watch(&own, &[]), vec![settled]).await, [Ok(())]);
    assert_eq!(house.fetch.cache_size().await.unwrap().entries, 0, "what was found to be forged is forgotten");
    assert!(house.answers(job.id).await.is_empty());
    let again = house.lease_page().await;
    assert!(task_of(&again).check.is_none());
    house.settle(house.found(&again, "the truth")).await;
    assert_eq!(house.texts(job.id).await, [(A.into(), "the truth".into())]);
    house.verify().await;
}

async fn verdicts_at_the_same_time_all_count(house: House) {
    let (house, urls) = (std::sync::Arc::new(house), (0..20).map(|n| format!("https://site-{n}.example/")));
    let (ana, bob) = (house.join("ana", "pi").await, house.join("bob", "pi").await);
    let urls: Vec<String> = urls.collect();
    house.ask(&urls.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let leased = house.lease_pages().await;
    let drawn: Vec<&Leased> = leased.iter().collect();
    let settled = leased.iter().map(|leased| house.found(leased, "hello")).collect();
    house.commit_watched(&ana, watch(&ana, &drawn), settled).await;
    let mut commits = Vec::new();
    for leased in house.lease_pages().await {
        let check = task_of(&leased).check.expect("a check's task").id;
        let said = Claim { by: Party::of(&bob), status: 200, ..Claim::default() };
        let settling = Settling { check, from: CheckState::Open, said, page: None, finding: Finding::Agreed };
        let settled = house.settled(&leased, Settlement::Checked(Box::new(settling)));
        let (house, bob) = (house.clone(), bob.clone());
        commits.push(tokio::spawn(async move { house.commit_watched(&bob, watch(&bob, &[]), vec![settled]).await }));
    }
    for commit in commits {
        assert_eq!(commit.await.unwrap(), [Ok(())]);
    }
    for device in [&ana, &bob] {
        let repute = house.trust.repute(device.id).await.unwrap();
        assert_eq!((repute.own.cv, repute.owner.cv), (20, 20));
    }
}

async fn what_a_convicted_device_brought_is_fetched_again(house: House) {
    let (ana, bob, own) =
        (house.join("ana", "pi").await, house.join("bob", "pi").await, house.join("malla", "server").await);
    house.ask(&[A, B]).await;
    let leased = house.lease_pages().await;
    let settled = leased.iter().map(|leased| house.found(leased, "perhaps forged")).collect();
    house.commit_watched(&ana, watch(&ana, &[]), settled).await;
    assert_eq!(house.trust.refetch_next().await.unwrap(), None);
    house.convict(&ana, &bob, &own).await;
    let next = house.trust.refetch_next().await.unwrap().expect("there is something to do");
    let mut urls = next.urls.clone();
    urls.retain(|url| url == A || url == B);
    urls.sort_unstable();
    assert_eq!((urls, next.device), (vec![A.to_owned(), B.to_owned()], ana.id));
    house.trust.refetched(next.id).await.unwrap();
    assert_eq!(house.trust.refetch_next().await.unwrap(), None);
}

async fn a_device_of_the_operator_is_never_blamed(house: House) {
    let ana = house.join("ana", "pi").await;
    let about = malla_fetch::About { own: true, ..malla_fetch::About::default() };
    let ours = Device { about, ..house.join("root", "desk").await };
    house.ask(&[A]).await;
    house.bring_checked(&ana, "hello").await;
    house.settle_check(&ours, "something else", Finding::Differs).await;
    house.settle_check(&ours, "hello", Finding::Judged(Verdict::SecondLied)).await;
    assert_eq!(house.trust.repute(ours.id).await.unwrap().own.strikes, 0);
    assert_eq!(house.trust.repute(ana.id).await.unwrap().own.cv, 1);
    let leased = house.ask(&[B]).await;
    let page = house.lease_page().await;
    house.commit_watched(&ours, watch(&ours, &[&page]), vec![house.found(&page, "ours")]).await;
    assert_eq!(house.texts(leased.id).await, [(B.into(), "ours".into())]);
    assert!(house.lease_pages().await.is_empty(), "nothing of it is checked");
}
