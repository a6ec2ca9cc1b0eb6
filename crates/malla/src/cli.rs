//! The command line: commands and the flags that several of them share. Each command's own flags stand with it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use malla_cluster::{MemberId, Slot};

use crate::commands::{
    analyses, audit, backup, bench, bikes, blocklist, cluster, compare, completions, crawl, crawls, devices, fetch,
    groups, healthcheck, lanes, ledger, notify,
};
use crate::commands::{print_config, restore, robots, tasks, tokens, users, watches, wiki, worker};
use crate::config::Flag;
use crate::roles::Role;

/// Collect, keep, compute, deliver: tasks in lanes, in one program.
#[derive(Debug, Parser)]
#[command(name = "malla", version, arg_required_else_help = true, max_term_width = 100)]
#[command(
    after_help = "Examples:\n  malla demo                        look at everything in a minute, without the internet\n  malla up                          start a server here; it prints the console's address\n  malla tasks submit drill/try      send a task through it\n  malla tasks list"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub place: Place,
    #[command(subcommand)]
    pub command: Command,
}

/// Where this machine's installation is.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Installation")]
pub(crate) struct Place {
    /// The data directory [default: ./malla-data]
    #[arg(long, global = true, value_name = "DIR")]
    pub data: Option<String>,
    /// The configuration file [default: malla.toml, if there is one]
    #[arg(long, global = true, value_name = "FILE", env = "MALLA_CONFIG")]
    pub config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a server
    Up(Up),
    /// Start a server with a small world of its own to look at: nothing leaves this machine
    Demo(crate::demo::Command),
    /// Keep the processes of several machines running: start one here as a medic
    Supervise(Supervise),
    /// The processes that work together: show, restart, terms, restarts
    Cluster(cluster::Command),
    /// Fetch pages and print one line of JSON for each as it arrives
    Fetch(fetch::Command),
    /// Follow links politely and print one line of JSON for each page as it arrives
    Crawl(crawl::Command),
    /// Crawls that a server works on: list, show, pause, resume, cancel, warc
    Crawls(crawls::Command),
    /// Pages that are watched for changes: add, list, show, pause, resume, delete, versions, text, diff
    Watches(watches::Command),
    /// Compare the same pages as devices of several countries see them
    Compare(compare::Command),
    /// Lend this machine to a fleet: fetch pages for a server
    Worker(worker::Command),
    /// The devices of the fleet
    Devices(devices::Command),
    /// Credit: balances, statements, top-ups, the audit
    Ledger(ledger::Command),
    /// Sites that are never fetched
    Blocklist(blocklist::Command),
    /// What a robots.txt means
    Robots(robots::Command),
    /// Histories of wiki pages: extract, ask, compare, export, import
    Wiki(wiki::Command),
    /// Answers about bike rides: a data set in, the answers out
    Bikes(bikes::Command),
    /// Analyses: list, show, answer, cancel
    Analyses(analyses::Command),
    /// Endpoints, subscriptions, events and notifications
    Notify(notify::Command),
    /// Tasks of any room: list, show, submit, retry, discard, pause, resume, confirm, tail
    Tasks(tasks::Command),
    /// Lanes: list, show, pause, resume, set
    Lanes(lanes::Command),
    /// People who log in to the console
    Users(users::Command),
    /// Groups own things and have members
    Groups(groups::Command),
    /// Bearer tokens for programs
    Tokens(tokens::Command),
    /// Who changed what
    Audit(audit::Command),
    /// Write the embedded store to a file, also while a server works on it
    Backup(backup::Command),
    /// Make a backup the store again
    Restore(restore::Command),
    /// Exit with 0 if the server is ready, with 1 if not
    Healthcheck(healthcheck::Command),
    /// The settings of this installation
    Config(print_config::Command),
    /// Measure this machine
    Bench(bench::Command),
    /// Completions for a shell
    Completions(completions::Command),
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  malla up\n  malla up --data /var/lib/malla --listen 0.0.0.0:7070\n  malla up --store postgres://malla:secret@db/malla --roles api,medic"
)]
pub(crate) struct Up {
    #[command(flatten)]
    pub settings: Settings,
    /// The place of a process that a medic started
    #[arg(long, hide = true, requires = "medic")]
    pub slot: Option<Slot>,
    /// The medic that started it
    #[arg(long, hide = true, requires = "slot")]
    pub medic: Option<MemberId>,
}

#[derive(Debug, Args)]
#[command(mut_arg("roles", |roles| roles.hide(true).conflicts_with("role")))]
#[command(
    after_help = "Examples:\n  malla supervise --store postgres://malla:secret@db/malla --listen 0.0.0.0:7070\n  malla supervise --role api=2 --role notifier=4        of the whole cluster, on however many machines"
)]
pub(crate) struct Supervise {
    #[command(flatten)]
    pub settings: Settings,
    /// How many processes of a role the whole cluster shall have; may be given several times [default: 1 of each]
    #[arg(long, value_name = "NAME=N", value_parser = role_count)]
    pub role: Vec<Flag>,
}

/// `notifier=4` as the setting that it stands for.
fn role_count(text: &str) -> Result<Flag, String> {
    let (name, count) = text.split_once('=').ok_or("give the name of a role and a number, as in notifier=4")?;
    let key = match name.parse()? {
        Role::Api => "supervise.roles.api",
        Role::Notifier => "supervise.roles.notifier",
        Role::Fetcher => "supervise.roles.fetcher",
        Role::Wiki => "supervise.roles.wiki",
        Role::Analyst => "supervise.roles.analyst",
        Role::Medic => {
            return Err("every `malla supervise` is a medic: start it on as many machines as there shall be".into());
        }
    };
    Ok(Flag { key, name: "--role", value: count.to_owned() })
}

/// Settings that have a flag; all the others are in the file and the variables.
#[derive(Debug, Default, Args)]
pub(crate) struct Settings {
    /// Where to listen; port 0 takes a free one [default: 127.0.0.1:7070]
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<String>,
    /// sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE [default: sqlite:DATA/malla.db]
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
    /// Of api,notifier,fetcher,wiki,analyst,medic [default: all]
    #[arg(long, value_name = "LIST")]
    pub roles: Option<String>,
    /// The certificate chain to serve HTTPS with, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<String>,
    /// Its private key, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<String>,
}

/// Which server a command talks to, and how it answers.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct Reach {
    /// The server's address, or several with commas [default: the one that runs on the data directory]
    #[arg(long, global = true, value_name = "URL", env = "MALLA_SERVER", value_delimiter = ',')]
    pub server: Vec<String>,
    /// A bearer token [default: admin.token of the data directory]
    #[arg(long, global = true, value_name = "TOKEN", env = "MALLA_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// Print JSON, one line a result
    #[arg(long, global = true)]
    pub json: bool,
}

impl Place {
    /// What the flags say about the configuration.
    pub(crate) fn flags(&self, settings: &Settings) -> Vec<Flag> {
        let given = [
            ("data", "--data", &self.data),
            ("listen", "--listen", &settings.listen),
            ("store", "--store", &settings.store),
            ("roles", "--roles", &settings.roles),
            ("tls.cert", "--tls-cert", &settings.tls_cert),
            ("tls.key", "--tls-key", &settings.tls_key),
        ];
        let flag = |(key, name, value): (_, _, &Option<String>)| Some(Flag { key, name, value: value.clone()? });
        given.into_iter().filter_map(flag).collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use clap::error::ErrorKind;

    use super::*;

    #[test]
    fn the_commands_are_put_together_well() {
        Cli::command().debug_assert();
    }

    #[test]
    fn shared_flags_stand_anywhere() {
        for words in ["malla --data d tasks --json list", "malla tasks list --json --data d"] {
            let cli = Cli::try_parse_from(words.split(' ')).expect("parses");
            assert_eq!(cli.place.data.as_deref(), Some("d"));
            assert!(matches!(cli.command, Command::Tasks(tasks) if tasks.reach.json));
        }
    }

    #[test]
    fn flags_become_settings() {
        let cli = Cli::try_parse_from(["malla", "up", "--roles", "api", "--data", "d"]).expect("parses");
        let Command::Up(up) = cli.command else { panic!("another command") };
        let flags = cli.place.flags(&up.settings);
        let given: Vec<_> = flags.iter().map(|flag| (flag.key, flag.name, flag.value.as_str())).collect();
        assert_eq!(given, [("data", "--data", "d"), ("roles", "--roles", "api")]);
    }

    #[test]
    fn several_servers_come_with_commas() {
        let cli = Cli::try_parse_from(["malla", "audit", "--server", "http://a,http://b"]).expect("parses");
        assert!(matches!(cli.command, Command::Audit(audit) if audit.reach.server == ["http://a", "http://b"]));
    }

    #[test]
    fn what_says_too_little_or_too_much_is_refused() {
        check("malla lanes set drill/a", ErrorKind::MissingRequiredArgument);
        check("malla users change ana", ErrorKind::MissingRequiredArgument);
        check("malla users change ana --new-password --password-stdin", ErrorKind::ArgumentConflict);
        check("malla tasks submit", ErrorKind::MissingRequiredArgument);
        check("malla tasks submit drill/a --file x", ErrorKind::ArgumentConflict);
        check("malla tasks list --limit -1", ErrorKind::UnknownArgument);
        check("malla tokens create x --expires-days 0", ErrorKind::ValueValidation);
        check("malla notify subs create a b", ErrorKind::MissingRequiredArgument);
        check("malla notify subs create a b http://c --retry 1.5", ErrorKind::ValueValidation);
        check("malla notify subs create a b http://c --retry 5 --no-retry", ErrorKind::ArgumentConflict);
        check("malla notify subs create a b http://c --basic ana", ErrorKind::ValueValidation);
        check("malla notify subs create a b http://c --filter {}", ErrorKind::ValueValidation);
        check("malla notify events send a b --file c", ErrorKind::ArgumentConflict);
        check("malla notify events send a b --method GET", ErrorKind::InvalidValue);
        check("malla wiki extract", ErrorKind::MissingRequiredArgument);
        check("malla wiki count --sizematch 1", ErrorKind::MissingRequiredArgument);
        check("malla wiki query", ErrorKind::MissingRequiredArgument);
        check("malla wiki query [] --file x", ErrorKind::ArgumentConflict);
        check("malla wiki export Earth --csv --text", ErrorKind::ArgumentConflict);
        check("malla wiki import d.xml --wiki 1 --api http://a", ErrorKind::ArgumentConflict);
        check("malla wiki simulate --timestamps x --budget 1 --rule best", ErrorKind::ValueValidation);
        check("malla notify tail --events --subscription a", ErrorKind::ArgumentConflict);
        check("malla up --slot api-1", ErrorKind::MissingRequiredArgument);
        check("malla supervise --role api", ErrorKind::ValueValidation);
        check("malla supervise --role cook=1", ErrorKind::ValueValidation);
        check("malla supervise --role medic=1", ErrorKind::ValueValidation);
        check("malla cluster restart", ErrorKind::MissingRequiredArgument);
    }

    #[track_caller]
    fn check(words: &str, kind: ErrorKind) {
        assert_eq!(Cli::try_parse_from(words.split(' ')).expect_err("refused").kind(), kind, "{words}");
    }
}
