//! What is to be written to the log, and when.

use std::ffi::c_int;

use rusqlite::ffi::SQLITE_OK;

/// What SQLite writes before each page: its number, the size of the file if the page ends a commit (else 0), and more.
const HEAD: usize = 24;
/// More than this is not gathered.
const BYTES_MAX: usize = 1 << 20;

#[derive(Debug, Default)]
pub(crate) struct Gathered {
    at: i64,
    bytes: Vec<u8>,
    next: Next,
}

/// What comes after the bytes that are gathered.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Next {
    #[default]
    Head,
    Page,
    /// The page that ends a commit.
    LastPage,
}

impl Gathered {
    /// Takes what is to be written at `at`. With the page that ends a commit all of it goes to `write`; and so does at once
    /// whatever is not a page of a commit.
    pub(crate) fn take(&mut self, bytes: &[u8], at: i64, mut write: impl FnMut(&[u8], i64) -> c_int) -> c_int {
        let follows = i64::try_from(self.bytes.len()).is_ok_and(|gathered| self.at + gathered == at);
        if !(self.bytes.is_empty() || follows && self.fits(bytes)) {
            let poured = self.pour(&mut write);
            if poured != SQLITE_OK {
                return poured;
            }
        }
        if self.bytes.is_empty() {
            // A commit of one page gains nothing.
            if !is_head(bytes) || ends_commit(bytes) {
                return write(bytes, at);
            }
            self.at = at;
        }
        self.bytes.extend_from_slice(bytes);
        let last = self.next == Next::LastPage;
        self.next = match self.next {
            Next::Head if ends_commit(bytes) => Next::LastPage,
            Next::Head => Next::Page,
            Next::Page | Next::LastPage => Next::Head,
        };
        if last || (self.next == Next::Head && self.bytes.len() >= BYTES_MAX) { self.pour(write) } else { SQLITE_OK }
    }

    /// Writes what is gathered. If that fails, SQLite gives the commit up, and nobody wants it any more.
    pub(crate) fn pour(&mut self, mut write: impl FnMut(&[u8], i64) -> c_int) -> c_int {
        if self.bytes.is_empty() {
            return SQLITE_OK;
        }
        let written = write(&self.bytes, self.at);
        self.bytes.clear();
        self.next = Next::Head;
        written
    }

    fn fits(&self, bytes: &[u8]) -> bool {
        (self.next == Next::Head) == is_head(bytes)
    }
}

fn is_head(bytes: &[u8]) -> bool {
    bytes.len() == HEAD
}

fn ends_commit(head: &[u8]) -> bool {
    head.get(4..8).is_some_and(|size| size.iter().any(|byte| *byte != 0))
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi::SQLITE_FULL;

    use super::*;

    const PAGE: usize = 512;
    const FRAME: i64 = (HEAD + PAGE) as i64;

    /// Takes writes like a file, and counts them.
    #[derive(Default)]
    struct Disk {
        bytes: Vec<u8>,
        writes: usize,
    }

    impl Disk {
        fn write(&mut self, bytes: &[u8], at: i64) -> c_int {
            let at = usize::try_from(at).expect("it is not negative");
            self.bytes.resize(self.bytes.len().max(at + bytes.len()), 0);
            self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
            self.writes += 1;
            SQLITE_OK
        }
    }

    fn head(number: u8, size: u8) -> Vec<u8> {
        let mut head = vec![number; HEAD];
        head[4..8].copy_from_slice(&[0, 0, 0, size]);
        head
    }

    fn frame(gathered: &mut Gathered, disk: &mut Disk, number: u8, size: u8, at: i64) {
        assert_eq!(gathered.take(&head(number, size), at, |bytes, at| disk.write(bytes, at)), SQLITE_OK);
        let page = vec![number; PAGE];
        assert_eq!(gathered.take(&page, at + HEAD as i64, |bytes, at| disk.write(bytes, at)), SQLITE_OK);
    }

    #[test]
    fn a_commit_is_one_write_and_is_written_when_its_last_page_was_given() {
        let (mut gathered, mut disk) = (Gathered::default(), Disk::default());
        for number in 1..=10 {
            frame(&mut gathered, &mut disk, number, 0, 32 + FRAME * i64::from(number - 1));
            assert_eq!(disk.writes, 0);
        }
        frame(&mut gathered, &mut disk, 11, 7, 32 + FRAME * 10);
        assert_eq!(disk.writes, 1);
        let frames: Vec<u8> =
            (1..=11).flat_map(|n| [head(n, if n == 11 { 7 } else { 0 }), vec![n; PAGE]].concat()).collect();
        assert_eq!(disk.bytes[32..], frames);
    }

    #[test]
    fn a_commit_of_one_page_and_the_head_of_the_log_wait_for_nothing() {
        let (mut gathered, mut disk) = (Gathered::default(), Disk::default());
        gathered.take(&[9; 32], 0, |bytes, at| disk.write(bytes, at));
        assert_eq!(disk.writes, 1);
        frame(&mut gathered, &mut disk, 1, 1, 32);
        assert_eq!((disk.writes, disk.bytes.len()), (3, 32 + HEAD + PAGE));
    }

    #[test]
    fn what_does_not_follow_comes_after_what_was_gathered() {
        let (mut gathered, mut disk) = (Gathered::default(), Disk::default());
        frame(&mut gathered, &mut disk, 1, 0, 32);
        // The same place again: the last word counts.
        frame(&mut gathered, &mut disk, 2, 0, 32);
        frame(&mut gathered, &mut disk, 3, 1, 32 + FRAME);
        assert_eq!((disk.writes, disk.bytes[32 + HEAD]), (2, 2));
        // A page without its head.
        frame(&mut gathered, &mut disk, 4, 0, 32);
        gathered.take(&[5; PAGE], 32 + FRAME, |bytes, at| disk.write(bytes, at));
        assert_eq!((disk.writes, disk.bytes[32], disk.bytes[usize::try_from(32 + FRAME).expect("small")]), (4, 4, 5));
    }

    #[test]
    fn a_large_commit_is_written_in_parts() {
        let (mut gathered, mut disk) = (Gathered::default(), Disk::default());
        let count = 3 * BYTES_MAX as i64 / FRAME;
        (0..count).for_each(|n| frame(&mut gathered, &mut disk, 1, 0, FRAME * n));
        assert_eq!(disk.writes, 2);
        assert!(gathered.bytes.len() < BYTES_MAX);
        frame(&mut gathered, &mut disk, 1, 1, FRAME * count);
        assert_eq!(disk.bytes.len() as i64, FRAME * (count + 1));
    }

    #[test]
    fn a_failed_write_fails_the_commit_and_leaves_nothing_behind() {
        let (mut gathered, mut disk) = (Gathered::default(), Disk::default());
        frame(&mut gathered, &mut disk, 1, 0, 32);
        assert_eq!(gathered.take(&head(2, 1), 32 + FRAME, |_, _| SQLITE_FULL), SQLITE_OK);
        assert_eq!(gathered.take(&[2; PAGE], 32 + FRAME + HEAD as i64, |_, _| SQLITE_FULL), SQLITE_FULL);
        frame(&mut gathered, &mut disk, 3, 0, 32);
        frame(&mut gathered, &mut disk, 4, 1, 32 + FRAME);
        assert_eq!((disk.writes, disk.bytes[32]), (1, 3));
    }
}
