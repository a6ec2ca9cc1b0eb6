//! The frame around every page: its head, the navigation, who is signed in. And [`Page`], what goes inside.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use malla_access::Permission;
use maud::{DOCTYPE, Markup, html};

use crate::caller::{Caller, Person};
use crate::theme::Theme;
use crate::tongue::{Lang, Text};
use crate::{analyze, assets, cluster, fetch, icons, notify, parts, settings, wiki};

/// A place in the navigation. A room adds its line here.
struct Place {
    path: &'static str,
    name: Text,
    icon: fn() -> Markup,
    section: Text,
    needs: Permission,
    /// Its own pages, if it has more than one.
    inside: &'static [(&'static str, Text)],
}

impl Place {
    const fn work(path: &'static str, name: Text, icon: fn() -> Markup) -> Self {
        Self { path, name, icon, section: key!("Work"), needs: Permission::See, inside: &[] }
    }

    const fn room(path: &'static str, name: Text, icon: fn() -> Markup) -> Self {
        Self { section: key!("Rooms"), ..Self::work(path, name, icon) }
    }

    const fn house(path: &'static str, name: Text, icon: fn() -> Markup, needs: Permission) -> Self {
        Self { section: key!("House"), needs, ..Self::work(path, name, icon) }
    }

    fn has(&self, page: &str) -> bool {
        self.path == page || self.inside.iter().any(|(path, _)| *path == page)
    }
}

const PLACES: &[Place] = &[
    Place::work("/", key!("Overview"), icons::overview),
    Place::work("/tasks", key!("Tasks"), icons::tasks),
    Place::work("/lanes", key!("Lanes"), icons::lanes),
    Place { inside: notify::PAGES, ..Place::room("/notify", key!("Notify"), icons::notify) },
    Place { inside: fetch::PAGES, ..Place::room("/fetch", key!("Fetch"), icons::fetch) },
    Place { inside: wiki::PAGES, ..Place::room(wiki::WIKI, key!("Wiki"), icons::wiki) },
    Place::room(analyze::ANALYSES, key!("Analyses"), icons::analyze),
    Place::house("/audit", key!("Audit"), icons::audit, Permission::See),
    Place::house(cluster::CLUSTER, key!("Cluster"), icons::cluster, Permission::Administer),
    Place::house(settings::SETTINGS, key!("Settings"), icons::settings, Permission::Administer),
    Place::house("/users", key!("Users"), icons::users, Permission::Administer),
    Place::house("/groups", key!("Groups"), icons::groups, Permission::Administer),
    Place::house("/tokens", key!("Tokens"), icons::tokens, Permission::Administer),
];

/// A page without its frame: a title and blocks from top to bottom, some of which stay up to date.
pub(crate) struct Page {
    pub(crate) status: StatusCode,
    pub(crate) title: String,
    /// The place in the navigation it belongs to.
    place: &'static str,
    /// The way up: address and name.
    up: Option<(String, String)>,
    /// Without the navigation, whoever looks at it.
    alone: bool,
    /// One line under the title.
    lead: Option<Markup>,
    /// Where the list is had as CSV, with its filters.
    csv: Option<String>,
    /// The line for a terminal that gets what the page shows.
    by_hand: Option<String>,
    pub(crate) blocks: Vec<Block>,
}

pub(crate) enum Block {
    Still(Markup),
    /// Rendered again and sent when it has changed. The name is unique in its page.
    Live(&'static str, Markup),
}

impl Page {
    pub(crate) fn new(place: &'static str, title: impl Into<String>) -> Self {
        Self {
            status: StatusCode::OK,
            title: title.into(),
            place,
            up: None,
            alone: false,
            lead: None,
            csv: None,
            by_hand: None,
            blocks: Vec::new(),
        }
    }

    pub(crate) fn status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    pub(crate) fn alone(self) -> Self {
        Self { alone: true, ..self }
    }

    pub(crate) fn up(self, path: impl Into<String>, name: impl Into<String>) -> Self {
        Self { up: Some((path.into(), name.into())), ..self }
    }

    pub(crate) fn lead(self, lead: Markup) -> Self {
        Self { lead: Some(lead), ..self }
    }

    /// The list is had as a file there.
    pub(crate) fn csv(self, address: String) -> Self {
        Self { csv: Some(address), ..self }
    }

    /// What the page shows is had over the API there.
    pub(crate) fn api(self, person: &Person, address: &str) -> Self {
        let line = format!("curl -H \"Authorization: Bearer $MALLA_TOKEN\" '{}{address}'", person.server);
        Self { by_hand: Some(line), ..self }
    }

    pub(crate) fn still(mut self, block: Markup) -> Self {
        self.blocks.push(Block::Still(block));
        self
    }

    pub(crate) fn live(mut self, name: &'static str, block: Markup) -> Self {
        self.blocks.push(Block::Live(name, block));
        self
    }

    /// With nothing live: a page that answers a form has the form's address, not its own.
    pub(crate) fn at_rest(mut self) -> Self {
        for block in &mut self.blocks {
            if let Block::Live(_, markup) = block {
                *block = Block::Still(markup.clone());
            }
        }
        self
    }

    /// The page's own address, for one that is in the navigation.
    pub(crate) fn place(&self) -> &'static str {
        self.place
    }

    fn is_live(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::Live(..)))
    }
}

impl IntoResponse for Page {
    /// The page travels beside an empty body; the frame is put around it on the way out.
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}

/// The whole document.
pub(crate) fn document(caller: &Caller, page: &Page, version: &str) -> Markup {
    let theme = (caller.theme != Theme::System).then(|| caller.theme.name());
    html! {
        (DOCTYPE)
        html lang=(Lang::now().code()) data-theme=[theme] data-copy=(t!("Copy")) data-copied=(t!("Copied")) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (page.title) " · Malla" }
                link rel="stylesheet" href=(assets::CSS.address());
                link rel="icon" type="image/svg+xml" href=(assets::ICON.address());
                script src=(assets::JS.address()) defer {}
            }
            @match caller.person.as_ref().filter(|_| !page.alone) {
                Some(person) => body { (with_navigation(caller, person, page, version)) },
                None => body.bare { main #main { (inside(caller, page)) } },
            }
        }
    }
}

fn with_navigation(caller: &Caller, person: &Person, page: &Page, version: &str) -> Markup {
    html! {
        a.skip href="#main" { (t!("Skip to the content")) }
        header.side {
            a.brand href="/" { (icons::mesh()) span { "Malla" } }
            (navigation(person, page.place))
            (account(caller, person, version))
        }
        main #main { (tabs(page.place)) (inside(caller, page)) }
    }
}

/// The pages of the room one is in.
fn tabs(here: &str) -> Markup {
    let inside = PLACES.iter().find(|place| place.has(here)).map_or(&[][..], |place| place.inside);
    html! {
        @if !inside.is_empty() {
            nav.tabs aria-label=(t!("Pages of this room")) {
                @for (path, name) in inside { a href=(path) aria-current=[(*path == here).then_some("page")] { (name) } }
            }
        }
    }
}

fn navigation(person: &Person, here: &str) -> Markup {
    let visible: Vec<&Place> = PLACES.iter().filter(|place| shows(person, place)).collect();
    html! {
        nav aria-label=(t!("Pages")) {
            @for section in visible.chunk_by(|a, b| a.section == b.section) {
                div.section {
                    p.section-name { (section[0].section) }
                    @for place in section {
                        a href=(place.path) aria-current=[place.has(here).then_some("page")] {
                            (place_icon(place)) span { (place.name) }
                        }
                    }
                }
            }
        }
    }
}

/// The audit log of somebody who is in no group is empty for ever.
fn shows(person: &Person, place: &Place) -> bool {
    let nothing_there =
        place.path == "/audit" && !person.may(Permission::Administer) && person.principal.groups.is_empty();
    person.may(place.needs) && !nothing_there
}

fn place_icon(place: &Place) -> Markup {
    (place.icon)()
}

fn account(caller: &Caller, person: &Person, version: &str) -> Markup {
    html! {
        div.account {
            div.switches {
                form.themes method="post" action="/theme" role="group" aria-label=(t!("Colours")) {
                    (parts::form_secret(person)) (parts::back(person))
                    @for (theme, icon) in Theme::ALL.into_iter().zip([icons::system(), icons::sun(), icons::moon()]) {
                        button name="theme" value=(theme.name()) title=(say!("Colours: {}", theme.told()))
                            aria-label=(say!("Colours: {}", theme.told())) aria-pressed=(theme == caller.theme) { (icon) }
                    }
                }
                form.themes method="post" action="/language" role="group" aria-label=(t!("Language")) {
                    (parts::form_secret(person)) (parts::back(person))
                    @for lang in Lang::ALL {
                        button name="language" value=(lang.code()) title=(lang.name()) aria-label=(format!("{} – {}", lang.code().to_uppercase(), lang.name())) lang=(lang.code())
                            aria-pressed=(lang == Lang::now()) { (lang.code().to_uppercase()) }
                    }
                }
            }
            div.who {
                p { strong { (person.name) } br; span.quiet { (parts::role_name(person.principal.role)) } }
                @if person.signed_in {
                    form method="post" action="/logout" { (parts::form_secret(person)) button.plain { (t!("Log out")) } }
                } @else {
                    a.button.plain href="/login" { (t!("Sign in")) }
                }
            }
            p.version.quiet { "Malla " (version) " · " a href="/docs" { "API" } }
        }
    }
}

fn inside(caller: &Caller, page: &Page) -> Markup {
    html! {
        div.page-head {
            div {
                @if let Some((path, name)) = &page.up {
                    p.up { a href=(path) { "← " (name) } }
                }
                h1 { (page.title) }
                @if let Some(lead) = &page.lead { p.lead { (lead) } }
            }
            div.page-tools {
                @if let Some(csv) = &page.csv { a.button.plain.small href=(csv) download { "CSV" } }
                @if page.is_live() { (live_bar()) }
            }
        }
        @if let Some(notice) = &caller.notice {
            p.notice.good[notice.good].bad[!notice.good] role="status" { (notice.text) }
        }
        @for block in &page.blocks {
            @match block {
                Block::Still(markup) => (markup),
                Block::Live(name, markup) => div data-live=(name) { (markup) },
            }
        }
        @if let Some(line) = &page.by_hand {
            details.by-hand {
                summary { (t!("The same from a terminal")) }
                (parts::command_line(line))
            }
        }
    }
}

/// Shown by the script once it listens.
fn live_bar() -> Markup {
    html! {
        div.live-bar data-live-bar hidden data-say-live=(t!("live")) data-say-paused=(t!("paused", "page"))
            data-say-again=(t!("connecting again…")) data-say-pause=(t!("Pause")) data-say-go-on=(t!("Go on")) {
            span.live-mark data-live-mark role="status" aria-live="off" { (t!("connecting…")) }
            button.plain type="button" data-live-pause { (t!("Pause")) }
        }
    }
}

#[cfg(test)]
mod tests {
    use malla_access::{Principal, Role};
    use malla_queue::GroupId;

    use super::*;

    fn caller(role: Role, groups: Vec<GroupId>) -> Caller {
        let principal = Principal { actor: "user:ana".into(), role, groups };
        let person = Person {
            principal,
            name: "<ana>".into(),
            csrf: "c".into(),
            signed_in: true,
            here: "/".into(),
            server: "http://h".into(),
        };
        Caller { person: Some(Arc::new(person)), theme: Theme::Dark, ..Caller::default() }
    }

    #[test]
    fn the_navigation_shows_what_the_role_may_open() {
        let page = Page::new("/tasks", "Tasks");
        let admin = document(&caller(Role::Admin, vec![]), &page, "1").into_string();
        assert!(admin.contains("href=\"/users\"") && admin.contains("href=\"/audit\""));
        let member = document(&caller(Role::User, vec![GroupId(1)]), &page, "1").into_string();
        assert!(!member.contains("href=\"/users\"") && member.contains("href=\"/audit\""));
        let alone = document(&caller(Role::Readonly, vec![]), &page, "1").into_string();
        assert!(!alone.contains("href=\"/audit\"") && alone.contains("href=\"/tasks\""));
    }

    #[test]
    fn a_room_with_pages_shows_them_inside() {
        let inside = document(&caller(Role::Readonly, vec![]), &Page::new(notify::EVENTS, "Events"), "1").into_string();
        assert!(inside.contains("href=\"/notify\" aria-current=\"page\""), "{inside}");
        assert!(inside.contains("href=\"/notify/events\" aria-current=\"page\""), "{inside}");
        assert!(inside.contains("href=\"/notify/endpoints\">"), "{inside}");
        let outside = document(&caller(Role::Readonly, vec![]), &Page::new("/tasks", "Tasks"), "1").into_string();
        assert!(outside.contains("href=\"/notify\"") && !outside.contains("/notify/events"), "{outside}");
    }

    #[test]
    fn the_frame_escapes_names_and_carries_the_theme() {
        let page = Page::new("/", "a <title>").live("x", html! { "y" });
        let text = document(&caller(Role::Admin, vec![]), &page, "1").into_string();
        assert!(text.contains("&lt;ana&gt;") && text.contains("a &lt;title&gt;") && !text.contains("<ana>"));
        assert!(text.contains("data-theme=\"dark\"") && text.contains("data-live=\"x\""));
        assert!(!text.contains("style=") && !text.contains("onclick"), "nothing inline: the policy forbids it");
    }
}
