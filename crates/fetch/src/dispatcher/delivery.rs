//! A block on its way to a device far away, which may be gone before it arrives.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::Dispatcher;
use crate::{Block, Device, DispatchError, Wish};

/// If it is dropped before it has arrived, its work goes back to the lanes.
pub struct Delivery {
    dispatcher: Arc<Dispatcher>,
    device: Device,
    block: Block,
}

impl Dispatcher {
    /// As [`Dispatcher::lease`], for a device that may be gone before the answer has reached it. May be dropped at any
    /// moment: what was leased until then goes back.
    pub async fn deliver(self: &Arc<Self>, device: Device, wish: Wish) -> Result<Delivery, DispatchError> {
        let (mut told, answer) = oneshot::channel();
        let dispatcher = self.clone();
        // By itself, so that a lease is never interrupted half way, when nobody would know what was leased.
        tokio::spawn(async move {
            let leased = dispatcher.lease_unless(&device, wish, told.closed()).await;
            // Nobody there to take it: it is dropped.
            let _ = told.send(leased.map(|block| Delivery { dispatcher, device, block }));
        });
        answer.await.unwrap_or_else(|_| Err(DispatchError::Away("the server could not look for work".into())))
    }
}

impl Delivery {
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// It is out of our hands.
    pub fn arrived(mut self) {
        self.block = Block::default();
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        let items = self.block.unasked();
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if items.is_empty() {
            return;
        }
        let (dispatcher, device) = (self.dispatcher.clone(), self.device.clone());
        runtime.spawn(async move {
            tracing::info!(device = device.name, "a device was gone before its work arrived: {} go back", items.len());
            if let Err(error) = dispatcher.give_back(&device, items).await {
                tracing::warn!(device = device.name, %error, "its work comes back when the leases end");
            }
        });
    }
}
