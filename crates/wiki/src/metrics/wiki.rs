//! Counts a whole wiki by asking the store.

use std::collections::BTreeMap;

use malla_queue::{Error, Result, Scope};

use super::{ArticleCount, Month, MonthCounts, NameCount, Share, TOP, WikiMetrics, periods};
use crate::page::PageId;
use crate::pipeline::{Collection, Column, Combine, Compare, Expr, Field, Literal, Plan, Predicate, Stage, Type};
use crate::site::Wiki;
use crate::verbs::{Limits, Row, Value, Wikis};

/// Counts what is kept of a wiki, within these limits for each question.
pub async fn of_wiki(wikis: &dyn Wikis, wiki: &Wiki, limits: Limits) -> Result<WikiMetrics> {
    let ask = async |plan: Plan| wikis.ask(&Scope::All, &plan, limits).await;
    let mut months: BTreeMap<Month, MonthCounts> = BTreeMap::new();
    for (flag, count) in [
        (None, (|counts| &mut counts.edits) as fn(&mut MonthCounts) -> &mut u64),
        (Some(Field::Minor), |counts| &mut counts.minor),
        (Some(Field::Anon), |counts| &mut counts.anonymous),
    ] {
        for row in ask(by_month(wiki, flag)).await? {
            let [year, month, edits] = whole(&row)?;
            *count(months.entry(year * 12 + month - 1).or_default()) += unsigned(edits);
        }
    }
    let sum = |of: fn(&MonthCounts) -> u64| months.values().map(of).sum::<u64>();
    let revisions = sum(|counts| counts.edits);
    let editors = ask(distinct_users(wiki)).await?;
    let top_by_edits = ask(top(wiki, &[Field::User])).await?.iter().map(|row| name_count(row, revisions)).collect();
    let top_articles = ask(top(wiki, &[Field::PageId, Field::Title])).await?.iter().map(article_count).collect();
    let (by_month, by_year) = periods(&months);
    Ok(WikiMetrics {
        wiki: wiki.id,
        name: wiki.name.clone(),
        pages: wiki.pages,
        revisions,
        editors: editors.first().map_or(Ok(0), |row| whole(row).map(|[editors]| unsigned(editors)))?,
        minor: Share::of(sum(|counts| counts.minor), revisions),
        anonymous: Share::of(sum(|counts| counts.anonymous), revisions),
        top_by_edits,
        top_articles,
        months: by_month,
        years: by_year,
    })
}

fn of_wiki_only(wiki: &Wiki) -> Predicate {
    Predicate::Is { column: 0, compare: Compare::Eq, value: Literal::Whole(wiki.id.0) }
}

fn column(name: &str, kind: Type) -> Column {
    Column { path: vec![name.to_owned()], kind }
}

fn plan(source: Vec<Field>, stages: Vec<Stage>, columns: Vec<Column>) -> Plan {
    Plan { collection: Collection::Revisions, source, stages, columns }
}

/// Edits by month, of all or of those with a flag.
fn by_month(wiki: &Wiki, flag: Option<Field>) -> Plan {
    let source = [Field::Wiki, Field::Timestamp].into_iter().chain(flag).collect();
    let set = flag.map(|_| Predicate::Is { column: 2, compare: Compare::Eq, value: Literal::Flag(true) });
    let stages = vec![
        Stage::Match(Predicate::All([of_wiki_only(wiki)].into_iter().chain(set).collect())),
        Stage::Group { keys: vec![Expr::Year(1), Expr::Month(1)], combined: vec![Combine::Count(1)] },
        Stage::Sort(vec![(0, false), (1, false)]),
    ];
    let columns = ["year", "month", "edits"].map(|name| column(name, Type::Whole)).into();
    plan(source, stages, columns)
}

fn distinct_users(wiki: &Wiki) -> Plan {
    let stages = vec![
        Stage::Match(Predicate::All(vec![of_wiki_only(wiki), Predicate::Exists { column: 1, exists: true }])),
        Stage::Group { keys: vec![Expr::Column(1)], combined: Vec::new() },
        Stage::Count,
    ];
    plan(vec![Field::Wiki, Field::User], stages, vec![column("editors", Type::Whole)])
}

/// The values of these fields that the most edits have, with how many.
fn top(wiki: &Wiki, fields: &[Field]) -> Plan {
    let edits = fields.len();
    let stages = vec![
        Stage::Match(Predicate::All(vec![of_wiki_only(wiki), Predicate::Exists { column: 1, exists: true }])),
        Stage::Group { keys: (1..=edits).map(Expr::Column).collect(), combined: vec![Combine::Count(1)] },
        Stage::Sort(vec![(edits, true), (0, false)]),
        Stage::Limit(TOP as u64),
    ];
    let named = fields.iter().enumerate().map(|(place, field)| column(&format!("key{place}"), field.kind()));
    let columns = named.chain([column("edits", Type::Whole)]).collect();
    plan([Field::Wiki].iter().chain(fields).copied().collect(), stages, columns)
}

fn name_count(row: &Row, all: u64) -> NameCount {
    let edits = row.get(1).map_or(0, number);
    NameCount { user: row.first().map(text).unwrap_or_default(), edits, share: Share::of(edits, all).share }
}

fn article_count(row: &Row) -> ArticleCount {
    let pageid = match row.first() {
        Some(Value::Whole(pageid)) => PageId(*pageid),
        _ => PageId(0),
    };
    ArticleCount { pageid, title: row.get(1).map(text).unwrap_or_default(), edits: row.get(2).map_or(0, number) }
}

fn text(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        _ => String::new(),
    }
}

fn number(value: &Value) -> u64 {
    match value {
        Value::Whole(number) => unsigned(*number),
        _ => 0,
    }
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// A row of numbers only.
fn whole<const N: usize>(row: &Row) -> Result<[i64; N]> {
    let numbers = row.iter().map_while(|value| match value {
        Value::Whole(number) => Some(*number),
        _ => None,
    });
    let numbers: Vec<i64> = numbers.collect();
    numbers.try_into().map_err(|_| Error::Internal("the store answered a count with something else".into()))
}
