//! Small drawings, in the colour of the text around them.

use maud::{Markup, PreEscaped, html};

fn drawn(paths: &'static str) -> Markup {
    html! {
        svg.icon viewBox="0 0 16 16" width="16" height="16" fill="none" stroke="currentColor" stroke-width="1.5"
            stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" { (PreEscaped(paths)) }
    }
}

pub(crate) fn mesh() -> Markup {
    drawn(r#"<path d="M3 4.5 8 2l5 2.5v7L8 14l-5-2.5zM3 4.5l5 3 5-3M8 7.5V14M3 11.5l5-4 5 4M8 2v5.5"/>"#)
}

pub(crate) fn overview() -> Markup {
    drawn(r#"<path d="M2.5 2.5h4.5v6H2.5zM9 2.5h4.5v3H9zM9 7.5h4.5v6H9zM2.5 10.5h4.5v3H2.5z"/>"#)
}

pub(crate) fn tasks() -> Markup {
    drawn(r#"<path d="m2 4 1.2 1.2L5.2 3M2 9l1.2 1.2L5.2 8M8 4.2h6M8 9.2h6M8 13.2h4"/>"#)
}

pub(crate) fn lanes() -> Markup {
    drawn(r#"<path d="M2 4h8M2 8h12M2 12h5"/><circle cx="12.5" cy="4" r="1.2"/><circle cx="9.5" cy="12" r="1.2"/>"#)
}

pub(crate) fn notify() -> Markup {
    drawn(r#"<path d="M4 11V7.2a4 4 0 0 1 8 0V11l1.4 1.6H2.6zM6.6 14.4h2.8"/>"#)
}

pub(crate) fn fetch() -> Markup {
    drawn(r#"<path d="M8 2v7.5M4.8 6.6 8 9.8l3.2-3.2M2.5 10.5v3h11v-3"/>"#)
}

pub(crate) fn wiki() -> Markup {
    drawn(
        r#"<path d="M8 4.2C6.6 3 4.6 2.6 2.2 2.8v9.6c2.4-.2 4.4.2 5.8 1.4 1.4-1.2 3.4-1.6 5.8-1.4V2.8C11.4 2.6 9.4 3 8 4.2zM8 4.2v9.6"/>"#,
    )
}

pub(crate) fn analyze() -> Markup {
    drawn(r#"<path d="M2.5 2.5v11h11M5.5 11V8M8.5 11V5M11.5 11V6.5"/>"#)
}

pub(crate) fn audit() -> Markup {
    drawn(r#"<path d="M4 2h6l3 3v9H4zM10 2v3h3M6.2 8h4.5M6.2 11h4.5"/>"#)
}

pub(crate) fn cluster() -> Markup {
    drawn(
        r#"<circle cx="8" cy="3.5" r="1.8"/><circle cx="3.5" cy="12" r="1.8"/><circle cx="12.5" cy="12" r="1.8"/><path d="M7.2 5.2 4.4 10.3M8.8 5.2l2.8 5.1M5.4 12h5.2"/>"#,
    )
}

pub(crate) fn settings() -> Markup {
    drawn(
        r#"<path d="M2 4.5h7M13 4.5h1M2 11.5h1M7 11.5h7"/><circle cx="11" cy="4.5" r="1.8"/><circle cx="5" cy="11.5" r="1.8"/>"#,
    )
}

pub(crate) fn users() -> Markup {
    drawn(r#"<circle cx="8" cy="5" r="2.5"/><path d="M3 14c0-3 2.2-4.6 5-4.6S13 11 13 14"/>"#)
}

pub(crate) fn groups() -> Markup {
    drawn(
        r#"<circle cx="5.5" cy="5.5" r="2"/><path d="M1.5 13c0-2.4 1.7-3.8 4-3.8s4 1.4 4 3.8M10.5 3.6a2 2 0 0 1 0 3.8M11.6 9.4c1.8.4 2.9 1.7 2.9 3.6"/>"#,
    )
}

pub(crate) fn tokens() -> Markup {
    drawn(r#"<circle cx="5" cy="11" r="2.8"/><path d="m7 9 6-6M10.5 5.5 12.5 7.5M12 4l1.5 1.5"/>"#)
}

pub(crate) fn system() -> Markup {
    drawn(r#"<path d="M2.5 3h11v8h-11zM6 14h4M8 11v3"/>"#)
}

pub(crate) fn sun() -> Markup {
    drawn(
        r#"<circle cx="8" cy="8" r="2.8"/><path d="M8 1.5v1.4M8 13.1v1.4M1.5 8h1.4M13.1 8h1.4M3.4 3.4l1 1M11.6 11.6l1 1M3.4 12.6l1-1M11.6 4.4l1-1"/>"#,
    )
}

pub(crate) fn moon() -> Markup {
    drawn(r#"<path d="M13 9.6A5.6 5.6 0 0 1 6.4 3a5.6 5.6 0 1 0 6.6 6.6z"/>"#)
}
