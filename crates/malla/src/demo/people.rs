//! Who is there: the admin, a guest who may look and change nothing, two groups, and a token for the devices.

use std::path::Path;

use anyhow::Result;
use malla_protocol::{NewGroup, NewToken, NewUser, Role, UserChange};

use super::kept::Kept;
use super::stage::{Stage, made};
use crate::first_run::readable_password;

pub(super) const ADMIN: &str = "admin";
pub(super) const GUEST: &str = "guest";
/// Owns the shop's endpoints and subscriptions.
pub(super) const SHOP: &str = "shop";
const VOLUNTEERS: &str = "volunteers";

pub(super) async fn prepare(stage: &Stage, kept: &mut Kept, data: &Path) -> Result<()> {
    let client = &stage.client;
    for name in [SHOP, VOLUNTEERS] {
        made(client.create_group(&NewGroup { name: name.into() }).await)?;
    }
    if kept.password.is_none() {
        let password = readable_password()?;
        let change = UserChange { password: Some(password.clone()), ..UserChange::default() };
        client.change_user(ADMIN, &change).await?;
        let guest = NewUser {
            name: GUEST.into(),
            role: Role::Readonly,
            password: Some(password.clone()),
            groups: vec![SHOP.into()],
        };
        if made(client.create_user(&guest).await)?.is_none() {
            client.change_user(GUEST, &change).await?;
        }
        kept.password = Some(password);
        kept.write(data)?;
    }
    if kept.volunteers.is_none() {
        let token = NewToken {
            name: VOLUNTEERS.into(),
            role: Some(Role::User),
            group: Some(VOLUNTEERS.into()),
            expires_in_s: None,
        };
        let new = match made(client.create_token(&token).await)? {
            Some(new) => new,
            // One whose secret was lost half way.
            None => {
                client.delete_token(VOLUNTEERS).await?;
                client.create_token(&token).await?
            }
        };
        kept.volunteers = Some(new.token);
        kept.write(data)?;
    }
    Ok(())
}
