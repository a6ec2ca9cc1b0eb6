//! Subscriptions that are found by their state or by a word, and what is done to all of them.

use super::Pairs;

pub(super) const PAIRS: Pairs = &[
    (
        "\"{text}\" is not a verb for subscriptions: activate, suspend or disable",
        "«{text}» no es un verbo para suscripciones: activate, suspend o disable",
    ),
    (
        "What was held goes out, oldest first. Events that came while one was disabled are not sent.",
        "Lo retenido sale, primero lo más antiguo. Los eventos que llegaron con una suscripción desactivada no se envían.",
    ),
    (
        "Events go on making notifications; they are held until you activate them.",
        "Los eventos siguen creando notificaciones; se retienen hasta que las actives.",
    ),
    (
        "They get no events any more, and what waits is discarded. To hold it, suspend them.",
        "Ya no reciben eventos, y lo que espera se descarta. Para retenerlo, suspéndelas.",
    ),
    ("part of a name or target", "parte de un nombre o destino"),
    (
        "Nothing matches among the subscriptions looked at so far: go on with “Further”.",
        "Nada coincide entre las suscripciones vistas hasta ahora: sigue con «Siguientes».",
    ),
    ("No subscription matches these filters.", "Ninguna suscripción coincide con estos filtros."),
    ("Activate", "Activar"),
    ("Suspend", "Suspender"),
    ("Disable", "Desactivar"),
];
