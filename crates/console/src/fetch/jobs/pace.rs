//! How fast a job goes, and when it will be done.

use std::time::Duration;

use malla_fetch::Job;
use malla_queue::UnixMs;

use crate::words;

/// Time left is told in steps, so that a live page does not fidget.
const STEP_S: u64 = 5;

/// `1.5 pages a second, about 25 s left`; nothing before the first page came.
pub(super) fn told(now: UnixMs, job: &Job) -> Option<String> {
    // What the cache had came at once, and says nothing about the rest.
    let fetched = job.done.saturating_sub(job.cached);
    let seconds = job.id.0.submitted_at().until(now).as_secs_f64();
    if job.is_over() || fetched == 0 || seconds <= 0.0 {
        return None;
    }
    let rate = fetched as f64 / seconds;
    let left_s = (job.total.saturating_sub(job.done) as f64 / rate).ceil() as u64;
    let left = Duration::from_secs(left_s.div_ceil(STEP_S).saturating_mul(STEP_S));
    Some(say!("{}, about {} left", rate_in_words(rate), words::lasted(left)))
}

fn rate_in_words(a_second: f64) -> String {
    match a_second {
        rate if rate >= 10.0 => say!("{} pages a second", words::count(rate.round() as u64)),
        rate if rate >= 1.0 => say!("{} pages a second", words::decimal(rate, 1)),
        rate => say!("{} pages a minute", words::decimal(rate * 60.0, 1)),
    }
}

#[cfg(test)]
mod tests {
    use malla_fetch::JobId;
    use malla_queue::TaskId;

    use super::*;

    #[test]
    fn the_time_left_follows_what_was_fetched_so_far() {
        check(1_000, 0, 0, 10, None);
        check(1_000, 100, 100, 10, None);
        check(1_000, 300, 100, 10, Some("20 pages a second, about 35 s left"));
        check(20, 15, 0, 10, Some("1.5 pages a second, about 5 s left"));
        check(10_000, 1, 0, 60, Some("1.0 pages a minute, about 6 d 22 h left"));
        check(20, 20, 0, 10, None);
    }

    fn check(total: u64, done: u64, cached: u64, after_s: u64, expected: Option<&str>) {
        let started = UnixMs(1_800_000_000_000);
        let id = JobId(TaskId::first_at(started));
        let job = Job { id, group: None, total, done, good: 0, cached, cancelled: false, finished_at: None };
        let now = started.plus(Duration::from_secs(after_s));
        assert_eq!(told(now, &job).as_deref(), expected, "{done} of {total}");
    }
}
