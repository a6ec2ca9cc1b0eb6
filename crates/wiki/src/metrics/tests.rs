//! Histories in memory, counted.

use malla_queue::UnixMs;

use super::tally::Tally;
use super::*;
use crate::dump::kept::{Kept, page, wiki};
use crate::revision::Revision;
use crate::site::Wiki;
use crate::verbs::PageChange;

const DAY: i64 = 86_400_000;
/// 2018-03-09T12:00:00Z, a Friday.
const START: i64 = 1_520_596_800_000;

fn revision(revid: i64, at: i64, user: &str, size: u64, sha1: u64) -> Revision {
    Revision {
        revid: RevId(revid),
        parentid: RevId(revid - 1),
        pageid: PageId(7),
        at: UnixMs(at),
        user: Some(user.into()),
        userid: Some(1),
        anon: user.starts_with("192."),
        minor: false,
        size,
        sha1: Some(format!("{sha1:016x}{sha1:024x}")),
        model: "wikitext".into(),
        format: "text/x-wiki".into(),
        comment: None,
        parsed_comment: None,
        tags: Vec::new(),
        text: None,
        text_hidden: false,
    }
}

async fn metrics(revisions: impl IntoIterator<Item = Revision>) -> ArticleMetrics {
    let kept = Kept::with(|inside| {
        inside.pages.insert(PageId(7), page(7));
        inside.revisions = revisions.into_iter().map(|revision| (revision.mark(), revision)).collect();
    });
    of_page(&kept, &wiki(1), PageId(7)).await.expect("counted")
}

fn a_history() -> Vec<Revision> {
    let mut history = vec![
        revision(1, START, "Ana", 100, 1),
        revision(2, START + 60_000, "192.0.2.1", 20, 2),
        revision(3, START + 120_000, "Tidy bot", 100, 1), // a revert
        revision(4, START + 180_000, "Tidy bot", 100, 1), // nothing changed
        revision(5, START + 2 * DAY, "Ana", 400, 3),
        revision(6, START + 60 * DAY, "Eva", 450, 4),
        revision(7, START + 400 * DAY, "Eva", 440, 5),
    ];
    history[5].minor = true;
    history[6].user = None;
    history
}

#[tokio::test]
async fn a_history_in_numbers() {
    let found = metrics(a_history()).await;
    assert_eq!((found.revisions, found.editors, found.whole), (7, 4, true));
    assert_eq!((found.minor.edits, found.anonymous.edits, found.bots.edits, found.reverts.edits), (1, 1, 2, 1));
    assert!((found.bots.share - 2.0 / 7.0).abs() < 1e-9);
    let edit = |edit: &Option<Edit>| edit.as_ref().map(|edit| (edit.revid.0, edit.change));
    assert_eq!((edit(&found.first), edit(&found.last)), (Some((1, 100)), Some((7, -10))));
    assert_eq!((edit(&found.largest_addition), edit(&found.largest_removal)), (Some((5, 300)), Some((2, -80))));
    let names = |editors: &[Editor], of: fn(&Editor) -> u64| -> Vec<_> {
        editors.iter().map(|editor| (editor.user.clone(), of(editor))).collect()
    };
    let by_edits = names(&found.top_by_edits, |editor| editor.edits);
    assert_eq!(by_edits, [("Ana".to_owned(), 2), ("Tidy bot".into(), 2), ("192.0.2.1".into(), 1), ("Eva".into(), 1)]);
    let by_text = names(&found.top_by_text, |editor| editor.added);
    assert_eq!(by_text, [("Ana".to_owned(), 400), ("Eva".into(), 50)], "what a revert brings back is not the bot's");
    assert_eq!((found.hours[12], found.weekdays), (7, [0, 1, 0, 0, 4, 1, 1]));
}

#[tokio::test]
async fn months_and_years_have_no_gaps() {
    let found = metrics(a_history()).await;
    let months: Vec<_> = found.months.iter().map(|month| (month.period.as_str(), month.edits, month.size)).collect();
    assert_eq!(months.len(), 14);
    assert_eq!(months[..3], [("2018-03", 5, Some(400)), ("2018-04", 0, Some(400)), ("2018-05", 1, Some(450))]);
    assert_eq!(months[13], ("2019-04", 1, Some(440)));
    let years: Vec<_> =
        found.years.iter().map(|year| (year.period.as_str(), year.edits, year.anonymous, year.size)).collect();
    assert_eq!(years, [("2018", 6, 1, Some(450)), ("2019", 1, 0, Some(440))]);
    assert_eq!(found.months.iter().map(|month| month.minor).sum::<u64>(), 1);
}

#[tokio::test]
async fn times_between_edits_are_near_enough() {
    let found = metrics((0..101).map(|n| revision(n + 1, START + n * n * 60_000, "Ana", 1, n as u64))).await;
    let between = found.between_edits.expect("some edits");
    assert!((between.mean_s - 6_000.0).abs() < 1e-6);
    assert_eq!(between.longest_s, 199.0 * 60.0);
    assert!((between.median_s / (99.0 * 60.0) - 1.0).abs() < 0.1, "{}", between.median_s);
    assert_eq!(metrics([revision(1, START, "Ana", 1, 1)]).await.between_edits, None);
}

#[tokio::test]
async fn long_histories_keep_few_points_in_order_with_both_ends() {
    for count in [1, 2, 199, 200, 201, 5_000] {
        let found = metrics((0..count).map(|n| revision(n + 1, START + n * 1_000, "Ana", n as u64, n as u64))).await;
        let sizes: Vec<_> = found.sizes.iter().map(|point| point.size).collect();
        assert!(sizes.len() <= 200 && sizes.len() as i64 >= count.min(100), "{count}: {}", sizes.len());
        assert!(sizes.is_sorted_by(|a, b| a < b), "{count}");
        assert_eq!((sizes.first(), sizes.last()), (Some(&0), Some(&(count as u64 - 1))), "{count}");
    }
}

#[tokio::test]
async fn a_page_without_revisions_has_numbers_too_and_one_that_is_not_kept_has_none() {
    let found = metrics([]).await;
    assert_eq!((found.revisions, found.minor.share, found.months.len()), (0, 0.0, 0));
    let error = of_page(&Kept::default(), &wiki(1), PageId(8)).await.expect_err("no page");
    assert_eq!(error.to_string(), "page 8 of wiki 1 does not exist");
}

#[tokio::test]
async fn metrics_are_told_as_json_and_as_csv() {
    let found = metrics(a_history()).await;
    let json = serde_json::to_value(&found).expect("JSON");
    assert_eq!(json["first"]["at"], "2018-03-09T12:00:00Z");
    assert_eq!(serde_json::from_value::<ArticleMetrics>(json).expect("read"), found);
    let csv = found.csv();
    for line in [
        "revisions,article,7",
        "top by edits,Ana,2",
        "edits,2018-03,5",
        "edits by hour,12,7",
        "edits by weekday,Friday,4",
    ] {
        assert!(csv.lines().any(|found| found == line), "{line}");
    }
}

#[tokio::test]
async fn a_wiki_in_numbers() {
    let kept = Kept::with(|inside| {
        inside.pages.extend([7, 8].map(|pageid| (PageId(pageid), page(pageid))));
        let elsewhere = Revision { pageid: PageId(8), ..revision(8, START + 61 * DAY, "Ana", 5, 9) };
        let all = a_history().into_iter().chain([elsewhere]);
        inside.revisions = all.map(|revision| (revision.mark(), revision)).collect();
    });
    let found = of_wiki(&kept, &wiki(1)).await.expect("counted");
    assert_eq!((found.pages, found.revisions, found.editors), (2, 8, 4));
    assert_eq!((found.minor.edits, found.anonymous), (1, Share { edits: 1, share: 0.125 }));
    let months: Vec<_> = found.months.iter().map(|month| (month.period.as_str(), month.edits, month.minor)).collect();
    assert_eq!(months[..3], [("2018-03", 5, 0), ("2018-04", 0, 0), ("2018-05", 2, 1)]);
    assert_eq!((months.len(), found.years.len()), (14, 2));
    let names: Vec<_> = found.top_by_edits.iter().map(|editor| (editor.user.as_str(), editor.edits)).collect();
    assert_eq!(names, [("Ana", 3), ("Tidy bot", 2), ("192.0.2.1", 1), ("Eva", 1)]);
    let articles: Vec<_> = found.top_articles.iter().map(|article| (article.pageid.0, article.edits)).collect();
    assert_eq!(articles, [(7, 7), (8, 1)]);
    assert!(found.csv().contains("\ntop articles,Page 7,7\n"));
}

/// A long history in which everything happens that is counted.
fn a_long_history(count: i64) -> impl Iterator<Item = Revision> {
    (1..=count).map(|n| {
        let mut one = revision(n, START + n * n % 977 + n * 7_000_000, "Ana", 0, (n * n % 61) as u64);
        one.size = (n * 37 % 211) as u64;
        one.minor = n % 3 == 0;
        one.user = (n % 11 > 0).then(|| format!("User {}", n * n % 17));
        one.anon = n % 5 == 0;
        one
    })
}

#[test]
fn going_on_from_anywhere_is_as_counting_from_the_beginning() {
    let history: Vec<Revision> = a_long_history(450).collect();
    let count = |mut tally: Tally, revisions: &[Revision]| {
        revisions.iter().for_each(|revision| tally.count(revision));
        tally
    };
    let whole = count(Tally::default(), &history);
    for split in 0..=history.len() {
        let packed = packing::pack(&count(Tally::default(), &history[..split])).expect("small");
        let unpacked = packing::unpack(&packed).expect("read back");
        assert_eq!(count(unpacked, &history[split..]), whole, "split at {split}");
    }
}

#[test]
fn what_is_too_large_is_not_kept_and_what_cannot_be_read_is_passed_over() {
    let mut tally = Tally::default();
    tally.count(&revision(1, START, "Ana", 1, 1));
    let good = packing::pack(&tally).expect("small");
    assert_eq!(packing::unpack(&good), Some(tally.clone()));
    let other_format: Vec<u8> = [good[0] + 1].into_iter().chain(good[1..].iter().copied()).collect();
    for bad in [&[][..], &good[..1], &good[..good.len() / 2], &other_format, &[good[0], 1, 2, 3]] {
        assert_eq!(packing::unpack(bad), None);
    }
    // Hashes cannot be packed.
    tally.texts.extend((1..600_000_u64).map(|n| (n ^ (n << 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    assert_eq!(packing::pack(&tally), None);
}

fn a_change(version: u64, revisions: Vec<Revision>) -> PageChange {
    PageChange {
        wiki: WikiId(1),
        pageid: PageId(7),
        version,
        facts: page(7).facts,
        revisions,
        blocks: Vec::new(),
        mark: None,
        complete: false,
        reconciled: false,
        visited: false,
    }
}

#[tokio::test]
async fn only_what_is_new_is_read_until_something_old_changes() {
    let history: Vec<Revision> = a_long_history(2_600).collect();
    let kept = Kept::default();
    let read = async || {
        kept.inside().read = 0;
        let found = of_page(&kept, &wiki(1), PageId(7)).await.expect("counted");
        (found, kept.inside().read)
    };
    kept.inside().apply(a_change(0, history[..2_300].to_vec()));
    let (first, all) = read().await;
    assert_eq!((all, read().await), (2_300, (first, 0)));
    kept.inside().apply(a_change(1, history[2_300..].to_vec()));
    let (grown, more) = read().await;
    assert_eq!((more, &grown), (300, &metrics(history.clone()).await));
    // So little is not worth keeping: it is read again.
    assert_eq!(read().await, (grown.clone(), 300));

    let hidden = Revision { user: None, ..history[40].clone() };
    kept.inside().apply(a_change(2, vec![hidden.clone(), history[50].clone()]));
    let changed = history.iter().cloned().map(|one| if one.revid == hidden.revid { hidden.clone() } else { one });
    assert_eq!(read().await, (metrics(changed).await, 2_600));
}

#[tokio::test]
async fn kept_bytes_that_cannot_be_read_are_counted_anew_and_bots_are_judged_at_the_end() {
    let history: Vec<Revision> = a_long_history(1_200).collect();
    let kept = Kept::default();
    kept.inside().apply(a_change(0, history.clone()));
    let mark = history[1_100].mark();
    kept.inside().tallies.insert(PageId(7), KeptTally { mark, packed: b"what is this".to_vec() });
    let found = of_page(&kept, &wiki(1), PageId(7)).await.expect("counted");
    assert_eq!((&found, found.bots.edits), (&metrics(history.clone()).await, 0));
    assert_eq!(kept.inside().tallies[&PageId(7)].mark, history[1_199].mark(), "it is kept anew");
    let with_bot = Wiki { about: serde_json::json!({ "bots": ["User 4"] }), ..wiki(1) };
    let found = of_page(&kept, &with_bot, PageId(7)).await.expect("counted");
    let by_bot = history.iter().filter(|one| one.user.as_deref() == Some("User 4")).count() as u64;
    assert!(by_bot > 0 && found.bots.edits == by_bot, "{:?}", found.bots);
}
