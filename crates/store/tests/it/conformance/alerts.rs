//! Alerts: made, changed, fired once, resolved once.

use std::sync::Arc;
use std::time::Duration;

use malla_notify::{
    ALERT, ALERT_ROOM, Alert, AlertSpec, Channel, Counted, Figures, NewAlert, Rule, Step, Subject, Subscription,
    SubscriptionState, Watch, check_subject, test_notices,
};
use malla_queue::{Clock as _, Error, GroupId, Kind, Scope};
use serde_json::Value;

use crate::harness::{House, act, done, on_both_stores};
use crate::harness_notify::new_subscription;

on_both_stores!(
    an_alert_is_made_changed_and_deleted,
    alerts_of_other_groups_do_not_exist,
    an_alert_fires_once_however_many_look,
    failures_fire_and_are_resolved,
    a_quiet_period_is_kept,
    a_backlog_fires_when_it_is_old,
    a_lane_is_stuck_only_if_no_attempt_ends,
    a_rule_without_a_subscription_names_those_that_match,
    an_alert_that_is_switched_off_looks_at_nothing,
);

fn failures(subscription: Option<&str>) -> Rule {
    Rule::Failures { subscription: subscription.map(str::to_owned), count: 3, window_s: 300 }
}

fn new_alert(name: &str, rule: Rule) -> NewAlert {
    let to = vec![Channel::Email { to: "ana@example.org".into() }];
    NewAlert { name: name.into(), group: None, spec: AlertSpec { rule, to, quiet_s: 3_600, enabled: true } }
}

impl House {
    async fn alert(&self, name: &str, rule: Rule) -> Alert {
        self.alerts.create_alert(new_alert(name, rule), act("alert.create")).await.unwrap()
    }

    async fn look(&self) -> u64 {
        let (notify, statistics) = (self.notify.clone(), self.statistics.clone());
        Watch::new(self.alerts.clone(), notify, statistics, self.clock.clone()).run_once().await.unwrap()
    }

    /// So many attempts of this subscription fail now.
    async fn fail(&self, subscription: &Subscription, failed: u64) {
        let begin = Step::Minute.begin(self.clock.now());
        let figures = Figures { failed, ..Figures::default() };
        let row = Counted { subject: Subject::Subscription(subscription.id), step: Step::Minute, begin, figures };
        self.statistics.record("test", vec![row]).await.unwrap();
    }

    /// State and subjects of the notices that wait, which go.
    async fn notices(&self) -> Vec<(String, Vec<String>)> {
        let mut told = Vec::new();
        for leased in self.lease_from(ALERT_ROOM, "worker", 20).await {
            assert_eq!(leased.kind, Kind::new(ALERT));
            let payload: Value = serde_json::from_slice(&leased.payload).unwrap();
            let notice = &payload["notice"];
            let subjects = serde_json::from_value(notice["subjects"].clone()).unwrap();
            told.push((notice["state"].as_str().unwrap().to_owned(), subjects));
            self.finish(&leased, done()).await.unwrap();
        }
        told
    }
}

fn told(state: &str, subjects: &[&str]) -> (String, Vec<String>) {
    (state.into(), subjects.iter().map(|name| (*name).to_owned()).collect())
}

async fn an_alert_is_made_changed_and_deleted(house: House) {
    let made = house.alert("failing", failures(None)).await;
    assert_eq!(house.alerts.alert(&Scope::All, "failing").await.unwrap(), made);
    let again = house.alerts.create_alert(new_alert("failing", failures(None)), act("alert.create")).await;
    assert!(matches!(again, Err(Error::Taken(_))), "{again:?}");
    let spec = AlertSpec { quiet_s: 60, ..made.spec.clone() };
    let changed = house.alerts.change_alert(&Scope::All, "failing", spec.clone(), act("alert.change")).await.unwrap();
    assert_eq!(changed, Alert { spec, ..made });
    let wrong = AlertSpec { to: Vec::new(), ..changed.spec };
    let refused = house.alerts.change_alert(&Scope::All, "failing", wrong, act("alert.change")).await;
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    house.alert("backlog", Rule::Backlog { subscription: None, older_than_s: 60 }).await;
    let names: Vec<_> = house.alerts.alerts(&Scope::All, None, 9).await.unwrap().into_iter().map(|a| a.name).collect();
    assert_eq!(names, ["backlog", "failing"]);
    assert_eq!(house.alerts.alerts(&Scope::All, Some("backlog"), 9).await.unwrap().len(), 1);
    house.alerts.delete_alert(&Scope::All, "failing", act("alert.delete")).await.unwrap();
    assert!(matches!(house.alerts.alert(&Scope::All, "failing").await, Err(Error::NotFound(_))));
}

async fn grouped(house: &House, name: &str, group: GroupId) -> Alert {
    let new = NewAlert { group: Some(group), ..new_alert(name, failures(None)) };
    house.alerts.create_alert(new, act("alert.create")).await.unwrap()
}

async fn alerts_of_other_groups_do_not_exist(house: House) {
    let (ours, theirs) = (house.group("ours").await, house.group("theirs").await);
    grouped(&house, "a", ours).await;
    let foreign = grouped(&house, "b", theirs).await;
    let scope = Scope::Groups(vec![ours]);
    assert_eq!(house.alerts.alerts(&scope, None, 9).await.unwrap().len(), 1);
    assert!(matches!(house.alerts.alert(&scope, "b").await, Err(Error::NotFound(_))));
    let changed = house.alerts.change_alert(&scope, "b", foreign.spec, act("alert.change")).await;
    assert!(matches!(changed, Err(Error::NotFound(_))));
    assert!(matches!(house.alerts.delete_alert(&scope, "b", act("alert.delete")).await, Err(Error::NotFound(_))));
    let owned = house.access.delete_group("ours", act("group.delete")).await;
    assert!(owned.expect_err("it has an alert").to_string().contains("alerts"));
    house.wired("orders").await;
    check_subject(&*house.notify, None, &failures(Some("orders"))).await.unwrap();
    let unseen = check_subject(&*house.notify, Some(ours), &failures(Some("orders"))).await;
    assert!(matches!(unseen, Err(Error::Invalid(_))), "{unseen:?}");
}

async fn an_alert_fires_once_however_many_look(house: House) {
    let seen = house.alert("failing", failures(None)).await;
    let (at, notices) = (house.clock.now(), test_notices(&seen, house.clock.now()).unwrap());
    let fire = |alerts: Arc<dyn malla_notify::Alerts>, seen: Alert, notices| async move {
        alerts.fire(&seen, at, vec!["orders".into()], notices).await.unwrap()
    };
    let both = tokio::join!(
        fire(house.alerts.clone(), seen.clone(), notices.clone()),
        fire(house.alerts.clone(), seen.clone(), notices.clone()),
    );
    assert_ne!(both.0, both.1);
    let fired = house.alerts.alert(&Scope::All, "failing").await.unwrap();
    assert_eq!((fired.last_fired_at, fired.firing.as_slice()), (Some(at), ["orders".to_owned()].as_slice()));
    assert_eq!(house.notices().await.len(), 1);
    assert!(house.alerts.fire(&fired, at, Vec::new(), notices.clone()).await.unwrap());
    assert!(!house.alerts.fire(&fired, at, Vec::new(), notices).await.unwrap());
    let resolved = house.alerts.alert(&Scope::All, "failing").await.unwrap();
    assert_eq!((resolved.last_fired_at, resolved.is_firing()), (Some(at), false));
    house.verify().await;
}

async fn failures_fire_and_are_resolved(house: House) {
    let (orders, other) = (house.wired("orders").await, house.wired("other").await);
    house.alert("failing", failures(Some("orders"))).await;
    house.fail(&orders, 2).await;
    house.fail(&other, 50).await;
    assert_eq!(house.look().await, 0);
    house.fail(&orders, 3).await;
    assert_eq!((house.look().await, house.look().await), (1, 0));
    assert_eq!(house.notices().await, [told("firing", &["orders"])]);
    house.wait(Duration::from_secs(6 * 60));
    assert_eq!((house.look().await, house.look().await), (1, 0));
    assert_eq!(house.notices().await, [told("resolved", &["orders"])]);
}

async fn a_quiet_period_is_kept(house: House) {
    let orders = house.wired("orders").await;
    house.alert("failing", failures(None)).await;
    house.fail(&orders, 3).await;
    assert_eq!(house.look().await, 1);
    house.wait(Duration::from_secs(30 * 60));
    assert_eq!(house.look().await, 1, "resolved");
    house.fail(&orders, 3).await;
    assert_eq!(house.look().await, 0, "still quiet");
    house.wait(Duration::from_secs(30 * 60));
    house.fail(&orders, 3).await;
    assert_eq!(house.look().await, 1);
    house.wait(Duration::from_secs(60 * 60));
    house.fail(&orders, 3).await;
    assert_eq!(house.look().await, 1, "it goes on, and is said again");
    let states: Vec<_> = house.notices().await.into_iter().map(|(state, _)| state).collect();
    assert_eq!(states, ["firing", "resolved", "firing", "firing"]);
}

async fn a_backlog_fires_when_it_is_old(house: House) {
    house.wired("orders").await;
    house.alert("late", Rule::Backlog { subscription: None, older_than_s: 60 }).await;
    house.set_state("orders", SubscriptionState::Suspended).await.unwrap();
    house.accept("orders", "1").await;
    house.wait(Duration::from_secs(60));
    assert_eq!(house.look().await, 0);
    house.wait(Duration::from_secs(1));
    assert_eq!(house.look().await, 1);
    house.set_state("orders", SubscriptionState::Active).await.unwrap();
    let leased = house.deliveries(1).await.pop().unwrap();
    house.finish(&leased, done()).await.unwrap();
    assert_eq!(house.look().await, 1);
    assert_eq!(house.notices().await, [told("firing", &["orders"]), told("resolved", &["orders"])]);
}

async fn a_lane_is_stuck_only_if_no_attempt_ends(house: House) {
    let orders = house.wired("orders").await;
    house.alert("stuck", Rule::Stuck { subscription: Some("orders".into()), for_s: 120 }).await;
    house.wait(Duration::from_secs(3_600));
    house.accept("orders", "1").await;
    assert_eq!(house.look().await, 0, "it has just come");
    house.wait(Duration::from_secs(150));
    house.fail(&orders, 1).await;
    assert_eq!(house.look().await, 0, "an attempt has ended");
    house.wait(Duration::from_secs(240));
    assert_eq!(house.look().await, 1);
    assert_eq!(house.notices().await, [told("firing", &["orders"])]);
}

async fn a_rule_without_a_subscription_names_those_that_match(house: House) {
    let group = house.group("sales").await;
    house.endpoint("in").await;
    for n in 0..25 {
        let new = malla_notify::NewSubscription { group: Some(group), ..new_subscription(&format!("s{n:02}"), "in") };
        let made = house.notify.create_subscription(&Scope::All, new, act("subscription.create")).await.unwrap();
        house.fail(&made, 5).await;
    }
    house.fail(&house.subscription("foreign", "in").await, 5).await;
    grouped(&house, "failing", group).await;
    assert_eq!(house.look().await, 1);
    let notices = house.notices().await;
    let (state, named) = &notices[0];
    assert_eq!((state.as_str(), named.len(), named[0].as_str(), named[19].as_str()), ("firing", 20, "s00", "s19"));
}

async fn an_alert_that_is_switched_off_looks_at_nothing(house: House) {
    let orders = house.wired("orders").await;
    let made = house.alert("failing", failures(None)).await;
    house.fail(&orders, 3).await;
    assert_eq!(house.look().await, 1);
    let off = AlertSpec { enabled: false, ..made.spec.clone() };
    let off = house.alerts.change_alert(&Scope::All, "failing", off, act("alert.change")).await.unwrap();
    assert!(!off.is_firing());
    house.wait(Duration::from_secs(7_200));
    house.fail(&orders, 3).await;
    assert_eq!(house.look().await, 0);
    house.alerts.change_alert(&Scope::All, "failing", made.spec, act("alert.change")).await.unwrap();
    assert_eq!(house.look().await, 1);
}
