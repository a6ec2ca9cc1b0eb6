//! One endpoint: its address, its options, its subscriptions, what came in last, and its end.

use axum::extract::{Path, State as Shared};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use malla_access::Permission;
use malla_notify::{Endpoint, EndpointChange, EventFilter, EventSummary, Subscription};
use malla_queue::{Act, Error, UnixMs};
use maud::{Markup, html};

use super::super::secret::{Made, shown_once};
use super::super::{
    ENDPOINTS, EVENTS, LATEST, NEW_SUBSCRIPTION, SUBSCRIPTIONS, all_of, endpoint_path, events, post_line, state_badge,
    statistics, subscription_link,
};
use super::{address, asks_for, options, trial};
use crate::caller::{Notice, Person};
use crate::form::{Form, Trouble};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::{Refusal, mendable};
use crate::tongue::Text;
use crate::visitor::{Change, Posted, See, Visitor, go};
use crate::{Console, groups, parts, words};

const SYSTEM_SENTENCE: Text = key!(
    "Malla's own events arrive here (a task that failed for good, a new revision of a page, …). Subscribe to it to be told of them: a subscription gets the events of its own group, one without a group gets all. Nobody posts to it, and it cannot be changed."
);

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
    let (typed, first) = (options::fields_of(&shown.endpoint.options), trial::fields());
    Ok(shown.page(person, news, &Form { typed: &typed, wrong: None }, &Form { typed: &first, wrong: None }))
}

/// With a test event that was not taken.
pub(super) async fn page_with_trial(
    console: &Console,
    person: &Person,
    name: &str,
    trial: &Form<'_>,
) -> Result<Page, Refusal> {
    let shown = Shown::find(console, person, name).await?;
    let typed = options::fields_of(&shown.endpoint.options);
    Ok(shown.page(person, html! {}, &Form { typed: &typed, wrong: None }, trial))
}

/// What the page is made of.
struct Shown {
    now: UnixMs,
    endpoint: Endpoint,
    group: Option<String>,
    subscriptions: Vec<Subscription>,
    events: Vec<EventSummary>,
}

impl Shown {
    async fn find(console: &Console, person: &Person, name: &str) -> Result<Self, Refusal> {
        let scope = person.principal.scope();
        let endpoint = console.notify.endpoint(&scope, name).await?;
        let latest =
            EventFilter { scope: scope.clone(), endpoint: Some(name.into()), content: None, from: None, to: None };
        let (subscriptions, events) = tokio::try_join!(
            console.notify.subscriptions(&scope, Some(name), None, LATEST + 1),
            console.notify.events(&latest, None, LATEST),
        )?;
        let group = groups::names(console, [endpoint.group].into_iter()).await?.into_values().next();
        Ok(Self { now: console.now(), endpoint, group, subscriptions, events: events.events })
    }

    fn page(&self, person: &Person, news: Markup, change: &Form<'_>, trial: &Form<'_>) -> Page {
        let endpoint = &self.endpoint;
        let page = Page::new(ENDPOINTS, endpoint.name.clone()).up(ENDPOINTS, t!("Endpoints")).still(news);
        let page =
            if endpoint.is_system() { page.lead(html! { (SYSTEM_SENTENCE) }) } else { page.still(self.facts(person)) };
        let page = page
            .still(self.figures())
            .still(self.subscribers(person))
            .live("events", self.latest())
            .still(trial::card(person, endpoint, trial));
        if endpoint.is_system() || !person.may(Permission::Change) {
            return page;
        }
        page.still(self.settings(person, change)).still(self.end(person))
    }

    fn facts(&self, person: &Person) -> Markup {
        let options = &self.endpoint.options;
        let size = usize::try_from(options.max_body).unwrap_or(usize::MAX);
        html! {
            section.card {
                div.card-head { h2 { (t!("Facts")) } }
                dl.facts {
                    @if !options.description.is_empty() { dt { (t!("What for")) } dd { (options.description) } }
                    dt { (t!("Address")) } dd { (address(&self.endpoint)) }
                    dt { (t!("Protocol")) } dd { (self.endpoint.protocol().name()) }
                    dt { (t!("Asks for")) } dd { (asks_for(&self.endpoint)) }
                    dt { (t!("Largest body")) } dd { (words::bytes(size)) }
                    dt { (t!("Keeps events")) }
                    dd { @match options.retention_days {
                        Some(days) => (counted!(u64::from(days), "day", "days")),
                        None => (t!("as long as the house does")),
                    } }
                    dt { (t!("Group")) }
                    dd { @match &self.group { Some(group) => (group), None => span.quiet { (t!("none: seen by admins only")) } } }
                    dt { (t!("Created")) } dd { (words::time(self.now, self.endpoint.created_at)) }
                }
                @if options.mqtt.is_none() { (parts::command_line(&post_line(person, &self.endpoint))) }
            }
        }
    }

    fn figures(&self) -> Markup {
        html! { div.buttons { a.button href=(statistics::of_endpoint(&self.endpoint.name)) { (t!("Statistics")) } } }
    }

    fn subscribers(&self, person: &Person) -> Markup {
        let name = self.endpoint.name.as_str();
        let more = self.subscriptions.len() > LATEST;
        html! {
            section.card {
                div.card-head {
                    h2 { (t!("Subscriptions")) }
                    span.actions {
                        @if more { a href=(all_of("endpoint", name, SUBSCRIPTIONS)) { (t!("All subscriptions")) } }
                        @if person.may(Permission::Change) {
                            a.button.small href=(all_of("endpoint", name, NEW_SUBSCRIPTION)) { (t!("New subscription")) }
                        }
                    }
                }
                @if self.subscriptions.is_empty() {
                    p.quiet { (t!("Nobody has subscribed: what arrives is kept and goes nowhere.")) }
                } @else {
                    table.rows { tbody { @for one in self.subscriptions.iter().take(LATEST) { tr {
                        td data-label=(t!("Subscription")) { (subscription_link(&one.name)) }
                        td data-label=(t!("State")) { (state_badge(one.state)) }
                        td data-label=(t!("Target")) { (one.spec.target.masked()) }
                    } } } }
                }
            }
        }
    }

    fn latest(&self) -> Markup {
        html! {
            section.card {
                div.card-head {
                    h2 { (t!("Latest events")) }
                    @if !self.events.is_empty() {
                        a href=(all_of("endpoint", &self.endpoint.name, EVENTS)) { (t!("All events")) }
                    }
                }
                @if self.events.is_empty() { p.quiet { (t!("Nothing has come in yet.")) } }
                @else { (events::table(self.now, &self.events, false)) }
            }
        }
    }

    fn settings(&self, person: &Person, form: &Form<'_>) -> Markup {
        html! {
            section.card {
                details.settings open[form.wrong.is_some()] {
                    summary.card-head { h2 { (t!("Options")) } }
                    (form.head())
                    form.fields method="post" action=(endpoint_path(&self.endpoint.name)) {
                        (parts::form_secret(person))
                        (options::fields(form, &self.endpoint.options))
                        div.buttons { button.primary { (t!("Save")) } }
                    }
                }
            }
        }
    }

    fn end(&self, person: &Person) -> Markup {
        let name = &self.endpoint.name;
        let warning = t!(
            "What is posted to it will be refused. Its events stay until they are old. It can go when it has no subscriptions any more."
        );
        parts::delete_form(person, &format!("{}/delete", endpoint_path(name)), name, warning)
    }
}

pub(crate) async fn change(
    Shared(console): Shared<Console>,
    Path(name): Path<String>,
    posted: Posted<Change>,
) -> Result<Response, Refusal> {
    let Posted { visitor, fields } = &posted;
    let shown = Shown::find(&console, visitor, &name).await?;
    if shown.endpoint.is_system() {
        return Err(Refusal::new(StatusCode::CONFLICT, t!("the endpoint of Malla's own events cannot be changed")));
    }
    match save(&console, visitor, &shown.endpoint, fields).await {
        Ok(made) if made.is_empty() => {
            Ok(go(&console, &endpoint_path(&name), Notice::good(t!("The endpoint's options are saved."))))
        }
        Ok(made) => {
            let news = shown_once(&say!("Endpoint {name} has a new", name), &made);
            Ok(page_with(&console, visitor, &name, news).await?.at_rest().into_response())
        }
        Err(trouble) => {
            let (wrong, first) = (trouble.mend()?, trial::fields());
            let form = Form { typed: fields, wrong: Some(&wrong) };
            let page = shown.page(visitor, html! {}, &form, &Form { typed: &first, wrong: None });
            Ok(page.status(StatusCode::UNPROCESSABLE_ENTITY).at_rest().into_response())
        }
    }
}

async fn save(console: &Console, person: &Person, before: &Endpoint, fields: &Params) -> Result<Vec<Made>, Trouble> {
    let (options, made) = options::read(fields, before.options.clone())?;
    let act = Act {
        group: before.group,
        detail: options::told(&options),
        ..Act::new(&person.principal.actor, "endpoint.change", &before.name)
    };
    let change = EndpointChange { options: Some(options) };
    console.notify.change_endpoint(&person.principal.scope(), &before.name, change, act).await?;
    Ok(made)
}

pub(crate) async fn delete(
    Shared(console): Shared<Console>,
    Path(name): Path<String>,
    posted: Posted<Change>,
) -> Result<Response, Refusal> {
    let principal = &posted.visitor.principal;
    if name == malla_notify::SYSTEM {
        return Err(Refusal::new(StatusCode::CONFLICT, t!("the endpoint of Malla's own events stays")));
    }
    let act = Act::new(&principal.actor, "endpoint.delete", &name);
    match console.notify.delete_endpoint(&principal.scope(), &name, act).await {
        Ok(()) => Ok(go(&console, ENDPOINTS, Notice::good(say!("Endpoint {name} is deleted.", name)))),
        Err(error @ Error::NotFound(_)) => Err(error.into()),
        Err(error) => Ok(go(&console, &endpoint_path(&name), Notice::bad(mendable(error)?))),
    }
}
