//! Sites that do harm, by accident or on purpose: each costs one bounded attempt and ends in a definite answer.

use std::io::Write as _;
use std::time::Duration;

use malla_fetch::{GetLimits, Getter, Item, Line, NO_ANSWER, NOT_ASKED, PageUrl, TroubleKind, What};
use malla_reach::Guard;
use tokio::net::TcpListener;

use crate::fetching::{AGENT, fetch, fetch_over, getter, impatient, item, text, troubled};
use crate::origin::{Origin, Reply};

const OFTEN: Duration = Duration::from_millis(20);

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("in memory")
}

/// What an impatient getter makes of this reply.
async fn check(reply: Reply, status: u16, what: TroubleKind, note: &str) -> String {
    let origin = Origin::new(move |_| reply.clone()).await;
    let answer = fetch(&impatient(), origin.url("/")).await;
    troubled(&answer, status, what, note);
    text(&answer.body)
}

#[tokio::test]
async fn a_name_without_address() {
    let url = PageUrl::parse("http://no-such-name.invalid/").expect("a URL");
    troubled(&fetch(&getter(), url).await, NO_ANSWER, TroubleKind::NoAddress, "does not resolve");
}

#[tokio::test]
async fn addresses_that_may_not_be_reached() {
    let origin = Origin::new(|_| Reply::page(b"secret")).await;
    let guarded = Getter::new(Guard::default(), AGENT).expect("a getter");
    let port = origin.url("/").as_url().port().expect("a port");
    for host in ["127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]"] {
        let url = PageUrl::parse(&format!("http://{host}:{port}/")).expect("a URL");
        let answer = fetch(&guarded, url).await;
        troubled(&answer, NOT_ASKED, TroubleKind::Refused, "loopback");
    }
    assert_eq!(origin.connections(), 0);
}

#[tokio::test]
async fn nobody_listens() {
    let address = {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        listener.local_addr().expect("an address")
    };
    let url = PageUrl::parse(&format!("http://{address}/")).expect("a URL");
    troubled(&fetch(&getter(), url).await, NO_ANSWER, TroubleKind::NoConnection, "connection refused");
}

#[tokio::test]
async fn silence() {
    check(Reply::raw("").hang(), NO_ANSWER, TroubleKind::TimedOut, "did not answer within 0.6 s").await;
}

#[tokio::test]
async fn a_head_that_drips() {
    let reply = Reply::raw("HTTP/1.1 200 OK\r\nx: ").repeat("x", OFTEN);
    check(reply, NO_ANSWER, TroubleKind::TimedOut, "did not answer").await;
}

#[tokio::test]
async fn words_before_the_answer_without_end() {
    let reply = Reply::raw("").repeat("HTTP/1.1 102 Processing\r\n\r\n", OFTEN);
    check(reply, NO_ANSWER, TroubleKind::TimedOut, "did not answer").await;
}

#[tokio::test]
async fn a_body_that_drips() {
    let reply = Reply::raw("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n").repeat("x", OFTEN);
    let body = check(reply, 200, TroubleKind::TimedOut, "did not end its answer").await;
    assert!(body.starts_with("xx") && body.len() < 100, "{body}");
}

#[tokio::test]
async fn a_body_that_hangs() {
    let reply = Reply::raw("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nbeginning").hang();
    assert_eq!(check(reply, 200, TroubleKind::TimedOut, "did not end").await, "beginning");
}

#[tokio::test]
async fn a_body_without_end() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n";
    let reply = Reply::raw(head).repeat(vec![b'x'; 4_096], Duration::ZERO);
    let body = check(reply, 200, TroubleKind::TooLarge, "larger than 10000 bytes").await;
    assert_eq!(body, "x".repeat(10_000));
}

#[tokio::test]
async fn a_body_of_just_the_limit_is_no_trouble() {
    for (bytes, fits) in [(10_000, true), (10_001, false)] {
        let origin = Origin::new(move |_| Reply::page(&vec![b'x'; bytes])).await;
        let answer = fetch(&impatient(), origin.url("/")).await;
        assert_eq!((answer.trouble.is_none(), answer.body.bytes), (fits, 10_000));
    }
}

#[tokio::test]
async fn a_robots_txt_is_cut_after_500_kib() {
    let origin = Origin::new(|_| Reply::page(&vec![b'#'; 600 << 10])).await;
    let robots = Item { what: What::Robots, ..item(origin.url("/robots.txt")) };
    let answer = fetch_over(&getter(), &mut Line::default(), &robots).await;
    troubled(&answer, 200, TroubleKind::TooLarge, "the rest is left out");
    assert_eq!(answer.body.bytes, (500 << 10) + 1);
    assert_eq!(fetch(&getter(), origin.url("/")).await.body.bytes, 600 << 10);
}

#[tokio::test]
async fn bombs() {
    let bomb = gzip(&vec![b'x'; 20_000_000]);
    let layered = gzip(&bomb);
    for (encoding, body) in [("gzip", &bomb), ("gzip, gzip", &layered)] {
        let reply = Reply::with("200 OK", &[&format!("content-encoding: {encoding}")], body);
        let origin = Origin::new(move |_| reply.clone()).await;
        let answer = fetch(&getter(), origin.url("/")).await;
        troubled(&answer, 200, TroubleKind::TooLarge, "larger than");
        assert_eq!(answer.body.bytes, 10 << 20);
        assert!(answer.body.packed.len() < 100_000);
    }
}

#[tokio::test]
async fn encodings_that_are_none() {
    for encoding in ["gzip", "deflate", "br", "zstd"] {
        let line = format!("content-encoding: {encoding}");
        let reply = Reply::with("200 OK", &[&line], &[0xff; 50]);
        let body = check(reply, 200, TroubleKind::BrokeOff, "not in the encoding that it claims").await;
        assert_eq!(body, "");
    }
    let whole = gzip(b"hello, this is a page");
    let reply = Reply::with("200 OK", &["content-encoding: gzip"], &whole[..whole.len() - 6]);
    assert_eq!(check(reply, 200, TroubleKind::BrokeOff, "not in the encoding").await, "");
}

#[tokio::test]
async fn bodies_that_end_before_their_end() {
    let short = Reply::raw("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nbeginning").close();
    assert_eq!(check(short, 200, TroubleKind::BrokeOff, "broke off its answer").await, "beginning");
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunks = Reply::raw(format!("{head}9\r\nbeginning\r\n")).close();
    assert_eq!(check(chunks, 200, TroubleKind::BrokeOff, "broke off").await, "beginning");
    let no_size = Reply::raw(format!("{head}9\r\nbeginning\r\nhello\r\n"));
    assert_eq!(check(no_size, 200, TroubleKind::BrokeOff, "broke off").await, "beginning");
    let zipped = gzip(b"a beginning, and it goes on for a while");
    let head = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 1000\r\n\r\n";
    let zipped = Reply::raw([head.as_bytes(), &zipped[..zipped.len() - 8]].concat()).close();
    assert!(check(zipped, 200, TroubleKind::BrokeOff, "broke off").await.starts_with("a beginning"));
}

#[tokio::test]
async fn what_is_not_http() {
    for garbage in ["SSH-2.0-OpenSSH_9.6\r\n", "hello", "<html>hi</html>\r\n\r\n", "\0\0\0", "HTTP/1.1 abc\r\n\r\n"] {
        check(Reply::raw(garbage).hang(), NO_ANSWER, TroubleKind::Garbled, "not HTTP").await;
        check(Reply::raw(garbage).close(), NO_ANSWER, TroubleKind::Garbled, "not HTTP").await;
    }
    for twice in ["content-length: 5\r\ncontent-length: 6", "content-length: many"] {
        let reply = Reply::raw(format!("HTTP/1.1 200 OK\r\n{twice}\r\n\r\nhello")).close();
        check(reply, NO_ANSWER, TroubleKind::Garbled, "not HTTP").await;
    }
    let upgrade = Reply::raw("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n");
    check(upgrade, NO_ANSWER, TroubleKind::Garbled, "something else than HTTP").await;
}

#[tokio::test]
async fn heads_that_are_too_large() {
    let lines = |count: usize| (0..count).map(|n| format!("x-{n}: y\r\n")).collect::<String>();
    let many = Reply::raw(format!("HTTP/1.1 200 OK\r\n{}\r\n", lines(201)));
    check(many, NO_ANSWER, TroubleKind::TooLarge, "headers").await;
    let long = Reply::raw(format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(70_000)));
    check(long, NO_ANSWER, TroubleKind::TooLarge, "headers").await;
    let endless = Reply::raw("HTTP/1.1 200 OK\r\n").repeat("x: yyyyyyyyyyyyyyyyyyyy\r\n".repeat(100), Duration::ZERO);
    check(endless, NO_ANSWER, TroubleKind::TooLarge, "headers").await;
    let fits =
        Origin::new(move |_| Reply::raw(format!("HTTP/1.1 200 OK\r\n{}content-length: 0\r\n\r\n", lines(199)))).await;
    assert_eq!(fetch(&impatient(), fits.url("/")).await.headers.len(), 200);
}

#[tokio::test]
async fn connections_that_close_without_an_answer() {
    check(Reply::raw("").close(), NO_ANSWER, TroubleKind::BrokeOff, "before it had answered").await;
    let half = Reply::raw("HTTP/1.1 200 OK\r\ncontent-le").close();
    check(half, NO_ANSWER, TroubleKind::BrokeOff, "before it had answered").await;
}

#[tokio::test]
async fn after_a_bad_answer_the_line_is_good_again() {
    let origin = Origin::new(|ask| match ask.path.as_str() {
        "/good" => Reply::page(b"good"),
        "/garbage" => Reply::raw("garbage\r\n\r\n"),
        "/long" => Reply::raw("HTTP/1.1 200 OK\r\n\r\n").repeat(vec![b'x'; 4_096], Duration::ZERO),
        "/more" => Reply::raw("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi and more than was promised"),
        _ => Reply::raw("").hang(),
    })
    .await;
    let (getter, mut line) = (impatient(), Line::default());
    for path in ["/good", "/garbage", "/good", "/long", "/good", "/silence", "/good", "/more", "/good"] {
        let answer = fetch_over(&getter, &mut line, &item(origin.url(path))).await;
        assert_eq!(answer.status == 200 && answer.trouble.is_none(), matches!(path, "/good" | "/more"), "{path}");
    }
}

#[tokio::test]
async fn our_own_slowness_is_not_the_sites() {
    let origin = Origin::new(|_| Reply::page(&vec![b'x'; 30_000])).await;
    let limits = GetLimits { whole: Duration::from_millis(300), ..GetLimits::default() };
    let slow = getter().with_limits(limits).with_max_rate(Some(30_000));
    let answer = fetch(&slow, origin.url("/")).await;
    assert_eq!((answer.body.bytes, answer.trouble), (30_000, None));
    assert!(answer.took_ms > 500, "{}", answer.took_ms);
}
