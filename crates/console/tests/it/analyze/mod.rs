//! The room `analyze` as its pages show it.

mod answers;
mod detail;
mod list;

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use malla_analyze::intake::{Packing, check};
use malla_analyze::{Analyst, Analyze as _, BatchKey, NewBatch, NewStudy, ROOM, Recent, Study, StudyId};
use malla_queue::worker::Work as _;
use malla_queue::{Act, Clock as _, GroupId, Holder, LeaseRequest, Queue as _, Room, Scope};
use serde_json::json;

use crate::house::House;

pub(crate) const HOSTILE: &str = "<script>alert(1)</script>";
const WEATHER: &str = "date,prectot\n2016-05-02,40\n2016-05-03,1\n2016-06-11,31.5\n2017-05-03,0\n";
/// More than a test begins.
const STUDIES_MAX: u64 = 1_000;

pub(crate) async fn begin(house: &House, group: GroupId, kind: &str) -> StudyId {
    let new = NewStudy::new(Some(group), kind, &json!({}), STUDIES_MAX).expect("a kind");
    house.store.begin(new, Act::new("user:ana", "analysis.begin", kind)).await.expect("begins").id
}

pub(crate) fn page_of(id: StudyId) -> String {
    format!("/analyses/{id}")
}

pub(crate) async fn stored(house: &House, id: StudyId) -> Study {
    house.store.study(&Scope::All, id).await.expect("an analysis")
}

pub(crate) async fn send(house: &House, id: StudyId, input: &str, seq: u64, body: &str) {
    let analysis = stored(house, id).await.analysis().expect("known");
    let key = BatchKey::new(analysis, input, "Montreal", seq).expect("a batch");
    let checked = check(analysis, &key, body.as_bytes().to_vec().into(), Packing::Plain, 1_000_000).expect("a table");
    let batch = NewBatch {
        role: key.role(analysis).expect("a role"),
        key,
        hash: checked.hash,
        size: body.len() as u64,
        packed: checked.packed().expect("packs"),
        waiting_bytes_max: u64::MAX,
        dimension_bytes_max: u64::MAX,
    };
    house.store.take(&Scope::All, id, batch).await.expect("takes");
}

/// Two stations, of which one has grown and is far from the other.
async fn send_tables(house: &House, id: StudyId) {
    let stations: Vec<String> = [2016, 2017]
        .map(|year| format!("1,{HOSTILE},45.5,-73.6,{year}\n2,Far & 'away'><img src=x>,45.6,-73.6,{year}\n"))
        .into();
    send(house, id, "weather", 0, WEATHER).await;
    send(house, id, "stations", 0, &format!("code,name,latitude,longitude,yearid\n{}", stations.concat())).await;
}

fn trips(lines: &[&str]) -> String {
    format!("start_date,start_station_code,end_station_code,duration_sec,yearid\n{}\n", lines.join("\n"))
}

/// All that a small analysis needs: two tables and two batches of trips.
pub(crate) async fn feed(house: &House, id: StudyId) {
    send_tables(house, id).await;
    let rainy =
        ["2016-05-01 10:00:00,1,2,600,2016", "2016-05-01 11:00:00,1,2,900,2016", "2016-06-10 09:00:00,1,2,60,2016"];
    send(house, id, "trips", 0, &trips(&rainy)).await;
    let later = vec!["2017-05-02 10:00:00,1,2,300,2017"; 9];
    send(house, id, "trips", 1, &trips(&later)).await;
}

pub(crate) async fn complete(house: &House, id: StudyId) {
    let batches = stored(house, id).await.taken;
    let act = Act::new("user:ana", "analysis.complete", id.to_string());
    house.store.complete(&Scope::All, id, batches, act).await.expect("completes");
}

/// Whoever works: maps what waits, and makes the answers if that was all.
pub(crate) async fn work(house: &House) {
    let analyst = Analyst::new(house.store.clone(), house.clock.clone(), Arc::new(Recent::new(0)), 1);
    loop {
        let (room, holder) = (Room::new(ROOM).expect("a room"), Holder::Member("node-1".into()));
        let request = LeaseRequest::new(vec![room], 100, holder, Duration::from_secs(30));
        let leased = house.store.lease(request).await.expect("leases").tasks;
        if leased.is_empty() {
            return;
        }
        for task in leased {
            if let Some(verdict) = analyst.work(&task).await {
                let ending = verdict.ending(&task, house.clock.now());
                house.store.finish(vec![(task.token, ending)]).await.expect("finishes");
            }
        }
    }
}

pub(crate) async fn done(house: &House, group: GroupId) -> StudyId {
    let id = begin(house, group, "bike-rides").await;
    feed(house, id).await;
    complete(house, id).await;
    house.clock.advance(Duration::from_secs(2));
    work(house).await;
    id
}

#[tokio::test]
async fn what_belongs_to_another_group_does_not_exist() {
    let house = House::new().await;
    let (ana, cleo) = (house.sign_in("ana").await, house.sign_in("cleo").await);
    let page = page_of(done(&house, house.ops).await);
    for path in ["/analyses", "/"] {
        ana.get(path).await.shows(&page);
        cleo.get(path).await.hides(&page);
    }
    for path in [page.clone(), format!("{page}?so_far=1")] {
        assert_eq!(ana.get(&path).await.status, StatusCode::OK, "{path}");
        let answer = cleo.get(&path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        answer.shows("does not exist, or it belongs to a group you are not in.");
        answer.hides("Trips in the rain");
    }
    for verb in ["cancel", "forget"] {
        assert_eq!(cleo.post(&format!("{page}/{verb}"), &[]).await.status, StatusCode::NOT_FOUND, "{verb}");
    }
    ana.get(&page).await.shows("Trips in the rain");
}

#[tokio::test]
async fn somebody_readonly_sees_no_forms_and_may_not_send_them() {
    let house = House::new().await;
    let ben = house.sign_in("ben").await;
    let under_way = begin(&house, house.ops, "bike-rides").await;
    let over = done(&house, house.ops).await;
    for path in ["/analyses".to_owned(), page_of(under_way), page_of(over)] {
        let page = ben.get(&path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        assert_eq!(page.body.matches("method=\"post\"").count(), 3, "only colours, language and log out on {path}");
    }
    for path in [format!("{}/cancel", page_of(under_way)), format!("{}/forget", page_of(over))] {
        assert_eq!(ben.post(&path, &[]).await.status, StatusCode::FORBIDDEN, "{path}");
    }
}

#[tokio::test]
async fn what_comes_from_files_is_shown_and_never_run() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let done = done(&house, house.ops).await;
    let under_way = begin(&house, house.ops, "bike-rides").await;
    feed(&house, under_way).await;
    let lines: Vec<String> =
        (0..200).map(|_| "2016-05-01 10:00:00,1,2,60,2016".to_owned()).chain([HOSTILE.into()]).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    send(&house, under_way, "trips", 2, &trips(&lines)).await;
    work(&house).await;
    let so_far = format!("{}?so_far=1", page_of(under_way));
    for path in
        [page_of(done), page_of(under_way), so_far.clone(), "/analyses/%3Cscript%3Ealert(1)%3C/script%3E".into()]
    {
        let page = ana.get(&path).await;
        for text in [HOSTILE, "<img", " style=", "onerror=\""] {
            page.hides(text);
        }
    }
    ana.get(&page_of(done)).await.shows("Far &amp; 'away'&gt;&lt;img src=x&gt;");
    ana.get(&so_far).await.shows("&lt;script&gt;alert(1)&lt;/script&gt;");
}
