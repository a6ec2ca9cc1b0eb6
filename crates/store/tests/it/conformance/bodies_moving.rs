//! Bodies on their way between the database and an object store, and blocks of texts that are written anew.

use malla_store::bodies::{Collected, Moved, Options};
use malla_wiki::PageChange;
use malla_wiki::texts::{Packer, erase};

use super::bodies::in_both_homes;
use crate::harness::House;
use crate::harness_bodies::{Home, LONG, all, large, names, noise};
use crate::harness_wiki::{PAGE, change, change_with_texts, text_of};

in_both_homes!(
    bodies_move_out_and_back_and_read_the_same_on_the_way,
    small_bodies_do_not_move,
    a_block_that_is_written_anew_leaves_its_object,
    what_is_erased_is_gone_from_the_object_store_too,
);

const A: &str = "https://a.example/1";
const B: &str = "https://b.example/2";

/// Moves all. Returns how many.
async fn relocate(house: &House) -> u64 {
    let (mut after, mut bodies) = (None, 0);
    loop {
        let Moved { next, bodies: more, .. } = house.bodies.relocate(after).await.expect("moves");
        bodies += more;
        match next {
            Some(_) => after = next,
            None => return bodies,
        }
    }
}

async fn bodies_move_out_and_back_and_read_the_same_on_the_way(home: Home) {
    let options = all();
    let inside = Options { takes_new: false, ..options.clone() };
    let house = home.open(Some(&inside)).await;
    let job = house.ask(&[A, B]).await;
    let leased = house.lease_pages().await;
    house.commit(vec![house.found(&leased[0], "one"), house.found(&leased[1], "two")]).await;
    let wiki = house.wiki().await;
    let written = change_with_texts(wiki, &["first", "second"]);
    house.change(written.clone()).await;
    let before = house.texts(job.id).await;
    assert!(names(&options).await.is_empty());

    let house = home.open(Some(&options)).await;
    assert_eq!(relocate(&house).await, 3, "two pages and a block");
    assert_eq!(names(&options).await.len(), 3);
    assert_eq!(house.texts(job.id).await, before);
    assert_eq!(house.wikis.block(wiki, PAGE, 0).await.unwrap().as_ref(), Some(&written.blocks[0]));
    assert_eq!(relocate(&house).await, 0, "all of them are there");
    house.verify().await;

    let house = home.open(Some(&inside)).await;
    assert_eq!(house.texts(job.id).await, before, "what lies there can be read, whatever new ones do");
    assert_eq!(relocate(&house).await, 3);
    house.bodies.collect().await.unwrap();
    house.wait(LONG);
    assert_eq!(house.bodies.collect().await, Ok(Collected { dead: 3, ..Collected::default() }));
    assert!(names(&options).await.is_empty());
    let house = home.open(None).await;
    assert_eq!(house.texts(job.id).await, before);
    assert_eq!(house.wikis.block(wiki, PAGE, 0).await.unwrap().as_ref(), Some(&written.blocks[0]));
    house.verify().await;
}

async fn small_bodies_do_not_move(home: Home) {
    let options = large();
    let house = home.open(Some(&Options { takes_new: false, ..options.clone() })).await;
    house.ask(&[A, B]).await;
    let leased = house.lease_pages().await;
    house.commit(vec![house.found(&leased[0], &noise(5_000, 3)), house.found(&leased[1], "small")]).await;
    let house = home.open(Some(&options)).await;
    assert_eq!(relocate(&house).await, 1);
    assert_eq!(names(&options).await.len(), 1);
    house.verify().await;
}

async fn a_block_that_is_written_anew_leaves_its_object(home: Home) {
    let options = all();
    let house = home.open(Some(&options)).await;
    let wiki = house.wiki().await;
    house.change(change_with_texts(wiki, &["one", "two"])).await;
    let first = names(&options).await;
    let last = house.wikis.block(wiki, PAGE, 0).await.unwrap().unwrap();
    let mut packer = Packer::after(&last).unwrap();
    packer.add(b"three").unwrap();
    let blocks = packer.finish().unwrap();
    house.change(PageChange { blocks: blocks.clone(), ..change(wiki, Vec::new()) }).await;
    assert_eq!(names(&options).await.len(), 2);
    house.bodies.collect().await.unwrap();
    house.wait(LONG);
    assert_eq!(house.bodies.collect().await, Ok(Collected { dead: 1, ..Collected::default() }));
    let left = names(&options).await;
    assert!(left.len() == 1 && left != first);
    assert_eq!(house.wikis.block(wiki, PAGE, 0).await.unwrap().as_ref(), Some(&blocks[0]));
    house.verify().await;
}

async fn what_is_erased_is_gone_from_the_object_store_too(home: Home) {
    let options = all();
    let house = home.open(Some(&options)).await;
    let wiki = house.wiki().await;
    let written = change_with_texts(wiki, &["public", "a secret"]);
    let secret = written.revisions[1].text.unwrap();
    house.change(written).await;
    let block = house.wikis.block(wiki, PAGE, 0).await.unwrap().unwrap();
    let blocks = vec![erase(&block, &[secret]).unwrap()];
    let mut hidden = house.history(wiki, PAGE).await.remove(1);
    (hidden.text, hidden.text_hidden) = (None, true);
    house.change(PageChange { blocks, ..change(wiki, vec![hidden]) }).await;
    let block = house.wikis.block(wiki, PAGE, 0).await.unwrap().unwrap();
    assert_eq!(text_of(&block, secret), None);
    house.bodies.collect().await.unwrap();
    house.wait(LONG);
    house.bodies.collect().await.unwrap();
    assert_eq!(names(&options).await.len(), 1, "only the block without it is left");
    house.verify().await;
}
