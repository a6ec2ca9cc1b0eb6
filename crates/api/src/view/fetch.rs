//! Jobs, results, sites, devices and blocks as they travel.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use malla_fetch::{
    Answer, Answered, Block, Brought, Device, Item, Job, JobId, KnownSite, Measures, PackedBody, Site, Trouble,
    TroubleKind, What, unpack_page,
};
use malla_protocol as wire;
use malla_queue::{Lane, UnixMs};

use super::{GroupNames, time};

pub(crate) fn job(job: &Job, names: &GroupNames) -> wire::JobView {
    wire::JobView {
        id: job.id.to_string(),
        group: names.name(job.group),
        state: match () {
            () if job.cancelled => wire::JobState::Cancelled,
            () if job.is_over() => wire::JobState::Done,
            () => wire::JobState::Running,
        },
        total: job.total,
        done: job.done,
        good: job.good,
        from_cache: job.cached,
        created_at: time(job.id.0.submitted_at()),
        finished_at: job.finished_at.map(time),
    }
}

pub(crate) fn result(job: JobId, answered: Answered) -> wire::FetchResult {
    let Answered { n, url, from_cache, page } = answered;
    let raw = unpack_page(&page);
    let unpacked = raw.is_ok();
    let (body, body_encoding) = match String::from_utf8(raw.unwrap_or_default()) {
        Ok(text) => (text, None),
        Err(bytes) => (STANDARD.encode(bytes.as_bytes()), Some("base64".to_owned())),
    };
    let damaged = (!unpacked).then(|| "the stored body is damaged: ask for the page again".to_owned());
    wire::FetchResult {
        id: format!("{job}:{n}"),
        url,
        status: page.status,
        body,
        body_encoding,
        headers: headers(page.headers),
        final_url: page.url,
        fetched_at: time(page.fetched_at),
        from_cache,
        device: page.device,
        verified: page.verified,
        trouble: page.trouble.as_ref().map(|trouble| trouble.what.name().to_owned()),
        reason: page.trouble.map(|trouble| trouble.note).or(damaged),
    }
}

fn headers(pairs: Vec<(String, String)>) -> BTreeMap<String, String> {
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in pairs {
        headers
            .entry(name.to_ascii_lowercase())
            .and_modify(|before| {
                before.push_str(", ");
                before.push_str(&value);
            })
            .or_insert(value);
    }
    headers
}

pub(crate) fn site(lane: &Lane, site: &Site, known: Option<KnownSite>) -> wire::SiteView {
    let state = known.as_ref().map(|known| known.state).unwrap_or_default();
    let robots = known.and_then(|known| known.robots);
    wire::SiteView {
        site: site.to_string(),
        gap_ms: lane.settings.gap_ms,
        ceiling: lane.settings.ceiling,
        paused: lane.paused,
        waiting: lane.counts.queued + lane.counts.paused,
        running: lane.counts.running,
        ready_at: lane.ready_at.map(time),
        slowed_ms: state.slowed_ms,
        failures: state.failures,
        rest_until: state.rest_until.map(time),
        page_ms: state.page_ms,
        robots_status: robots.as_ref().map(|robots| robots.status),
        robots_until: robots.as_ref().map(|robots| time(robots.until)),
        robots: robots.map(|robots| String::from_utf8_lossy(&robots.text).into_owned()),
    }
}

pub(crate) fn device(device: &Device, names: &GroupNames, now: UnixMs) -> wire::DeviceView {
    let tally = &device.tally;
    let [success, redirect, client_error, server_error, no_answer] = tally.by_class;
    wire::DeviceView {
        id: device.id.0,
        name: device.name.clone(),
        owner: device.owner.clone(),
        group: names.name(device.group),
        state: device.state(now).name().to_owned(),
        system: device.about.system.clone(),
        version: device.about.version.clone(),
        hostname: device.about.hostname.clone(),
        address: device.about.address.clone(),
        country: device.about.country.clone(),
        joined_at: time(device.joined_at),
        seen_at: time(device.seen_at),
        measures: measures(device.measures),
        tally: wire::Tally {
            pages: tally.pages,
            success,
            redirect,
            client_error,
            server_error,
            no_answer,
            bytes: tally.bytes,
            took_ms: tally.took_ms,
            refused: tally.refused,
        },
    }
}

fn measures(measures: Measures) -> wire::Measures {
    let Measures { parallel, page_ms, bytes_per_s } = measures;
    wire::Measures { parallel, page_ms, bytes_per_s }
}

pub(crate) fn read_measures(measures: wire::Measures) -> Measures {
    let wire::Measures { parallel, page_ms, bytes_per_s } = measures;
    Measures { parallel, page_ms, bytes_per_s }
}

pub(crate) fn block(block: &Block) -> wire::BlockView {
    let item = |item: &Item| wire::ItemView {
        token: item.token.to_string(),
        url: item.url.to_string(),
        robots: item.what == What::Robots,
        etag: item.validators.etag.clone(),
        last_modified: item.validators.last_modified.clone(),
    };
    let run = |run: &malla_fetch::Run| wire::RunView {
        gap_ms: run.gap_ms,
        parallel: run.parallel,
        items: run.items.iter().map(item).collect(),
    };
    wire::BlockView { lease_for_ms: block.lease_for_ms, runs: block.runs.iter().map(run).collect() }
}

/// A result as a device sent it.
pub(crate) fn brought(frame: wire::Frame) -> Result<Brought, String> {
    let wire::Frame { head, body } = frame;
    let token = head.token.parse().map_err(|_| "a result has a token that this server did not give out")?;
    let trouble = match head.trouble {
        Some(name) => {
            let what = TroubleKind::from_name(&name).ok_or_else(|| format!("\"{name}\" is no known trouble"))?;
            Some(Trouble { what, note: head.note.unwrap_or_default() })
        }
        None => None,
    };
    let hash = head.hash.and_then(|text| text.parse().ok());
    let body = PackedBody { packed: body.into(), bytes: head.bytes, hash };
    let answer = Answer { status: head.status, headers: head.headers, body, trouble, took_ms: head.took_ms };
    Ok(Brought { token, answer, quiet_ms: head.quiet_ms })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_that_came_several_times_are_joined() {
        let pairs = vec![("Vary".into(), "a".into()), ("vary".into(), "b".into()), ("etag".into(), "x".into())];
        let joined = headers(pairs);
        assert_eq!((joined["vary"].as_str(), joined["etag"].as_str()), ("a, b", "x"));
    }
}
