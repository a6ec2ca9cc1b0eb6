//! A fleet that is played through: honest devices and liars of several kinds, judged by the same functions as the product.
//! Deterministic by its seed.

use std::collections::HashMap;

use super::{
    Agreement, Check, CheckId, CheckKind, CheckState, Claim, Consequence, Finding, Party, Repute, Statement,
    TrustRules, Verdict, agreement, of_etag, of_three,
};
use crate::ledger::HOUSE;
use crate::{PageId, PageUrl};
use malla_queue::{TaskId, UnixMs};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Nature {
    Honest,
    /// Says that nothing has changed whenever it was asked that, and makes up the rest.
    Lazy,
    /// Makes up every page.
    Forging,
    /// Makes up one page in ten.
    Sparing,
    /// Makes up pages as its accomplices do, so that they confirm each other.
    Colluding,
    /// Honest for a thousand results, then makes up every page.
    Sleeping,
}

impl Nature {
    pub fn name(self) -> &'static str {
        match self {
            Nature::Honest => "honest",
            Nature::Lazy => "lazy",
            Nature::Forging => "forging",
            Nature::Sparing => "sparing",
            Nature::Colluding => "colluding",
            Nature::Sleeping => "sleeping",
        }
    }
}

const LIARS: [Nature; 5] = [Nature::Lazy, Nature::Forging, Nature::Sparing, Nature::Colluding, Nature::Sleeping];
/// Results that a sleeper brings before it lies.
const SLEEP: u64 = 1_000;

#[derive(Debug, Clone, Copy)]
pub struct Setting {
    pub seed: u64,
    pub results: u64,
    pub devices: u32,
    /// Of a hundred.
    pub liars: u32,
    pub sites: u32,
    /// Of a thousand pages, those that each visitor sees differently.
    pub unstable: u32,
    /// Of a thousand fetches, those that fail for no fault of the device's.
    pub errors: u32,
    pub rules: TrustRules,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            seed: 1,
            results: 1_000_000,
            devices: 200,
            liars: 10,
            sites: 500,
            unstable: 20,
            errors: 10,
            rules: TrustRules::default(),
        }
    }
}

/// What became of the devices of one nature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fate {
    pub devices: u64,
    pub convicted: u64,
    pub results: u64,
    pub forged: u64,
    /// Forged results until each was convicted, over those that were.
    pub forged_until: u64,
    pub forged_until_most: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    pub results: u64,
    /// Fetches for checks and trials.
    pub checks: u64,
    pub trials: u64,
    /// Forged results that were told to a client.
    pub forged_told: u64,
    /// Of the forged results that were checked, those that passed: what a client is told who waits for the check.
    pub forged_checked: u64,
    pub forged_passed: u64,
    pub false_accusations: u64,
    pub strikes_on_honest: u64,
    pub fates: Vec<(Nature, Fate)>,
}

struct Actor {
    party: Party,
    nature: Nature,
    own: Repute,
    results: u64,
    forged: u64,
    out: bool,
}

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    #[allow(clippy::cast_precision_loss)] // 53 bits fit
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

const WORDS: [&str; 32] = [
    "river", "stone", "winter", "garden", "letter", "market", "harbour", "silver", "morning", "bridge", "forest",
    "window", "copper", "island", "summer", "village", "the", "of", "and", "went", "saw", "under", "before", "again",
    "people", "water", "road", "evening", "council", "bread", "light", "story",
];

/// A text of many words that is the same for the same number, with a date and an ad that are not.
fn text(number: u64, moment: u64) -> String {
    let mut dice = Dice(number);
    let mut text = format!("<p>2026-11-17 {moment}</p><p>");
    for _ in 0..60 {
        text.push_str(WORDS[usize::try_from(dice.below(32)).unwrap_or(0)]);
        text.push(' ');
    }
    let ad = WORDS[usize::try_from(Dice(moment).below(32)).unwrap_or(0)];
    text.push_str(&format!("</p><div>buy {ad} now</div><input value=\"{moment:x}\">"));
    text
}

/// What somebody brings of a page: its status, which text and when, and whether that is made up.
struct Brought {
    status: u16,
    number: u64,
    moment: u64,
    forged: bool,
}

impl Brought {
    fn body(&self) -> String {
        if self.status == 200 { text(self.number, self.moment) } else { String::new() }
    }
}

struct World {
    setting: Setting,
    dice: Dice,
    actors: Vec<Actor>,
    users: HashMap<String, Repute>,
    house: Party,
    outcome: Outcome,
    moment: u64,
}

/// Plays the setting through.
pub fn play(setting: Setting) -> Outcome {
    let mut world = World::new(setting);
    for _ in 0..setting.results {
        if !world.step() {
            break;
        }
    }
    world.end()
}

impl World {
    fn new(setting: Setting) -> Self {
        let liars = setting.devices * setting.liars / 100;
        let actor = |number: u32| {
            let nature = if number < liars { LIARS[number as usize % LIARS.len()] } else { Nature::Honest };
            // Half of the users lend two devices.
            let party = Party {
                device: i64::from(number) + 1,
                name: format!("device-{number}"),
                owner: format!("user-{}", if number % 3 == 2 { number - 1 } else { number }),
                ..Party::default()
            };
            Actor { party, nature, own: Repute::default(), results: 0, forged: 0, out: false }
        };
        let house = Party { owner: HOUSE.into(), name: "server".into(), ..Party::default() };
        let actors = (0..setting.devices).map(actor).collect();
        let dice = Dice(setting.seed);
        Self { setting, dice, actors, users: HashMap::new(), house, outcome: Outcome::default(), moment: 0 }
    }

    /// Somebody at work, other than this user; `None` if there is nobody.
    fn somebody(&mut self, not: Option<&str>) -> Option<usize> {
        for _ in 0..1_000 {
            let at = usize::try_from(self.dice.below(self.actors.len() as u64)).unwrap_or(0);
            let actor = &self.actors[at];
            if !actor.out && not != Some(actor.party.owner.as_str()) {
                return Some(at);
            }
        }
        None
    }

    /// What the site says.
    fn truth(&mut self, page: u64) -> Brought {
        self.moment += 1;
        if self.dice.below(1_000) < u64::from(self.setting.errors) {
            return Brought { status: 580, number: 0, moment: 0, forged: false };
        }
        let unstable = Dice(page).below(1_000) < u64::from(self.setting.unstable);
        let number = if unstable { page ^ self.dice.next() } else { page };
        Brought { status: 200, number, moment: self.moment, forged: false }
    }

    fn bring(&mut self, at: usize, page: u64) -> Brought {
        let nature = self.actors[at].nature;
        let lies = match nature {
            Nature::Honest => false,
            Nature::Sleeping => self.actors[at].results >= SLEEP,
            Nature::Sparing => self.dice.below(10) == 0,
            Nature::Lazy | Nature::Forging | Nature::Colluding => true,
        };
        if !lies {
            return self.truth(page);
        }
        self.moment += 1;
        // Accomplices make up the same.
        let number = if nature == Nature::Colluding { page ^ 0xfeed } else { self.dice.next() };
        Brought { status: 200, number, moment: self.moment, forged: true }
    }

    /// One result for a client, with the checks it causes. False if nobody is left.
    fn step(&mut self) -> bool {
        let Some(at) = self.somebody(None) else { return false };
        let page = self.dice.next() | 1;
        let site = self.dice.below(u64::from(self.setting.sites));
        let owner = self.users.get(&self.actors[at].party.owner).map_or(0, |repute| repute.cv);
        let cv = self.actors[at].own.cv.min(owner);
        if self.trapped(at, cv, site) {
            return true;
        }
        let brought = self.bring(at, page);
        self.outcome.results += 1;
        self.actors[at].results += 1;
        self.actors[at].forged += u64::from(brought.forged);
        self.outcome.forged_told += u64::from(brought.forged);
        let draw = self.dice.share();
        if self.setting.rules.is_checked(cv, draw) {
            let caught = self.check(at, page, site, &brought);
            self.outcome.forged_checked += u64::from(brought.forged);
            self.outcome.forged_passed += u64::from(brought.forged && !caught);
        }
        true
    }

    /// A validator that no page has: the lazy say 304 to it. Returns whether that ended the step.
    fn trapped(&mut self, at: usize, cv: u64, site: u64) -> bool {
        let chance = self.setting.rules.chance(cv) * 0.25;
        if self.dice.share() >= chance || self.actors[at].nature != Nature::Lazy {
            return false;
        }
        self.outcome.checks += 1;
        self.outcome.trials += 1;
        if let Verdict::FirstLied { hard } = of_etag(200) {
            self.lied(at, site, hard);
        }
        true
    }

    /// Returns whether the first was found to lie.
    fn check(&mut self, at: usize, page: u64, site: u64, brought: &Brought) -> bool {
        let owner = self.actors[at].party.owner.clone();
        let Some(second) = self.somebody(Some(&owner)) else { return false };
        let other = self.bring(second, page);
        self.outcome.checks += 1;
        let [first, next] = [at, second].map(|at| self.actors[at].party.clone());
        let url = PageUrl::parse(&format!("http://site-{site}.example/{page}")).expect("a URL");
        let claim = |by: &Party, status: u16| {
            let by = by.clone();
            Claim { by, status, page: Some(PageId(TaskId(1))), ..Claim::default() }
        };
        let mut case =
            Check::new(CheckId(TaskId(1)), CheckKind::Replica, &url, Some(claim(&first, brought.status)), UnixMs(0));
        let said = |by, brought: &'_ Brought| (by, brought.status, brought.body());
        let (one, two) = (said(&first, brought), said(&next, &other));
        let finding = match agreement(&statement(&one), &statement(&two)) {
            Agreement::Same => Finding::Agreed,
            Agreement::Different => Finding::Differs,
            Agreement::Unclear => Finding::Doubtful,
        };
        let mut follows = case.settle(CheckState::Open, claim(&next, other.status), finding, UnixMs(0));
        if follows.contains(&Consequence::Trial) {
            let third = self.truth(page);
            self.outcome.checks += 1;
            self.outcome.trials += 1;
            let house = self.house.clone();
            let three = said(&house, &third);
            let verdict = of_three(&statement(&one), &statement(&two), &statement(&three));
            follows = case.settle(CheckState::Trial, claim(&house, third.status), Finding::Judged(verdict), UnixMs(0));
        }
        let mut caught = false;
        for consequence in follows {
            match consequence {
                Consequence::Valid(by) => self.valid(&by),
                Consequence::Doubted(by) => {
                    if let Some(actor) = self.actor(&by) {
                        self.actors[actor].own.doubted();
                    }
                }
                Consequence::Lied { by, hard, .. } => {
                    caught |= by.device == first.device;
                    if let Some(actor) = self.actor(&by) {
                        self.lied(actor, site, hard);
                    }
                }
                Consequence::Trial | Consequence::Tell { .. } => {}
            }
        }
        caught
    }

    fn actor(&self, party: &Party) -> Option<usize> {
        usize::try_from(party.device - 1).ok().filter(|at| *at < self.actors.len())
    }

    fn valid(&mut self, by: &Party) {
        let rules = self.setting.rules;
        if let Some(at) = self.actor(by) {
            self.actors[at].own.valid(&rules);
            self.users.entry(by.owner.clone()).or_default().valid(&rules);
        }
    }

    fn lied(&mut self, at: usize, site: u64, hard: bool) {
        let (rules, site) = (self.setting.rules, format!("site-{site}"));
        let owner = self.actors[at].party.owner.clone();
        self.users.entry(owner).or_default().lied(&rules, &site, false);
        let actor = &mut self.actors[at];
        self.outcome.strikes_on_honest += u64::from(actor.nature == Nature::Honest);
        if actor.own.lied(&rules, &site, hard) {
            actor.out = true;
            self.outcome.false_accusations += u64::from(actor.nature == Nature::Honest);
        }
    }

    fn end(mut self) -> Outcome {
        let mut fates: HashMap<Nature, Fate> = HashMap::new();
        for actor in &self.actors {
            let fate = fates.entry(actor.nature).or_default();
            fate.devices += 1;
            fate.results += actor.results;
            fate.forged += actor.forged;
            if actor.out {
                fate.convicted += 1;
                fate.forged_until += actor.forged;
                fate.forged_until_most = fate.forged_until_most.max(actor.forged);
            }
        }
        self.outcome.fates = fates.into_iter().collect();
        self.outcome.fates.sort_unstable_by_key(|(nature, _)| *nature);
        self.outcome
    }
}

fn statement<'a>((by, status, body): &'a (&'a Party, u16, String)) -> Statement<'a> {
    Statement { by, status: *status, location: None, body: body.as_bytes(), unchanged: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn liars_are_found_and_the_honest_are_left_alone() {
        let setting = Setting { results: 60_000, devices: 50, ..Setting::default() };
        let outcome = play(setting);
        assert_eq!(outcome, play(setting), "the same seed plays the same");
        assert_eq!(outcome.false_accusations, 0);
        for (nature, fate) in &outcome.fates {
            let expected = if *nature == Nature::Honest { 0 } else { fate.devices };
            assert_eq!(fate.convicted, expected, "{nature:?}: {fate:?}");
        }
        assert!(outcome.checks * 100 < outcome.results * 10, "{} checks", outcome.checks);
        assert_ne!(outcome, play(Setting { seed: 2, ..setting }));
    }
}
