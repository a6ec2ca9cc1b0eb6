//! The server itself, and the caller as it sees them.

use malla_protocol::{Health, Me, Verification};

use crate::error::Result;
use crate::transport::Client;

impl Client {
    pub async fn me(&self) -> Result<Me> {
        self.get(&["api", "v1", "me"], &()).await
    }

    /// Compares every counter of the store with what it counts. This reads everything.
    pub async fn verify(&self) -> Result<Verification> {
        self.get(&["api", "v1", "verify"], &()).await
    }

    /// Whether the process lives.
    pub async fn live(&self) -> Result<Health> {
        self.get(&["livez"], &()).await
    }

    /// Whether it takes work.
    pub async fn ready(&self) -> Result<Health> {
        self.get(&["readyz"], &()).await
    }
}
