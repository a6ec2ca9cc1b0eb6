//! A caller, once it is known who it is.

use std::fmt;
use std::str::FromStr;

use malla_queue::{Error, GroupId, Scope};
use serde::{Deserialize, Serialize};

/// Ordered by power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Sees its groups, changes nothing.
    Readonly,
    /// Everything inside its groups.
    User,
    /// Everything.
    Admin,
}

impl Role {
    pub const ALL: [Role; 3] = [Role::Readonly, Role::User, Role::Admin];

    pub fn name(self) -> &'static str {
        match self {
            Role::Readonly => "readonly",
            Role::User => "user",
            Role::Admin => "admin",
        }
    }

    pub fn may(self, permission: Permission) -> bool {
        match permission {
            Permission::See => true,
            Permission::Change => self >= Role::User,
            Permission::Administer => self == Role::Admin,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Role {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Role::ALL
            .into_iter()
            .find(|role| role.name() == text)
            .ok_or_else(|| Error::Invalid(format!("\"{text}\" is not a role: admin, user or readonly")))
    }
}

/// What a route asks of its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Permission {
    /// Look at what belongs to one's groups.
    See,
    /// Change what belongs to one's groups.
    Change,
    /// Users, groups, other people's tokens, shared lanes, the whole house.
    Administer,
}

/// A permission as a type, so that a handler states in its signature what it asks of its caller.
pub trait Needs: Send + Sync + 'static {
    const PERMISSION: Permission;
}

/// [`Permission::See`] as a type.
pub struct See;
/// [`Permission::Change`] as a type.
pub struct Change;
/// [`Permission::Administer`] as a type.
pub struct Administer;

impl Needs for See {
    const PERMISSION: Permission = Permission::See;
}

impl Needs for Change {
    const PERMISSION: Permission = Permission::Change;
}

impl Needs for Administer {
    const PERMISSION: Permission = Permission::Administer;
}

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// `user:ana`, `token:deploy`, `anonymous`: how the audit log names it.
    pub actor: String,
    pub role: Role,
    /// Its groups; an admin's list says where its new things go, not what it may see.
    pub groups: Vec<GroupId>,
}

impl Principal {
    pub fn may(&self, permission: Permission) -> bool {
        self.role.may(permission)
    }

    /// What exists for this caller.
    pub fn scope(&self) -> Scope {
        match self.role {
            Role::Admin => Scope::All,
            _ => Scope::Groups(self.groups.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_hold_their_permissions() {
        check(Role::Readonly, [true, false, false]);
        check(Role::User, [true, true, false]);
        check(Role::Admin, [true, true, true]);
    }

    fn check(role: Role, expected: [bool; 3]) {
        let held = [Permission::See, Permission::Change, Permission::Administer].map(|p| role.may(p));
        assert_eq!(held, expected, "{role}");
    }

    #[test]
    fn only_an_admin_sees_beyond_its_groups() {
        let mut principal = Principal { actor: "user:ana".into(), role: Role::User, groups: vec![GroupId(1)] };
        assert!(principal.scope().sees(Some(GroupId(1))));
        assert!(!principal.scope().sees(Some(GroupId(2))) && !principal.scope().sees(None));
        principal.role = Role::Admin;
        assert!(principal.scope().sees(Some(GroupId(2))) && principal.scope().sees(None));
    }
}
