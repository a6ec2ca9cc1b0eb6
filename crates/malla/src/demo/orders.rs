//! What happens in the town: orders of the shop and readings of the harbour's instruments, as events.

use jiff::Timestamp;
use malla_client::SendEvent;
use serde_json::{Value, json};

use crate::dice::Dice;

const CUSTOMERS: [&str; 8] =
    ["Nora Quist", "Teo Marín", "Amara Obi", "Jun Park", "Ines Duarte", "Kai Lind", "Bibi Roth", "Sol Vega"];
const GOODS: [(&str, u64); 7] = [
    ("Rope, 20 m", 1_180),
    ("Brass lantern", 4_900),
    ("Wool jumper", 6_450),
    ("Chart of the bay", 950),
    ("Tin of sardines", 240),
    ("Enamel mug", 720),
    ("Foghorn", 12_900),
];

/// An order. One in thirty is paid with a voucher, which billing cannot take.
pub(super) fn order(dice: &mut Dice, number: u64, now_s: i64) -> SendEvent {
    let lines: Vec<(&str, u64, u64)> = (0..dice.within(1, 3))
        .map(|_| {
            let (name, cents) = *dice.pick(&GOODS);
            (name, cents, dice.within(1, 3))
        })
        .collect();
    let cents: u64 = lines.iter().map(|(_, cents, many)| cents * many).sum();
    let items: Vec<Value> = lines.iter().map(|(name, _, many)| json!({ "name": name, "many": many })).collect();
    let voucher = dice.one_in(30);
    let body = json!({
        "order": number,
        "customer": dice.pick(&CUSTOMERS),
        "items": items,
        "total": cents as f64 / 100.0,
        "currency": "EUR",
        "delivery": if dice.one_in(4) { "express" } else { "standard" },
        "payment": if voucher { "voucher" } else { "card" },
        "placed_at": time(now_s),
    });
    let headers = if voucher { vec![("x-voucher".to_owned(), "yes".to_owned())] } else { Vec::new() };
    SendEvent { headers, ..event(&body) }
}

/// What the instruments on the pier say. Now and then there is a storm.
pub(super) fn reading(dice: &mut Dice, now_s: i64) -> SendEvent {
    let hours = now_s as f64 / 3_600.0;
    let tide = 180.0 + 140.0 * (hours / 12.42 * std::f64::consts::TAU).sin();
    let storm = now_s / 60 % 10 == 4;
    let wind = if storm { 17.0 } else { 4.0 } + dice.below(60) as f64 / 10.0;
    let pier = *dice.pick(&["north", "south", "ferry"]);
    let body = json!({
        "pier": pier, "level_cm": tide.round(), "wind_ms": wind, "at": time(now_s),
    });
    SendEvent { method: Some("PUT".into()), query: Some(format!("pier={pier}")), ..event(&body) }
}

fn event(body: &Value) -> SendEvent {
    SendEvent {
        content_type: Some("application/json".into()),
        body: body.to_string().into_bytes(),
        ..SendEvent::default()
    }
}

fn time(now_s: i64) -> String {
    Timestamp::from_second(now_s).map(|at| at.to_string()).unwrap_or_default()
}
