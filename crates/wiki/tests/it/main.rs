//! Extractions against a wiki inside of the test, with a store in memory.

mod fake;
mod finding;
mod house;
mod keeping;
mod scraping;
mod trouble;
mod visiting;
mod walking;
