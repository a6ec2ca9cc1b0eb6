//! `malla tasks tail`: prints tasks as they come and as their states change.

use anyhow::bail;
use futures_util::StreamExt as _;
use malla_client::Client;
use malla_protocol::TaskQuery;

use super::{Filters, HEAD, row};
use crate::output::Output;

pub(super) async fn run(filters: Filters, client: &Client, output: &mut Output) -> anyhow::Result<()> {
    let mut tail = client.tail(&TaskQuery::from(filters)).await?;
    while let Some(task) = tail.next().await {
        output.rows(&HEAD, &[task?], row)?;
    }
    bail!("the server ended the view: it is stopping, or the token is no longer good");
}
