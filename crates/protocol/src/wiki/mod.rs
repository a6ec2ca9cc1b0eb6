//! Revision histories: what is asked for, and what is kept.

mod extraction;
mod import;
mod page;
mod questions;
mod revision;

pub use extraction::{Extract, ExtractionPlace, ExtractionState, ExtractionStatus, ExtractionView};
pub use import::{ImportView, NewImport, TakeBatchQuery};
pub use page::{MetricsQuery, WikiDetail, WikiPage, WikiPageChange, WikiPageQuery, WikiView};
pub use questions::{ArticleFilters, AvgView, CountView, PipelineQuery, RevisionFilters, Shown};
pub use revision::{DiffKind, DiffPiece, DiffQuery, DiffView, ExportFormat, ExportQuery, RevisionView};
