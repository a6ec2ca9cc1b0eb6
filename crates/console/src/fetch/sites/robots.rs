//! A site's robots.txt, and the question whether a page may be fetched.

use malla_fetch::{KnownRobots, Site, Standing, Verdict};
use malla_queue::UnixMs;
use maud::{Markup, html};

use super::super::{AGENT, SITE, status_badge};
use super::{Shown, told};
use crate::params::Params;
use crate::{content, parts, words};

pub(super) fn card(now: UnixMs, robots: Option<&KnownRobots>) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { "robots.txt" } }
            @match robots {
                None => p.quiet { (t!("Not known yet: it is fetched before the first page.")) },
                Some(robots) => {
                    @let standing = Standing::of_answer(robots.status, &robots.text);
                    p { (told::robots(robots.status, &standing)) }
                    dl.facts {
                        dt { (t!("Status")) } dd { (status_badge(robots.status)) }
                        dt { (t!("Fetched")) } dd { (words::time(now, robots.fetched_at)) }
                        dt { (t!("Asked for again")) } dd { (words::time(now, robots.until)) }
                    }
                    @if matches!(standing, Standing::Rules(_)) { (content::show_text(&robots.text)) }
                },
            }
        }
    }
}

/// The form that asks, and the answer to what was asked.
pub(super) fn question(shown: &Shown, params: &Params) -> Markup {
    let typed = params.typed("path");
    let answer = params.get("path").map(|path| answer(&shown.site, shown.robots.as_ref(), path));
    let (error, verdict) = match &answer {
        Some(Err(sentence)) => (Some(sentence.as_str()), None),
        Some(Ok(verdict)) => (None, Some(verdict)),
        None => (None, None),
    };
    html! {
        section.card #may {
            div.card-head { h2 { (rich!("May {} fetch this path?", AGENT)) } }
            form.fields method="get" action={ (SITE) "#may" } {
                input type="hidden" name="url" value=(shown.site);
                (parts::field(t!("Path"), t!("Or the address of a page of this site."), error, html! {
                    input name="path" value=(typed) placeholder="/private/" autocapitalize="none" spellcheck="false"
                        autocomplete="off" required;
                }))
                div.buttons { button { (t!("Ask")) } }
            }
            @if let Some((allowed, sentence)) = verdict {
                p.notice.good[*allowed].bad[!*allowed] role="status" { (sentence) }
            }
        }
    }
}

/// Whether the page may be fetched, in a sentence; or what is wrong with the question.
fn answer(site: &Site, robots: Option<&KnownRobots>, typed: &str) -> Result<(bool, String), String> {
    let url = site.robots().join(typed).map_err(|why| words::capital(&format!("{why}.")))?;
    if url.site() != *site {
        return Err(say!("This is a page of {}, not of this site.", url.site()));
    }
    let Some(robots) = robots else {
        return Err(t!("Its robots.txt is not known yet: it is fetched before the first page.").into());
    };
    let path = url.path_and_query();
    let verdict: Verdict = Standing::of_answer(robots.status, &robots.text).verdict(AGENT, path);
    Ok((verdict.allowed, told::verdict(site, path, &verdict)))
}

#[cfg(test)]
mod tests {
    use malla_fetch::PageUrl;

    use super::*;

    fn ask(status: u16, typed: &str) -> Result<(bool, String), String> {
        let site = PageUrl::parse("https://example.org/").expect("a URL").site();
        let text = b"User-agent: *\nDisallow: /private/\nAllow: /private/open".to_vec();
        let robots = KnownRobots { status, text, fetched_at: UnixMs(0), until: UnixMs(1) };
        answer(&site, Some(&robots), typed)
    }

    #[test]
    fn the_answer_names_the_rule() {
        for (status, typed, allowed, words) in [
            (200, "/private/a", false, "may not fetch https://example.org/private/a: the rule is Disallow: /private/."),
            (200, "/private/open?x", true, "the rule is Allow: /private/open."),
            (200, "https://example.org/b", true, "may fetch https://example.org/b: no rule speaks of it."),
            (404, "/private/a", true, "no rule speaks of it."),
            (503, "/a", false, "its robots.txt could not be fetched."),
        ] {
            let (may, sentence) = ask(status, typed).expect("an answer");
            assert_eq!(may, allowed, "{typed}");
            assert!(sentence.contains(words), "{sentence}");
        }
    }

    #[test]
    fn a_question_about_something_else_is_turned_away() {
        for (typed, words) in [
            ("https://other.example/", "This is a page of https://other.example, not of this site."),
            ("javascript:alert(1)", "Only http and https are fetched, not javascript."),
        ] {
            assert_eq!(ask(200, typed), Err(words.to_owned()), "{typed}");
        }
        let site = PageUrl::parse("https://example.org/").expect("a URL").site();
        assert!(answer(&site, None, "/a").is_err_and(|sentence| sentence.contains("not known yet")));
    }
}
