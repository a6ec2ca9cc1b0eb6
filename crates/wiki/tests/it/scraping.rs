//! A wiki whose API is off is read from its pages.

use malla_wiki::ExtractionState;

use crate::fake::{Fake, Rev};
use crate::house::House;

#[tokio::test]
async fn histories_come_from_the_pages_of_a_wiki_without_an_api() {
    let (fake, house) = (Fake::with(8).await, House::new());
    fake.habits().api_off = true;
    fake.habits().revisions[2].hidden = true;
    let done = house.extract(&fake.url, "Ñandú").await;
    assert_eq!((done.state, done.note), (ExtractionState::Succeeded, None));
    assert_eq!(house.texts("Ñandú"), fake.texts());
    {
        let kept = house.kept();
        assert!(kept.wikis[0].scraped);
        let exact = kept.revisions.values().filter(|one| !one.text_hidden).all(|one| one.at.0 % 60_000 == 7_000);
        assert!(exact, "the time of a text is exact");
        let parents: Vec<i64> = kept.revisions.values().map(|one| one.parentid.0).collect();
        assert_eq!(parents[1], 10);
    }
    fake.habits().asked.clear();
    fake.habits().revisions.push(Rev::new(99, 9_000, "new"));
    house.extract(&fake.url, "Ñandú").await;
    assert_eq!(
        (house.texts("Ñandú"), fake.asked_for("action=raw")),
        (fake.texts(), 1),
        "what is kept is not read again"
    );
}
