//! One subscription: how it goes, what it sent last, its settings and its end.

use axum::extract::{Path, State as Shared};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use malla_access::Permission;
use malla_notify::{Auth, Notification, NotificationFilter, Subscription, SubscriptionChange, SubscriptionState};
use malla_queue::{Act, Error, State, StateCounts, UnixMs};
use maud::{Markup, html};

use super::super::notifications::{self, Columns};
use super::super::secret::{Made, shown_once};
use super::super::{
    LATEST, NOTIFICATIONS, SUBSCRIPTIONS, all_of, endpoint_link, state_badge, statistics, subscription_path,
};
use super::{fields, list, spec, state, written};
use crate::caller::{Notice, Person};
use crate::form::{Form, Trouble};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::{Refusal, mendable};
use crate::visitor::{Change, Posted, See, Visitor, go};
use crate::{Console, groups, parts, words};

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    Path(name): Path<String>,
    visitor: Visitor<See>,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &name).await
}

pub(crate) async fn page(console: &Console, person: &Person, name: &str) -> Result<Page, Refusal> {
    page_with(console, person, name, html! {}).await
}

/// With something to be read first.
pub(super) async fn page_with(console: &Console, person: &Person, name: &str, news: Markup) -> Result<Page, Refusal> {
    let shown = Shown::find(console, person, name).await?;
    let typed = spec::fields_of(&shown.subscription.spec);
    Ok(shown.page(person, news, &Form { typed: &typed, wrong: None }))
}

/// What the page is made of.
struct Shown {
    now: UnixMs,
    subscription: Subscription,
    group: Option<String>,
    counts: StateCounts,
    latest: Vec<Notification>,
}

impl Shown {
    async fn find(console: &Console, person: &Person, name: &str) -> Result<Self, Refusal> {
        let scope = person.principal.scope();
        let subscription = console.notify.subscription(&scope, name).await?;
        let own = NotificationFilter { subscription: Some(name.into()), ..NotificationFilter::all(scope.clone()) };
        let counts = list::counts(console, &scope, &subscription).await?;
        let latest = console.notify.notifications(&own, None, LATEST).await?.notifications;
        let group = groups::names(console, [subscription.group].into_iter()).await?.into_values().next();
        Ok(Self { now: console.now(), subscription, group, counts, latest })
    }

    fn page(&self, person: &Person, news: Markup, form: &Form<'_>) -> Page {
        let page = Page::new(SUBSCRIPTIONS, self.subscription.name.clone())
            .up(SUBSCRIPTIONS, t!("Subscriptions"))
            .still(news)
            .live("state", self.head())
            .still(html! {
                div.bulk {
                    (state::buttons(person, &self.subscription, &self.counts))
                    a.button href=(statistics::of_subscription(&self.subscription.name)) { (t!("Statistics")) }
                }
            })
            .live("tiles", self.tiles())
            .live("latest", self.latest(person))
            .still(self.facts());
        if !person.may(Permission::Change) {
            return page;
        }
        page.still(self.settings(person, form)).still(self.end(person))
    }

    fn head(&self) -> Markup {
        let one = &self.subscription;
        html! {
            div.task-head {
                (state_badge(one.state))
                span.quiet { (t!("events of")) } (endpoint_link(&one.endpoint_name))
                span.quiet { (t!("to")) } code { (one.spec.target.masked()) }
            }
        }
    }

    fn tiles(&self) -> Markup {
        let own = Params::from([("subscription", self.subscription.name.as_str())]);
        html! {
            ul.tiles.small-tiles aria-label=(t!("Notifications by state")) {
                @for state in State::ALL {
                    li { a.tile href=(own.with("state", state.name()).link(NOTIFICATIONS)) {
                        span.tile-name { span class={ "dot s-" (state) } {} (parts::state_name(state)) }
                        strong.zero[self.counts.of(state) == 0] { (words::count(self.counts.of(state))) }
                    } }
                }
            }
        }
    }

    fn latest(&self, person: &Person) -> Markup {
        html! {
            section.card {
                div.card-head {
                    h2 { (t!("Latest notifications")) }
                    @if !self.latest.is_empty() {
                        a href=(all_of("subscription", &self.subscription.name, NOTIFICATIONS)) { (t!("All notifications")) }
                    }
                }
                @if self.latest.is_empty() { p.quiet { (t!("None yet: nothing that it wants has come in.")) } }
                @else { (notifications::table(person, self.now, &self.latest, Columns::OfSubscription)) }
            }
        }
    }

    fn facts(&self) -> Markup {
        let spec = &self.subscription.spec;
        let delays = written::delays(&spec.retry_delays_s);
        html! {
            section.card {
                div.card-head { h2 { (t!("Facts")) } }
                dl.facts {
                    dt { (t!("Target")) } dd { code { (spec.target.masked()) } }
                    dt { (t!("Retry delays")) } dd { @if delays.is_empty() { (t!("none: one attempt")) } @else { (delays) } }
                    dt { (t!("Timeout")) } dd { (words::lasted(spec.timeout())) }
                    dt { (t!("At once")) } dd { (spec.parallel) }
                    dt { (t!("Filter", "noun")) }
                    dd { @match &spec.filter {
                        Some(filter) => code { (serde_json::to_string(filter).unwrap_or_default()) },
                        None => span.quiet { (t!("every event")) },
                    } }
                    dt { (t!("Signed")) } dd { (signed(&self.subscription, self.now)) }
                    dt { (t!("Sign-in")) }
                    dd { @match &spec.auth {
                        Some(Auth::Basic { username, .. }) => { (rich!("as {}, with a password", username)) },
                        Some(Auth::Bearer(_)) => (t!("with a bearer token")),
                        None => span.quiet { (t!("none")) },
                    } }
                    dt { "CloudEvents" } dd { (spec::cloudevents_name(spec.cloudevents)) }
                    @if !spec.headers.is_empty() {
                        dt { (t!("Headers")) } dd { (spec.headers.keys().map(String::as_str).collect::<Vec<_>>().join(", ")) }
                    }
                    dt { (t!("Group")) }
                    dd { @match &self.group { Some(group) => (group), None => span.quiet { (t!("none: seen by admins only")) } } }
                    dt { (t!("Created")) } dd { (words::time(self.now, self.subscription.created_at)) }
                    dt { (t!("Lane")) } dd { (parts::lane_link(&self.subscription.lane())) }
                }
            }
        }
    }

    fn settings(&self, person: &Person, form: &Form<'_>) -> Markup {
        html! {
            section.card {
                details.settings open[form.wrong.is_some()] {
                    summary.card-head { h2 { (t!("Settings")) } }
                    (form.head())
                    form.fields method="post" action=(subscription_path(&self.subscription.name)) {
                        (parts::form_secret(person))
                        (fields::target(form))
                        (fields::rest(form, &self.subscription.spec))
                        div.buttons { button.primary { (t!("Save")) } }
                    }
                }
            }
        }
    }

    fn end(&self, person: &Person) -> Markup {
        let name = &self.subscription.name;
        if self.subscription.state != SubscriptionState::Disabled {
            return html! { p.quiet { (t!("To delete it, disable it first.")) } };
        }
        let warning = t!("Its finished notifications stay until they are old.");
        parts::delete_form(person, &format!("{}/delete", subscription_path(name)), name, warning)
    }
}

/// Whether it signs, and until when the secret before does, too.
fn signed(one: &Subscription, now: UnixMs) -> Markup {
    let previous = one.spec.previous_secret.as_ref().filter(|(_, until)| *until > now);
    html! {
        @if one.spec.secret.is_some() { (t!("yes")) } @else { span.quiet { (t!("no")) } }
        @if let Some((_, until)) = previous { (rich!(", and with the secret before until {}", words::full(*until))) }
    }
}

pub(crate) async fn change(
    Shared(console): Shared<Console>,
    Path(name): Path<String>,
    posted: Posted<Change>,
) -> Result<Response, Refusal> {
    let Posted { visitor, fields } = &posted;
    let shown = Shown::find(&console, visitor, &name).await?;
    match save(&console, visitor, &shown.subscription, fields).await {
        Ok(made) if made.is_empty() => {
            Ok(go(&console, &subscription_path(&name), Notice::good(t!("The subscription's settings are saved."))))
        }
        Ok(made) => {
            let news = shown_once(&say!("Subscription {name} has a new", name), &made);
            Ok(page_with(&console, visitor, &name, news).await?.at_rest().into_response())
        }
        Err(trouble) => {
            let wrong = trouble.mend()?;
            let page = shown.page(visitor, html! {}, &Form { typed: fields, wrong: Some(&wrong) });
            Ok(page.status(StatusCode::UNPROCESSABLE_ENTITY).at_rest().into_response())
        }
    }
}

async fn save(
    console: &Console,
    person: &Person,
    before: &Subscription,
    fields: &Params,
) -> Result<Vec<Made>, Trouble> {
    let (spec, made) = spec::read(fields, before.spec.clone(), console.now())?;
    let act = Act {
        group: before.group,
        detail: spec::told(&spec),
        ..Act::new(&person.principal.actor, "subscription.change", &before.name)
    };
    let change = SubscriptionChange { state: None, spec: Some(spec) };
    console.notify.change_subscription(&person.principal.scope(), &before.name, change, act).await?;
    Ok(made)
}

pub(crate) async fn delete(
    Shared(console): Shared<Console>,
    Path(name): Path<String>,
    posted: Posted<Change>,
) -> Result<Response, Refusal> {
    let principal = &posted.visitor.principal;
    let act = Act::new(&principal.actor, "subscription.delete", &name);
    match console.notify.delete_subscription(&principal.scope(), &name, act).await {
        Ok(()) => Ok(go(&console, SUBSCRIPTIONS, Notice::good(say!("Subscription {name} is deleted.", name)))),
        Err(error @ Error::NotFound(_)) => Err(error.into()),
        Err(error) => Ok(go(&console, &subscription_path(&name), Notice::bad(mendable(error)?))),
    }
}
