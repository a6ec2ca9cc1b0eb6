//! Users: the list with its form, and one user. For admins.

pub(crate) mod detail;
pub(crate) mod list;

use malla_access::{Role, Secret};
use maud::{Markup, html};

use crate::parts;
use crate::tongue::Text;

const ROLES: [(&str, Text); 3] = [
    ("readonly", key!("readonly – sees its groups")),
    ("user", key!("user – everything in its groups")),
    ("admin", key!("admin – everything")),
];

/// A made password: 120 random bits are plenty, and can still be typed.
const PASSWORD_CHARS: usize = 20;

fn make_password() -> malla_queue::Result<String> {
    Ok(Secret::random("")?.reveal().chars().take(PASSWORD_CHARS).collect())
}

fn path(name: &str) -> String {
    format!("/users/{name}")
}

/// `ops, payments` as names.
fn read_groups(text: &str) -> Vec<String> {
    let mut names: Vec<String> = text.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

fn role_field(chosen: &str) -> Markup {
    parts::field(t!("Role"), "", None, parts::choose("role", &ROLES, chosen))
}

fn groups_field(typed: &str) -> Markup {
    parts::field(
        t!("Groups"),
        t!("Names, separated by commas."),
        None,
        html! {
            input name="groups" value=(typed) autocapitalize="none" spellcheck="false" placeholder=(t!("ops, payments"));
        },
    )
}

fn password_field(label: &str, hint: &str) -> Markup {
    parts::field(label, hint, None, html! { input name="password" type="password" autocomplete="new-password"; })
}

/// A secret on the one page that ever shows it.
pub(crate) fn shown_once(words: &str, secret: &str) -> Markup {
    html! {
        section.card.secret role="status" {
            p { strong { (words) } " " (t!("It is shown this once: copy it now.")) }
            pre.command data-copy { code { (secret) } }
        }
    }
}

fn role_name(role: Role) -> Markup {
    html! { span.badge.role { (parts::role_name(role)) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_read_in_order_and_once() {
        assert_eq!(read_groups("payments, ops,,ops"), ["ops", "payments"]);
        assert!(read_groups(" , ").is_empty());
    }

    #[test]
    fn made_passwords_differ_and_are_long_enough() {
        let (one, two) = (make_password().expect("random"), make_password().expect("random"));
        assert_ne!(one, two);
        assert!(malla_access::check_password(&one).is_ok());
    }
}
