//! Members that look after each other: who is there, who leads, how many of each role run and where.
//!
//! Leadership is a row with a term. Whoever leads does its duties through a store opened under its term: each of their
//! transactions checks the term, so a leader that was deposed without knowing it changes nothing any more.

mod care;
mod election;
mod member;
mod membership;
mod overview;
mod patience;
mod placing;
mod rolling;
mod slot;
mod verbs;

pub use care::{Child, Rules, Step, Ward, care};
pub use election::{Election, Pace};
pub use member::{Load, MEMBERS_MAX, Member, MemberId, NewMember};
pub use membership::{Membership, Steady};
pub use overview::{Overview, RoleCount, restart};
pub use patience::{Patience, Verdict};
pub use placing::{Assignment, Declared, Medic, medics, place};
pub use rolling::{Next, Rolling, next};
pub use slot::Slot;
pub use verbs::{Cluster, Leadership, PastTerm, Restarted, Term, Why};
