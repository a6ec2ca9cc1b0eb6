//! Errors in one sentence.

/// The last cause behind an error: the one that says what is wrong.
pub(crate) fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    last.to_string()
}
