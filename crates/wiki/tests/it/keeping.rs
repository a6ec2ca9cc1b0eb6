//! What is committed: leases, versions, and the rest of the lane.

use std::time::Duration;

use malla_wiki::ExtractionState;

use crate::fake::Fake;
use crate::house::{House, START, Settings};

#[tokio::test]
async fn a_page_that_changed_meanwhile_is_prepared_anew_without_a_request() {
    let (fake, house) = (Fake::with(120).await, House::new());
    house.ask_title(&fake.api(), "Ñandú").await;
    house.work(&fake.api(), Settings::default(), 4).await;
    let asked = fake.habits().asked.len();
    house.kept().meddle = 1;
    house.work(&fake.api(), Settings::default(), 1).await;
    assert_eq!((house.kept().stale, fake.habits().asked.len()), (1, asked + 1));
    house.work(&fake.api(), Settings::default(), usize::MAX).await;
    assert_eq!(house.texts("Ñandú"), fake.texts());
}

#[tokio::test]
async fn the_lane_rests_for_the_gap_after_each_request() {
    let (fake, house) = (Fake::with(60).await, House::new());
    let done = house.extract(&fake.api(), "Ñandú").await;
    assert_eq!(done.state, ExtractionState::Succeeded);
    let least = START.plus(Duration::from_millis(1_000));
    let kept = house.kept();
    assert!(kept.endings.iter().all(|ending| ending.lane_rest_until.is_some_and(|until| until >= least)));
}

#[tokio::test]
async fn a_failed_request_rests_the_lane_too() {
    let (fake, house) = (Fake::with(3).await, House::new());
    fake.habits().instead.push_back((500, Vec::new(), String::new()));
    house.ask_title(&fake.api(), "Ñandú").await;
    house.work(&fake.api(), Settings::default(), 1).await;
    let kept = house.kept();
    assert!(kept.endings[0].lane_rest_until.is_some_and(|until| until >= START.plus(Duration::from_secs(1))));
}
