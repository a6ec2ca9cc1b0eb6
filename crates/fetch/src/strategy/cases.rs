//! What each strategy gives to whom, and how it does in a small world.

use super::world::{Played, World, play};
use super::*;

const NOW: UnixMs = UnixMs(1_700_000_000_000);

fn country(code: &str) -> Country {
    code.parse().expect("a country")
}

/// A site in this country that has waited so long, with so many tasks.
fn site(code: &str, waited_ms: i64, tasks: usize) -> ReadySite {
    ReadySite {
        waiting_since: UnixMs(NOW.0 - waited_ms),
        tasks,
        gap_ms: 1_000,
        country: code.parse().ok(),
        page_ms: Vec::new(),
    }
}

fn device(code: &str, given: u64, in_hand: usize) -> DeviceView {
    DeviceView { given, in_hand, country: code.parse().ok(), slower_ms: 0 }
}

fn fleet(mean_given: u64, places: &[&str], asking: &[DeviceView]) -> FleetView {
    FleetView { now: NOW, mean_given, places: places.iter().map(|code| country(code)).collect(), asking: asking.into() }
}

fn check(shares: Vec<Share>, expected: &[(usize, usize)]) {
    let shares: Vec<_> = shares.iter().map(|share| (share.site, share.pages)).collect();
    assert_eq!(shares, expected);
}

#[test]
fn strategies_have_names() {
    for strategy in Strategy::ALL {
        assert_eq!(strategy.name().parse::<Strategy>().expect("its name"), strategy);
    }
    let error = "fastest".parse::<Strategy>().expect_err("no strategy").to_string();
    assert!(error.contains("choose democratic, less_busy, geography or adaptive"), "{error}");
    assert_eq!(Strategy::default(), Strategy::Adaptive);
}

#[test]
fn pages_are_spread_before_they_are_piled_up() {
    let democratic = |sites: &[ReadySite], pages| {
        choose(Strategy::Democratic, &DeviceView::default(), sites, pages, &fleet(1_000, &[], &[]))
    };
    let (a, b, c) = (site("DE", 3, 9), site("DE", 2, 9), site("DE", 1, 1));
    check(democratic(&[a.clone(), b.clone(), c.clone()], 2), &[(0, 1), (1, 1)]);
    check(democratic(&[a.clone(), b.clone(), c.clone()], 16), &[(0, 4), (1, 4), (2, 1)]);
    check(democratic(&[a.clone(), b, c], 5), &[(0, 2), (1, 2), (2, 1)]);
    check(democratic(std::slice::from_ref(&a), 16), &[(0, 4)]);
    check(democratic(std::slice::from_ref(&a), 1), &[(0, 1)]);
    check(democratic(&[a], 0), &[]);
    check(democratic(&[], 16), &[]);
}

#[test]
fn democratic_gives_until_a_device_is_a_block_ahead() {
    let sites: Vec<_> = (0..30).map(|n| site("DE", 100 - n, 1)).collect();
    for (given, mean, expected) in
        [(0, 0, 16), (100, 100, 16), (110, 100, 6), (116, 100, 0), (999, 100, 0), (0, 100, 20)]
    {
        let fleet = fleet(mean, &[], &[]);
        let got = choose(Strategy::Democratic, &device("DE", given, 0), &sites, 20, &fleet);
        assert_eq!(got.len(), expected, "{given} {mean}");
        assert!(got.iter().enumerate().all(|(n, share)| share.site == n), "the oldest first");
    }
}

#[test]
fn less_busy_gives_the_longest_queues_to_the_idle() {
    let sites = [site("DE", 1, 5), site("DE", 1, 50), site("DE", 9, 5), site("DE", 1, 20)];
    let less_busy = |in_hand, asking: &[DeviceView]| {
        choose(Strategy::LessBusy, &device("DE", 0, in_hand), &sites, 4, &fleet(0, &[], asking))
    };
    let (idle, busy) = (device("DE", 0, 0), device("DE", 0, 3));
    check(less_busy(0, &[]), &[(1, 1), (3, 1), (2, 1), (0, 1)]);
    check(less_busy(0, &[idle]), &[(1, 1), (3, 1)]);
    check(less_busy(0, &[busy]), &[(1, 1), (3, 1), (2, 1), (0, 1)]);
    check(less_busy(3, &[idle]), &[(3, 1), (2, 1), (0, 1)]);
    check(less_busy(3, &[idle, idle, idle, idle]), &[]);
    check(less_busy(3, &[]), &[(1, 1), (3, 1), (2, 1), (0, 1)]);
}

#[test]
fn geography_gives_to_the_nearest_and_lets_the_idle_steal() {
    let sites = [site("JP", 1, 9), site("FR", 1, 9), site("DE", 1, 9), site("US", 1, 9)];
    let geography = |device: DeviceView, asking: &[DeviceView]| {
        choose(Strategy::Geography, &device, &sites, 4, &fleet(0, &["DE", "JP", "AR"], asking))
    };
    check(geography(device("DE", 0, 0), &[]), &[(2, 1), (1, 1), (3, 1)]);
    check(geography(device("JP", 0, 3), &[]), &[(0, 1)]);
    // Nothing is nearest to it: it steals what is nearest, but not from those who ask themselves.
    check(geography(device("AR", 0, 3), &[]), &[]);
    check(geography(device("AR", 0, 0), &[]), &[(3, 1), (1, 1), (2, 1), (0, 1)]);
    check(geography(device("AR", 0, 0), &[device("JP", 0, 9)]), &[(3, 1)]);
    // A place that is not known is near to nobody.
    check(geography(device("", 0, 3), &[]), &[]);
    let unknown = [site("", 1, 9)];
    let got = choose(Strategy::Geography, &device("JP", 0, 3), &unknown, 4, &fleet(0, &["DE", "JP"], &[]));
    check(got, &[(0, 1)]);
}

#[test]
fn adaptive_gives_what_takes_longest_to_whom_it_takes_least() {
    let measured = |tasks, waited_ms, page_ms: &[(&str, u64)]| ReadySite {
        page_ms: page_ms.iter().map(|(code, ms)| (country(code), *ms)).collect(),
        ..site("DE", waited_ms, tasks)
    };
    let sites = [
        measured(10, 1, &[("AR", 800)]),
        measured(100, 1, &[("AR", 900), ("JP", 200)]),
        measured(14, 1, &[("AR", 300)]),
        measured(16, 1, &[]),
    ];
    let adaptive = |sites: &[ReadySite], device: DeviceView, asking: &[DeviceView]| {
        choose(Strategy::Adaptive, &device, sites, 4, &fleet(0, &[], asking))
    };
    // By what is left to do, then by what was measured, else by distance (about 720 ms from Argentina to Germany).
    check(adaptive(&sites, device("AR", 0, 0), &[]), &[(1, 1), (2, 1), (3, 1), (0, 1)]);
    // Japan asks too: what is quicker from there, or seems to be, is left to it.
    check(adaptive(&sites, device("AR", 0, 0), &[device("JP", 0, 0)]), &[(2, 1)]);
    let slow = DeviceView { slower_ms: 800, ..device("JP", 0, 0) };
    check(adaptive(&sites, device("AR", 0, 0), &[slow]), &[(1, 1), (2, 1), (3, 1), (0, 1)]);
    // But not for ever.
    let waiting = [measured(100, 3_000, &[("AR", 900), ("JP", 200)])];
    check(adaptive(&waiting, device("AR", 0, 0), &[device("JP", 0, 0)]), &[(0, 1)]);
}

#[test]
fn a_site_that_nobody_prefers_gets_its_turn() {
    let mut sites: Vec<_> = (0..8).map(|_| site("DE", 1, 1)).collect();
    sites.push(site("JP", 31_000, 1));
    sites.push(site("JP", 40_000, 1));
    sites.push(site("JP", 29_000, 1));
    let got = choose(Strategy::Geography, &device("DE", 0, 5), &sites, 6, &fleet(0, &["DE", "JP"], &[]));
    check(got, &[(9, 1), (0, 1), (1, 1), (2, 1), (8, 1), (3, 1)]);
    // Also if there is nothing that would be preferred.
    let got = choose(Strategy::Geography, &device("DE", 0, 5), &sites[8..], 6, &fleet(0, &["DE", "JP"], &[]));
    check(got, &[(1, 1), (0, 1)]);
}

/// Worlds where sites are the limit, where devices are, and in between.
const WORLDS: [(u64, usize, usize, usize); 4] = [(1, 40, 16, 10), (2, 40, 16, 10), (3, 150, 8, 4), (4, 12, 30, 12)];

fn played(strategy: Strategy) -> Vec<Played> {
    let worlds = WORLDS.iter().map(|(seed, sites, pages, devices)| World::generate(*seed, *sites, *pages, *devices));
    worlds.map(|world| play(&world, strategy)).collect()
}

#[test]
fn every_page_of_a_world_is_fetched_once_and_no_site_is_hurt() {
    let adaptive = played(Strategy::Adaptive);
    for strategy in Strategy::ALL {
        for (result, other) in played(strategy).iter().zip(&adaptive) {
            assert_eq!(result.pages, other.pages, "{strategy}");
            assert_eq!(result.given.iter().sum::<u64>(), result.pages as u64, "{strategy}");
            assert_eq!(result.hurried, 0, "{strategy}");
            assert!(result.makespan_by_ideal() >= 1.0, "{strategy}: {}", result.makespan_by_ideal());
        }
    }
    assert_eq!(played(Strategy::Adaptive), adaptive, "the same seed is the same world");
}

#[test]
fn democratic_gives_everyone_the_same() {
    for result in played(Strategy::Democratic) {
        let mean = result.pages as f64 / result.given.len() as f64;
        let most = *result.given.iter().max().expect("a device") as f64;
        assert!(most <= mean + AHEAD_MAX as f64 + 1.0, "{most} {mean}");
    }
    // Where there is work for all, also nobody stays behind.
    let busy = &played(Strategy::Democratic)[2];
    assert!(busy.gini() < 0.05 && played(Strategy::LessBusy)[2].gini() > 0.1, "{}", busy.gini());
}

#[test]
fn less_busy_does_not_wait_for_the_slow() {
    let (less_busy, democratic) = (&played(Strategy::LessBusy)[2], &played(Strategy::Democratic)[2]);
    assert!(less_busy.makespan_by_ideal() * 1.1 < democratic.makespan_by_ideal(), "{less_busy:?} {democratic:?}");
}

#[test]
fn geography_has_the_shortest_ways() {
    let geography = played(Strategy::Geography);
    for strategy in [Strategy::Democratic, Strategy::LessBusy, Strategy::Adaptive] {
        for (nearest, other) in geography.iter().zip(played(strategy)) {
            assert!(nearest.km < other.km, "{strategy}: {} {}", nearest.km, other.km);
        }
    }
}

#[test]
fn adaptive_is_done_first() {
    let adaptive = played(Strategy::Adaptive);
    for strategy in [Strategy::Democratic, Strategy::LessBusy, Strategy::Geography] {
        for (first, other) in adaptive.iter().zip(played(strategy)) {
            assert!(first.makespan_by_ideal() < other.makespan_by_ideal() * 1.02, "{strategy}: {first:?} {other:?}");
        }
    }
    // Where sites are the limit, it is nearly as good as can be.
    assert!(adaptive[0].makespan_by_ideal() < 1.1, "{}", adaptive[0].makespan_by_ideal());
}
