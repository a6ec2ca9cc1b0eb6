//! Group commit on the client's side: verbs of the same sort that wait at the same time go to the server as one.
//! Otherwise a thousand callers would wait for a thousand flushes, and for each other's lanes.

use std::future::Future;
use std::sync::Arc;

use malla_queue::{Error, Result};
use tokio::sync::{Mutex, mpsc, oneshot};

/// Calls that wait at most; beyond it callers wait for a place.
const QUEUE_MAX: usize = 4_096;
/// Calls in one batch at most.
const GROUP_MAX: usize = 256;
/// Batches on their way at the same time.
const CARRIERS: usize = 2;

struct Call<I, O> {
    items: Vec<I>,
    reply: oneshot::Sender<Result<Vec<O>>>,
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
        let (reply, answer) = oneshot::channel();
        let gone = || Error::Unavailable("the store is closed".into());
        self.queue.send(Call { items, reply }).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
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
