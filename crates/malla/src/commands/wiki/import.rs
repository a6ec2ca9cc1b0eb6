//! `malla wiki import`: reads and cuts a dump here, and sends it batch by batch. Where it is cut depends on the dump alone, so
//! an import that was broken off goes on with the batch that the server lacks.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use malla_client::Client;
use malla_protocol::{ImportView, NewImport};
use malla_wiki::dump::{Batch, Batches, DumpSite, Reader};
use tokio::sync::mpsc::{Sender, channel};

use super::dump_file::DumpFile;
use crate::commands::{Limit, Usage, pages};
use crate::output::{Output, fields, talk, time};

/// A server that is gone is waited for this long.
const PATIENCE: Duration = Duration::from_secs(300);
/// Batches that are cut ahead of the one that is sent.
const AHEAD: usize = 2;

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// A dump: plain, or packed with bzip2, gzip or zstd
    #[arg(value_name = "DUMP")]
    dump: PathBuf,
    /// The number of the wiki that it is of [default: as the dump says]
    #[arg(long, value_name = "N", conflicts_with_all = ["api", "name", "group"])]
    wiki: Option<i64>,
    /// The wiki's api.php
    #[arg(long, value_name = "URL")]
    api: Option<String>,
    /// What the wiki is called, for one that has no address
    #[arg(long, conflicts_with = "api")]
    name: Option<String>,
    #[arg(long, value_name = "L")]
    locale: Option<String>,
    /// The group that owns the wiki
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
}

impl Import {
    /// What is said on the command line counts more than what the dump says.
    fn asked(&self, dump: String, site: Option<&DumpSite>) -> Result<NewImport> {
        let said = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let named = self.wiki.is_some() || self.api.is_some() || self.name.is_some();
        let url = site.and_then(|site| said(&site.base)).filter(|_| !named);
        let name = self.name.clone().or_else(|| site.and_then(|site| said(&site.name)));
        if !named && url.is_none() && name.is_none() {
            let text = "the dump does not say which wiki it is of: give --wiki, --api, or --name and --locale";
            return Err(Usage(text.into()).into());
        }
        Ok(NewImport {
            dump,
            wiki: self.wiki,
            api: self.api.clone(),
            url,
            name,
            locale: self.locale.clone().or_else(|| site.and_then(|site| said(&site.language))),
            about: site.map(DumpSite::about),
            group: self.group.clone(),
        })
    }
}

pub(super) async fn run(client: &Client, import: Import, output: &Output) -> Result<()> {
    let client = client.patient(PATIENCE);
    let file = DumpFile::new(&import.dump)?;
    let site = file.site()?;
    let begun = client.begin_import(&import.asked(file.name(), site.as_ref())?).await?;
    match (begun.finished, begun.batches) {
        (true, _) => talk("this dump was imported before"),
        (false, 0) => {}
        (false, taken) => talk(&format!("{taken} batches were taken in before: going on after them")),
    }
    if !begun.finished {
        let bar = progress(file.bytes);
        let sent = send(&client, &begun, file, &bar).await;
        bar.finish_and_clear();
        sent?;
    }
    Ok(output.one(&client.import(&begun.id).await?, describe)?)
}

fn progress(bytes: u64) -> ProgressBar {
    let bar = ProgressBar::new(bytes);
    let style = ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}

/// A batch on its way.
struct Packed {
    number: u64,
    bytes: Bytes,
    last: bool,
}

async fn send(client: &Client, begun: &ImportView, file: DumpFile, bar: &ProgressBar) -> Result<()> {
    let (batches, mut to_send) = channel(AHEAD);
    let (taken, bar) = (begun.batches, bar.clone());
    let reading = tokio::task::spawn_blocking(move || read(&file, taken, &bar, &batches));
    while let Some(Packed { number, bytes, last }) = to_send.recv().await {
        client
            .send_dump_batch(&begun.id, number, last, &bytes)
            .await
            .with_context(|| format!("batch {number} was not taken in; the same command goes on with it"))?;
    }
    reading.await?
}

/// Cuts the dump, and packs the batches from `taken` on.
fn read(file: &DumpFile, taken: u64, bar: &ProgressBar, batches: &Sender<Packed>) -> Result<()> {
    let mut cut = Batches::new(Reader::new(file.open(bar)?));
    let mut next = cut.next().transpose()?.or_else(|| Some(Batch::default()));
    let mut number = 0;
    while let Some(batch) = next {
        let after = cut.next().transpose();
        if number >= taken {
            // Where a dump breaks off is not its end.
            let last = matches!(after, Ok(None)) && !batch.cut;
            if batches.blocking_send(Packed { number, bytes: batch.encode()?.into(), last }).is_err() {
                return Ok(());
            }
        }
        next = after?;
        number += 1;
    }
    Ok(())
}

fn describe(import: &ImportView) -> String {
    fields(&[
        ("import", import.id.clone()),
        ("dump", import.dump.clone()),
        ("wiki", import.wiki.to_string()),
        ("pages", import.pages.to_string()),
        ("revisions", import.revisions.to_string()),
        ("batches", import.batches.to_string()),
        ("finished", if import.finished { "yes" } else { "no" }.to_owned()),
    ])
}

pub(super) async fn list(client: &Client, limit: Limit, mut output: Output) -> Result<()> {
    let head = ["ID", "DUMP", "WIKI", "PAGES", "REVISIONS", "FINISHED", "BEGUN"];
    pages(limit, async |page| client.imports(&page).await, |some| output.rows(&head, some, row)).await?;
    output.end("no imports: `malla wiki import DUMP` begins one");
    Ok(())
}

fn row(import: &ImportView) -> Vec<String> {
    vec![
        import.id.clone(),
        import.dump.clone(),
        import.wiki.to_string(),
        import.pages.to_string(),
        import.revisions.to_string(),
        if import.finished { "yes" } else { "no" }.to_owned(),
        time(&import.begun_at),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn import() -> Import {
        Import { dump: "d.xml".into(), wiki: None, api: None, name: None, locale: None, group: None }
    }

    fn site() -> DumpSite {
        let base = "https://de.wikipedia.org/wiki/Seite".into();
        DumpSite { name: "Wikipedia".into(), base, language: "de".into(), ..DumpSite::default() }
    }

    #[test]
    fn the_dump_says_which_wiki_it_is_of_unless_somebody_does() {
        let asked = |import: Import, site: Option<&DumpSite>| import.asked("d".into(), site);
        let new = asked(import(), Some(&site())).expect("known");
        assert_eq!(
            (new.url.as_deref(), new.locale.as_deref()),
            (Some("https://de.wikipedia.org/wiki/Seite"), Some("de"))
        );
        let new = asked(Import { name: Some("Ours".into()), ..import() }, Some(&site())).expect("known");
        assert_eq!((new.url, new.name.as_deref()), (None, Some("Ours")));
        let new = asked(Import { api: Some("http://a/api.php".into()), ..import() }, None).expect("known");
        assert_eq!((new.url, new.api.as_deref()), (None, Some("http://a/api.php")));
        let unknown = asked(import(), None).expect_err("refused");
        assert!(unknown.is::<Usage>() && unknown.to_string().contains("--name and --locale"), "{unknown}");
    }
}
