//! From what somebody asks for to a page of a wiki.

use malla_queue::{Act, Error};
use malla_wiki::{Asking, ExtractionState, Target};

use crate::fake::Fake;
use crate::house::{House, Settings};

async fn by_url(fake: &Fake, house: &House, path: &str) -> malla_wiki::Extraction {
    let id = house.ask_url("https://{locale}.wikipedia.org/", &format!("{}{path}", fake.url)).await;
    house.work("https://{locale}.wikipedia.org/", Settings::default(), usize::MAX).await;
    house.extraction_of(id)
}

#[tokio::test]
async fn the_api_is_found_from_any_page_of_a_wiki() {
    for path in
        ["wiki/%C3%91and%C3%BA", "index.php?title=%C3%91and%C3%BA&action=edit", "index.php?curid=7", "some/where"]
    {
        let (fake, house) = (Fake::with(3).await, House::new());
        let done = by_url(&fake, &house, path).await;
        assert_eq!((done.state, done.note), (ExtractionState::Succeeded, None), "{path}");
        assert_eq!((done.title.as_deref(), house.texts("Ñandú")), (Some("Ñandú"), fake.texts()), "{path}");
        let wiki = house.kept().wikis[0].clone();
        assert_eq!((wiki.name.as_str(), wiki.locale.as_str(), wiki.scraped), ("Fakipedia", "es", false));
        assert_eq!(wiki.about["bots"], serde_json::json!(["Robot"]));
    }
}

#[tokio::test]
async fn a_template_may_be_any_page_of_the_wiki() {
    let (fake, house) = (Fake::with(3).await, House::new());
    assert_eq!(house.extract(&fake.url, "Ñandú").await.state, ExtractionState::Succeeded);
    let asked = fake.habits().asked.len();
    assert_eq!(house.extract(&fake.url, "Ñandú").await.state, ExtractionState::Succeeded);
    // Resolve, walk from the mark, compare.
    assert_eq!((fake.habits().asked.len() - asked, house.kept().wikis.len()), (3, 1), "the wiki is known by then");
}

#[tokio::test]
async fn redirects_lead_to_their_page() {
    let (fake, house) = (Fake::with(3).await, House::new());
    let done = house.extract(&fake.api(), "Old_name").await;
    assert_eq!((done.state, done.title.as_deref()), (ExtractionState::Succeeded, Some("Ñandú")));
}

#[tokio::test]
async fn what_is_no_page_fails_at_once_with_a_sentence() {
    for (title, words) in [
        ("Nowhere", "\"Nowhere\" does not exist in Fakipedia"),
        ("in:valid", "\"in:valid\" is not a title: It is bad."),
        ("de:Haus", "\"de:Haus\" is a page of another wiki: give its address, https://de.test/Haus"),
    ] {
        let (fake, house) = (Fake::with(3).await, House::new());
        let failed = house.extract(&fake.api(), title).await;
        assert_eq!((failed.state, failed.note.as_deref()), (ExtractionState::Failed, Some(words)));
        assert_eq!(fake.habits().asked.len(), 2, "{title}");
    }
}

#[tokio::test]
async fn a_page_that_is_deleted_later_keeps_what_was_kept() {
    let (fake, house) = (Fake::with(120).await, House::new());
    let id = house.ask_title(&fake.api(), "Ñandú").await;
    house.work(&fake.api(), Settings::default(), 4).await;
    fake.habits().deleted = true;
    house.work(&fake.api(), Settings::default(), usize::MAX).await;
    assert_eq!(house.extraction_of(id).state, ExtractionState::Failed);
    let kept = house.kept();
    assert_eq!((kept.pages.values().next().expect("the page").facts.deleted, kept.revisions.len()), (true, 50));
}

#[tokio::test]
async fn without_a_contact_nothing_is_asked() {
    let house = House::new();
    let asking = Asking { contact: " ".into(), ..house.asking("https://{locale}.wikipedia.org/") };
    let target = Target::Title { title: "A".into(), locale: None };
    let error = asking.extract(None, target, Act::new("test", "extract", "A")).await.expect_err("refused");
    assert!(matches!(&error, Error::NotAvailable(why) if why.contains("MALLA_WIKI_CONTACT")), "{error}");
    assert_eq!(house.waiting(), 0);
}
