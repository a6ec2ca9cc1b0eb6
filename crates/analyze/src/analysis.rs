//! What an analysis is: how batches become partials, and partials answers. Pure: the same batch with the same
//! dimensions is the same partial, wherever and however often it is made.

use std::any::Any;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::csv::WrongTable;
use crate::lines::Lines;
use crate::wire::Damaged;

/// A kind of table that an analysis takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Input {
    pub name: &'static str,
    pub role: Role,
    /// What its header must name.
    pub columns: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Small, needed whole by every map of its part: it comes before the records of the part.
    Dimension,
    /// The stream.
    Records,
}

/// A table as it came.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'b> {
    /// `trips/montreal/17`, for those who look for a bad line.
    pub name: &'b str,
    pub input: &'b str,
    pub bytes: &'b [u8],
}

/// Why an analysis cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    #[error("the batch {batch} cannot be read: {why}")]
    Batch { batch: String, why: WrongTable },
    #[error("in the batch {batch}, {bad} of {all} lines cannot be read, more than are borne (bad_lines_max): {sample}")]
    TooManyBad { batch: String, bad: u64, all: u64, sample: String },
    #[error(transparent)]
    Damaged(#[from] Damaged),
}

impl Rejected {
    /// Whether these lines are too many bad ones for a batch.
    pub(crate) fn unless_good(batch: &str, lines: &Lines, bad_lines_max: f64) -> Result<(), Self> {
        if !lines.too_many_bad(bad_lines_max) {
            return Ok(());
        }
        let sample = lines.samples.first().map_or_else(String::new, |bad| format!("line {}: {}", bad.line, bad.why));
        Err(Self::TooManyBad { batch: batch.to_owned(), bad: lines.bad, all: lines.read + lines.bad, sample })
    }
}

/// What batches add up to. Merging is commutative and associative, to the byte.
pub trait Partial: Default + Send {
    fn merge(&mut self, other: Self);
    fn to_bytes(&self) -> Vec<u8>;
    fn from_bytes(bytes: &[u8]) -> Result<Self, Damaged>;
    fn lines(&self) -> &Lines;
}

/// A part of an analysis (a city, say): what is known of it, and what its records add up to.
pub struct Part<'p, A: Analysis + ?Sized> {
    pub name: &'p str,
    pub dimensions: &'p A::Dimensions,
    pub partial: A::Partial,
}

/// One kind of analysis.
pub trait Analysis: Send + Sync + 'static {
    const KIND: &'static str;
    const INPUTS: &'static [Input];
    /// The names of its answers.
    const ANSWERS: &'static [&'static str];
    type Params: Serialize + DeserializeOwned + Default + Send + Sync;
    type Dimensions: Send + Sync + 'static;
    type Partial: Partial;

    /// One sentence about what is wrong with the parameters.
    fn check(params: &Self::Params) -> Result<(), String>;
    /// The share of a batch's lines that may be unreadable.
    fn bad_lines_max(params: &Self::Params) -> f64;
    /// Makes the dimension tables of a part ready. They come in the order of their numbers.
    fn dimensions(params: &Self::Params, part: &str, tables: &[Batch<'_>]) -> Result<Self::Dimensions, Rejected>;
    fn map(
        params: &Self::Params,
        part: &str,
        of: &Self::Dimensions,
        batch: Batch<'_>,
    ) -> Result<Self::Partial, Rejected>;
    /// The answers, in the order of [`Self::ANSWERS`]; `parts` come in the order of their names.
    fn finish(params: &Self::Params, parts: &[Part<'_, Self>]) -> Vec<Value>;
}

/// Dimensions of a part, ready for any number of maps.
pub type Dimensions = Arc<dyn Any + Send + Sync>;

/// An analysis whose kind is known only when it runs.
pub trait AnyAnalysis: Send + Sync {
    fn kind(&self) -> &'static str;
    fn inputs(&self) -> &'static [Input];
    fn answers(&self) -> &'static [&'static str];
    /// The parameters with the defaults filled in, or what is wrong with them.
    fn params(&self, given: &Value) -> Result<Value, String>;
    fn dimensions(&self, params: &Value, part: &str, tables: &[Batch<'_>]) -> Result<Dimensions, Rejected>;
    fn map(&self, params: &Value, part: &str, of: &Dimensions, batch: Batch<'_>) -> Result<Mapped, Rejected>;
    fn merge(&self, partials: &mut dyn Iterator<Item = &[u8]>) -> Result<Mapped, Damaged>;
    fn finish(&self, params: &Value, parts: &[(String, Dimensions, Vec<u8>)]) -> Result<Vec<Value>, Damaged>;
}

/// A partial on its way into the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapped {
    pub bytes: Vec<u8>,
    pub lines: Lines,
}

/// Gives an [`Analysis`] without a value of its own the shape of any.
pub struct Of<A>(std::marker::PhantomData<fn() -> A>);

impl<A> Of<A> {
    pub const NEW: Self = Self(std::marker::PhantomData);
}

/// Parameters were checked when the analysis was made.
fn params_of<A: Analysis>(params: &Value) -> A::Params {
    serde_json::from_value(params.clone()).expect("checked when the analysis was made")
}

fn dimensions_of<A: Analysis>(dimensions: &Dimensions) -> &A::Dimensions {
    dimensions.downcast_ref().expect("made by the same analysis")
}

fn mapped(partial: &impl Partial) -> Mapped {
    Mapped { bytes: partial.to_bytes(), lines: partial.lines().clone() }
}

impl<A: Analysis> AnyAnalysis for Of<A> {
    fn kind(&self) -> &'static str {
        A::KIND
    }

    fn inputs(&self) -> &'static [Input] {
        A::INPUTS
    }

    fn answers(&self) -> &'static [&'static str] {
        A::ANSWERS
    }

    fn params(&self, given: &Value) -> Result<Value, String> {
        let given = if given.is_null() { Value::Object(serde_json::Map::new()) } else { given.clone() };
        let params: A::Params = serde_json::from_value(given).map_err(|error| error.to_string())?;
        A::check(&params)?;
        serde_json::to_value(&params).map_err(|error| error.to_string())
    }

    fn dimensions(&self, params: &Value, part: &str, tables: &[Batch<'_>]) -> Result<Dimensions, Rejected> {
        Ok(Arc::new(A::dimensions(&params_of::<A>(params), part, tables)?))
    }

    fn map(&self, params: &Value, part: &str, of: &Dimensions, batch: Batch<'_>) -> Result<Mapped, Rejected> {
        let params = params_of::<A>(params);
        let partial = A::map(&params, part, dimensions_of::<A>(of), batch)?;
        Rejected::unless_good(batch.name, partial.lines(), A::bad_lines_max(&params))?;
        Ok(mapped(&partial))
    }

    fn merge(&self, partials: &mut dyn Iterator<Item = &[u8]>) -> Result<Mapped, Damaged> {
        let mut sum = A::Partial::default();
        for bytes in partials {
            sum.merge(A::Partial::from_bytes(bytes)?);
        }
        Ok(mapped(&sum))
    }

    fn finish(&self, params: &Value, parts: &[(String, Dimensions, Vec<u8>)]) -> Result<Vec<Value>, Damaged> {
        let mut read = Vec::with_capacity(parts.len());
        for (name, dimensions, bytes) in parts {
            let partial = A::Partial::from_bytes(bytes)?;
            read.push(Part::<A> { name, dimensions: dimensions_of::<A>(dimensions), partial });
        }
        Ok(A::finish(&params_of::<A>(params), &read))
    }
}

/// The analyses that this house knows.
pub fn known() -> &'static [&'static dyn AnyAnalysis] {
    &[&Of::<crate::bikes::BikeRides>::NEW, &Of::<crate::summary::CsvSummary>::NEW]
}

pub fn find(kind: &str) -> Option<&'static dyn AnyAnalysis> {
    known().iter().copied().find(|analysis| analysis.kind() == kind)
}
