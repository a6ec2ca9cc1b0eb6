//! Histories: the whole wiki is extracted at the first start, and then somebody edits an article now and then. Malla hears
//! of it from the wiki's stream of changes, or because a reader asks again.

use std::sync::Arc;

use malla_client::Result;
use malla_protocol::{ArticleFilters, Extract, LIMIT_MAX, PageQuery, Shown};

use super::articles::SUBJECTS;
use super::stage::{Stage, rest, tried};
use crate::dice::Dice;

/// From one edit to the next: few at first, and fewer and fewer, since nothing forgets them.
const FIRST_MS: u64 = 8_000;
const GROWS_MS: u64 = 700;
const APART_MS_MAX: u64 = 600_000;
/// Every so many edits somebody asks for the article again.
const ASKED_EVERY: u64 = 3;
/// A title that the wiki does not have.
const MISSING: &str = "Sea serpent";

/// Asks for every article that is not there.
pub(super) async fn prepare(stage: &Stage) -> Result<()> {
    let filters = ArticleFilters::default();
    let shown = Shown { page_size: Some(200), ..Shown::default() };
    let known = stage.client.articles(&filters, &shown).await?;
    let page = PageQuery { limit: Some(LIMIT_MAX), cursor: None };
    // Those that were under way at the last end go on by themselves.
    let under_way = stage.client.extractions(&page).await?.items;
    let under_way = |title: &str| under_way.iter().any(|one| !one.state.is_over() && one.asked == title);
    let is_known = |title: &str| known.iter().any(|article| article["title"] == title) || under_way(title);
    for subject in SUBJECTS.iter().filter(|subject| !is_known(subject.title)) {
        stage.client.extract(&asked(subject.title)).await?;
    }
    if known.is_empty() {
        stage.client.extract(&asked(MISSING)).await?;
    }
    Ok(())
}

fn asked(title: &str) -> Extract {
    Extract { title: Some(title.to_owned()), ..Extract::default() }
}

pub(super) async fn run(stage: Arc<Stage>) {
    let mut dice = Dice::new(stage.now_s().unsigned_abs());
    for turn in 0_u64.. {
        rest((FIRST_MS + turn * GROWS_MS).min(APART_MS_MAX)).await;
        // Some articles are busier than others.
        let many = SUBJECTS.len() as u64;
        let page = dice.below(many).min(dice.below(many));
        match stage.town.world().wiki.edit(usize::try_from(page).unwrap_or(0), stage.now_s()) {
            Ok(Some(title)) if turn % ASKED_EVERY == 0 => {
                rest(1_500).await;
                tried("ask for an article", stage.client.extract(&asked(&title)).await);
            }
            Ok(_) => {}
            Err(error) => tracing::warn!("demo: {error:#}"),
        }
    }
}
