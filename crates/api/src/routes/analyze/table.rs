//! An answer as CSV (RFC 4180), whatever its analysis is: the list of objects in it, or its fields.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Texts come first, then the rest, each in the order of their names. An empty list has no columns, and so no lines.
pub(super) fn table(answer: &Value) -> String {
    match rows(answer) {
        Some(rows) => of_rows(&rows),
        None => of_fields(answer),
    }
}

/// The answer if it is a list of objects, else the first of its fields that is.
fn rows(answer: &Value) -> Option<Vec<&Map<String, Value>>> {
    let objects = |value: &'_ Value| value.as_array().is_some_and(|items| items.iter().all(Value::is_object));
    let list = match answer {
        Value::Object(fields) => fields.values().find(|value| objects(value))?,
        other => Some(other).filter(|value| objects(value))?,
    };
    Some(list.as_array()?.iter().filter_map(Value::as_object).collect())
}

fn of_rows(rows: &[&Map<String, Value>]) -> String {
    // Whether a column has texts in it.
    let mut columns: BTreeMap<&str, bool> = BTreeMap::new();
    for (name, value) in rows.iter().flat_map(|row| row.iter()) {
        *columns.entry(name).or_default() |= value.is_string();
    }
    let mut columns: Vec<(&str, bool)> = columns.into_iter().collect();
    columns.sort_by_key(|(_, texts)| !texts);
    let mut csv = String::new();
    if !columns.is_empty() {
        line(&mut csv, columns.iter().map(|(name, _)| (*name).to_owned()));
    }
    for row in rows {
        line(&mut csv, columns.iter().map(|(name, _)| row.get(*name).map(shown).unwrap_or_default()));
    }
    csv
}

fn of_fields(answer: &Value) -> String {
    let mut csv = String::new();
    line(&mut csv, ["key", "value"].map(str::to_owned));
    for (name, value) in answer.as_object().into_iter().flatten() {
        line(&mut csv, [name.clone(), shown(value)]);
    }
    csv
}

/// As JSON has it, but texts without their quotes and nothing for null.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A line of CSV.
pub(crate) fn line(csv: &mut String, fields: impl IntoIterator<Item = String>) {
    for (index, field) in fields.into_iter().enumerate() {
        if index > 0 {
            csv.push(',');
        }
        if field.contains(['"', ',', '\r', '\n']) {
            csv.push('"');
            csv.push_str(&field.replace('"', "\"\""));
            csv.push('"');
        } else {
            csv.push_str(&field);
        }
    }
    csv.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_becomes_a_table_and_fields_become_lines() {
        let stations = json!({ "left_out": 3, "stations": [
            { "trips": 2, "name": "Rachel / \"Main\", north ", "average_km": 6.25 },
            { "trips": 10, "name": "Berri", "average_km": 7.0, "note": null },
        ] });
        let expected = "name,average_km,note,trips\r\n\"Rachel / \"\"Main\"\", north \",6.25,,2\r\nBerri,7.0,,10\r\n";
        check(&stations, expected);
        check(&json!([{ "a": "x\ny", "b": [1, "z"] }]), "a,b\r\n\"x\ny\",\"[1,\"\"z\"\"]\"\r\n");
        check(
            &json!({ "overall": 1.5, "least": null, "name": "a,b" }),
            "key,value\r\nleast,\r\nname,\"a,b\"\r\noverall,1.5\r\n",
        );
        check(&json!({ "stations": [], "left_out": 1 }), "");
    }

    fn check(answer: &Value, expected: &str) {
        assert_eq!(table(answer), expected);
    }
}
