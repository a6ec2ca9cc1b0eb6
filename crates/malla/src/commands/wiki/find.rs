//! Finds what a person means: a page by its title or number, a revision by its number.

use anyhow::{Result, anyhow};
use clap::Args;
use malla_client::Client;
use malla_protocol::{PageQuery, RevisionFilters, Shown, WikiPage, WikiPageQuery};
use serde_json::Value;

use crate::commands::Usage;

#[derive(Debug, Clone, Args)]
pub(crate) struct Which {
    /// The page's title, or its number
    #[arg(value_name = "TITLE-OR-PAGEID")]
    page: String,
    /// The number of its wiki, if several have such a page: see malla wiki wikis
    #[arg(long, value_name = "N")]
    wiki: Option<i64>,
}

impl Which {
    /// A title comes first: there are pages that are called by a number.
    pub(super) async fn find(&self, client: &Client) -> Result<WikiPage> {
        let Self { page, wiki } = self;
        let titled = |title: String| WikiPageQuery { wiki: *wiki, title: Some(title), pageid: None };
        let spaced = page.replace('_', " ");
        let mut tries = vec![titled(page.clone())];
        if spaced != *page {
            tries.push(titled(spaced));
        }
        tries.extend(page.parse().ok().map(|pageid| WikiPageQuery { wiki: *wiki, title: None, pageid: Some(pageid) }));
        for query in tries {
            let found = client.wiki_pages(&query, &PageQuery::default()).await?.items;
            if let Some(one) = only(found, |page| page.wiki, &format!("page \"{page}\""))? {
                return Ok(one);
            }
        }
        Err(anyhow!("no page \"{page}\" is kept: `malla wiki extract` gets it"))
    }
}

/// The wiki of a revision: the one that was named, else the only one that has it.
pub(super) async fn wiki_of(client: &Client, revid: i64, named: Option<i64>) -> Result<i64> {
    if let Some(named) = named {
        return Ok(named);
    }
    let filters = RevisionFilters { revid: Some(revid), ..RevisionFilters::default() };
    let shown = Shown { project: Some("wiki,revid".into()), ..Shown::default() };
    let found = client.revisions(&filters, &shown).await?;
    let wikis = found.iter().filter_map(|revision| revision.get("wiki").and_then(Value::as_i64)).collect();
    let wiki = only(wikis, |wiki: &i64| *wiki, &format!("revision {revid}"))?;
    wiki.ok_or_else(|| anyhow!("no revision {revid} is kept"))
}

fn only<T>(mut found: Vec<T>, wiki: impl Fn(&T) -> i64, what: &str) -> Result<Option<T>> {
    if found.len() > 1 {
        let wikis = found.iter().map(|one| wiki(one).to_string()).collect::<Vec<_>>().join(", ");
        return Err(Usage(format!("the wikis {wikis} have a {what}: choose one with --wiki")).into());
    }
    Ok(found.pop())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_found_and_several_are_to_choose_from() {
        assert_eq!(only(Vec::<i64>::new(), |wiki| *wiki, "page").expect("none"), None);
        assert_eq!(only(vec![3], |wiki| *wiki, "page").expect("one"), Some(3));
        let error = only(vec![3, 5], |wiki| *wiki, "page \"Earth\"").expect_err("several");
        assert_eq!(error.to_string(), "the wikis 3, 5 have a page \"Earth\": choose one with --wiki");
        assert!(error.is::<Usage>());
    }
}
