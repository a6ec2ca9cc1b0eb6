//! Checks of redirects, of robots.txt, and of pages that are known.

use malla_fetch::trust::{Check, CheckKind, CheckState, Claim, Finding, Moved, Party, Settling, Verdict, Watch};
use malla_fetch::{Device, KnownRobots, PageTask, Settlement};
use malla_queue::{Clock as _, UnixMs};

use super::trust::{verified, watch};
use crate::harness::{House, act, on_both_stores};
use crate::harness_fetch::{LANES, new_job, task_of, url};

on_both_stores!(
    who_waits_for_the_check_does_not_follow_before_it,
    a_forged_redirect_is_not_followed,
    what_a_stranger_says_of_a_robots_file_is_checked,
    a_stranger_is_sent_for_a_page_that_is_known,
);

const A: &str = "https://a.example/1";
const B: &str = "https://b.example/2";

/// A device says that the page which somebody waits for is at `to`.
async fn redirected(house: &House, by: &Device, to: &str, on_probation: bool) {
    let leased = house.lease_page().await;
    let (task, from) = (leased.token.task, task_of(&leased).url);
    let to = PageTask { hops: 1, ..PageTask::new(url(to)) };
    let settled = house.settled(&leased, Settlement::Moved { to: to.clone() });
    let held = if on_probation { vec![(task, None)] } else { Vec::new() };
    let watch = Watch { moved: vec![Moved { task, from, to, drawn: on_probation }], held, ..watch(by, &[]) };
    assert_eq!(house.commit_watched(by, watch, vec![settled]).await, [Ok(())]);
}

/// Another device says what it found for the check of a redirect.
async fn settle_redirect(house: &House, by: &Device, to: &str, finding: Finding) -> Check {
    let leased = house.lease_page().await;
    let check = task_of(&leased).check.expect("nobody follows before the check");
    let said = Claim { by: Party::of(by), status: 302, location: Some(to.to_owned()), ..Claim::default() };
    let from = house.last_check().await.state;
    let settling = Settling { check: check.id, from, said, page: None, finding };
    let settled = house.settled(&leased, Settlement::Checked(Box::new(settling)));
    assert_eq!(house.commit_watched(by, watch(by, &[]), vec![settled]).await, [Ok(())]);
    house.last_check().await
}

async fn who_waits_for_the_check_does_not_follow_before_it(house: House) {
    let (ana, bob) = (house.join("ana", "pi").await, house.join("bob", "pi").await);
    for (job, on_probation) in [(verified(&[A]), false), (new_job(&[A]), true)] {
        let job = house.ask_for(job).await;
        redirected(&house, &ana, B, on_probation).await;
        let check = settle_redirect(&house, &bob, B, Finding::Agreed).await;
        assert_eq!((check.state, check.held, check.hops), (CheckState::Agreed, true, 1));
        let leased = house.lease_page().await;
        let task = task_of(&leased);
        assert_eq!((task.url.as_str(), task.hops, task.check), (B, 1, None));
        house.settle(house.found(&leased, "there")).await;
        assert_eq!(house.texts(job.id).await, [(A.into(), "there".into())]);
        house.fetch.forget(vec![url(A).key(), url(B).key()], act("fetch.reset")).await.unwrap();
    }
    let hasty = house.ask(&[A]).await;
    redirected(&house, &ana, B, false).await;
    assert_eq!(task_of(&house.lease_page().await).url.as_str(), B, "who does not ask for a check follows at once");
    assert!(!house.job(hasty.id).await.is_over());
    house.verify().await;
}

async fn a_forged_redirect_is_not_followed(house: House) {
    let (ana, bob, own) =
        (house.join("ana", "pi").await, house.join("bob", "pi").await, house.join("malla", "server").await);
    let job = house.ask_for(verified(&[A])).await;
    redirected(&house, &ana, B, false).await;
    house.settle_check(&bob, "the truth", Finding::Differs).await;
    let check = house.settle_check(&own, "the truth", Finding::Judged(Verdict::FirstLied { hard: false })).await;
    assert_eq!(check.guilty, Some(ana.id));
    assert_eq!(house.texts(job.id).await, [(A.into(), "the truth".into())]);
    assert!(house.lease_pages().await.is_empty(), "nobody goes there");
    house.verify().await;
}

async fn what_a_stranger_says_of_a_robots_file_is_checked(house: House) {
    let (ana, bob) = (house.join("ana", "pi").await, house.join("bob", "pi").await);
    const ROBOTS: &str = "https://a.example/robots.txt";
    for (finding, is_kept) in [(Finding::Agreed, true), (Finding::Doubtful, false)] {
        house.ask(&[A]).await;
        let leased = house.lease_page().await;
        let page = malla_fetch::NewPage { url: ROBOTS.into(), ..house.new_page(&leased, 200, "Disallow: /") };
        let until = UnixMs(house.clock.now().0 + 60_000);
        let robots = KnownRobots { status: 200, text: b"Disallow: /".to_vec(), fetched_at: UnixMs(0), until };
        let settled = house.settled(&leased, Settlement::Robots { of: url(A).site(), robots, gap_ms: 0 });
        let watch = Watch { robots: vec![(leased.token.task, url(ROBOTS), page)], ..watch(&ana, &[]) };
        assert_eq!(house.commit_watched(&ana, watch, vec![settled]).await, [Ok(())]);
        let known = || async { house.fetch.site(&url(A).site()).await.unwrap().expect("it is known") };
        assert_eq!(known().await.robots.expect("it was told").until, until);
        let check = house.settle_check(&bob, "Disallow: /", finding).await;
        assert_eq!((check.url.as_str(), check.state.is_over()), (ROBOTS, true));
        let kept = known().await.robots.expect("the text stays").until;
        assert_eq!(kept == until, is_kept, "{finding:?}");
    }
}

async fn a_stranger_is_sent_for_a_page_that_is_known(house: House) {
    let (ana, bob, own) =
        (house.join("ana", "pi").await, house.join("bob", "pi").await, house.join("malla", "server").await);
    let send = || house.trust.send_for_known(1.0, LANES);
    assert!(!send().await.unwrap(), "nothing is known yet");
    house.ask(&[A]).await;
    house.bring_checked(&ana, "hello").await;
    assert!(!send().await.unwrap(), "not before it was checked");
    house.settle_check(&bob, "hello", Finding::Agreed).await;
    for (said, finding) in [("hello", Finding::Agreed), ("forged", Finding::Differs)] {
        assert!(send().await.unwrap());
        let task = house.last_check().await.task;
        let check = house.settle_check(&ana, said, finding).await;
        assert_eq!((check.kind, check.url.as_str()), (CheckKind::Known, A));
        assert_eq!(check.first.as_ref().map(|claim| claim.by.device), Some(ana.id.0));
        let file = house.trust.case(check.id).await.unwrap().expect("it is kept");
        assert!(file.first.is_some() && file.second.is_some(), "both can be compared");
        assert_eq!(check.task == task, finding == Finding::Agreed, "a mismatch is tried");
    }
    let check = house.settle_check(&own, "hello", Finding::Judged(Verdict::FirstLied { hard: false })).await;
    assert_eq!(check.guilty, Some(ana.id));
    assert!(send().await.unwrap());
    house.settle_check(&bob, "new", Finding::Differs).await;
    let check = house.settle_check(&own, "new", Finding::Judged(Verdict::SecondLied)).await;
    assert_eq!((check.state, check.guilty), (CheckState::Cleared, None), "the page has changed: nobody is to blame");
    house.verify().await;
}
