//! What the requests of the matrix of permissions are aimed at.

/// What a request is aimed at: fresh things of one group.
pub(crate) struct Target {
    pub(crate) group: String,
    pub(crate) task: String,
    pub(crate) lane: String,
    pub(crate) user: String,
    pub(crate) token: String,
    pub(crate) fresh: String,
    pub(crate) endpoint: String,
    /// An endpoint without subscriptions.
    pub(crate) bare: String,
    pub(crate) subscription: String,
    /// A subscription that is disabled.
    pub(crate) disabled: String,
    pub(crate) event: String,
    pub(crate) notification: String,
    pub(crate) alert: String,
    pub(crate) job: String,
    pub(crate) crawl: String,
    /// One that is over.
    pub(crate) crawled: String,
    pub(crate) watch: String,
    pub(crate) comparison: String,
    pub(crate) device: String,
    pub(crate) analysis: String,
    pub(crate) wiki: String,
    pub(crate) import: String,
    pub(crate) extraction: String,
}
