//! What live pages show now, rendered once for all who look at the same page with the same rights.
//!
//! However many look and however fast things change, a page is rendered once a second at most, and a dear one less often.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use malla_access::Secret;
use malla_queue::GroupId;
use tokio::time::Instant;

use crate::caller::Person;
use crate::frame::{Block, Page};
use crate::refusal::Refusal;
use crate::tongue::Lang;

/// The shortest and longest wait between two renderings.
pub(crate) const PACE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));
/// A page that is dear to render is rendered less often: at most this share of the time goes into it.
const SHARE: u32 = 10;
/// Who comes a little early looks at the new one, not at the last again.
const EARLY: Duration = Duration::from_millis(50);

/// What a rendering depends on: all but the secret in the viewer's forms.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Sight {
    page: String,
    lang: Lang,
    role: &'static str,
    groups: Vec<GroupId>,
    server: String,
}

/// A rendering, or why there is none.
#[derive(Default)]
pub(crate) struct Shot {
    taken: Option<Instant>,
    rest: Duration,
    seen: Option<Result<Vec<(&'static str, String)>, String>>,
}

pub(crate) struct Shots {
    /// Stands in a rendering where each viewer's forms have their secret. Nobody can guess it.
    place: String,
    known: Mutex<HashMap<Sight, Weak<tokio::sync::Mutex<Shot>>>>,
}

/// What one viewer sees.
pub(crate) enum Seen {
    /// The live blocks by name.
    Blocks(Vec<(&'static str, String)>),
    Trouble(String),
}

impl Shots {
    pub(crate) fn new() -> Self {
        let place = Secret::random("place_").expect("the operating system gives random bytes");
        Self { place: place.reveal().to_owned(), known: Mutex::default() }
    }

    /// The rendering that this person shares; it is there as long as somebody holds it.
    pub(crate) fn shared(&self, person: &Person, page: &str) -> Arc<tokio::sync::Mutex<Shot>> {
        let principal = &person.principal;
        let sight = Sight {
            page: page.to_owned(),
            lang: Lang::now(),
            role: principal.role.name(),
            groups: principal.groups.clone(),
            server: person.server.clone(),
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shot) = known.get(&sight).and_then(Weak::upgrade) {
            return shot;
        }
        known.retain(|_, shot| shot.strong_count() > 0);
        let shot = Arc::new(tokio::sync::Mutex::new(Shot::default()));
        known.insert(sight, Arc::downgrade(&shot));
        shot
    }

    /// What there is to see now: rendered by this viewer if the last rendering is too old, and how long to wait for the next.
    pub(crate) async fn look<F>(
        &self,
        shot: &tokio::sync::Mutex<Shot>,
        person: Person,
        render: impl FnOnce(Person) -> F,
    ) -> (Seen, Duration)
    where
        F: Future<Output = Result<Page, Refusal>>,
    {
        let mut shot = shot.lock().await;
        let csrf = person.csrf.clone();
        if shot.taken.is_none_or(|taken| taken.elapsed() + EARLY >= shot.rest) {
            let began = Instant::now();
            let seen = render(Person { csrf: self.place.clone(), ..person }).await;
            shot.seen = match seen {
                Ok(page) => Some(Ok(live_blocks(page))),
                Err(Refusal::Sentence { sentence, .. }) => Some(Err(sentence)),
                Err(Refusal::SignIn { .. }) => Some(Err(t!("Sign in first.").to_owned())),
            };
            shot.rest = (began.elapsed() * SHARE).clamp(PACE.0, PACE.1);
            shot.taken = Some(Instant::now());
        }
        let seen = match &shot.seen {
            Some(Ok(blocks)) => {
                Seen::Blocks(blocks.iter().map(|(name, html)| (*name, html.replace(&self.place, &csrf))).collect())
            }
            Some(Err(sentence)) => Seen::Trouble(sentence.clone()),
            None => Seen::Blocks(Vec::new()),
        };
        (seen, shot.rest)
    }
}

fn live_blocks(page: Page) -> Vec<(&'static str, String)> {
    let live = page.blocks.into_iter().filter_map(|block| match block {
        Block::Live(name, markup) => Some((name, markup.into_string())),
        Block::Still(_) => None,
    });
    live.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use malla_access::{Principal, Role};
    use maud::html;

    use super::*;

    fn person(name: &str, role: Role, groups: Vec<GroupId>) -> Person {
        Person {
            principal: Principal { actor: format!("user:{name}"), role, groups },
            name: name.into(),
            csrf: format!("secret-of-{name}"),
            signed_in: true,
            here: "/tasks".into(),
            server: "http://malla.test".into(),
        }
    }

    #[tokio::test]
    async fn those_with_the_same_rights_share_a_rendering_and_keep_their_secrets() {
        let (shots, rendered) = (Shots::new(), AtomicUsize::new(0));
        let render = async |person: Person| {
            rendered.fetch_add(1, Ordering::Relaxed);
            Ok(Page::new("/tasks", "Tasks").live("rows", html! { input value=(person.csrf); }))
        };
        let html = |seen: (Seen, Duration)| match seen.0 {
            Seen::Blocks(blocks) => blocks[0].1.clone(),
            Seen::Trouble(sentence) => sentence,
        };
        let ops = vec![GroupId(1)];
        let (ana, ben) = (person("ana", Role::User, ops.clone()), person("ben", Role::User, ops.clone()));
        let (one, two) = (shots.shared(&ana, "/tasks"), shots.shared(&ben, "/tasks"));
        assert!(Arc::ptr_eq(&one, &two));
        assert_eq!(html(shots.look(&one, ana.clone(), render).await), "<input value=\"secret-of-ana\">");
        assert_eq!(html(shots.look(&two, ben.clone(), render).await), "<input value=\"secret-of-ben\">");
        assert_eq!(rendered.load(Ordering::Relaxed), 1);
        // As if its time were over.
        two.lock().await.rest = Duration::ZERO;
        shots.look(&two, ben, render).await;
        assert_eq!(rendered.load(Ordering::Relaxed), 2);

        let reader = shots.shared(&person("eve", Role::Readonly, ops), "/tasks");
        let elsewhere = shots.shared(&person("cleo", Role::User, vec![GroupId(2)]), "/tasks");
        let spanish = Lang::Spanish.speaking_now(|| shots.shared(&ana, "/tasks"));
        for other in [&reader, &elsewhere, &spanish, &shots.shared(&ana, "/lanes")] {
            assert!(!Arc::ptr_eq(&one, other), "other rights, another language or another page");
        }
    }
}
