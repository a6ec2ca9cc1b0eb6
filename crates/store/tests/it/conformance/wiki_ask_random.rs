//! Random plans over a small world: what a store answers is what the plan means. A failure prints its seed.

use std::time::Duration;

use malla_queue::{GroupId, Scope, UnixMs};
use malla_wiki::pipeline::{Collection, Combine, Compare, Expr, Field, Literal, Plan, Predicate, Stage, Type};
use malla_wiki::texts::Packer;
use malla_wiki::{Limits, NewWiki, PageChange, PageFacts, PageId, Revision, Row, Value, WikiId};

use super::wiki_ask_plain::{Document, answer, order};
use crate::harness::{House, START, on_both_stores};
use crate::harness_wiki::{change, new_wiki, revision};
use crate::model::Dice;

on_both_stores!(random_plans_are_answered_as_they_mean);

const PLANS: usize = 600;
const LIMITS: Limits = Limits { rows: 10_000, time: Duration::from_secs(20) };
const USERS: [&str; 5] = ["Ana", "ana", "Bot é", "192.0.2.1", "Ünï"];
const TAGS: [&str; 4] = ["mobile edit", "visual", "bot", "\"quoted\""];
const TITLES: [&str; 3] = ["Mesh", "Ägypten", "Mesh (2)"];
const REGEXES: [&str; 10] =
    ["^M", "(?i)BOT", r"\bedit\b", "^$", r"\d{2}", "a|é", r"^\w+$", "(?i)[ä-ü]", r"[^\n]{9,}", r"(?m)^B.*é$"];
const REVISION_FIELDS: [Field; 21] = [
    Field::PageId,
    Field::Title,
    Field::Ns,
    Field::Locale,
    Field::Wiki,
    Field::RevId,
    Field::ParentId,
    Field::User,
    Field::UserId,
    Field::Timestamp,
    Field::Size,
    Field::Sha1,
    Field::Model,
    Field::Format,
    Field::Comment,
    Field::ParsedComment,
    Field::Tags,
    Field::ExtractionDate,
    Field::Minor,
    Field::Anon,
    Field::Text,
];
const ARTICLE_FIELDS: [Field; 8] = [
    Field::PageId,
    Field::Title,
    Field::Ns,
    Field::Locale,
    Field::Wiki,
    Field::FirstExtraction,
    Field::LastExtraction,
    Field::LastRevision,
];

/// What there is to ask about, with the group that sees it.
#[derive(Default)]
struct World {
    revisions: Vec<(GroupId, Document)>,
    articles: Vec<(GroupId, Document)>,
}

async fn random_plans_are_answered_as_they_mean(house: House) {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).unwrap();
    let first = u64::from_le_bytes(bytes) % 1_000_000_000;
    let world = world(&house, &mut Dice::new(first)).await;
    let mut with_rows = 0;
    for seed in first..first + PLANS as u64 {
        let mut dice = Dice::new(seed);
        let plan = random_plan(&mut dice, &world);
        let scope = if dice.one_in(3) { Scope::Groups(vec![GroupId(1), GroupId(9)]) } else { Scope::All };
        let of = if plan.collection == Collection::Revisions { &world.revisions } else { &world.articles };
        let seen = of.iter().filter(|(group, _)| scope.sees(Some(*group)));
        let documents: Vec<Document> = seen.map(|(_, document)| document.clone()).collect();
        let mut expected = answer(&plan, &documents);
        let mut given = house.wikis.ask(&scope, &plan, LIMITS).await.unwrap_or_else(|error| {
            panic!("seed {seed} of the world {first}: {error}\n{scope:?} {plan:#?}");
        });
        if !is_ordered(&plan) {
            expected.sort_by(rows_order);
            given.sort_by(rows_order);
        }
        with_rows += usize::from(!given.is_empty());
        assert_eq!(given, expected, "seed {seed} of the world {first}: {scope:?} {plan:#?}");
    }
    assert!(with_rows > PLANS / 4, "only {with_rows} plans of the world {first} had an answer");
}

fn is_ordered(plan: &Plan) -> bool {
    let last = plan.stages.iter().rev().find(|stage| matches!(stage, Stage::Sort(_) | Stage::Group { .. }));
    matches!(last, Some(Stage::Sort(_)))
}

fn rows_order(one: &Row, other: &Row) -> std::cmp::Ordering {
    let mut columns = one.iter().zip(other);
    columns
        .find_map(|(one, other)| Some(order(one, other)).filter(|order| order.is_ne()))
        .unwrap_or(one.len().cmp(&other.len()))
}

/// Two wikis of two groups with the same titles and numbers.
async fn world(house: &House, dice: &mut Dice) -> World {
    let mut world = World::default();
    for (group, locale) in [(1, "en"), (2, "de")] {
        let api = format!("https://{locale}.example.org/w/api.php");
        let group = GroupId(group);
        let new = NewWiki { group: Some(group), locale: locale.into(), ..new_wiki(&api) };
        let wiki = house.wikis.found(new).await.unwrap().id;
        for (number, title) in (1..).zip(TITLES) {
            let page = random_page(dice, wiki, PageId(number), title);
            let mut newest = None;
            for revision in &page.revisions {
                newest = newest.max(Some((revision.at, revision.revid)));
                world.revisions.push((group, document_of(&page, revision, wiki, locale)));
            }
            let article = [
                (Field::FirstExtraction, Value::Date(START)),
                (Field::LastExtraction, Value::Date(START)),
                (Field::LastRevision, newest.map_or(Value::Null, |(_, revid)| Value::Whole(revid.0))),
            ];
            world.articles.push((group, of_page(&page, wiki, locale).into_iter().chain(article).collect()));
            house.change(page).await;
        }
    }
    world
}

fn random_page(dice: &mut Dice, wiki: WikiId, pageid: PageId, title: &str) -> PageChange {
    let mut packer = Packer::new();
    let mut revisions = Vec::new();
    for number in 0..dice.roll(14) as i64 {
        let user = dice.pick(&USERS).map(|name| (*name).to_owned()).filter(|_| !dice.one_in(6));
        let tags = TAGS.iter().filter(|_| dice.one_in(3)).map(|tag| (*tag).to_owned()).collect();
        let text = (!dice.one_in(4)).then(|| packer.add(format!("text {}", dice.roll(9)).as_bytes()).unwrap());
        let at = UnixMs(1_514_000_000_000 + dice.roll(40) as i64 * 3_000_000_000 + dice.roll(3) as i64 * 5_000_000);
        revisions.push(Revision {
            pageid,
            at,
            userid: user.as_ref().map(|name| name.len() as i64 % 4),
            user,
            anon: dice.one_in(2),
            minor: dice.one_in(2),
            size: dice.roll(5) as u64 * 100,
            comment: (!dice.one_in(3)).then(|| format!("Bot é\nedit {}", dice.roll(20))),
            sha1: (!dice.one_in(3)).then(|| format!("{:040x}", dice.roll(3))),
            tags,
            text,
            ..revision(pageid.0 * 100 + number, 0)
        });
    }
    let facts = PageFacts { title: title.into(), ns: pageid.0 % 2, deleted: false };
    let blocks = packer.finish().unwrap();
    PageChange { pageid, facts, revisions, blocks, ..change(wiki, Vec::new()) }
}

fn of_page(page: &PageChange, wiki: WikiId, locale: &str) -> Vec<(Field, Value)> {
    vec![
        (Field::PageId, Value::Whole(page.pageid.0)),
        (Field::Title, Value::Text(page.facts.title.clone())),
        (Field::Ns, Value::Whole(page.facts.ns)),
        (Field::Locale, Value::Text(locale.into())),
        (Field::Wiki, Value::Whole(wiki.0)),
    ]
}

fn document_of(page: &PageChange, revision: &Revision, wiki: WikiId, locale: &str) -> Document {
    let text = |text: &Option<String>| text.clone().map_or(Value::Null, Value::Text);
    let flag = |flag: bool| if flag { Value::Flag(true) } else { Value::Null };
    let pageid = page.pageid;
    let own = [
        (Field::RevId, Value::Whole(revision.revid.0)),
        (Field::ParentId, Value::Whole(revision.parentid.0)),
        (Field::User, text(&revision.user)),
        (Field::UserId, revision.userid.map_or(Value::Null, Value::Whole)),
        (Field::Timestamp, Value::Date(revision.at)),
        (Field::Size, Value::Whole(revision.size as i64)),
        (Field::Sha1, text(&revision.sha1)),
        (Field::Model, Value::Text(revision.model.clone())),
        (Field::Format, Value::Text(revision.format.clone())),
        (Field::Comment, text(&revision.comment)),
        (Field::ParsedComment, text(&revision.parsed_comment)),
        (Field::Tags, Value::Tags(revision.tags.clone())),
        (Field::ExtractionDate, Value::Date(START)),
        (Field::Minor, flag(revision.minor)),
        (Field::Anon, flag(revision.anon)),
        (Field::Text, revision.text.map_or(Value::Null, |hash| Value::Content { wiki, pageid, hash })),
    ];
    of_page(page, wiki, locale).into_iter().chain(own).collect()
}

fn random_plan(dice: &mut Dice, world: &World) -> Plan {
    let articles = dice.one_in(5);
    let (collection, fields, documents) = match articles {
        true => (Collection::Articles, ARTICLE_FIELDS.as_slice(), &world.articles),
        false => (Collection::Revisions, REVISION_FIELDS.as_slice(), &world.revisions),
    };
    let mut source: Vec<Field> = Vec::new();
    for _ in 0..1 + dice.roll(6) {
        source.extend(dice.pick(fields).filter(|field| !source.contains(field)));
    }
    let mut kinds: Vec<Type> = source.iter().map(|field| field.kind()).collect();
    // Values that are there, so that conditions hold now and then.
    let values: Vec<Value> = documents.iter().flat_map(|(_, document)| document.values().cloned()).collect();
    let mut stages = Vec::new();
    for _ in 0..dice.roll(6) {
        stages.extend(random_stages(dice, &mut kinds, &values));
    }
    Plan { collection, source, stages, columns: Vec::new() }
}

fn random_stages(dice: &mut Dice, kinds: &mut Vec<Type>, values: &[Value]) -> Vec<Stage> {
    match dice.roll(8) {
        0..3 => vec![Stage::Match(random_predicate(dice, kinds, values, 2))],
        3 | 4 => {
            let mut by: Vec<(usize, bool)> = Vec::new();
            for _ in 0..dice.roll(3) {
                by.push((dice.roll(kinds.len()), dice.one_in(2)));
            }
            // All columns, so that there is one order only.
            by.extend((0..kinds.len()).map(|column| (column, dice.one_in(2))));
            let mut seen = Vec::new();
            by.retain(|(column, _)| {
                !seen.contains(column) && {
                    seen.push(*column);
                    true
                }
            });
            let skip = dice.one_in(3).then(|| Stage::Skip(dice.roll(9) as u64));
            let limit = dice.one_in(2).then(|| Stage::Limit(dice.roll(30) as u64));
            let again = dice.one_in(6).then_some(Stage::Skip(1));
            [Some(Stage::Sort(by)), skip, limit, again].into_iter().flatten().collect()
        }
        5 => {
            let made: Vec<(Expr, Type)> = (0..1 + dice.roll(4)).map(|_| random_value(dice, kinds)).collect();
            let (made, new_kinds) = made.into_iter().unzip();
            *kinds = new_kinds;
            vec![Stage::Project(made)]
        }
        6 if dice.one_in(3) => {
            *kinds = vec![Type::Whole];
            vec![Stage::Count]
        }
        _ => vec![random_group(dice, kinds)],
    }
}

fn random_group(dice: &mut Dice, kinds: &mut Vec<Type>) -> Stage {
    let (mut keys, mut new_kinds) = (Vec::new(), Vec::new());
    for _ in 0..dice.roll(4) {
        let (key, kind) = random_value(dice, kinds);
        keys.push(key);
        new_kinds.push(kind);
    }
    let mut combined = Vec::new();
    for _ in 0..1 + dice.roll(3) {
        let (value, kind) = random_value(dice, kinds);
        let number = kind != Type::Real;
        let (combine, kind) = match dice.roll(5) {
            0 => (Combine::Count(1 + dice.roll(2) as i64), Type::Whole),
            // The order in which fractions are added shows in the last digits.
            1 if number => (Combine::Sum(value), Type::Whole),
            2 if number => (Combine::Avg(value), Type::Real),
            3 => (Combine::Min(value), kind),
            _ => (Combine::Max(value), kind),
        };
        combined.push(combine);
        new_kinds.push(kind);
    }
    *kinds = new_kinds;
    Stage::Group { keys, combined }
}

fn random_value(dice: &mut Dice, kinds: &[Type]) -> (Expr, Type) {
    let column = dice.roll(kinds.len());
    if dice.one_in(8) {
        return match dice.roll(3) {
            0 => (Expr::Literal(Literal::Whole(3)), Type::Whole),
            1 => (Expr::Literal(Literal::Text("Mesh".into())), Type::Text),
            _ => (Expr::Literal(Literal::Null), Type::Text),
        };
    }
    if kinds[column] != Type::Date || dice.one_in(4) {
        return (Expr::Column(column), kinds[column]);
    }
    match dice.roll(5) {
        0 => (Expr::Year(column), Type::Whole),
        1 => (Expr::Month(column), Type::Whole),
        2 => (Expr::Day(column), Type::Whole),
        3 => (Expr::Hour(column), Type::Whole),
        _ => (Expr::DayText(column), Type::Text),
    }
}

fn random_predicate(dice: &mut Dice, kinds: &[Type], values: &[Value], depth: usize) -> Predicate {
    if depth > 0 && dice.one_in(3) {
        let parts = (0..1 + dice.roll(3)).map(|_| random_predicate(dice, kinds, values, depth - 1)).collect();
        return if dice.one_in(2) { Predicate::All(parts) } else { Predicate::Any(parts) };
    }
    let column = dice.roll(kinds.len());
    let kind = kinds[column];
    if kind == Type::Content || dice.one_in(8) {
        return Predicate::Exists { column, exists: dice.one_in(2) };
    }
    if matches!(kind, Type::Text | Type::Tags) && dice.one_in(3) {
        return Predicate::Matches { column, regex: (*dice.pick(&REGEXES).unwrap()).into() };
    }
    if dice.one_in(4) {
        let values = (0..dice.roll(4)).map(|_| random_literal(dice, kind, values)).collect();
        return Predicate::In { column, values };
    }
    let compare = [Compare::Eq, Compare::Eq, Compare::Ne, Compare::Gt, Compare::Gte, Compare::Lt, Compare::Lte];
    Predicate::Is { column, compare: *dice.pick(&compare).unwrap(), value: random_literal(dice, kind, values) }
}

/// Mostly one of the kind that the column has.
fn random_literal(dice: &mut Dice, kind: Type, values: &[Value]) -> Literal {
    if dice.one_in(10) {
        let odd = [Literal::Null, Literal::Flag(false), Literal::Flag(true), Literal::Real(150.5), Literal::Whole(2)];
        return dice.pick(&odd).unwrap().clone();
    }
    for _ in 0..20 {
        let found = match (kind, dice.pick(values).unwrap()) {
            (Type::Whole, Value::Whole(number)) => Some(Literal::Whole(*number)),
            (Type::Real, Value::Whole(number)) => Some(Literal::Real(*number as f64 / 2.0)),
            (Type::Date, Value::Date(at)) => Some(Literal::Date(*at)),
            (Type::Flag, Value::Flag(flag)) => Some(Literal::Flag(*flag)),
            (Type::Text, Value::Text(text)) => Some(Literal::Text(text.clone())),
            (Type::Tags, Value::Tags(words)) => dice.pick(words).cloned().map(Literal::Text),
            _ => None,
        };
        if let Some(found) = found {
            return found;
        }
    }
    Literal::Text("Mesh".into())
}
