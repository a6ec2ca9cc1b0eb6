//! A question put together from choices: it becomes a pipeline, which can be read and changed.

use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde_json::{Map, Value, json};

use super::places::QUERY;
use crate::form::{Form, number};
use crate::params::Params;
use crate::parts;
use crate::refusal::Refusal;
use crate::tongue::Text;

pub(super) const BUILD: &str = "/wiki/query/build";
const LIMIT: u64 = 20;
const LIMIT_MAX: u64 = 1_000;

/// What the rows are about.
const BY: [(&str, Text); 8] = [
    ("user", key!("each user")),
    ("title", key!("each article")),
    ("year", key!("each year")),
    ("month", key!("each month")),
    ("day", key!("each day")),
    ("minor", key!("minor or not")),
    ("all", key!("all together")),
    ("each", key!("each revision itself")),
];
const MEASURES: [(&str, Text); 5] = [
    ("count", key!("how many revisions")),
    ("avg", key!("their average size")),
    ("max", key!("the largest size")),
    ("min", key!("the smallest size")),
    ("sum", key!("their sizes together")),
];
const FIELDS: [(&str, Text); 5] = [
    ("", key!("all revisions")),
    ("user", key!("the user is")),
    ("title", key!("the title is")),
    ("tags", key!("the tag is")),
    ("size", key!("the size is at least")),
];
const ORDERS: [(&str, Text); 2] = [("-1", key!("the most first")), ("1", key!("the least first"))];

pub(super) fn card(typed: &Params) -> Markup {
    let form = Form { typed, wrong: None };
    html! {
        section.card {
            details.settings open[typed.get("pipeline").is_none()] {
                summary.card-head { h2 { (t!("Put a question together")) } }
                form.fields.wide-fields method="get" action=(BUILD) {
                    (form.choice(t!("Look at"), "where", "", &FIELDS))
                    (form.text(t!("This value"), "value", t!("Empty: all of them."), ""))
                    (form.choice(t!("Tell of"), "by", "", &BY))
                    (form.choice(t!("What"), "measure", "", &MEASURES))
                    (form.choice(t!("Order"), "order", "", &ORDERS))
                    (form.number(t!("Rows at most"), "limit", ""))
                    div.buttons { button { (t!("Make the pipeline and ask")) } }
                }
            }
        }
    }
}

/// On to the question that was put together.
pub(crate) async fn build(params: Params) -> Result<Response, Refusal> {
    let pipeline = pipeline(&params).map_err(Refusal::bad)?;
    let text = serde_json::to_string_pretty(&pipeline).unwrap_or_default();
    let asked = Params::from([("pipeline", text.as_str()), ("collection", "revisions")]);
    Ok(Redirect::to(&asked.link(QUERY)).into_response())
}

fn pipeline(params: &Params) -> Result<Value, String> {
    let limit = number(params, "limit", LIMIT).map_err(crate::form::Wrong::into_sentence)?.clamp(1, LIMIT_MAX);
    let mut stages = Vec::new();
    if let (Some(field), Some(value)) = (params.get("where"), params.get("value")) {
        stages.push(json!({ "$match": wanted(field, value, params)? }));
    }
    let order: i64 = if params.get("order") == Some("1") { 1 } else { -1 };
    match params.get("by").unwrap_or("user") {
        "each" => {
            stages.push(json!({ "$sort": { "timestamp": order } }));
            stages.push(json!({ "$limit": limit }));
            let shown = ["title", "user", "timestamp", "size", "comment"];
            let shown: Map<String, Value> = shown.into_iter().map(|name| (name.to_owned(), json!(1))).collect();
            stages.push(json!({ "$project": shown }));
        }
        by => {
            let (name, made) = measure(params.get("measure").unwrap_or("count"));
            stages.push(json!({ "$group": { "_id": key(by), name: made } }));
            stages.push(json!({ "$sort": { name: order } }));
            stages.push(json!({ "$limit": limit }));
        }
    }
    Ok(Value::Array(stages))
}

fn wanted(field: &str, value: &str, params: &Params) -> Result<Value, String> {
    Ok(match field {
        "size" => {
            let least: u64 = number(params, "value", 0).map_err(crate::form::Wrong::into_sentence)?;
            json!({ "size": { "$gte": least } })
        }
        "user" | "title" | "tags" => json!({ field: value }),
        _ => json!({}),
    })
}

fn key(by: &str) -> Value {
    match by {
        "year" => json!({ "year": { "$year": "$timestamp" } }),
        "month" => json!({ "year": { "$year": "$timestamp" }, "month": { "$month": "$timestamp" } }),
        "day" => json!({ "$dateToString": { "format": "%Y-%m-%d", "date": "$timestamp" } }),
        "user" | "title" | "minor" => json!(format!("${by}")),
        _ => Value::Null,
    }
}

fn measure(name: &str) -> (&'static str, Value) {
    match name {
        "avg" => ("average", json!({ "$avg": "$size" })),
        "max" => ("largest", json!({ "$max": "$size" })),
        "min" => ("smallest", json!({ "$min": "$size" })),
        "sum" => ("size", json!({ "$sum": "$size" })),
        _ => ("revisions", json!({ "$sum": 1 })),
    }
}

/// The answer as a file, and the question over the API.
pub(super) fn ways(params: &Params) -> Markup {
    let file = params.only(&["pipeline", "collection", "date_format"]).link("/wiki/query.csv");
    let command = format!("malla wiki query '{}'", compact(params.typed("pipeline")).replace('\'', "'\\''"));
    html! {
        div.buttons { a.button.plain href=(file) download { "CSV" } }
        (parts::command_line(&command))
    }
}

/// On one line.
fn compact(pipeline: &str) -> String {
    serde_json::from_str::<Value>(pipeline).map_or_else(|_| pipeline.to_owned(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use malla_wiki::pipeline::{Collection, read};

    use super::*;

    #[test]
    fn every_choice_makes_a_pipeline_that_can_be_asked() {
        for (by, _) in BY {
            for (measure, _) in MEASURES {
                for (field, _) in FIELDS {
                    let params = Params::from([("by", by), ("measure", measure), ("where", field), ("value", "10")]);
                    let made = pipeline(&params).expect("a pipeline").to_string();
                    let plan = read(&made, Collection::Revisions, None);
                    assert!(plan.is_ok(), "{made}: {:?}", plan.err());
                }
            }
        }
    }

    #[test]
    fn what_is_typed_is_a_value_and_nothing_else() {
        let params =
            Params::from([("by", "each"), ("where", "user"), ("value", "\"}, {\"$limit\": 1"), ("limit", "99999999")]);
        let made = pipeline(&params).expect("a pipeline");
        assert_eq!(made[0]["$match"]["user"], "\"}, {\"$limit\": 1");
        assert_eq!(made.as_array().map(Vec::len), Some(4));
        assert_eq!(made[2]["$limit"], LIMIT_MAX);
        assert!(pipeline(&Params::from([("limit", "many")])).is_err());
    }
}
