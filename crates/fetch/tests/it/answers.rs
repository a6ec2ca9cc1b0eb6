//! Good answers: what is asked, what is kept, what is done with the connection.

use std::time::{Duration, Instant};

use malla_fetch::{Got, Item, Line, Validators, What};

use crate::fetching::{AGENT, fetch, fetch_over, getter, item, text};
use crate::origin::{Origin, Reply};

const GZIPPED: &[u8] = &[
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x86, 0xa6,
    0x10, 0x36, 0x05, 0x00, 0x00, 0x00,
];

#[tokio::test]
async fn a_page_comes_with_its_status_headers_and_body() {
    let lines = ["Content-Type: text/html", "X-Odd: caf\u{e9}", "Set-Cookie: a", "Set-Cookie: b"];
    let origin = Origin::new(move |_| Reply::with("404 Not Found", &lines, b"nothing here")).await;
    let answer = fetch(&getter(), origin.url("/a?b=c#d")).await;
    assert_eq!((answer.status, text(&answer.body).as_str(), &answer.trouble), (404, "nothing here", &None));
    let values = |name: &str| -> Vec<String> {
        answer.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value.clone()).collect()
    };
    assert_eq!(values("content-type"), ["text/html"]);
    assert_eq!(values("x-odd"), ["caf\u{e9}"]);
    assert_eq!(values("set-cookie"), ["a", "b"]);
}

#[tokio::test]
async fn a_request_says_who_asks_and_for_what() {
    let origin = Origin::new(|_| Reply::page(b"")).await;
    let validators = Validators { etag: Some("\"v1\"".into()), last_modified: Some("yesterday".into()) };
    let page = Item { validators, ..item(origin.url("/a?b=c")) };
    let answer = fetch_over(&getter(), &mut Line::default(), &page).await;
    assert_eq!((answer.body.bytes, answer.body.packed.len()), (0, 0));
    let head = &origin.asks()[0].head;
    let host = origin.url("/").site().as_str().replace("http://", "");
    for line in [
        "GET /a?b=c HTTP/1.1",
        &format!("host: {host}"),
        &format!("user-agent: {AGENT}"),
        "accept: */*",
        "accept-encoding: gzip, deflate, br, zstd",
        "if-none-match: \"v1\"",
        "if-modified-since: yesterday",
    ] {
        assert!(head.lines().any(|there| there == line), "{line} is not in {head}");
    }
    assert_eq!(head.lines().count(), 8, "{head}");
}

#[tokio::test]
async fn a_page_that_has_not_changed_has_no_body() {
    let origin = Origin::new(|_| Reply::raw("HTTP/1.1 304 Not Modified\r\netag: \"v1\"\r\n\r\n")).await;
    let answer = fetch(&getter(), origin.url("/")).await;
    assert_eq!((answer.status, answer.body.bytes, answer.trouble), (304, 0, None));
}

#[tokio::test]
async fn redirects_are_answers_like_others() {
    let origin = Origin::new(|_| Reply::with("301 Moved", &["location: /elsewhere"], b"gone there")).await;
    for what in [What::Page, What::Robots] {
        let page = Item { what, ..item(origin.url("/")) };
        let answer = fetch_over(&getter(), &mut Line::default(), &page).await;
        assert_eq!((answer.status, text(&answer.body).as_str()), (301, "gone there"));
        assert!(answer.headers.contains(&("location".into(), "/elsewhere".into())));
    }
    assert_eq!(origin.visits().len(), 2);
}

#[tokio::test]
async fn an_encoded_body_is_decoded() {
    let origin = Origin::new(|ask| match ask.path.as_str() {
        "/gzip" => Reply::with("200 OK", &["content-encoding: gzip"], GZIPPED),
        "/twice" => Reply::with("200 OK", &["content-encoding: gzip"], &GZIPPED.repeat(2)),
        "/unknown" => Reply::with("200 OK", &["content-encoding: rot13"], b"uryyb"),
        _ => Reply::raw(
            [
                b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-encoding: gzip\r\n\r\n5\r\n".as_slice(),
                &GZIPPED[..5],
                b"\r\n14\r\n",
                &GZIPPED[5..],
                b"\r\n0\r\nx-trailer: y\r\n\r\n",
            ]
            .concat(),
        ),
    })
    .await;
    for (path, expected) in [("/gzip", "hello"), ("/twice", "hellohello"), ("/unknown", "uryyb"), ("/chunks", "hello")]
    {
        let answer = fetch(&getter(), origin.url(path)).await;
        assert_eq!((text(&answer.body).as_str(), answer.trouble), (expected, None), "{path}");
    }
}

#[tokio::test]
async fn what_is_said_before_the_answer_is_skipped() {
    let before = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";
    let origin =
        Origin::new(move |_| Reply::raw(format!("{before}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"))).await;
    let answer = fetch(&getter(), origin.url("/")).await;
    assert_eq!((answer.status, text(&answer.body).as_str()), (200, "hi"));
}

#[tokio::test]
async fn old_and_sloppy_servers_are_understood() {
    for reply in [
        "HTTP/1.0 200 OK\r\n\r\nhi",
        "HTTP/1.1 200 OK\nconnection: close\n\nhi",
        "HTTP/1.1 200\r\nconnection: close\r\nno colon here\r\nx : y\r\nfolded: a\r\n b\r\n\r\nhi",
    ] {
        let origin = Origin::new(move |_| Reply::raw(reply).close()).await;
        let answer = fetch(&getter(), origin.url("/")).await;
        assert_eq!((answer.status, text(&answer.body).as_str(), answer.trouble), (200, "hi", None), "{reply}");
    }
}

#[tokio::test]
async fn a_connection_is_kept_and_made_anew_when_the_site_has_closed_it() {
    let origin = Origin::new(|ask| match (ask.connection, ask.nth) {
        (0, 2) => Reply::page(b"bye").close(),
        _ => Reply::page(b"hi"),
    })
    .await;
    let (getter, mut line) = (getter(), Line::default());
    for n in 0..6 {
        let answer = fetch_over(&getter, &mut line, &item(origin.url("/"))).await;
        assert_eq!(answer.status, 200, "{n}");
        if n == 2 {
            // The end of the connection must have come here to be noticed before the next request.
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    assert_eq!(origin.connections(), 2);
}

#[tokio::test]
async fn a_connection_that_closes_as_the_request_goes_out_is_stale() {
    let origin = Origin::new(|ask| match (ask.connection, ask.nth) {
        (0, 1) => Reply::raw("").close(),
        _ => Reply::page(b"hi"),
    })
    .await;
    let (getter, mut line, page) = (getter(), Line::default(), item(origin.url("/")));
    fetch_over(&getter, &mut line, &page).await;
    assert!(matches!(getter.get(&mut line, &page, || true).await, Got::Stale));
    assert_eq!(fetch_over(&getter, &mut line, &page).await.status, 200);
    assert_eq!(origin.connections(), 2);
}

#[tokio::test]
async fn what_is_no_longer_ours_when_there_is_a_connection_is_not_asked() {
    let origin = Origin::new(|_| Reply::page(b"hi")).await;
    let (getter, mut line, page) = (getter(), Line::default(), item(origin.url("/")));
    assert!(matches!(getter.get(&mut line, &page, || false).await, Got::TooLate));
    // The next one that may goes over the same connection.
    assert_eq!(fetch_over(&getter, &mut line, &page).await.status, 200);
    assert_eq!((origin.connections(), origin.visits().len()), (1, 1));
}

#[tokio::test]
async fn a_line_leads_to_one_site_only() {
    let (one, other) = (Origin::new(|_| Reply::page(b"one")).await, Origin::new(|_| Reply::page(b"other")).await);
    let (getter, mut line) = (getter(), Line::default());
    for (origin, expected) in [(&one, "one"), (&other, "other"), (&one, "one")] {
        let answer = fetch_over(&getter, &mut line, &item(origin.url("/"))).await;
        assert_eq!(text(&answer.body), expected);
    }
}

#[tokio::test]
async fn the_last_word_is_the_first_byte_of_the_answer() {
    let slow = Duration::from_millis(200);
    let origin = Origin::new(move |ask| match ask.path.as_str() {
        "/slow" => Reply::raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").repeat("0\r\n\r\n", slow),
        _ => Reply::raw("").close(),
    })
    .await;
    let started = Instant::now();
    let Got::Answer(answer, last_word) = getter().get(&mut Line::default(), &item(origin.url("/slow")), || true).await
    else {
        panic!("no answer");
    };
    assert_eq!((answer.status, answer.trouble), (200, None));
    assert!(last_word.into_std() >= origin.visits()[0].start);
    assert!(last_word.elapsed() >= slow / 2, "it is not the end of the body");
    assert!(answer.took_ms >= 200 && u128::from(answer.took_ms) <= started.elapsed().as_millis());

    let Got::Answer(_, last_word) = getter().get(&mut Line::default(), &item(origin.url("/mute")), || true).await
    else {
        panic!("no answer");
    };
    assert!(last_word.into_std() >= origin.visits()[1].end.expect("it closed"), "without an answer, it is the end");
}
