//! Histories of pages as people write them: a text that grows, is changed here and there, and is put back now and then.
//! The same number gives the same history.

use std::fmt::Write as _;

use crate::dice::Dice;
use crate::mediawiki::Edit;

/// 2005-01-01, in seconds.
const BEGIN: i64 = 1_104_537_600;
const WORDS: &[&str] = &[
    "river", "bridge", "valley", "city", "north", "stone", "water", "century", "church", "market", "school", "road",
    "forest", "people", "known", "built", "small", "large", "after", "before", "first", "second", "near", "between",
    "history", "village", "castle", "garden", "station", "island",
];

/// How histories look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub pages: u64,
    /// Revisions of each page.
    pub revisions: u64,
    /// Paragraphs that a text has at most, of about 80 bytes each.
    pub paragraphs: usize,
    pub users: u64,
}

/// The edits of one page, oldest first.
pub(crate) struct Edits {
    shape: Shape,
    page: u64,
    next: u64,
    dice: Dice,
    paragraphs: Vec<String>,
    /// As it was before the latest edit.
    before: Vec<String>,
    at: i64,
}

impl Edits {
    /// Of the page with this number, from 0.
    pub(crate) fn new(shape: Shape, page: u64) -> Self {
        let mut dice = Dice::new(page.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d);
        let at = BEGIN + i64::try_from(dice.below(86_400 * 300)).unwrap_or(0);
        Self { shape, page, next: 0, dice, paragraphs: Vec::new(), before: Vec::new(), at }
    }

    fn write(&mut self) -> &'static str {
        let many = self.paragraphs.len();
        let reverted = self.dice.below(12) == 0 && self.next > 2;
        if reverted {
            std::mem::swap(&mut self.paragraphs, &mut self.before);
            return "undid the last revision";
        }
        self.before.clone_from(&self.paragraphs);
        let place = usize::try_from(self.dice.below(many.max(1) as u64)).unwrap_or(0);
        let paragraph = paragraph(&mut self.dice);
        match self.dice.below(4) {
            0 | 1 if many < self.shape.paragraphs => {
                self.paragraphs.insert(place, paragraph);
                "more about it"
            }
            2 if many > 2 => {
                self.paragraphs.remove(place);
                "not needed"
            }
            _ if many == 0 => {
                self.paragraphs.push(paragraph);
                "a beginning"
            }
            _ => {
                self.paragraphs[place] = paragraph;
                "better words"
            }
        }
    }
}

impl Iterator for Edits {
    type Item = Edit;

    fn next(&mut self) -> Option<Edit> {
        if self.next == self.shape.revisions {
            return None;
        }
        let comment = self.write().to_owned();
        // Some edit a lot, most a little.
        let user = self.dice.below(self.shape.users).min(self.dice.below(self.shape.users));
        let anonymous = user % 5 == 4;
        let revid = |number: u64| number * self.shape.pages + self.page + 1;
        let edit = Edit {
            revid: revid(self.next),
            parentid: self.next.checked_sub(1).map_or(0, revid),
            at: self.at,
            user: if anonymous { format!("192.0.2.{}", user % 256) } else { format!("Editor {user}") },
            userid: if anonymous { 0 } else { user + 1 },
            minor: self.dice.below(4) == 0,
            comment,
            tags: Vec::new(),
            text: self.paragraphs.join("\n"),
        };
        self.at += 1 + i64::try_from(self.dice.below(600_000_000 / self.shape.revisions.max(1))).unwrap_or(0);
        self.next += 1;
        Some(edit)
    }
}

fn paragraph(dice: &mut Dice) -> String {
    let mut paragraph = String::new();
    for _ in 0..8 + dice.below(9) {
        let word = dice.pick(WORDS);
        // Not only words that all pages have.
        let _ = write!(
            paragraph,
            "{word}{} ",
            if dice.below(4) == 0 { dice.below(10_000).to_string() } else { String::new() }
        );
    }
    paragraph
}

pub(crate) fn title(page: u64) -> String {
    format!("Page {page}")
}

/// The histories as a dump, a piece at a time: it need not fit into memory.
pub(crate) struct Dump {
    shape: Shape,
    page: u64,
    edits: Option<Edits>,
    piece: Vec<u8>,
    read: usize,
    ended: bool,
}

impl Dump {
    pub(crate) fn new(shape: Shape) -> Self {
        let piece = b"<mediawiki xmlns=\"http://www.mediawiki.org/xml/export-0.11/\" version=\"0.11\" xml:lang=\"en\">\n\
            <siteinfo><sitename>Bench</sitename><dbname>bench</dbname><base>http://bench.invalid/wiki/Main_Page</base></siteinfo>\n"
            .to_vec();
        Self { shape, page: 0, edits: None, piece, read: 0, ended: false }
    }

    fn next_piece(&mut self) -> String {
        let Some(edits) = &mut self.edits else {
            if self.page == self.shape.pages {
                self.ended = true;
                return "</mediawiki>\n".into();
            }
            self.edits = Some(Edits::new(self.shape, self.page));
            let (title, id) = (title(self.page), self.page + 1);
            return format!("<page><title>{title}</title><ns>0</ns><id>{id}</id>\n");
        };
        let Some(edit) = edits.next() else {
            (self.edits, self.page) = (None, self.page + 1);
            return "</page>\n".into();
        };
        let parent = if edit.parentid == 0 { String::new() } else { format!("<parentid>{}</parentid>", edit.parentid) };
        let who = match edit.userid {
            0 => format!("<ip>{}</ip>", edit.user),
            id => format!("<username>{}</username><id>{id}</id>", edit.user),
        };
        let minor = if edit.minor { "<minor />" } else { "" };
        format!(
            "<revision><id>{}</id>{parent}<timestamp>{}</timestamp><contributor>{who}</contributor>{minor}\
             <comment>{}</comment><model>wikitext</model><format>text/x-wiki</format>\
             <text bytes=\"{}\" xml:space=\"preserve\">{}</text></revision>\n",
            edit.revid,
            edit.timestamp(),
            edit.comment,
            edit.text.len(),
            edit.text,
        )
    }
}

impl std::io::Read for Dump {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        while self.read == self.piece.len() && !self.ended {
            (self.piece, self.read) = (self.next_piece().into_bytes(), 0);
        }
        let rest = &self.piece[self.read..];
        let taken = rest.len().min(into.len());
        into[..taken].copy_from_slice(&rest[..taken]);
        self.read += taken;
        Ok(taken)
    }
}
