//! `malla notify alerts`.

use clap::{ArgGroup, Args, Subcommand};
use malla_client::Client;
use malla_protocol::{AlertChange, AlertChannel, AlertChannelView, AlertRule, AlertView, NewAlert};

use super::yes_or_dash;
use crate::commands::{Limit, Usage, pages};
use crate::output::{Output, fields, or_dash, talk, time, time_or_dash};

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// List alerts
    #[command(after_help = "Example:\n  malla notify alerts list")]
    List(Limit),
    /// Make an alert
    #[command(
        after_help = "Examples:\n  malla notify alerts create failing --failures 5 --window-s 300 --email ana@example.org\n  malla notify alerts create late --subscription billing --older-than-s 600 --webhook https://example.org/alerts\n  malla notify alerts create stuck --stuck-s 900 --email ana@example.org --quiet-s 7200"
    )]
    Create(Create),
    /// Show one alert
    #[command(after_help = "Example:\n  malla notify alerts show failing")]
    Show { name: String },
    /// Change an alert's rule, addresses or quiet period, or switch it on or off
    #[command(
        after_help = "Examples:\n  malla notify alerts change failing --disable\n  malla notify alerts change failing --failures 20 --window-s 600"
    )]
    Change(Change),
    /// Delete an alert
    #[command(after_help = "Example:\n  malla notify alerts delete failing")]
    Delete { name: String },
    /// Send a test notice to every address of an alert
    #[command(after_help = "Example:\n  malla notify alerts test failing")]
    Test { name: String },
}

#[derive(Debug, Args)]
pub(super) struct Create {
    name: String,
    /// The group that owns it, whose subscriptions it looks at
    #[arg(long)]
    group: Option<String>,
    #[command(flatten)]
    rule: RuleFlags,
    #[command(flatten)]
    to: ChannelFlags,
    /// After it fired, it does not fire again for this long
    #[arg(long, value_name = "SECONDS")]
    quiet_s: Option<u64>,
    /// Make it, but do not look yet
    #[arg(long)]
    disabled: bool,
}

#[derive(Debug, Args)]
pub(super) struct Change {
    name: String,
    #[command(flatten)]
    rule: RuleFlags,
    #[command(flatten)]
    to: ChannelFlags,
    /// After it fired, it does not fire again for this long
    #[arg(long, value_name = "SECONDS")]
    quiet_s: Option<u64>,
    #[arg(long, conflicts_with = "disable")]
    enable: bool,
    #[arg(long)]
    disable: bool,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("rule").args(["failures", "older_than_s", "stuck_s"]))]
struct RuleFlags {
    /// Look at this subscription only
    #[arg(long, value_name = "NAME", requires = "rule")]
    subscription: Option<String>,
    /// Fire when so many attempts fail within --window-s
    #[arg(long, value_name = "COUNT", requires = "window_s")]
    failures: Option<u64>,
    /// The time in which failures are counted
    #[arg(long, value_name = "SECONDS", requires = "failures")]
    window_s: Option<u64>,
    /// Fire when a notification has been due for longer than this
    #[arg(long, value_name = "SECONDS")]
    older_than_s: Option<u64>,
    /// Fire when notifications wait and no attempt has ended for this long
    #[arg(long, value_name = "SECONDS")]
    stuck_s: Option<u64>,
}

impl RuleFlags {
    fn rule(self) -> Option<AlertRule> {
        let subscription = self.subscription;
        match (self.failures, self.older_than_s, self.stuck_s) {
            (Some(count), ..) => {
                Some(AlertRule::Failures { subscription, count, window_s: self.window_s.unwrap_or_default() })
            }
            (_, Some(older_than_s), _) => Some(AlertRule::Backlog { subscription, older_than_s }),
            (_, _, Some(for_s)) => Some(AlertRule::Stuck { subscription, for_s }),
            (None, None, None) => None,
        }
    }
}

#[derive(Debug, Args)]
struct ChannelFlags {
    /// Send notices to this address; may be given several times
    #[arg(long, value_name = "ADDRESS")]
    email: Vec<String>,
    /// Post notices to this address; may be given several times
    #[arg(long, value_name = "URL")]
    webhook: Vec<String>,
    /// Sign what is posted with this: whsec_… or, for ed25519, whsk_…
    #[arg(long, value_name = "SECRET", requires = "webhook")]
    secret: Option<String>,
}

impl ChannelFlags {
    fn channels(self) -> Vec<AlertChannel> {
        let secret = self.secret.map(Some);
        let webhook = |url| AlertChannel::Webhook { url, secret: secret.clone() };
        let emails = self.email.into_iter().map(|to| AlertChannel::Email { to });
        emails.chain(self.webhook.into_iter().map(webhook)).collect()
    }
}

pub(super) async fn run(verb: Verb, client: &Client, output: &mut Output) -> anyhow::Result<()> {
    match verb {
        Verb::List(limit) => list(limit, client, output).await,
        Verb::Create(create) => {
            let rule = create.rule.rule().ok_or_else(|| {
                Usage("say when it fires: --failures and --window-s, --older-than-s, or --stuck-s".into())
            })?;
            let Create { name, group, to, quiet_s, disabled, .. } = create;
            let enabled = disabled.then_some(false);
            let new = NewAlert { name, group, rule, to: to.channels(), quiet_s, enabled };
            Ok(output.one(&client.create_alert(&new).await?, text)?)
        }
        Verb::Show { name } => Ok(output.one(&client.alert(&name).await?, text)?),
        Verb::Change(change) => {
            let Change { name, rule, to, quiet_s, enable, disable } = change;
            let to = Some(to.channels()).filter(|to| !to.is_empty());
            let enabled = (enable || disable).then_some(enable);
            let change = AlertChange { rule: rule.rule(), to, quiet_s: quiet_s.map(Some), enabled };
            if change == AlertChange::default() {
                return Err(Usage("say what to change: --help lists the flags".into()).into());
            }
            Ok(output.one(&client.change_alert(&name, &change).await?, text)?)
        }
        Verb::Delete { name } => {
            client.delete_alert(&name).await?;
            talk(&format!("alert {name} is deleted"));
            Ok(())
        }
        Verb::Test { name } => {
            let tested = client.test_alert(&name).await?;
            Ok(output.one(&tested, |tested| {
                format!("on its way; `malla tasks show` tells more of {}", tested.tasks.join(", "))
            })?)
        }
    }
}

async fn list(limit: Limit, client: &Client, output: &mut Output) -> anyhow::Result<()> {
    let head = ["NAME", "GROUP", "RULE", "TO", "ENABLED", "FIRING", "LAST FIRED"];
    let fetch = async |page| client.alerts(&page).await;
    pages(limit, fetch, |alerts| output.rows(&head, alerts, row)).await?;
    output.end("there are no alerts");
    Ok(())
}

fn row(alert: &AlertView) -> Vec<String> {
    vec![
        alert.name.clone(),
        or_dash(alert.group.as_deref()),
        rule(&alert.rule),
        places(alert).join(", "),
        yes_or_dash(alert.enabled),
        firing(alert),
        time_or_dash(alert.last_fired_at.as_deref()),
    ]
}

fn text(alert: &AlertView) -> String {
    let mut pairs = vec![
        ("name", alert.name.clone()),
        ("group", or_dash(alert.group.as_deref())),
        ("rule", rule(&alert.rule)),
        ("quiet for", format!("{} s", alert.quiet_s)),
        ("enabled", yes_or_dash(alert.enabled)),
        ("firing", firing(alert)),
        ("last fired", time_or_dash(alert.last_fired_at.as_deref())),
        ("created", time(&alert.created_at)),
    ];
    pairs.extend(places(alert).into_iter().map(|place| ("to", place)));
    fields(&pairs)
}

fn rule(rule: &AlertRule) -> String {
    let of = |name: &Option<String>| name.as_ref().map_or(String::new(), |name| format!(" of {name}"));
    match rule {
        AlertRule::Failures { subscription, count, window_s } => {
            format!("{count} failures{} in {window_s} s", of(subscription))
        }
        AlertRule::Backlog { subscription, older_than_s } => {
            format!("backlog{} older than {older_than_s} s", of(subscription))
        }
        AlertRule::Stuck { subscription, for_s } => format!("stuck{} for {for_s} s", of(subscription)),
    }
}

fn places(alert: &AlertView) -> Vec<String> {
    let place = |channel: &AlertChannelView| match channel {
        AlertChannelView::Email { to } => to.clone(),
        AlertChannelView::Webhook { url, signed: true } => format!("{url} (signed)"),
        AlertChannelView::Webhook { url, .. } => url.clone(),
    };
    alert.to.iter().map(place).collect()
}

fn firing(alert: &AlertView) -> String {
    if alert.firing.is_empty() { "-".into() } else { alert.firing.join(", ") }
}
