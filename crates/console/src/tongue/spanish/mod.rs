//! What the pages say in Spanish: English on the left as it is written in the pages, Spanish on the right.
//!
//! Spanish addresses the reader as *tú*, writes «comillas», and leaves the names of the API (states in addresses,
//! fields, commands) in English. The words:
//!
//! | English | Spanish | English | Spanish |
//! |---|---|---|---|
//! | task | tarea | device | dispositivo |
//! | lane | carril | job (of fetch) | trabajo |
//! | ceiling, gap | tope, intervalo | site | sitio |
//! | lease | arriendo | page (of the web) | página |
//! | attempt | intento | wiki, article | wiki (m.), artículo |
//! | to resend, to retry | reenviar, reintentar | revision, edit | revisión, edición |
//! | event | evento | extraction | extracción |
//! | endpoint | punto de entrada | dump, import | volcado, importación |
//! | subscription | suscripción | to watch | vigilar |
//! | target | destino | analysis, batch | análisis, lote |
//! | notification | notificación | member, leader, term | miembro, líder, mandato |
//! | alert, notice | alerta, aviso | group, role, token | grupo, rol, token |
//! | room, house | sala, casa | settings | ajustes |
//! | crawl, seed | rastreo, semilla | watch, comparison, round | vigilancia, comparación, ronda |
//!
//! `"text#about"` is a text whose Spanish depends on what it is about. Values stand at `{}`; those with a name may
//! change places.

mod alerts;
mod analyze;
mod fetch;
mod house;
mod notify;
pub(super) mod pipelines;
pub(super) mod rooms;
mod subscriptions;
mod tours;
mod trust;
mod wiki;
mod work;

pub(super) type Pairs = &'static [(&'static str, &'static str)];

/// A room has a table of its own.
pub(super) const TABLES: &[Pairs] = &[
    house::PAIRS,
    work::PAIRS,
    notify::PAIRS,
    subscriptions::PAIRS,
    alerts::PAIRS,
    fetch::PAIRS,
    tours::PAIRS,
    trust::PAIRS,
    wiki::PAIRS,
    analyze::PAIRS,
];
