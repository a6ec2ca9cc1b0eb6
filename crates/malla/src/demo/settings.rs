//! The settings of a demo: its own, whatever is set for other installations on this machine.

use std::path::Path;
use std::time::Duration;

use crate::config::{self, Config, Flag, Sources, Wrong};

/// Finished tasks, events, jobs and the like are forgotten after this.
const KEEP: Duration = Duration::from_secs(2 * 3_600);
/// What is said in the User-Agent.
const CONTACT: &str = "demo@malla.invalid";

/// `port`: where the demo's world is.
pub(super) fn config(data: &Path, listen: Option<&str>, port: u16) -> Result<Config, Wrong> {
    let own = |key, value: &str| Flag { key, name: "malla demo", value: value.to_owned() };
    let wiki = format!("http://wiki.localhost:{port}/");
    let stream = format!("http://127.0.0.1:{port}/changes");
    let store = format!("sqlite:{}", data.join("malla.db").display());
    let mut flags = vec![
        Flag { key: "data", name: "--data", value: data.display().to_string() },
        Flag { key: "listen", name: "--listen", value: listen.unwrap_or("127.0.0.1:7070").to_owned() },
        own("store", &store),
        // Its own world, and nothing else that is private.
        own("allow_networks", "127.0.0.0/8"),
        own("fetch.contact", CONTACT),
        own("fetch.timeout_s", "8"),
        own("fetch.cache_entries_max", "2000"),
        own("fetch.cache_mb_max", "50"),
        own("wiki.contact", CONTACT),
        own("wiki.api", &wiki),
        own("wiki.gap_ms", "200"),
        own("wiki.stream", "true"),
        own("wiki.stream_url", &stream),
        own("retention.every_s", "300"),
    ];
    let mut sources = Sources::log_variables()?;
    // The text of the demo is what a person shall see.
    if !sources.variables.iter().any(|(name, _)| name == "MALLA_LOG_LEVEL") {
        flags.push(own("log.level", "error"));
    }
    sources.flags = flags;
    let mut config = config::load(sources)?.config()?;
    config.keep_max = Some(KEEP);
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_demo_reaches_this_machine_and_forgets_within_hours() {
        let config = config(Path::new("./d"), None, 4_321).expect("good settings");
        assert_eq!((config.listen.as_str(), config.store_url().as_str()), ("127.0.0.1:7070", "sqlite:./d/malla.db"));
        let guard = config.guard().expect("a guard");
        assert!(guard.check("127.0.0.1".parse().expect("an address")).is_ok());
        assert!(guard.check("10.0.0.1".parse().expect("an address")).is_err());
        assert_eq!(config.kept_for(90), KEEP);
        assert_eq!(config.wiki.api, "http://wiki.localhost:4321/");
    }

    #[test]
    fn a_wrong_flag_is_wrong_usage() {
        assert!(config(Path::new(""), None, 1).expect_err("refused").usage);
    }
}
