//! The questions of `verify`: each finds what should not be, in words.

/// `{now}` stands for the time.
pub(crate) const QUESTIONS: [&str; 34] = [
    include_str!("../sql/both/verify/tally.sql"),
    include_str!("../sql/both/verify/tally_total.sql"),
    include_str!("../sql/both/verify/lane_tally.sql"),
    include_str!("../sql/both/verify/lane_tally_total.sql"),
    include_str!("../sql/both/verify/running.sql"),
    include_str!("../sql/both/verify/open_place.sql"),
    include_str!("../sql/both/verify/stray_ready.sql"),
    include_str!("../sql/both/verify/stray_lease.sql"),
    include_str!("../sql/both/verify/awaiting.sql"),
    include_str!("../sql/both/verify/dedup.sql"),
    include_str!("../sql/both/verify/stuck_lane.sql"),
    include_str!("../sql/both/verify/full_lane.sql"),
    include_str!("../sql/both/verify/subscription_lane.sql"),
    include_str!("../sql/both/verify/lost_event.sql"),
    include_str!("../sql/both/verify/cache_size.sql"),
    include_str!("../sql/both/verify/cached_page.sql"),
    include_str!("../sql/both/verify/body_place.sql"),
    include_str!("../sql/both/verify/job_waits.sql"),
    include_str!("../sql/both/verify/job_answers.sql"),
    include_str!("../sql/both/verify/analysis_counts.sql"),
    include_str!("../sql/both/verify/analysis_bytes.sql"),
    include_str!("../sql/both/verify/analysis_map.sql"),
    include_str!("../sql/both/verify/analysis_reduce.sql"),
    include_str!("../sql/both/verify/analysis_reduce_once.sql"),
    include_str!("../sql/both/verify/wiki_counts.sql"),
    include_str!("../sql/both/verify/wiki_page_counts.sql"),
    include_str!("../sql/both/verify/wiki_editor.sql"),
    include_str!("../sql/both/verify/wiki_month.sql"),
    include_str!("../sql/both/verify/wiki_tally.sql"),
    include_str!("../sql/both/verify/wiki_revision.sql"),
    include_str!("../sql/both/verify/wiki_stray.sql"),
    include_str!("../sql/both/verify/wiki_text.sql"),
    include_str!("../sql/both/verify/wiki_block.sql"),
    include_str!("../sql/both/verify/wiki_extraction.sql"),
];

/// Findings of one question at most: the first few say what is wrong.
pub(crate) const FINDINGS_MAX: usize = 20;
