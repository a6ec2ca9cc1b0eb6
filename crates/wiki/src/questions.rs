//! The questions that have a route of their own, as plans: lists of articles and revisions, counts, averages, modes.

mod filters;

use malla_queue::{Error, Result};

use self::filters::Filters;
use crate::pipeline::{Collection, Column, Combine, Expr, Field, Plan, Stage, Type};

/// A query string, decoded.
pub type Pairs = [(String, String)];

const PAGE_SIZE: u64 = 20;
const PAGE_SIZE_MAX: u64 = 200;
const PAGE_MAX: u64 = 1_000_000_000;
const DAY_MS: i64 = 86_400_000;

/// What the most frequent value can be asked of.
pub const MODE_ATTRIBUTES: [&str; 6] = ["title", "pageid", "user", "userid", "date", "size"];

/// A page of the articles that match, in the order of their titles unless `sort` says otherwise.
pub fn articles(pairs: &Pairs) -> Result<Plan> {
    let filters = Filters::of(Collection::Articles, pairs)?;
    let by = match given(pairs, "sort") {
        None | Some("asc") => vec![(Field::Title, false), (Field::PageId, false)],
        Some("desc") => vec![(Field::Title, true), (Field::PageId, true)],
        Some(sort) => {
            let (name, descending) = sort.strip_prefix('-').map_or((sort, false), |name| (name, true));
            let field = Collection::Articles.field(name).ok_or_else(|| {
                let names = names(Collection::Articles);
                bad("sort", sort, &format!("asc, desc, or a field with a minus in front to turn it round: {names}"))
            })?;
            vec![(field, descending), (Field::Title, descending), (Field::PageId, descending)]
        }
    };
    page(filters, by, pairs)
}

/// The article of this number, or none. Wikis number their pages apart: `wiki` and `locale` tell which is meant.
pub fn article(pageid: i64, pairs: &Pairs) -> Result<Plan> {
    let mut filters = Filters::none(Collection::Articles);
    filters.equals(Field::PageId, pageid);
    filters.take(Field::Locale, pairs)?;
    filters.take(Field::Wiki, pairs)?;
    let first = filters.column(Field::Wiki);
    let shown = shown(Collection::Articles, pairs)?;
    Ok(filters.shown(vec![Stage::Sort(vec![(first, false)]), Stage::Limit(1)], &shown))
}

/// A page of the revisions that match, in the order of the history.
pub fn revisions(pairs: &Pairs) -> Result<Plan> {
    let filters = Filters::of(Collection::Revisions, pairs)?;
    let descending = match given(pairs, "sort") {
        None | Some("asc" | "1") => false,
        Some("desc" | "-1") => true,
        Some(other) => return Err(bad("sort", other, "asc or desc")),
    };
    page(filters, vec![(Field::Timestamp, descending), (Field::RevId, descending)], pairs)
}

/// How many revisions match.
pub fn count(pairs: &Pairs) -> Result<Plan> {
    Ok(counted(Filters::of(Collection::Revisions, pairs)?))
}

/// How many revisions match, and over how many days, both ends counted.
pub fn avg(pairs: &Pairs) -> Result<(Plan, u64)> {
    let needed = |name: &str| {
        let missing = || Error::Invalid(format!("{name} is missing: say from when to when with datestart and dateend"));
        given(pairs, name).ok_or_else(missing).and_then(|text| filters::day(name, text))
    };
    let (start, end) = (needed("datestart")?, needed("dateend")?);
    let filters = Filters::of(Collection::Revisions, pairs)?;
    let days = u64::try_from((end.0 - start.0) / DAY_MS + 1).unwrap_or(1);
    Ok((counted(filters), days))
}

/// Values of an attribute with their counts, the most frequent first, and the attribute.
pub fn mode(pairs: &Pairs) -> Result<(Plan, String)> {
    let known = MODE_ATTRIBUTES.join(", ");
    let Some(attribute) = given(pairs, "attribute") else {
        return Err(Error::Invalid(format!("attribute is missing: it is one of {known}")));
    };
    if !MODE_ATTRIBUTES.contains(&attribute) {
        return Err(bad("attribute", attribute, &known));
    }
    let mut filters = Filters::of(Collection::Revisions, pairs)?;
    let (key, kind) = match Collection::Revisions.field(attribute) {
        Some(field) => {
            // Who is hidden is nobody's favourite.
            if matches!(field, Field::User | Field::UserId) {
                filters.exists(field, true);
            }
            (Expr::Column(filters.column(field)), field.kind())
        }
        None => (Expr::DayText(filters.column(Field::Timestamp)), Type::Text),
    };
    let columns = vec![
        Column { path: vec![attribute.to_owned()], kind },
        Column { path: vec!["count".to_owned()], kind: Type::Whole },
    ];
    let group = Stage::Group { keys: vec![key], combined: vec![Combine::Count(1)] };
    let plan = filters.plan(vec![group, Stage::Sort(vec![(1, true), (0, false)])], columns);
    Ok((plan, attribute.to_owned()))
}

fn counted(filters: Filters) -> Plan {
    filters.plan(vec![Stage::Count], vec![Column { path: vec!["count".to_owned()], kind: Type::Whole }])
}

fn page(mut filters: Filters, by: Vec<(Field, bool)>, pairs: &Pairs) -> Result<Plan> {
    let collection = filters.collection();
    let number = within(pairs, "page", 1, PAGE_MAX)?.unwrap_or(1);
    let size = within(pairs, "page_size", 1, PAGE_SIZE_MAX)?.unwrap_or(PAGE_SIZE);
    let shown = shown(collection, pairs)?;
    let by = by.into_iter().map(|(field, descending)| (filters.column(field), descending)).collect();
    let mut stages = vec![Stage::Sort(by)];
    if number > 1 {
        stages.push(Stage::Skip((number - 1) * size));
    }
    stages.push(Stage::Limit(size));
    Ok(filters.shown(stages, &shown))
}

/// The fields that an answer has.
fn shown(collection: Collection, pairs: &Pairs) -> Result<Vec<Field>> {
    let Some(list) = given(pairs, "project") else { return Ok(collection.document().to_vec()) };
    let mut fields = Vec::new();
    // Some clients ask for an _id, which documents here do not have.
    for name in list.split(',').map(str::trim).filter(|name| !name.is_empty() && *name != "_id") {
        let field = collection.field(name).ok_or_else(|| bad("project", name, &names(collection)))?;
        if !fields.contains(&field) {
            fields.push(field);
        }
    }
    match fields.is_empty() {
        true => Err(bad("project", list, &names(collection))),
        false => Ok(fields),
    }
}

fn names(collection: Collection) -> String {
    collection.document().iter().map(|field| field.name()).collect::<Vec<_>>().join(", ")
}

/// A parameter that says something; an empty one does not.
fn given<'a>(pairs: &'a Pairs, name: &str) -> Option<&'a str> {
    pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
}

fn within(pairs: &Pairs, name: &str, least: u64, most: u64) -> Result<Option<u64>> {
    let Some(text) = given(pairs, name) else { return Ok(None) };
    match text.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
        _ => Err(bad(name, text, &format!("a number from {least} to {most}"))),
    }
}

fn bad(name: &str, value: &str, wanted: &str) -> Error {
    let value: String = value.chars().take(100).collect();
    Error::Invalid(format!("{name} cannot be {value:?}: it is {wanted}"))
}

#[cfg(test)]
mod tests;
