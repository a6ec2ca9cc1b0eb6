//! `malla devices`.

use clap::{Args, Subcommand};
use malla_client::Client;
use malla_protocol::DeviceView;

use crate::cli::Reach;
use crate::commands::Usage;
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
        Verb::Show { device } => Ok(output.one(find(&devices, &device)?, describe)?),
        Verb::Block { device } | Verb::Unblock { device } => {
            let found = find(&devices, &device)?;
            Ok(output.one(&client.block_device(found.id, blocked).await?, describe)?)
        }
    }
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
