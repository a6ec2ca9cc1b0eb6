//! Each parameter that is taken, and each value that is refused.

use malla_queue::UnixMs;

use super::*;
use crate::pipeline::{Compare, Literal, Predicate};

const DAY: i64 = 1_520_553_600_000; // 2018-03-09

fn pairs(query: &str) -> Vec<(String, String)> {
    let split = |pair: &str| pair.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    query.split('&').filter_map(split).collect()
}

/// The conditions of a count, and the fields that it takes.
fn counted_by(query: &str) -> (Vec<Predicate>, Vec<Field>) {
    let plan = count(&pairs(query)).unwrap_or_else(|error| panic!("{query}: {error}"));
    assert_eq!(plan.stages.last(), Some(&Stage::Count));
    let all = match plan.stages.first() {
        Some(Stage::Match(Predicate::All(all))) => all.clone(),
        Some(Stage::Match(one)) => vec![one.clone()],
        _ => Vec::new(),
    };
    (all, plan.source)
}

fn is(compare: Compare, value: Literal) -> Predicate {
    Predicate::Is { column: 0, compare, value }
}

fn text(text: &str) -> Literal {
    Literal::Text(text.into())
}

fn at(ms: i64) -> Literal {
    Literal::Date(UnixMs(ms))
}

#[test]
fn every_filter_is_one_condition_on_one_field() {
    let exists = |exists| Predicate::Exists { column: 0, exists };
    for (query, field, expected) in [
        ("title=Simón_Bolívar", Field::Title, is(Compare::Eq, text("Simón Bolívar"))),
        ("pageid=12", Field::PageId, is(Compare::Eq, Literal::Whole(12))),
        ("user=Some_one", Field::User, is(Compare::Eq, text("Some_one"))),
        ("userid=0", Field::UserId, is(Compare::Eq, Literal::Whole(0))),
        ("tag=mobile edit", Field::Tags, is(Compare::Eq, text("mobile edit"))),
        ("tags=visualeditor", Field::Tags, is(Compare::Eq, text("visualeditor"))),
        ("size=500", Field::Size, is(Compare::Eq, Literal::Whole(500))),
        ("size=500&sizematch=0", Field::Size, is(Compare::Eq, Literal::Whole(500))),
        ("size=500&sizematch=1", Field::Size, is(Compare::Gt, Literal::Whole(500))),
        ("sizematch=-1&size=500", Field::Size, is(Compare::Lt, Literal::Whole(500))),
        ("datestart=2018-03-09", Field::Timestamp, is(Compare::Gte, at(DAY))),
        ("dateend=2018-03-09", Field::Timestamp, is(Compare::Lt, at(DAY + DAY_MS))),
        ("revid=7", Field::RevId, is(Compare::Eq, Literal::Whole(7))),
        ("parentid=6", Field::ParentId, is(Compare::Eq, Literal::Whole(6))),
        ("sha1=abc", Field::Sha1, is(Compare::Eq, text("abc"))),
        ("contentmodel=wikitext", Field::Model, is(Compare::Eq, text("wikitext"))),
        ("contentformat=text/x-wiki", Field::Format, is(Compare::Eq, text("text/x-wiki"))),
        ("comment=typo", Field::Comment, is(Compare::Eq, text("typo"))),
        ("parsedcomment=<b>", Field::ParsedComment, is(Compare::Eq, text("<b>"))),
        ("minor=true", Field::Minor, exists(true)),
        ("minor=", Field::Minor, exists(true)),
        ("anon=0", Field::Anon, exists(false)),
        ("timestamp=2018-03-09T00:00:01Z", Field::Timestamp, is(Compare::Eq, at(DAY + 1_000))),
        ("extraction_date=2018-03-09T00:00:01", Field::ExtractionDate, is(Compare::Eq, at(DAY + 1_000))),
        ("locale=es", Field::Locale, is(Compare::Eq, text("es"))),
        ("wiki=3", Field::Wiki, is(Compare::Eq, Literal::Whole(3))),
        ("ns=0", Field::Ns, is(Compare::Eq, Literal::Whole(0))),
    ] {
        assert_eq!(counted_by(query), (vec![expected], vec![field]), "{query}");
    }
}

#[test]
fn a_day_is_whole_and_so_are_both_ends_of_a_range() {
    let whole = vec![is(Compare::Gte, at(DAY)), is(Compare::Lt, at(DAY + DAY_MS))];
    for query in ["date=2018-03-09", "timestamp=2018-03-09", "datestart=2018-03-09&dateend=2018-03-09"] {
        assert_eq!(counted_by(query), (whole.clone(), vec![Field::Timestamp]), "{query}");
    }
    assert_eq!(counted_by("extraction_date=2018-03-09"), (whole, vec![Field::ExtractionDate]));
}

#[test]
fn nothing_is_asked_by_what_is_unknown_or_empty() {
    for query in ["", "colour=red", "title=&pageid=&size=&date=&tags=,", "sizematch=1", "page=2"] {
        assert_eq!(counted_by(query), (vec![], vec![]), "{query}");
    }
    let both = vec![is(Compare::Eq, text("a")), is(Compare::Eq, text("b"))];
    assert_eq!(counted_by("tags=a,b"), (both, vec![Field::Tags]));
}

#[test]
fn a_bad_value_is_refused_by_the_name_of_its_parameter() {
    for (query, expected) in [
        ("pageid=x", r#"pageid cannot be "x": it is a whole number"#),
        ("size=-1", r#"size cannot be "-1": it is a number of bytes"#),
        ("sizematch=larger", r#"sizematch cannot be "larger": it is a whole number"#),
        ("date=09/03/2018", r#"date cannot be "09/03/2018": it is a day like 2018-03-09"#),
        ("datestart=2018-02-30", r#"datestart cannot be "2018-02-30": it is a day like 2018-03-09"#),
        (
            "datestart=2018-03-09&dateend=2018-03-08",
            r#"dateend cannot be "2018-03-08": it is the same day as datestart or a later one"#,
        ),
        ("minor=maybe", r#"minor cannot be "maybe": it is true or false"#),
        (
            "timestamp=noon",
            r#"timestamp cannot be "noon": it is a day like 2018-03-09 or a moment like 2018-03-09T12:00:00Z"#,
        ),
        ("*=text", r#"* cannot be "text": it is a text, which can be shown, not compared: compare sha1"#),
        ("wiki=en", r#"wiki cannot be "en": it is a whole number"#),
    ] {
        assert_eq!(count(&pairs(query)), Err(Error::Invalid(expected.into())), "{query}");
        assert!(revisions(&pairs(query)).is_err(), "{query}");
    }
    for query in ["page=0", "page=x", "page_size=0", "page_size=201", "sort=up", "project=colour", "project=,"] {
        let name = query.split('=').next().expect("a name");
        for answer in [articles(&pairs(query)), revisions(&pairs(query))] {
            let why = answer.expect_err(query).to_string();
            assert!(why.starts_with(&format!("{name} cannot be ")), "{why}");
        }
    }
}

#[test]
fn revisions_come_in_pages_in_the_order_of_the_history() {
    let plan = revisions(&pairs("title=Cat")).expect("a plan");
    assert_eq!(plan.source[..3], [Field::Title, Field::Timestamp, Field::RevId]);
    assert_eq!(plan.stages[1..3], [Stage::Sort(vec![(1, false), (2, false)]), Stage::Limit(20)]);
    let shown: Vec<_> = plan.columns.iter().map(|column| column.path[0].as_str()).collect();
    assert_eq!(shown, Collection::Revisions.document().iter().map(|field| field.name()).collect::<Vec<_>>());

    let plan = revisions(&pairs("sort=desc&page=3&page_size=50&project=revid,user,_id")).expect("a plan");
    assert_eq!(plan.source, [Field::Timestamp, Field::RevId, Field::User]);
    let sort = Stage::Sort(vec![(0, true), (1, true)]);
    let shown = Stage::Project(vec![Expr::Column(1), Expr::Column(2)]);
    assert_eq!(plan.stages, [sort, Stage::Skip(100), Stage::Limit(50), shown]);
}

#[test]
fn articles_come_by_title_or_as_one_says() {
    let stages = |query: &str| articles(&pairs(query)).expect("a plan").stages;
    assert_eq!(stages("")[0], Stage::Sort(vec![(0, false), (1, false)]));
    assert_eq!(stages("sort=desc")[0], Stage::Sort(vec![(0, true), (1, true)]));
    let newest = articles(&pairs("sort=-last_extraction_date&project=title")).expect("a plan");
    assert_eq!(newest.source, [Field::LastExtraction, Field::Title, Field::PageId]);
    assert_eq!(newest.stages[0], Stage::Sort(vec![(0, true), (1, true), (2, true)]));
    for (query, field) in [
        ("first_extraction_date=2018-03-09", Field::FirstExtraction),
        ("last_extraction_date=2018-03-09T00:00:00Z", Field::LastExtraction),
        ("last_revision_extracted=5", Field::LastRevision),
        ("ns=0", Field::Ns),
        ("locale=en", Field::Locale),
    ] {
        let plan = articles(&pairs(query)).expect("a plan");
        assert_eq!((plan.source[0], matches!(plan.stages[0], Stage::Match(_))), (field, true), "{query}");
    }
    let one = article(5, &pairs("locale=en&title=ignored&project=title")).expect("a plan");
    assert_eq!(one.source, [Field::PageId, Field::Locale, Field::Wiki, Field::Title]);
    assert_eq!(one.stages[1..3], [Stage::Sort(vec![(2, false)]), Stage::Limit(1)]);
}

#[test]
fn an_average_needs_both_ends_and_counts_their_days() {
    for (query, days) in [
        ("datestart=2018-03-09&dateend=2018-03-09", 1),
        ("datestart=2018-01-01&dateend=2018-12-31", 365),
        ("datestart=2016-02-28&dateend=2016-03-01&user=x", 3),
    ] {
        assert_eq!(avg(&pairs(query)).expect("a plan").1, days, "{query}");
    }
    for (query, name) in [("datestart=2018-03-09", "dateend"), ("dateend=2018-03-09", "datestart"), ("", "datestart")] {
        let why = avg(&pairs(query)).expect_err(query).to_string();
        assert_eq!(why, format!("{name} is missing: say from when to when with datestart and dateend"));
    }
    assert!(avg(&pairs("datestart=2018-03-09&dateend=2018-03-01")).is_err());
}

#[test]
fn a_mode_groups_by_its_attribute() {
    let group = |key| Stage::Group { keys: vec![key], combined: vec![Combine::Count(1)] };
    let most_first = Stage::Sort(vec![(1, true), (0, false)]);
    for (attribute, source, key) in [
        ("title", Field::Title, Expr::Column(0)),
        ("pageid", Field::PageId, Expr::Column(0)),
        ("size", Field::Size, Expr::Column(0)),
        ("date", Field::Timestamp, Expr::DayText(0)),
    ] {
        let (plan, named) = mode(&pairs(&format!("attribute={attribute}"))).expect("a plan");
        assert_eq!((plan.source, named.as_str()), (vec![source], attribute));
        assert_eq!(plan.stages, [group(key), most_first.clone()]);
        assert_eq!(plan.columns[0].path, [attribute]);
    }
    let (plan, _) = mode(&pairs("attribute=user&title=Cat")).expect("a plan");
    let known = Predicate::Exists { column: 1, exists: true };
    assert_eq!(plan.stages[0], Stage::Match(Predicate::All(vec![is(Compare::Eq, text("Cat")), known])));
    assert_eq!(
        mode(&pairs("title=Cat")).expect_err("no attribute").to_string(),
        "attribute is missing: it is one of title, pageid, user, userid, date, size"
    );
    assert!(mode(&pairs("attribute=comment")).expect_err("another").to_string().starts_with("attribute cannot be"));
}
