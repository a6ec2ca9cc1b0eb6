//! A history from the first request to its charts.

use super::house::House;
use crate::small_wiki::{SmallWiki, polite};

#[test]
fn an_article_is_extracted_and_its_history_drawn() {
    let wiki = SmallWiki::start(2, 260, 50);
    let house = House::with(&[
        ("MALLA_WIKI_CONTACT", "https://malla.test/who"),
        ("MALLA_WIKI_API", &wiki.url),
        ("MALLA_WIKI_GAP_MS", "50"),
        ("MALLA_WIKI_REVISIT", "off"),
    ]);
    let browser = house.admin();
    browser.open("/wiki");
    browser.fill("Title or URL", &wiki.title(1));
    browser.press("Extract");
    browser.sees("The extraction is under way");
    browser.remember();
    browser.sees("succeeded");
    assert!(browser.remembers(), "the page was never loaded again");
    browser.sees("260 revisions");
    browser.press(&wiki.title(1));
    browser.sees_heading(&wiki.title(1));
    browser.sees("complete");
    for chart in ["Size over time", "Hours and days", "Top ten by edits", "Top ten by text", "Years"] {
        browser.sees(chart);
    }
    // Every drawing has a name for those who do not see it, and something in it for those who do.
    let drawings = browser.ask(
        "return [...document.querySelectorAll('main svg[role=img]')].map((one) => \
         [one.getAttribute('aria-label') || one.querySelector('title')?.textContent || '', \
          one.querySelectorAll('rect, path, circle, line').length])",
    );
    let drawings = drawings.as_array().expect("a list");
    assert!(drawings.len() >= 3, "{drawings:?}");
    assert!(drawings.iter().all(|one| one[0] != "" && one[1].as_u64().is_some_and(|n| n > 0)), "{drawings:?}");
    browser.press("Compare the two chosen");
    browser.sees("What changed from revision");
    browser.open("/wiki/query");
    browser.sees_heading("Query");
    drop(browser);
    polite(&wiki.seen());
}
