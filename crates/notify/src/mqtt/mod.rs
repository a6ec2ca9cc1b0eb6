//! MQTT, both ways: listening to a broker's topics and publishing to them. Version 3.1.1, quality of service 1.

mod broker;
mod listen;
mod publish;

pub use broker::Brokers;
pub use listen::{LISTEN, LISTEN_ROOM, Listener, ensure_listening};
pub use publish::Publisher;
