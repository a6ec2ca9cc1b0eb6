//! Group commit on the client's side: verbs of the same sort that wait at the same time go to the server as one.
//! Otherwise a thousand callers would wait for a thousand flushes, and for each other's lanes.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use malla_queue::{Error, Result};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::timeout;

/// Calls that wait at most; beyond it callers wait for a place.
const QUEUE_MAX: usize = 4_096;
/// Calls in one batch at most.
const GROUP_MAX: usize = 256;
/// Batches on their way at the same time.
const CARRIERS: usize = 2;
/// How long a call waits for a carrier. Those may have to find out what became of their last batch while the store is away.
const START_WITHIN: Duration = Duration::from_secs(10);

struct Call<I, O> {
    items: Vec<I>,
    reply: oneshot::Sender<Result<Vec<O>>>,
    /// Set by the carrier that takes it, or by the caller that waits no more: by one of them.
    settled: Arc<AtomicBool>,
}

impl<I, O> Call<I, O> {
    /// Whether it is the carrier's now: somebody still waits for its answer.
    fn begins(&self) -> bool {
        !self.reply.is_closed() && !self.settled.swap(true, Ordering::AcqRel)
    }
}

/// Carries items to the server in batches and brings each caller its answers.
pub(super) struct Batcher<I, O> {
    queue: mpsc::Sender<Call<I, O>>,
}

impl<I, O> Batcher<I, O>
where
    I: Clone + Send + Sync + 'static,
    O: Send + 'static,
{
    /// `carry` takes a batch to the server and answers each item, in order.
    pub(super) fn start<F>(carry: impl Fn(Vec<I>) -> F + Clone + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Vec<O>>> + Send + 'static,
    {
        let (queue, calls) = mpsc::channel(QUEUE_MAX);
        let calls = Arc::new(Mutex::new(calls));
        for _ in 0..CARRIERS {
            tokio::spawn(carry_batches(calls.clone(), carry.clone()));
        }
        Self { queue }
    }

    pub(super) async fn call(&self, items: Vec<I>) -> Result<Vec<O>> {
        let (reply, mut answer) = oneshot::channel();
        let gone = || Error::Unavailable("the store is closed".into());
        let settled = Arc::new(AtomicBool::new(false));
        let call = Call { items, reply, settled: settled.clone() };
        let begun = async {
            self.queue.send(call).await.map_err(|_| gone())?;
            (&mut answer).await.map_err(|_| gone())?
        };
        match timeout(START_WITHIN, begun).await {
            Ok(answered) => answered,
            Err(_) if !settled.swap(true, Ordering::AcqRel) => Err(Error::Unavailable(format!(
                "PostgreSQL has not taken up what was to be written within {START_WITHIN:?}"
            ))),
            // It is under way, and what becomes of it will be known.
            Err(_) => answer.await.map_err(|_| gone())?,
        }
    }
}

async fn carry_batches<I, O, F>(calls: Arc<Mutex<mpsc::Receiver<Call<I, O>>>>, carry: impl Fn(Vec<I>) -> F)
where
    I: Clone,
    F: Future<Output = Result<Vec<O>>>,
{
    let mut group = Vec::with_capacity(GROUP_MAX);
    loop {
        if calls.lock().await.recv_many(&mut group, GROUP_MAX).await == 0 {
            return;
        }
        group.retain(Call::begins);
        if group.is_empty() {
            continue;
        }
        if let [only] = group.as_mut_slice() {
            let items = std::mem::take(&mut only.items);
            let answer = carry(items).await;
            let _ = group.remove(0).reply.send(answer);
            continue;
        }
        let items: Vec<I> = group.iter().flat_map(|call| call.items.iter().cloned()).collect();
        match carry(items).await {
            Ok(answers) => {
                let mut answers = answers.into_iter();
                for call in group.drain(..) {
                    let own = answers.by_ref().take(call.items.len()).collect();
                    let _ = call.reply.send(Ok(own));
                }
            }
            Err(error @ (Error::Unavailable(_) | Error::Deposed)) => {
                group.drain(..).for_each(|call| drop(call.reply.send(Err(error.clone()))));
            }
            // Somebody's items were refused: each call for itself, so that only that one hears of it.
            Err(_) => {
                for call in group.drain(..) {
                    let answer = carry(call.items).await;
                    let _ = call.reply.send(answer);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex as Shared;
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_finds_no_carrier_in_time_is_told_so_and_not_carried_later() {
        let (carried, under_way) = (Arc::new(Shared::new(Vec::<u32>::new())), Arc::new(AtomicU32::new(0)));
        let batcher = {
            let (carried, under_way) = (carried.clone(), under_way.clone());
            Arc::new(Batcher::start(move |items: Vec<u32>| {
                let (carried, under_way) = (carried.clone(), under_way.clone());
                async move {
                    carried.lock().expect("no panic while it is held").extend(&items);
                    under_way.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(START_WITHIN * 3).await;
                    Ok(items)
                }
            }))
        };
        let call = |item| {
            let batcher = batcher.clone();
            tokio::spawn(async move { batcher.call(vec![item]).await })
        };
        let mut begun = Vec::new();
        for item in 0..CARRIERS as u32 {
            begun.push(call(item));
            while under_way.load(Ordering::Relaxed) <= item {
                tokio::task::yield_now().await;
            }
        }
        let began = tokio::time::Instant::now();
        let late = call(9).await.expect("no panic");
        assert!(matches!(late, Err(Error::Unavailable(_))), "{late:?}");
        assert_eq!(began.elapsed(), START_WITHIN);
        // One who went away without a word.
        let gone = call(8);
        tokio::task::yield_now().await;
        gone.abort();
        for (item, begun) in begun.into_iter().enumerate() {
            assert_eq!(begun.await.expect("no panic"), Ok(vec![item as u32]), "who was begun has its answer");
        }
        assert_eq!(call(7).await.expect("no panic"), Ok(vec![7]));
        assert_eq!(*carried.lock().expect("no panic while it is held"), [0, 1, 7]);
    }
}
