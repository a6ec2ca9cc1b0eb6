//! Texts of revisions: where they are, and that what is erased is gone.

use malla_wiki::texts::{Packer, erase};
use malla_wiki::{Committed, PageChange, PageId, Revision, TextHash};

use crate::harness::{House, on_both_stores_and_objects};
use crate::harness_wiki::{PAGE, change, change_with_texts, revision, text_of};

on_both_stores_and_objects!(
    texts_read_back_from_their_block,
    a_block_that_grows_keeps_what_was_in_it,
    several_blocks_are_told_apart,
    what_is_erased_is_gone,
    uses_are_counted_for_the_page,
    texts_belong_to_their_page,
);

async fn texts_read_back_from_their_block(house: House) {
    let wiki = house.wiki().await;
    let written = change_with_texts(wiki, &["one", "two", "one", ""]);
    let hashes: Vec<_> = written.revisions.iter().map(|revision| revision.text.unwrap()).collect();
    house.change(written.clone()).await;
    let block = house.wikis.block(wiki, PAGE, 0).await.unwrap().unwrap();
    assert_eq!(block, written.blocks[0]);
    assert_eq!(house.page(wiki).await.last_block, Some(0));
    for (hash, text) in hashes.iter().zip(["one", "two", "one", ""]) {
        assert_eq!(text_of(&block, *hash).as_deref(), Some(text));
    }
    let mut places = house.wikis.places(wiki, PAGE, &[hashes[1], TextHash::of(b"other"), hashes[0]]).await.unwrap();
    places.sort_by_key(|(_, place)| place.start);
    assert_eq!(places, block.texts[..2]);
    assert_eq!(house.wikis.block(wiki, PAGE, 1).await, Ok(None));
    assert_eq!(house.history(wiki, PAGE).await[0].text, Some(hashes[0]));
    house.verify().await;
}

async fn a_block_that_grows_keeps_what_was_in_it(house: House) {
    let wiki = house.wiki().await;
    house.change(change_with_texts(wiki, &["one", "two"])).await;
    let last = house.wikis.block(wiki, PAGE, 0).await.unwrap().unwrap();
    let mut packer = Packer::after(&last).unwrap();
    let text = Some(packer.add(b"three").unwrap());
    let blocks = packer.finish().unwrap();
    house
        .change(PageChange { blocks: blocks.clone(), ..change(wiki, vec![Revision { text, ..revision(3, 3) }]) })
        .await;
    assert_eq!(house.wikis.block(wiki, PAGE, 0).await.unwrap().as_ref(), Some(&blocks[0]));
    assert_eq!(blocks[0].texts.len(), 3);
    house.verify().await;
}

async fn several_blocks_are_told_apart(house: House) {
    let wiki = house.wiki().await;
    let large = "x".repeat(malla_wiki::texts::BLOCK_BYTES_MAX);
    let written = change_with_texts(wiki, &["small", &large, "after"]);
    assert_eq!(written.blocks.len(), 3);
    house.change(written.clone()).await;
    assert_eq!(house.page(wiki).await.last_block, Some(2));
    for block in &written.blocks {
        assert_eq!(house.wikis.block(wiki, PAGE, block.number).await.unwrap().as_ref(), Some(block));
    }
    house.change(PageChange { blocks: vec![written.blocks[0].clone()], ..change(wiki, vec![]) }).await;
    assert_eq!(house.page(wiki).await.last_block, Some(2), "an older one was written over");
    house.verify().await;
}

async fn what_is_erased_is_gone(house: House) {
    let wiki = house.wiki().await;
    let written = change_with_texts(wiki, &["first", "a secret", "last"]);
    let secret = written.revisions[1].text.unwrap();
    house.change(written.clone()).await;
    let blocks = vec![erase(&written.blocks[0], &[secret]).unwrap()];
    let hidden = Revision { text: None, text_hidden: true, ..revision(2, 2) };
    house.change(PageChange { blocks: blocks.clone(), ..change(wiki, vec![hidden.clone()]) }).await;
    assert_eq!(house.wikis.places(wiki, PAGE, &[secret]).await, Ok(Vec::new()));
    let block = house.wikis.block(wiki, PAGE, 0).await.unwrap().unwrap();
    assert_eq!(block, blocks[0]);
    assert_eq!(text_of(&block, written.revisions[2].text.unwrap()).as_deref(), Some("last"));
    assert_eq!(house.history(wiki, PAGE).await[1], hidden);
    assert_eq!(house.wikis.uses(wiki, PAGE, &[secret]).await, Ok(vec![(secret, 0)]));
    house.verify().await;
}

async fn uses_are_counted_for_the_page(house: House) {
    let wiki = house.wiki().await;
    let written = change_with_texts(wiki, &["one", "two", "one"]);
    let (one, two) = (written.revisions[0].text.unwrap(), written.revisions[1].text.unwrap());
    house.change(written).await;
    let elsewhere = change_with_texts(wiki, &["one"]);
    let moved = vec![Revision { revid: malla_wiki::RevId(50), ..elsewhere.revisions[0].clone() }];
    house.change(PageChange { pageid: PageId(8), revisions: moved, ..elsewhere }).await;
    let unknown = TextHash::of(b"unknown");
    let uses = house.wikis.uses(wiki, PAGE, &[two, unknown, one]).await.unwrap();
    assert_eq!(uses, [(two, 1), (unknown, 0), (one, 2)]);
    assert_eq!(house.wikis.uses(wiki, PageId(8), &[one]).await, Ok(vec![(one, 1)]));
    assert_eq!(house.wikis.uses(wiki, PageId(9), &[one]).await, Ok(vec![(one, 0)]));
    house.verify().await;
}

async fn texts_belong_to_their_page(house: House) {
    let wiki = house.wiki().await;
    let written = change_with_texts(wiki, &["one"]);
    let hash = written.revisions[0].text.unwrap();
    assert_eq!(house.put(written).await, Ok(Committed::Done));
    assert_eq!(house.wikis.places(wiki, PageId(8), &[hash]).await, Ok(Vec::new()));
    assert_eq!(house.wikis.block(wiki, PageId(8), 0).await, Ok(None));
    // One that says it has a text, but has none in its own page, is found.
    let astray = Revision { text: Some(hash), ..revision(9, 9) };
    house.change(PageChange { pageid: PageId(8), ..change(wiki, vec![astray]) }).await;
    let findings = house.queue.verify().await.unwrap();
    assert_eq!(findings, [format!("the text of revision 9 of wiki number {wiki} is nowhere")]);
}
