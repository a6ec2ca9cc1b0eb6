//! What goes on asking for pages by itself: a crawl to its end, and a page that is watched while it changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::house::House;
use crate::receiver::Receiver;

const QUICK: &[(&str, &str)] = &[("MALLA_FETCH_GAP_MS", "0")];

#[test]
fn a_crawl_is_started_watched_to_its_end_and_its_pages_read() {
    let page = |links: &str| format!("200 OK\r\ncontent-type: text/html\r\n\r\n<p>a page</p>{links}");
    let site = Receiver::answering(move |_, asked| match asked.path.as_str() {
        "/" => page("<a href='/a'>a</a> <a href='/b'>b</a> <a href='http://127.0.0.1:9/away'>away</a>"),
        "/a" => page("<a href='/a/deeper'>deeper</a> <a href='/picture.png'>a picture</a>"),
        "/b" | "/a/deeper" => page("<a href='/'>home</a>"),
        _ => "404 Not Found".into(),
    });
    let house = House::with(QUICK);
    let browser = house.admin();
    browser.open("/fetch/crawls");
    browser.sees("Nothing has been crawled yet.");
    browser.press("New crawl");
    browser.fill("Seeds", "no address");
    browser.press("Start crawl");
    browser.sees("cannot be fetched");
    browser.fill("Seeds", &site.url_of("/"));
    browser.fill("Pages at most", "10");
    browser.press("Start crawl");
    browser.sees("The crawl has started.");
    browser.remember();
    browser.sees_all(&["4 of at most 10 pages", "done", "Good (2xx) 4", "outside of the scope 1"]);
    assert!(browser.remembers(), "the page was never loaded again");
    browser.press(&site.url_of("/a/deeper"));
    browser.sees("a page");
    browser.open("/fetch/crawls?state=done");
    browser.sees(&site.url_of("/"));
}

#[test]
fn a_watched_page_changes_and_what_changed_is_shown() {
    let changed = Arc::new(AtomicBool::new(false));
    let is_changed = changed.clone();
    let site = Receiver::answering(move |_, asked| {
        let price = if is_changed.load(Ordering::SeqCst) { "nineteen" } else { "twelve" };
        match asked.path.as_str() {
            "/price" => format!("200 OK\r\ncontent-type: text/html\r\n\r\n<p>It costs {price} today</p>"),
            _ => "404 Not Found".into(),
        }
    });
    let house = House::with(QUICK);
    let browser = house.admin();
    browser.open("/fetch/watches");
    browser.press("New watch");
    browser.fill("URL", &site.url_of("/price"));
    browser.fill("Shortest interval", "1");
    browser.fill("Longest interval", "1");
    browser.press("Watch it");
    browser.sees("The page is watched.");
    browser.remember();
    browser.sees("Newest version 1");
    changed.store(true, Ordering::SeqCst);
    browser.sees("Newest version 2");
    assert!(browser.remembers(), "the page was never loaded again");
    browser.press("what changed");
    browser.sees_all(&["What changed from version 1 to 2", "twelve", "nineteen"]);
    assert_eq!(browser.ask("return document.querySelector('.difference del').textContent"), "twelve");
    browser.open("/fetch/watches");
    browser.press(&site.url_of("/price"));
    browser.press("Pause watch");
    browser.sees("is paused.");
    browser.press("Resume watch");
    browser.sees("goes on.");
    browser.press("Delete…");
    browser.press("Delete");
    browser.sees("is deleted.");
    browser.sees("No page is watched yet.");
}
