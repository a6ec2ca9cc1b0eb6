//! The cluster as a client sees it.

use std::time::Duration;

use malla_cluster::{Cluster as _, NewMember, Restarted, Why};
use malla_protocol::{Code, MemberState, RestartWhy};
use malla_queue::UnixMs;

use crate::server::Server;

#[tokio::test]
async fn the_cluster_is_shown_and_restarted() {
    let server = Server::start().await;
    let client = server.client();
    let refused = client.restart_cluster().await.unwrap_err();
    assert_eq!(refused.problem().unwrap().code, Code::Conflict, "{refused}");

    let medic = NewMember {
        name: "one/1".into(),
        machine: "one".into(),
        address: Some("http://127.0.0.1:7070".into()),
        roles: vec!["medic".into()],
        version: "0.1.0".into(),
        medic: None,
        supervises: true,
    };
    let medic = server.store.join(medic).await.unwrap();
    server.store.campaign(medic, Duration::from_secs(7)).await.unwrap();
    let delay = Duration::from_millis(500);
    for role in ["api", "wiki"] {
        let (machine, role, note) = ("one".into(), role.into(), "exit code 1".into());
        let restarted = Restarted { at: UnixMs(1), machine, role, why: Why::Frozen, note, delay };
        server.store.note_restart(restarted).await.unwrap();
    }
    let begun = client.restart_cluster().await.unwrap();
    assert_eq!((begun.by.as_str(), begun.ended_at.as_deref()), ("token:admin", None));

    let cluster = client.cluster().await.unwrap();
    assert_eq!((cluster.leader.unwrap().member, cluster.term), (medic.0, Some(1)));
    assert_eq!((cluster.members[0].state, cluster.members[0].supervises), (MemberState::Alive, true));
    assert_eq!(cluster.rolling, Some(begun));
    assert_eq!(client.cluster_terms(None).await.unwrap().items[0].leader, "one/1");
    let restarts = client.cluster_restarts(Some(1)).await.unwrap().items;
    assert_eq!((restarts.len(), restarts[0].why, restarts[0].delay_ms), (1, RestartWhy::Frozen, 500));
}
