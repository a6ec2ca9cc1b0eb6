//! What a plan means, in the plainest words: rows in memory, stage by stage.

use std::cmp::Ordering;
use std::collections::HashMap;

use malla_queue::UnixMs;
use malla_wiki::pipeline::{Combine, Compare, Expr, Field, Literal, Plan, Predicate, Stage};
use malla_wiki::{Row, Value};
use regex::Regex;

/// A document, by its fields. What is not there is not in it.
pub(crate) type Document = HashMap<Field, Value>;

pub(crate) fn answer(plan: &Plan, documents: &[Document]) -> Vec<Row> {
    let row = |document: &Document| {
        plan.source.iter().map(|field| document.get(field).cloned().unwrap_or(Value::Null)).collect()
    };
    plan.stages.iter().fold(documents.iter().map(row).collect(), then)
}

fn then(mut rows: Vec<Row>, stage: &Stage) -> Vec<Row> {
    match stage {
        Stage::Match(wanted) => rows.retain(|row| holds(wanted, row)),
        Stage::Group { keys, combined } => return group(&rows, keys, combined),
        Stage::Sort(by) => rows.sort_by(|one, other| {
            let compare = |(column, down): &(usize, bool)| {
                let order = order(&one[*column], &other[*column]);
                if *down { order.reverse() } else { order }
            };
            by.iter().map(compare).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        }),
        Stage::Skip(number) => rows = rows.into_iter().skip(*number as usize).collect(),
        Stage::Limit(number) => rows.truncate(*number as usize),
        Stage::Project(values) => {
            return rows.iter().map(|row| values.iter().map(|value| made(value, row)).collect()).collect();
        }
        Stage::Count if rows.is_empty() => {}
        Stage::Count => return vec![vec![Value::Whole(rows.len() as i64)]],
    }
    rows
}

fn group(rows: &[Row], keys: &[Expr], combined: &[Combine]) -> Vec<Row> {
    let mut groups: Vec<(Row, Vec<&Row>)> = Vec::new();
    for row in rows {
        let key: Row = keys.iter().map(|key| made(key, row)).collect();
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, members)) => members.push(row),
            None => groups.push((key, vec![row])),
        }
    }
    let row = |(key, members): (Row, Vec<&Row>)| {
        key.into_iter().chain(combined.iter().map(|combine| combine_all(combine, &members))).collect()
    };
    groups.into_iter().map(row).collect()
}

fn combine_all(combine: &Combine, rows: &[&Row]) -> Value {
    let values = |value: &Expr| -> Vec<Value> {
        rows.iter().map(|row| made(value, row)).filter(|value| *value != Value::Null).collect()
    };
    let numbers = |value: &Expr| -> Vec<i64> {
        let whole = |value| if let Value::Whole(number) = value { Some(number) } else { None };
        values(value).into_iter().filter_map(whole).collect()
    };
    match combine {
        Combine::Count(times) => Value::Whole(rows.len() as i64 * times),
        Combine::Sum(value) => Value::Whole(numbers(value).iter().sum()),
        Combine::Avg(value) => match numbers(value).as_slice() {
            [] => Value::Null,
            some => Value::Real(some.iter().sum::<i64>() as f64 / some.len() as f64),
        },
        Combine::Min(value) => values(value).into_iter().min_by(order).unwrap_or(Value::Null),
        Combine::Max(value) => values(value).into_iter().max_by(order).unwrap_or(Value::Null),
    }
}

fn made(value: &Expr, row: &Row) -> Value {
    let date = |column: &usize, part: fn(Civil) -> Value| match &row[*column] {
        Value::Date(at) => part(civil(*at)),
        _ => Value::Null,
    };
    match value {
        Expr::Column(column) => row[*column].clone(),
        Expr::Literal(literal) => literal_value(literal),
        Expr::Year(column) => date(column, |civil| Value::Whole(civil.year)),
        Expr::Month(column) => date(column, |civil| Value::Whole(civil.month)),
        Expr::Day(column) => date(column, |civil| Value::Whole(civil.day)),
        Expr::Hour(column) => date(column, |civil| Value::Whole(civil.hour)),
        Expr::DayText(column) => {
            date(column, |civil| Value::Text(format!("{:04}-{:02}-{:02}", civil.year, civil.month, civil.day)))
        }
    }
}

struct Civil {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
}

/// By counting years and months from 1970.
fn civil(at: UnixMs) -> Civil {
    let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let (mut days, mut year, mut month) = (at.0 / 86_400_000, 1970, 1);
    while days >= 365 + i64::from(leap(year)) {
        days -= 365 + i64::from(leap(year));
        year += 1;
    }
    for length in [31, 28 + i64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    Civil { year, month, day: days + 1, hour: at.0 / 3_600_000 % 24 }
}

fn literal_value(literal: &Literal) -> Value {
    match literal {
        Literal::Null => Value::Null,
        Literal::Flag(flag) => Value::Flag(*flag),
        Literal::Whole(number) => Value::Whole(*number),
        Literal::Real(number) => Value::Real(*number),
        Literal::Text(text) => Value::Text(text.clone()),
        Literal::Date(at) => Value::Date(*at),
    }
}

fn holds(predicate: &Predicate, row: &Row) -> bool {
    match predicate {
        Predicate::All(parts) => parts.iter().all(|part| holds(part, row)),
        Predicate::Any(parts) => parts.iter().any(|part| holds(part, row)),
        Predicate::Is { column, compare: Compare::Ne, value } => !is(&row[*column], Compare::Eq, value),
        Predicate::Is { column, compare, value } => is(&row[*column], *compare, value),
        Predicate::In { column, values } => values.iter().any(|value| is(&row[*column], Compare::Eq, value)),
        Predicate::Exists { column, exists } => (row[*column] != Value::Null) == *exists,
        Predicate::Matches { column, regex } => {
            let regex = Regex::new(regex).expect("a regular expression");
            match &row[*column] {
                Value::Text(text) => regex.is_match(text),
                Value::Tags(words) => words.iter().any(|word| regex.is_match(word)),
                _ => false,
            }
        }
    }
}

fn is(value: &Value, compare: Compare, with: &Literal) -> bool {
    if let Value::Tags(words) = value {
        return words.iter().any(|word| *with != Literal::Null && is(&Value::Text(word.clone()), compare, with));
    }
    let order = match (value, &literal_value(with)) {
        (Value::Null, Value::Null) => Some(Ordering::Equal),
        (Value::Whole(one), Value::Whole(other)) => Some(one.cmp(other)),
        (Value::Whole(one), Value::Real(other)) => (*one as f64).partial_cmp(other),
        (Value::Real(one), Value::Whole(other)) => one.partial_cmp(&(*other as f64)),
        (Value::Real(one), Value::Real(other)) => one.partial_cmp(other),
        (Value::Text(one), Value::Text(other)) => Some(one.cmp(other)),
        (Value::Date(one), Value::Date(other)) => Some(one.cmp(other)),
        (Value::Flag(one), Value::Flag(other)) => Some(one.cmp(other)),
        _ => None,
    };
    match compare {
        Compare::Eq => order == Some(Ordering::Equal),
        Compare::Ne => order != Some(Ordering::Equal),
        Compare::Gt => order == Some(Ordering::Greater),
        Compare::Gte => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        Compare::Lt => order == Some(Ordering::Less),
        Compare::Lte => matches!(order, Some(Ordering::Less | Ordering::Equal)),
    }
}

/// As values of one column are sorted: what is not there comes first, lists by how they are written.
pub(crate) fn order(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::Whole(one), Value::Whole(other)) => one.cmp(other),
        (Value::Real(one), Value::Real(other)) => one.total_cmp(other),
        (Value::Date(one), Value::Date(other)) => one.cmp(other),
        (Value::Flag(one), Value::Flag(other)) => one.cmp(other),
        (one, other) => written(one).cmp(&written(other)),
    }
}

fn written(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Tags(words) => serde_json::to_string(words).expect("JSON"),
        Value::Content { wiki, pageid, hash } => format!("{wiki} {} {hash:?}", pageid.0),
        other => panic!("{other:?} has no letters"),
    }
}
