//! Analyses: begun, fed, completed, asked for their answers. [`BikeRides`](crate::BikeRides) does all of it by itself.

use bytes::Bytes;
use malla_protocol::{Analysis, AnswerFormat, AnswerQuery, Complete, NewAnalysis, Page, PageQuery, TakenBatch};
use reqwest::Method;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName};
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::transport::Client;

const ROOT: [&str; 3] = ["api", "v1", "analyses"];
const CSV: (HeaderName, &str) = (CONTENT_TYPE, "text/csv");

/// How a batch is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Plain,
    Gzip,
    Zstd,
}

impl Client {
    /// Begins an analysis.
    pub async fn begin_analysis(&self, new: &NewAnalysis) -> Result<Analysis> {
        self.write(Method::POST, &ROOT, new).await
    }

    pub async fn analysis(&self, id: &str) -> Result<Analysis> {
        self.get(&of(id), &()).await
    }

    /// Newest first.
    pub async fn analyses(&self, page: &PageQuery) -> Result<Page<Analysis>> {
        self.get(&ROOT, page).await
    }

    /// Sends a batch. When this returns, it is safe. Sent twice, it counts once, so a [patient](Client::patient) client
    /// sends it again after a broken connection, and when the server says that it cannot take it now.
    pub async fn send_batch(
        &self,
        id: &str,
        input: &str,
        city: &str,
        seq: u64,
        packed: Bytes,
        encoding: Encoding,
    ) -> Result<()> {
        let seq = seq.to_string();
        let path = [ROOT[0], ROOT[1], ROOT[2], id, input, city, &seq];
        match encoding {
            Encoding::Plain => self.put_bytes(&path, &[], &[CSV], &packed).await,
            Encoding::Gzip => self.put_bytes(&path, &[], &[CSV, (CONTENT_ENCODING, "gzip")], &packed).await,
            Encoding::Zstd => self.put_bytes(&path, &[], &[CSV, (CONTENT_ENCODING, "zstd")], &packed).await,
        }
    }

    /// The batches that are safe, by table, city and number.
    pub async fn batches_taken(&self, id: &str, page: &PageQuery) -> Result<Page<TakenBatch>> {
        self.get(&with(id, "batches"), page).await
    }

    /// All batches were sent: so many.
    pub async fn complete_analysis(&self, id: &str, batches: u64) -> Result<Analysis> {
        self.write(Method::POST, &with(id, "complete"), &Complete { batches }).await
    }

    /// An answer, as [`Rain`](malla_protocol::Rain) and the like, or as any JSON. Until it is ready, the problem's code is
    /// `not_available`.
    pub async fn answer<T: DeserializeOwned>(&self, id: &str, name: &str) -> Result<T> {
        read(&self.answer_bytes(id, name, &AnswerQuery::default()).await?)
    }

    /// An answer from what is known so far.
    pub async fn answer_so_far<T: DeserializeOwned>(&self, id: &str, name: &str) -> Result<T> {
        read(&self.answer_bytes(id, name, &AnswerQuery { partial: Some(true), format: None }).await?)
    }

    /// An answer as CSV.
    pub async fn answer_csv(&self, id: &str, name: &str) -> Result<Vec<u8>> {
        self.answer_bytes(id, name, &AnswerQuery { partial: None, format: Some(AnswerFormat::Csv) }).await
    }

    /// The bytes of an answer as the server has them.
    pub async fn answer_bytes(&self, id: &str, name: &str, query: &AnswerQuery) -> Result<Vec<u8>> {
        self.get_raw(&[ROOT[0], ROOT[1], ROOT[2], id, "results", name], query).await
    }

    /// Ends an analysis that is under way; forgets one that is over, answers included.
    pub async fn cancel_analysis(&self, id: &str) -> Result<()> {
        self.delete(&of(id)).await
    }
}

fn of(id: &str) -> [&str; 4] {
    [ROOT[0], ROOT[1], ROOT[2], id]
}

fn with<'a>(id: &'a str, what: &'a str) -> [&'a str; 5] {
    [ROOT[0], ROOT[1], ROOT[2], id, what]
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes)
        .map_err(|error| Error::Protocol(format!("the answer is not of the expected form: {error}")))
}
