//! A verb on all that match, done in bounded steps: the page that asks first, and the one between two steps.

use std::time::Duration;

use malla_queue::{Move, State};
use maud::{Markup, html};

use crate::caller::Person;
use crate::frame::Page;
use crate::params::Params;
use crate::tongue::{Noun, Text};
use crate::{parts, words};

/// One request works this long; then the person says whether to go on.
pub(crate) const WORK_MAX: Duration = Duration::from_secs(5);

/// What there are many of, and where they are.
pub(crate) struct Many {
    /// `task`
    pub(crate) thing: Noun,
    /// In the navigation.
    pub(crate) place: &'static str,
    /// Where the form goes.
    pub(crate) act: &'static str,
    /// What the verb is called on a button.
    pub(crate) name_of: fn(Move) -> &'static str,
}

pub(crate) struct Question<'a> {
    pub(crate) verb: Move,
    /// `None` where no counter knows.
    pub(crate) how_many: Option<u64>,
    pub(crate) consequence: &'a str,
    pub(crate) conditions: Vec<(Text, String)>,
    /// The states that are meant, if the conditions do not say.
    pub(crate) states: &'a [State],
    /// What the form carries.
    pub(crate) fields: &'a Params,
    /// The list with its filters.
    pub(crate) list: &'a str,
}

impl Many {
    pub(crate) fn asking(&self, person: &Person, question: &Question<'_>) -> Page {
        let Question { verb, how_many, list, .. } = *question;
        let name = (self.name_of)(verb);
        let page = Page::new(self.place, say!("{name} all that match?", name)).up(list, t!("Back to the list"));
        if question.states.is_empty() || how_many == Some(0) {
            let sentence =
                say!("None of these {} can be {} now.", self.thing.many.get(), parts::participle_of_many(verb));
            return page.still(parts::empty(&sentence, Some((list, t!("Back to the list")))));
        }
        page.still(html! {
            section.card.question {
                p {
                    @match how_many {
                        Some(n) => {
                            @let number = html! { strong { (words::counted(n, self.thing)) } };
                            (rich!("{} that match will be {}.", number, parts::participle_of_many(verb)))
                        },
                        None => {
                            @let all = html! { strong { (rich!("All {}", self.thing.many)) } };
                            (rich!("{} that match, which may be many, will be {}.", all, parts::participle_of_many(verb)))
                        },
                    }
                    " " (question.consequence)
                }
                (conditions(question))
                form method="post" action=(self.act) {
                    (parts::form_secret(person)) (question.fields.hidden())
                    input type="hidden" name="verb" value=(verb.name());
                    button.primary[verb != Move::Discard].danger[verb == Move::Discard] { (rich!("{} them", name)) }
                    a.button.plain href=(list) { (t!("Cancel")) }
                }
            }
        })
    }

    /// `again` is the form with the place to go on from.
    pub(crate) fn going_on(&self, person: &Person, verb: Move, done: u64, again: &Params, list: &str) -> Page {
        let so_far = words::counted(done, self.thing);
        Page::new(self.place, say!("{so_far} so far", so_far)).up(list, t!("Back to the list")).still(html! {
            section.card.question {
                p { (rich!("{}: {}. More remain.", words::capital(parts::participle_of_many(verb)), so_far)) }
                form method="post" action=(self.act) {
                    (parts::form_secret(person)) (again.hidden())
                    button.primary { (t!("Continue")) }
                    a.button.plain href=(list) { (t!("Stop here")) }
                }
            }
        })
    }

    /// The sentence at the end.
    pub(crate) fn done(&self, verb: Move, done: u64) -> String {
        format!("{}: {}.", words::capital(parts::participle_of_many(verb)), words::counted(done, self.thing))
    }
}

fn conditions(question: &Question<'_>) -> Markup {
    let said = |name: Text| question.conditions.iter().any(|(condition, _)| *condition == name);
    html! {
        dl.facts {
            @for (name, value) in &question.conditions { dt { (name) } dd { (value) } }
            @if !said(key!("state")) {
                dt { (t!("state")) } dd { @for state in question.states { (parts::badge(*state)) " " } }
            }
            @if !said(key!("before")) { dt { (t!("before")) } dd { (t!("now")) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use malla_access::{Principal, Role};

    use super::*;
    use crate::frame::Block;

    const TASKS: Many =
        Many { thing: noun!("task", "tasks"), place: "/tasks", act: "/tasks/act", name_of: parts::verb_name };

    #[test]
    fn going_on_carries_the_filter_the_place_and_the_count() {
        let person = Person {
            principal: Principal { actor: "user:ana".into(), role: Role::User, groups: Vec::new() },
            name: "ana".into(),
            csrf: "secret".into(),
            signed_in: true,
            here: "/tasks/act".into(),
            server: "http://malla.test".into(),
        };
        let again =
            Params::from([("state", "failed"), ("verb", "resend"), ("done", "9000"), ("cursor", "069zgg4c0001d")]);
        let page = TASKS.going_on(&person, Move::Resend, 9_000, &again, "/tasks?state=failed");
        assert_eq!(page.title, "9,000 tasks so far");
        let Some(Block::Still(body)) = page.blocks.first() else { panic!("a block") };
        let body = body.clone().into_string();
        for text in ["name=\"cursor\" value=\"069zgg4c0001d\"", "value=\"failed\"", "value=\"secret\"", ">Continue<"] {
            assert!(body.contains(text), "{text} in {body}");
        }
    }
}
