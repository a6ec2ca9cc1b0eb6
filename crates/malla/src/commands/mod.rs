//! The commands that talk to a server, and what they share: finding it, walking lists, naming wrong usage.

pub(crate) mod analyses;
pub(crate) mod audit;
pub(crate) mod backup;
mod backup_progress;
pub(crate) mod bench;
pub(crate) mod bikes;
pub(crate) mod blocklist;
pub(crate) mod cluster;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod crawl;
pub(crate) mod crawls;
pub(crate) mod devices;
pub(crate) mod fetch;
pub(crate) mod groups;
pub(crate) mod healthcheck;
pub(crate) mod lanes;
pub(crate) mod ledger;
pub(crate) mod notify;
pub(crate) mod print_config;
pub(crate) mod restore;
pub(crate) mod robots;
pub(crate) mod tasks;
pub(crate) mod tokens;
pub(crate) mod users;
pub(crate) mod watches;
pub(crate) mod wiki;
pub(crate) mod worker;

use std::io;

use anyhow::{Result, anyhow};
use clap::Args;
use malla_client::{Client, ClientOptions};
use malla_protocol::{LIMIT_MAX, Page, PageQuery};

use crate::cli::{Place, Reach, Settings};
use crate::config::{self, Config, Loaded, Sources, Wrong};
use crate::data_dir;

/// The command line asks for something that makes no sense: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub String);

/// The configuration as this command line sees it.
pub(crate) fn load(place: &Place, settings: &Settings) -> Result<Loaded, Wrong> {
    config::load(Sources::gather(place.config.as_deref(), place.flags(settings))?)
}

/// A client for the server that the flags name, or for the one on this machine.
pub(crate) fn connect(place: &Place, reach: &Reach) -> Result<Client> {
    let config = load(place, &Settings::default())?.config()?;
    Ok(Client::new(server_of(&config, reach)?)?)
}

/// The server that the flags name, or the one on this machine, and how to talk to it.
pub(crate) fn server_of(config: &Config, reach: &Reach) -> Result<ClientOptions> {
    let local = data_dir::read_server(&config.data)?;
    // A variable that is set to nothing says nothing.
    let given = |text: &&String| !text.trim().is_empty();
    let mut options = ClientOptions {
        servers: reach.server.iter().filter(given).map(|url| url.trim_end_matches('/').to_owned()).collect(),
        token: reach.token.as_ref().filter(given).cloned(),
        ca_pem: None,
    };
    let mut ca = config.trusted_ca().map(ToOwned::to_owned);
    match local {
        None if options.servers.is_empty() => {
            let data = config.data.display();
            return Err(anyhow!(
                "no server runs on {data}: start one with `malla up --data {data}`, or name one with --server"
            ));
        }
        // The admin's token goes to the server that it was made by and to no other.
        Some(local) if options.servers.is_empty() || options.servers == [local.url.as_str()] => {
            if options.token.is_none() {
                options.token = data_dir::read_admin_token(&config.data)?;
            }
            options.servers = vec![local.url];
            ca = local.ca.or(ca);
        }
        _ => {}
    }
    if let Some(ca) = ca {
        let pem = std::fs::read(&ca).map_err(|error| anyhow!("cannot read {}: {error}", ca.display()))?;
        options.ca_pem = Some(pem);
    }
    Ok(options)
}

/// How much of a list.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Limit {
    /// How many at most; 0 for all
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u64,
}

/// Walks a list page by page until its end or the limit.
pub(crate) async fn pages<T>(
    limit: Limit,
    fetch: impl AsyncFn(PageQuery) -> malla_client::Result<Page<T>>,
    mut show: impl FnMut(&[T]) -> io::Result<()>,
) -> Result<()> {
    let mut left = if limit.limit == 0 { u64::MAX } else { limit.limit };
    let mut cursor = None;
    while left > 0 {
        let size = left.min(LIMIT_MAX.into());
        let page = fetch(PageQuery { limit: u32::try_from(size).ok(), cursor }).await?;
        left = left.saturating_sub(page.items.len() as u64);
        show(&page.items)?;
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    Ok(())
}

pub(crate) fn parse_role(text: &str) -> Result<malla_protocol::Role, String> {
    serde_json::from_value(text.into()).map_err(|_| "roles are readonly, user and admin".into())
}
