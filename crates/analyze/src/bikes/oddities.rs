//! Files as people have them: what each oddity means.

use super::*;
use crate::analysis::Partial as _;
use crate::lines::Lines;

const WEATHER: &str = "date,prectot\n2016-07-02,40\n";
const STATIONS: &str =
    "code,name,latitude,longitude,yearid\n1,A,45.5,-73.6,2016\n2,B,45.6,-73.6,2016\n1,A,45.5,-73.6,2017\n";
const TRIPS: &str = "start_date,start_station_code,end_station_code,duration_sec,yearid\n";

/// The answers for one city, and how its trips could be read.
fn of(weather: &[u8], stations: &[u8], trips: &[u8]) -> Result<(Answers, Lines), Rejected> {
    let params = Params { factor: 0.0, distance_km: 0.0, bad_lines_max: 1.0, ..Params::default() };
    let mut tables = vec![Batch { name: "weather/montreal/0", input: "weather", bytes: weather }];
    if !stations.is_empty() {
        tables.push(Batch { name: "stations/montreal/0", input: "stations", bytes: stations });
    }
    let city = City::new(&tables, &params)?;
    let partial = map(Batch { name: "trips/montreal/0", input: "trips", bytes: trips }, "Montreal", &city, &params)?;
    let lines = partial.lines().clone();
    Ok((answer([(&city, &partial)], &params), lines))
}

fn trips(lines: &str) -> (Answers, Lines) {
    of(WEATHER.as_bytes(), STATIONS.as_bytes(), format!("{TRIPS}{lines}").as_bytes()).expect("it can be read")
}

/// What a plain trip of a minute on a rainy day comes to.
fn one_trip() -> Answers {
    trips("2016-07-01 10:00,1,2,60,2016\n").0
}

#[test]
fn the_weather_of_a_day_stands_under_the_next() {
    let answers = one_trip();
    assert_eq!(answers.rain.overall, Some(60.0));
    assert_eq!(answers.rain.days[0].date.to_string(), "2016-07-01");
    assert_eq!(answers.year.stations[0].name, "A");
    assert_eq!((answers.city.stations[0].name.as_str(), answers.city.stations[0].trips), ("B", 1));
}

#[test]
fn other_ways_to_write_the_same_are_the_same() {
    let same = [
        ("CRLF", format!("{TRIPS}2016-07-01 10:00,1,2,60,2016\n").replace('\n', "\r\n")),
        ("a byte order mark", format!("\u{feff}{TRIPS}2016-07-01 10:00,1,2,60,2016\n")),
        ("no last line end", format!("{TRIPS}2016-07-01 10:00,1,2,60,2016")),
        ("quotes", format!("{TRIPS}\"2016-07-01 10:00\",\"1\",\"2\",\"60\",\"2016\"\n")),
        ("a number in another way", format!("{TRIPS}2016-07-01 10:00,1,2,6e1,2016\n")),
        ("empty lines", format!("{TRIPS}\n2016-07-01 10:00,1,2,60,2016\n\n")),
        (
            "other columns and another order",
            "is_member,yearid,note,duration_sec,end_station_code,start_station_code,start_date\n\
             1,2016,\"two lines,\nand a comma\",60,2,1,2016-07-01 10:00\n"
                .to_owned(),
        ),
        ("a header in capitals", format!("{}2016-07-01 10:00,1,2,60,2016\n", TRIPS.to_uppercase())),
    ];
    for (what, text) in same {
        let (answers, lines) = of(WEATHER.as_bytes(), STATIONS.as_bytes(), text.as_bytes()).expect("it can be read");
        assert_eq!((answers, lines.read, lines.bad), (one_trip(), 1, 0), "{what}");
    }
}

#[test]
fn lines_that_cannot_be_read_are_counted_and_shown() {
    for (line, why) in [
        ("2016-02-30 10:00,1,2,60,2016", "its start_date is none"),
        ("2016-13-01 10:00,1,2,60,2016", "its start_date is none"),
        ("yesterday,1,2,60,2016", "its start_date is none"),
        ("2016-07-01 10:00,1,2,a minute,2016", "its duration_sec is no number"),
        ("2016-07-01 10:00,1,2,,2016", "its duration_sec is no number"),
        ("2016-07-01 10:00,1,2,60,this year", "its yearid is no year"),
        ("2016-07-01 10:00,1", "it has too few fields"),
    ] {
        let (_, lines) = trips(&format!("2016-07-01 10:00,1,2,60,2016\n{line}\n"));
        assert_eq!((lines.read, lines.bad), (1, 1), "{line}");
        let sample = &lines.samples[0];
        assert_eq!((sample.batch.as_str(), sample.line, sample.why.as_str()), ("trips/montreal/0", 3, why), "{line}");
        assert_eq!(sample.text, line);
    }
}

#[test]
fn a_trip_without_its_station_or_weather_is_left_out_where_it_is_needed() {
    let left_out = |lines: &str| {
        let (answers, _) = trips(lines);
        [answers.rain.left_out, answers.year.left_out, answers.city.left_out]
    };
    assert_eq!(left_out("2016-07-01 10:00,1,2,60,2016\n"), [0, 0, 0]);
    assert_eq!(left_out("2016-09-01 10:00,1,2,60,2016\n"), [1, 0, 0], "no weather");
    assert_eq!(left_out("2016-07-01 10:00,9,2,60,2016\n"), [0, 1, 1], "no station of departure");
    assert_eq!(left_out("2016-07-01 10:00,1,9,60,2016\n"), [0, 0, 1], "no station of arrival");
    assert_eq!(left_out("2016-07-01 10:00,2,1,60,2017\n"), [0, 1, 1], "a station of another year");
    assert_eq!(left_out("2016-07-01 10:00,01,2,60,2016\n"), [0, 1, 1], "codes are texts");
    assert_eq!(left_out("2016-07-01 10:00, 1,2,60,2016\n"), [0, 1, 1], "spaces included");
}

#[test]
fn a_city_without_stations_is_left_out_and_counted() {
    let trips = format!("{TRIPS}2016-07-01 10:00,1,2,60,2016\n");
    for stations in ["", "code,name,latitude,longitude,yearid\n"] {
        let (answers, _) = of(WEATHER.as_bytes(), stations.as_bytes(), trips.as_bytes()).expect("it can be read");
        assert_eq!(answers.rain.overall, Some(60.0));
        assert_eq!((answers.year.left_out, answers.city.left_out), (1, 1));
        assert!(answers.year.stations.is_empty() && answers.city.stations.is_empty());
    }
}

#[test]
fn codes_and_names_are_kept_as_they_are() {
    let stations =
        b"code,name,latitude,longitude,yearid\nA 1,  Caf\xe9 ,45.5,-73.6,2016\n2,\"B, the second\",45.6,-73.6,2016\n";
    let trips = format!("{TRIPS}2016-07-01 10:00,2,A 1,60,2016\n");
    let (answers, _) = of(WEATHER.as_bytes(), stations, trips.as_bytes()).expect("it can be read");
    assert_eq!(answers.city.stations[0].name, "  Café ", "Latin-1, and its spaces");
    assert_eq!(answers.year.stations[0].name, "B, the second");
}

#[test]
fn of_two_lines_for_a_day_or_a_station_the_first_counts() {
    let weather = "date,prectot\n2016-07-02,40\n2016-07-02,0\n";
    let stations = format!("{STATIONS}1,Z,45.5,-73.6,2016\n");
    let trips = format!("{TRIPS}2016-07-01 10:00,1,2,60,2016\n");
    let (answers, _) = of(weather.as_bytes(), stations.as_bytes(), trips.as_bytes()).expect("it can be read");
    assert_eq!(answers, one_trip());
}

#[test]
fn a_duration_below_zero_counts_as_none() {
    let (answers, _) = trips("2016-07-01 10:00,1,2,60,2016\n2016-07-01 10:00,1,2,-60,2016\n");
    assert_eq!((answers.rain.overall, answers.rain.days[0].trips), (Some(30.0), 2));
}

#[test]
fn a_table_without_records_is_one_and_a_table_without_columns_is_none() {
    let (answers, lines) = trips("");
    assert_eq!((answers.rain.overall, lines.read), (None, 0));
    let why = of(WEATHER.as_bytes(), STATIONS.as_bytes(), b"start_date\n2016-07-01\n").unwrap_err().to_string();
    assert_eq!(
        why,
        "the batch trips/montreal/0 cannot be read: the column \"start_station_code\" is missing: the header has start_date"
    );
    let why = of(b"", STATIONS.as_bytes(), b"").unwrap_err().to_string();
    assert_eq!(why, "the batch weather/montreal/0 cannot be read: it is empty: the first line must name the columns");
}
