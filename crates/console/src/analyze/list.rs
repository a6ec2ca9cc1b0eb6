//! The list of analyses, newest first.

use axum::extract::State as Shared;
use axum::response::Response;
use malla_access::Permission;
use malla_analyze::{Study, StudyId};
use malla_queue::GroupId;
use maud::{Markup, html};

use super::{ANALYSES, table};
use crate::caller::Person;
use crate::frame::Page;
use crate::listing::{Listed, Order, ROWS};
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, export, groups, parts};

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params).await
}

pub(crate) async fn page(console: &Console, person: &Person, params: &Params) -> Result<Page, Refusal> {
    let below: Option<StudyId> = params.get("cursor").map(str::parse).transpose()?;
    let found = console.analyze.studies(&person.principal.scope(), below, ROWS + 1).await?;
    let found = Listed::of(found, |study| study.id.to_string());
    let page = Page::new(ANALYSES, t!("Analyses")).lead(
        html! { (t!("Answers over streams of records, each counted exactly once whatever happens on the way.")) },
    );
    let page = page.csv("/analyses.csv".to_owned()).api(person, "/api/v1/analyses");
    let rows = rows(console, person, &found.items).await?;
    Ok(found.on(page, &params.only(&["cursor"]), Order::NewestFirst, "analyses", rows))
}

pub(crate) async fn csv(Shared(console): Shared<Console>, visitor: Visitor<See>) -> Response {
    const COLUMNS: [&str; 8] = ["analysis", "kind", "state", "batches", "mapped", "bytes", "group", "created_at"];
    let scope = visitor.principal.scope();
    export::csv("analyses", &COLUMNS, move |below: Option<StudyId>, most| {
        let (console, scope) = (console.clone(), scope.clone());
        async move {
            let studies = console.analyze.studies(&scope, below, most).await?;
            let ids: Vec<GroupId> = studies.iter().filter_map(|study| study.group).collect();
            let names = console.access.group_names(&ids).await?;
            let next = studies.last().map(|study| study.id).filter(|_| studies.len() == most);
            let group = |study: &Study| study.group.and_then(|id| names.get(&id)).cloned().unwrap_or_default();
            Ok((studies.iter().map(|study| cells(study, group(study))).collect(), next))
        }
    })
}

fn cells(study: &Study, group: String) -> Vec<String> {
    vec![
        study.id.to_string(),
        study.kind.clone(),
        study.state.name().to_owned(),
        study.taken.to_string(),
        study.mapped.to_string(),
        study.bytes.to_string(),
        group,
        export::moment(Some(study.created_at)),
    ]
}

async fn rows(console: &Console, person: &Person, studies: &[Study]) -> Result<Markup, Refusal> {
    if studies.is_empty() {
        return Ok(nothing(person));
    }
    let names = groups::names(console, studies.iter().map(|study| study.group)).await?;
    Ok(html! { section.card { (table(console.now(), studies, Some(&names))) } })
}

fn nothing(person: &Person) -> Markup {
    if !person.may(Permission::Change) {
        return parts::empty(
            t!("Nothing has been analysed yet. The analyses of your groups will be shown here."),
            None,
        );
    }
    parts::empty_with_command(
        t!(
            "Nothing has been analysed yet. Begin with a folder of bike rides, one folder a city in it, from a terminal:"
        ),
        "malla bikes ./bikes",
    )
}
