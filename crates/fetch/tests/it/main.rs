//! A device against real sites on this machine, good ones and bad ones, and a dispatcher that remembers everything.

mod answers;
mod bad_sites;
mod dispatcher;
mod fetching;
mod leases;
mod limits;
mod origin;
mod politeness;
mod returning;
mod shutdown;
mod tls;
