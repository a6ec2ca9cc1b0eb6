//! Edit times as wikis have them, made by a seed: a few busy pages and many quiet ones, edits in company, days of news,
//! nights and weekends, pages that are dead and pages that wake up.

const DAY: f64 = 86_400.0;
const END: f64 = 1_700_000_000.0;

/// A small generator of numbers: the same for the same seed, on every machine.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to 1.
    pub(super) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The wait for something that happens once in `mean`.
    fn wait(&mut self, mean: f64) -> f64 {
        -(1.0 - self.share()).ln() * mean
    }

    /// Around 0, mostly within 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.share()).sum::<f64>() - 6.0
    }
}

/// The edit times of so many pages over some years, each in order.
pub(super) fn histories(seed: u64, pages: usize) -> Vec<Vec<i64>> {
    let mut dice = Dice::new(seed);
    (0..pages).map(|_| history(&mut dice)).collect()
}

fn history(dice: &mut Dice) -> Vec<i64> {
    let born = END - DAY * (400.0 + 3_000.0 * dice.share());
    // Visits by editors in a year: from one to some hundreds, most of them few.
    let a_year = (2.6 + 1.3 * dice.normal()).exp().clamp(0.5, 600.0);
    let dies = if dice.share() < 0.15 { born + dice.share() * (END - born) } else { END };
    let mut edits = vec![born];
    let mut at = born;
    let mut pace = 1.0;
    let mut pace_until = born;
    loop {
        if at >= pace_until {
            // Times of more and of less interest.
            pace = (0.8 * dice.normal()).exp();
            pace_until = at + dice.wait(90.0 * DAY);
        }
        at += dice.wait(365.0 * DAY / (a_year * pace)).min(30.0 * DAY);
        if at >= dies {
            break;
        }
        if dice.share() > awake(at) {
            continue;
        }
        company(dice, at, dies, &mut edits);
        if dice.share() < 0.004 {
            news(dice, at, dies, &mut edits);
        }
    }
    let mut edits: Vec<i64> = edits.into_iter().map(|at| at as i64).collect();
    edits.sort_unstable();
    edits
}

/// Who edits saves more than once, and others answer.
fn company(dice: &mut Dice, from: f64, dies: f64, edits: &mut Vec<f64>) {
    let mut at = from;
    edits.push(at);
    while dice.share() < 0.55 && edits.len() < 100_000 {
        at += if dice.share() < 0.7 { dice.wait(600.0) } else { dice.wait(0.5 * DAY) };
        if at < dies {
            edits.push(at);
        }
    }
}

/// Something has happened, and everybody writes about it for some days.
fn news(dice: &mut Dice, from: f64, dies: f64, edits: &mut Vec<f64>) {
    let mut at = from;
    for n in 0..20 + (dice.share() * 100.0) as u32 {
        at += dice.wait(900.0 * (1.0 + f64::from(n) / 5.0));
        if at < dies {
            edits.push(at);
        }
    }
}

/// The share of people who are up, and at it.
fn awake(at: f64) -> f64 {
    let hour = (at / 3_600.0) % 24.0;
    let weekday = ((at / DAY) as i64 + 3) % 7;
    let of_day = 0.6 + 0.4 * ((hour - 16.0) / 24.0 * std::f64::consts::TAU).cos();
    if weekday >= 5 { of_day * 0.8 } else { of_day }
}
