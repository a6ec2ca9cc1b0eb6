//! What publishers were told, and whether it is true: every event that was acknowledged is there and arrived, and none twice.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::receiver::Delivery;

/// What the publishers were told.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    /// The bodies that were acknowledged, and the ids of their events.
    pub(super) taken: BTreeMap<String, String>,
    /// Posted once, without a key, and not acknowledged: such an event may be there or not, but not twice.
    pub(super) doubtful: BTreeSet<String>,
    /// Answers that asked to come back later.
    pub(super) refused: u64,
    /// Posts that broke off.
    pub(super) broken: u64,
    pub(super) longest: Duration,
    pub(super) wrong: Vec<String>,
    /// Since when, and after how long each server acknowledged a post that was begun then or later.
    pub(super) since: Option<Instant>,
    pub(super) recovered: Vec<Option<Duration>>,
}

impl Told {
    /// Whether every event that was acknowledged has arrived.
    pub(super) fn all_arrived(&self, deliveries: &[Delivery]) -> bool {
        let arrived: BTreeSet<_> = deliveries.iter().map(|delivery| String::from_utf8_lossy(&delivery.body)).collect();
        self.taken.keys().all(|body| arrived.contains(body.as_str()))
    }

    /// Compares what was told with the events that are there and with what the subscriber got when all has come to
    /// rest: nothing is lost and nothing is there twice.
    pub(super) fn audit(&self, there: &BTreeSet<String>, deliveries: &[Delivery]) {
        assert_eq!(self.wrong, [""; 0], "answers that nobody should get");
        let mut arrived: BTreeMap<String, (BTreeSet<&str>, BTreeSet<&str>)> = BTreeMap::new();
        for delivery in deliveries {
            let body = String::from_utf8_lossy(&delivery.body).into_owned();
            let (events, notifications) = arrived.entry(body).or_default();
            events.insert(delivery.header("ce-id"));
            notifications.insert(delivery.header("webhook-id"));
        }
        for (body, id) in &self.taken {
            assert!(there.contains(id), "acknowledged and gone: {body} with the id {id}");
            let Some((events, _)) = arrived.get(body) else { panic!("acknowledged and never delivered: {body}") };
            assert!(events.contains(id.as_str()), "{body} was acknowledged as {id} and arrived as {events:?}");
        }
        for (body, (events, notifications)) in &arrived {
            assert!(self.taken.contains_key(body) || self.doubtful.contains(body), "nobody posted \"{body}\"");
            assert_eq!((events.len(), notifications.len()), (1, 1), "{body} is there as {events:?}: {notifications:?}");
        }
        let arrived: BTreeSet<&str> = arrived.values().flat_map(|(events, _)| events.iter().copied()).collect();
        let missing: Vec<&String> = there.iter().filter(|id| !arrived.contains(id.as_str())).collect();
        assert!(missing.is_empty(), "events that nobody was told of and that did not arrive: {missing:?}");
    }
}

mod tests {
    use std::panic::catch_unwind;

    use super::*;

    fn delivery(body: &str, event: &str, notification: &str) -> Delivery {
        let headers =
            [("ce-id", event), ("webhook-id", notification)].map(|(name, id)| (name.to_owned(), id.to_owned()));
        Delivery { method: "POST".into(), path: "/".into(), headers: headers.into(), body: body.into() }
    }

    /// One event acknowledged and one in doubt; `there` are the events in the store.
    #[track_caller]
    fn check(there: &[&str], deliveries: &[Delivery], words: Option<&str>) {
        let told = Told {
            taken: [("one".to_owned(), "1".to_owned())].into(),
            doubtful: ["two".to_owned()].into(),
            ..Told::default()
        };
        let there = there.iter().map(|id| (*id).to_owned()).collect();
        let found = catch_unwind(|| told.audit(&there, deliveries));
        let said = found.err().map(|panic| panic.downcast_ref::<String>().cloned().unwrap_or_default());
        let as_expected = match (words, &said) {
            (Some(words), Some(said)) => said.contains(words),
            (words, said) => words.is_none() && said.is_none(),
        };
        assert!(as_expected, "{said:?} instead of {words:?}");
    }

    #[test]
    fn the_audit_of_events_finds_what_is_lost_and_what_is_there_twice() {
        let (one, two) = (delivery("one", "1", "a"), delivery("two", "2", "b"));
        check(&["1"], &[one.clone(), one.clone()], None);
        check(&["1", "2"], &[one.clone(), two.clone()], None);
        check(&["2"], &[one.clone(), two.clone()], Some("acknowledged and gone: one"));
        check(&["1"], &[], Some("acknowledged and never delivered: one"));
        check(&["1", "3"], &[delivery("one", "3", "c")], Some("was acknowledged as 1 and arrived as"));
        check(&["1", "3"], &[one.clone(), delivery("one", "3", "c")], Some("one is there as"));
        check(&["1", "2", "3"], &[one.clone(), two, delivery("two", "3", "c")], Some("two is there as"));
        check(&["1"], &[one.clone(), delivery("three", "3", "c")], Some("nobody posted \"three\""));
        check(&["1", "3"], &[one], Some("that did not arrive: [\"3\"]"));
    }
}
