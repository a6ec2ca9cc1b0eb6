//! What is counted as revisions are written is what counting them all would give, and what was counted of a history is
//! forgotten exactly when something in it changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::join_all;
use malla_queue::{Error, Scope, UnixMs};
use malla_wiki::metrics::{self, KeptTally, MonthEdits, WikiCounts, month_of};
use malla_wiki::{Committed, Imported, Mark, NewImport, PageChange, PageFacts, PageId, RevId, Revision, VISIT, WikiId};

use crate::harness::{House, act, on_both_stores};
use crate::harness_wiki::{PAGE, change, mark, new_task, new_wiki, revision};
use crate::model::Dice;

on_both_stores!(
    counts_follow_everything_that_is_written,
    a_wiki_that_is_not_there_has_no_counts,
    random_changes_count_as_from_scratch,
    writers_at_the_same_time_count_right,
    what_was_counted_is_kept_of_the_page_as_it_was_only,
    what_was_counted_stays_until_something_in_it_changes,
    a_long_history_is_told_the_same_however_it_came,
);

/// Of each wiki: its revisions by number.
type World = BTreeMap<(WikiId, RevId), Revision>;

/// All revisions of a wiki counted, one by one.
fn counted(world: &World, wiki: WikiId) -> (WikiCounts, BTreeMap<String, u64>) {
    let mut months: BTreeMap<i64, MonthEdits> = BTreeMap::new();
    let (mut editors, mut pages) = (BTreeMap::<String, u64>::new(), BTreeMap::<PageId, u64>::new());
    let mut revisions = 0;
    for ((_, _), one) in world.iter().filter(|((of, _), _)| *of == wiki) {
        let none = MonthEdits { month: month_of(one.at), edits: 0, minor: 0, anonymous: 0 };
        let month = months.entry(none.month).or_insert(none);
        month.edits += 1;
        month.minor += u64::from(one.minor);
        month.anonymous += u64::from(one.anon);
        one.user.iter().for_each(|name| *editors.entry(name.clone()).or_default() += 1);
        *pages.entry(one.pageid).or_default() += 1;
        revisions += 1;
    }
    let count = |(pageid, edits): (&PageId, &u64)| metrics::ArticleCount {
        pageid: *pageid,
        title: title(*pageid),
        edits: *edits,
    };
    let mut top_pages: Vec<_> = pages.iter().map(count).collect();
    top_pages.sort_by_key(|page| (std::cmp::Reverse(page.edits), page.pageid));
    let counts = WikiCounts {
        revisions,
        editors: editors.len() as u64,
        months: months.into_values().collect(),
        top_pages,
        ..WikiCounts::default()
    };
    (counts, editors)
}

/// The store has counted what is in the world.
async fn agrees(house: &House, world: &World, wiki: WikiId, top: usize) {
    let mut found = house.wikis.wiki_counts(wiki, top).await.unwrap();
    let (mut expected, editors) = counted(world, wiki);
    let names: BTreeSet<&String> = found.top_editors.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), found.top_editors.len(), "nobody is there twice");
    assert!(found.top_editors.iter().all(|(name, edits)| editors.get(name) == Some(edits)), "{found:?}");
    let mut most: Vec<u64> = editors.into_values().collect();
    most.sort_by_key(|edits| std::cmp::Reverse(*edits));
    most.truncate(top);
    assert_eq!(found.top_editors.drain(..).map(|(_, edits)| edits).collect::<Vec<_>>(), most);
    expected.top_pages.truncate(top);
    // Pages without revisions are counted, too: the wiki itself says how many there are.
    expected.pages = house.read_wiki(wiki).await.pages;
    assert_eq!(found, expected);
}

fn title(pageid: PageId) -> String {
    format!("Page {}", pageid.0)
}

fn of_page(wiki: WikiId, pageid: PageId, revisions: Vec<Revision>) -> PageChange {
    let revisions = revisions.into_iter().map(|one| Revision { pageid, ..one }).collect();
    let facts = PageFacts { title: title(pageid), ns: 0, deleted: false };
    PageChange { pageid, facts, ..change(wiki, revisions) }
}

/// Writes into the store and into the world.
async fn write(house: &House, world: &mut World, changed: PageChange) {
    world.extend(changed.revisions.iter().map(|one| ((changed.wiki, one.revid), one.clone())));
    house.change(changed).await;
}

async fn counts_follow_everything_that_is_written(house: House) {
    const DAY: i64 = 86_400;
    let (wiki, mut world) = (house.wiki().await, World::new());
    agrees(&house, &world, wiki, 10).await;
    let anonymous = Revision { user: Some("192.0.2.1".into()), anon: true, ..revision(3, 40 * DAY) };
    let ben = Revision { user: Some("Ben".into()), ..revision(4, 41 * DAY) };
    let first = vec![revision(1, 0), revision(2, 10), anonymous, ben.clone()];
    write(&house, &mut world, of_page(wiki, PAGE, first.clone())).await;
    agrees(&house, &world, wiki, 10).await;
    let found = house.wikis.wiki_counts(wiki, 1).await.unwrap();
    assert_eq!((found.revisions, found.editors, found.top_editors), (4, 3, vec![("Ana".to_owned(), 2)]));
    let months: Vec<_> = found.months.iter().map(|one| (one.month, one.edits, one.minor, one.anonymous)).collect();
    assert_eq!(months, [(2018 * 12, 2, 1, 0), (2018 * 12 + 1, 2, 1, 1)]);

    let hidden = Revision { user: None, userid: None, ..ben };
    for (what, changed) in [
        ("the same again", of_page(wiki, PAGE, first)),
        ("a name is hidden", of_page(wiki, PAGE, vec![hidden])),
        ("one from before all others comes later", of_page(wiki, PAGE, vec![revision(9, -400 * DAY)])),
        ("one is minor now, and of another time", of_page(wiki, PAGE, vec![revision(2, 70 * DAY)])),
        ("two move to another page", of_page(wiki, PageId(8), vec![revision(1, 0), revision(9, -400 * DAY)])),
        ("the last of a month goes", of_page(wiki, PageId(8), vec![revision(1, 71 * DAY), revision(9, 0)])),
    ] {
        write(&house, &mut world, changed).await;
        println!("{what}");
        agrees(&house, &world, wiki, 10).await;
        house.verify().await;
    }
}

async fn a_wiki_that_is_not_there_has_no_counts(house: House) {
    assert_eq!(house.wikis.wiki_counts(WikiId(99), 10).await, Err(Error::NotFound("wiki 99".into())));
}

fn random_revision(dice: &mut Dice) -> Revision {
    const USERS: [&str; 6] = ["Ana", "Ben", "Eva", "Bot", "192.0.2.1", "Ünï"];
    let revid = 1 + dice.roll(40) as i64;
    Revision {
        // Some fall on the same moment.
        at: UnixMs(1_514_000_000_000 + dice.roll(20) as i64 * 1_000_000_000),
        user: dice.pick(&USERS).map(|name| (*name).to_owned()).filter(|_| !dice.one_in(5)),
        anon: dice.one_in(4),
        minor: dice.one_in(3),
        size: dice.roll(3) as u64,
        sha1: (!dice.one_in(4)).then(|| format!("{:040x}", dice.roll(3))),
        ..revision(revid, 0)
    }
}

/// Changes of some pages, with revisions that are new, others' or other than before, and some that come again as they are.
async fn random_changes(house: &House, dice: &mut Dice, world: &World, wikis: [WikiId; 2]) -> Vec<PageChange> {
    let mut changes = Vec::new();
    for pageid in [1, 2, 3].map(PageId) {
        if dice.one_in(2) {
            continue;
        }
        let wiki = wikis[dice.roll(2)];
        let known = world.iter().filter(|((of, _), one)| *of == wiki && one.pageid == pageid);
        let mut revisions: Vec<_> = known.filter(|_| dice.one_in(3)).map(|(_, one)| one.clone()).collect();
        for _ in 0..1 + dice.roll(5) {
            revisions.push(random_revision(dice));
        }
        let version = house.page_if_any(wiki, pageid).await.map_or(0, |page| page.version);
        changes.push(PageChange { version, ..of_page(wiki, pageid, revisions) });
    }
    changes
}

/// What is counted of a history up to a place.
fn history_to(world: &World, (wiki, pageid): (WikiId, PageId), to: Mark) -> Vec<Revision> {
    let of_page = world.iter().filter(|((of, _), one)| *of == wiki && one.pageid == pageid && one.mark() <= to);
    let mut history: Vec<_> = of_page.map(|(_, one)| one.clone()).collect();
    history.sort_by_key(Revision::mark);
    history
}

async fn random_changes_count_as_from_scratch(house: House) {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).unwrap();
    let seed = u64::from_le_bytes(bytes) % 1_000_000_000;
    println!("seed {seed}");
    let mut dice = Dice::new(seed);
    let wikis = [house.wiki().await, house.wikis.found(new_wiki("https://b.example/api.php")).await.unwrap().id];
    let (mut world, mut tallies) = (World::new(), BTreeMap::<(WikiId, PageId), KeptTally>::new());
    let new = NewImport { wiki: wikis[0], name: "dump.xml".into() };
    let import = house.wikis.begin_import(&Scope::All, new, act("wiki.import")).await.unwrap().id;
    let mut batch = 0;
    for step in 0..120 {
        let before = world.clone();
        let changes = random_changes(&house, &mut dice, &world, wikis).await;
        for changed in &changes {
            world.extend(changed.revisions.iter().map(|one| ((changed.wiki, one.revid), one.clone())));
        }
        if dice.one_in(2) {
            let imported = Imported { import, batch, changes, last: false };
            assert_eq!(house.wikis.take_batch(imported).await, Ok(Committed::Done));
            batch += 1;
        } else {
            let leased = house.leased_visit().await;
            assert_eq!(house.wikis.commit(house.walked(&leased, changes, Vec::new())).await, Ok(Committed::Done));
        }
        for wiki in wikis {
            agrees(&house, &world, wiki, 1 + dice.roll(8)).await;
        }
        tallies.retain(|of, tally| history_to(&before, *of, tally.mark) == history_to(&world, *of, tally.mark));
        for (wiki, pageid) in wikis.into_iter().flat_map(|wiki| (1..=3).map(move |pageid| (wiki, PageId(pageid)))) {
            let Some((page, kept)) = house.wikis.tally(wiki, pageid).await.unwrap() else { continue };
            assert_eq!(kept.as_ref(), tallies.get(&(wiki, pageid)), "seed {seed}, step {step}: page {pageid:?}");
            let history = house.history(wiki, pageid).await;
            if let Some(to) = dice.pick(&history).filter(|_| dice.one_in(2)) {
                let tally = KeptTally { mark: to.mark(), packed: vec![dice.roll(256) as u8; dice.roll(30)] };
                house.wikis.keep_tally(wiki, pageid, page.version, tally.clone()).await.unwrap();
                tallies.insert((wiki, pageid), tally);
            }
        }
        if step % 20 == 19 {
            house.verify().await;
        }
    }
}

async fn writers_at_the_same_time_count_right(house: House) {
    let house = Arc::new(house);
    let wiki = house.wiki().await;
    for round in 0..6 {
        for _ in 0..8 {
            house.submit(new_task(VISIT)).await;
        }
        let writers = house.lease_wikis().await.into_iter().zip(0..).map(|(leased, n)| {
            let house = house.clone();
            // All have the same editors and months, each in another order, and some go again.
            let one = |m: i64| Revision {
                user: ((m + n + round) % 4 > 0).then(|| format!("User {}", (m * 7 + n) % 9)),
                ..revision(100 * n + m + 1, (m * 5 + n) % 9 * 2_600_000)
            };
            let revisions = (0..20).map(one).collect();
            tokio::spawn(async move {
                let pageid = PageId(n + 1);
                let version = house.page_if_any(wiki, pageid).await.map_or(0, |page| page.version);
                let changed = PageChange { version, ..of_page(wiki, pageid, revisions) };
                house.wikis.commit(house.walked(&leased, vec![changed], Vec::new())).await
            })
        });
        for done in join_all(writers.collect::<Vec<_>>()).await {
            assert_eq!(done.unwrap(), Ok(Committed::Done));
        }
        house.verify().await;
    }
    assert_eq!(house.wikis.wiki_counts(wiki, 10).await.unwrap().revisions, 160);
}

async fn what_was_counted_is_kept_of_the_page_as_it_was_only(house: House) {
    let wiki = house.wiki().await;
    let tally = |byte: u8| KeptTally { mark: mark(1, 1), packed: vec![byte; 100] };
    house.wikis.keep_tally(wiki, PAGE, 0, tally(0)).await.expect("a page that is not there is passed over");
    assert_eq!(house.wikis.tally(wiki, PAGE).await, Ok(None));
    house.change(change(wiki, vec![revision(1, 1)])).await;
    let page = house.page(wiki).await;
    assert_eq!(house.wikis.tally(wiki, PAGE).await, Ok(Some((page.clone(), None))));
    for version in [0, page.version + 1] {
        house.wikis.keep_tally(wiki, PAGE, version, tally(1)).await.expect("passed over");
        assert_eq!(house.wikis.tally(wiki, PAGE).await, Ok(Some((page.clone(), None))));
    }
    for byte in [2, 3] {
        house.wikis.keep_tally(wiki, PAGE, page.version, tally(byte)).await.unwrap();
        assert_eq!(house.wikis.tally(wiki, PAGE).await, Ok(Some((page.clone(), Some(tally(byte))))));
    }
    house.verify().await;
}

async fn what_was_counted_stays_until_something_in_it_changes(house: House) {
    let wiki = house.wiki().await;
    let tally = KeptTally { mark: mark(5, 50), packed: b"counted".to_vec() };
    let stays = async |what: &str, changed: PageChange, expected: bool| {
        let version = house.page(wiki).await.version;
        house.wikis.keep_tally(wiki, PAGE, version, tally.clone()).await.unwrap();
        house.change(changed).await;
        let (_, kept) = house.wikis.tally(wiki, PAGE).await.unwrap().unwrap();
        assert_eq!(kept.is_some(), expected, "{what}");
    };
    let first = || [(1, 10), (3, 30), (5, 50)].map(|(revid, second)| revision(revid, second)).to_vec();
    house.change(change(wiki, first())).await;
    stays("what is after it", change(wiki, vec![revision(6, 50), revision(7, 70)]), true).await;
    stays("the same again", change(wiki, first()), true).await;
    let comment = Revision { comment: None, tags: Vec::new(), ..revision(3, 30) };
    stays("what is not counted", change(wiki, vec![comment]), true).await;
    stays("a change after it", change(wiki, vec![Revision { user: None, ..revision(6, 50) }]), true).await;
    stays("an older one", change(wiki, vec![revision(8, 20)]), false).await;
    stays("one of the same moment before it", change(wiki, vec![revision(4, 50)]), false).await;
    stays("a hidden name", change(wiki, vec![Revision { user: None, ..revision(5, 50) }]), false).await;
    stays("it has its name again", change(wiki, vec![revision(5, 50)]), false).await;
    let elsewhere = |revid, second| Revision { pageid: PageId(8), ..revision(revid, second) };
    let moved = |revid, second| PageChange { pageid: PageId(8), ..change(wiki, vec![elsewhere(revid, second)]) };
    stays("one after it moves away", moved(7, 70), true).await;
    stays("one in it moves away", moved(8, 20), false).await;
    stays("one moves in", change(wiki, vec![revision(8, 20)]), false).await;
    house.verify().await;
}

async fn a_long_history_is_told_the_same_however_it_came(house: House) {
    let one = house.wiki().await;
    let other = house.wikis.found(new_wiki("https://b.example/api.php")).await.unwrap().id;
    let user = |n: i64| (n % 7 > 0).then(|| format!("User {}", n % 13));
    let mut history: Vec<_> =
        (1..=2_500).map(|n| Revision { user: user(n), anon: n % 5 == 0, ..revision(n, n * 50_000) }).collect();
    let told = async |id: WikiId| {
        let wiki = house.read_wiki(id).await;
        metrics::of_page(house.wikis.as_ref(), &wiki, PAGE).await.expect("counted")
    };
    let kept_to = async || house.wikis.tally(one, PAGE).await.unwrap().unwrap().1.map(|tally| tally.mark.revid.0);
    house.change(change(one, history[..1_200].to_vec())).await;
    assert_eq!((told(one).await.revisions, kept_to().await), (1_200, Some(1_200)));
    house.change(change(one, history[1_200..].to_vec())).await;
    assert_eq!(kept_to().await, Some(1_200), "nothing in it has changed");
    house.change(change(other, history.clone())).await;
    assert_eq!((told(one).await, kept_to().await), (told(other).await, Some(2_500)));
    assert_eq!(told(one).await, told(other).await);

    (history[700].user, history[700].minor) = (None, true);
    for wiki in [one, other] {
        house.change(change(wiki, vec![history[700].clone()])).await;
    }
    assert_eq!(kept_to().await, None);
    assert_eq!(told(one).await, told(other).await);
    let wiki = house.read_wiki(one).await;
    let of_wiki = metrics::of_wiki(house.wikis.as_ref(), &wiki).await.unwrap();
    let of_page = told(one).await;
    assert_eq!((of_wiki.revisions, of_wiki.editors), (of_page.revisions, of_page.editors));
    assert_eq!((of_wiki.minor, of_wiki.anonymous), (of_page.minor, of_page.anonymous));
    let edits = |periods: &[metrics::Period]| periods.iter().map(|one| one.edits).collect::<Vec<_>>();
    assert_eq!(edits(&of_wiki.months), edits(&of_page.months));
    house.verify().await;
}
