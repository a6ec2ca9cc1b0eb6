//! Readers of wikis: they ask for pages without pause, and wait for each.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::server::DEADLINE;
use crate::small_wiki::SmallWiki;

use crate::crash::caller::Servers;
use crate::crash::clients;
use crate::crash::dice::Dice;
use crate::crash::shelf::{Http, is_whole};

const POLL: Duration = Duration::from_millis(100);
/// For one page, whatever happens meanwhile.
const PATIENCE: Duration = DEADLINE.saturating_mul(4);

pub(super) type Readers = clients::Clients<Shared>;
type Hand = clients::Hand<Shared>;

pub(super) struct Shared {
    wikis: Arc<Vec<SmallWiki>>,
    /// Extractions that were acknowledged.
    asked: Mutex<BTreeSet<String>>,
    /// Wikis and their pages that were read.
    read: Mutex<BTreeSet<(usize, u64)>>,
    keys: AtomicU64,
}

impl Readers {
    /// One reader a wiki, of which the first is the operator's own.
    pub(super) fn start(wikis: &Arc<Vec<SmallWiki>>, dice: &mut Dice, timeout: Duration) -> Self {
        let shared =
            Shared { wikis: wikis.clone(), asked: Mutex::default(), read: Mutex::default(), keys: AtomicU64::new(0) };
        let mut readers = clients::Clients::new(shared, timeout, dice);
        for number in 0..wikis.len() {
            readers.add(dice, async move |mut hand: Hand| {
                let mut page = 0;
                while hand.goes_on() {
                    hand.read(number, page).await;
                    page = (page + 1) % hand.shared.wikis[number].pages;
                }
            });
        }
        readers
    }

    /// Every page of every wiki is there, whole. Returns how many extractions there were.
    pub(super) fn stop_and_audit(mut self, http: &Http, way: &Servers) -> usize {
        self.end();
        for (number, wiki) in self.shared.wikis.iter().enumerate() {
            let read = self.shared.read.lock().expect("no panic while it is held").clone();
            for page in (0..wiki.pages).filter(|page| !read.contains(&(number, *page))) {
                let mut hand = self.hand(Dice::default());
                self.runtime.block_on(hand.read(number, page));
            }
            is_whole(http, way, wiki);
        }
        self.runtime.block_on(self.all_is_well());
        self.shared.asked.lock().expect("no panic while it is held").len()
    }
}

impl Hand {
    /// Asks for a page and waits until it has been read.
    async fn read(&mut self, number: usize, page: u64) {
        let wiki = &self.shared.wikis[number];
        let title = wiki.title(page);
        let body = match number {
            0 => json!({ "title": title }),
            _ => json!({ "url": format!("{}wiki/{}", wiki.url, title.replace(' ', "_")) }),
        };
        let key = format!("read-{}", self.shared.keys.fetch_add(1, Ordering::Relaxed));
        let answer = self.caller.write(&Method::POST, "/api/v1/extract", Some(&body), &key).await;
        let place = answer.body["Location"].as_str().filter(|_| answer.status == StatusCode::ACCEPTED);
        let Some(id) = place.and_then(|place| place.rsplit('/').next()?.split('?').next()) else {
            return self.caller.trials.wrong(format!("{body} was answered with {answer:?}"));
        };
        self.shared.asked.lock().expect("no panic while it is held").insert(id.to_owned());
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Ok(status) = self.caller.read(&format!("/api/v1/status/{id}")).await {
                match status["state"].as_str() {
                    Some("SUCCESS") => {
                        self.shared.read.lock().expect("no panic while it is held").insert((number, page));
                        return;
                    }
                    Some("FAILURE") => return self.caller.trials.wrong(format!("{title}: {status}")),
                    _ if Instant::now() > deadline => {
                        return self.caller.trials.wrong(format!("{title} is not read within {PATIENCE:?}: {status}"));
                    }
                    _ => {}
                }
            }
            tokio::time::sleep(POLL).await;
        }
    }
}
