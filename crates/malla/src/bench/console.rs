//! `malla bench console`: how long the console's pages take when the store is full.

mod filling;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::json;

use self::filling::fill;
use super::histories::title;
use super::report::Report;
use super::wire::Caller;
use crate::output::talk;
use crate::throwaway::Throwaway;

/// How often each page is asked for.
const TIMES: usize = 40;
/// What a page shall take at most, nineteen times of twenty.
const AIM_MS: f64 = 50.0;
const ADMIN: &str = "bench-admin";
const USER: &str = "bench-user";
const PASSWORD: &str = "measured and found fast";
/// A file that says that the directory is full.
const FULL: &str = "filled-for-bench";

#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// Of each: tasks, events (with a notification each) and revisions.
    pub(crate) each: u64,
    pub(crate) lanes: u64,
    pub(crate) subscriptions: u64,
}

impl Load {
    pub(crate) const FULL: Self = Self { each: 1_000_000, lanes: 20_000, subscriptions: 100 };
    pub(crate) const QUICK: Self = Self { each: 100_000, lanes: 2_000, subscriptions: 100 };
}

/// Where the data lie.
pub(crate) enum Data {
    /// A directory that stays, filled now or by an earlier run.
    Kept(PathBuf),
    Temporary,
}

/// Measures a server on the embedded store (`store` empty) or on this PostgreSQL.
pub(crate) async fn run(store: &str, data: Data, load: Load, only: &[String], report: &mut Report) -> Result<()> {
    report.store(if store.is_empty() { "sqlite" } else { "postgres" });
    let temporary = match &data {
        Data::Kept(_) => None,
        Data::Temporary => Some(tempfile::tempdir_in(".").context("cannot make a temporary directory here")?),
    };
    let place: &Path = match (&data, &temporary) {
        (Data::Kept(place), _) => place,
        (_, Some(temporary)) => temporary.path(),
        (Data::Temporary, None) => bail!("a place for the data is missing"),
    };
    std::fs::create_dir_all(place).with_context(|| format!("cannot make {}", place.display()))?;
    if place.join(FULL).exists() {
        talk("the store is full already");
    } else {
        let url =
            if store.is_empty() { format!("sqlite:{}", place.join("malla.db").display()) } else { store.to_owned() };
        let began = Instant::now();
        fill(&url, load).await?;
        std::fs::write(place.join(FULL), "")?;
        report.line("filling the store", began.elapsed().as_secs_f64(), "s", &format!("{} of each", load.each));
    }
    let arguments: &[&str] = if store.is_empty() { &["--roles", "api"] } else { &["--roles", "api", "--store", store] };
    let server = Throwaway::start_in(place, arguments, &[]).await?;
    let host = server.url.trim_start_matches("http://").to_owned();
    let mut caller = Caller::connect(&host, &server.token).await?;
    for (name, role) in [(ADMIN, "admin"), (USER, "user")] {
        let body = json!({ "name": name, "role": role, "password": PASSWORD, "groups": [filling::GROUP] });
        let (status, answer) = caller.send("POST", "/api/v1/users", body.to_string().as_bytes()).await?;
        // An earlier run may have made it.
        ensure!(
            status < 300 || status == 409,
            "a user was refused with {status}: {}",
            String::from_utf8_lossy(&answer)
        );
    }
    for name in [ADMIN, USER] {
        // The server has hung up on whoever was silent while the last one looked around.
        let session = sign_in(&mut Caller::connect(&host, &server.token).await?, name).await?;
        let mut visitor = Visitor { caller: Caller::with_session(&host, &session).await?, name, over: 0 };
        visitor.measure(only, report).await?;
        let note = format!("with p95 over {AIM_MS} ms");
        report.line(&format!("pages that are slower than they shall be, {name}"), visitor.over as f64, "pages", &note);
    }
    server.stop().await
}

/// The session's cookie.
async fn sign_in(caller: &mut Caller, name: &str) -> Result<String> {
    let form = format!("name={name}&password={}", PASSWORD.replace(' ', "+"));
    let (status, head) = caller.post_form("/login", &form).await?;
    ensure!(status == 303, "signing in was answered with {status}");
    let cookies = head
        .lines()
        .filter_map(|line| line.split_once(": ").filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie")));
    let session =
        cookies.filter_map(|(_, cookie)| cookie.split(';').next()).find(|pair| pair.starts_with("malla_session="));
    Ok(session.context("no session")?.to_owned())
}

/// Somebody with a browser of a kind.
struct Visitor<'a> {
    caller: Caller,
    name: &'a str,
    over: usize,
}

impl Visitor<'_> {
    async fn get(&mut self, path: &str) -> Result<(u16, String)> {
        let (status, body) = self.caller.send("GET", path, b"").await?;
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }

    async fn measure(&mut self, only: &[String], report: &mut Report) -> Result<()> {
        for path in self.paths().await? {
            if !only.is_empty() && !only.iter().any(|part| path.contains(part.as_str())) {
                continue;
            }
            let (mut times, mut bytes) = (Vec::with_capacity(TIMES), 0);
            for _ in 0..TIMES {
                let began = Instant::now();
                let (status, page) = self.get(&path).await?;
                times.push(began.elapsed());
                bytes = page.len();
                // What is for admins alone, or another group's, is not measured for others.
                if status == 403 || (status == 404 && self.name != ADMIN) {
                    break;
                }
                ensure!(status == 200, "{path} was answered with {status}");
            }
            if times.len() == TIMES {
                self.tell(&path, times, bytes, report);
            }
        }
        Ok(())
    }

    fn tell(&mut self, path: &str, mut times: Vec<Duration>, bytes: usize, report: &mut Report) {
        let first = times[0];
        times.sort_unstable();
        let ms = |at: usize| times[at.min(TIMES - 1)].as_secs_f64() * 1e3;
        let p95 = ms(TIMES * 95 / 100 - 1);
        let slow = p95 > AIM_MS;
        self.over += usize::from(slow);
        let note = format!(
            "p95; p50 {:.1}, max {:.1}, first {:.1}; {} kB, {}{}",
            ms(TIMES / 2),
            ms(TIMES - 1),
            first.as_secs_f64() * 1e3,
            bytes / 1_000,
            self.name,
            if slow { " – SLOW" } else { "" }
        );
        report.line(path, p95, "ms", &note);
    }

    /// The pages: those of lists, and one of each thing that a list leads to.
    async fn paths(&mut self) -> Result<Vec<String>> {
        let mut paths: Vec<String> = LISTS.iter().map(|path| (*path).to_owned()).collect();
        paths.push(format!("/wiki/articles?title={}", title(7).replace(' ', "+")));
        for (list, prefix) in THINGS {
            let (_, page) = self.get(list).await?;
            match link(&page, prefix) {
                Some(path) => paths.push(path),
                None => talk(&format!("no link to {prefix} at {list} for {}", self.name)),
            }
        }
        let article = paths.iter().find(|path| path.contains("/pages/")).cloned();
        if let Some(article) = article {
            let (_, page) = self.get(&article).await?;
            paths.extend(link(&page, "/wiki/wikis/").filter(|path| path.contains("/revisions/")));
            let newest = links(&page).find(|path| path.contains("/revisions/"));
            paths.extend(newest);
        }
        paths.dedup();
        Ok(paths)
    }
}

const LISTS: &[&str] = &[
    "/",
    "/tasks",
    "/tasks?state=failed",
    "/tasks?state=queued",
    "/tasks?kind=bench&state=failed",
    "/tasks?lane=bench%2F7",
    "/tasks/act?verb=discard&state=failed",
    "/lanes",
    "/lanes?search=bench%2F77",
    "/lanes?paused=yes",
    "/lane?key=bench%2F7",
    "/notify/notifications",
    "/notify/notifications?state=failed",
    "/notify/notifications?state=failed&subscription=subscription-7",
    "/notify/notifications?endpoint=endpoint-3",
    "/notify/notifications?content=order-77",
    "/notify/notifications?content=nowhere",
    "/notify/events",
    "/notify/events?endpoint=endpoint-3",
    "/notify/events?content=order-77",
    "/notify/subscriptions",
    "/notify/subscriptions/subscription-7",
    "/notify/new-subscription",
    "/notify/endpoints",
    "/notify/endpoints/endpoint-3",
    "/notify/statistics",
    "/notify/statistics?subscription=subscription-7",
    "/notify/alerts",
    "/fetch/jobs",
    "/fetch/crawls",
    "/fetch/crawls?state=done",
    "/fetch/watches",
    "/fetch/watches?search=page%2F7",
    "/fetch/comparisons",
    "/fetch/sites",
    "/fetch/devices",
    "/wiki",
    "/wiki/articles",
    "/wiki/revisions",
    "/wiki/revisions?user=Editor+12",
    "/wiki/query",
    "/wiki/extractions",
    "/wiki/imports",
    "/analyses",
    "/audit",
    "/cluster",
    "/settings",
    "/users",
    "/groups",
    "/tokens",
];

/// Where a link to one thing is found, and how it begins.
const THINGS: &[(&str, &str)] = &[
    ("/tasks?state=failed", "/tasks/0"),
    ("/tasks", "/tasks?cursor="),
    ("/lanes", "/lanes?cursor="),
    ("/notify/notifications?state=failed", "/notify/notifications/0"),
    ("/notify/notifications", "/notify/notifications?cursor="),
    ("/notify/events", "/notify/events/0"),
    ("/notify/events", "/notify/events?cursor="),
    ("/fetch/jobs", "/fetch/jobs/0"),
    ("/fetch/crawls", "/fetch/crawls/0"),
    ("/fetch/watches", "/fetch/watches/0"),
    ("/fetch/comparisons", "/fetch/comparisons/0"),
    ("/fetch/sites", "/fetch/site?"),
    ("/wiki", "/wiki/wikis/"),
    ("/wiki/articles", "/wiki/wikis/1/pages/"),
];

fn links(page: &str) -> impl Iterator<Item = String> {
    page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).map(|link| link.replace("&amp;", "&"))
}

fn link(page: &str, prefix: &str) -> Option<String> {
    links(page).find(|link| link.starts_with(prefix))
}
