//! Four web sites to be fetched: one that changes, one that forbids a part of itself, one that is slow, and one that is
//! broken in every way.

use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LOCATION, RETRY_AFTER};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse as _, Response};
use futures_util::stream;

use crate::dice::Dice;

pub(super) const NAMES: [&str; 4] = ["news", "shop", "archive", "attic"];

/// The front page of the news is another one so often.
const NEWS_EVERY_S: u64 = 30;
/// Some prices of the shop change so often.
const PRICES_EVERY_S: u64 = 120;
/// Longer than any device waits.
const NEVER: Duration = Duration::from_secs(60);

const STORIES: [&str; 12] = [
    "Lighthouse gets a new lamp",
    "Ferry to the north shore runs again",
    "Regatta: thirty boats and one storm",
    "The old bridge turns four hundred",
    "Net makers open their workshop",
    "Library lends out telescopes",
    "A seal in the harbour office",
    "Bakers' strike ends after breakfast",
    "Tide tables were wrong by a day",
    "School builds a weather station",
    "Market moves below the wall",
    "Fog bell stolen, fog bell returned",
];
const ITEMS: [&str; 10] = [
    "Rope, 20 m",
    "Brass lantern",
    "Wool jumper",
    "Chart of the bay",
    "Tin of sardines",
    "Fishing net",
    "Enamel mug",
    "Foghorn",
    "Oilskin hat",
    "Compass",
];

pub(super) async fn answer(site: &str, request: &Parts, port: u16, age: Duration) -> Response {
    let path = request.uri.path();
    let mut words = path.trim_matches('/').split('/');
    let (first, number) = (words.next().unwrap_or_default(), words.next().and_then(|word| word.parse::<u64>().ok()));
    let known = request.headers.get(IF_NONE_MATCH);
    match (site, first) {
        (_, "robots.txt") => robots(site).into_response(),
        ("news", "") => {
            let edition = age.as_secs() / NEWS_EVERY_S;
            page(&front_page(edition), 15, known)
        }
        ("news", "story") => match number {
            Some(number @ 1..=12) => page(&story(number), 600, known),
            _ => missing(),
        },
        ("news", "old") => to(&format!("/story/{}", number.unwrap_or(1))),
        ("news", "drafts") => page(&html("A draft", "<p>Not for robots.</p>"), 60, known),
        ("shop", "") => page(&shelf(), 300, known),
        ("shop", "item") => match number {
            Some(number @ 1..=10) => page(&item(number, age), 60, known),
            _ => missing(),
        },
        ("shop", "sale") => to("/item/3"),
        ("shop", "basket") => page(&html("Your basket", "<p>Empty.</p>"), 0, known),
        ("archive", "") => page(&years(), 600, known),
        ("archive", "year") => {
            let year = number.unwrap_or(1890);
            tokio::time::sleep(Duration::from_millis(500 + year * 37 % 1_300)).await;
            page(&annals(year), 900, known)
        }
        ("attic", _) => attic(first, port, age).await,
        _ => missing(),
    }
}

fn robots(site: &str) -> String {
    let rules = match site {
        "news" => "Disallow: /drafts/",
        "shop" => "Disallow: /basket\nAllow: /",
        "archive" => "Crawl-delay: 2",
        _ => "Disallow:",
    };
    format!("User-agent: *\n{rules}\n")
}

/// A site that nobody looks after.
async fn attic(path: &str, port: u16, age: Duration) -> Response {
    match path {
        "" => {
            let link = |path: &&str| format!("<li><a href=\"/{path}\">{path}</a></li>");
            let links: String = ["broken", "gone", "loop", "busy", "cut", "never"].iter().map(link).collect();
            page(&html("The attic", &format!("<ul>{links}</ul>")), 0, None)
        }
        "broken" => (StatusCode::INTERNAL_SERVER_ERROR, "the machine in the attic is broken\n").into_response(),
        "gone" => (StatusCode::GONE, "it was given away\n").into_response(),
        "loop" => to("/loop"),
        "elsewhere" => to(&format!("http://news.localhost:{port}/")),
        "busy" if (age.as_secs() / 20).is_multiple_of(2) => {
            (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "4")], "come back later\n").into_response()
        }
        "busy" => page(&html("The attic", "<p>Now there is time.</p>"), 0, None),
        "cut" => {
            let parts = [Ok(Bytes::from_static(b"<p>and then the")), Err(io::Error::other("it breaks off"))];
            Body::from_stream(stream::iter(parts)).into_response()
        }
        "never" => {
            tokio::time::sleep(NEVER).await;
            missing()
        }
        _ => missing(),
    }
}

fn missing() -> Response {
    (StatusCode::NOT_FOUND, Html(html("Not found", "<p>There is nothing here.</p>"))).into_response()
}

fn to(place: &str) -> Response {
    let place = HeaderValue::from_str(place).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::MOVED_PERMANENTLY, [(LOCATION, place)]).into_response()
}

/// A page that may be kept for so long, and is told apart by its tag.
fn page(text: &str, fresh_s: u64, known: Option<&HeaderValue>) -> Response {
    let sum = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let tag = HeaderValue::from_str(&format!("\"{sum:016x}\"")).unwrap_or(HeaderValue::from_static("\"\""));
    let fresh = HeaderValue::from_str(&format!("max-age={fresh_s}")).unwrap_or(HeaderValue::from_static("no-store"));
    let headers = [(ETAG, tag.clone()), (CACHE_CONTROL, fresh)];
    if known == Some(&tag) {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    let kind = [(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"))];
    (headers, kind, text.to_owned()).into_response()
}

fn html(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><title>{title}</title></head>\n<body><h1>{title}</h1>\n{body}\n</body></html>\n"
    )
}

fn front_page(edition: u64) -> String {
    let mut body = format!("<p>Edition {edition} of today.</p><ul>");
    for place in 0..STORIES.len() as u64 {
        let number = (place + edition * 5) % STORIES.len() as u64;
        let title = STORIES[usize::try_from(number).unwrap_or(0)];
        let _ = write!(body, "<li><a href=\"/story/{}\">{title}</a></li>", number + 1);
    }
    html("The Harbour Post", &(body + "</ul>"))
}

fn story(number: u64) -> String {
    let title = STORIES[usize::try_from(number - 1).unwrap_or(0)];
    let next = number % STORIES.len() as u64 + 1;
    let text = paragraphs(number, 4);
    html(title, &format!("{text}<p><a href=\"/\">Front page</a> <a href=\"/story/{next}\">Next story</a></p>"))
}

fn shelf() -> String {
    let mut body = String::from("<ul>");
    for (number, item) in (1..).zip(ITEMS) {
        let _ = write!(body, "<li><a href=\"/item/{number}\">{item}</a></li>");
    }
    html("Ship chandler", &(body + "</ul><p><a href=\"/basket\">Basket</a> <a href=\"/sale\">Sale</a></p>"))
}

fn item(number: u64, age: Duration) -> String {
    let turn = if number.is_multiple_of(3) { age.as_secs() / PRICES_EVERY_S } else { 0 };
    let cents = 450 + number * 730 + turn * 35 % 400;
    let name = ITEMS[usize::try_from(number - 1).unwrap_or(0)];
    let text = paragraphs(100 + number, 1);
    html(
        name,
        &format!("<p class=\"price\">{}.{:02} €</p>{text}<p><a href=\"/\">Shelf</a></p>", cents / 100, cents % 100),
    )
}

fn years() -> String {
    let mut body = String::from("<ul>");
    for year in 1890..1902 {
        let _ = write!(body, "<li><a href=\"/year/{year}\">{year}</a></li>");
    }
    html("Town archive", &(body + "</ul>"))
}

fn annals(year: u64) -> String {
    html(&format!("Annals of {year}"), &paragraphs(year, 60))
}

fn paragraphs(seed: u64, many: usize) -> String {
    let mut dice = Dice::new(seed);
    let mut text = String::new();
    for _ in 0..many {
        let who = dice.pick(&["The council", "A fisherman", "The keeper", "Somebody", "The teacher", "The baker"]);
        let did = dice.pick(&["measured", "painted", "lost", "found", "sold", "repaired", "wrote down"]);
        let what = dice.pick(&["the quay", "two boats", "the tide table", "a lantern", "the north wall", "forty nets"]);
        let when = dice.pick(&["before the storm", "on a Sunday", "at low tide", "for the third time", "in the fog"]);
        let _ = writeln!(text, "<p>{who} {did} {what} {when}.</p>");
    }
    text
}
