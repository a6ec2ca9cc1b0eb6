//! Alerts, of the room `notify`.

use super::Pairs;

pub(super) const PAIRS: Pairs = &[
    ("Alerts", "Alertas"),
    ("The alert's settings are saved.", "Los ajustes de la alerta están guardados."),
    ("Alert {name} has a new", "La alerta {name} tiene nuevo"),
    ("Alert {name} is switched on.", "La alerta {name} está encendida."),
    ("Alert {name} is switched off.", "La alerta {name} está apagada."),
    ("Alert {name} is deleted.", "La alerta {name} está borrada."),
    ("New alert", "Alerta nueva"),
    (
        "There are no alerts: nobody is told when deliveries go wrong.",
        "No hay alertas: no se avisa a nadie cuando las entregas van mal.",
    ),
    ("Alert", "Alerta"),
    ("Create alert", "Crear alerta"),
    (
        "Alert {} is created. Send a test to see that it arrives.",
        "La alerta {} está creada. Envía una prueba para ver que llega.",
    ),
    ("Alert {} is created. Its", "La alerta {} está creada. Su"),
];
