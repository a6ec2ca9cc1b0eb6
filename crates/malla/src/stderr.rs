//! Standard error. A process that has others to care for, or one that a medic reads, must not stand still because nobody
//! reads what it says: there a thread writes, what waits for it is bounded, and what does not fit is dropped and counted.

use std::io::{self, Write as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::time::Duration;

/// What may wait to be written: lines, and bytes of all together.
const LINES_MAX: usize = 4_096;
const BYTES_MAX: usize = 4 << 20;
/// How long the last lines may take at the end of the process.
const FLUSH_MAX: Duration = Duration::from_millis(500);

static QUEUE: OnceLock<Queue> = OnceLock::new();

struct Queue {
    send: SyncSender<Order>,
    waiting: AtomicUsize,
    lost: AtomicU64,
}

enum Order {
    Write(Vec<u8>),
    /// All that was said before is written.
    Tell(Sender<()>),
}

/// From now on, nobody waits for a reader.
pub(crate) fn wait_for_nobody() -> io::Result<()> {
    let (send, orders) = sync_channel(LINES_MAX);
    let queue = QUEUE.get_or_init(|| Queue { send, waiting: AtomicUsize::new(0), lost: AtomicU64::new(0) });
    std::thread::Builder::new().name("stderr".into()).spawn(move || queue.write(&orders, &mut io::stderr()))?;
    Ok(())
}

/// Gives the last lines a moment.
pub(crate) fn flush() {
    let Some(queue) = QUEUE.get() else { return };
    let (tell, told) = channel();
    if queue.send.try_send(Order::Tell(tell)).is_ok() {
        let _ = told.recv_timeout(FLUSH_MAX);
    }
}

/// Whole lines.
pub(crate) fn say(text: &[u8]) {
    match QUEUE.get() {
        Some(queue) => queue.take(text),
        // A reader that went away is no reason to end.
        None => drop(io::stderr().write_all(text)),
    }
}

impl Queue {
    fn take(&self, text: &[u8]) {
        let fits = self.waiting.fetch_add(text.len(), Ordering::Relaxed) + text.len() <= BYTES_MAX;
        let taken = fits && !matches!(self.send.try_send(Order::Write(text.to_vec())), Err(TrySendError::Full(_)));
        if !taken {
            self.waiting.fetch_sub(text.len(), Ordering::Relaxed);
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn write(&self, orders: &Receiver<Order>, to: &mut impl io::Write) {
        for order in orders {
            match order {
                Order::Write(text) => {
                    let _ = to.write_all(&text);
                    self.waiting.fetch_sub(text.len(), Ordering::Relaxed);
                    let lost = self.lost.swap(0, Ordering::Relaxed);
                    if lost > 0 {
                        let _ = writeln!(to, "{lost} lines of the log were lost: nobody read them in time");
                    }
                }
                Order::Tell(tell) => drop(tell.send(())),
            }
        }
    }
}

/// For the log, which writes a line at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stderr;

impl io::Write for Stderr {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        say(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_dropped_and_counted() {
        let (send, orders) = sync_channel(2);
        let queue = Queue { send, waiting: AtomicUsize::new(0), lost: AtomicU64::new(0) };
        queue.take(&vec![b'x'; BYTES_MAX + 1]);
        for text in ["one\n", "two\n", "three\n"] {
            queue.take(text.as_bytes());
        }
        let Queue { send, waiting, lost } = queue;
        assert_eq!(waiting.load(Ordering::Relaxed), 8);
        drop(send);
        let (closed, _) = sync_channel(0);
        let (queue, mut written) = (Queue { send: closed, waiting, lost }, Vec::new());
        queue.write(&orders, &mut written);
        let lost = "2 lines of the log were lost: nobody read them in time";
        assert_eq!(String::from_utf8_lossy(&written), format!("one\n{lost}\ntwo\n"));
        assert_eq!(queue.waiting.load(Ordering::Relaxed), 0);
    }
}
