//! What travels from whoever reads a dump to the server: some pages with their revisions and texts, packed.
//!
//! Where a dump is cut depends on its content alone, so an import that goes on after a break makes the same batches again.

use std::io::{BufRead, Read};

use malla_queue::{Error, Result};
use serde::{Deserialize, Serialize};

use super::{Broken, DumpPage, Item, Reader};
use crate::revision::{RevId, Revision};
use crate::shelving::Fetched;
use crate::texts::TEXT_BYTES_MAX;

/// Unpacked bytes of a batch, unless a single text is larger.
pub const BATCH_BYTES_MAX: usize = 8 << 20;
/// Unpacked bytes that a server takes: the longest text and what is told around it.
pub const TAKEN_BYTES_MAX: usize = TEXT_BYTES_MAX + 2 * BATCH_BYTES_MAX;
/// A batch is one transaction: others wait for it.
const REVISIONS_MAX: usize = 1_000;
/// About what a revision takes beside its text and comment.
const REVISION_BYTES: usize = 400;
const LEVEL: i32 = 3;
/// What a batch begins with: whoever sends something else gets told.
const MAGIC: &[u8; 4] = b"MWD1";

/// Revisions of a page that follow each other in the dump.
#[derive(Debug, Clone, PartialEq)]
pub struct PagePart {
    pub page: DumpPage,
    pub revisions: Vec<Fetched>,
    /// From the page's first revision to the last one here, each names the one before it as its parent: none is missing.
    pub linked: bool,
    /// The page has no more revisions in the dump.
    pub ends: bool,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch {
    pub pages: Vec<PagePart>,
    /// The dump breaks off after this. The batch of this number of the whole dump has more in it.
    pub cut: bool,
}

/// A batch without the bytes of its texts, which follow it.
#[derive(Serialize, Deserialize)]
struct Head {
    cut: bool,
    pages: Vec<PartHead>,
}

#[derive(Serialize, Deserialize)]
struct PartHead {
    page: DumpPage,
    linked: bool,
    ends: bool,
    /// Each with the length of its text.
    revisions: Vec<(Revision, Option<usize>)>,
}

impl Batch {
    pub fn revisions(&self) -> usize {
        self.pages.iter().map(|part| part.revisions.len()).sum()
    }

    pub fn encode(&self) -> Result<Vec<u8>> {
        let trouble = |why: &dyn std::fmt::Display| Error::Internal(format!("cannot pack a batch of a dump: {why}"));
        let of_revision = |fetched: &Fetched| (fetched.revision.clone(), fetched.text.as_ref().map(Vec::len));
        let of_part = |part: &PagePart| PartHead {
            page: part.page.clone(),
            linked: part.linked,
            ends: part.ends,
            revisions: part.revisions.iter().map(of_revision).collect(),
        };
        let head = Head { cut: self.cut, pages: self.pages.iter().map(of_part).collect() };
        let head = serde_json::to_vec(&head).map_err(|error| trouble(&error))?;
        let mut plain = MAGIC.to_vec();
        plain.extend((head.len() as u64).to_le_bytes());
        plain.extend(head);
        let texts = self.pages.iter().flat_map(|part| &part.revisions).filter_map(|fetched| fetched.text.as_ref());
        texts.for_each(|text| plain.extend(text));
        zstd::bulk::compress(&plain, LEVEL).map_err(|error| trouble(&error))
    }

    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let wrong = |why: &str| Error::Invalid(format!("this is not a batch of a dump: {why}"));
        let mut plain = Vec::new();
        let decoder = zstd::stream::read::Decoder::new(bytes).map_err(|_| wrong("it is not zstd"))?;
        decoder.take(TAKEN_BYTES_MAX as u64 + 1).read_to_end(&mut plain).map_err(|_| wrong("it is not zstd"))?;
        if plain.len() > TAKEN_BYTES_MAX {
            return Err(wrong(&format!("it has more than {TAKEN_BYTES_MAX} bytes")));
        }
        let rest = plain.strip_prefix(MAGIC).ok_or_else(|| wrong("it begins with something else"))?;
        let (length, rest) = rest.split_first_chunk::<8>().ok_or_else(|| wrong("it breaks off"))?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| wrong("it breaks off"))?;
        let (head, mut texts) = rest.split_at_checked(length).ok_or_else(|| wrong("it breaks off"))?;
        let head: Head = serde_json::from_slice(head).map_err(|error| wrong(&error.to_string()))?;
        let mut batch = Self { pages: Vec::with_capacity(head.pages.len()), cut: head.cut };
        for part in head.pages {
            let mut revisions = Vec::with_capacity(part.revisions.len());
            for (revision, length) in part.revisions {
                let text = match length {
                    Some(length) => Some(split(&mut texts, length).ok_or_else(|| wrong("it breaks off"))?),
                    None => None,
                };
                revisions.push(Fetched { revision, text });
            }
            batch.pages.push(PagePart { page: part.page, revisions, linked: part.linked, ends: part.ends });
        }
        if texts.is_empty() { Ok(batch) } else { Err(wrong("something follows it")) }
    }
}

fn split(from: &mut &[u8], length: usize) -> Option<Vec<u8>> {
    let (part, rest) = from.split_at_checked(length)?;
    *from = rest;
    Some(part.to_vec())
}

/// The batches of a dump, in order. One that breaks off gives what was whole, as a batch that is [`Batch::cut`], and then
/// says why.
pub struct Batches<R> {
    reader: Reader<R>,
    /// Gathered so far, but for the open page, with the bytes and revisions of all.
    batch: Batch,
    bytes: usize,
    revisions: usize,
    /// Of the page that is being read.
    open: Option<Open>,
    broken: Option<Broken>,
    over: bool,
}

struct Open {
    part: PagePart,
    /// Its last revision.
    last: Option<Revision>,
}

impl<R: BufRead> Batches<R> {
    /// The reader may have given what comes before the first page.
    pub fn new(reader: Reader<R>) -> Self {
        Self { reader, batch: Batch::default(), bytes: 0, revisions: 0, open: None, broken: None, over: false }
    }

    /// A page begins: the one before it is over.
    fn turn_to(&mut self, page: Option<DumpPage>) {
        self.close(true);
        let part = |page| PagePart { page, revisions: Vec::new(), linked: true, ends: false };
        self.open = page.map(|page| Open { part: part(page), last: None });
    }

    /// Puts what there is of the open page into the batch.
    fn close(&mut self, ends: bool) {
        let Some(open) = &mut self.open else { return };
        let revisions = std::mem::take(&mut open.part.revisions);
        if !revisions.is_empty() {
            self.batch.pages.push(PagePart { page: open.part.page.clone(), revisions, linked: open.part.linked, ends });
        }
    }

    fn add(&mut self, fetched: Fetched) -> Option<Batch> {
        let text = fetched.text.as_ref().map_or(0, Vec::len);
        let comment = fetched.revision.comment.as_ref().map_or(0, String::len);
        let bytes = REVISION_BYTES + text + comment;
        let full = self.bytes + bytes > BATCH_BYTES_MAX || self.revisions >= REVISIONS_MAX;
        let before = (full && self.revisions > 0).then(|| self.cut_here());
        self.bytes += bytes;
        self.revisions += 1;
        let open = self.open.as_mut()?;
        open.part.linked &= follows(open.last.as_ref(), &fetched.revision);
        open.last = Some(fetched.revision.clone());
        open.part.revisions.push(fetched);
        before
    }

    fn cut_here(&mut self) -> Batch {
        self.close(false);
        (self.bytes, self.revisions) = (0, 0);
        std::mem::take(&mut self.batch)
    }
}

/// Whether nothing can lie between two revisions of a page.
fn follows(last: Option<&Revision>, next: &Revision) -> bool {
    match last {
        None => next.parentid == RevId(0),
        Some(last) => next.parentid == last.revid && last.mark() < next.mark(),
    }
}

impl<R: BufRead> Iterator for Batches<R> {
    type Item = Result<Batch, Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.over {
            match self.reader.next() {
                Some(Ok(Item::Site(_))) => {}
                Some(Ok(Item::Page(page))) => self.turn_to(Some(page)),
                Some(Ok(Item::Revision(fetched))) => {
                    if let Some(batch) = self.add(*fetched) {
                        return Some(Ok(batch));
                    }
                }
                Some(Err(broken)) => {
                    self.over = true;
                    self.broken = Some(broken);
                    let batch = Batch { cut: true, ..self.cut_here() };
                    return if batch.pages.is_empty() { self.broken.take().map(Err) } else { Some(Ok(batch)) };
                }
                None => {
                    self.over = true;
                    self.turn_to(None);
                    let batch = self.cut_here();
                    return (!batch.pages.is_empty()).then_some(Ok(batch));
                }
            }
        }
        self.broken.take().map(Err)
    }
}
