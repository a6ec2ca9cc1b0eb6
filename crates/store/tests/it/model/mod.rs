//! Random verbs on a store and on a small model of it, under a clock that the test moves: both must agree on the
//! state of every task after every step. A failure prints the seed and the last steps;
//! `MALLA_MODEL_SEED=N` plays that seed again, `MALLA_MODEL_RUNS=N` plays more of them.

mod player;
mod world;

use crate::harness::{self, House};
use player::Player;

/// A small generator of numbers: the same seed gives the same game.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `sides`.
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        (self.next() % sides.max(1) as u64) as usize
    }

    pub(crate) fn one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        if from.is_empty() { None } else { Some(&from[self.roll(from.len())]) }
    }
}

#[allow(clippy::disallowed_methods)] // settings of the test
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

fn seeds(runs: u64) -> Vec<u64> {
    if let Some(seed) = setting("MALLA_MODEL_SEED") {
        return vec![seed];
    }
    let mut bytes = [0u8; 8];
    getrandom::fill(&mut bytes).expect("randomness");
    let base = u64::from_le_bytes(bytes) % 1_000_000_000;
    (base..base + setting("MALLA_MODEL_RUNS").unwrap_or(runs)).collect()
}

async fn play(house: House, seed: u64, steps: usize) {
    let mut player = Player::new(house, seed);
    for _ in 0..steps {
        player.step().await;
    }
    player.compare_all().await;
}

#[tokio::test]
async fn sqlite_agrees_with_the_model() {
    for seed in seeds(40) {
        play(harness::sqlite().await, seed, 300).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_agrees_with_the_model() {
    for seed in seeds(8) {
        play(harness::postgres().await, seed, 300).await;
    }
}
