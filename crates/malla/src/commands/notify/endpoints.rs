//! `malla notify endpoints`.

use clap::{Args, Subcommand};
use malla_client::Client;
use malla_protocol::{EndpointChange, EndpointView, MqttSettings, NewEndpoint};

use super::clear::Clear;
use super::yes_or_dash;
use crate::commands::{Limit, pages};
use crate::output::{Output, fields, or_dash, talk, time};

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// List endpoints
    #[command(after_help = "Example:\n  malla notify endpoints list")]
    List(Limit),
    /// Make an endpoint; events are posted to /in/NAME
    #[command(
        after_help = "Examples:\n  malla notify endpoints create orders\n  malla notify endpoints create orders --require-token s3cret --max-body 65536\n  malla notify endpoints create sensors --mqtt-broker mqtt://broker:1883 --mqtt-topic 'plant/+/temperature'"
    )]
    Create(Create),
    /// Show one endpoint
    #[command(after_help = "Example:\n  malla notify endpoints show orders")]
    Show { name: String },
    /// Change an endpoint's options
    #[command(
        after_help = "Examples:\n  malla notify endpoints change orders --retention-days 30\n  malla notify endpoints change orders --clear token,retention_days"
    )]
    Change(Change),
    /// Delete an endpoint that has no subscriptions
    #[command(after_help = "Example:\n  malla notify endpoints delete orders")]
    Delete { name: String },
}

#[derive(Debug, Args)]
pub(super) struct Create {
    name: String,
    /// The group that owns it
    #[arg(long)]
    group: Option<String>,
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, Args)]
pub(super) struct Change {
    name: String,
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    clear: Clear,
}

#[derive(Debug, Args)]
struct Options {
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Bytes of a body at most
    #[arg(long, value_name = "BYTES")]
    max_body: Option<u64>,
    /// A token that publishers must send as a bearer
    #[arg(long, value_name = "TOKEN")]
    require_token: Option<String>,
    /// A secret that publishers must sign with: whsec_… or, for ed25519, whpk_…
    #[arg(long, value_name = "SECRET")]
    require_signature: Option<String>,
    /// How long events are kept
    #[arg(long, value_name = "DAYS")]
    retention_days: Option<u32>,
    /// Listen at this broker: mqtt://HOST:1883 or mqtts://HOST:8883
    #[arg(long, value_name = "URL")]
    mqtt_broker: Option<String>,
    /// The topics to listen to; + stands for a level, # for the rest
    #[arg(long, value_name = "TOPIC")]
    mqtt_topic: Option<String>,
    #[arg(long, value_name = "NAME")]
    mqtt_username: Option<String>,
    #[arg(long, value_name = "PASSWORD")]
    mqtt_password: Option<String>,
}

impl Options {
    fn mqtt(&self) -> Option<MqttSettings> {
        let settings = MqttSettings {
            broker: self.mqtt_broker.clone(),
            topic: self.mqtt_topic.clone(),
            username: self.mqtt_username.clone().map(Some),
            password: self.mqtt_password.clone().map(Some),
        };
        (settings != MqttSettings::default()).then_some(settings)
    }

    fn endpoint(self, name: String, group: Option<String>) -> NewEndpoint {
        let mqtt = self.mqtt();
        NewEndpoint {
            name,
            group,
            protocol: None,
            description: self.description,
            max_body: self.max_body,
            token: self.require_token,
            signature_secret: self.require_signature,
            retention_days: self.retention_days,
            mqtt,
        }
    }
}

pub(super) async fn run(verb: Verb, client: &Client, output: &mut Output) -> anyhow::Result<()> {
    let endpoint = match verb {
        Verb::List(limit) => return list(limit, client, output).await,
        Verb::Delete { name } => {
            client.delete_endpoint(&name).await?;
            talk(&format!("endpoint {name} is deleted"));
            return Ok(());
        }
        Verb::Show { name } => client.endpoint(&name).await?,
        Verb::Create(Create { name, group, options }) => client.create_endpoint(&options.endpoint(name, group)).await?,
        Verb::Change(Change { name, options, clear }) => {
            let change = clear.apply(EndpointChange::from(options.endpoint(name.clone(), None)))?;
            client.change_endpoint(&name, &change).await?
        }
    };
    Ok(output.one(&endpoint, describe)?)
}

async fn list(limit: Limit, client: &Client, output: &mut Output) -> anyhow::Result<()> {
    let head = ["NAME", "GROUP", "PROTOCOL", "MAX BODY", "TOKEN", "SIGNATURE", "DESCRIPTION"];
    let show = |endpoints: &[EndpointView]| output.rows(&head, endpoints, row);
    pages(limit, async |page| client.endpoints(&page).await, show).await?;
    output.end("no endpoints yet: make one with `malla notify endpoints create NAME`");
    Ok(())
}

fn row(endpoint: &EndpointView) -> Vec<String> {
    vec![
        endpoint.name.clone(),
        or_dash(endpoint.group.as_deref()),
        endpoint.protocol.to_string(),
        endpoint.max_body.to_string(),
        yes_or_dash(endpoint.needs_token),
        yes_or_dash(endpoint.needs_signature),
        endpoint.description.clone(),
    ]
}

fn describe(endpoint: &EndpointView) -> String {
    let mut pairs = vec![
        ("endpoint", endpoint.name.clone()),
        ("group", or_dash(endpoint.group.as_deref())),
        ("protocol", endpoint.protocol.to_string()),
        ("path", endpoint.path.clone()),
        ("max body", format!("{} bytes", endpoint.max_body)),
        ("needs token", yes_or_dash(endpoint.needs_token)),
        ("needs signature", yes_or_dash(endpoint.needs_signature)),
        ("keeps events", endpoint.retention_days.map_or("as long as the house".into(), |days| format!("{days} days"))),
    ];
    if let Some(mqtt) = &endpoint.mqtt {
        pairs.push(("broker", mqtt.broker.clone()));
        pairs.push(("topic", mqtt.topic.clone()));
    }
    if !endpoint.description.is_empty() {
        pairs.push(("description", endpoint.description.clone()));
    }
    pairs.push(("created", time(&endpoint.created_at)));
    fields(&pairs)
}
