//! How a device and whoever gives it work talk: in one process, or over HTTP.

use std::sync::Arc;

use async_trait::async_trait;
use malla_queue::LeaseToken;
use serde::{Deserialize, Serialize};

use crate::{Block, Brought, Device, Dispatcher};

/// Gives out blocks and takes in what comes back.
#[async_trait]
pub trait Dispatch: Send + Sync + 'static {
    /// Asks for work, and waits for it a while. An empty block means that there is none yet.
    async fn lease(&self, wish: Wish) -> Result<Block, DispatchError>;

    /// Hands over what came back. A result whose lease is lost is dropped, and its token is in the answer.
    async fn results(&self, brought: Vec<Brought>) -> Result<Vec<LeaseToken>, DispatchError>;

    /// Gives work back undone, with how long ago each one's site spoke last.
    async fn give_back(&self, items: Vec<(LeaseToken, u64)>) -> Result<(), DispatchError>;
}

/// What a device wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// Pages at most.
    pub pages: usize,
    /// How fast it has been: see [`Measures`].
    pub measures: Measures,
}

/// What a device has seen of its own speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Measures {
    /// Requests under way at once.
    pub parallel: u32,
    /// The mean time of a page.
    pub page_ms: u64,
    pub bytes_per_s: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DispatchError {
    /// Come back after this long.
    #[error("there is no room for this device now: come back in {after_ms} ms")]
    Later { after_ms: u64 },
    /// Cannot be reached or is not well: try again.
    #[error("{0}")]
    Away(String),
    /// The device is not known any more (it was silent for too long): join again.
    #[error("this device must join again: {0}")]
    Unknown(String),
    /// Trying again is senseless: blocked, a wrong token, another version.
    #[error("{0}")]
    Refused(String),
}

/// A device in the same process as the dispatcher.
pub struct LocalDispatch {
    pub dispatcher: Arc<Dispatcher>,
    pub device: Device,
}

#[async_trait]
impl Dispatch for LocalDispatch {
    async fn lease(&self, wish: Wish) -> Result<Block, DispatchError> {
        self.dispatcher.lease(&self.device, wish).await
    }

    async fn results(&self, brought: Vec<Brought>) -> Result<Vec<LeaseToken>, DispatchError> {
        self.dispatcher.results(&self.device, brought).await
    }

    async fn give_back(&self, items: Vec<(LeaseToken, u64)>) -> Result<(), DispatchError> {
        self.dispatcher.give_back(&self.device, items).await
    }
}
