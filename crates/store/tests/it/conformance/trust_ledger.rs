//! Credit, quotas and the block-list.

use malla_fetch::blocklist::Blocked;
use malla_fetch::ledger::{Account, Prices};
use malla_fetch::quota::{DAY_MS, Used};
use malla_fetch::trust::{Party, TrustRules, Watch};
use malla_fetch::{Commit, Device, NewJob, Settled, Terms};
use malla_queue::{Clock as _, Error, GroupId, UnixMs};

use crate::harness::{House, act, on_both_stores};
use crate::harness_fetch::{LANES, anew, new_job};

on_both_stores!(
    pages_are_paid_for_in_the_commit_that_brings_them_and_once,
    settlements_at_the_same_time_sum_up_to_zero,
    answers_from_the_cache_have_a_price_of_their_own,
    a_pledge_is_given_back_when_its_device_rests,
    credit_is_given_once_under_one_key,
    old_entries_are_carried_forward,
    without_prices_nothing_is_written,
    the_block_list_is_kept,
    what_a_client_used_is_counted_by_day,
);

const A: &str = "https://a.example/1";
const B: &str = "https://b.example/2";
const PRICES: Prices = Prices { page: 1_000, cached: 100, share: 70, escrow_pages: 2 };

fn commit(device: &Device, settled: Vec<Settled>) -> Commit {
    let rules = TrustRules { enabled: false, ..TrustRules::default() };
    let watch = Some(Watch { party: Party::of(device), rules, house: device.is_of_the_house(), ..Watch::default() });
    Commit { device: Some(device.id), settled, lanes: LANES, watch, prices: PRICES, ..Commit::default() }
}

impl House {
    async fn micro(&self, account: &str) -> i64 {
        self.ledger.balance(&account.parse().expect("an account")).await.expect("the store answers")
    }

    async fn books_are_in_order(&self) {
        let audit = self.ledger.audit().await.expect("the store answers");
        assert!(audit.is_good(), "{audit:?}");
    }

    /// All that waits, brought by this device.
    async fn bring_all(&self, device: &Device) {
        let leased = self.lease_pages().await;
        let settled = leased.iter().map(|leased| self.found(leased, "hello")).collect();
        assert!(self.fetch.commit(commit(device, settled)).await.unwrap().iter().all(Result::is_ok));
    }
}

async fn pages_are_paid_for_in_the_commit_that_brings_them_and_once(house: House) {
    let ana = house.join("ana", "pi").await;
    house.ask_as(GroupId(1), &[A, B]).await;
    house.ask_as(GroupId(2), &[A]).await;
    house.ask(&[A]).await;
    let leased = house.lease_pages().await;
    let settled: Vec<Settled> = leased.iter().map(|leased| house.found(leased, "hello")).collect();
    for _ in 0..3 {
        house.fetch.commit(commit(&ana, settled.clone())).await.unwrap();
    }
    assert_eq!((house.micro("client:1").await, house.micro("client:2").await), (-2_000, -1_000));
    assert_eq!((house.micro("client:0").await, house.micro("escrow:1").await), (-1_000, 1_400));
    assert_eq!(house.micro("house").await, 2_600);
    let entries = house.ledger.statement(&Account::Client(Some(GroupId(1))), None, 9).await.unwrap();
    assert_eq!(entries.len(), 1, "one entry a client and commit");
    assert_eq!((entries[0].micro, entries[0].pages, entries[0].what.as_str()), (-2_000, 2, "pages"));
    house.ask(&["https://c.example/3"]).await;
    house.bring_all(&ana).await;
    assert_eq!((house.micro("escrow:1").await, house.micro("user:ana").await), (1_400, 700), "the pledge is full");
    let own = house.join("malla", "server").await;
    house.ask(&["https://d.example/4"]).await;
    house.bring_all(&own).await;
    assert_eq!(house.micro("user:malla").await, 0, "the house pays itself nothing");
    let audit = house.ledger.audit().await.unwrap();
    assert_eq!((audit.pages_charged, audit.pages_paid), (6, 3));
    house.books_are_in_order().await;
}

async fn settlements_at_the_same_time_sum_up_to_zero(house: House) {
    let house = std::sync::Arc::new(house);
    let mut devices = Vec::new();
    for name in 0..4 {
        devices.push(house.join(&format!("user-{name}"), "pi").await);
    }
    let urls: Vec<String> = (0..40).map(|n| format!("https://site-{n}.example/")).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    for group in 1..4 {
        house.ask_as(GroupId(group), &urls).await;
    }
    let leased = house.lease_pages().await;
    let mut commits = Vec::new();
    for (n, leased) in leased.iter().enumerate() {
        let (house, commit) = (house.clone(), commit(&devices[n % 4], vec![house.found(leased, "hello")]));
        commits.push(tokio::spawn(async move { house.fetch.commit(commit).await }));
    }
    for commit in commits {
        commit.await.unwrap().unwrap();
    }
    house.books_are_in_order().await;
    let audit = house.ledger.audit().await.unwrap();
    assert_eq!((audit.pages_charged, audit.pages_paid), (120, 40));
    for group in 1..4 {
        assert_eq!(house.micro(&format!("client:{group}")).await, -40_000);
    }
}

async fn answers_from_the_cache_have_a_price_of_their_own(house: House) {
    house.cache(A, "hello").await;
    let terms = Terms { prices: PRICES, ..Terms::default() };
    house.ask_for(NewJob { group: Some(GroupId(1)), terms, ..new_job(&[A, A]) }).await;
    assert_eq!((house.micro("client:1").await, house.micro("house").await), (-200, 200));
    house.ask_for(NewJob { terms, ..anew(&[A]) }).await;
    assert_eq!(house.micro("client:0").await, 0, "nothing is paid before it is there");
    house.books_are_in_order().await;
}

async fn a_pledge_is_given_back_when_its_device_rests(house: House) {
    let ana = house.join("ana", "pi").await;
    house.ask(&[A]).await;
    house.bring_all(&ana).await;
    let now = house.clock.now();
    assert_eq!(house.ledger.release(now).await.unwrap(), 0);
    assert_eq!(house.ledger.release(UnixMs(now.0 + 1)).await.unwrap(), 1);
    assert_eq!((house.micro("escrow:1").await, house.micro("user:ana").await), (0, 700));
    assert_eq!(house.ledger.release(UnixMs(now.0 + 1)).await.unwrap(), 0);
    house.books_are_in_order().await;
}

async fn credit_is_given_once_under_one_key(house: House) {
    let once = |fingerprint: &[u8]| malla_queue::Once {
        scope: "user:ana".into(),
        key: "k".into(),
        fingerprint: fingerprint.to_vec(),
        keep_for: std::time::Duration::from_secs(60),
    };
    let top_up = |fingerprint: &'static [u8]| {
        let act = malla_queue::Act { once: Some(once(fingerprint)), ..act("ledger.topup") };
        house.ledger.top_up(Account::Client(Some(GroupId(1))), 5_000, "May".into(), act)
    };
    for _ in 0..2 {
        assert_eq!(top_up(b"1").await.unwrap().micro, 5_000);
    }
    assert_eq!(top_up(b"2").await, Err(Error::KeyReused));
    assert_eq!((house.micro("client:1").await, house.micro("world").await), (5_000, -5_000));
    house.books_are_in_order().await;
}

async fn old_entries_are_carried_forward(house: House) {
    let top_up = |micro| house.ledger.top_up(Account::House, micro, String::new(), act("ledger.topup"));
    top_up(5).await.unwrap();
    house.wait(std::time::Duration::from_secs(60));
    let before = house.clock.now();
    top_up(7).await.unwrap();
    assert_eq!(house.ledger.carry_forward(before, 10).await.unwrap(), 2);
    assert_eq!(house.ledger.carry_forward(before, 10).await.unwrap(), 0);
    assert_eq!(house.ledger.statement(&Account::House, None, 9).await.unwrap().len(), 1);
    assert_eq!(house.micro("house").await, 12);
    house.books_are_in_order().await;
}

async fn without_prices_nothing_is_written(house: House) {
    let ana = house.join("ana", "pi").await;
    house.ask(&[A]).await;
    let leased = house.lease_page().await;
    let commit = Commit { prices: Prices::default(), ..commit(&ana, vec![house.found(&leased, "hello")]) };
    house.fetch.commit(commit).await.unwrap();
    let audit = house.ledger.audit().await.unwrap();
    assert_eq!((audit.accounts, audit.entries), (0, 0));
}

async fn the_block_list_is_kept(house: House) {
    let blocked = |site: &str, why: &str| Blocked {
        pattern: site.parse().expect("a pattern"),
        why: why.into(),
        contact: Some("owner@b.example".into()),
        by: "user:ana".into(),
        at: UnixMs(0),
    };
    for (site, why) in [("b.example", "first"), ("a.example/x", "path"), ("b.example", "second")] {
        house.blocking.block_site(blocked(site, why), act("site.block")).await.unwrap();
    }
    let listed = house.blocking.blocked_sites().await.unwrap();
    let shown: Vec<(String, &str)> =
        listed.iter().map(|blocked| (blocked.pattern.to_string(), blocked.why.as_str())).collect();
    assert_eq!(shown, [("a.example/x".into(), "path"), ("b.example".into(), "second")]);
    let pattern = "b.example".parse().expect("a pattern");
    house.blocking.unblock_site(&pattern, act("site.unblock")).await.unwrap();
    let again = house.blocking.unblock_site(&pattern, act("site.unblock")).await;
    assert!(matches!(again, Err(Error::NotFound(_))));
}

async fn what_a_client_used_is_counted_by_day(house: House) {
    let (today, tomorrow) = (UnixMs(10 * DAY_MS + 5), UnixMs(11 * DAY_MS));
    for (pages, bytes) in [(3, 0), (0, 500)] {
        house.quotas.use_up("client:1", Used { pages, bytes }, today).await.unwrap();
    }
    assert_eq!(house.quotas.used("client:1", today).await.unwrap(), Used { pages: 3, bytes: 500 });
    assert_eq!(house.quotas.used("client:2", today).await.unwrap(), Used::default());
    assert_eq!(house.quotas.used("client:1", tomorrow).await.unwrap(), Used::default());
}
