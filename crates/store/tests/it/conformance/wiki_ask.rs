//! What is asked about kept histories.

use std::time::Duration;

use malla_queue::{Error, GroupId, Result, Scope};
use malla_wiki::pipeline::{self, Collection, Plan};
use malla_wiki::{Limits, NewWiki, PageChange, PageFacts, PageId, Revision, Row, Value, WikiId};
use regex::Regex;
use serde_json::{Value as Json, json};

use crate::harness::{House, on_both_stores};
use crate::harness_wiki::{at, change, new_wiki, revision};
use crate::model::Dice;

on_both_stores!(
    a_hidden_user_equals_null_and_differs_from_everybody,
    a_tag_is_in_the_list_or_not,
    only_wikis_of_the_scope_are_seen,
    pages_of_a_list_neither_repeat_nor_leave_out,
    titles_that_two_wikis_share_are_one_group,
    an_order_outlives_what_comes_after_it,
    nothing_is_counted_as_no_row,
    values_are_never_read_as_sql,
    what_is_too_much_is_refused,
    stages_upon_stages_have_an_end,
    an_answer_that_takes_too_long_is_given_up,
    regular_expressions_match_the_same_on_both,
);

const LIMITS: Limits = Limits { rows: 1_000, time: Duration::from_secs(20) };

fn plan(stages: Json) -> Plan {
    pipeline::parse(&stages, Collection::Revisions, None).unwrap()
}

impl House {
    async fn ask_wikis(&self, stages: Json) -> Vec<Row> {
        self.wikis.ask(&Scope::All, &plan(stages), LIMITS).await.unwrap()
    }

    /// The numbers that the only column has.
    async fn revids(&self, condition: Json) -> Vec<i64> {
        let shown = json!([{"$match": condition}, {"$sort": {"revid": 1}}, {"$project": {"_id": 0, "revid": 1}}]);
        numbers(&self.ask_wikis(shown).await)
    }

    async fn page_with(&self, wiki: WikiId, pageid: i64, title: &str, revisions: Vec<Revision>) {
        let pageid = PageId(pageid);
        let revisions = revisions.into_iter().map(|revision| Revision { pageid, ..revision }).collect();
        let facts = PageFacts { title: title.into(), ns: 0, deleted: false };
        self.change(PageChange { pageid, facts, ..change(wiki, revisions) }).await;
    }
}

fn numbers(rows: &[Row]) -> Vec<i64> {
    let number = |row: &Row| if let [Value::Whole(number)] = row.as_slice() { *number } else { panic!("{row:?}") };
    rows.iter().map(number).collect()
}

async fn a_hidden_user_equals_null_and_differs_from_everybody(house: House) {
    let wiki = house.wiki().await;
    let by = |revid: i64, user: Option<&str>| Revision { user: user.map(Into::into), ..revision(revid, revid) };
    house.page_with(wiki, 7, "Mesh", vec![by(1, Some("Ana")), by(2, None), by(3, Some("Bea"))]).await;
    for (condition, expected) in [
        (json!({"user": "Ana"}), vec![1]),
        (json!({"user": {"$ne": "Ana"}}), vec![2, 3]),
        (json!({"user": {"$ne": "nobody of that name"}}), vec![1, 2, 3]),
        (json!({"user": null}), vec![2]),
        (json!({"user": {"$in": ["Bea", null]}}), vec![2, 3]),
        (json!({"user": {"$exists": true}}), vec![1, 3]),
        (json!({"user": {"$gt": "Ana"}}), vec![3]),
        (json!({"user": {"$lt": "Z"}}), vec![1, 3]),
        (json!({"$or": [{"user": "Bea"}, {"title": "Mesh", "revid": 1}]}), vec![1, 3]),
        (json!({"minor": {"$exists": true}}), vec![2]),
    ] {
        assert_eq!(house.revids(condition.clone()).await, expected, "{condition}");
    }
    let by_user = house.ask_wikis(json!([{"$group": {"_id": "$user", "n": {"$sum": 1}}}, {"$sort": {"_id": 1}}])).await;
    let names: Vec<&Value> = by_user.iter().map(|row| &row[0]).collect();
    assert_eq!(names, [&Value::Null, &Value::Text("Ana".into()), &Value::Text("Bea".into())]);
}

async fn a_tag_is_in_the_list_or_not(house: House) {
    let wiki = house.wiki().await;
    let with = |revid: i64, tags: &[&str]| Revision {
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..revision(revid, revid)
    };
    house.page_with(wiki, 7, "Mesh", vec![with(1, &["a", "b"]), with(2, &[]), with(3, &["b"])]).await;
    for (condition, expected) in [
        (json!({"tags": "a"}), vec![1]),
        (json!({"tags": {"$ne": "a"}}), vec![2, 3]),
        (json!({"tags": {"$in": ["a", "b"]}}), vec![1, 3]),
        (json!({"$and": [{"tags": "a"}, {"tags": "b"}]}), vec![1]),
    ] {
        assert_eq!(house.revids(condition.clone()).await, expected, "{condition}");
    }
    let shown = house.ask_wikis(json!([{"$sort": {"revid": 1}}, {"$project": {"_id": 0, "tags": 1}}])).await;
    assert_eq!(shown[1], [Value::Tags(Vec::new())]);
    assert_eq!(shown[2], [Value::Tags(vec!["b".into()])]);
}

async fn only_wikis_of_the_scope_are_seen(house: House) {
    for (group, api) in [(Some(1), "https://a.example/api.php"), (Some(2), "https://b.example/api.php")] {
        let new = NewWiki { group: group.map(GroupId), ..new_wiki(api) };
        let wiki = house.wikis.found(new).await.unwrap().id;
        house.page_with(wiki, 7, "Mesh", vec![revision(1, 1), revision(2, 2)]).await;
    }
    let everybody = house.wiki().await;
    house.page_with(everybody, 7, "Mesh", vec![revision(1, 1)]).await;
    for (scope, expected) in [
        (Scope::All, vec![5]),
        (Scope::Groups(vec![GroupId(2)]), vec![2]),
        (Scope::Groups(vec![GroupId(1), GroupId(2)]), vec![4]),
        (Scope::Groups(vec![GroupId(3)]), vec![]),
        (Scope::Groups(vec![]), vec![]),
    ] {
        for stages in [
            json!([{"$count": "n"}]),
            json!([{"$match": {"title": "Mesh"}}, {"$count": "n"}]),
            json!([
                {"$match": {"user": "Ana"}},
                {"$group": {"_id": null, "n": {"$sum": 1}}},
                {"$project": {"_id": 0, "n": 1}},
            ]),
            json!([{"$match": {"tags": "visualeditor"}}, {"$count": "n"}]),
        ] {
            let rows = house.wikis.ask(&scope, &plan(stages.clone()), LIMITS).await.unwrap();
            assert_eq!(numbers(&rows), expected, "{scope:?} {stages}");
        }
    }
}

async fn pages_of_a_list_neither_repeat_nor_leave_out(house: House) {
    let wiki = house.wiki().await;
    // Three of one moment each, over two pages of the wiki.
    for page in 1..=2 {
        let revisions = (0..30).map(|n| revision(2 * n + page, n / 3));
        house.page_with(wiki, page, &format!("Page {page}"), revisions.collect()).await;
    }
    for down in [1, -1] {
        let mut all = Vec::new();
        for page in 0..9 {
            let stages = json!([
                {"$sort": {"timestamp": down}}, {"$skip": 7 * page}, {"$limit": 7},
                {"$project": {"_id": 0, "revid": 1, "title": 1, "comment": 1}},
            ]);
            all.extend(house.ask_wikis(stages).await);
        }
        let mut revids: Vec<i64> = all
            .iter()
            .map(|row| {
                let number =
                    row.iter().find_map(|value| if let Value::Whole(number) = value { Some(*number) } else { None });
                number.unwrap()
            })
            .collect();
        assert_eq!(revids.len(), 60);
        if down == -1 {
            revids.reverse();
        }
        let moment = |revid: &i64| (revid - 1) / 2 / 3;
        assert!(revids.is_sorted_by_key(|revid| (moment(revid), *revid)), "{revids:?}");
        revids.sort_unstable();
        assert_eq!(revids, (1..=60).collect::<Vec<_>>());
    }
}

async fn titles_that_two_wikis_share_are_one_group(house: House) {
    for api in ["https://a.example/api.php", "https://b.example/api.php"] {
        let wiki = house.wikis.found(new_wiki(api)).await.unwrap().id;
        house.page_with(wiki, 7, "Mesh", vec![revision(1, 1), revision(2, 2)]).await;
        house.page_with(wiki, 8, "Net", vec![revision(3, 3)]).await;
    }
    let stages = json!([
        {"$group": {"_id": "$title", "avg": {"$avg": "$size"}, "first": {"$min": "$timestamp"}, "n": {"$sum": 1}}},
        {"$sort": {"_id": 1}},
    ]);
    let mesh = vec![Value::Text("Mesh".into()), Value::Real(15.0), Value::Date(at(1)), Value::Whole(4)];
    let net = vec![Value::Text("Net".into()), Value::Real(30.0), Value::Date(at(3)), Value::Whole(2)];
    assert_eq!(house.ask_wikis(stages).await, [mesh, net]);
}

async fn an_order_outlives_what_comes_after_it(house: House) {
    let wiki = house.wiki().await;
    house.page_with(wiki, 7, "Mesh", (1..=20).map(|n| revision(n, (n * 7) % 20)).collect()).await;
    let stages = json!([
        {"$sort": {"timestamp": -1}}, {"$limit": 10}, {"$match": {"revid": {"$gt": 5}}},
        {"$project": {"_id": 0, "revid": 1}},
    ]);
    let by_time = |n: &i64| -((n * 7) % 20);
    let mut expected: Vec<i64> = (1..=20).collect();
    expected.sort_by_key(by_time);
    expected.truncate(10);
    expected.retain(|n| *n > 5);
    assert_eq!(numbers(&house.ask_wikis(stages).await), expected);
}

async fn nothing_is_counted_as_no_row(house: House) {
    house.wiki().await;
    for stages in [
        json!([{"$count": "n"}]),
        json!([{"$group": {"_id": null, "n": {"$sum": 1}}}]),
        json!([{"$limit": 3}, {"$group": {"_id": null, "n": {"$sum": 1}}}]),
    ] {
        assert_eq!(house.ask_wikis(stages.clone()).await, Vec::<Row>::new(), "{stages}");
    }
}

async fn values_are_never_read_as_sql(house: House) {
    let wiki = house.wiki().await;
    let name = "x'); DROP TABLE wiki_revision; --\"$1?1\\";
    let odd = Revision { user: Some(name.into()), comment: Some(name.into()), ..revision(1, 1) };
    house.page_with(wiki, 7, name, vec![odd, revision(2, 2)]).await;
    for field in ["user", "title", "comment"] {
        let same = if field == "title" { vec![1, 2] } else { vec![1] };
        assert_eq!(house.revids(json!({field: name})).await, same);
        assert_eq!(house.revids(json!({field: {"$regex": regex::escape(name)}})).await, same);
        assert_eq!(house.revids(json!({field: {"$in": [name, "y"]}})).await, same);
    }
    let shown = house.ask_wikis(json!([{"$limit": 1}, {"$project": {"_id": 0, "x": {"$literal": name}}}])).await;
    assert_eq!(shown, [[Value::Text(name.into())]]);
}

async fn what_is_too_much_is_refused(house: House) {
    let wiki = house.wiki().await;
    house.page_with(wiki, 7, "Mesh", (1..=11).map(|n| revision(n, n)).collect()).await;
    let limits = Limits { rows: 10, ..LIMITS };
    let all = json!([{"$project": {"_id": 0, "revid": 1}}]);
    let refused = house.wikis.ask(&Scope::All, &plan(all.clone()), limits).await;
    let why = "the answer has more than 10 rows: end with $limit, or begin with a narrower $match";
    assert_eq!(refused, Err(Error::Invalid(why.into())));
    let some = json!([{"$limit": 10}, {"$project": {"_id": 0, "revid": 1}}]);
    assert_eq!(house.wikis.ask(&Scope::All, &plan(some), limits).await.unwrap().len(), 10);

    let sum = json!([{"$group": {"_id": null, "n": {"$sum": i64::MAX}}}]);
    let refused = house.wikis.ask(&Scope::All, &plan(sum), LIMITS).await;
    assert_eq!(refused, Err(Error::Invalid("a number in the answer is too large: it has more than 63 bits".into())));
}

async fn stages_upon_stages_have_an_end(house: House) {
    let wiki = house.wiki().await;
    house.page_with(wiki, 7, "Mesh", vec![revision(1, 1), revision(2, 2)]).await;
    let group = json!({"$group": {"_id": "$_id", "n": {"$sum": "$n"}}});
    let first = json!({"$group": {"_id": "$title", "n": {"$sum": 1}}});
    let stages = |number: usize| Json::Array([vec![first.clone()], vec![group.clone(); number - 1]].concat());
    let mesh = vec![Value::Text("Mesh".into()), Value::Whole(2)];
    assert_eq!(house.ask_wikis(stages(16)).await, [mesh]);
    let refused = house.wikis.ask(&Scope::All, &plan(stages(17)), LIMITS).await;
    assert_eq!(refused, Err(Error::Invalid("more than 16 stages that depend on each other: ask in parts".into())));
    let many: Vec<Json> = (0..100).map(|n| json!({"$or": [{"revid": n}, {"user": format!("User {n}")}]})).collect();
    assert_eq!(house.revids(json!({"$or": many})).await, [1, 2]);
}

async fn an_answer_that_takes_too_long_is_given_up(house: House) {
    let wiki = house.wiki().await;
    for page in 1..=20 {
        let revisions = (1..=200).map(|n| revision(page * 1_000 + n, n)).collect();
        house.page_with(wiki, page, &format!("Page {page}"), revisions).await;
    }
    let slow = json!([{"$match": {"parsedcomment": {"$regex": "(e|<b>)*(d|i|t)*x"}}}, {"$count": "n"}]);
    let limits = Limits { time: Duration::from_millis(1), ..LIMITS };
    let refused = house.wikis.ask(&Scope::All, &plan(slow.clone()), limits).await;
    let why = "the answer takes longer than 0.001 s: begin with a narrower $match";
    assert_eq!(refused, Err(Error::Invalid(why.into())));
    // What comes after is not hurt.
    assert_eq!(house.ask_wikis(slow).await, Vec::<Row>::new());
}

/// Pieces of expressions; any of them may follow or contain others.
const PIECES: [&str; 26] = [
    "a",
    "é",
    ".",
    r"\d",
    r"\w",
    r"\s",
    r"\W",
    "[a-c]",
    "[^a]",
    r"\b",
    r"\B",
    "^",
    "$",
    "(?i:A)",
    "(?m:^)",
    "(?m:$)",
    "(?s:.)",
    r"\p{Lu}",
    "(?:)",
    r"\.",
    "-",
    "{",
    "[[:punct:]]",
    r"\x{1F600}",
    "(?R:(?m:$))",
    r"\b{start}",
];
const TEXTS: [&str; 12] =
    ["", "a", "abc", "A b", "é\na", "aé-b.", "12 a\n", "Ünï x", "\u{1F600}a", "a{b}[c]", "\r\na\r", "a.b\\c*|+?()"];

fn random_regex(dice: &mut Dice, depth: usize) -> String {
    let mut regex = String::new();
    for _ in 0..1 + dice.roll(3) {
        let piece = match dice.roll(if depth == 0 { 1 } else { 4 }) {
            1 => format!("(?:{}|{})", random_regex(dice, depth - 1), random_regex(dice, depth - 1)),
            2 => format!(
                "({}){}",
                random_regex(dice, depth - 1),
                dice.pick(&["*", "+?", "?", "{2}", "{1,3}", ""]).unwrap()
            ),
            _ => (*dice.pick(&PIECES).unwrap()).to_owned(),
        };
        regex.push_str(&piece);
    }
    regex
}

async fn regular_expressions_match_the_same_on_both(house: House) {
    let wiki = house.wiki().await;
    let said = |(n, text): (i64, &&str)| Revision { comment: Some((*text).into()), ..revision(n, n) };
    house.page_with(wiki, 7, "Mesh", (0..).zip(&TEXTS).map(said).collect()).await;
    let mut dice = Dice::new(7);
    for _ in 0..300 {
        let regex = random_regex(&mut dice, 2);
        let Ok(compiled) = Regex::new(&regex) else { continue };
        let expected: Vec<i64> =
            (0..).zip(&TEXTS).filter(|(_, text)| compiled.is_match(text)).map(|(number, _)| number).collect();
        assert_eq!(house.revids(json!({"comment": {"$regex": &regex}})).await, expected, "{regex}");
    }
    let counted: Result<Vec<Row>> =
        house.wikis.ask(&Scope::All, &plan(json!([{"$match": {"comment": {"$regex": "a{300}"}}}])), LIMITS).await;
    assert_eq!(counted, Err(Error::Invalid("$regex: at most 255 repetitions can be counted".into())));
}
