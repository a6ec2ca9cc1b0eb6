//! The typed HTTP client of Malla: one method a route, in the words of [`malla_protocol`].
//!
//! ```no_run
//! # async fn example() -> Result<(), malla_client::Error> {
//! use malla_client::{Client, ClientOptions};
//!
//! let servers = vec!["http://127.0.0.1:7070".to_owned()];
//! let client = Client::new(ClientOptions { servers, token: Some("malla_…".to_owned()), ca_pem: None })?;
//! let counts = client.counts().await?;
//! println!("{} tasks wait", counts.total.queued);
//! # Ok(())
//! # }
//! ```

mod access;
mod alerts;
mod analyze;
mod bike_rides;
mod cluster;
mod compare;
mod crawls;
mod error;
mod events;
mod fetch;
mod fleet;
mod house;
mod notify;
mod tail;
mod tasks;
mod transport;
mod trust;
mod watches;
mod wiki;

pub use analyze::Encoding;
pub use bike_rides::BikeRides;
pub use error::{Error, Result};
pub use notify::SendEvent;
pub use tail::Tail;
pub use tasks::Verb;
pub use transport::{Client, ClientOptions};
