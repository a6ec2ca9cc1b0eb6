//! Single exchanges, as tests make them.

use std::time::{Duration, Instant};

use malla_fetch::{Answer, GetLimits, Getter, Got, Item, Line, PackedBody, PageUrl, TroubleKind, Validators, What};
use malla_queue::{LeaseToken, TaskId};
use malla_reach::Guard;

pub(crate) const AGENT: &str = "MallaBot/0 (+test@example.org)";
/// Longer than any limit of these tests, with air for a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(10);

/// Waits until something is so.
pub(crate) async fn until(is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < 2 * SOON, "it does not come");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) fn getter() -> Getter {
    Getter::new(Guard::new(true, Vec::new()), AGENT).expect("a getter")
}

/// One that waits for less than a second, and takes 10,000 bytes.
pub(crate) fn impatient() -> Getter {
    getter().with_limits(GetLimits {
        whole: Duration::from_millis(600),
        connect: Duration::from_millis(400),
        body_bytes: 10_000,
        ..GetLimits::default()
    })
}

pub(crate) fn item(url: PageUrl) -> Item {
    Item { token: LeaseToken { task: TaskId(1), nonce: 1 }, url, what: What::Page, validators: Validators::default() }
}

/// Fetches a page over a line of its own, within a bounded time.
pub(crate) async fn fetch(getter: &Getter, url: PageUrl) -> Answer {
    fetch_over(getter, &mut Line::default(), &item(url)).await
}

pub(crate) async fn fetch_over(getter: &Getter, line: &mut Line, item: &Item) -> Answer {
    let started = Instant::now();
    let got = getter.get(line, item, || true).await;
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    match got {
        Got::Answer(answer, _) => answer,
        other => panic!("no answer: {other:?}"),
    }
}

pub(crate) fn text(body: &PackedBody) -> String {
    let bytes = usize::try_from(body.bytes).expect("it fits");
    if bytes == 0 {
        assert!(body.packed.is_empty());
        return String::new();
    }
    let unpacked = zstd::bulk::decompress(&body.packed, bytes).expect("a frame");
    assert_eq!(unpacked.len(), bytes);
    String::from_utf8(unpacked).expect("text")
}

/// The status, what went wrong, and what is said about it.
#[track_caller]
pub(crate) fn troubled(answer: &Answer, status: u16, what: TroubleKind, note: &str) {
    let trouble = answer.trouble.as_ref().unwrap_or_else(|| panic!("no trouble: {answer:?}"));
    assert_eq!((answer.status, trouble.what), (status, what), "{answer:?}");
    assert!(trouble.note.contains(note), "{:?} does not say {note:?}", trouble.note);
}
