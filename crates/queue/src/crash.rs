//! Named places where a test may stop the process dead, to prove that nothing acknowledged is lost there.
//! Without the feature `crash-points` all of this is nothing.

/// Every point, so that a test can visit each. `before` is ahead of the transaction, `inside` has written but not
/// committed, `after` has committed but not told the caller. `wiki.ask` has asked a wiki and
/// committed nothing. `bodies.put` has put bodies into the object store and committed no row.
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
    "accept.before",
    "accept.inside",
    "accept.after",
    "dispatch.before",
    "dispatch.inside",
    "dispatch.after",
    "fetch.ask.before",
    "fetch.ask.inside",
    "fetch.ask.after",
    "fetch.commit.before",
    "fetch.commit.inside",
    "fetch.commit.after",
    "tour.begin.before",
    "tour.begin.inside",
    "tour.begin.after",
    "tour.step.before",
    "tour.step.inside",
    "tour.step.after",
    "tour.change.before",
    "tour.change.inside",
    "tour.change.after",
    "analyze.begin.before",
    "analyze.begin.inside",
    "analyze.begin.after",
    "analyze.take.before",
    "analyze.take.inside",
    "analyze.take.after",
    "analyze.map.before",
    "analyze.map.inside",
    "analyze.map.after",
    "analyze.complete.before",
    "analyze.complete.inside",
    "analyze.complete.after",
    "analyze.commit.before",
    "analyze.commit.inside",
    "analyze.commit.after",
    "wiki.extract.before",
    "wiki.extract.inside",
    "wiki.extract.after",
    "wiki.ask",
    "wiki.commit.before",
    "wiki.commit.inside",
    "wiki.commit.after",
    "bodies.put",
    "worker.leased",
    "worker.worked",
    "api.answer",
];

#[cfg(feature = "crash-points")]
mod armed {
    use std::process::Command;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicI64, Ordering};

    static ARMED: OnceLock<Armed> = OnceLock::new();

    struct Armed {
        point: String,
        passages_left: AtomicI64,
        freezes: bool,
    }

    /// Arms one point: `name`, `name:N` to stop at the Nth passage, `name:N:freeze` to stand still there as after
    /// SIGSTOP until SIGCONT comes.
    pub fn arm(spec: &str) -> Result<(), String> {
        let wrong = || format!("\"{spec}\" is not a point, point:count or point:count:freeze");
        let mut parts = spec.split(':');
        let name = parts.next().unwrap_or_default();
        let count = parts.next().unwrap_or("1").parse().map_err(|_| wrong())?;
        let freezes = match (parts.next(), parts.next()) {
            (None, _) => false,
            (Some("freeze"), None) => true,
            _ => return Err(wrong()),
        };
        if !super::POINTS.contains(&name) {
            return Err(format!("\"{name}\" is not a crash point"));
        }
        let _ = ARMED.set(Armed { point: name.to_owned(), passages_left: AtomicI64::new(count), freezes });
        Ok(())
    }

    pub fn point(name: &str) {
        debug_assert!(super::POINTS.contains(&name), "{name} is missing in POINTS");
        let Some(armed) = ARMED.get().filter(|armed| armed.point == name) else { return };
        if armed.passages_left.fetch_sub(1, Ordering::SeqCst) != 1 {
            return;
        }
        eprintln!("crash point {name}");
        if !armed.freezes {
            std::process::abort();
        }
        let _ = Command::new("kill").args(["-STOP", &std::process::id().to_string()]).status();
    }
}

#[cfg(feature = "crash-points")]
pub use armed::{arm, point};

#[cfg(not(feature = "crash-points"))]
#[inline(always)]
pub fn point(_name: &str) {}
