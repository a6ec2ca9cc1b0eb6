//! What a second and a third fetch say about the first. A mismatch alone never convicts: pages differ by place and time.

use super::{Check, CheckKind, CheckState, Finding, Likeness, Party, likeness};

/// What somebody claims that a site said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement<'a> {
    pub by: &'a Party,
    pub status: u16,
    /// Where a redirect leads.
    pub location: Option<&'a str>,
    pub body: &'a [u8],
    /// It said that the page had not changed; the body is the one of the last time.
    pub unchanged: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    Same,
    /// It tells nothing: an error here and a page there, or too much and too little of the same.
    Unclear,
    Different,
}

/// What becomes of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The first one told the truth.
    Cleared,
    /// The first one lied.
    FirstLied { hard: bool },
    /// The first one told the truth and the second one lied.
    SecondLied,
    /// The first one stood alone, in another country than both others.
    FirstApart,
    /// The first one told the truth, and the second one stood alone like that.
    SecondApart,
    /// Nobody can say. The first one is doubted.
    Open,
}

fn is_page(status: u16) -> bool {
    (200..300).contains(&status)
}

fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

pub fn agreement(one: &Statement<'_>, other: &Statement<'_>) -> Agreement {
    let (a, b) = (one.status, other.status);
    if is_page(a) && is_page(b) {
        return match likeness(one.body, other.body) {
            Likeness::Same => Agreement::Same,
            // It may have changed between the two.
            _ if one.unchanged || other.unchanged => Agreement::Unclear,
            Likeness::Unclear => Agreement::Unclear,
            Likeness::Different => Agreement::Different,
        };
    }
    if is_redirect(a) && is_redirect(b) {
        let place = |text: Option<&str>| text.map(|text| text.split(['?', '#']).next().unwrap_or_default().to_owned());
        return if place(one.location) == place(other.location) { Agreement::Same } else { Agreement::Different };
    }
    match () {
        () if (is_page(a) && is_redirect(b)) || (is_redirect(a) && is_page(b)) => Agreement::Different,
        () if a == b => Agreement::Same,
        // Networks fail and sites turn some away: an error is no lie.
        () => Agreement::Unclear,
    }
}

/// All three were asked the same. Who stands alone against two that agree has lied, unless it stands in another country
/// than both.
pub(crate) fn of_three(first: &Statement<'_>, second: &Statement<'_>, trusted: &Statement<'_>) -> Verdict {
    let (one, two) = (agreement(first, trusted), agreement(second, trusted));
    match (one, two) {
        (Agreement::Same, Agreement::Different) if agreement(first, second) == Agreement::Different => {
            if stands_elsewhere(second.by, [first.by, trusted.by]) {
                Verdict::SecondApart
            } else {
                Verdict::SecondLied
            }
        }
        (Agreement::Same, _) => Verdict::Cleared,
        (Agreement::Different, Agreement::Same) if agreement(first, second) == Agreement::Different => {
            if stands_elsewhere(first.by, [second.by, trusted.by]) {
                Verdict::FirstApart
            } else {
                Verdict::FirstLied { hard: false }
            }
        }
        _ => Verdict::Open,
    }
}

/// Pages may look different there; where it is not known where somebody is, nothing is assumed.
fn stands_elsewhere(alone: &Party, others: [&Party; 2]) -> bool {
    alone.country.is_some() && others.iter().all(|other| other.country.is_some() && other.country != alone.country)
}

/// It was asked with a validator that no page has, and said 304. A trusted device asked the same.
pub(crate) fn of_etag(trusted_status: u16) -> Verdict {
    match trusted_status {
        304 => Verdict::Cleared,
        status if is_page(status) => Verdict::FirstLied { hard: true },
        _ => Verdict::Open,
    }
}

/// It was asked for a page of our own, whose mark nobody can guess. A trusted device asked the same.
pub(crate) fn of_control(mark: &str, trusted: &Statement<'_>) -> Verdict {
    if is_page(trusted.status) && holds(trusted.body, mark) {
        Verdict::FirstLied { hard: true }
    } else {
        Verdict::Cleared
    }
}

/// What a fetch for a check shows, given what was said before. `None`: what was said is not kept any more.
pub fn find(
    check: &Check,
    first: Option<&Statement<'_>>,
    second: Option<&Statement<'_>>,
    said: &Statement<'_>,
) -> Finding {
    let mark = check.secret.as_deref().unwrap_or_default();
    match (check.state, check.kind) {
        (CheckState::Open, CheckKind::Control) => match (said.status, holds(said.body, mark)) {
            (200..=299, true) => Finding::Agreed,
            (200..=399, false) => Finding::Differs,
            // Our own site may be out of reach from there.
            _ => Finding::Doubtful,
        },
        (CheckState::Open, CheckKind::Known) => compared(second.map(|known| agreement(said, known))),
        (CheckState::Open, _) => compared(first.map(|first| agreement(first, said))),
        (_, CheckKind::Etag) => Finding::Judged(of_etag(said.status)),
        (_, CheckKind::Control) => Finding::Judged(of_control(mark, said)),
        _ => match (first, second) {
            (Some(first), Some(second)) => Finding::Judged(of_three(first, second, said)),
            _ => Finding::Judged(Verdict::Open),
        },
    }
}

fn compared(agreement: Option<Agreement>) -> Finding {
    match agreement {
        Some(Agreement::Same) => Finding::Agreed,
        Some(Agreement::Different) => Finding::Differs,
        Some(Agreement::Unclear) | None => Finding::Doubtful,
    }
}

/// Whether a body holds the mark.
fn holds(body: &[u8], mark: &str) -> bool {
    !mark.is_empty() && body.windows(mark.len()).any(|window| window == mark.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUE: &str = "the river rose over night and the bridge at the old mill was closed to all carts until noon";
    const FALSE: &str = "buy many good things here today for nobody else has such offers as we have this week only";

    fn party(owner: &str, country: Option<&str>) -> Party {
        Party { owner: owner.into(), country: country.map(str::to_owned), ..Party::default() }
    }

    fn said<'a>(by: &'a Party, status: u16, body: &'a str) -> Statement<'a> {
        Statement { by, status, location: None, body: body.as_bytes(), unchanged: false }
    }

    #[track_caller]
    fn check(three: [(u16, &str); 3], expected: Verdict) {
        let [a, b, c] = [party("ana", None), party("bob", None), party("malla", None)];
        let [one, two, three] = three;
        let verdict = of_three(&said(&a, one.0, one.1), &said(&b, two.0, two.1), &said(&c, three.0, three.1));
        assert_eq!(verdict, expected);
    }

    #[test]
    fn who_stands_alone_has_lied() {
        check([(200, FALSE), (200, TRUE), (200, TRUE)], Verdict::FirstLied { hard: false });
        check([(200, TRUE), (200, FALSE), (200, TRUE)], Verdict::SecondLied);
        check([(200, TRUE), (200, TRUE), (200, TRUE)], Verdict::Cleared);
        check([(302, ""), (200, TRUE), (200, TRUE)], Verdict::FirstLied { hard: false });
    }

    #[test]
    fn what_tells_nothing_convicts_nobody() {
        let third = "a third text that has nothing in common with any of the other two at all in its words";
        check([(200, FALSE), (200, TRUE), (200, third)], Verdict::Open);
        check([(580, ""), (200, TRUE), (200, TRUE)], Verdict::Open);
        check([(403, ""), (200, TRUE), (200, TRUE)], Verdict::Open);
        check([(200, FALSE), (200, TRUE), (580, "")], Verdict::Open);
        check([(200, FALSE), (580, ""), (200, TRUE)], Verdict::Open);
    }

    #[test]
    fn another_country_may_see_another_page() {
        let [ar, de, es] = [party("ana", Some("AR")), party("bob", Some("DE")), party("malla", Some("ES"))];
        let verdict = |first: &Party| of_three(&said(first, 200, FALSE), &said(&de, 200, TRUE), &said(&es, 200, TRUE));
        assert_eq!(verdict(&ar), Verdict::FirstApart);
        assert_eq!(verdict(&party("ana", Some("DE"))), Verdict::FirstLied { hard: false });
        assert_eq!(verdict(&party("ana", None)), Verdict::FirstLied { hard: false });
    }

    #[test]
    fn unchanged_is_no_lie_if_the_page_may_have_changed() {
        let [a, b, c] = [party("ana", None), party("bob", None), party("malla", None)];
        let first = Statement { unchanged: true, ..said(&a, 200, FALSE) };
        assert_eq!(of_three(&first, &said(&b, 200, TRUE), &said(&c, 200, TRUE)), Verdict::Open);
    }

    #[test]
    fn a_validator_that_no_page_has_finds_the_lazy() {
        assert_eq!(of_etag(200), Verdict::FirstLied { hard: true });
        assert_eq!(of_etag(304), Verdict::Cleared);
        assert_eq!(of_etag(503), Verdict::Open);
    }
}
