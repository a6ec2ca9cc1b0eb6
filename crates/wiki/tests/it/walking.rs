//! Histories come whole, in order, once, whatever a wiki does with its answers.

use malla_wiki::ExtractionState;

use crate::fake::{Fake, Rev};
use crate::house::{House, Settings};

#[tokio::test]
async fn a_history_comes_whole_and_each_request_is_a_task() {
    let (fake, house) = (Fake::with(120).await, House::new());
    let done = house.extract(&fake.api(), "Ñandú").await;
    assert_eq!((done.state, done.note.as_deref()), (ExtractionState::Succeeded, None));
    assert_eq!((done.counts.done, done.counts.new, done.counts.total), (120, 120, Some(120)));
    assert_eq!(house.texts("Ñandú"), fake.texts());
    // About, resolve, count, and three parts of the history.
    assert_eq!((done.counts.requests, fake.habits().asked.len()), (6, 6));
    assert_eq!(house.kept().endings.len(), 6);
    let page = house.page("Ñandú");
    assert!(page.complete_at.is_some() && page.reconciled_at.is_some() && page.mark == page.newest);
    assert!(house.kept().events.is_empty(), "what is there at first is no news");
    let version = env!("CARGO_PKG_VERSION");
    let agents: Vec<String> = fake.habits().asked.iter().map(|(_, agent)| agent.clone()).collect();
    assert!(agents.iter().all(|agent| *agent == format!("Malla/{version} (+https://malla.test/)")), "{agents:?}");
}

#[tokio::test]
async fn a_known_wiki_is_not_asked_again_what_it_is() {
    let (fake, house) = (Fake::with(3).await, House::new());
    house.extract(&fake.api(), "Ñandú").await;
    let before = fake.asked_for("siteinfo");
    let again = house.extract(&fake.api(), "Ñandú").await;
    assert_eq!((again.state, fake.asked_for("siteinfo")), (ExtractionState::Succeeded, before));
    assert_eq!((again.counts.new, again.counts.done), (0, 3), "nothing twice");
    assert!(house.kept().events.is_empty());
}

#[tokio::test]
async fn new_revisions_are_what_comes_after_the_mark_and_news() {
    let (fake, house) = (Fake::with(3).await, House::new());
    house.extract(&fake.api(), "Ñandú").await;
    fake.habits().revisions.push(Rev::new(99, 9_000, "longer than before"));
    let again = house.extract(&fake.api(), "Ñandú").await;
    assert_eq!((again.counts.new, house.texts("Ñandú")), (1, fake.texts()));
    let kept = house.kept();
    let [event] = &kept.events[..] else { panic!("{:?}", kept.events) };
    let body: serde_json::Value = serde_json::from_slice(&event.body).expect("JSON");
    assert_eq!((event.kind.as_str(), &body["revid"], &body["title"]), ("wiki.revision", &99.into(), &"Ñandú".into()));
    assert_eq!((&body["timestamp"], &body["change"]), (&"2020-01-01T02:30:00Z".into(), &18.into()));
}

#[tokio::test]
async fn a_revision_that_was_added_in_the_past_is_found() {
    let (fake, house) = (Fake::with(30).await, House::new());
    house.extract(&fake.api(), "Ñandú").await;
    fake.habits().revisions.push(Rev::new(5_000, 90, "imported later"));
    let again = house.extract(&fake.api(), "Ñandú").await;
    assert_eq!((again.counts.new, house.texts("Ñandú")), (1, fake.texts()));
}

#[tokio::test]
async fn what_is_hidden_later_is_erased() {
    let (fake, house) = (Fake::with(5).await, House::new());
    fake.habits().revisions[1].text = "a secret".into();
    fake.habits().revisions[3].text = "a secret".into();
    house.extract(&fake.api(), "Ñandú").await;
    fake.habits().revisions[1].hidden = true;
    let again = house.extract(&fake.api(), "Ñandú").await;
    assert_eq!((again.counts.erased, house.texts("Ñandú")), (1, fake.texts()), "another revision still shows the text");
    fake.habits().revisions[3].hidden = true;
    house.extract(&fake.api(), "Ñandú").await;
    assert_eq!(house.texts("Ñandú"), fake.texts());
    for block in house.kept().blocks.values() {
        let bytes = malla_wiki::texts::unpack(&block.packed, block.bytes).expect("unpacked");
        assert!(!String::from_utf8_lossy(&bytes).contains("secret"), "its bytes are gone, too");
    }
    fake.habits().revisions[3].hidden = false;
    house.extract(&fake.api(), "Ñandú").await;
    assert_eq!(house.texts("Ñandú"), fake.texts(), "what is shown again comes back");
}

#[tokio::test]
async fn cut_answers_lose_nothing_and_what_is_too_large_is_kept_without_its_text() {
    let (fake, house) = (Fake::with(20).await, House::new());
    fake.habits().answer_max = Some(40);
    fake.habits().revisions[7].text = "x".repeat(100);
    fake.habits().revisions[19].text = "y".repeat(100);
    let done = house.extract(&fake.api(), "Ñandú").await;
    let mut expected = fake.texts();
    (expected[7].1, expected[19].1) = (None, None);
    assert_eq!((done.state, house.texts("Ñandú")), (ExtractionState::Succeeded, expected));
    let note = "2 revisions are kept without their texts, which are too large for the wiki's answers";
    assert_eq!(done.note.as_deref(), Some(note));
    fake.habits().answer_max = None;
    let again = house.extract(&fake.api(), "Ñandú").await;
    assert_eq!((again.note, house.texts("Ñandú")), (None, fake.texts()), "they come when the wiki gives them");
}

#[tokio::test]
async fn answers_that_are_too_large_here_are_asked_for_in_smaller_parts() {
    let (fake, house) = (Fake::with(40).await, House::new());
    fake.habits().revisions[5].text = "z".repeat(20_000);
    house.ask_title(&fake.api(), "Ñandú").await;
    let settings = Settings { answer_bytes_max: 8_000, ..Settings::default() };
    house.work(&fake.api(), settings, usize::MAX).await;
    let mut expected = fake.texts();
    expected[5].1 = None;
    assert_eq!(house.texts("Ñandú"), expected);
}

#[tokio::test]
async fn a_wiki_that_answers_from_the_newest_on_is_complete_in_the_end_and_not_before() {
    let (fake, house) = (Fake::with(120).await, House::new());
    fake.habits().newest_first = true;
    house.ask_title(&fake.api(), "Ñandú").await;
    house.work(&fake.api(), Settings::default(), 4).await;
    assert_eq!(house.page("Ñandú").mark, None, "fifty are kept, but not from the beginning on");
    house.work(&fake.api(), Settings::default(), usize::MAX).await;
    let page = house.page("Ñandú");
    assert_eq!((page.mark, house.texts("Ñandú")), (page.newest, fake.texts()));
    fake.habits().revisions.push(Rev::new(9_999, 90_000, "new"));
    house.extract(&fake.api(), "Ñandú").await;
    assert_eq!(house.texts("Ñandú"), fake.texts(), "what is new there is found by comparing");
}

#[tokio::test]
async fn an_extraction_that_was_given_up_is_gone_on_with_from_the_mark() {
    let (fake, house) = (Fake::with(200).await, House::new());
    house.ask_title(&fake.api(), "Ñandú").await;
    house.work(&fake.api(), Settings::default(), 5).await;
    assert_eq!(house.texts("Ñandú").len(), 100);
    house.kept().extractions.clear();
    while house.waiting() > 0 {
        fake.habits().instead.push_back((200, Vec::new(), r#"{"error":{"code":"readapidenied","info":"no"}}"#.into()));
        house.work(&fake.api(), Settings::default(), 1).await;
    }
    fake.habits().asked.clear();
    house.extract(&fake.api(), "Ñandú").await;
    assert_eq!(house.texts("Ñandú"), fake.texts());
    let parts = fake.asked_for("rvlimit=50&");
    assert_eq!(parts, 3, "the first hundred are not walked over again");
}
