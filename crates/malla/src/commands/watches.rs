//! `malla watches`: pages that are fetched again and again, and what changed on them.

use clap::{Args, Subcommand};
use malla_client::Client;
use malla_protocol::{NewWatch, PageDiffQuery, PageVersion, WatchChange, WatchView};

use crate::cli::Reach;
use crate::commands::{Limit, pages};
use crate::output::{Output, fields, or_dash, talk, time, time_or_dash};

#[derive(Debug, Args)]
pub(crate) struct Command {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    pub reach: Reach,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Watch a page: fetch it as often as it changes, keep its versions, tell subscribers
    #[command(
        after_help = "Examples:\n  malla watches add https://example.org/news\n  malla watches add https://example.org/ --selector '#price' --ignore '[0-9]{4}-[0-9]{2}-[0-9]{2}'"
    )]
    Add(Add),
    /// List watches, newest first
    #[command(after_help = "Example:\n  malla watches list")]
    List(Limit),
    /// Show one
    #[command(after_help = "Example:\n  malla watches show 06a2vb2dr0000")]
    Show { id: String },
    /// Do not visit it until it goes on
    #[command(after_help = "Example:\n  malla watches pause 06a2vb2dr0000")]
    Pause { id: String },
    /// Let one go on
    #[command(after_help = "Example:\n  malla watches resume 06a2vb2dr0000")]
    Resume { id: String },
    /// End one and forget its versions
    #[command(after_help = "Example:\n  malla watches delete 06a2vb2dr0000")]
    Delete { id: String },
    /// List the versions of a page, newest first
    #[command(after_help = "Example:\n  malla watches versions 06a2vb2dr0000")]
    Versions {
        id: String,
        #[command(flatten)]
        limit: Limit,
    },
    /// Print the text of a version
    #[command(after_help = "Example:\n  malla watches text 06a2vb2dr0000 3")]
    Text { id: String, version: u64 },
    /// What differs between two versions; the last two if not said
    #[command(
        after_help = "Examples:\n  malla watches diff 06a2vb2dr0000\n  malla watches diff 06a2vb2dr0000 --from 1 --to 3"
    )]
    Diff {
        id: String,
        #[arg(long, value_name = "N")]
        from: Option<u64>,
        #[arg(long, value_name = "N")]
        to: Option<u64>,
    },
}

#[derive(Debug, Args)]
struct Add {
    url: String,
    /// Only the parts of the page that this CSS selector picks
    #[arg(long, value_name = "CSS")]
    selector: Option<String>,
    /// What makes no difference, as a regular expression; may be given several times
    #[arg(long, value_name = "REGEX")]
    ignore: Vec<String>,
    /// Seconds between two visits at least [default: 300]
    #[arg(long, value_name = "S")]
    min: Option<u64>,
    /// Seconds between two visits at most [default: a week]
    #[arg(long, value_name = "S")]
    max: Option<u64>,
    /// Versions that are kept [default: 50]
    #[arg(long, value_name = "N")]
    versions: Option<u64>,
    /// The group that owns the watch
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
}

pub(crate) async fn run(command: Command, client: &Client) -> anyhow::Result<()> {
    let json = command.reach.json;
    let mut output = Output::new(json);
    let state = |state: &str| WatchChange { state: Some(state.to_owned()), ..WatchChange::default() };
    let shown = match command.verb {
        Verb::Add(Add { url, selector, ignore, min, max, versions, group }) => {
            let ignore = (!ignore.is_empty()).then_some(ignore);
            let watch = NewWatch {
                url,
                selector,
                ignore,
                interval_min_s: min,
                interval_max_s: max,
                versions,
                bytes: None,
                group,
            };
            client.create_watch(&watch).await?
        }
        Verb::List(limit) => {
            let head = ["ID", "STATE", "URL", "VERSION", "CHANGES", "VISITED", "NEXT"];
            pages(limit, async |page| client.watches(&page).await, |some| output.rows(&head, some, row)).await?;
            output.end("no watches: `malla watches add URL` makes one");
            return Ok(());
        }
        Verb::Versions { id, limit } => {
            let head = ["VERSION", "AT", "STATUS", "BYTES", "URL"];
            let list = async |page| client.versions(&id, &page).await;
            pages(limit, list, |some| output.rows(&head, some, version_row)).await?;
            output.end("no version yet: the page is not visited, or could not be read");
            return Ok(());
        }
        Verb::Text { id, version } => {
            let version = client.version(&id, version).await?;
            return Ok(output.one(&version, |version| version.text.clone().unwrap_or_default())?);
        }
        Verb::Diff { id, from, to } => {
            let diff = client.diff(&id, &PageDiffQuery { from, to }).await?;
            return Ok(output.one(&diff, |diff| {
                format!(
                    "from version {} to {} ({:.0} % alike)\n{}",
                    diff.from,
                    diff.to,
                    diff.similarity * 100.0,
                    diff.diff
                )
            })?);
        }
        Verb::Delete { id } => {
            client.delete_watch(&id).await?;
            if !json {
                talk(&format!("the watch {id} is ended"));
            }
            return Ok(());
        }
        Verb::Show { id } => client.watch(&id).await?,
        Verb::Pause { id } => client.change_watch(&id, &state("paused")).await?,
        Verb::Resume { id } => client.change_watch(&id, &state("running")).await?,
    };
    Ok(output.one(&shown, describe)?)
}

fn row(watch: &WatchView) -> Vec<String> {
    vec![
        watch.id.clone(),
        watch.state.clone(),
        watch.url.clone(),
        watch.version.to_string(),
        watch.changes.to_string(),
        time_or_dash(watch.visited_at.as_deref()),
        time_or_dash(watch.next_at.as_deref()),
    ]
}

fn version_row(version: &PageVersion) -> Vec<String> {
    vec![
        version.version.to_string(),
        time(&version.at),
        version.status.to_string(),
        version.bytes.to_string(),
        version.final_url.clone(),
    ]
}

fn describe(watch: &WatchView) -> String {
    fields(&[
        ("watch", watch.id.clone()),
        ("state", watch.state.clone()),
        ("URL", watch.url.clone()),
        ("selector", or_dash(watch.selector.as_deref())),
        ("ignores", or_dash((!watch.ignore.is_empty()).then(|| watch.ignore.join(" ")).as_deref())),
        ("group", or_dash(watch.group.as_deref())),
        ("interval", format!("{} s to {} s", watch.interval_min_s, watch.interval_max_s)),
        ("visits", format!("{}, {} changes ({} expected a day)", watch.visits, watch.changes, watch.changes_per_day)),
        ("version", watch.version.to_string()),
        ("trouble", or_dash(watch.trouble.as_deref().or(watch.note.as_deref()))),
        ("visited", time_or_dash(watch.visited_at.as_deref())),
        ("changed", time_or_dash(watch.changed_at.as_deref())),
        ("next visit", time_or_dash(watch.next_at.as_deref())),
    ])
}
