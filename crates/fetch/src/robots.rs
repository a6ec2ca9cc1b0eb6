//! What a site's robots.txt allows (RFC 9309, and `Crawl-delay`).

mod parse;
mod pattern;

#[cfg(test)]
mod cases;

use std::collections::HashMap;
use std::time::Duration;

use pattern::Pattern;

use crate::NO_ANSWER;

/// Of a longer file, the rest is not read.
pub const ROBOTS_BYTES_MAX: usize = 500 * 1_024;
/// No site makes us wait longer between two pages.
pub const CRAWL_DELAY_MAX: Duration = Duration::from_secs(30);

/// A robots.txt, read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Robots {
    groups: Vec<Group>,
    /// Which groups speak to an agent, by its name in lower case. An agent may be named in many groups and a group may
    /// name many agents, so they point to each other: copying rules would take more room than the file.
    agents: HashMap<String, Vec<usize>>,
}

/// What stands between two runs of `User-agent` lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Group {
    rules: Vec<Rule>,
    crawl_delay_ms: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    allow: bool,
    pattern: Pattern,
}

/// May it be fetched, and by which rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub allowed: bool,
    /// As people read it: `Disallow: /private/`. None if no rule speaks of the page.
    pub rule: Option<String>,
}

impl Robots {
    /// Reads any bytes. What is no rule is passed over.
    pub fn parse(bytes: &[u8]) -> Self {
        parse::parse(bytes)
    }

    pub fn allows(&self, agent: &str, path_and_query: &str) -> bool {
        self.rule(agent, path_and_query).is_none_or(|rule| rule.allow)
    }

    pub fn verdict(&self, agent: &str, path_and_query: &str) -> Verdict {
        let rule = self.rule(agent, path_and_query);
        Verdict { allowed: rule.is_none_or(|rule| rule.allow), rule: rule.map(Rule::text) }
    }

    /// The longest that one of the agent's groups asks for.
    pub fn crawl_delay_ms(&self, agent: &str) -> Option<u64> {
        self.groups_of(agent).filter_map(|group| group.crawl_delay_ms).max()
    }

    /// The rule that decides: of those that match, the one with most octets; on a tie, the one that allows.
    fn rule(&self, agent: &str, path_and_query: &str) -> Option<&Rule> {
        let path = pattern::spelling_of_path(path_and_query);
        if path.split('?').next() == Some("/robots.txt") {
            return None;
        }
        let mut best: Option<&Rule> = None;
        for rule in self.groups_of(agent).flat_map(|group| &group.rules) {
            if best.is_none_or(|best| rule.weight() > best.weight()) && rule.pattern.matches(&path) {
                best = Some(rule);
            }
        }
        best
    }

    /// The groups that name the agent; if there is none, those for everyone.
    fn groups_of(&self, agent: &str) -> impl Iterator<Item = &Group> {
        let token = String::from_utf8_lossy(product_token(agent.as_bytes())).to_ascii_lowercase();
        let found = self.agents.get(&token).or_else(|| self.agents.get("*"));
        found.into_iter().flatten().map(|index| &self.groups[*index])
    }
}

impl Rule {
    fn weight(&self) -> (usize, bool) {
        (self.pattern.octets(), self.allow)
    }

    fn text(&self) -> String {
        format!("{}: {}", if self.allow { "Allow" } else { "Disallow" }, self.pattern)
    }
}

/// `MallaBot` of `MallaBot/1.0 (+https://…)`: people write both into the file.
fn product_token(agent: &[u8]) -> &[u8] {
    let agent = agent.trim_ascii();
    let end = agent.iter().position(|byte| byte.is_ascii_whitespace() || b"/(;,".contains(byte));
    &agent[..end.unwrap_or(agent.len())]
}

/// What the attempt to fetch a site's robots.txt means for its pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The site has no such file.
    AllowAll,
    /// The site is not well, so it is left alone.
    DisallowAll,
    Rules(Robots),
}

impl Standing {
    /// `status` is the last one after redirects, or [`NO_ANSWER`].
    pub fn of_answer(status: u16, body: &[u8]) -> Self {
        match status {
            200..=299 => Self::Rules(Robots::parse(body)),
            429 | NO_ANSWER => Self::DisallowAll,
            // A redirect is still one after the last that was followed: the file is nowhere.
            300..=499 => Self::AllowAll,
            _ => Self::DisallowAll,
        }
    }

    pub fn verdict(&self, agent: &str, path_and_query: &str) -> Verdict {
        match self {
            Self::AllowAll => Verdict { allowed: true, rule: None },
            Self::DisallowAll => Verdict { allowed: false, rule: None },
            Self::Rules(robots) => robots.verdict(agent, path_and_query),
        }
    }

    pub fn crawl_delay_ms(&self, agent: &str) -> Option<u64> {
        match self {
            Self::AllowAll | Self::DisallowAll => None,
            Self::Rules(robots) => robots.crawl_delay_ms(agent),
        }
    }

    /// After this long it is fetched again; a site that was not well may soon be.
    pub fn kept_for(&self) -> Duration {
        match self {
            Self::AllowAll | Self::Rules(_) => Duration::from_secs(24 * 3_600),
            Self::DisallowAll => Duration::from_secs(600),
        }
    }
}
