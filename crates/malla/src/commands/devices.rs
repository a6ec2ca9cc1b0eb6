//! `malla devices`.

use clap::{Args, Subcommand};
use malla_client::Client;
use malla_protocol::{CheckQuery, CheckView, ClaimView, DeviceView, StandingView};

use crate::cli::Reach;
use crate::commands::{Limit, Usage, pages};
use crate::output::{Output, fields, or_dash};

#[derive(Debug, Args)]
pub(crate) struct Command {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    pub reach: Reach,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List the devices of your groups
    #[command(after_help = "Example:\n  malla devices list --json")]
    List,
    /// Show one device
    #[command(after_help = "Example:\n  malla devices show attic-pi")]
    Show { device: String },
    /// Give a device no more work, and take nothing from it
    #[command(after_help = "Example:\n  malla devices block attic-pi")]
    Block { device: String },
    /// Let a blocked device work again
    #[command(after_help = "Example:\n  malla devices unblock attic-pi")]
    Unblock { device: String },
    /// How far devices are believed: checked results, lies, convictions
    #[command(after_help = "Example:\n  malla devices standing")]
    Standing,
    /// List checks of what devices brought, newest first
    #[command(after_help = "Examples:\n  malla devices checks\n  malla devices checks attic-pi --limit 200")]
    Checks {
        device: Option<String>,
        #[command(flatten)]
        limit: Limit,
    },
    /// Let a convicted device in again, and give back what it lost
    #[command(after_help = "Example:\n  malla devices acquit attic-pi")]
    Acquit { device: String },
    /// Say that a result is bad: a trusted device fetches the page and decides
    #[command(after_help = "Example:\n  malla devices report 0k3xq8v2c4b6w:12        the id stands in the result")]
    Report { result: String },
}

pub(crate) async fn run(command: Command, client: &Client) -> anyhow::Result<()> {
    let mut output = Output::new(command.reach.json);
    let devices = client.devices().await?.items;
    let blocked = matches!(command.verb, Verb::Block { .. });
    match command.verb {
        Verb::List => {
            let head = ["ID", "NAME", "OWNER", "STATE", "COUNTRY", "SYSTEM", "PAGES", "PAGE MS", "LAST SEEN"];
            output.rows(&head, &devices, row)?;
            output.end("no devices: start one with `malla worker --server URL --token TOKEN`");
            Ok(())
        }
        Verb::Standing => {
            let head = ["ID", "NAME", "OWNER", "VALID", "CHECKED", "SHARE", "STRIKES", "DOUBTS", "STANDING"];
            output.rows(&head, &client.standing().await?.items, standing)?;
            output.end("no devices: start one with `malla worker --server URL --token TOKEN`");
            Ok(())
        }
        Verb::Checks { device, limit } => {
            let device = device.map(|device| find(&devices, &device).map(|found| found.id.to_string())).transpose()?;
            let (head, query) = (["ID", "KIND", "STATE", "FIRST", "SECOND", "GUILTY", "URL"], CheckQuery { device });
            let fetch = async |page| client.checks(&query, &page).await;
            pages(limit, fetch, |checks| output.rows(&head, checks, check)).await?;
            output.end("nothing was checked yet");
            Ok(())
        }
        Verb::Acquit { device } => {
            let found = find(&devices, &device)?;
            let acquitted = client.acquit_device(found.id).await?;
            Ok(output.one(&acquitted, |standing| format!("{} may work again\n", standing.name))?)
        }
        Verb::Report { result } => {
            let check = client.report_result(&result).await?;
            Ok(output.one(&check, |check| format!("check {} is under way: {}\n", check.id, check.url))?)
        }
        Verb::Show { device } => Ok(output.one(find(&devices, &device)?, describe)?),
        Verb::Block { device } | Verb::Unblock { device } => {
            let found = find(&devices, &device)?;
            Ok(output.one(&client.block_device(found.id, blocked).await?, describe)?)
        }
    }
}

fn standing(standing: &StandingView) -> Vec<String> {
    let state = match (standing.convicted, standing.checked_per_million) {
        (true, _) => "convicted",
        (_, 0) => "trusted",
        (_, 1_000_000..) => "new",
        _ => "believed",
    };
    vec![
        standing.device.to_string(),
        standing.name.clone(),
        standing.owner.clone(),
        standing.valid.to_string(),
        standing.checked.to_string(),
        format!("{:.1} %", f64::from(standing.checked_per_million) / 10_000.0),
        standing.strikes.to_string(),
        standing.doubts.to_string(),
        state.to_owned(),
    ]
}

fn check(check: &CheckView) -> Vec<String> {
    let by = |claim: &Option<ClaimView>| or_dash(claim.as_ref().map(|claim| claim.name.as_str()));
    let claims = [&check.first, &check.second];
    let guilty = claims.into_iter().flatten().find(|claim| Some(claim.device) == check.guilty);
    vec![
        check.id.clone(),
        check.kind.clone(),
        check.state.clone(),
        by(&check.first),
        by(&check.second),
        or_dash(guilty.map(|claim| claim.name.as_str())),
        check.url.clone(),
    ]
}

/// By number or by name.
fn find<'d>(devices: &'d [DeviceView], wanted: &str) -> anyhow::Result<&'d DeviceView> {
    let matching: Vec<_> =
        devices.iter().filter(|device| device.id.to_string() == wanted || device.name == wanted).collect();
    match matching[..] {
        [one] => Ok(one),
        [] => Err(Usage(format!("no device is called {wanted}: `malla devices list` shows them")).into()),
        _ => Err(Usage(format!("several devices are called {wanted}: give the number")).into()),
    }
}

fn row(device: &DeviceView) -> Vec<String> {
    vec![
        device.id.to_string(),
        device.name.clone(),
        device.owner.clone(),
        device.state.clone(),
        or_dash(device.country.as_deref()),
        device.system.clone(),
        device.tally.pages.to_string(),
        device.measures.page_ms.to_string(),
        device.seen_at.clone(),
    ]
}

fn describe(device: &DeviceView) -> String {
    let tally = &device.tally;
    fields(&[
        ("device", format!("{} ({})", device.name, device.id)),
        ("owner", device.owner.clone()),
        ("group", or_dash(device.group.as_deref())),
        ("state", device.state.clone()),
        ("system", device.system.clone()),
        ("version", device.version.clone()),
        ("hostname", device.hostname.clone()),
        ("address", device.address.clone()),
        ("country", or_dash(device.country.as_deref())),
        ("joined", device.joined_at.clone()),
        ("last seen", device.seen_at.clone()),
        ("at once", device.measures.parallel.to_string()),
        ("page", format!("{} ms", device.measures.page_ms)),
        ("pages", tally.pages.to_string()),
        (
            "by status",
            format!(
                "2xx {}, 3xx {}, 4xx {}, 5xx {}, 580 {}",
                tally.success, tally.redirect, tally.client_error, tally.server_error, tally.no_answer
            ),
        ),
        ("bytes", tally.bytes.to_string()),
        ("too late", tally.refused.to_string()),
    ])
}
