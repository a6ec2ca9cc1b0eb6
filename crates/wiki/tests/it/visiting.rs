//! Visits that nobody asked for: fifty pages are asked about in one request, and what has changed is read.

use malla_queue::{Kind, NewTask};
use malla_wiki::{PROBE, VISIT};

use crate::fake::{Fake, PAGE, Rev};
use crate::house::{House, Settings};

async fn probe(fake: &Fake, house: &House) {
    let wiki = house.kept().wikis[0].clone();
    let payload = serde_json::json!({ "wiki": wiki.id, "pages": [PAGE] });
    let lane = format!("wiki/http://127.0.0.1:{}", wiki.api.port().expect("a port")).parse().expect("a lane");
    house.submit(NewTask::new(lane, Kind::new(PROBE), payload.to_string()));
    house.work(&fake.api(), Settings::default(), usize::MAX).await;
}

#[tokio::test]
async fn a_page_that_did_not_change_costs_one_request() {
    let (fake, house) = (Fake::with(3).await, House::new());
    house.extract(&fake.api(), "Ñandú").await;
    fake.habits().asked.clear();
    probe(&fake, &house).await;
    assert_eq!((fake.habits().asked.len(), house.kept().visited.len()), (1, 1));
}

#[tokio::test]
async fn what_changed_is_read_and_told() {
    let (fake, house) = (Fake::with(3).await, House::new());
    house.extract(&fake.api(), "Ñandú").await;
    fake.habits().asked.clear();
    fake.habits().revisions.push(Rev::new(40, 9_000, "new"));
    fake.habits().title = "Ñandú (ave)".into();
    probe(&fake, &house).await;
    assert_eq!((fake.asked_for("/api.php"), house.texts("Ñandú (ave)")), (2, fake.texts()));
    let kept = house.kept();
    assert_eq!(kept.events.len(), 1);
    let visits = kept.endings.iter().flat_map(|ending| &ending.follow_ups).filter(|task| task.kind.as_str() == VISIT);
    assert_eq!(visits.count(), 1);
}

#[tokio::test]
async fn a_visit_that_does_not_find_the_newest_compares_all() {
    let (fake, house) = (Fake::with(3).await, House::new());
    house.extract(&fake.api(), "Ñandú").await;
    fake.habits().revisions.push(Rev::new(40, 1, "imported into the past, with the highest number"));
    probe(&fake, &house).await;
    assert_eq!(house.texts("Ñandú"), fake.texts());
}

#[tokio::test]
async fn a_page_that_is_gone_is_noted_and_kept() {
    let (fake, house) = (Fake::with(3).await, House::new());
    house.extract(&fake.api(), "Ñandú").await;
    fake.habits().deleted = true;
    probe(&fake, &house).await;
    let page = house.page("Ñandú");
    assert_eq!((page.facts.deleted, page.revisions), (true, 3));
}
