//! `malla blocklist`.

use clap::{Args, Subcommand};
use malla_client::Client;
use malla_protocol::{BlockSite, BlockedView};

use crate::cli::Reach;
use crate::output::{Output, or_dash, talk};

#[derive(Debug, Args)]
pub(crate) struct Command {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    pub reach: Reach,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List the sites that are never fetched
    #[command(after_help = "Example:\n  malla blocklist list --json")]
    List,
    /// Never fetch a site again; what waits there ends with the reason
    #[command(
        after_help = "Examples:\n  malla blocklist add example.org --why 'not ours to fetch'\n  malla blocklist add example.net/private --contact webmaster@example.net"
    )]
    Add {
        /// A host, with all below it, or the beginning of a path
        site: String,
        /// Told to whoever asks for a page there
        #[arg(long, default_value = "")]
        why: String,
        /// The owner of the site, who asked for it
        #[arg(long)]
        contact: Option<String>,
    },
    /// Fetch a site again
    #[command(after_help = "Example:\n  malla blocklist remove example.org")]
    Remove { site: String },
}

pub(crate) async fn run(command: Command, client: &Client) -> anyhow::Result<()> {
    let mut output = Output::new(command.reach.json);
    match command.verb {
        Verb::List => {
            output.rows(&["SITE", "WHY", "OWNER", "BY", "SINCE"], &client.blocked_sites().await?.items, row)?;
            output.end("no site is blocked");
        }
        Verb::Add { site, why, contact } => {
            let made = client.block_site(&BlockSite { site, why, contact }).await?;
            output.one(&made, |made| format!("{} is not fetched any more\n", made.site))?;
        }
        Verb::Remove { site } => {
            client.unblock_site(&site).await?;
            talk(&format!("{site} is fetched again"));
        }
    }
    Ok(())
}

fn row(blocked: &BlockedView) -> Vec<String> {
    vec![
        blocked.site.clone(),
        blocked.why.clone(),
        or_dash(blocked.contact.as_deref()),
        blocked.by.clone(),
        or_dash(blocked.at.as_deref()),
    ]
}
