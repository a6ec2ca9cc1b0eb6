//! Fields of forms: what was typed is kept, and what is wrong with it stands next to it.

use std::fmt::Display;
use std::str::FromStr;

use malla_queue::Error;
use maud::{Markup, html};

use crate::params::Params;
use crate::refusal::{Refusal, mendable};
use crate::tongue::Text;
use crate::{parts, tongue};

/// What is wrong with a form, and with which of its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// Empty for the form as a whole.
    field: &'static str,
    sentence: String,
}

impl Wrong {
    pub(crate) fn at(field: &'static str, sentence: impl Display) -> Self {
        Self { field, sentence: tongue::told(sentence.to_string()) }
    }

    /// Where there is no form to show it in.
    pub(crate) fn into_sentence(self) -> String {
        self.sentence
    }
}

/// Why a form was not carried out: the person can mend it, or not.
#[derive(Debug)]
pub(crate) enum Trouble {
    Wrong(Wrong),
    Refused(Refusal),
}

impl Trouble {
    /// What the store said about this field.
    pub(crate) fn at(field: &'static str, error: Error) -> Self {
        match mendable(error) {
            Ok(sentence) => Self::Wrong(Wrong { field, sentence }),
            Err(refusal) => Self::Refused(refusal),
        }
    }

    /// What to show next to the form, unless only an error page helps.
    pub(crate) fn mend(self) -> Result<Wrong, Refusal> {
        match self {
            Self::Wrong(wrong) => Ok(wrong),
            Self::Refused(refusal) => Err(refusal),
        }
    }
}

impl From<Wrong> for Trouble {
    fn from(wrong: Wrong) -> Self {
        Self::Wrong(wrong)
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::at("", error)
    }
}

/// A number in digits, or `otherwise` if the field is empty.
pub(crate) fn number<N: FromStr>(fields: &Params, name: &'static str, otherwise: N) -> Result<N, Wrong> {
    let wrong = |text: &str| Wrong::at(name, say!("\"{text}\" is not a number: write it in digits", text));
    fields.get(name).map_or(Ok(otherwise), |text| text.parse().map_err(|_| wrong(text)))
}

/// A form as it was typed.
#[derive(Clone, Copy)]
pub(crate) struct Form<'a> {
    pub(crate) typed: &'a Params,
    pub(crate) wrong: Option<&'a Wrong>,
}

impl Default for Form<'_> {
    /// One that nobody has typed into.
    fn default() -> Self {
        static NOTHING: Params = Params::NONE;
        Self { typed: &NOTHING, wrong: None }
    }
}

impl Form<'_> {
    pub(crate) fn error(&self, name: &str) -> Option<&str> {
        self.wrong.filter(|wrong| wrong.field == name).map(|wrong| wrong.sentence.as_str())
    }

    /// What is wrong with the form as a whole, or that something is.
    pub(crate) fn head(&self) -> Markup {
        let sentence = match self.wrong {
            Some(wrong) if wrong.field.is_empty() => Some(wrong.sentence.as_str()),
            Some(_) => Some(t!("Nothing was saved: one field cannot be taken as it is.")),
            None => None,
        };
        parts::error_line(sentence)
    }

    /// Whether one of these fields is the wrong one: then they must not be hidden.
    pub(crate) fn is_wrong_in(&self, names: &[&str]) -> bool {
        self.wrong.is_some_and(|wrong| names.contains(&wrong.field))
    }

    pub(crate) fn text(&self, label: &str, name: &str, hint: &str, example: &str) -> Markup {
        let control = html! {
            input name=(name) value=(self.typed.typed(name)) placeholder=(example) autocapitalize="none"
                spellcheck="false" autocomplete="off";
        };
        parts::field(label, hint, self.error(name), control)
    }

    pub(crate) fn name(&self, example: &str) -> Markup {
        let control = html! {
            input name="name" value=(self.typed.typed("name")) placeholder=(example) maxlength="128"
                autocapitalize="none" spellcheck="false" autocomplete="off" required;
        };
        parts::field(t!("Name"), t!("Letters, digits, dots, - and _; it stays."), self.error("name"), control)
    }

    pub(crate) fn number(&self, label: &str, name: &str, hint: &str) -> Markup {
        let control = html! { input name=(name) inputmode="numeric" value=(self.typed.typed(name)); };
        parts::field(label, hint, self.error(name), control)
    }

    pub(crate) fn password(&self, label: &str, name: &str, hint: &str) -> Markup {
        let control = html! {
            input name=(name) type="password" value=(self.typed.typed(name)) autocomplete="new-password";
        };
        parts::field(label, hint, self.error(name), control)
    }

    pub(crate) fn area(&self, label: &str, name: &str, hint: &str, example: &str) -> Markup {
        let control = html! {
            textarea name=(name) rows="3" placeholder=(example) spellcheck="false" { (self.typed.typed(name)) }
        };
        html! { div.whole { (parts::field(label, hint, self.error(name), control)) } }
    }

    pub(crate) fn check(&self, label: &str, name: &str) -> Markup {
        html! {
            label.check {
                input type="checkbox" name=(name) value="yes" checked[self.typed.get(name).is_some()];
                span { (label) }
            }
        }
    }

    pub(crate) fn choice(&self, label: &str, name: &str, hint: &str, options: &[(&str, Text)]) -> Markup {
        parts::field(label, hint, self.error(name), parts::choose(name, options, self.typed.typed(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_stands_at_its_field_and_what_was_typed_stays() {
        let typed = Params::from([("timeout_s", "1 s"), ("parallel", "2")]);
        let wrong = number::<u64>(&typed, "timeout_s", 30).expect_err("not a number");
        let form = Form { typed: &typed, wrong: Some(&wrong) };
        let field = form.number("Timeout", "timeout_s", "").into_string();
        assert!(field.contains("is not a number") && field.contains("value=\"1 s\""), "{field}");
        assert!(!form.number("Parallel", "parallel", "").into_string().contains("is not a number"));
        assert!(form.is_wrong_in(&["timeout_s"]) && !form.is_wrong_in(&["parallel"]));
        assert_eq!(number(&typed, "parallel", 20), Ok(2));
        assert_eq!(number(&typed, "absent", 20), Ok(20));
    }
}
