//! Users, groups, tokens, sessions.

use std::time::Duration;

use malla_access::{NewToken, NewUser, Role, Secret, UserChange};
use malla_queue::{Act, Clock as _, Error, GroupId, NewTask, Once, Scope};

use crate::harness::{House, act, on_both_stores, task};

on_both_stores!(
    the_first_user_ends_the_emptiness,
    names_are_unique_and_plain,
    a_user_joins_and_leaves_groups,
    the_last_admin_stays,
    a_group_with_things_stays,
    a_token_tells_who_calls,
    an_expired_or_deleted_token_tells_nobody,
    a_token_is_shown_once,
    another_groups_tokens_do_not_exist,
    a_session_lives_until_it_ends,
    a_changed_user_is_signed_out,
);

async fn add_user(house: &House, name: &str, role: Role, groups: &[&str]) {
    let user = NewUser {
        name: name.into(),
        role,
        password_hash: Some("hash".into()),
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
    };
    house.access.create_user(user, act("user.create")).await.unwrap();
}

async fn add_group(house: &House, name: &str) -> GroupId {
    house.access.create_group(name, act("group.create")).await.unwrap().id
}

fn token(name: &str, role: Role, group: Option<&str>) -> (Secret, NewToken) {
    let secret = Secret::random("malla_").unwrap();
    let hash = secret.hash();
    (secret, NewToken { name: name.into(), hash, role, group: group.map(str::to_owned), expires_at: None })
}

async fn the_first_user_ends_the_emptiness(house: House) {
    assert!(house.access.is_empty().await.unwrap());
    add_user(&house, "admin", Role::Admin, &[]).await;
    assert!(!house.access.is_empty().await.unwrap());
    assert_eq!(house.access.password_hash("admin").await.unwrap().as_deref(), Some("hash"));
    assert_eq!(house.access.password_hash("nobody").await.unwrap(), None);
}

async fn names_are_unique_and_plain(house: House) {
    add_group(&house, "team").await;
    add_user(&house, "ana", Role::User, &["team"]).await;
    let again = house.access.create_group("team", act("group.create")).await;
    assert_eq!(again.unwrap_err(), Error::Taken("a group named team exists already".into()));
    let new = |name: &str| NewUser { name: name.into(), role: Role::User, password_hash: None, groups: vec![] };
    let again = house.access.create_user(new("ana"), act("user.create")).await;
    assert!(matches!(again, Err(Error::Taken(_))));
    for wrong in ["", "a b", "../etc", "<script>", &"x".repeat(65)] {
        let refusal = house.access.create_user(new(wrong), act("user.create")).await;
        assert!(matches!(refusal, Err(Error::Invalid(_))), "{wrong}");
    }
    let nowhere = NewUser { groups: vec!["none".into()], ..new("ben") };
    let refusal = house.access.create_user(nowhere, act("user.create")).await;
    assert_eq!(refusal.unwrap_err(), Error::NotFound("group none".into()));
    assert!(house.access.user("ben").await.is_err(), "nothing is left of it");
}

async fn a_user_joins_and_leaves_groups(house: House) {
    let one = add_group(&house, "one").await;
    add_group(&house, "two").await;
    add_user(&house, "admin", Role::Admin, &[]).await;
    add_user(&house, "ana", Role::User, &["two"]).await;
    let group = house.access.set_member("one", "ana", true, act("group.add")).await.unwrap();
    assert_eq!(group.members, ["ana"]);
    assert_eq!(house.access.user("ana").await.unwrap().groups, ["one", "two"]);
    house.access.set_member("two", "ana", false, act("group.remove")).await.unwrap();
    assert_eq!(house.access.user("ana").await.unwrap().groups, ["one"]);
    let seen = house.access.groups(&Scope::Groups(vec![one]), None, 10).await.unwrap();
    assert_eq!(seen.iter().map(|group| group.name.as_str()).collect::<Vec<_>>(), ["one"]);
    assert!(house.access.group(&Scope::Groups(vec![one]), "two").await.is_err());
    assert_eq!(house.access.group_names(&[one, GroupId(99)]).await.unwrap().len(), 1);
    let users = house.access.users(Some("admin"), 10).await.unwrap();
    assert_eq!(users.iter().map(|user| user.name.as_str()).collect::<Vec<_>>(), ["ana"]);
}

async fn the_last_admin_stays(house: House) {
    add_user(&house, "admin", Role::Admin, &[]).await;
    let demote = UserChange { role: Some(Role::User), ..UserChange::default() };
    assert!(matches!(
        house.access.change_user("admin", demote.clone(), act("user.change")).await,
        Err(Error::Taken(_))
    ));
    assert!(matches!(house.access.delete_user("admin", act("user.delete")).await, Err(Error::Taken(_))));
    assert_eq!(house.access.user("admin").await.unwrap().role, Role::Admin);
    add_user(&house, "second", Role::Admin, &[]).await;
    house.access.change_user("admin", demote, act("user.change")).await.unwrap();
    house.access.delete_user("admin", act("user.delete")).await.unwrap();
}

async fn a_group_with_things_stays(house: House) {
    let team = add_group(&house, "team").await;
    house.submit(NewTask { group: Some(team), ..task("a") }).await;
    let refusal = house.access.delete_group("team", act("group.delete")).await.unwrap_err();
    assert_eq!(refusal, Error::Taken("group team still has tasks: delete these first".into()));
    add_group(&house, "empty").await;
    house.access.delete_group("empty", act("group.delete")).await.unwrap();
    assert!(house.access.group(&Scope::All, "empty").await.is_err());
}

async fn a_token_tells_who_calls(house: House) {
    let team = add_group(&house, "team").await;
    let (secret, new) = token("deploy", Role::User, Some("team"));
    let made = house.access.create_token(new, act("token.create")).await.unwrap();
    assert_eq!((made.name.as_str(), made.created_by.as_str()), ("deploy", "user:ana"));
    let caller = house.access.principal_of_token(secret.hash()).await.unwrap().expect("known");
    assert_eq!((caller.actor.as_str(), caller.role, caller.groups), ("token:deploy", Role::User, vec![team]));
    let used = house.access.tokens(&Scope::All, None, 10).await.unwrap()[0].last_used_at;
    assert_eq!(used, Some(house.clock.now()));
    let stranger = Secret::random("malla_").unwrap();
    assert!(house.access.principal_of_token(stranger.hash()).await.unwrap().is_none());
}

async fn an_expired_or_deleted_token_tells_nobody(house: House) {
    let (secret, new) = token("short", Role::Admin, None);
    let expires_at = Some(house.clock.now().plus(Duration::from_secs(60)));
    house.access.create_token(NewToken { expires_at, ..new }, act("token.create")).await.unwrap();
    assert!(house.access.principal_of_token(secret.hash()).await.unwrap().is_some());
    house.wait(Duration::from_secs(60));
    assert!(house.access.principal_of_token(secret.hash()).await.unwrap().is_none());
    let (secret, new) = token("gone", Role::Admin, None);
    house.access.create_token(new, act("token.create")).await.unwrap();
    house.access.delete_token(&Scope::All, "gone", act("token.delete")).await.unwrap();
    assert!(house.access.principal_of_token(secret.hash()).await.unwrap().is_none());
}

async fn a_token_is_shown_once(house: House) {
    let once = Once { scope: "u".into(), key: "k".into(), fingerprint: vec![1], keep_for: Duration::from_secs(60) };
    let act = Act { once: Some(once), ..act("token.create") };
    let (_, new) = token("deploy", Role::Admin, None);
    house.access.create_token(new.clone(), act.clone()).await.unwrap();
    assert_eq!(house.access.create_token(new, act).await.unwrap_err(), Error::ShownOnce);
}

async fn another_groups_tokens_do_not_exist(house: House) {
    let (one, two) = (add_group(&house, "one").await, add_group(&house, "two").await);
    let (_, new) = token("of-one", Role::User, Some("one"));
    house.access.create_token(new, act("token.create")).await.unwrap();
    let foreign = Scope::Groups(vec![two]);
    assert!(house.access.tokens(&foreign, None, 10).await.unwrap().is_empty());
    let refusal = house.access.delete_token(&foreign, "of-one", act("token.delete")).await;
    assert_eq!(refusal, Err(Error::NotFound("token of-one".into())));
    assert_eq!(house.access.tokens(&Scope::Groups(vec![one]), None, 10).await.unwrap().len(), 1);
}

async fn a_session_lives_until_it_ends(house: House) {
    let team = add_group(&house, "team").await;
    add_user(&house, "ana", Role::User, &["team"]).await;
    let secret = Secret::random("").unwrap();
    let hour = Duration::from_secs(3600);
    let opened = house.access.open_session("ana", secret.hash(), "csrf", hour).await.unwrap();
    assert_eq!((opened.csrf.as_str(), opened.principal.groups), ("csrf", vec![team]));
    assert_eq!(house.access.session(secret.hash()).await.unwrap().unwrap().user.name, "ana");
    house.wait(hour);
    assert!(house.access.session(secret.hash()).await.unwrap().is_none());
    let second = Secret::random("").unwrap();
    house.access.open_session("ana", second.hash(), "csrf", hour).await.unwrap();
    house.access.close_session(second.hash()).await.unwrap();
    assert!(house.access.session(second.hash()).await.unwrap().is_none());
}

async fn a_changed_user_is_signed_out(house: House) {
    add_user(&house, "admin", Role::Admin, &[]).await;
    add_user(&house, "ana", Role::User, &[]).await;
    let changes = [
        UserChange { role: Some(Role::Readonly), ..UserChange::default() },
        UserChange { password_hash: Some("new".into()), ..UserChange::default() },
        UserChange { disabled: Some(true), ..UserChange::default() },
    ];
    for change in changes {
        let secret = Secret::random("").unwrap();
        house.access.open_session("ana", secret.hash(), "c", Duration::from_secs(60)).await.unwrap();
        house.access.change_user("ana", change, act("user.change")).await.unwrap();
        assert!(house.access.session(secret.hash()).await.unwrap().is_none());
    }
    assert_eq!(house.access.password_hash("ana").await.unwrap(), None, "a disabled user cannot log in");
}
