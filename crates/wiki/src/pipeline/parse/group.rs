//! `$group`: one row for each value of its `_id`.

use malla_queue::{Error, Result};

use super::super::{Column, Combine, Expr, Literal, Stage, Type};
use super::expression::{Made, make, single};
use super::fields::nearest;
use super::json::{Json, quoted};
use super::shape::{Shape, new_name};
use super::value::content;

const COMBINE: [&str; 5] = ["$sum", "$avg", "$min", "$max", "$count"];
/// What would gather the values of a whole group into one row.
const GATHER: [&str; 5] = ["$push", "$addToSet", "$first", "$last", "$mergeObjects"];

pub(super) fn group(shape: &mut Shape, json: &Json) -> Result<Vec<Stage>> {
    let Json::Object(pairs) = json else {
        return Err(Error::Invalid(format!("it takes an object with an _id, not {json}")));
    };
    let Some((_, id)) = pairs.iter().find(|(key, _)| key == "_id") else {
        return Err(Error::Invalid("it needs an _id: a field like \"$user\", or null for one group of all".into()));
    };
    let made = keys(shape, id)?;
    let (mut combined, mut columns) = (Vec::new(), made.iter().map(Made::column).collect::<Vec<_>>());
    for (key, value) in pairs.iter().filter(|(key, _)| key != "_id") {
        let name = new_name(key)?;
        let (combine, kind) = accumulate(shape, value).map_err(|error| Error::Invalid(format!("{name}: {error}")))?;
        combined.push(combine);
        columns.push(Column { path: vec![name], kind });
    }
    shape.become_made(columns)?;
    Ok(stages(made, combined))
}

/// Constants are no keys: they are put back behind.
fn stages(made: Vec<Made>, combined: Vec<Combine>) -> Vec<Stage> {
    let is_constant = |made: &Made| matches!(made.expr, Expr::Literal(_));
    let keys: Vec<Expr> = made.iter().filter(|made| !is_constant(made)).map(|made| made.expr.clone()).collect();
    let constants = made.len() - keys.len();
    let (from_keys, from_combined) = (keys.len(), combined.len());
    let mut stages = vec![Stage::Group { keys, combined }];
    if constants > 0 {
        let mut next_key = 0..from_keys;
        let put_back = |made: Made| match made.expr {
            Expr::Literal(literal) => Expr::Literal(literal),
            _ => Expr::Column(next_key.next().unwrap_or_default()),
        };
        let mut shown: Vec<Expr> = made.into_iter().map(put_back).collect();
        shown.extend((from_keys..from_keys + from_combined).map(Expr::Column));
        stages.push(Stage::Project(shown));
    }
    stages
}

fn keys(shape: &mut Shape, id: &Json) -> Result<Vec<Made>> {
    let path = ["_id".to_owned()];
    if *id == Json::Null {
        return Ok(vec![Made { path: path.to_vec(), kind: Type::Text, expr: Expr::Literal(Literal::Null) }]);
    }
    if matches!(id, Json::Object(pairs) if pairs.is_empty()) {
        return Err(Error::Invalid("its _id is empty: write null for one group of all".into()));
    }
    let made = make(shape, &path, id).map_err(|error| Error::Invalid(format!("_id: {error}")))?;
    for key in &made {
        let name = || match key.expr {
            Expr::Column(column) => shape.name(column),
            _ => key.path.join("."),
        };
        match key.kind {
            Type::Content => return Err(content(&name())),
            Type::Tags => {
                return Err(Error::Invalid(format!("{} is a list: it can be matched and shown, not grouped", name())));
            }
            _ => {}
        }
    }
    Ok(made)
}

fn accumulate(shape: &mut Shape, json: &Json) -> Result<(Combine, Type)> {
    let Json::Object(pairs) = json else {
        return Err(Error::Invalid(format!("it is made with an object like {{\"$sum\": 1}}, not {json}")));
    };
    let [(operator, of)] = pairs.as_slice() else {
        return Err(Error::Invalid(format!("it is made with one operator like {{\"$sum\": 1}}, not {json}")));
    };
    match operator.as_str() {
        "$sum" => match of.whole() {
            Some(times) => Ok((Combine::Count(times), Type::Whole)),
            None => {
                let (expr, kind) = number(shape, operator, of)?;
                Ok((Combine::Sum(expr), kind))
            }
        },
        "$count" if matches!(of, Json::Object(pairs) if pairs.is_empty()) => Ok((Combine::Count(1), Type::Whole)),
        "$count" => Err(Error::Invalid("$count takes an empty object here".into())),
        "$avg" => Ok((Combine::Avg(number(shape, operator, of)?.0), Type::Real)),
        "$min" => ordered(shape, operator, of).map(|(expr, kind)| (Combine::Min(expr), kind)),
        "$max" => ordered(shape, operator, of).map(|(expr, kind)| (Combine::Max(expr), kind)),
        gather if GATHER.contains(&gather) => Err(Error::Invalid(format!(
            "{gather} would gather whole groups and is not there; $project and $sort show the rows themselves"
        ))),
        unknown => {
            let hint = nearest(unknown, COMBINE.into_iter());
            Err(Error::Invalid(format!("{} is not known{hint}; there are {}", quoted(unknown), COMBINE.join(", "))))
        }
    }
}

fn number(shape: &mut Shape, operator: &str, json: &Json) -> Result<(Expr, Type)> {
    let (expr, kind) = single(shape, json)?;
    match kind {
        Type::Whole | Type::Real => Ok((expr, kind)),
        _ => Err(Error::Invalid(format!("{operator} takes a number, and {json} is none"))),
    }
}

fn ordered(shape: &mut Shape, operator: &str, json: &Json) -> Result<(Expr, Type)> {
    let (expr, kind) = single(shape, json)?;
    match kind {
        Type::Whole | Type::Real | Type::Text | Type::Date => Ok((expr, kind)),
        Type::Flag | Type::Tags | Type::Content => {
            Err(Error::Invalid(format!("{operator} takes a number, a text or a date, and {json} is none")))
        }
    }
}
