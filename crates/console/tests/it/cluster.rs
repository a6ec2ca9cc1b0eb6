//! The page of the cluster.

use std::time::Duration;

use axum::http::StatusCode;
use malla_cluster::{Assignment, Cluster as _, Load, MemberId, NewMember, Restarted, Why};
use malla_queue::{Clock as _, UnixMs};

use crate::house::{DEAD_AFTER, House};

const LEASE: Duration = Duration::from_secs(7);
const ALONE: &str = "One process: everything runs here.";
const BUTTON: &str = "Restart all, one by one";

async fn join(house: &House, name: &str, machine: &str, role: &str, medic: Option<MemberId>) -> MemberId {
    let new = NewMember {
        name: name.into(),
        machine: machine.into(),
        address: Some("http://10.0.0.1:7070".into()),
        roles: vec![role.into()],
        version: "0.1.0".into(),
        medic,
        supervises: role == "medic",
    };
    house.store.join(new).await.expect("joins")
}

/// A medic that leads.
pub(crate) async fn leader(house: &House) -> MemberId {
    let medic = join(house, "one/1", "one", "medic", None).await;
    house.store.campaign(medic, LEASE).await.expect("leads");
    medic
}

fn crashed(at: UnixMs, role: &str, note: &str) -> Restarted {
    let delay = Duration::from_millis(500);
    Restarted { at, machine: "one".into(), role: role.into(), why: Why::Crashed, note: note.into(), delay }
}

#[tokio::test]
async fn the_cluster_is_for_admins() {
    let house = House::new().await;
    for name in ["ana", "ben"] {
        let visitor = house.sign_in(name).await;
        assert_eq!(visitor.get("/cluster").await.status, StatusCode::FORBIDDEN, "{name}");
        assert_eq!(visitor.post("/cluster/restart", &[]).await.status, StatusCode::FORBIDDEN, "{name}");
        visitor.get("/").await.hides("href=\"/cluster\"");
    }
    house.sign_in("root").await.get("/").await.shows("href=\"/cluster\"");
}

#[tokio::test]
async fn one_process_alone_is_told_how_to_become_more() {
    let house = House::new().await;
    let root = house.sign_in("root").await;
    root.get("/cluster").await.shows("No process has announced itself yet");
    join(&house, "one/1", "one", "api", None).await;
    let page = root.get("/cluster").await;
    page.shows(ALONE);
    page.shows("malla supervise --store postgres://");
    page.shows("one/1");
    page.hides(BUTTON);
    let answer = root.post("/cluster/restart", &[]).await;
    root.follow(&answer).await.shows("Nothing here is supervised, so nobody would start a process again");
}

#[tokio::test]
async fn members_leader_roles_and_restarts_are_shown() {
    let house = House::new().await;
    let medic = leader(&house).await;
    let child = join(&house, "one/2", "one", "wiki", Some(medic)).await;
    let assigned = Assignment { medic, role: "wiki".into(), count: 3 };
    house.store.assign(&[assigned]).await.expect("assigns");
    house.store.beat(child, Load { tasks: 3, cpu: 0.25, memory_bytes: 5 << 20 }).await.expect("beats");
    house.store.note_restart(crashed(house.clock.now(), "wiki", "signal 9")).await.expect("notes");
    let page = house.sign_in("root").await.get("/cluster").await;
    for text in [
        "<span class=\"badge s-succeeded\">alive</span>",
        "<span class=\"badge s-running\">leads</span>",
        "supervised by one/1",
        "http://10.0.0.1:7070",
        "3 tasks",
        "25 % of a core, 5.0 MiB",
        "2 alive",
        "2 missing",
        "<span class=\"badge s-failed\">crashed</span>",
        "signal 9",
        "500 ms",
        BUTTON,
    ] {
        page.shows(text);
    }
    page.hides(ALONE);
    page.hides("nobody leads");
}

#[tokio::test]
async fn who_falls_silent_is_lost_and_leads_no_more() {
    let house = House::new().await;
    let medic = leader(&house).await;
    house.clock.advance(DEAD_AFTER);
    let other = join(&house, "two/1", "two", "medic", None).await;
    let root = house.sign_in("root").await;
    let page = root.get("/cluster").await;
    page.shows("<span class=\"badge s-failed\">lost</span>");
    page.shows("nobody leads");
    page.shows("1 alive, 1 lost");
    house.store.campaign(other, LEASE).await.expect("leads");
    let page = root.get("/cluster").await;
    page.hides("nobody leads");
    let (_, leaders) = page.body.split_once("<h2>Leaders</h2>").expect("the history");
    assert!(leaders.contains("two/1") && leaders.contains("one/1"), "{leaders}");
    house.store.beat(medic, Load::default()).await.expect("beats");
    root.get("/cluster").await.shows("2 alive<");
}

#[tokio::test]
async fn a_rolling_restart_is_asked_for_once_and_followed_to_its_end() {
    let house = House::new().await;
    let medic = leader(&house).await;
    join(&house, "one/2", "one", "wiki", Some(medic)).await;
    house.clock.advance(Duration::from_secs(1));
    let root = house.sign_in("root").await;
    let answer = root.post("/cluster/restart", &[]).await;
    let page = root.follow(&answer).await;
    page.shows("The restart has begun");
    page.shows("one by one: 1 to go.");
    page.hides(BUTTON);
    let again = root.post("/cluster/restart", &[]).await;
    root.follow(&again).await.shows("class=\"notice bad\"");
    root.get("/audit?action=cluster.restart").await.shows("user:root");
    let rolling = house.store.rolling().await.expect("asks").expect("one");
    house.store.end_rolling(rolling.id, Some("the leader gave up")).await.expect("ends");
    let page = root.get("/cluster").await;
    page.shows("The leader gave up");
    page.shows("asked for by user:root");
    page.shows(BUTTON);
}

#[tokio::test]
async fn hostile_names_are_shown_and_never_run() {
    let house = House::new().await;
    let hostile = "<script>alert(1)</script>";
    let medic = join(&house, hostile, hostile, "medic", None).await;
    join(&house, "two", hostile, hostile, Some(medic)).await;
    house.store.campaign(medic, LEASE).await.expect("leads");
    house.store.note_restart(crashed(house.clock.now(), hostile, hostile)).await.expect("notes");
    let page = house.sign_in("root").await.get("/cluster").await;
    page.hides(hostile);
    page.shows("&lt;script&gt;alert(1)");
}

#[tokio::test]
async fn a_store_that_is_gone_is_a_page_with_patience() {
    let house = House::new().await;
    let root = house.sign_in("root").await;
    house.store.close().await;
    for path in ["/", "/cluster", "/tasks", "/notify/alerts", "/fetch/jobs", "/wiki", "/analyses", "/live?page=/"] {
        let page = root.get(path).await;
        assert_eq!(page.status, StatusCode::SERVICE_UNAVAILABLE, "{path}");
        assert_eq!(page.headers["retry-after"], "2", "{path}");
        page.shows("The store is not available");
    }
    let login = house.try_to_sign_in("ana", "correct horse", "/").await;
    assert_eq!(login.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(login.headers["retry-after"], "2");
}
