//! An answer of any analysis, as a table: the list of objects in it, and its other fields in a sentence.

use std::collections::BTreeSet;

use malla_analyze::csv::text;
use maud::{Markup, html};
use serde_json::{Map, Number, Value};

use super::{ROWS_MAX, Shown};
use crate::{content, words};

/// Characters of a value that are shown, and columns.
const CHARS_MAX: usize = 200;
const COLUMNS_MAX: usize = 24;

pub(super) fn shown(name: &str, json: &[u8]) -> Shown {
    let title = words::capital(&name.replace('_', " "));
    let answer: Value = serde_json::from_slice(json).unwrap_or_else(|_| Value::from(text(json)));
    let (rows, other) = parts(&answer);
    let table = rows.map(|rows| (of_rows(&rows), rows.len()));
    let drawing = (table.is_none() && other.is_empty()).then(|| content::show(json));
    let sentence = html! {
        @for (nth, (name, value)) in other.iter().take(COLUMNS_MAX).enumerate() {
            @if nth > 0 { ", " }
            span.quiet { (heading(name)) } " " (told(value))
        }
    };
    Shown { title, sentence, drawing, table }
}

type Fields<'v> = Vec<(&'v str, &'v Value)>;

/// The answer if it is a list of objects, else the first of its fields that is; and the other fields.
fn parts(answer: &Value) -> (Option<Vec<&Map<String, Value>>>, Fields<'_>) {
    match answer {
        Value::Object(fields) => {
            let found = fields.iter().find_map(|(name, value)| Some((name.as_str(), rows_of(value)?)));
            let (of, rows) = found.unzip();
            let other = fields.iter().map(|(name, value)| (name.as_str(), value));
            (rows, other.filter(|(name, _)| Some(*name) != of).collect())
        }
        other => (rows_of(other), Vec::new()),
    }
}

/// A list of objects alone.
fn rows_of(value: &Value) -> Option<Vec<&Map<String, Value>>> {
    value.as_array()?.iter().map(Value::as_object).collect()
}

fn of_rows(rows: &[&Map<String, Value>]) -> Markup {
    let shown = &rows[..rows.len().min(ROWS_MAX)];
    let names: BTreeSet<&str> = shown.iter().flat_map(|row| row.keys()).map(String::as_str).collect();
    let mut names: Vec<&str> = names.into_iter().collect();
    // What a row is about comes first.
    names.sort_by_key(|name| *name != "name");
    names.truncate(COLUMNS_MAX);
    let any = |name: &str, is: fn(&Value) -> bool| shown.iter().any(|row| row.get(name).is_some_and(is));
    let number = |name: &str| any(name, Value::is_number) && !any(name, Value::is_string);
    html! {
        @if rows.is_empty() { p.quiet { (t!("Nothing was found.")) } }
        @else {
            table.rows.dense {
                thead { tr { @for name in &names { th.num[number(name)] { (heading(name)) } } } }
                tbody { @for row in shown { tr { @for name in &names {
                    td.num[number(name)] data-label=(heading(name)) { (told(row.get(*name).unwrap_or(&Value::Null))) }
                } } } }
            }
        }
    }
}

/// `Distinct exact`
fn heading(name: &str) -> String {
    words::capital(&cut(name).replace('_', " "))
}

fn told(value: &Value) -> String {
    match value {
        Value::Null => "–".into(),
        Value::Bool(yes) => if *yes { t!("yes") } else { t!("no") }.into(),
        Value::Number(number) => number.as_u64().map_or_else(|| decimal(number), whole),
        Value::String(text) => cut(text),
        other => cut(&other.to_string()),
    }
}

/// Commas only where they are needed: a small number may be a year.
fn whole(number: u64) -> String {
    if number < 10_000 { number.to_string() } else { words::count(number) }
}

/// Four digits behind the point at most; very small and very large ones as they are.
fn decimal(number: &Number) -> String {
    match number.as_f64() {
        Some(value) if value.fract() == 0.0 && (0.0..1e15).contains(&value) => whole(value as u64),
        Some(value) if (1e-3..1e15).contains(&value.abs()) => words::short_decimal(value, 4),
        _ => number.to_string(),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(json: &str) -> String {
        let id = malla_analyze::StudyId(malla_queue::TaskId(1));
        shown("columns", json.as_bytes()).card(id, "columns", false).into_string()
    }

    #[test]
    fn a_list_is_a_table_and_the_rest_a_sentence() {
        let text =
            card(r#"{"left_out":12000,"columns":[{"count":5,"name":"<b>","mean":null},{"name":"x","exact":true}]}"#);
        let heads: Vec<&str> = ["Name", "Count", "Exact", "Mean"]
            .into_iter()
            .filter(|head| text.contains(&format!(">{head}</th>")))
            .collect();
        assert_eq!(heads.len(), 4, "{text}");
        assert!(text.find(">Name</th>") < text.find(">Count</th>"), "{text}");
        for part in ["Left out</span> 12,000", "&lt;b&gt;", ">–</td>", ">yes</td>", ">5</td>"] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert!(!text.contains("<b>"));
    }

    #[test]
    fn any_json_is_shown_somehow() {
        for (json, expected) in
            [("2017", "2017"), ("20000.0", "20,000"), ("-3.0", "-3"), ("1.23456", "1.2346"), ("1e-7", "1e-7")]
        {
            assert_eq!(told(&serde_json::from_str(json).expect("a number")), expected);
        }
        assert!(card(r#"{"columns":[]}"#).contains("Nothing was found."));
        assert!(card(r#"[[1,2]]"#).contains("<pre"));
        assert!(card("not <json>").contains("not &lt;json&gt;"));
        assert!(card(r#"{"least":{"a":1}}"#).contains("{&quot;a&quot;:1}"));
    }

    #[test]
    fn long_lists_end() {
        let rows: Vec<String> = (0..250).map(|n| format!(r#"{{"n":{n},"text":"{}"}}"#, "x".repeat(300))).collect();
        let text = card(&format!("[{}]", rows.join(",")));
        assert_eq!(text.matches("<tr").count(), ROWS_MAX + 1);
        assert!(text.contains("The first 100 of 250"));
        assert!(!text.contains(&"x".repeat(CHARS_MAX + 1)));
    }
}
