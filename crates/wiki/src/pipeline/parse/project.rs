//! `$project`: which fields go on, under which names.

use malla_queue::{Error, Result};

use super::super::{Expr, Stage};
use super::expression::{Made, make};
use super::json::{Json, quoted};
use super::shape::{Shape, new_path};

/// Fields that a `$project` may name.
const NAMED_MAX: usize = 100;

enum Wish<'a> {
    Show,
    Hide,
    Make(&'a Json),
}

pub(super) fn project(shape: &mut Shape, json: &Json) -> Result<Stage> {
    let Json::Object(pairs) = json else {
        return Err(Error::Invalid(format!("it takes an object of fields, not {json}")));
    };
    let mut wishes = Vec::new();
    read(&mut Vec::new(), pairs, &mut wishes)?;
    let hides = |(_, wish): &&(Vec<String>, Wish)| matches!(wish, Wish::Hide);
    let is_id = |path: &[String]| path == ["_id"];
    let hidden = wishes.iter().filter(hides).count();
    let made = if wishes.is_empty() {
        return Err(Error::Invalid("it names no field".into()));
    } else if hidden == wishes.len() {
        without(shape, &wishes)?
    } else if let Some((path, _)) = wishes.iter().filter(hides).find(|(path, _)| !is_id(path)) {
        let name = path.join(".");
        return Err(Error::Invalid(format!("{name}: fields can be left out with 0 only if no others are asked for")));
    } else {
        only(shape, &wishes)?
    };
    if made.is_empty() {
        return Err(Error::Invalid("it leaves no field".into()));
    }
    shape.become_made(made.iter().map(Made::column).collect())?;
    Ok(Stage::Project(made.into_iter().map(|made| made.expr).collect()))
}

/// `{"_id": {"year": 1}}` says the same as `{"_id.year": 1}`.
fn read<'a>(
    above: &mut Vec<String>,
    pairs: &'a [(String, Json)],
    wishes: &mut Vec<(Vec<String>, Wish<'a>)>,
) -> Result<()> {
    for (key, value) in pairs {
        let depth = above.len();
        above.extend(new_path(key)?);
        match value {
            Json::Flag(true) | Json::Whole(1) => wishes.push((above.clone(), Wish::Show)),
            Json::Flag(false) | Json::Whole(0) => wishes.push((above.clone(), Wish::Hide)),
            Json::Object(inner) if !value.is_operator() => read(above, inner, wishes)?,
            Json::Text(_) | Json::Object(_) => wishes.push((above.clone(), Wish::Make(value))),
            _ => {
                let name = above.join(".");
                return Err(Error::Invalid(format!(
                    "{name} is 1 to show it, 0 to leave it out, \"$field\", a text or {{\"$literal\": …}}, not {value}"
                )));
            }
        }
        if wishes.len() > NAMED_MAX {
            return Err(Error::Invalid(format!("it names too many fields: at most {NAMED_MAX}")));
        }
        above.truncate(depth);
    }
    Ok(())
}

fn only(shape: &mut Shape, wishes: &[(Vec<String>, Wish)]) -> Result<Vec<Made>> {
    let mut made = Vec::new();
    if !shape.is_source() && !wishes.iter().any(|(path, _)| path[0] == "_id") && shape.find("_id").is_some() {
        made.extend(as_is(shape, &["_id".to_owned()])?);
    }
    for (path, wish) in wishes {
        match wish {
            Wish::Hide => {}
            // The collections have no _id of their own; asking for it shows nothing.
            Wish::Show if shape.is_source() && path[0] == "_id" => {}
            Wish::Show => made.extend(as_is(shape, path)?),
            Wish::Make(json) => {
                let named = |error: Error| Error::Invalid(format!("{}: {error}", path.join(".")));
                made.extend(make(shape, path, json).map_err(named)?);
            }
        }
    }
    Ok(made)
}

/// What is there under this name, under the same name.
pub(super) fn as_is(shape: &mut Shape, path: &[String]) -> Result<Vec<Made>> {
    let found = shape.must_find(&path.join("."))?;
    let part = |(below, column): (Vec<String>, usize)| Made {
        path: path.iter().cloned().chain(below).collect(),
        kind: shape.kind(column),
        expr: Expr::Column(column),
    };
    Ok(found.parts().into_iter().map(part).collect())
}

fn without(shape: &mut Shape, wishes: &[(Vec<String>, Wish)]) -> Result<Vec<Made>> {
    let mut kept = shape.paths();
    for (path, _) in wishes {
        let before = kept.len();
        kept.retain(|of| !of.starts_with(path));
        if kept.len() == before && path[0] != "_id" {
            return Err(Error::Invalid(format!("there is no field {} to leave out", quoted(&path.join(".")))));
        }
    }
    let mut made = Vec::with_capacity(kept.len());
    for path in &kept {
        made.extend(as_is(shape, path)?);
    }
    Ok(made)
}
