//! The three answers, for people and for programs.

use anyhow::Result;
use malla_client::Client;
use malla_protocol::{Analysis, City, Rain, Year};
use serde::Serialize;

use crate::output::{Output, table, talk};

/// Rows of each list that people are shown.
const ROWS: usize = 10;

#[derive(Serialize)]
struct Answers {
    rain: Rain,
    year: Year,
    city: City,
}

pub(super) async fn answers(client: &Client, analysis: &Analysis, json: bool) -> Result<()> {
    let id = &analysis.id;
    let answers = Answers {
        rain: client.answer(id, "rain").await?,
        year: client.answer(id, "year").await?,
        city: client.answer(id, "city").await?,
    };
    Output::new(json).one(&answers, |answers| for_people(analysis, answers))?;
    if analysis.bad_lines > 0 {
        talk(&format!("{} lines could not be read:", analysis.bad_lines));
        for bad in &analysis.bad_samples {
            talk(&format!("  {} line {}: {}", bad.batch, bad.line, bad.why));
        }
    }
    Ok(())
}

fn for_people(analysis: &Analysis, answers: &Answers) -> String {
    let Answers { rain, year, city } = answers;
    let param =
        |name: &str| analysis.params.get(name).and_then(serde_json::Value::as_f64).unwrap_or_default().to_string();
    let overall = rain.overall.map_or("no trips".into(), |seconds| format!("{seconds:.1} s on average"));
    let days =
        rain.days.iter().map(|day| vec![day.date.clone(), format!("{:.1}", day.average_s), day.trips.to_string()]);
    let grown = year.stations.iter().map(|one| vec![one.name.clone(), one.base.to_string(), one.compared.to_string()]);
    let far =
        city.stations.iter().map(|one| vec![one.name.clone(), format!("{:.3}", one.average_km), one.trips.to_string()]);
    let (base, compared) = (param("year_base"), param("year_compared"));
    [
        format!("{} trips, {} a second\n", analysis.rows, analysis.rows_per_s),
        part(
            &format!("Trips that started on days with over {} mm of rain: {overall}", param("precipitation_mm")),
            &["date", "average (s)", "trips"],
            days,
            rain.left_out,
        ),
        part(
            &format!("Stations with {} times the trips of {base} in {compared}, or more", param("factor")),
            &["station", &base, &compared],
            grown,
            year.left_out,
        ),
        part(
            &format!(
                "Stations of {} that people come to from over {} km",
                analysis.params.get("city").and_then(serde_json::Value::as_str).unwrap_or_default(),
                param("distance_km")
            ),
            &["station", "average (km)", "trips"],
            far,
            city.left_out,
        ),
    ]
    .join("\n")
}

fn part(title: &str, head: &[&str], rows: impl ExactSizeIterator<Item = Vec<String>>, left_out: u64) -> String {
    let all = rows.len();
    let mut text = match all {
        0 => format!("{title}: none\n"),
        _ => format!("{title}: {all}\n{}\n", table(head, rows.take(ROWS))),
    };
    if all > ROWS {
        text.push_str(&format!("… and {} more: --json shows all\n", all - ROWS));
    }
    if left_out > 0 {
        text.push_str(&format!("{left_out} trips were left out: their station, place or weather is not known\n"));
    }
    text
}
