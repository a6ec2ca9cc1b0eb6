//! A verb on all that match, done one by one through the verb for one: the page that asks first, with the things to
//! choose from where they are few; the steps; and the page between two of them.

use std::collections::HashSet;
use std::fmt::Display;

use axum::response::{IntoResponse, Response};
use malla_queue::UnixMs;
use maud::{Markup, html};
use tokio::time::Instant;

use crate::caller::{Notice, Person};
use crate::frame::Page;
use crate::many::WORK_MAX;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::tongue::Noun;
use crate::visitor::{Change, Posted, go};
use crate::{Console, parts, words};

/// So many are shown one by one, each with its tick. Of more, all that match are meant.
pub(crate) const CHOSEN_MAX: usize = 50;

/// What is done, to what, and where.
pub(crate) struct Each<'a> {
    pub(crate) thing: Noun,
    /// In the navigation.
    pub(crate) place: &'static str,
    /// Where the form goes.
    pub(crate) act: &'a str,
    /// What the verb is called on a button.
    pub(crate) name: &'static str,
    pub(crate) danger: bool,
    /// The list with its filters.
    pub(crate) list: &'a str,
}

/// Those that match and that it can be done to.
#[derive(Default)]
pub(crate) struct Asked<'a> {
    pub(crate) count: u64,
    /// More may match than were counted.
    pub(crate) more: bool,
    pub(crate) consequence: &'a str,
    /// The filter, for people.
    pub(crate) conditions: Vec<(&'static str, String)>,
    /// What the form carries.
    pub(crate) fields: Params,
    /// What each goes by in the form, and how it is shown; empty where they cannot be chosen.
    pub(crate) choices: Vec<(String, Markup)>,
}

impl Each<'_> {
    pub(crate) fn asking(&self, person: &Person, asked: Asked<'_>) -> Page {
        let Asked { count, more, consequence, conditions, fields, choices } = asked;
        let page = self.page(say!("{name} all that match?", self.name));
        if count == 0 && !more {
            let sentence = say!("There is nothing to do: none of these {} is in a state for it.", self.thing.many);
            return page.still(parts::empty(&sentence, Some((self.list, t!("Back to the list")))));
        }
        let number = html! { strong { (words::counted(count, self.thing)) } };
        let choosing = !more && choices.len() <= CHOSEN_MAX;
        page.still(html! {
            section.card.question {
                p {
                    @if more { (rich!("At least {} match.", number)) } @else { (rich!("{} match.", number)) }
                    " " (consequence)
                }
                @if !conditions.is_empty() {
                    dl.facts { @for (name, value) in &conditions { dt { (name) } dd { (value) } } }
                }
                form method="post" action=(self.act) {
                    (parts::form_secret(person)) (fields.hidden())
                    @if choosing && !choices.is_empty() { (chosen_from(&choices)) }
                    button.primary[!self.danger].danger[self.danger] { (rich!("{} them", self.name)) }
                    a.button.plain href=(self.list) { (t!("Go back")) }
                }
            }
        })
    }

    fn page(&self, title: String) -> Page {
        Page::new(self.place, title).up(self.list, t!("Back to the list"))
    }

    /// Steps from a place on, until nothing is left or the time is up. Each tells how many it changed, and where the
    /// next one begins.
    pub(crate) async fn work<C, F>(
        &self,
        console: &Console,
        posted: &Posted<Change>,
        from: Option<C>,
        step: impl Fn(Option<C>) -> F,
    ) -> Result<Response, Refusal>
    where
        C: Display,
        F: Future<Output = Result<(u64, Option<C>), Refusal>>,
    {
        let fields = &posted.fields;
        if Chosen::read(fields).is_nothing() {
            let notice = Notice::bad(t!("Nothing was ticked, so nothing was changed."));
            return Ok(go(console, self.list, notice));
        }
        let deadline = Instant::now() + WORK_MAX;
        let mut done: u64 = fields.get("done").and_then(|done| done.parse().ok()).unwrap_or(0);
        let mut from = from;
        loop {
            let (changed, next) = step(from).await?;
            done = done.saturating_add(changed);
            let Some(next) = next else {
                let sentence = say!("Done: {}.", words::counted(done, self.thing));
                return Ok(go(console, self.list, Notice::good(sentence)));
            };
            if Instant::now() >= deadline {
                let again = fields.without("csrf").with("done", done.to_string()).with("cursor", next.to_string());
                return Ok(self.going_on(&posted.visitor, done, &again).into_response());
            }
            from = Some(next);
        }
    }

    fn going_on(&self, person: &Person, done: u64, again: &Params) -> Page {
        let so_far = words::counted(done, self.thing);
        self.page(say!("{so_far} so far", so_far)).still(html! {
            section.card.question {
                p { (rich!("Done: {}. More remain.", so_far)) }
                form method="post" action=(self.act) {
                    (parts::form_secret(person)) (again.hidden())
                    button.primary { (t!("Continue")) }
                    a.button.plain href=(self.list) { (t!("Stop here")) }
                }
            }
        })
    }
}

fn chosen_from(choices: &[(String, Markup)]) -> Markup {
    html! {
        input type="hidden" name="choosing" value="yes";
        fieldset.choices {
            legend.quiet { (t!("Untick what shall stay as it is.")) }
            @for (value, shown) in choices {
                label.check { input type="checkbox" name="chosen" value=(value) checked; span { (shown) } }
            }
        }
    }
}

/// Which of those that match are meant.
pub(crate) struct Chosen {
    /// Those with a tick; `None` for all.
    ticked: Option<HashSet<String>>,
    /// Those that came while the person read the question are not.
    until: Option<UnixMs>,
}

impl Chosen {
    pub(crate) fn read(fields: &Params) -> Self {
        let ticked = fields.get("choosing").map(|_| fields.all("chosen").map(str::to_owned).collect());
        Self { ticked, until: fields.get("until").and_then(|ms| ms.parse().ok()).map(UnixMs) }
    }

    fn is_nothing(&self) -> bool {
        self.ticked.as_ref().is_some_and(HashSet::is_empty)
    }

    pub(crate) fn means(&self, name: &str, came_at: UnixMs) -> bool {
        self.until.is_none_or(|until| came_at <= until) && self.ticked.as_ref().is_none_or(|some| some.contains(name))
    }
}

#[cfg(test)]
mod tests {
    use malla_access::{Principal, Role};

    use super::*;
    use crate::frame::Block;

    const LANES: Each<'_> = Each {
        thing: noun!("lane", "lanes"),
        place: "/lanes",
        act: "/lanes/act",
        name: "Pause",
        danger: false,
        list: "/lanes?room=drill",
    };

    fn person() -> Person {
        Person {
            principal: Principal { actor: "user:ana".into(), role: Role::User, groups: Vec::new() },
            name: "ana".into(),
            csrf: "secret".into(),
            signed_in: true,
            here: "/lanes/act".into(),
            server: "http://malla.test".into(),
        }
    }

    fn text(page: &Page) -> String {
        let Some(Block::Still(body)) = page.blocks.first() else { panic!("a block") };
        body.clone().into_string()
    }

    #[test]
    fn few_can_be_chosen_from_and_many_not() {
        let of = |count: usize| Asked {
            count: count as u64,
            choices: (0..count).map(|n| (n.to_string(), html! { "<" (n) })).collect(),
            ..Asked::default()
        };
        let few = text(&LANES.asking(&person(), of(2)));
        assert!(few.contains("<strong>2 lanes</strong> match.") && few.contains("value=\"1\" checked"), "{few}");
        assert!(
            few.contains("&lt;1") && few.contains("name=\"choosing\"") && few.contains("value=\"secret\""),
            "{few}"
        );
        let many = text(&LANES.asking(&person(), of(CHOSEN_MAX + 1)));
        assert!(many.contains("51 lanes") && !many.contains("choosing"), "{many}");
        let more = text(&LANES.asking(&person(), Asked { more: true, ..of(2) }));
        assert!(more.contains("At least") && !more.contains("choosing"), "{more}");
        assert!(text(&LANES.asking(&person(), of(0))).contains("There is nothing to do"));
    }

    #[test]
    fn only_what_was_ticked_and_there_before_is_meant() {
        let all = Chosen::read(&Params::from([("until", "100")]));
        assert!(all.means("a", UnixMs(100)) && !all.means("a", UnixMs(101)) && !all.is_nothing());
        let some = Chosen::read(&Params::from([("choosing", "yes"), ("chosen", "a")]));
        assert!(some.means("a", UnixMs(5)) && !some.means("b", UnixMs(5)));
        assert!(Chosen::read(&Params::from([("choosing", "yes")])).is_nothing());
    }

    #[test]
    fn going_on_carries_the_filter_the_place_and_the_count() {
        let again = Params::from([("room", "drill"), ("done", "900"), ("cursor", "drill/x")]);
        let page = LANES.going_on(&person(), 900, &again);
        assert_eq!(page.title, "900 lanes so far");
        let body = text(&page);
        for part in ["name=\"cursor\" value=\"drill/x\"", "value=\"drill\"", "value=\"secret\"", ">Continue<"] {
            assert!(body.contains(part), "{part} in {body}");
        }
    }
}
