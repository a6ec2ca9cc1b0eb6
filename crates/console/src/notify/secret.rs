//! A secret in a form: it is typed or made, shown once when made, and never shown again.

use maud::{Markup, html};

use crate::form::Form;
use crate::params::Params;
use crate::tongue::Text;
use crate::users;

/// What a form asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wish {
    Keep,
    Remove,
    Make,
    Given(String),
}

impl Wish {
    /// What was typed counts more than what was chosen: nobody types a secret to have it ignored.
    pub(super) fn read(fields: &Params, name: &str) -> Self {
        match (fields.get(name), fields.typed(&choice(name))) {
            (Some(given), _) => Self::Given(given.to_owned()),
            (None, "make") => Self::Make,
            (None, "remove") => Self::Remove,
            (None, _) => Self::Keep,
        }
    }
}

/// A secret that was made just now: what it is and the secret itself.
#[derive(Debug, Clone)]
pub(super) struct Made {
    pub(super) what: Text,
    pub(super) secret: String,
}

/// The one page that ever shows them.
pub(super) fn shown_once(news: &str, made: &[Made]) -> Markup {
    html! { @for made in made { (users::shown_once(&format!("{news} {}:", made.what.get()), &made.secret)) } }
}

fn choice(name: &str) -> String {
    format!("{name}_wish")
}

pub(super) fn field(form: &Form<'_>, label: &str, name: &str, hint: &str, has_one: bool) -> Markup {
    let chosen = form.typed.typed(&choice(name)).to_owned();
    let error = form.error(name);
    let options: &[(&str, &str)] = match has_one {
        true => &[("", t!("set: keep it")), ("make", t!("make a new one, shown once")), ("remove", t!("remove it"))],
        false => &[("", t!("none")), ("make", t!("make one, shown once"))],
    };
    html! {
        div.field.wrong[error.is_some()] {
            span.label { (label) }
            div.pair {
                select name=(choice(name)) aria-label=(label) {
                    @for (value, text) in options { option value=(value) selected[*value == chosen] { (text) } }
                }
                input name=(name) type="password" value=(form.typed.typed(name)) placeholder=(t!("or type one"))
                    aria-label=(say!("{}, typed", label)) autocomplete="new-password";
            }
            @match error {
                Some(error) => span.hint.error role="alert" { (error) },
                None => span.hint { (hint) },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_secret_counts_more_than_a_chosen_wish() {
        check(&[("", "")], Wish::Keep);
        check(&[("token_wish", "make")], Wish::Make);
        check(&[("token_wish", "remove")], Wish::Remove);
        check(&[("token_wish", "make"), ("token", " abc ")], Wish::Given("abc".into()));
    }

    fn check(fields: &[(&str, &str)], expected: Wish) {
        let text = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        assert_eq!(Wish::read(&Params::parse(text.as_bytes()), "token"), expected);
    }
}
