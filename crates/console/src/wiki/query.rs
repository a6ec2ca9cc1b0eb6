//! Questions of one's own: an aggregation pipeline, and its answer as a table.

use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::Response;
use malla_wiki::Dates;
use malla_wiki::pipeline::{self, Collection, Plan};
use maud::{Markup, html};
use serde_json::Value;

use super::places::QUERY;
use super::{LIMITS, builder};
use crate::caller::Person;
use crate::form::{Form, Trouble, Wrong};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::tongue::Text;
use crate::visitor::{See, Visitor};
use crate::{Console, export, parts, words};

/// Rows on the page, and characters of a value.
const ROWS_SHOWN: usize = 200;
const CHARS_MAX: usize = 200;

/// A question to begin with.
struct Example {
    name: Text,
    collection: &'static str,
    pipeline: &'static str,
}

const EXAMPLES: [Example; 3] = [
    Example {
        name: key!("The ten users with the most edits"),
        collection: "revisions",
        pipeline: r#"[
  {"$group": {"_id": "$user", "edits": {"$sum": 1}, "size": {"$avg": "$size"}}},
  {"$sort": {"edits": -1}},
  {"$limit": 10}
]"#,
    },
    Example {
        name: key!("Edits in each month"),
        collection: "revisions",
        pipeline: r#"[
  {"$group": {
    "_id": {"year": {"$year": "$timestamp"}, "month": {"$month": "$timestamp"}},
    "edits": {"$sum": 1}
  }},
  {"$sort": {"_id.year": 1, "_id.month": 1}}
]"#,
    },
    Example {
        name: key!("Articles that were extracted last"),
        collection: "articles",
        pipeline: r#"[
  {"$sort": {"last_extraction_date": -1}},
  {"$limit": 20},
  {"$project": {"title": 1, "locale": 1, "last_extraction_date": 1}}
]"#,
    },
];

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    let page = Page::new(QUERY, t!("Query")).lead(html! {
        (t!("A pipeline of $match, $group, $sort, $skip, $limit, $project and $count over revisions or articles."))
    });
    if params.get("pipeline").is_none() {
        let form = Form { typed: &params, wrong: None };
        return Ok(page.still(builder::card(&params)).still(card(&form)));
    }
    match answer(&console, &visitor, &params).await {
        Ok((plan, rows)) => {
            let form = Form { typed: &params, wrong: None };
            Ok(page
                .still(builder::card(&params))
                .still(card(&form))
                .still(table(&plan, &rows))
                .still(builder::ways(&params)))
        }
        Err(trouble) => {
            let wrong = trouble.mend()?;
            let form = Form { typed: &params, wrong: Some(&wrong) };
            Ok(page.status(StatusCode::BAD_REQUEST).still(card(&form)))
        }
    }
}

/// The whole answer as a file.
pub(crate) async fn csv(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Response, Refusal> {
    let answered = answer(&console, &visitor, &params).await.map_err(Trouble::mend);
    let (plan, rows) = match answered {
        Ok(answered) => answered,
        Err(wrong) => return Err(Refusal::bad(wrong?.into_sentence())),
    };
    let names: Vec<String> = plan.columns.iter().map(|column| column.path.join(".")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let cells = |row: &Value| plan.columns.iter().map(|column| raw(at(row, &column.path))).collect();
    Ok(export::csv_of("answer", &names, rows.iter().map(cells).collect()))
}

/// As programs read it.
fn raw(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn card(form: &Form<'_>) -> Markup {
    let collections = [("revisions", key!("revisions")), ("articles", key!("articles"))];
    let area = html! {
        textarea.code name="pipeline" rows="10" spellcheck="false" placeholder=(EXAMPLES[0].pipeline) required {
            (form.typed.typed("pipeline"))
        }
    };
    html! {
        section.card {
            div.card-head { h2 { (t!("Question")) } }
            (parts::error_line(form.error("")))
            form.fields.wide-fields method="get" action=(QUERY) {
                div.whole { (parts::field(t!("Pipeline"), t!("A JSON array of stages."), form.error("pipeline"), area)) }
                (form.choice(t!("Of"), "collection", "", &collections))
                (form.text(t!("Dates are written as"), "date_format", t!("For dates in the pipeline; as 2018-03-09 if empty."), "%Y-%m-%d"))
                div.buttons { button.primary { (t!("Ask")) } }
            }
            p.quiet { (t!("To begin with:")) }
            ul.chips.pad { @for example in &EXAMPLES { li { a.chip href=(link(example)) { (example.name) } } } }
        }
    }
}

fn link(example: &Example) -> String {
    Params::from([("pipeline", example.pipeline), ("collection", example.collection)]).link(QUERY)
}

async fn answer(console: &Console, person: &Person, params: &Params) -> Result<(Plan, Vec<Value>), Trouble> {
    let plan = read(params)?;
    let rows = console.reader.documents(&person.principal.scope(), &plan, Dates::Iso, LIMITS).await;
    Ok((plan, rows.map_err(|error| Trouble::at("", error))?))
}

fn read(params: &Params) -> Result<Plan, Wrong> {
    let named = params.get("collection").unwrap_or(Collection::Revisions.name());
    let collection = Collection::named(named)
        .ok_or_else(|| Wrong::at("collection", say!("There is no collection \"{named}\".", named)))?;
    pipeline::read(params.typed("pipeline"), collection, params.get("date_format")).map_err(|error| {
        let sentence = words::capital(&error.to_string());
        Wrong::at(if sentence.starts_with("Date_format") { "date_format" } else { "pipeline" }, sentence)
    })
}

fn table(plan: &Plan, rows: &[Value]) -> Markup {
    let names: Vec<String> = plan.columns.iter().map(|column| column.path.join(".")).collect();
    let values = |column: usize| rows.iter().filter_map(move |row| at(row, &plan.columns[column].path));
    let number: Vec<bool> = (0..names.len()).map(|column| values(column).any(Value::is_number)).collect();
    html! {
        section.card {
            div.card-head { h2 { (t!("Answer")) } span.quiet.note { (counted!(rows.len() as u64, "row", "rows")) } }
            @if rows.is_empty() { p.quiet { (t!("Nothing matches.")) } }
            @else {
                table.rows.dense {
                    thead { tr { @for (name, number) in names.iter().zip(&number) { th.num[*number] { (name) } } } }
                    tbody { @for row in rows.iter().take(ROWS_SHOWN) { tr {
                        @for ((name, number), column) in names.iter().zip(&number).zip(&plan.columns) {
                            td.num[*number] data-label=(name) { (told(at(row, &column.path))) }
                        }
                    } } }
                }
            }
            @if rows.len() > ROWS_SHOWN {
                p.quiet.note { (rich!("The first {} of {}: the API has them all.", ROWS_SHOWN, words::count(rows.len() as u64))) }
            }
        }
    }
}

/// The value at a place in an object.
fn at<'v>(row: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(row, |value, name| value.get(name))
}

fn told(value: Option<&Value>) -> Markup {
    html! {
        @match value {
            None | Some(Value::Null) => span.quiet { "–" },
            Some(Value::String(text)) => (words::cut(text, CHARS_MAX)),
            Some(Value::Bool(yes)) => @if *yes { (t!("yes")) } @else { (t!("no")) },
            Some(Value::Number(number)) => (told_number(number)),
            Some(Value::Array(words)) if words.iter().all(Value::is_string) => {
                (words::cut(&words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "), CHARS_MAX))
            },
            Some(other) => (words::cut(&other.to_string(), CHARS_MAX)),
        }
    }
}

/// Whole numbers as they are: they may be years or ids.
fn told_number(number: &serde_json::Number) -> String {
    match number.as_f64() {
        Some(value) if number.is_f64() && value.fract().abs() > 0.0 && (1e-3..1e15).contains(&value.abs()) => {
            words::short_decimal(value, 4)
        }
        _ => number.to_string().trim_end_matches(".0").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_a_pipeline() {
        for example in &EXAMPLES {
            let params = Params::from([("pipeline", example.pipeline), ("collection", example.collection)]);
            assert!(read(&params).is_ok(), "{}: {:?}", example.name, read(&params).err());
        }
    }

    #[test]
    fn what_is_wrong_is_told_at_its_field() {
        for (pipeline, collection, field) in [
            ("[", "revisions", "pipeline"),
            (r#"[{"$fly": 1}]"#, "revisions", "pipeline"),
            ("[]", "users", "collection"),
        ] {
            let params = Params::from([("pipeline", pipeline), ("collection", collection)]);
            let wrong = read(&params).expect_err("wrong");
            let form = Form { typed: &params, wrong: Some(&wrong) };
            assert!(form.error(field).is_some(), "{pipeline} {collection}: {wrong:?}");
        }
    }

    #[test]
    fn values_are_told_as_people_read_them() {
        for (json, expected) in [
            ("2018", "2018"),
            ("12.0", "12"),
            ("0.33333333", "0.3333"),
            ("\"<b>\"", "&lt;b&gt;"),
            ("[\"a\",\"b\"]", "a, b"),
            ("true", "yes"),
        ] {
            let value: Value = serde_json::from_str(json).expect("JSON");
            assert_eq!(told(Some(&value)).into_string(), expected);
        }
        assert!(told(None).into_string().contains("–"));
    }
}
