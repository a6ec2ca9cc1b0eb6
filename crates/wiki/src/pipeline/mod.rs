//! The language in which kept histories are asked about: an aggregation pipeline with a fixed vocabulary, checked and
//! resolved into a [`Plan`] that a store turns into its own words. Nothing that a caller writes reaches a store except as a value.

mod parse;
mod plan;

pub(crate) use parse::dates;
pub use parse::{Written, parse, read};
pub use plan::{Collection, Column, Combine, Compare, Expr, Field, Literal, Plan, Predicate, Stage, Type};
