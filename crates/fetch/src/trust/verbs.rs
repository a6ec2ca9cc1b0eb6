//! The verbs of trust. Each is one whole transaction; verdicts themselves are part of
//! [`Fetch::commit`](crate::Fetch::commit).

use async_trait::async_trait;
use malla_queue::{Act, LaneSettings, Result, Scope};
use serde::{Deserialize, Serialize};

use super::{Check, CheckId, Repute, TrustRules};
use crate::{DeviceId, JobId, Page};

/// How a device stands, and its user.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeviceRepute {
    pub device: DeviceId,
    pub own: Repute,
    /// Over all devices of its user.
    pub owner: Repute,
}

impl DeviceRepute {
    /// Who is new, or whose user has lied, is checked as a newcomer.
    pub fn cv(&self) -> u64 {
        self.own.cv.min(self.owner.cv)
    }
}

/// A check with the pages that were brought for it so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseFile {
    pub check: Check,
    pub first: Option<Page>,
    pub second: Option<Page>,
}

/// What a convicted device had brought, to be fetched again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refetch {
    pub id: i64,
    pub device: DeviceId,
    pub urls: Vec<String>,
}

#[async_trait]
pub trait Trust: Send + Sync + 'static {
    async fn repute(&self, device: DeviceId) -> Result<DeviceRepute>;
    /// Of all devices that this scope sees.
    async fn reputes(&self, scope: &Scope) -> Result<Vec<DeviceRepute>>;
    async fn case(&self, id: CheckId) -> Result<Option<CaseFile>>;
    /// Newest first; of one device, if it is said.
    async fn checks(&self, device: Option<DeviceId>, below: Option<CheckId>, limit: usize) -> Result<Vec<Check>>;
    /// How many checks wait for a device that may do them.
    async fn checks_waiting(&self) -> Result<u64>;
    /// Sends a stranger's device for a page of our own, whose mark is known.
    async fn control(&self, url: crate::PageUrl, mark: String, lanes: LaneSettings) -> Result<()>;
    /// Sends a stranger's device for a page that was checked of late; `draw`, from 0 to 1, decides which. Returns whether
    /// there is one.
    async fn send_for_known(&self, draw: f64, lanes: LaneSettings) -> Result<bool>;
    /// A client says that the `n`th result of a job is bad: a trusted device decides.
    async fn report(&self, scope: &Scope, job: JobId, n: u64, lanes: LaneSettings, act: Act) -> Result<Check>;
    /// Lets a convicted device in again and gives back what it lost.
    async fn acquit(&self, scope: &Scope, device: DeviceId, rules: TrustRules, act: Act) -> Result<DeviceRepute>;
    /// What is next to be fetched again; it stays so until it was [`Trust::refetched`].
    async fn refetch_next(&self) -> Result<Option<Refetch>>;
    async fn refetched(&self, id: i64) -> Result<()>;
    /// The secret behind the marks of the control site, the same on all nodes; `new` becomes it if there is none yet.
    async fn control_key(&self, new: [u8; 32]) -> Result<[u8; 32]>;
}
