//! What only builds for tests have: the crash points of a verb (before, inside and after its transaction), and a version that
//! does not exist yet.

#[cfg(feature = "crash-points")]
pub(crate) fn point(verb: &str, place: &str) {
    use malla_queue::crash;
    let name = format!("{verb}.{place}");
    if crash::POINTS.contains(&name.as_str()) {
        crash::point(&name);
    }
}

#[cfg(not(feature = "crash-points"))]
#[inline(always)]
pub(crate) fn point(_verb: &str, _place: &str) {}

/// Lets this process be the next version, whose only migration is this SQL for the shared store.
#[cfg(feature = "crash-points")]
pub fn be_the_next_version(sql: String) {
    let _ = NEXT.set(sql);
}

#[cfg(feature = "crash-points")]
static NEXT: std::sync::OnceLock<String> = std::sync::OnceLock::new();

/// The migrations, with the next version's if this process is it.
#[cfg(feature = "crash-points")]
pub(crate) fn with_the_next(runner: refinery::Runner) -> refinery::Runner {
    let Some(sql) = NEXT.get() else { return runner };
    let next = refinery::Migration::unapplied("V900__next", sql).expect("a name as they are");
    let all: Vec<_> = runner.get_migrations().iter().cloned().chain([next]).collect();
    refinery::Runner::new(&all)
}

#[cfg(not(feature = "crash-points"))]
pub(crate) fn with_the_next(runner: refinery::Runner) -> refinery::Runner {
    runner
}
