//! A pipeline as it is written, read stage by stage into a [`Plan`]. What cannot be understood is refused with one sentence
//! that says which stage and which name.

mod condition;
pub(crate) mod dates;
#[cfg(test)]
mod documented;
mod expression;
mod fields;
mod group;
mod json;
mod project;
mod shape;
#[cfg(test)]
mod tests;
mod value;

use malla_queue::{Error, Result};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use self::condition::Conditions;
use self::dates::DateFormat;
use self::expression::Made;
use self::json::{Json, quoted};
use self::shape::{Shape, new_name};
use self::value::content;
use super::{Collection, Column, Expr, Plan, Predicate, Stage, Type};

const STAGES_MAX: usize = 64;
const SORTED_MAX: usize = 32;
const STAGES: [&str; 7] = ["$match", "$group", "$sort", "$limit", "$skip", "$project", "$count"];

/// A pipeline in the order in which it was written. A [`Value`] has forgotten it, and the first field of a `$sort` counts
/// most: what comes from outside is deserialized into this.
#[derive(Debug, Clone, PartialEq)]
pub struct Written(Json);

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Json::deserialize(deserializer).map(Self)
    }
}

impl From<&Value> for Written {
    fn from(value: &Value) -> Self {
        Self(Json::from(value))
    }
}

/// Resolves a pipeline from its JSON text.
pub fn read(text: &str, collection: Collection, date_format: Option<&str>) -> Result<Plan> {
    let written: Written =
        serde_json::from_str(text).map_err(|error| Error::Invalid(format!("the pipeline is no JSON: {error}")))?;
    parse(written, collection, date_format)
}

/// Resolves a pipeline.
pub fn parse(stages: impl Into<Written>, collection: Collection, date_format: Option<&str>) -> Result<Plan> {
    resolve(&stages.into().0, collection, date_format)
}

fn resolve(stages: &Json, collection: Collection, date_format: Option<&str>) -> Result<Plan> {
    stages.check_depth()?;
    let Json::List(stages) = stages else {
        return Err(Error::Invalid(format!("a pipeline is a list of stages like [{{\"$limit\": 5}}], not {stages}")));
    };
    if stages.len() > STAGES_MAX {
        return Err(Error::Invalid(format!("the pipeline has {} stages: at most {STAGES_MAX}", stages.len())));
    }
    let dates = DateFormat::of(date_format)?;
    let mut conditions = Conditions::new(&dates);
    let mut shape = Shape::of(collection);
    let mut resolved = Vec::with_capacity(stages.len());
    for (number, stage) in (1..).zip(stages) {
        let (name, json) = named(number, stage)?;
        stage_of(name, json, &mut shape, &mut conditions, &mut resolved).map_err(|error| match error {
            Error::Invalid(why) => Error::Invalid(format!("stage {number}, {name}: {why}")),
            other => other,
        })?;
    }
    show_documents(&mut shape, &mut resolved)?;
    let (source, columns) = shape.finish();
    Ok(Plan { collection, source, stages: resolved, columns })
}

fn named(number: usize, stage: &Json) -> Result<(&str, &Json)> {
    let Json::Object(pairs) = stage else {
        return Err(Error::Invalid(format!("stage {number} is an object like {{\"$limit\": 5}}, not {stage}")));
    };
    match pairs.as_slice() {
        [(name, json)] if STAGES.contains(&name.as_str()) => Ok((name, json)),
        [(name, _)] => {
            let hint = fields::nearest(name, STAGES.into_iter());
            let known = STAGES.join(", ");
            Err(Error::Invalid(format!("stage {number}: there is no stage {}{hint}; there are {known}", quoted(name))))
        }
        _ => Err(Error::Invalid(format!(
            "stage {number} has {} names: a stage is an object with one, like {{\"$limit\": 5}}",
            pairs.len()
        ))),
    }
}

fn stage_of(
    name: &str,
    json: &Json,
    shape: &mut Shape,
    conditions: &mut Conditions<'_>,
    resolved: &mut Vec<Stage>,
) -> Result<()> {
    match name {
        "$match" => match conditions.read(shape, json)? {
            Predicate::All(all) if all.is_empty() => {}
            predicate => resolved.push(Stage::Match(predicate)),
        },
        "$group" => resolved.extend(group::group(shape, json)?),
        "$project" => resolved.push(project::project(shape, json)?),
        "$sort" => resolved.push(sort(shape, json)?),
        "$limit" => resolved.push(Stage::Limit(rows(json, 1)?)),
        "$skip" => resolved.push(Stage::Skip(rows(json, 0)?)),
        _ => resolved.push(count(shape, json)?),
    }
    Ok(())
}

fn sort(shape: &mut Shape, json: &Json) -> Result<Stage> {
    let pairs = match json {
        Json::Object(pairs) if !pairs.is_empty() => pairs,
        _ => return Err(Error::Invalid(format!("it takes an object like {{\"timestamp\": -1}}, not {json}"))),
    };
    let mut by = Vec::new();
    for (name, direction) in pairs {
        let descending = match direction.whole() {
            Some(1) => false,
            Some(-1) => true,
            _ => return Err(Error::Invalid(format!("{name} is 1 (ascending) or -1 (descending), not {direction}"))),
        };
        for (_, column) in shape.must_find(name)?.parts() {
            match shape.kind(column) {
                Type::Content => return Err(content(&shape.name(column))),
                Type::Tags => return Err(Error::Invalid(format!("{name} is a list and cannot be sorted by"))),
                _ => by.push((column, descending)),
            }
        }
    }
    if by.len() > SORTED_MAX {
        return Err(Error::Invalid(format!("it sorts by {} fields: at most {SORTED_MAX}", by.len())));
    }
    Ok(Stage::Sort(by))
}

fn rows(json: &Json, least: u64) -> Result<u64> {
    let number = json.whole().and_then(|number| u64::try_from(number).ok()).filter(|number| *number >= least);
    number.ok_or_else(|| Error::Invalid(format!("it takes a whole number from {least} on, not {json}")))
}

fn count(shape: &mut Shape, json: &Json) -> Result<Stage> {
    let Json::Text(name) = json else {
        return Err(Error::Invalid(format!("it takes the name of the field that holds the number, not {json}")));
    };
    shape.become_made(vec![Column { path: vec![new_name(name)?], kind: Type::Whole }])?;
    Ok(Stage::Count)
}

/// A pipeline that makes no columns of its own answers whole documents.
fn show_documents(shape: &mut Shape, resolved: &mut Vec<Stage>) -> Result<()> {
    if !shape.is_source() {
        return Ok(());
    }
    let mut shown = Vec::new();
    for path in shape.paths() {
        shown.extend(project::as_is(shape, &path)?);
    }
    // Fields that were only asked about are not shown.
    let in_place = shown.iter().enumerate().all(|(place, made)| made.expr == Expr::Column(place));
    if !in_place || shape.used() > shown.len() {
        resolved.push(Stage::Project(shown.iter().map(|made| made.expr.clone()).collect()));
    }
    shape.become_made(shown.iter().map(Made::column).collect())
}
