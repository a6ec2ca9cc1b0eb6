//! The crash points of a verb: before, inside and after its transaction.

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
