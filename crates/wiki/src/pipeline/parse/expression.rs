//! What a stage makes of a row: a field, a part of a date, or something constant.

use malla_queue::{Error, Result};

use super::super::{Column, Expr, Literal, Type};
use super::fields::nearest;
use super::json::{Json, quoted};
use super::shape::{Shape, new_name};

const OPERATORS: [&str; 6] = ["$year", "$month", "$dayOfMonth", "$hour", "$dateToString", "$literal"];

/// A column that is made, and of what.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Made {
    pub(super) path: Vec<String>,
    pub(super) kind: Type,
    pub(super) expr: Expr,
}

impl Made {
    pub(super) fn column(&self) -> Column {
        Column { path: self.path.clone(), kind: self.kind }
    }
}

/// What an expression makes at this place: several columns if it is an object, or names one.
pub(super) fn make(shape: &mut Shape, path: &[String], json: &Json) -> Result<Vec<Made>> {
    match json {
        Json::Text(text) if text.starts_with('$') => {
            let found = shape.must_find(field_name(text)?)?;
            let part = |(below, column): (Vec<String>, usize)| Made {
                path: path.iter().cloned().chain(below).collect(),
                kind: shape.kind(column),
                expr: Expr::Column(column),
            };
            Ok(found.parts().into_iter().map(part).collect())
        }
        Json::Object(pairs) if !json.is_operator() && !pairs.is_empty() => {
            let mut made = Vec::new();
            for (key, value) in pairs {
                let below: Vec<String> = path.iter().cloned().chain([new_name(key)?]).collect();
                made.extend(make(shape, &below, value)?);
            }
            Ok(made)
        }
        _ => {
            let (expr, kind) = single(shape, json)?;
            Ok(vec![Made { path: path.to_vec(), kind, expr }])
        }
    }
}

/// An expression with one value.
pub(super) fn single(shape: &mut Shape, json: &Json) -> Result<(Expr, Type)> {
    match json {
        Json::Text(text) if text.starts_with('$') => {
            let column = shape.must_find_one(field_name(text)?)?;
            Ok((Expr::Column(column), shape.kind(column)))
        }
        Json::Object(pairs) => match pairs.as_slice() {
            [(key, value)] if key.starts_with('$') => operator(shape, key, value),
            _ => Err(Error::Invalid(format!(
                "an expression is one operator like {{\"$year\": \"$timestamp\"}}, not {json}"
            ))),
        },
        constant => literal(constant),
    }
}

fn operator(shape: &mut Shape, key: &str, json: &Json) -> Result<(Expr, Type)> {
    match key {
        "$literal" => literal(json),
        "$year" => Ok((Expr::Year(date(shape, key, json)?), Type::Whole)),
        "$month" => Ok((Expr::Month(date(shape, key, json)?), Type::Whole)),
        "$dayOfMonth" => Ok((Expr::Day(date(shape, key, json)?), Type::Whole)),
        "$hour" => Ok((Expr::Hour(date(shape, key, json)?), Type::Whole)),
        "$dateToString" => day_text(shape, json),
        unknown => {
            let hint = nearest(unknown, OPERATORS.into_iter());
            let known = OPERATORS.join(", ");
            Err(Error::Invalid(format!("{} is not known here{hint}; there are {known}", quoted(unknown))))
        }
    }
}

/// The date column that an operator takes.
fn date(shape: &mut Shape, key: &str, json: &Json) -> Result<usize> {
    let Json::Text(text) = json else {
        return Err(Error::Invalid(format!("{key} takes a date like \"$timestamp\", not {json}")));
    };
    let column = shape.must_find_one(field_name(text)?)?;
    match shape.kind(column) {
        Type::Date => Ok(column),
        _ => Err(Error::Invalid(format!("{key} takes a date, and {} is none", shape.name(column)))),
    }
}

fn day_text(shape: &mut Shape, json: &Json) -> Result<(Expr, Type)> {
    let refused = || {
        Error::Invalid(
            "$dateToString makes days only: write {\"format\": \"%Y-%m-%d\", \"date\": \"$timestamp\"}".into(),
        )
    };
    let Json::Object(pairs) = json else { return Err(refused()) };
    let of = |name: &str| pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    match (of("format"), of("date"), pairs.len()) {
        (Some(Json::Text(format)), Some(of), 2) if format == "%Y-%m-%d" => {
            Ok((Expr::DayText(date(shape, "$dateToString", of)?), Type::Text))
        }
        _ => Err(refused()),
    }
}

fn literal(json: &Json) -> Result<(Expr, Type)> {
    let (value, kind) = match json {
        Json::Null => (Literal::Null, Type::Text),
        Json::Text(text) => (Literal::Text(text.clone()), Type::Text),
        Json::Whole(number) => (Literal::Whole(*number), Type::Whole),
        Json::Real(number) => (Literal::Real(*number), Type::Real),
        Json::Flag(_) | Json::List(_) | Json::Object(_) => {
            return Err(Error::Invalid(format!("a constant is text, a number or null, not {json}")));
        }
    };
    Ok((Expr::Literal(value), kind))
}

/// The name in `$name`.
fn field_name(text: &str) -> Result<&str> {
    match text.strip_prefix('$') {
        Some(name) if !name.is_empty() && !name.starts_with('$') => Ok(name),
        Some(_) => Err(Error::Invalid(format!("{} names no field: variables are not known", quoted(text)))),
        None => Err(Error::Invalid(format!("{} names no field: write \"${text}\"", quoted(text)))),
    }
}
