//! Wikis that lag, limit, break off, forget where they were, or are not to be reached.

use std::time::Duration;

use malla_queue::State;
use malla_reach::Guard;
use malla_wiki::ExtractionState;

use crate::fake::Fake;
use crate::house::{House, START, Settings};

fn error(code: &str) -> String {
    format!(r#"{{"error":{{"code":"{code}","info":"why"}}}}"#)
}

#[tokio::test]
async fn a_wiki_that_asks_for_patience_gets_it() {
    let waits = [
        (200, vec![("retry-after", "7".to_owned())], error("maxlag"), 7),
        (200, vec![], error("ratelimited"), 5),
        (503, vec![("retry-after", "60".to_owned())], String::new(), 60),
        (429, vec![], String::new(), 5),
    ];
    for (status, headers, body, wait_s) in waits {
        let (fake, house) = (Fake::with(3).await, House::new());
        fake.habits().instead.push_back((status, headers, body.clone()));
        let id = house.ask_title(&fake.api(), "Ñandú").await;
        house.work(&fake.api(), Settings::default(), 1).await;
        let until = START.plus(Duration::from_secs(wait_s));
        let ending = house.kept().endings[0].clone();
        assert_eq!((ending.state, ending.lane_rest_until), (State::Queued, Some(until)), "{status} {body}");
        assert!(ending.run_at >= Some(until));
        let told = house.extraction_of(id);
        assert_eq!(told.state, ExtractionState::InProgress);
        assert!(told.note.expect("a note").ends_with("it is tried again"));
        house.work(&fake.api(), Settings::default(), usize::MAX).await;
        assert_eq!(house.texts("Ñandú"), fake.texts());
        assert_eq!(house.extraction_of(id).counts.requests, fake.habits().asked.len() as u64);
    }
}

#[tokio::test]
async fn whatever_comes_instead_of_an_answer_it_goes_on_afterwards() {
    for (status, body) in [
        (200, "<!DOCTYPE html><html>Sign in to the network".to_owned()),
        (200, r#"{"query":{"pages":[{"pageid":7,"revisions":[{"revid":"#.to_owned()),
        (200, String::new()),
        (200, error("internal_api_error_DBQueryError")),
        (200, error("readonly")),
        (502, "<html>Bad gateway".to_owned()),
        (404, "not here".to_owned()),
    ] {
        let (fake, house) = (Fake::with(130).await, House::new());
        let id = house.ask_title(&fake.api(), "Ñandú").await;
        house.work(&fake.api(), Settings::default(), 4).await;
        fake.habits().instead.extend([(status, Vec::new(), body.clone()), (status, Vec::new(), body.clone())]);
        house.work(&fake.api(), Settings::default(), usize::MAX).await;
        assert_eq!(house.extraction_of(id).state, ExtractionState::Succeeded, "{status} {body}");
        assert_eq!(house.texts("Ñandú"), fake.texts(), "{status} {body}");
    }
}

#[tokio::test]
async fn a_wiki_that_forgot_where_it_was_is_walked_on_from_the_mark() {
    let (fake, house) = (Fake::with(130).await, House::new());
    let id = house.ask_title(&fake.api(), "Ñandú").await;
    house.work(&fake.api(), Settings::default(), 4).await;
    fake.habits().instead.push_back((200, Vec::new(), error("badcontinue")));
    house.work(&fake.api(), Settings::default(), usize::MAX).await;
    assert_eq!((house.extraction_of(id).state, house.texts("Ñandú")), (ExtractionState::Succeeded, fake.texts()));
    let forgets = std::iter::repeat_with(|| (200, Vec::new(), error("badcontinue"))).take(50);
    fake.habits().instead.extend(forgets);
    let id = house.ask_title(&fake.api(), "Ñandú").await;
    house.work(&fake.api(), Settings::default(), usize::MAX).await;
    assert_eq!(house.extraction_of(id).state, ExtractionState::Failed, "but not for ever");
}

#[tokio::test]
async fn what_stays_wrong_fails_with_the_reason() {
    let (fake, house) = (Fake::with(3).await, House::new());
    let id = house.ask_title(&fake.api(), "Ñandú").await;
    fake.habits().instead.push_back((200, Vec::new(), error("readapidenied")));
    house.work(&fake.api(), Settings::default(), usize::MAX).await;
    let failed = house.extraction_of(id);
    assert_eq!(failed.state, ExtractionState::Failed);
    assert!(failed.note.expect("a reason").contains("its pages are not for everybody"));
}

#[tokio::test]
async fn a_wiki_that_is_away_is_tried_for_a_day() {
    let house = House::new();
    let id = house.ask_title("http://127.0.0.1:9/api.php", "A").await;
    house.work("http://127.0.0.1:9/api.php", Settings::default(), 30).await;
    let told = house.extraction_of(id);
    assert_eq!((told.state, house.waiting()), (ExtractionState::InProgress, 1));
    assert!(told.note.expect("a note").contains("connection refused"));
    house.work("http://127.0.0.1:9/api.php", Settings::default(), usize::MAX).await;
    assert_eq!(house.extraction_of(id).state, ExtractionState::Failed);
    let waited = house.kept().endings.iter().filter_map(|ending| ending.run_at).map(|at| at.0 - START.0).sum::<i64>();
    assert!(waited > 24 * 3_600_000, "{waited} ms");
}

#[tokio::test]
async fn private_addresses_are_reached_only_if_they_are_the_operators_own() {
    let (fake, house) = (Fake::with(3).await, House::new());
    let closed = || Settings { guard: Guard::default(), ..Settings::default() };
    let own = house.ask_title(&fake.api(), "Ñandú").await;
    house.work(&fake.api(), closed(), usize::MAX).await;
    assert_eq!(house.extraction_of(own).state, ExtractionState::Succeeded);
    let other = Fake::with(3).await;
    let id = house.ask_url(&fake.api(), &format!("{}wiki/%C3%91and%C3%BA", other.url)).await;
    house.work(&fake.api(), closed(), usize::MAX).await;
    let failed = house.extraction_of(id);
    assert_eq!((failed.state, other.habits().asked.len()), (ExtractionState::Failed, 0));
    assert!(failed.note.expect("a reason").contains("may not be reached: it is loopback"));
}
