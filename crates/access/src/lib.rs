//! Who may do what: users, groups, roles, tokens, sessions, and the audit log of every change.
//!
//! The rules are plain functions over plain data; the verbs are a trait that a store implements. No HTTP here.

mod password;
mod principal;
mod secret;
mod verbs;

pub use password::{PASSWORD_BYTES_MAX, PASSWORD_CHARS_MIN, Passwords, check_password};
pub use principal::{Administer, Change, Needs, Permission, Principal, Role, See};
pub use secret::{Secret, SecretHash};
pub use verbs::{
    Access, AuditEntry, AuditFilter, Group, NewToken, NewUser, Session, Token, TokenId, User, UserChange, UserId,
    check_name,
};
