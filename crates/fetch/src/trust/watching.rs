//! What is noted about the results of a device when they are committed.

use malla_queue::{TaskId, UnixMs};

use super::{Check, CheckId, CheckKind, Claim, Party, TrustRules};
use crate::{NewPage, PageTask, PageUrl};

/// How far whoever brought results is believed, and which of them are checked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Watch {
    pub party: Party,
    /// A device of the house: it is paid nothing.
    pub house: bool,
    pub rules: TrustRules,
    /// Tasks whose result is checked.
    pub drawn: Vec<TaskId>,
    /// Of these, whose result is told after that, and until when it may be given from the cache then: the device is on
    /// probation.
    pub held: Vec<(TaskId, Option<UnixMs>)>,
    /// It said 304 to this validator, which no page has.
    pub lazy: Vec<(PageUrl, String)>,
    /// Redirects.
    pub moved: Vec<Moved>,
    /// What it says of a site's robots.txt, if that is checked: by this task, from here.
    pub robots: Vec<(TaskId, PageUrl, NewPage)>,
}

/// A stranger's device says that a page is elsewhere. If those who wait want it checked, they follow after that.
#[derive(Debug, Clone, PartialEq)]
pub struct Moved {
    pub task: TaskId,
    pub from: PageUrl,
    pub to: PageTask,
    /// Checked in any case.
    pub drawn: bool,
}

impl Watch {
    /// Whether what it brings may be checked.
    pub fn checks(&self) -> bool {
        self.rules.enabled && !self.party.trusted
    }

    /// The check of a claim about this page.
    pub fn check(&self, id: CheckId, url: &PageUrl, claim: Claim, now: UnixMs) -> Check {
        Check::new(id, CheckKind::Replica, url, Some(Claim { by: self.party.clone(), ..claim }), now)
    }
}
