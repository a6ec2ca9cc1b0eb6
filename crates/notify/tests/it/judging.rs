//! What each answer means.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use malla_notify::{Attempt, Observer, Publish, Subscription, SubscriptionSpec, SubscriptionState, Target};
use malla_queue::worker::Work as _;
use malla_queue::{Leased, NextTry, Verdict};
use serde_json::json;

use crate::house::{House, answer, attempt, content, done, failed, impatient, spec, task};
use crate::receiver::{Receiver, socket};

#[tokio::test]
async fn a_success_is_done_and_its_answer_is_kept() {
    for status in [200, 201, 204, 299] {
        let target = Receiver::answering(status, &[("x-a", "1"), ("x-a", "2")], "").await;
        let outcome = done(attempt(&target.url()).await);
        assert_eq!(outcome.confirm_within, None);
        assert_eq!(answer(&outcome)["status"], json!(status));
        assert_eq!(answer(&outcome)["headers"]["x-a"], json!("1, 2"));
        assert_eq!(answer(&outcome)["truncated"], json!(false));
    }
    let outcome = done(attempt(&Receiver::new().await.url()).await);
    assert_eq!(answer(&outcome)["body"], json!("thanks"));
    assert!(answer(&outcome)["ms"].is_u64());
}

#[tokio::test]
async fn accepted_owes_its_word() {
    let target = Receiver::answering(202, &[], "later").await;
    let spec = SubscriptionSpec { confirm_within_s: 77, ..spec(&target.url()) };
    let outcome = done(House::new().with(spec).deliver(content("{}")).await);
    assert_eq!(outcome.confirm_within, Some(Duration::from_secs(77)));
}

#[tokio::test]
async fn errors_go_by_the_delays() {
    for (status, says) in [
        (400, "the target answered 400 Bad Request"),
        (404, "the target answered 404 Not Found"),
        (429, "the target answered 429 Too Many Requests"),
        (500, "the target answered 500 Internal Server Error"),
        (503, "the target answered 503 Service Unavailable"),
        (599, "the target answered 599"),
    ] {
        let failure = failed(attempt(&Receiver::answering(status, &[], "no").await.url()).await);
        assert_eq!(failure.note, says);
        assert_eq!((failure.next, failure.lane_rest), (NextTry::ByDelays, None), "{status}");
        assert_eq!(failure.answer.expect("an answer")["body"], json!("no"));
    }
}

#[tokio::test]
async fn a_target_that_asks_for_patience_gets_it() {
    for (status, header, wait_s) in [(429, "7", 7), (503, "999999", 86_400)] {
        let target = Receiver::answering(status, &[("retry-after", header)], "").await;
        let failure = failed(attempt(&target.url()).await);
        let wait = Duration::from_secs(wait_s);
        assert_eq!((failure.next, failure.lane_rest), (NextTry::After(wait), Some(wait)));
        assert!(failure.note.ends_with(&format!("and asked to wait {wait_s} s")), "{}", failure.note);
    }
    let far = Receiver::answering(503, &[("retry-after", "Sat, 06 Nov 2094 08:49:37 GMT")], "").await;
    assert_eq!(failed(attempt(&far.url()).await).next, NextTry::After(Duration::from_secs(86_400)));
    for (status, header) in [(503, "soon"), (429, "0"), (500, "7")] {
        let target = Receiver::answering(status, &[("retry-after", header)], "").await;
        assert_eq!(failed(attempt(&target.url()).await).next, NextTry::ByDelays, "{status} {header}");
    }
}

#[tokio::test]
async fn gone_disables_the_subscription() {
    let target = Receiver::answering(410, &[], "").await;
    let house = House::new().with(spec(&target.url()));
    let failure = failed(house.deliver(content("{}")).await);
    assert_eq!(failure.next, NextTry::Never);
    assert!(failure.note.starts_with("the target answered 410 Gone"), "{}", failure.note);
    {
        let acts = house.fake.acts.lock().expect("no panic");
        let (change, act) = acts.first().expect("a change");
        assert_eq!(change.state, Some(SubscriptionState::Disabled));
        assert_eq!((act.actor.as_str(), act.action, act.object.as_str()), ("malla", "subscription.disable", "shop"));
        assert!(act.detail["why"].as_str().expect("a reason").contains("410"), "{}", act.detail);
    }
    let next = failed(house.deliver(content("{}")).await);
    assert_eq!((next.next, next.note.as_str()), (NextTry::Never, "the subscription shop is disabled"));
    assert_eq!(target.got().len(), 1);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let target = Receiver::answering(302, &[("location", "/hook")], "").await;
    let failure = failed(attempt(&target.url()).await);
    assert!(failure.note.contains("302 Found (/hook): redirects are not followed"), "{}", failure.note);
    assert_eq!(failure.next, NextTry::ByDelays);
    target.only();
}

#[derive(Default)]
struct Seen {
    began: Mutex<Vec<String>>,
    ended: Mutex<Vec<(Attempt, Duration)>>,
}

impl Observer for Seen {
    fn attempt_began(&self, subscription: &Subscription) {
        self.began.lock().expect("no panic").push(subscription.name.clone());
    }

    fn attempt_ended(&self, _subscription: &Subscription, attempt: Attempt, waited: Duration) {
        self.ended.lock().expect("no panic").push((attempt, waited));
    }
}

async fn observed(seen: &Arc<Seen>, target: &str, failures: u32) {
    let mut house = House::new().with(spec(target));
    house.deliverer = house.deliverer.with_observer(seen.clone());
    let event = house.event(content("{}"));
    house.deliverer.work(&Leased { failures, ..task("shop", event) }).await;
}

#[tokio::test]
async fn an_observer_hears_of_every_attempt() {
    let seen = Arc::new(Seen::default());
    for (status, failures) in [(200, 0), (500, 0), (500, 1), (410, 0)] {
        let target = Receiver::answering(status, &[], "").await;
        observed(&seen, &target.url(), failures).await;
    }
    let ended = seen.ended.lock().expect("no panic");
    let attempts: Vec<_> = ended.iter().map(|(attempt, _)| *attempt).collect();
    assert_eq!(attempts, [Attempt::Delivered, Attempt::Retried, Attempt::Failed, Attempt::Failed]);
    assert_eq!(seen.began.lock().expect("no panic").len(), 4);
    assert!(ended.iter().all(|(_, waited)| *waited < Duration::from_secs(60)));
}

#[tokio::test]
async fn an_attempt_that_is_stopped_ends_for_its_observer_too() {
    let (target, asked) = socket(|stream| async move { stream.peek(&mut [0]).await.map(|_| stream) }).await;
    let seen = Arc::new(Seen::default());
    let mut house = House::new().with(spec(&target));
    house.deliverer = house.deliverer.with_observer(seen.clone());
    let event = house.event(content("{}"));
    let task = task("shop", event);
    tokio::select! {
        verdict = house.deliverer.work(&task) => panic!("nobody answers: {verdict:?}"),
        _stream = asked => {}
    }
    let ended = seen.ended.lock().expect("no panic");
    assert_eq!(ended.iter().map(|(attempt, _)| *attempt).collect::<Vec<_>>(), [Attempt::Retried]);
}

enum Broker {
    Takes(Mutex<Vec<(Target, Vec<u8>, Duration)>>),
    Refuses,
}

#[async_trait]
impl Publish for Broker {
    async fn publish(&self, subscription: &Subscription, body: Vec<u8>, within: Duration) -> Result<(), String> {
        match self {
            Broker::Takes(taken) => {
                taken.lock().expect("no panic").push((subscription.spec.target.clone(), body, within));
                Ok(())
            }
            Broker::Refuses => Err("the broker refused the password".into()),
        }
    }
}

async fn publish(broker: Option<Arc<Broker>>) -> Option<Verdict> {
    let mut house = House::new().with(impatient("mqtt://broker.example/alerts"));
    if let Some(broker) = broker {
        house.deliverer = house.deliverer.with_publish(broker);
    }
    house.deliver(content("fire")).await
}

#[tokio::test]
async fn a_topic_is_a_target_like_any_other() {
    let broker = Arc::new(Broker::Takes(Mutex::default()));
    done(publish(Some(broker.clone())).await);
    let Broker::Takes(taken) = &*broker else { panic!("it takes") };
    let target = Target("mqtt://broker.example/alerts".into());
    assert_eq!(*taken.lock().expect("no panic"), [(target, b"fire".to_vec(), Duration::from_secs(1))]);

    let refused = failed(publish(Some(Arc::new(Broker::Refuses))).await);
    assert_eq!((refused.note.as_str(), refused.next), ("the broker refused the password", NextTry::ByDelays));
    let none = failed(publish(None).await);
    assert_eq!((none.note.as_str(), none.next), ("this process has no MQTT", NextTry::ByDelays));
}
