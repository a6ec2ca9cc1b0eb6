//! A dispatcher on another machine, as a device talks to it over HTTP.

use std::time::Duration;

use async_trait::async_trait;
use malla_client::{Client, Error};
use malla_fetch::{Block, Brought, Dispatch, DispatchError, Item, PageUrl, Run, Validators, What, Wish};
use malla_protocol as wire;
use malla_queue::LeaseToken;

/// How often a server that does not answer is tried again, and after which wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// 0: for ever.
    pub(crate) retries: u32,
    pub(crate) interval: Duration,
}

pub(crate) struct FleetDispatch {
    pub(crate) client: Client,
    pub(crate) patience: Patience,
}

impl FleetDispatch {
    /// Calls the server, again and again for as long as the patience lasts.
    async fn call<T, F>(&self, call: impl Fn() -> F) -> Result<T, DispatchError>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let mut tries = 0;
        loop {
            match call().await {
                Ok(answer) => return Ok(answer),
                Err(Error::Unreachable(server, why)) => {
                    tries += 1;
                    if self.patience.retries > 0 && tries > self.patience.retries {
                        return Err(DispatchError::Unknown(format!("{server} cannot be reached: {why}")));
                    }
                    tokio::time::sleep(self.patience.interval).await;
                }
                Err(Error::Problem(problem)) => return Err(refused(problem)),
                Err(error) => return Err(DispatchError::Refused(error.to_string())),
            }
        }
    }
}

fn refused(problem: wire::Problem) -> DispatchError {
    match problem.code {
        wire::Code::Full => {
            DispatchError::Later { after_ms: u64::from(problem.retry_after_s.unwrap_or(5)).saturating_mul(1_000) }
        }
        wire::Code::Unavailable | wire::Code::Timeout | wire::Code::Internal => DispatchError::Away(problem.detail),
        wire::Code::Unauthorized => DispatchError::Unknown(problem.detail),
        _ => DispatchError::Refused(problem.detail),
    }
}

#[async_trait]
impl Dispatch for FleetDispatch {
    async fn lease(&self, wish: Wish) -> Result<Block, DispatchError> {
        let Wish { pages, measures } = wish;
        let malla_fetch::Measures { parallel, page_ms, bytes_per_s } = measures;
        let wish = wire::LeaseBlock { pages, measures: wire::Measures { parallel, page_ms, bytes_per_s } };
        read_block(self.call(|| self.client.lease_block(&wish)).await?)
    }

    async fn results(&self, brought: Vec<Brought>) -> Result<Vec<LeaseToken>, DispatchError> {
        let mut frames = Vec::new();
        for Brought { token, answer, quiet_ms } in brought {
            let head = wire::ResultHead {
                token: token.to_string(),
                status: answer.status,
                headers: answer.headers,
                bytes: answer.body.bytes,
                hash: answer.body.hash.map(|hash| hash.to_string()),
                trouble: answer.trouble.as_ref().map(|trouble| trouble.what.name().to_owned()),
                note: answer.trouble.map(|trouble| trouble.note),
                took_ms: answer.took_ms,
                quiet_ms,
            };
            wire::Frame::write(&head, &answer.body.packed, &mut frames);
        }
        let taken = self.call(|| self.client.bring_results(frames.clone())).await?;
        Ok(taken.lost.iter().filter_map(|token| token.parse().ok()).collect())
    }

    async fn give_back(&self, items: Vec<(LeaseToken, u64)>) -> Result<(), DispatchError> {
        let item = |(token, quiet_ms): (LeaseToken, u64)| wire::GivenBack { token: token.to_string(), quiet_ms };
        let items = wire::GiveBack { items: items.into_iter().map(item).collect() };
        self.call(|| self.client.give_back(&items)).await
    }
}

fn read_block(block: wire::BlockView) -> Result<Block, DispatchError> {
    let runs = block.runs.into_iter().map(read_run).collect::<Option<Vec<Run>>>();
    let runs = runs.ok_or_else(|| DispatchError::Refused("the server sent work that cannot be read".into()))?;
    Ok(Block { runs, lease_for_ms: block.lease_for_ms })
}

fn read_run(run: wire::RunView) -> Option<Run> {
    let read = |item: wire::ItemView| {
        Some(Item {
            token: item.token.parse().ok()?,
            url: PageUrl::parse(&item.url).ok()?,
            what: if item.robots { What::Robots } else { What::Page },
            validators: Validators { etag: item.etag, last_modified: item.last_modified },
        })
    };
    let items = run.items.into_iter().map(read).collect::<Option<Vec<Item>>>()?;
    let site = items.first()?.url.site();
    Some(Run { site, gap_ms: run.gap_ms, parallel: run.parallel, items })
}
