//! What a device says to its server.

use malla_protocol::{BlockView, GiveBack, JoinFleet, Joined, LeaseBlock, ResultsTaken};
use reqwest::Method;

use crate::error::Result;
use crate::transport::{Client, Raw};

impl Client {
    /// Joins the fleet with the token of a user. What follows needs a client with the secret in the answer:
    /// [`Client::with_token`].
    pub async fn join_fleet(&self, join: &JoinFleet) -> Result<Joined> {
        self.write(Method::POST, &["api", "v1", "fleet", "join"], join).await
    }

    /// Waits for work. An empty block means that there is none yet.
    pub async fn lease_block(&self, wish: &LeaseBlock) -> Result<BlockView> {
        self.write(Method::POST, &["api", "v1", "fleet", "lease"], wish).await
    }

    /// Hands over results: [`Frame`](malla_protocol::Frame)s, one after the other. Sent twice, they count once.
    pub async fn bring_results(&self, frames: Vec<u8>) -> Result<ResultsTaken> {
        let headers = vec![("content-type".to_owned(), "application/octet-stream".to_owned())];
        let (path, token) = (["api", "v1", "fleet", "results"], self.token());
        self.write_raw(Raw { method: Method::POST, path: &path, query: None, headers, token, body: frames }).await
    }

    pub async fn give_back(&self, items: &GiveBack) -> Result<()> {
        self.tell(&["api", "v1", "fleet", "give-back"], Some(items)).await
    }

    pub async fn heartbeat(&self) -> Result<()> {
        self.tell(&["api", "v1", "fleet", "heartbeat"], None::<&()>).await
    }

    pub async fn leave_fleet(&self) -> Result<()> {
        self.tell(&["api", "v1", "fleet", "leave"], None::<&()>).await
    }
}
