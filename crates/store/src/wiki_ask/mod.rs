//! Questions about wikis: a plan becomes one statement, the same on both stores but for a few words.
//!
//! What comes before the first group or limit is asked of the tables themselves (`source`), so that indexes serve it
//! and only the tables that are needed are joined. What comes after is asked of the statement so far (`relation`).
//! Callers' values are parameters, without exception.

mod dates;
mod dialect;
mod grouping;
mod operand;
pub(crate) mod postgres;
mod predicates;
mod regexes;
mod relation;
mod source;
pub(crate) mod sqlite;
mod values;

use std::time::Duration;

use malla_queue::{Error, Result, Scope};
use malla_wiki::pipeline::{Plan, Type};

use dialect::Dialect;
use operand::{Param, Writer};
use relation::Relation;

/// A statement with its parameters, and what its columns are.
struct Question {
    sql: String,
    params: Vec<Param>,
    kinds: Vec<Type>,
}

/// The statement that answers a plan, with one row more than there may be.
fn question(dialect: Dialect, scope: &Scope, plan: &Plan, rows: usize) -> Result<Question> {
    let mut writer = Writer::new(dialect);
    let mut relation = Relation::of(&mut writer, scope, plan)?;
    for stage in &plan.stages {
        relation = relation.then(&mut writer, stage)?;
    }
    let (sql, kinds) = relation.answer(&mut writer, (rows as u64).saturating_add(1))?;
    Ok(Question { sql, params: writer.into_params(), kinds })
}

fn too_many(rows: usize) -> Error {
    Error::Invalid(format!("the answer has more than {rows} rows: end with $limit, or begin with a narrower $match"))
}

fn too_slow(time: Duration) -> Error {
    let seconds = time.as_secs_f64();
    Error::Invalid(format!("the answer takes longer than {seconds} s: begin with a narrower $match"))
}

fn too_large() -> Error {
    Error::Invalid("a number in the answer is too large: it has more than 63 bits".into())
}
