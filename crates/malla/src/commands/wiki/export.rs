//! `malla wiki export`: the history of a page, as it comes from the server.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use malla_client::Client;
use malla_protocol::{ExportFormat, ExportQuery};

use super::find::Which;

#[derive(Debug, Args)]
pub(crate) struct Export {
    #[command(flatten)]
    which: Which,
    /// As CSV, without texts
    #[arg(long, conflicts_with = "text")]
    csv: bool,
    /// With the text of each revision, as "*"
    #[arg(long)]
    text: bool,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) async fn run(client: &Client, export: Export) -> Result<()> {
    let page = export.which.find(client).await?;
    let format = if export.csv { ExportFormat::Csv } else { ExportFormat::Json };
    let query = ExportQuery { format: Some(format), text: export.text.then_some(true) };
    let mut response = client.export_page(page.wiki, page.pageid, &query).await?;
    let mut out: Box<dyn Write> = match &export.out {
        Some(path) => {
            let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
            Box::new(BufWriter::new(file))
        }
        None => Box::new(std::io::stdout().lock()),
    };
    while let Some(chunk) = response.chunk().await.context("the export broke off: try it again")? {
        out.write_all(&chunk)?;
    }
    Ok(out.flush()?)
}
