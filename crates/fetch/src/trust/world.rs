//! A fleet that is played through: honest devices and liars of several kinds, on sites whose pages change, fail and differ
//! by place. What is decided about them is decided by the functions of the product. Deterministic by its seed.

mod scene;

use std::collections::HashMap;

use malla_queue::{TaskId, UnixMs};

use super::{
    Check, CheckId, CheckKind, CheckState, Claim, Consequence, FreeChecks, Glance, Party, Repute, Statement,
    TrustRules, find,
};
use crate::{Answer, BodyHash, DeviceId, PackedBody, PageId, PageUrl};
pub use scene::Nature;
use scene::{Brought, COUNTRIES, Dice, Sight};

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
    /// Of a thousand checks, those whose page has become another one before its check.
    pub changed: u32,
    /// Of a thousand sites, those that look different in each country. One device in five does not say where it is.
    pub by_place: u32,
    /// Of a thousand sites, those that say "not modified" to any validator.
    pub stubborn: u32,
    /// Of a thousand fetches, those that fail for no fault of the device's.
    pub errors: u32,
    /// Whether there is a control site.
    pub control: bool,
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
            changed: 10,
            by_place: 10,
            stubborn: 5,
            errors: 10,
            control: false,
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
    /// Of these, told to a client.
    pub told: u64,
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
    /// Results that clients were told after their check.
    pub held: u64,
    pub forged: u64,
    /// Of the forged results, those that were told to a client.
    pub forged_told: u64,
    pub false_accusations: u64,
    pub strikes_on_honest: u64,
    pub fates: Vec<(Nature, Fate)>,
}

struct Actor {
    party: Party,
    country: u64,
    nature: Nature,
    own: Repute,
    results: u64,
    forged: u64,
    told: u64,
    out: bool,
}

struct World {
    setting: Setting,
    dice: Dice,
    actors: Vec<Actor>,
    users: HashMap<String, Repute>,
    free: FreeChecks,
    house: Party,
    outcome: Outcome,
    moment: u64,
}

/// Plays the setting through.
pub fn play(setting: Setting) -> Outcome {
    let mut world = World::new(setting);
    while world.outcome.results < setting.results && world.step() {}
    world.end()
}

impl World {
    fn new(setting: Setting) -> Self {
        let liars = setting.devices * setting.liars / 100;
        let actor = |number: u32| {
            let kinds = Nature::LIARS;
            let nature = if number < liars { kinds[number as usize % kinds.len()] } else { Nature::Honest };
            let country = u64::from(number) % COUNTRIES.len() as u64;
            // Some users lend two devices.
            let party = Party {
                device: i64::from(number) + 1,
                name: format!("device-{number}"),
                owner: format!("user-{}", if number % 3 == 2 { number - 1 } else { number }),
                country: (!number.is_multiple_of(7)).then(|| COUNTRIES[country as usize].to_owned()),
                ..Party::default()
            };
            Actor { party, country, nature, own: Repute::default(), results: 0, forged: 0, told: 0, out: false }
        };
        let country = Some(COUNTRIES[0].to_owned());
        let house = Party { name: "server".into(), trusted: true, country, ..Party::default() };
        Self {
            setting,
            dice: Dice(setting.seed),
            actors: (0..setting.devices).map(actor).collect(),
            users: HashMap::new(),
            free: FreeChecks::default(),
            house,
            outcome: Outcome::default(),
            moment: 0,
        }
    }

    /// Somebody at work that may do this check; `None` if there is nobody.
    fn somebody(&mut self, check: Option<&Check>) -> Option<usize> {
        let task = check.map(|check| check.to_task().expect("it has a URL").check.expect("it is a check's"));
        let suits = |actor: &Actor| !actor.out && task.as_ref().is_none_or(|task| task.suits(&actor.party));
        for _ in 0..1_000 {
            let at = usize::try_from(self.dice.below(self.actors.len() as u64)).unwrap_or(0);
            if suits(&self.actors[at]) {
                return Some(at);
            }
        }
        None
    }

    fn site_is(&self, site: u64, salt: u64, per_mille: u32) -> bool {
        Dice(site ^ salt).happens(per_mille)
    }

    /// What the site says to somebody in that country.
    fn truth(&mut self, sight: Sight, country: u64) -> Brought {
        self.moment += 1;
        if self.dice.happens(self.setting.errors) {
            return Brought::failed();
        }
        let mut number = sight.page ^ (u64::from(sight.changed) << 40);
        if Dice(sight.page).happens(self.setting.unstable) {
            number ^= self.dice.next();
        }
        if self.site_is(sight.site, 0x9e0, self.setting.by_place) {
            number ^= (country + 1) << 50;
        }
        Brought { status: 200, number, moment: self.moment, forged: false }
    }

    /// Whether this device makes something up now.
    fn lies(&mut self, at: usize) -> bool {
        match self.actors[at].nature {
            Nature::Honest => false,
            Nature::Sleeping => self.actors[at].results >= SLEEP,
            Nature::Sparing => self.dice.below(10) == 0,
            Nature::Lazy | Nature::Forging | Nature::Colluding => true,
        }
    }

    fn bring(&mut self, at: usize, sight: Sight) -> Brought {
        if !self.lies(at) {
            return self.truth(sight, self.actors[at].country);
        }
        self.moment += 1;
        // Accomplices make up the same.
        let colludes = self.actors[at].nature == Nature::Colluding;
        let number = if colludes { sight.page ^ 0xfeed } else { self.dice.next() };
        Brought { status: 200, number, moment: self.moment, forged: true }
    }

    /// One result for a client, with the checks it causes. False if nobody is left.
    fn step(&mut self) -> bool {
        let Some(at) = self.somebody(None) else { return false };
        let (page, site) = (self.dice.next() | 1, self.dice.below(u64::from(self.setting.sites)));
        let sight = Sight { page, site, changed: false };
        let url = PageUrl::parse(&format!("http://site-{site}.example/{page}")).expect("a URL");
        let owner = self.users.get(&self.actors[at].party.owner).map_or(0, |repute| repute.cv);
        let (cv, rules) = (self.actors[at].own.cv.min(owner), self.setting.rules);
        if rules.is_trapped(cv, self.dice.share()) && self.trapped(at, site, &url) {
            return true;
        }
        let brought = self.bring(at, sight);
        self.outcome.results += 1;
        self.outcome.forged += u64::from(brought.forged);
        let actor = &mut self.actors[at];
        (actor.results, actor.forged) = (actor.results + 1, actor.forged + u64::from(brought.forged));
        let checked = self.is_odd(at, &url, &brought) || rules.is_checked(cv, self.dice.share());
        let held = checked && rules.holds(cv) && crate::ledger::is_paid(brought.status);
        if !held {
            self.tell(at, &brought);
        }
        if checked {
            self.outcome.held += u64::from(held);
            self.check(at, sight, &url, &brought, held);
            if rules.sends_to_control(self.dice.share()) {
                if self.setting.control && self.dice.below(2) == 0 {
                    self.control();
                } else {
                    self.known(sight, &url);
                }
            }
        }
        true
    }

    fn tell(&mut self, at: usize, brought: &Brought) {
        self.outcome.forged_told += u64::from(brought.forged);
        self.actors[at].told += u64::from(brought.forged);
    }

    /// What can be seen without asking anybody.
    fn is_odd(&self, at: usize, url: &PageUrl, brought: &Brought) -> bool {
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&brought.number.to_le_bytes());
        hash[8..16].copy_from_slice(&brought.moment.to_le_bytes());
        let bytes = if brought.status == 200 { 500 } else { 0 };
        let body = PackedBody { packed: Default::default(), bytes, hash: None };
        let answer = Answer { status: brought.status, headers: Vec::new(), body, trouble: None, took_ms: 1 };
        let (device, body) = (DeviceId(self.actors[at].party.device), Some(BodyHash(hash)));
        let now = UnixMs(0);
        self.free.look(&Glance { device, url, answer: &answer, body, conditional: false, now }).is_some()
    }

    /// It was asked with a validator that no page has. Returns whether it said that nothing has changed.
    fn trapped(&mut self, at: usize, site: u64, url: &PageUrl) -> bool {
        let stubborn = self.site_is(site, 0x57b, self.setting.stubborn);
        if self.actors[at].nature != Nature::Lazy && !stubborn {
            return false;
        }
        let first = claim(&self.actors[at].party, 304, 1);
        let mut case = Check::new(CheckId(TaskId(1)), CheckKind::Etag, url, Some(first), UnixMs(0));
        let status =
            if self.dice.happens(self.setting.errors) { crate::NO_ANSWER } else { [200, 304][usize::from(stubborn)] };
        self.ask_house(&mut case, &[], (status, String::new()));
        true
    }

    /// Somebody is sent to our own site, whose pages nobody can make up.
    fn control(&mut self) {
        let url = PageUrl::parse("http://own.example/pages/1").expect("a URL");
        let mark = "river stone winter";
        let case = Check::new(CheckId(TaskId(1)), CheckKind::Control, &url, None, UnixMs(0));
        let mut case = Check { secret: Some(mark.into()), ..case };
        let Some(at) = self.somebody(Some(&case)) else { return };
        let body = if self.lies(at) { String::from("something else") } else { mark.to_owned() };
        self.outcome.checks += 1;
        let party = self.actors[at].party.clone();
        let said = Statement { body: body.as_bytes(), ..statement(&party, 200, "") };
        let finding = find(&case, None, None, &said);
        let follows = case.settle(CheckState::Open, claim(&party, 200, 1), finding, UnixMs(0));
        if follows.contains(&Consequence::Trial) {
            self.ask_house(&mut case, &[], (200, mark.to_owned()));
        } else {
            self.apply(follows, &url);
        }
    }

    /// Somebody is sent for a page that was checked before.
    fn known(&mut self, sight: Sight, url: &PageUrl) {
        let (house, known) = (self.house.clone(), self.truth(sight, 0));
        let case = Check::new(CheckId(TaskId(1)), CheckKind::Known, url, None, UnixMs(0));
        let mut case = Check { second: Some(claim(&house, known.status, 2)), ..case };
        let Some(at) = self.somebody(Some(&case)) else { return };
        // Some have changed since.
        let sight = Sight { changed: self.dice.happens(self.setting.changed), ..sight };
        let (party, brought) = (self.actors[at].party.clone(), self.bring(at, sight));
        self.outcome.checks += 1;
        let [one, two] = [brought.body(), known.body()];
        let before = [statement(&party, brought.status, &one), statement(&house, known.status, &two)];
        let finding = find(&case, None, Some(&before[1]), &before[0]);
        let follows = case.settle(CheckState::Open, claim(&party, brought.status, 1), finding, UnixMs(0));
        if follows.contains(&Consequence::Trial) {
            let third = self.truth(sight, 0);
            self.ask_house(&mut case, &before, (third.status, third.body()));
        } else {
            self.apply(follows, url);
        }
    }

    /// A trusted device has the last word. Returns which page those who wait are told; 0 for one that is fetched anew.
    fn ask_house(&mut self, case: &mut Check, before: &[Statement<'_>], (status, body): (u16, String)) -> i64 {
        self.outcome.checks += 1;
        self.outcome.trials += 1;
        let house = self.house.clone();
        let finding = find(case, before.first(), before.get(1), &statement(&house, status, &body));
        let follows = case.settle(CheckState::Trial, claim(&house, status, 3), finding, UnixMs(0));
        let url = PageUrl::parse(&case.url).expect("a URL");
        self.apply(follows, &url)
    }

    fn check(&mut self, at: usize, sight: Sight, url: &PageUrl, brought: &Brought, held: bool) {
        let sight = Sight { changed: self.dice.happens(self.setting.changed), ..sight };
        let first = self.actors[at].party.clone();
        let said = claim(&first, brought.status, 1);
        let mut case = Check::new(CheckId(TaskId(1)), CheckKind::Replica, url, Some(said), UnixMs(0));
        let Some(second) = self.somebody(Some(&case)) else { return };
        let (next, other) = (self.actors[second].party.clone(), self.bring(second, sight));
        self.outcome.checks += 1;
        let [one, two] = [brought.body(), other.body()];
        let before = [statement(&first, brought.status, &one), statement(&next, other.status, &two)];
        let finding = find(&case, Some(&before[0]), None, &before[1]);
        let follows = case.settle(CheckState::Open, claim(&next, other.status, 2), finding, UnixMs(0));
        let told = if follows.contains(&Consequence::Trial) {
            let third = self.truth(sight, 0);
            self.ask_house(&mut case, &before, (third.status, third.body()))
        } else {
            self.apply(follows, url)
        };
        if held && told == 1 {
            self.tell(at, brought);
        }
    }

    /// Does what follows. Returns which page those who wait are told.
    fn apply(&mut self, follows: Vec<Consequence>, url: &PageUrl) -> i64 {
        let mut told = 0;
        for consequence in follows {
            match consequence {
                Consequence::Valid(by) => self.change(&by, Repute::valid),
                Consequence::Doubted(by) => self.change(&by, Repute::doubted),
                Consequence::Contradicted(by) => self.change(&by, Repute::contradicted),
                Consequence::Lied { by, hard, .. } => {
                    self.lied(&by, |repute, rules, site| repute.lied(rules, site, hard), url)
                }
                Consequence::Apart { by, .. } => self.lied(&by, Repute::stood_apart, url),
                Consequence::Tell { page, .. } => told = page.map_or(0, |page| page.0.0),
                Consequence::Trial | Consequence::Again | Consequence::Follow { .. } => {}
            }
        }
        told
    }

    fn actor(&mut self, party: &Party) -> Option<&mut Actor> {
        self.actors.get_mut(usize::try_from(party.device - 1).ok()?)
    }

    fn change(&mut self, by: &Party, how: impl Fn(&mut Repute)) {
        if let Some(actor) = self.actor(by) {
            how(&mut actor.own);
            how(self.users.entry(by.owner.clone()).or_default());
        }
    }

    fn lied(&mut self, by: &Party, how: impl Fn(&mut Repute, &TrustRules, &str) -> bool, url: &PageUrl) {
        let (rules, site) = (self.setting.rules, url.site().to_string());
        how(self.users.entry(by.owner.clone()).or_default(), &rules, &site);
        let Some(actor) = self.actor(by) else { return };
        let convicted = how(&mut actor.own, &rules, &site) && !actor.out;
        actor.out |= convicted;
        let honest = actor.nature == Nature::Honest;
        self.outcome.strikes_on_honest += u64::from(honest);
        self.outcome.false_accusations += u64::from(honest && convicted);
    }

    fn end(mut self) -> Outcome {
        let mut fates: HashMap<Nature, Fate> = HashMap::new();
        for actor in &self.actors {
            let fate = fates.entry(actor.nature).or_default();
            fate.devices += 1;
            fate.results += actor.results;
            fate.forged += actor.forged;
            fate.told += actor.told;
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

fn claim(by: &Party, status: u16, page: i64) -> Claim {
    Claim { by: by.clone(), status, page: Some(PageId(TaskId(page))), ..Claim::default() }
}

fn statement<'a>(by: &'a Party, status: u16, body: &'a str) -> Statement<'a> {
    Statement { by, status, location: None, body: body.as_bytes(), unchanged: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn liars_are_found_and_the_honest_are_left_alone() {
        let setting = Setting { results: 200_000, devices: 50, liars: 20, ..Setting::default() };
        let outcome = play(setting);
        assert_eq!(outcome, play(setting), "the same seed plays the same");
        assert_eq!(outcome.false_accusations, 0);
        for (nature, fate) in &outcome.fates {
            let expected = if *nature == Nature::Honest { 0 } else { fate.devices };
            assert_eq!(fate.convicted, expected, "{nature:?}: {fate:?}");
        }
        assert!(
            outcome.forged_told * 1_000 < outcome.results * 5,
            "{} forged of {}",
            outcome.forged_told,
            outcome.results
        );
        assert!(outcome.checks * 100 < outcome.results * 10, "{} checks", outcome.checks);
        assert_ne!(outcome, play(Setting { seed: 2, ..setting }));
        let control = play(Setting { control: true, ..setting });
        assert_eq!(control.false_accusations, 0);
    }
}
