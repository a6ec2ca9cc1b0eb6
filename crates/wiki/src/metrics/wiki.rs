//! What is told of a whole wiki, from what its store has counted.

use malla_queue::Result;

use super::{MonthCounts, MonthEdits, NameCount, Share, TOP, WikiMetrics, periods};
use crate::site::Wiki;
use crate::verbs::Wikis;

pub async fn of_wiki(wikis: &dyn Wikis, wiki: &Wiki) -> Result<WikiMetrics> {
    let mut counts = wikis.wiki_counts(wiki.id, TOP).await?;
    let sum = |of: fn(&MonthEdits) -> u64| counts.months.iter().map(of).sum::<u64>();
    let all = counts.revisions;
    let (minor, anonymous) = (sum(|month| month.minor), sum(|month| month.anonymous));
    let by_month = counts.months.iter().map(|month| {
        let MonthEdits { month, edits, minor, anonymous } = *month;
        (month, MonthCounts { edits, minor, anonymous, size: None })
    });
    let (months, years) = periods(&by_month.collect());
    counts.top_editors.sort_by(|(a, edits_a), (b, edits_b)| edits_b.cmp(edits_a).then_with(|| a.cmp(b)));
    let top_by_edits = counts.top_editors.into_iter();
    let top_by_edits = top_by_edits.map(|(user, edits)| NameCount { user, edits, share: Share::of(edits, all).share });
    Ok(WikiMetrics {
        wiki: wiki.id,
        name: wiki.name.clone(),
        pages: counts.pages,
        revisions: all,
        editors: counts.editors,
        minor: Share::of(minor, all),
        anonymous: Share::of(anonymous, all),
        top_by_edits: top_by_edits.collect(),
        top_articles: counts.top_pages,
        months,
        years,
    })
}
