//! Named places where a test may stop the process dead, to prove that nothing acknowledged is lost there.
//! Without the feature `crash-points` all of this is nothing.

/// Every point, so that a test can visit each. `before` is ahead of the transaction, `inside` has written but not
/// committed, `after` has committed but not told the caller.
pub const POINTS: &[&str] = &[
    "submit.before",
    "submit.inside",
    "submit.after",
    "lease.before",
    "lease.inside",
    "lease.after",
    "extend.before",
    "extend.after",
    "finish.before",
    "finish.inside",
    "finish.after",
    "reap.before",
    "reap.inside",
    "reap.after",
    "act.before",
    "act.inside",
    "act.after",
    "lane.before",
    "lane.inside",
    "lane.after",
    "prune.before",
    "prune.inside",
    "prune.after",
    "worker.leased",
    "worker.worked",
    "api.answer",
];

#[cfg(feature = "crash-points")]
mod armed {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicI64, Ordering};

    static ARMED: OnceLock<(String, AtomicI64)> = OnceLock::new();

    /// Arms one point: `name` or `name:N` to stop at the Nth passage.
    pub fn arm(spec: &str) -> Result<(), String> {
        let (name, count) = spec.split_once(':').unwrap_or((spec, "1"));
        let count: i64 = count.parse().map_err(|_| format!("\"{spec}\" is not name:count"))?;
        if !super::POINTS.contains(&name) {
            return Err(format!("\"{name}\" is not a crash point"));
        }
        let _ = ARMED.set((name.to_owned(), AtomicI64::new(count)));
        Ok(())
    }

    pub fn point(name: &str) {
        debug_assert!(super::POINTS.contains(&name), "{name} is missing in POINTS");
        if let Some((armed, left)) = ARMED.get()
            && armed == name
            && left.fetch_sub(1, Ordering::SeqCst) == 1
        {
            eprintln!("crash point {name}");
            std::process::abort();
        }
    }
}

#[cfg(feature = "crash-points")]
pub use armed::{arm, point};

#[cfg(not(feature = "crash-points"))]
#[inline(always)]
pub fn point(_name: &str) {}
