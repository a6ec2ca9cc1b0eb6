//! Histories in memory, counted.

use std::time::Duration;

use malla_queue::UnixMs;

use super::*;
use crate::dump::kept::{Kept, page, wiki};
use crate::pipeline::Stage;
use crate::revision::Revision;
use crate::verbs::{Limits, Row, Value};

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
async fn a_wiki_is_counted_by_questions() {
    let whole = |numbers: &[i64]| -> Row { numbers.iter().map(|number| Value::Whole(*number)).collect() };
    let kept = Kept::with(|inside| {
        inside.answers = vec![
            vec![whole(&[2018, 11, 4]), whole(&[2019, 1, 2])],
            vec![whole(&[2018, 11, 1])],
            vec![],
            vec![whole(&[3])],
            vec![vec![Value::Text("Ana".into()), Value::Whole(5)]],
            vec![vec![Value::Whole(7), Value::Text("Cat".into()), Value::Whole(6)]],
        ];
    });
    let limits = Limits { rows: 10_000, time: Duration::from_secs(10) };
    let found = of_wiki(&kept, &wiki(1), limits).await.expect("counted");
    assert_eq!((found.revisions, found.minor.edits, found.anonymous.edits, found.editors), (6, 1, 0, 3));
    let months: Vec<_> = found.months.iter().map(|month| (month.period.as_str(), month.edits, month.minor)).collect();
    assert_eq!(months, [("2018-11", 4, 1), ("2018-12", 0, 0), ("2019-01", 2, 0)]);
    assert_eq!((found.top_by_edits[0].user.as_str(), found.top_by_edits[0].edits), ("Ana", 5));
    assert_eq!((found.top_articles[0].pageid, found.top_articles[0].title.as_str()), (PageId(7), "Cat"));
    assert!(found.csv().contains("\ntop articles,Cat,6\n"));
    let asked = &kept.inside().asked;
    assert!(
        asked
            .iter()
            .all(|plan| matches!(plan.stages[0], Stage::Match(_)) && plan.source[0] == crate::pipeline::Field::Wiki)
    );
}
