//! Retry delays and headers as people write them.

use std::collections::BTreeMap;

const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];
/// A list longer than any that is allowed need not be read to its end.
const DELAYS_READ_MAX: usize = 1_000;

/// `5s, 5m, 2h`
pub(super) fn delays(delays_s: &[u64]) -> String {
    delays_s.iter().map(|seconds| delay(*seconds)).collect::<Vec<_>>().join(", ")
}

fn delay(seconds: u64) -> String {
    // A day reads better as 24h beside 20h.
    let units = if seconds <= 86_400 { &UNITS[1..] } else { &UNITS };
    let unit = units.iter().find(|(_, each)| seconds > 0 && seconds.is_multiple_of(*each));
    unit.map_or_else(|| "0s".to_owned(), |(unit, each)| format!("{}{unit}", seconds / each))
}

pub(super) fn read_delays(text: &str) -> Result<Vec<u64>, String> {
    let words = text.split([',', ' ', '\n']).map(str::trim).filter(|word| !word.is_empty());
    words.take(DELAYS_READ_MAX).map(read_delay).collect()
}

fn read_delay(word: &str) -> Result<u64, String> {
    let (digits, each) =
        UNITS.iter().find_map(|(unit, each)| Some((word.strip_suffix(unit)?, *each))).unwrap_or((word, 1));
    let seconds = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(each));
    seconds.ok_or_else(|| say!("\"{word}\" is not a delay: write 5s, 5m, 2h or 1d, separated by commas", word))
}

/// One a line: `Name: value`
pub(super) fn headers(headers: &BTreeMap<String, String>) -> String {
    headers.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join("\n")
}

pub(super) fn read_headers(text: &str) -> Result<BTreeMap<String, String>, String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let (name, value) = line
                .split_once(':')
                .ok_or_else(|| say!("\"{line}\" is not a header: write one a line, as Name: value", line))?;
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use malla_notify::SubscriptionSpec;

    use super::*;

    #[test]
    fn delays_read_back_as_they_are_written() {
        let usual = delays(&SubscriptionSpec::RETRY_DELAYS_S);
        assert_eq!(usual, "5s, 5m, 30m, 2h, 5h, 10h, 14h, 20h, 24h");
        assert_eq!(read_delays(&usual), Ok(SubscriptionSpec::RETRY_DELAYS_S.to_vec()));
        for odd in [vec![], vec![0], vec![90, 172_800, 86_401]] {
            assert_eq!(read_delays(&delays(&odd)), Ok(odd));
        }
        assert_eq!(read_delays("1 2m,, 1d"), Ok(vec![1, 120, 86_400]));
        for bad in ["soon", "-1", "1.5h", "99999999999999999999d"] {
            assert!(read_delays(bad).expect_err(bad).contains("is not a delay"));
        }
    }

    #[test]
    fn headers_read_back_as_they_are_written() {
        let read = read_headers("X-Tenant: acme\n\n x-time : 12:30 \r\n").expect("good");
        assert_eq!(headers(&read), "X-Tenant: acme\nx-time: 12:30");
        assert!(read_headers("X-Tenant acme").expect_err("no colon").contains("Name: value"));
    }
}
