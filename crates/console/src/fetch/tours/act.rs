//! What a person may do to a tour: hold it, let it go on, end it, forget it.

use axum::extract::{Path, State as Shared};
use axum::response::Response;
use malla_access::Permission;
use malla_fetch::tour::{Tour, TourChange, TourId, TourKind, TourState};
use malla_queue::{Act, Error, Scope};
use maud::{Markup, html};

use super::{place, read_id, titled, tour_path};
use crate::caller::{Notice, Person};
use crate::refusal::{Refusal, mendable};
use crate::visitor::{Change, Posted, go};
use crate::{Console, parts};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Pause,
    Resume,
    /// Ends it; what it brought stays.
    Cancel,
    /// Ends it, and what it kept goes.
    Delete,
}

impl Verb {
    pub(super) const ALL: [Verb; 4] = [Verb::Pause, Verb::Resume, Verb::Cancel, Verb::Delete];

    pub(super) fn name(self) -> &'static str {
        match self {
            Verb::Pause => "pause",
            Verb::Resume => "resume",
            Verb::Cancel => "cancel",
            Verb::Delete => "delete",
        }
    }

    pub(super) fn read(text: &str) -> Result<Self, Refusal> {
        let wrong = || Refusal::bad(say!("\"{text}\" is not a verb: pause, resume, cancel or delete", text));
        Self::ALL.into_iter().find(|verb| verb.name() == text).ok_or_else(wrong)
    }

    /// On a button.
    pub(super) fn told(self) -> &'static str {
        match self {
            Verb::Pause => t!("Pause"),
            Verb::Resume => t!("Resume"),
            Verb::Cancel => t!("End", "verb"),
            Verb::Delete => t!("Delete"),
        }
    }

    /// On a button beside that of a live page, which has a pause of its own.
    fn told_of(self, kind: TourKind) -> &'static str {
        match (self, kind) {
            (Verb::Pause, TourKind::Crawl) => t!("Pause crawl"),
            (Verb::Pause, TourKind::Watch) => t!("Pause watch"),
            (Verb::Pause, TourKind::Compare) => t!("Pause comparison"),
            (Verb::Resume, TourKind::Crawl) => t!("Resume crawl"),
            (Verb::Resume, TourKind::Watch) => t!("Resume watch"),
            (Verb::Resume, TourKind::Compare) => t!("Resume comparison"),
            (Verb::Cancel | Verb::Delete, _) => self.told(),
        }
    }

    /// The word in the audit log.
    fn action(self, kind: TourKind) -> &'static str {
        let words = match kind {
            TourKind::Crawl => ["crawl.pause", "crawl.resume", "crawl.cancel", "crawl.delete"],
            TourKind::Watch => ["watch.pause", "watch.resume", "watch.cancel", "watch.delete"],
            TourKind::Compare => ["compare.pause", "compare.resume", "compare.cancel", "compare.delete"],
        };
        words[self as usize]
    }

    /// Whether there is something to it in this state.
    pub(super) fn fits(self, state: TourState) -> bool {
        match self {
            Verb::Pause => state == TourState::Running,
            Verb::Resume => state == TourState::Paused,
            Verb::Cancel => !state.is_over(),
            Verb::Delete => true,
        }
    }

    /// What many can be done to at once, where this state is looked at.
    pub(super) fn of_many(state: Option<TourState>) -> Vec<Verb> {
        let verbs = [Verb::Pause, Verb::Resume, Verb::Cancel].into_iter();
        verbs
            .filter(|verb| TourState::ALL.into_iter().any(|one| verb.fits(one) && state.is_none_or(|s| s == one)))
            .collect()
    }

    /// What becomes of it.
    pub(super) fn consequence(self, kind: TourKind) -> &'static str {
        match (self, kind) {
            (Verb::Pause, _) => t!("Nothing more is asked for until it goes on; what is under way comes to its end."),
            (Verb::Resume, _) => t!("It goes on where it was."),
            (Verb::Cancel, TourKind::Crawl) => t!("Nothing more is fetched for it. What came stays."),
            (Verb::Cancel, TourKind::Watch) => t!("The page is not visited any more. Its versions stay for a while."),
            (Verb::Cancel, TourKind::Compare) => t!("There are no more rounds. The reports stay for a while."),
            (Verb::Delete, TourKind::Crawl) => t!("It ends, and its pages are forgotten."),
            (Verb::Delete, TourKind::Watch) => t!("It ends, and the versions of the page are forgotten."),
            (Verb::Delete, TourKind::Compare) => t!("It ends, and its reports are forgotten."),
        }
    }
}

/// Buttons for what fits its state. What cannot be undone asks once more.
pub(super) fn buttons(person: &Person, tour: &Tour) -> Markup {
    let action = format!("{}/act", tour_path(tour));
    html! {
        @if person.may(Permission::Change) {
            div.bulk {
                @for verb in [Verb::Pause, Verb::Resume].into_iter().filter(|verb| verb.fits(tour.state)) {
                    form.actions method="post" action=(action) {
                        (parts::form_secret(person))
                        button name="verb" value=(verb.name()) title=(verb.consequence(tour.kind)) { (verb.told_of(tour.kind)) }
                    }
                }
                @for verb in [Verb::Cancel, Verb::Delete].into_iter().filter(|verb| verb.fits(tour.state)) {
                    (parts::asking_form(person, &format!("{}…", verb.told()), &action, html! {
                        p { (verb.consequence(tour.kind)) }
                        button.danger name="verb" value=(verb.name()) { (verb.told()) }
                    }))
                }
            }
        }
    }
}

/// Does it to one.
pub(super) async fn on(
    console: &Console,
    actor: &str,
    scope: &Scope,
    (kind, id): (TourKind, TourId),
    verb: Verb,
) -> malla_queue::Result<()> {
    let act = Act::new(actor, verb.action(kind), id.to_string());
    let state = match verb {
        Verb::Delete => return console.tours.forget_tour(scope, kind, id, act).await.map(drop),
        Verb::Pause => TourState::Paused,
        Verb::Resume => TourState::Running,
        Verb::Cancel => TourState::Cancelled,
    };
    console.tours.change(scope, kind, id, TourChange { state: Some(state), spec: None }, act).await.map(drop)
}

pub(crate) async fn on_crawl(
    Shared(console): Shared<Console>,
    Path(id): Path<String>,
    posted: Posted<Change>,
) -> Result<Response, Refusal> {
    one(&console, TourKind::Crawl, &id, &posted).await
}

pub(crate) async fn on_watch(
    Shared(console): Shared<Console>,
    Path(id): Path<String>,
    posted: Posted<Change>,
) -> Result<Response, Refusal> {
    one(&console, TourKind::Watch, &id, &posted).await
}

pub(crate) async fn on_comparison(
    Shared(console): Shared<Console>,
    Path(id): Path<String>,
    posted: Posted<Change>,
) -> Result<Response, Refusal> {
    one(&console, TourKind::Compare, &id, &posted).await
}

async fn one(console: &Console, kind: TourKind, text: &str, posted: &Posted<Change>) -> Result<Response, Refusal> {
    let (id, verb) = (read_id(kind, text)?, Verb::read(posted.fields.typed("verb"))?);
    let principal = &posted.visitor.principal;
    let done = on(console, &principal.actor, &principal.scope(), (kind, id), verb).await;
    let page = format!("{}/{id}", place(kind));
    let name = titled(kind, text);
    Ok(match (done, verb) {
        (Ok(()), Verb::Pause) => go(console, &page, Notice::good(say!("{name} is paused.", name))),
        (Ok(()), Verb::Resume) => go(console, &page, Notice::good(say!("{name} goes on.", name))),
        (Ok(()), Verb::Cancel) => go(console, &page, Notice::good(say!("{name} is over.", name))),
        (Ok(()), Verb::Delete) => go(console, place(kind), Notice::good(say!("{name} is deleted.", name))),
        (Err(error @ Error::NotFound(_)), _) => return Err(error.into()),
        // Somebody was faster, or it came to its end meanwhile.
        (Err(Error::Conflict(why)), _) => {
            go(console, &page, Notice::bad(crate::refusal::as_sentence(crate::tongue::told(why))))
        }
        (Err(error), _) => go(console, &page, Notice::bad(mendable(error)?)),
    })
}
