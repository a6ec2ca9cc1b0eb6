//! Every form of the language that is taken, and every one that is refused, with its words.

use malla_queue::UnixMs;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::pipeline::{Combine, Compare, Field, Literal};

fn plan(stages: &Value) -> Plan {
    read(&stages.to_string(), Collection::Revisions, None).unwrap_or_else(|error| panic!("{stages}: {error}"))
}

/// The one predicate of a `$match`, and the fields that it takes.
fn matched(wanted: Value) -> (Predicate, Vec<Field>) {
    let plan = plan(&json!([{ "$match": wanted }, { "$count": "n" }]));
    match plan.stages.as_slice() {
        [Stage::Match(predicate), Stage::Count] => (predicate.clone(), plan.source),
        [Stage::Count] => (Predicate::All(Vec::new()), plan.source),
        other => panic!("{other:?}"),
    }
}

fn is(column: usize, compare: Compare, value: Literal) -> Predicate {
    Predicate::Is { column, compare, value }
}

fn refused(stages: &Value) -> String {
    match read(&stages.to_string(), Collection::Revisions, None) {
        Err(Error::Invalid(why)) => why,
        other => panic!("{stages} gave {other:?}"),
    }
}

fn paths(plan: &Plan) -> Vec<String> {
    plan.columns.iter().map(|column| column.path.join(".")).collect()
}

fn text(text: &str) -> Literal {
    Literal::Text(text.into())
}

#[test]
fn conditions_on_one_field() {
    let day = Literal::Date(UnixMs(1_520_553_600_000));
    for (wanted, field, expected) in [
        (json!({"title": "Cat"}), Field::Title, is(0, Compare::Eq, text("Cat"))),
        (json!({"user": null}), Field::User, is(0, Compare::Eq, Literal::Null)),
        (json!({"size": {"$eq": 5}}), Field::Size, is(0, Compare::Eq, Literal::Whole(5))),
        (json!({"size": {"$eq": "5"}}), Field::Size, is(0, Compare::Eq, Literal::Whole(5))),
        (json!({"size": {"$ne": 5}}), Field::Size, is(0, Compare::Ne, Literal::Whole(5))),
        (json!({"size": {"$gt": 5.5}}), Field::Size, is(0, Compare::Gt, Literal::Real(5.5))),
        (json!({"size": {"$gte": 5}}), Field::Size, is(0, Compare::Gte, Literal::Whole(5))),
        (json!({"size": {"$lt": 5}}), Field::Size, is(0, Compare::Lt, Literal::Whole(5))),
        (json!({"size": {"$lte": 5}}), Field::Size, is(0, Compare::Lte, Literal::Whole(5))),
        (json!({"timestamp": "2018-03-09"}), Field::Timestamp, is(0, Compare::Eq, day.clone())),
        (json!({"timestamp": {"$lt": {"$date": 1_520_553_600_000_i64}}}), Field::Timestamp, is(0, Compare::Lt, day)),
        (json!({"tags": "mobile edit"}), Field::Tags, is(0, Compare::Eq, text("mobile edit"))),
        (json!({"minor": true}), Field::Minor, Predicate::Exists { column: 0, exists: true }),
        (json!({"minor": false}), Field::Minor, Predicate::Exists { column: 0, exists: false }),
        (json!({"minor": {"$ne": true}}), Field::Minor, Predicate::Exists { column: 0, exists: false }),
        (json!({"anon": {"$exists": true}}), Field::Anon, Predicate::Exists { column: 0, exists: true }),
        (json!({"anon": {"$exists": 0}}), Field::Anon, Predicate::Exists { column: 0, exists: false }),
        (json!({"*": {"$exists": true}}), Field::Text, Predicate::Exists { column: 0, exists: true }),
        (json!({"ns": 0}), Field::Ns, is(0, Compare::Eq, Literal::Whole(0))),
        (
            json!({"userid": {"$in": [1, "2", null]}}),
            Field::UserId,
            Predicate::In { column: 0, values: vec![Literal::Whole(1), Literal::Whole(2), Literal::Null] },
        ),
        (
            json!({"user": {"$regex": "bot$", "$options": "ii"}}),
            Field::User,
            Predicate::Matches { column: 0, regex: "(?i)bot$".into() },
        ),
        (json!({"comment": {"$regex": "^rv"}}), Field::Comment, Predicate::Matches { column: 0, regex: "^rv".into() }),
    ] {
        assert_eq!(matched(wanted.clone()), (expected, vec![field]), "{wanted}");
    }
}

#[test]
fn conditions_together() {
    let (big, small) = (is(0, Compare::Gt, Literal::Whole(9)), is(0, Compare::Lt, Literal::Whole(5)));
    let fields = vec![Field::Size];
    let expect = |wanted, predicate| assert_eq!(matched(wanted), (predicate, fields.clone()));
    expect(json!({"size": {"$gt": 9, "$lt": 5}}), Predicate::All(vec![big.clone(), small.clone()]));
    expect(
        json!({"$and": [{"size": {"$gt": 9}}, {"size": {"$lt": 5}}]}),
        Predicate::All(vec![big.clone(), small.clone()]),
    );
    expect(json!({"$or": [{"size": {"$gt": 9}}, {"size": {"$lt": 5}}]}), Predicate::Any(vec![big.clone(), small]));
    let missing = Predicate::Exists { column: 0, exists: false };
    let not_big = Predicate::Any(vec![is(0, Compare::Lte, Literal::Whole(9)), missing]);
    expect(json!({"$nor": [{"size": {"$gt": 9}}]}), Predicate::All(vec![not_big.clone()]));
    expect(json!({"size": {"$not": {"$gt": 9}}}), not_big);
    expect(
        json!({"size": {"$nin": [1, 2]}}),
        Predicate::All(vec![is(0, Compare::Ne, Literal::Whole(1)), is(0, Compare::Ne, Literal::Whole(2))]),
    );
    expect(json!({"$nor": [{"size": {"$ne": 1}}]}), Predicate::All(vec![is(0, Compare::Eq, Literal::Whole(1))]));
    let (both, fields) = matched(json!({"title": "Cat", "locale": "en"}));
    assert_eq!(both, Predicate::All(vec![is(0, Compare::Eq, text("en")), is(1, Compare::Eq, text("Cat"))]));
    assert_eq!(fields, [Field::Locale, Field::Title]);
    assert_eq!(matched(json!({})), (Predicate::All(vec![]), vec![]));
}

#[test]
fn groups_by_a_field_by_parts_of_a_date_and_of_all() {
    let by_user = plan(&json!([{"$group": {"_id": "$user", "n": {"$sum": 1}, "of": {"$sum": "$size"}}}]));
    assert_eq!(by_user.source, [Field::User, Field::Size]);
    let combined = vec![Combine::Count(1), Combine::Sum(Expr::Column(1))];
    assert_eq!(by_user.stages, [Stage::Group { keys: vec![Expr::Column(0)], combined }]);
    assert_eq!(paths(&by_user), ["_id", "n", "of"]);

    let id = json!({"month": {"$month": "$timestamp"}, "year": {"$year": "$timestamp"},
        "day": {"$dayOfMonth": "$timestamp"}, "hour": {"$hour": "$timestamp"}});
    let by_date = read(
        r#"[{"$group": {"_id": {"month": {"$month": "$timestamp"}, "year": {"$year": "$timestamp"}}}}, {"$sort": {"_id": -1}}]"#,
        Collection::Revisions,
        None,
    )
    .expect("a plan");
    let group = Stage::Group { keys: vec![Expr::Month(0), Expr::Year(0)], combined: vec![] };
    assert_eq!(by_date.stages, [group, Stage::Sort(vec![(0, true), (1, true)])]);
    assert_eq!(paths(&by_date), ["_id.month", "_id.year"]);
    assert_eq!(paths(&plan(&json!([{"$group": {"_id": id}}]))).len(), 4);

    let of_all = plan(&json!([{"$group": {"_id": null, "a": {"$avg": "$size"}, "l": {"$min": "$timestamp"},
        "m": {"$max": "$user"}, "n": {"$count": {}}}}]));
    let combined = vec![
        Combine::Avg(Expr::Column(0)),
        Combine::Min(Expr::Column(1)),
        Combine::Max(Expr::Column(2)),
        Combine::Count(1),
    ];
    let null = Expr::Literal(Literal::Null);
    let shown = vec![null, Expr::Column(0), Expr::Column(1), Expr::Column(2), Expr::Column(3)];
    assert_eq!(of_all.stages, [Stage::Group { keys: vec![], combined }, Stage::Project(shown)]);
    let kinds: Vec<_> = of_all.columns.iter().map(|column| column.kind).collect();
    assert_eq!(kinds, [Type::Text, Type::Real, Type::Date, Type::Text, Type::Whole]);

    let single = plan(&json!([{"$group": {"_id": {"$year": "$timestamp"}, "half": {"$sum": 0.5}}}]));
    let combined = vec![Combine::Sum(Expr::Literal(Literal::Real(0.5)))];
    assert_eq!(single.stages, [Stage::Group { keys: vec![Expr::Year(0)], combined }]);
    let day = json!({"$dateToString": {"format": "%Y-%m-%d", "date": "$timestamp"}});
    let by_day = plan(&json!([{"$group": {"_id": {"what": "days", "day": day}}}]));
    let shown = vec![Expr::Column(0), Expr::Literal(text("days"))];
    let group = Stage::Group { keys: vec![Expr::DayText(0)], combined: vec![] };
    assert_eq!(by_day.stages, [group, Stage::Project(shown)]);
}

#[test]
fn a_chart_s_pipeline_names_the_id_again() {
    let plan = read(
        r#"[
            {"$match": {"title": "Cat", "locale": "es", "timestamp": {"$gt": "2018-01-01"}}},
            {"$group": {"_id": {"month": {"$month": "$timestamp"}, "year": {"$year": "$timestamp"}}, "result": {"$sum": 1}}},
            {"$sort": {"result": -1, "_id": 1}},
            {"$limit": 10},
            {"$project": {"_id": "$_id", "x_value": "$_id", "x_label": "Fecha", "y_value": "$result", "y_label": "Cuenta"}}
        ]"#,
        Collection::Revisions,
        Some("%Y-%m-%d"),
    )
    .expect("a plan");
    assert_eq!(plan.source, [Field::Title, Field::Locale, Field::Timestamp]);
    assert_eq!(plan.stages[2..4], [Stage::Sort(vec![(2, true), (0, false), (1, false)]), Stage::Limit(10)]);
    let names =
        ["_id.month", "_id.year", "x_value.month", "x_value.year", "x_label", "y_value", "y_label"].map(str::to_owned);
    assert_eq!(paths(&plan), names);
    let (month, year, count) = (Expr::Column(0), Expr::Column(1), Expr::Column(2));
    let label = |label: &str| Expr::Literal(text(label));
    let shown = vec![month.clone(), year.clone(), month, year, label("Fecha"), count, label("Cuenta")];
    assert_eq!(plan.stages[4], Stage::Project(shown));
}

#[test]
fn projections_show_make_and_leave_out() {
    let columns = |stages: Value| paths(&plan(&stages));
    assert_eq!(columns(json!([{"$project": {"user": 1, "*": true}}])), ["*", "user"]);
    assert_eq!(columns(json!([{"$project": {"_id": 0, "user": 1}}])), ["user"]);
    assert_eq!(columns(json!([{"$project": {"_id": 1, "user": 1}}])), ["user"]);
    assert_eq!(
        columns(json!([{"$project": {"who": "$user", "when": {"year": {"$year": "$timestamp"}}}}])),
        ["when.year", "who"]
    );
    assert_eq!(columns(json!([{"$project": {"five": {"$literal": 5}, "label": "Users"}}])), ["five", "label"]);
    let grouped = json!({"$group": {"_id": {"u": "$user", "m": "$minor"}, "n": {"$sum": 1}}});
    assert_eq!(columns(json!([grouped, {"$project": {"n": 1}}])), ["_id.m", "_id.u", "n"]);
    assert_eq!(columns(json!([grouped, {"$project": {"n": 1, "_id": 0}}])), ["n"]);
    assert_eq!(columns(json!([grouped, {"$project": {"_id.u": 1}}])), ["_id.u"]);
    assert_eq!(columns(json!([grouped, {"$project": {"_id": {"u": 1}}}])), ["_id.u"]);
    assert_eq!(columns(json!([grouped, {"$project": {"_id.m": 0}}])), ["_id.u", "n"]);
    assert_eq!(columns(json!([grouped, {"$project": {"_id": 0}}])), ["n"]);
    assert_eq!(columns(json!([grouped, {"$project": {"who.name": "$_id.u", "_id": 0}}])), ["who.name"]);
    let without = plan(&json!([{"$project": {"*": 0, "comment": false}}]));
    assert_eq!(without.source.len(), Collection::Revisions.document().len() - 2);
    assert!(!without.source.contains(&Field::Text));
    assert_eq!(paths(&plan(&json!([{"$project": {"_id": 0}}]))).len(), Collection::Revisions.document().len());
}

#[test]
fn whole_documents_have_every_field_in_its_order_and_no_others() {
    let names = |collection: Collection| collection.document().iter().map(|field| field.name()).collect::<Vec<_>>();
    let all = plan(&json!([]));
    assert_eq!((all.source.as_slice(), all.stages.len()), (Collection::Revisions.document(), 0));
    assert_eq!(paths(&all), names(Collection::Revisions));
    let some =
        plan(&json!([{"$match": {"ns": 0, "size": 5}}, {"$sort": {"timestamp": -1}}, {"$skip": 0}, {"$limit": 5}]));
    assert_eq!(paths(&some), names(Collection::Revisions));
    assert_eq!(some.source.len(), names(Collection::Revisions).len() + 1);
    assert_eq!(some.stages[1..4], [Stage::Sort(vec![(2, true)]), Stage::Skip(0), Stage::Limit(5)]);
    let articles = read("[]", Collection::Articles, None).expect("a plan");
    assert_eq!(paths(&articles), names(Collection::Articles));
    assert!(read(r#"[{"$match": {"user": "x"}}]"#, Collection::Articles, None).is_err());
}

#[test]
fn a_count_takes_no_field_and_has_one() {
    let count = plan(&json!([{"$count": "revisions"}]));
    assert_eq!((count.source.len(), count.stages.as_slice()), (0, [Stage::Count].as_slice()));
    assert_eq!(paths(&count), ["revisions"]);
}

#[test]
fn a_sort_counts_in_the_order_in_which_it_was_written() {
    let written = r#"[{"$sort": {"timestamp": -1, "revid": 1}}, {"$project": {"revid": 1}}]"#;
    let plan = read(written, Collection::Revisions, None).expect("a plan");
    assert_eq!(plan.source, [Field::Timestamp, Field::RevId]);
    assert_eq!(plan.stages[0], Stage::Sort(vec![(0, true), (1, false)]));
}

#[test]
fn after_a_stage_that_makes_columns_only_those_are_there() {
    let grouped = json!({"$group": {"_id": "$user", "n": {"$sum": 1}}});
    let some = plan(&json!([grouped, {"$match": {"n": {"$gte": 2}, "_id": {"$ne": null}}}]));
    let both = vec![is(0, Compare::Ne, Literal::Null), is(1, Compare::Gte, Literal::Whole(2))];
    assert_eq!(some.stages[1], Stage::Match(Predicate::All(both)));
    assert_eq!(plan(&json!([grouped, {"$match": {"size": {"$exists": false}}}])).stages.len(), 1);
    assert_eq!(
        refused(&json!([grouped, {"$match": {"size": 5}}])),
        r#"stage 2, $match: there is no field "size" after the stages before; there is _id, n"#
    );
    assert!(
        refused(&json!([grouped, {"$sort": {"user": 1}}])).starts_with("stage 2, $sort: there is no field \"user\"")
    );
    assert!(refused(&json!([{"$project": {"user": 1}}, {"$group": {"_id": "$title"}}])).contains("\"title\""));
}

#[test]
fn what_is_not_understood_is_refused_with_its_name() {
    let many: Vec<_> = (0..1_001).collect();
    for (stages, expected) in [
        (json!({}), "a pipeline is a list of stages"),
        (json!(vec![json!({"$limit": 1}); 65]), "the pipeline has 65 stages: at most 64"),
        (json!(["$limit"]), "stage 1 is an object like"),
        (json!([{}]), "stage 1 has 0 names"),
        (json!([{"$limit": 1, "$skip": 1}]), "stage 1 has 2 names"),
        (json!([{"$mach": {}}]), r#"there is no stage "$mach" (did you mean $match?); there are $match, $group"#),
        (json!([{"$lookup": {}}]), r#"there is no stage "$lookup""#),
        (json!([{"$limit": 0}]), "stage 1, $limit: it takes a whole number from 1 on, not 0"),
        (json!([{"$limit": "5"}]), r#"it takes a whole number from 1 on, not "5""#),
        (json!([{"$skip": -1}]), "stage 1, $skip: it takes a whole number from 0 on, not -1"),
        (json!([{"$count": 5}]), "it takes the name of the field that holds the number, not 5"),
        (json!([{"$count": "$n"}]), r#"a field cannot be called "$n""#),
        (json!([{"$count": "a.b"}]), "cannot have a dot in its name"),
        (json!([{"$sort": {}}]), "it takes an object like {\"timestamp\": -1}, not an empty object"),
        (json!([{"$sort": {"size": "asc"}}]), r#"size is 1 (ascending) or -1 (descending), not "asc""#),
        (json!([{"$sort": {"*": 1}}]), "* is a revision's text: it can be shown, not compared, sorted or grouped"),
        (json!([{"$sort": {"tags": 1}}]), "tags is a list and cannot be sorted by"),
        (json!([{"$match": []}]), "it takes an object of fields and what is wanted of them, not a list"),
        (
            json!([{"$match": {"sise": 5}}]),
            r#"there is no field "sise" in revisions (did you mean size?); there is revid"#,
        ),
        (json!([{"$match": {"sise": {"$exists": false}}}]), r#"there is no field "sise""#),
        (json!([{"$match": {"$where": "1"}}]), r#""$where" is not known; beside fields there are $and, $or, $nor"#),
        (json!([{"$match": {"$or": []}}]), "$or takes a list of objects, not a list"),
        (json!([{"$match": {"$or": {}}}]), "$or takes a list of objects, not an empty object"),
        (json!([{"$match": {"size": {"$greater": 5}}}]), r#"size: "$greater" is not known"#),
        (json!([{"$match": {"size": {"$gt": 5, "b": 1}}}]), r#"size: "b" is not known"#),
        (json!([{"$match": {"size": {}}}]), "size cannot be compared with an empty object"),
        (json!([{"$match": {"size": {"a": 1}}}]), "by names like size.part"),
        (json!([{"$match": {"size": {"$gt": null}}}]), "size: nothing is larger or smaller than null"),
        (json!([{"$match": {"size": {"$gt": "much"}}}]), r#"size is a number, and cannot be compared with "much""#),
        (json!([{"$match": {"size": {"$in": 5}}}]), "size: $in takes a list of values, not 5"),
        (json!([{"$match": {"size": {"$in": many}}}]), "size: $in has 1001 values: at most 1000"),
        (json!([{"$match": {"size": {"$exists": "yes"}}}]), r#"size: $exists takes true or false, not "yes""#),
        (json!([{"$match": {"size": {"$regex": "5"}}}]), "size: $regex looks into text only"),
        (json!([{"$match": {"tags": {"$gt": "a"}}}]), "tags: it can be compared with $eq, $ne, $in and $nin only"),
        (json!([{"$match": {"minor": {"$gt": true}}}]), "minor: it can be compared with $eq, $ne, $in and $nin only"),
        (json!([{"$match": {"*": "text"}}]), "* is a revision's text"),
        (json!([{"$match": {"*": {"$regex": "text"}}}]), "* is a revision's text"),
        (json!([{"$match": {"*": {"$in": ["text"]}}}]), "* is a revision's text"),
        (json!([{"$match": {"user": {"$options": "i"}}}]), "user: $options goes with $regex"),
        (json!([{"$match": {"user": {"$regex": "a", "$options": "g"}}}]), "user: $options takes letters of imsx"),
        (json!([{"$match": {"user": {"$regex": 5}}}]), "user: $regex takes text, not 5"),
        (json!([{"$match": {"user": {"$regex": "(a"}}}]), r#"user: $regex "(a" cannot be read: unclosed group"#),
        (json!([{"$match": {"user": {"$regex": "(a{1000}){1000}"}}}]), "is too large: repeat less"),
        (json!([{"$match": {"user": {"$regex": "a".repeat(4_097)}}}]), "$regex has 4097 characters: at most 4096"),
        (json!([{"$match": {"user": {"$not": {"$regex": "a"}}}}]), "$regex cannot be turned round with $not or $nor"),
        (json!([{"$match": {"user": {"$not": 5}}}]), r#"user: $not takes an object like {"$gt": 5}, not 5"#),
        (json!([{"$match": {"timestamp": "yesterday"}}]), r#"timestamp: "yesterday" is no date: write it like"#),
        (json!([{"$group": 5}]), "it takes an object with an _id, not 5"),
        (json!([{"$group": {"n": {"$sum": 1}}}]), "it needs an _id"),
        (json!([{"$group": {"_id": {}}}]), "its _id is empty: write null for one group of all"),
        (json!([{"$group": {"_id": "$usr"}}]), r#"_id: there is no field "usr" in revisions (did you mean user?)"#),
        (json!([{"$group": {"_id": "$*"}}]), "* is a revision's text"),
        (json!([{"$group": {"_id": "$tags"}}]), "tags is a list: it can be matched and shown, not grouped"),
        (json!([{"$group": {"_id": "$$ROOT"}}]), r#""$$ROOT" names no field: variables are not known"#),
        (json!([{"$group": {"_id": {"$week": "$timestamp"}}}]), r#"_id: "$week" is not known here"#),
        (json!([{"$group": {"_id": {"$year": "$size"}}}]), "_id: $year takes a date, and size is none"),
        (json!([{"$group": {"_id": {"$year": "timestamp"}}}]), r#"write "$timestamp""#),
        (json!([{"$group": {"_id": {"$year": 5}}}]), r#"$year takes a date like "$timestamp", not 5"#),
        (json!([{"$group": {"_id": {"$dateToString": {"date": "$timestamp"}}}}]), "$dateToString makes days only"),
        (json!([{"$group": {"_id": {"a.b": "$user"}}}]), "cannot have a dot in its name"),
        (json!([{"$group": {"_id": [1]}}]), "a constant is text, a number or null, not a list"),
        (json!([{"$group": {"_id": null, "all": {"$push": "$user"}}}]), "all: $push would gather whole groups"),
        (json!([{"$group": {"_id": null, "n": {"$summ": 1}}}]), r#"n: "$summ" is not known (did you mean $sum?)"#),
        (json!([{"$group": {"_id": null, "n": 1}}]), r#"n: it is made with an object like {"$sum": 1}, not 1"#),
        (json!([{"$group": {"_id": null, "n": {"$sum": 1, "$avg": 1}}}]), "n: it is made with one operator"),
        (json!([{"$group": {"_id": null, "n": {"$sum": "$user"}}}]), r#"n: $sum takes a number, and "$user" is none"#),
        (json!([{"$group": {"_id": null, "n": {"$avg": "$timestamp"}}}]), "n: $avg takes a number"),
        (json!([{"$group": {"_id": null, "n": {"$max": "$minor"}}}]), "n: $max takes a number, a text or a date"),
        (json!([{"$group": {"_id": null, "$n": {"$sum": 1}}}]), r#"a field cannot be called "$n""#),
        (json!([{"$project": {}}]), "stage 1, $project: it names no field"),
        (json!([{"$project": []}]), "it takes an object of fields, not a list"),
        (json!([{"$project": {"usr": 1}}]), r#"there is no field "usr" in revisions (did you mean user?)"#),
        (json!([{"$project": {"usr": 0}}]), r#"there is no field "usr" to leave out"#),
        (json!([{"$project": {"user": 1, "size": 0}}]), "size: fields can be left out with 0 only if"),
        (json!([{"$project": {"user": 5}}]), "user is 1 to show it, 0 to leave it out"),
        (json!([{"$project": {"_id": 1}}]), "it leaves no field"),
        (json!([{"$project": {"x": "$usr"}}]), r#"x: there is no field "usr""#),
        (json!([{"$project": {"x": {"$literal": [1]}}}]), "x: a constant is text, a number or null, not a list"),
        (json!([{"$project": {"x": "$user", "x.y": "$size"}}]), "x and x.y cannot both be made"),
        (json!([{"$project": {"a..b": "$user"}}]), r#"a field cannot be called "a..b""#),
        (
            json!([{"$group": {"_id": {"a": "$user", "b": "$size"}}}, {"$match": {"_id": 5}}]),
            "stage 2, $match: _id is an object: name a part of it, as _id.a or _id.b",
        ),
    ] {
        let why = refused(&stages);
        assert!(why.contains(expected), "{stages}\n  gave     {why}\n  expected {expected}");
        assert!(parse(&stages, Collection::Revisions, None).is_err());
    }
}

#[test]
fn a_pipeline_cannot_grow_without_end() {
    let conditions: Vec<_> = (0..401).map(|n| json!({"size": n})).collect();
    assert!(refused(&json!([{"$match": {"$or": conditions}}])).contains("too many conditions: at most 400"));
    let values: Vec<_> = (0..1_000).collect();
    let lists: Vec<_> = (0..2).map(|_| json!({"size": {"$in": values}})).collect();
    assert!(refused(&json!([{"$match": {"$and": lists}}])).contains("too many values in $in: at most 1500"));
    // Each stage doubles what there is.
    let doubled = json!({"$project": {"_id.a": "$_id", "_id.b": "$_id"}});
    let mut stages = vec![json!({"$group": {"_id": {"u": "$user"}}})];
    stages.extend(vec![doubled; 60]);
    assert!(refused(&json!(stages)).contains("it makes 128 fields: at most 100"));
    let fields: serde_json::Map<_, _> = (0..101).map(|n| (format!("f{n}"), json!("$user"))).collect();
    assert!(refused(&json!([{ "$project": fields }])).contains("it names too many fields: at most 100"));
    assert!(refused(&json!([{"$match": {"user": "x".repeat(5)}}, {"$sort": {"nothing".repeat(50): 1}}])).len() < 600);
}

/// Words of the language in places where they do not belong.
fn any_json() -> impl Strategy<Value = Value> {
    let words = [
        "$match",
        "$group",
        "$sort",
        "$limit",
        "$project",
        "$count",
        "$and",
        "$or",
        "$nor",
        "$not",
        "$in",
        "$nin",
        "$gt",
        "$regex",
        "$options",
        "$exists",
        "$sum",
        "$avg",
        "$year",
        "$literal",
        "$dateToString",
        "$date",
        "_id",
        "_id.a",
        "user",
        "$user",
        "size",
        "$size",
        "timestamp",
        "$timestamp",
        "*",
        "$*",
        "tags",
        "minor",
        "a",
        "",
        "$",
        "(",
        "i",
        "2018-03-09",
        "%Y-%m-%d",
        "a.b",
    ];
    let word = proptest::sample::select(words.to_vec());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1_i64..3).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        let pairs = proptest::collection::vec((word.clone(), inner.clone()), 0..4);
        let object = pairs.prop_map(|pairs| pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect());
        prop_oneof![proptest::collection::vec(inner, 0..4).prop_map(Value::Array), object.prop_map(Value::Object)]
    })
}

fn check_columns(plan: &Plan) {
    let mut width = plan.source.len();
    for stage in &plan.stages {
        match stage {
            Stage::Group { keys, combined } => width = keys.len() + combined.len(),
            Stage::Project(shown) => {
                assert!(shown.iter().all(|expr| !matches!(expr, Expr::Column(column) if *column >= width)), "{plan:?}");
                width = shown.len();
            }
            Stage::Count => width = 1,
            Stage::Sort(by) => assert!(by.iter().all(|(column, _)| *column < width), "{plan:?}"),
            Stage::Match(_) | Stage::Skip(_) | Stage::Limit(_) => {}
        }
    }
    assert_eq!(width, plan.columns.len(), "{plan:?}");
}

proptest! {
    #[test]
    fn whatever_comes_is_understood_or_refused(
        stages in proptest::collection::vec((proptest::sample::select(STAGES.to_vec()), any_json()), 0..6),
        other in any_json(),
        format in proptest::option::of(".{0,12}"),
    ) {
        let stages: Vec<Value> = stages.into_iter().map(|(name, json)| json!({ name: json })).collect();
        for collection in [Collection::Revisions, Collection::Articles] {
            for json in [&Value::Array(stages.clone()), &other] {
                if let Ok(plan) = parse(json, collection, format.as_deref()) {
                    check_columns(&plan);
                }
            }
        }
    }
}
