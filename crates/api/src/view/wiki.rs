//! Wikis, pages, revisions, extractions and imports as they travel.

use malla_protocol as wire;
use malla_queue::UnixMs;
use malla_wiki::{Extraction, ExtractionState, Import, Page, Pulse, Revision, Wiki, WikiId};
use serde_json::json;

use super::{GroupNames, time};

const DAY_MS: f64 = 86_400_000.0;

pub(crate) fn wiki(wiki: &Wiki, names: &GroupNames) -> wire::WikiView {
    wire::WikiView {
        id: wiki.id.0,
        group: names.name(wiki.group),
        name: wiki.name.clone(),
        locale: wiki.locale.clone(),
        api: wiki.api.to_string(),
        scraped: wiki.scraped,
        found_at: time(wiki.found_at),
        pages: wiki.pages,
        revisions: wiki.revisions,
    }
}

pub(crate) fn page(page: Page) -> wire::WikiPage {
    wire::WikiPage {
        wiki: page.wiki.0,
        pageid: page.pageid.0,
        title: page.facts.title,
        ns: page.facts.ns,
        deleted: page.facts.deleted,
        revisions: page.revisions,
        newest_revid: page.newest.map(|mark| mark.revid.0),
        newest_at: page.newest.map(|mark| time(mark.at)),
        first_extraction_at: time(page.first_extraction),
        last_extraction_at: time(page.last_extraction),
        complete_at: page.complete_at.map(time),
        reconciled_at: page.reconciled_at.map(time),
        visited_at: page.visited_at.map(time),
        edits_per_day: page.pulse.and_then(edits_per_day),
        watched: page.watched,
    }
}

/// Over the time between the first and the last of them; `None` if that is no time.
fn edits_per_day(pulse: Pulse) -> Option<f64> {
    let days = (pulse.last.0 - pulse.first.0) as f64 / DAY_MS;
    (days > 0.0 && pulse.edits > 1).then(|| (pulse.edits - 1) as f64 / days)
}

pub(crate) fn revision(wiki: WikiId, revision: Revision, title: Option<&str>) -> wire::RevisionView {
    wire::RevisionView {
        wiki: wiki.0,
        revid: revision.revid.0,
        parentid: revision.parentid.0,
        pageid: revision.pageid.0,
        title: title.map(str::to_owned),
        timestamp: second(revision.at),
        user: revision.user,
        userid: revision.userid,
        anon: revision.anon,
        minor: revision.minor,
        size: revision.size,
        sha1: revision.sha1,
        contentmodel: revision.model,
        contentformat: revision.format,
        comment: revision.comment,
        parsedcomment: revision.parsed_comment,
        tags: revision.tags,
        texthidden: revision.text_hidden,
        has_text: revision.text.is_some(),
    }
}

/// A wiki's clock has seconds.
fn second(at: UnixMs) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(at) => format!("{at:.0}"),
        Err(_) => at.0.to_string(),
    }
}

pub(crate) fn extraction(extraction: Extraction, names: &GroupNames, now: UnixMs) -> wire::ExtractionView {
    let counts = extraction.counts;
    wire::ExtractionView {
        id: extraction.id.to_string(),
        group: names.name(extraction.group),
        left_s: left_s(&extraction, now),
        asked: extraction.asked,
        state: state(extraction.state),
        wiki: extraction.wiki.map(|id| id.0),
        pageid: extraction.pageid.map(|id| id.0),
        title: extraction.title,
        requests: counts.requests,
        done: counts.done,
        total: counts.total,
        new: counts.new,
        erased: counts.erased,
        note: extraction.note,
        asked_at: time(extraction.asked_at),
        started_at: extraction.started_at.map(time),
        changed_at: time(extraction.changed_at),
        finished_at: extraction.finished_at.map(time),
    }
}

fn state(state: ExtractionState) -> wire::ExtractionState {
    match state {
        ExtractionState::Pending => wire::ExtractionState::Pending,
        ExtractionState::InProgress => wire::ExtractionState::InProgress,
        ExtractionState::Succeeded => wire::ExtractionState::Success,
        ExtractionState::Failed => wire::ExtractionState::Failure,
    }
}

/// At the pace since the first step; to the second above.
fn left_s(extraction: &Extraction, now: UnixMs) -> Option<u64> {
    let counts = extraction.counts;
    let left = counts.total?.checked_sub(counts.done)?;
    if extraction.state != ExtractionState::InProgress || counts.done == 0 {
        return None;
    }
    let spent_ms = u64::try_from(now.0.saturating_sub(extraction.started_at?.0)).ok()?;
    Some((spent_ms.saturating_mul(left) / counts.done).div_ceil(1_000))
}

pub(crate) fn status(whole: Extraction, names: &GroupNames, now: UnixMs) -> wire::ExtractionStatus {
    let extraction = extraction(whole, names, now);
    let result = (extraction.state == wire::ExtractionState::Success).then(|| {
        json!({
            "wiki": extraction.wiki,
            "pageid": extraction.pageid,
            "title": extraction.title,
            "revisions": extraction.done,
            "new": extraction.new,
        })
    });
    wire::ExtractionStatus { status: in_words(&extraction), result, extraction }
}

fn in_words(extraction: &wire::ExtractionView) -> String {
    let wire::ExtractionView { done, total, new, note, .. } = extraction;
    match (extraction.state, note) {
        (wire::ExtractionState::Pending, None) => "waiting for its turn".into(),
        (wire::ExtractionState::InProgress, None) => match total {
            Some(total) => format!("{done} of {total} revisions"),
            None => format!("{done} revisions"),
        },
        (wire::ExtractionState::Success, _) => format!("{done} revisions, {new} of them new"),
        (wire::ExtractionState::Failure, None) => "it failed without a word: ask again".into(),
        (_, Some(note)) => note.clone(),
    }
}

pub(crate) fn import(import: Import, names: &GroupNames) -> wire::ImportView {
    wire::ImportView {
        id: import.id.to_string(),
        wiki: import.wiki.0,
        group: names.name(import.group),
        dump: import.name,
        batches: import.batches,
        pages: import.pages,
        revisions: import.revisions,
        finished: import.finished,
        begun_at: time(import.begun_at),
        changed_at: time(import.changed_at),
    }
}

#[cfg(test)]
mod tests {
    use malla_queue::TaskId;
    use malla_wiki::{Counts, ExtractionId};

    use super::*;

    fn extraction_at(state: ExtractionState, done: u64, total: Option<u64>) -> Extraction {
        Extraction {
            id: ExtractionId(TaskId(1)),
            group: None,
            asked: "Earth".into(),
            state,
            wiki: None,
            pageid: None,
            title: None,
            counts: Counts { done, total, new: 2, ..Counts::default() },
            note: None,
            asked_at: UnixMs(0),
            started_at: Some(UnixMs(1_000)),
            changed_at: UnixMs(2_000),
            finished_at: None,
        }
    }

    #[test]
    fn the_pace_so_far_tells_how_long_it_takes() {
        for (state, done, total, left) in [
            (ExtractionState::Pending, 0, None, None),
            (ExtractionState::InProgress, 0, Some(100), None),
            (ExtractionState::InProgress, 50, None, None),
            (ExtractionState::InProgress, 50, Some(100), Some(4)),
            (ExtractionState::InProgress, 101, Some(100), None),
            (ExtractionState::Succeeded, 50, Some(100), None),
        ] {
            assert_eq!(left_s(&extraction_at(state, done, total), UnixMs(5_000)), left, "{state:?} {done}");
        }
    }

    #[test]
    fn each_state_has_its_words() {
        let words = |state, done, total| {
            let names = GroupNames(Default::default());
            in_words(&extraction(extraction_at(state, done, total), &names, UnixMs(5_000)))
        };
        assert_eq!(words(ExtractionState::Pending, 0, None), "waiting for its turn");
        assert_eq!(words(ExtractionState::InProgress, 5, Some(9)), "5 of 9 revisions");
        assert_eq!(words(ExtractionState::InProgress, 5, None), "5 revisions");
        assert_eq!(words(ExtractionState::Succeeded, 9, Some(9)), "9 revisions, 2 of them new");
        assert!(words(ExtractionState::Failed, 0, None).contains("failed"));
    }

    #[test]
    fn a_pulse_is_edits_over_time() {
        let day = |n: i64| UnixMs(n * 86_400_000);
        assert_eq!(edits_per_day(Pulse { edits: 21, first: day(0), last: day(10) }), Some(2.0));
        assert_eq!(edits_per_day(Pulse { edits: 1, first: day(3), last: day(3) }), None);
    }

    #[test]
    fn a_wikis_times_have_seconds() {
        assert_eq!(second(UnixMs(1_520_596_800_000)), "2018-03-09T12:00:00Z");
    }
}
