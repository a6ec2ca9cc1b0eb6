//! Questions on the shared store.

use deadpool_postgres::Object;
use malla_queue::{Error, Result, Scope};
use malla_wiki::pipeline::{Plan, Type};
use malla_wiki::{Limits, Row, Value};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{self, ToSql};

use super::dialect::Dialect;
use super::operand::Param;
use super::values::{of_text, of_whole};
use super::{Question, question, too_large, too_many, too_slow};
use crate::postgres::broken;

pub(crate) async fn ask(client: &mut Object, scope: &Scope, plan: &Plan, limits: Limits) -> Result<Vec<Row>> {
    let question = question(Dialect::Postgres, scope, plan, limits.rows)?;
    let rows = run(client, &question, limits).await.map_err(|error| said(&error, limits))?;
    if rows.len() > limits.rows {
        return Err(too_many(limits.rows));
    }
    rows.iter()
        .map(|row| question.kinds.iter().enumerate().map(|(number, kind)| value(row, number, *kind)).collect())
        .collect()
}

/// Each question is another statement: it is planned for its own values, and not kept.
async fn run(
    client: &mut Object,
    question: &Question,
    limits: Limits,
) -> Result<Vec<tokio_postgres::Row>, tokio_postgres::Error> {
    let tx = client.build_transaction().read_only(true).start().await?;
    let time_ms = limits.time.as_millis().clamp(1, 2_147_483_647);
    tx.batch_execute(&format!(
        "SET LOCAL statement_timeout = {time_ms}; SET LOCAL plan_cache_mode = force_custom_plan"
    ))
    .await?;
    let params: Vec<_> = question.params.iter().map(typed).collect();
    let rows = tx.query_typed(&question.sql, &params).await?;
    tx.commit().await?;
    Ok(rows)
}

fn typed(param: &Param) -> (&(dyn ToSql + Sync), types::Type) {
    match param {
        Param::Whole(number) => (number, types::Type::INT8),
        Param::Real(number) => (number, types::Type::FLOAT8),
        Param::Text(text) => (text, types::Type::TEXT),
    }
}

fn said(error: &tokio_postgres::Error, limits: Limits) -> Error {
    match error.code() {
        Some(&SqlState::QUERY_CANCELED) => too_slow(limits.time),
        Some(&SqlState::NUMERIC_VALUE_OUT_OF_RANGE) => too_large(),
        Some(&SqlState::INVALID_REGULAR_EXPRESSION) => {
            Error::Invalid("$regex: the expression is too large: use smaller sets and fewer repetitions".into())
        }
        _ => broken(error),
    }
}

fn value(row: &tokio_postgres::Row, number: usize, kind: Type) -> Result<Value> {
    let value = match kind {
        Type::Real => row.get::<_, Option<f64>>(number).map(|number| Ok(Value::Real(number))),
        Type::Whole | Type::Date | Type::Flag => row.get::<_, Option<i64>>(number).map(|number| of_whole(kind, number)),
        Type::Text | Type::Tags | Type::Content => row.get::<_, Option<String>>(number).map(|text| of_text(kind, text)),
    };
    value.unwrap_or(Ok(Value::Null))
}
