//! Where a subscription's notifications go: an HTTP address or a topic of an MQTT broker.

use std::fmt;

use malla_queue::{Error, Result};
use serde::{Deserialize, Serialize};

/// `http://…`, `https://…`, or `mqtt://[user:password@]host[:port]/topic` (`mqtts` for TLS).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Target(pub String);

impl Target {
    const BYTES_MAX: usize = 2_000;

    pub fn is_mqtt(&self) -> bool {
        self.0.starts_with("mqtt://") || self.0.starts_with("mqtts://")
    }

    /// As it may be shown: without the password in it.
    pub fn masked(&self) -> String {
        let hidden = || {
            let (scheme, rest) = self.0.split_once("://")?;
            let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
            let (login, host) = authority.rsplit_once('@')?;
            let (user, _) = login.split_once(':')?;
            Some(format!("{scheme}://{user}:***@{host}{path}"))
        };
        hidden().unwrap_or_else(|| self.0.clone())
    }

    pub fn check(&self) -> Result<()> {
        let wrong = |why: &str| Err(Error::Invalid(format!("\"{}\" is not a target: {why}", self.0)));
        if self.0.len() > Self::BYTES_MAX {
            return Err(Error::Invalid(format!("a target has at most {} bytes", Self::BYTES_MAX)));
        }
        let Ok(url) = url::Url::parse(&self.0) else {
            return wrong("give an address such as https://example.org/hook");
        };
        if url.host_str().is_none_or(str::is_empty) {
            return wrong("it names no host");
        }
        match url.scheme() {
            "http" | "https" if url.username().is_empty() && url.password().is_none() => Ok(()),
            "http" | "https" => wrong("put the user and password into \"auth\""),
            "mqtt" | "mqtts" => match url.path().trim_start_matches('/') {
                "" => wrong("it names no topic: mqtt://host/topic"),
                topic if topic.contains(['+', '#']) => wrong("a topic to publish to has no wildcards"),
                _ => Ok(()),
            },
            _ => wrong("use http, https, mqtt or mqtts"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub(crate) fn check_broker(broker: &str) -> Result<()> {
    let fits = url::Url::parse(broker).is_ok_and(|url| {
        matches!(url.scheme(), "mqtt" | "mqtts")
            && url.host_str().is_some_and(|host| !host.is_empty())
            && matches!(url.path(), "" | "/")
            && url.username().is_empty()
    });
    if fits {
        return Ok(());
    }
    Err(Error::Invalid(format!("\"{broker}\" is not a broker: give mqtt://host:1883 or mqtts://host:8883")))
}

/// `+` stands for one level, `#` for all that remain and only at the end.
pub(crate) fn check_topic_filter(topic: &str) -> Result<()> {
    let levels: Vec<&str> = topic.split('/').collect();
    let fits = !topic.is_empty()
        && topic.len() <= 1_000
        && !topic.contains('\0')
        && levels.iter().enumerate().all(|(n, level)| {
            (!level.contains('+') || *level == "+")
                && (!level.contains('#') || (*level == "#" && n + 1 == levels.len()))
        });
    if fits {
        return Ok(());
    }
    Err(Error::Invalid(format!("\"{topic}\" is not a topic filter: + stands for a level, # for the rest at the end")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_addresses() {
        check("https://example.org/hook", true);
        check("http://127.0.0.1:8080/", true);
        check("mqtt://broker/alerts/fire", true);
        check("mqtts://ana:secret@broker:8883/a", true);
        check("", false);
        check("example.org", false);
        check("ftp://example.org/a", false);
        check("http://ana:secret@example.org/", false);
        check("mqtt://broker/", false);
        check("mqtt://broker/a/+/b", false);
    }

    fn check(target: &str, fits: bool) {
        assert_eq!(Target(target.into()).check().is_ok(), fits, "{target}");
    }

    #[test]
    fn a_masked_target_has_no_password() {
        for (target, masked) in [
            ("https://example.org/a@b:c", "https://example.org/a@b:c"),
            ("mqtts://ana:se@cret@broker:8883/a", "mqtts://ana:***@broker:8883/a"),
            ("mqtt://ana:se:cr@et@broker/a", "mqtt://ana:***@broker/a"),
            ("mqtt://ana@broker/a", "mqtt://ana@broker/a"),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(Target(target.into()).masked(), masked);
        }
    }

    #[test]
    fn topic_filters_have_wildcards_where_they_may() {
        for (topic, fits) in [
            ("a/b", true),
            ("+/b/#", true),
            ("#", true),
            ("", false),
            ("a/#/b", false),
            ("a+/b", false),
            ("a/b#", false),
        ] {
            assert_eq!(check_topic_filter(topic).is_ok(), fits, "{topic}");
        }
    }
}
