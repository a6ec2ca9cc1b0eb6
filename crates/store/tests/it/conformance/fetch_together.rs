//! All verbs of fetch at the same time, at random: in the end every job has its answers and everything adds up.

use std::sync::Arc;
use std::time::Duration;

use malla_fetch::{DeviceId, Job, JobId, Keep, NewJob, PageTask, Seen, Settled, Settlement, Wanted};
use malla_queue::{Failure, Holder, LeaseRequest, Leased, Move, Room, Scope, Verdict};

use crate::harness::{House, LEASE, act, on_both_stores_and_objects};
use crate::harness_fetch::{new_job, renewal, task_of, url};

on_both_stores_and_objects!(whatever_happens_at_the_same_time_every_job_is_answered);

const CLIENTS: u64 = 6;
const STEPS: usize = 50;

struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        // xorshift64
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 20).unwrap() % end
    }

    fn url(&mut self) -> String {
        format!("https://s{}.example/{}", self.below(6), self.below(5))
    }
}

/// One of those who do something at the same time.
struct Client {
    house: Arc<House>,
    dice: Dice,
    device: DeviceId,
    jobs: Vec<JobId>,
    held: Vec<Leased>,
}

impl Client {
    async fn live(mut self) -> Vec<JobId> {
        for _ in 0..STEPS {
            match self.dice.below(20) {
                0..6 => self.ask().await,
                6..13 => self.work().await,
                13 => self.cancel().await,
                14 => self.forget().await,
                15 => self.trim().await,
                16 => drop(self.house.fetch.answer_orphans(5).await.unwrap()),
                17 => self.discard().await,
                18 => self.pass_time().await,
                _ => self.house.fetch.device_left(self.device).await.unwrap(),
            }
        }
        self.jobs
    }

    async fn ask(&mut self) {
        let urls: Vec<String> = (0..=self.dice.below(12)).map(|_| self.dice.url()).collect();
        let mut wanted: Vec<Wanted> = urls.iter().map(|url| Wanted::read(url, self.dice.below(4) > 0)).collect();
        if self.dice.below(8) == 0 {
            wanted.push(Wanted::read("nonsense", true));
        }
        self.jobs.push(self.house.ask_for(NewJob { wanted, ..new_job(&[]) }).await.id);
    }

    async fn work(&mut self) {
        let (rooms, holder) = (vec![Room::new("fetch").unwrap()], Holder::Device(self.device.0.to_string()));
        let request = LeaseRequest { run_max: 4, ..LeaseRequest::new(rooms, 8, holder, LEASE) };
        self.held.extend(self.house.queue.lease(request).await.unwrap().tasks);
        let keep = self.dice.below(3);
        let done = self.held.split_off(keep.min(self.held.len()));
        let settled = done.iter().map(|leased| self.settle(leased)).collect();
        self.house.commit_as(self.device, settled, malla_fetch::Tally::default()).await;
    }

    fn settle(&mut self, leased: &Leased) -> Settled {
        let (house, task) = (self.house.clone(), task_of(leased));
        let text = format!("body {}", self.dice.below(4));
        let settled = match (self.dice.below(10), task.base) {
            (0, _) => house.given(leased, 404, &text),
            (1 | 2, _) if task.hops < 5 => {
                let to = PageTask { hops: task.hops + 1, ..PageTask::new(url(&self.dice.url())) };
                house.settled(leased, Settlement::Moved { to })
            }
            (3, _) => {
                let ending = house.ending(leased, Verdict::Failed(Failure::new("no answer")));
                Settled { ending, ..house.settled(leased, Settlement::Open) }
            }
            (4..8, Some(base)) => {
                let renewal = renewal(malla_queue::Clock::now(&*house.clock), &[("x-seen", &text)]);
                house.settled(leased, Settlement::Unchanged { url: task.url.clone(), base, renewal, hops: task.hops })
            }
            _ => house.found(leased, &text),
        };
        let seen = match self.dice.below(6) {
            0 => Seen::PushedBack { retry_after: None },
            1 => Seen::Failed,
            _ => Seen::Good { took_ms: 20 },
        };
        Settled { seen: Some((task.url.site(), seen)), ..settled }
    }

    async fn cancel(&mut self) {
        if !self.jobs.is_empty() && self.dice.below(2) == 0 {
            let job = self.jobs[self.dice.below(self.jobs.len())];
            self.house.fetch.cancel(&Scope::All, job, act("fetch.cancel")).await.unwrap();
        }
    }

    async fn forget(&mut self) {
        let urls = (0..6).map(|_| url(&self.dice.url()).key()).collect();
        self.house.fetch.forget(urls, act("fetch.reset")).await.unwrap();
    }

    async fn trim(&mut self) {
        let long = Duration::from_secs(365 * 24 * 3_600);
        let keep = Keep { cache_entries_max: 10, cache_bytes_max: 1 << 20, jobs_for: long, devices_for: long, step: 5 };
        self.house.fetch.trim(keep).await.unwrap();
    }

    async fn discard(&mut self) {
        if let Some(leased) = self.held.pop() {
            // Somebody else may have it now, or it is done.
            let _ = self.house.queue.act_on(&Scope::All, leased.token.task, Move::Discard, act("task.discard")).await;
        }
    }

    async fn pass_time(&mut self) {
        self.house.wait(Duration::from_secs(5 + self.dice.below(60) as u64));
        self.house.queue.reap(100).await.unwrap();
    }
}

/// Fetches what is left until nobody waits any more.
async fn bring_to_an_end(house: &House, jobs: &[JobId]) -> Vec<Job> {
    for _ in 0..50 {
        house.wait(Duration::from_secs(3_600));
        house.queue.reap(1_000).await.unwrap();
        house.fetch_all("the end").await;
        house.fetch.answer_orphans(1_000).await.unwrap();
        let mut all = Vec::new();
        for job in jobs {
            all.push(house.job(*job).await);
        }
        if all.iter().all(Job::is_over) {
            return all;
        }
    }
    panic!("some job never ends");
}

async fn whatever_happens_at_the_same_time_every_job_is_answered(house: House) {
    let mut seed = [0; 8];
    getrandom::fill(&mut seed).unwrap();
    let seed = u64::from_le_bytes(seed);
    println!("seed {seed}");
    let house = Arc::new(house);
    let mut clients = tokio::task::JoinSet::new();
    for n in 1..=CLIENTS {
        let device = house.join("ana", &n.to_string()).await.id;
        let dice = Dice((seed ^ n.wrapping_mul(0x9e37_79b9_7f4a_7c15)) | 1);
        clients.spawn(Client { house: house.clone(), dice, device, jobs: Vec::new(), held: Vec::new() }.live());
    }
    let jobs = clients.join_all().await.concat();
    for job in bring_to_an_end(&house, &jobs).await {
        let numbers: Vec<u64> = house.answers(job.id).await.iter().map(|answer| answer.n).collect();
        assert_eq!(numbers, (1..=job.done).collect::<Vec<_>>());
        assert!(job.cancelled || job.done == job.total, "{job:?}");
    }
    house.verify().await;
}
