//! What is kept of things that come one after another: times between edits, and sizes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Between, Edit, SizeAt};

/// Points of the size over time.
const POINTS_MAX: usize = 200;

/// Times between edits, counted in eighths of powers of two.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Gaps {
    counts: BTreeMap<u32, u64>,
    sum_s: u64,
    longest_s: u64,
    edits: u64,
}

impl Gaps {
    pub(super) fn add(&mut self, gap_s: u64) {
        let power = gap_s.max(8).ilog2();
        let place = if gap_s < 8 { gap_s as u32 } else { power * 8 + ((gap_s >> (power - 3)) & 7) as u32 };
        *self.counts.entry(place).or_default() += 1;
        self.sum_s += gap_s;
        self.longest_s = self.longest_s.max(gap_s);
        self.edits += 1;
    }

    pub(super) fn between(&self) -> Option<Between> {
        let mut left = self.edits.checked_sub(1)? / 2;
        let middle = self.counts.iter().find(|(_, count)| {
            let here = left < **count;
            left = left.saturating_sub(**count);
            here
        })?;
        Some(Between {
            mean_s: self.sum_s as f64 / self.edits as f64,
            median_s: middle_of(*middle.0).min(self.longest_s as f64),
            longest_s: self.longest_s as f64,
        })
    }
}

/// The middle of what is counted at a place.
fn middle_of(place: u32) -> f64 {
    if place < 8 {
        return f64::from(place);
    }
    let (power, eighth) = (place / 8, place % 8);
    f64::from(power - 3).exp2() * (f64::from(8 + eighth) + 0.5)
}

/// Points over time: every one, then every second, every fourth and so on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Sizes {
    pub(super) points: Vec<SizeAt>,
    every: u64,
    seen: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { points: Vec::new(), every: 1, seen: 0 }
    }
}

impl Sizes {
    pub(super) fn add(&mut self, point: SizeAt) {
        if self.seen.is_multiple_of(self.every) {
            // One is left for the last.
            if self.points.len() == POINTS_MAX - 1 {
                let mut place = 0;
                self.points.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                self.every *= 2;
            }
            if self.seen.is_multiple_of(self.every) {
                self.points.push(point);
            }
        }
        self.seen += 1;
    }

    pub(super) fn end(&mut self, last: Option<&Edit>) {
        let last = last.map(|edit| SizeAt { at: edit.at, size: edit.size });
        self.points.extend(last.filter(|last| self.points.last() != Some(last)));
    }
}
