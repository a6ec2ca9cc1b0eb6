//! Figures: kept by each process, added up for the reader, forgotten in time.

use std::time::Duration;

use malla_notify::{
    Backlog, Counted, EndpointId, Figures, NewEndpoint, NewSubscription, Step, Subject, SubscriptionId,
    SubscriptionState,
};
use malla_queue::{Clock as _, Error, Scope, UnixMs};

use crate::harness::{House, START, act, done, failed, on_both_stores};
use crate::harness_notify::{new_endpoint, new_subscription};

on_both_stores!(
    what_a_process_says_again_replaces_what_it_said,
    processes_and_subjects_add_up,
    a_reader_sees_the_figures_of_its_groups,
    ranges_have_ends_and_limits,
    old_figures_are_forgotten_in_steps,
    recent_figures_come_in_the_order_asked_for,
    a_backlog_is_what_is_due_and_since_when,
);

const MINUTE: i64 = 60_000;

fn counted(subject: Subject, step: Step, begin: UnixMs, delivered: u64) -> Counted {
    Counted { subject, step, begin, figures: Figures { delivered, peak: delivered, ..Figures::default() } }
}

fn minute(subject: Subject, minute: i64, delivered: u64) -> Counted {
    counted(subject, Step::Minute, UnixMs(START.0 + minute * MINUTE), delivered)
}

fn sub(id: i64) -> Subject {
    Subject::Subscription(SubscriptionId(id))
}

impl House {
    async fn record(&self, process: &str, rows: Vec<Counted>) {
        self.statistics.record(process, rows).await.unwrap();
    }

    /// Beginnings, counted from the start, and deliveries of the first ten minutes.
    async fn minutes(&self, scope: &Scope, subject: Option<Subject>) -> Vec<(i64, u64)> {
        let to = START.plus(Duration::from_secs(600));
        let found = self.statistics.figures(scope, subject, Step::Minute, START, to).await.unwrap();
        found.into_iter().map(|(begin, figures)| ((begin.0 - START.0) / MINUTE, figures.delivered)).collect()
    }
}

async fn what_a_process_says_again_replaces_what_it_said(house: House) {
    house.record("a", vec![minute(sub(1), 0, 5), minute(sub(1), 1, 1)]).await;
    house.record("a", vec![minute(sub(1), 1, 2), minute(sub(1), 1, 3)]).await;
    assert_eq!(house.minutes(&Scope::All, None).await, [(0, 5), (1, 3)]);
    house.record("a", Vec::new()).await;
}

async fn processes_and_subjects_add_up(house: House) {
    let orders = house.wired("orders").await;
    let mirror = house.subscription("mirror", "orders").await;
    let other = house.wired("other").await;
    let of = |subscription: &malla_notify::Subscription| Subject::Subscription(subscription.id);
    let endpoint = Subject::Endpoint(orders.endpoint);
    house.record("a", vec![minute(of(&orders), 0, 1), minute(of(&mirror), 0, 10), minute(of(&other), 0, 100)]).await;
    house.record("b", vec![minute(of(&orders), 0, 2), minute(endpoint, 0, 1_000)]).await;
    assert_eq!(house.minutes(&Scope::All, Some(of(&orders))).await, [(0, 3)]);
    assert_eq!(house.minutes(&Scope::All, Some(endpoint)).await, [(0, 1_013)]);
    assert_eq!(house.minutes(&Scope::All, None).await, [(0, 1_113)]);
    let to = START.plus(Duration::from_secs(60));
    let found = house.statistics.figures(&Scope::All, None, Step::Minute, START, to).await.unwrap();
    assert_eq!(found[0].1.peak, 1_000, "peaks do not add up");
}

async fn a_reader_sees_the_figures_of_its_groups(house: House) {
    let group = house.group("sales").await;
    let made = house.notify.create_endpoint(NewEndpoint { group: Some(group), ..new_endpoint("ours") }, act("x")).await;
    let ours = made.unwrap();
    let new = NewSubscription { group: Some(group), ..new_subscription("ours", "ours") };
    let our_sub = house.notify.create_subscription(&Scope::All, new, act("x")).await.unwrap();
    let foreign = house.wired("foreign").await;
    let (endpoint, subscription) = (Subject::Endpoint(ours.id), Subject::Subscription(our_sub.id));
    let foreign = Subject::Subscription(foreign.id);
    house.record("a", vec![minute(endpoint, 0, 1), minute(subscription, 0, 2), minute(foreign, 0, 4)]).await;
    let mine = Scope::Groups(vec![group]);
    assert_eq!(house.minutes(&mine, None).await, [(0, 3)]);
    assert_eq!(house.minutes(&mine, Some(endpoint)).await, [(0, 3)]);
    assert_eq!(house.minutes(&mine, Some(subscription)).await, [(0, 2)]);
    assert_eq!(house.minutes(&mine, Some(foreign)).await, []);
    let nobody = Scope::Groups(Vec::new());
    assert_eq!(house.minutes(&nobody, None).await, []);
    assert_eq!(house.minutes(&nobody, Some(endpoint)).await, []);
}

async fn ranges_have_ends_and_limits(house: House) {
    house.record("a", (0..4).map(|at| minute(sub(1), at, 1)).collect()).await;
    house.record("a", vec![counted(sub(1), Step::Hour, Step::Hour.begin(START), 9)]).await;
    let ask = |from_s: u64, to_s: u64| {
        let at = |s| START.plus(Duration::from_secs(s));
        house.statistics.figures(
            &Scope::All,
            Some(Subject::Endpoint(EndpointId(7))),
            Step::Minute,
            at(from_s),
            at(to_s),
        )
    };
    assert_eq!(ask(0, 60).await.unwrap(), []);
    let at = |s| START.plus(Duration::from_secs(s));
    let found = house.statistics.figures(&Scope::All, None, Step::Minute, at(61), at(180)).await.unwrap();
    assert_eq!(found.iter().map(|(begin, _)| *begin).collect::<Vec<_>>(), [at(60), at(120)]);
    assert!(matches!(ask(60, 60).await, Err(Error::Invalid(_))));
    assert!(matches!(ask(0, 5_001 * 60).await, Err(Error::Invalid(_))));
}

async fn old_figures_are_forgotten_in_steps(house: House) {
    let now = house.clock.now();
    let aged =
        |step: Step, days: u64| counted(sub(1), step, step.begin(now.minus(Duration::from_secs(days * 86_400))), 1);
    let (old, young) = ([(Step::Minute, 4), (Step::Hour, 62), (Step::Day, 802)], [(Step::Minute, 1), (Step::Hour, 58)]);
    house.record("a", old.into_iter().chain(young).map(|(step, days)| aged(step, days)).collect()).await;
    assert_eq!(house.statistics.forget_figures(2).await.unwrap(), 2);
    assert_eq!(house.statistics.forget_figures(2).await.unwrap(), 1);
    assert_eq!(house.statistics.forget_figures(2).await.unwrap(), 0);
    let from = now.minus(Duration::from_secs(60 * 86_400));
    assert_eq!(house.statistics.figures(&Scope::All, None, Step::Hour, from, now).await.unwrap().len(), 1);
}

async fn recent_figures_come_in_the_order_asked_for(house: House) {
    house.record("a", vec![minute(sub(1), 0, 1), minute(sub(1), 5, 10), minute(sub(2), 5, 5)]).await;
    house.record("b", vec![minute(sub(1), 6, 100), minute(Subject::Endpoint(EndpointId(1)), 5, 7)]).await;
    let ids = [2, 3, 1].map(SubscriptionId);
    let from = START.plus(Duration::from_secs(5 * 60 + 30));
    let found = house.statistics.figures_since(&ids, from).await.unwrap();
    assert_eq!(found.iter().map(|figures| figures.delivered).collect::<Vec<_>>(), [5, 0, 110]);
}

async fn a_backlog_is_what_is_due_and_since_when(house: House) {
    let orders = house.wired("orders").await;
    let quiet = house.wired("quiet").await;
    assert_eq!(house.statistics.backlogs(&[]).await.unwrap(), []);
    let ids = [quiet.id, orders.id, SubscriptionId(99)];
    house.accept("orders", "1").await;
    house.wait(Duration::from_secs(10));
    house.accept("orders", "2").await;
    let waiting = |waiting, oldest| Backlog { waiting, oldest };
    let nothing = Backlog::default();
    assert_eq!(house.statistics.backlogs(&ids).await.unwrap(), [nothing, waiting(2, Some(START)), nothing]);
    let running = house.deliveries(9).await;
    assert_eq!(house.statistics.backlogs(&ids).await.unwrap()[1], nothing, "both run");
    house.finish(&running[0], failed()).await.unwrap();
    house.finish(&running[1], done()).await.unwrap();
    house.wait(Duration::from_secs(4));
    assert_eq!(house.statistics.backlogs(&ids).await.unwrap()[1], waiting(1, None), "its delay is not over");
    house.wait(Duration::from_secs(1));
    let due = START.plus(Duration::from_secs(15));
    assert_eq!(house.statistics.backlogs(&ids).await.unwrap()[1], waiting(1, Some(due)));
    house.set_state("orders", SubscriptionState::Suspended).await.unwrap();
    assert_eq!(house.statistics.backlogs(&ids).await.unwrap()[1], waiting(1, Some(due)));
}
