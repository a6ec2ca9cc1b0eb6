//! Decimal numbers as exact integers: millionths.

/// Millionths in one.
pub const ONE: i64 = 1_000_000;
/// A number that is larger is a mistake, and sums of many must fit.
const WHOLE_MAX: i128 = 1_000_000_000;

/// Reads `-12.5`, `660.0` or `1e3` as millionths; what is finer is rounded half away from zero. `None`: it is no number,
/// or larger than a thousand million.
#[inline]
pub fn millionths(text: &[u8]) -> Option<i64> {
    if let Some(value) = usual(text) {
        return Some(value);
    }
    let text = text.trim_ascii();
    let (negative, digits) = match text.first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let magnitude = general(digits)?;
    Some(if negative { -magnitude } else { magnitude })
}

/// A number as nearly all are written: up to nine digits, and perhaps a point with one more.
#[inline]
fn usual(text: &[u8]) -> Option<i64> {
    let (whole, tenth) = match text {
        [whole @ .., b'.', tenth] => (whole, tenth.wrapping_sub(b'0')),
        whole => (whole, 0),
    };
    if whole.is_empty() || whole.len() > 9 || tenth > 9 {
        return None;
    }
    let mut value = 0;
    for digit in whole {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(value * ONE + i64::from(tenth) * (ONE / 10))
}

/// A number without a fraction.
pub fn integer(text: &[u8]) -> Option<i64> {
    let value = millionths(text)?;
    (value % ONE == 0).then_some(value / ONE)
}

fn whole(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0_i64, |sum, digit| Some(sum * 10 + i64::from(digit - b'0')))
}

fn general(text: &[u8]) -> Option<i64> {
    let (mantissa, exponent) = match text.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        Some(at) => (&text[..at], small_integer(&text[at + 1..])?),
        None => (text, 0),
    };
    let point = mantissa.iter().position(|byte| *byte == b'.').unwrap_or(mantissa.len());
    let (left, right) = (&mantissa[..point], mantissa.get(point + 1..).unwrap_or_default());
    let digits = || left.iter().chain(right).copied();
    if digits().next().is_none() || !digits().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    // Digits before the point, once it is moved by the exponent and by the six places of a millionth.
    let places = i64::try_from(left.len()).ok()? + exponent + 6;
    let mut value: i128 = 0;
    for (n, digit) in (0_i64..).zip(digits()) {
        if n >= places {
            if n == places && digit >= b'5' {
                value += 1;
            }
            break;
        }
        value = value * 10 + i128::from(digit - b'0');
        if value > WHOLE_MAX * i128::from(ONE) {
            return None;
        }
    }
    let count = i64::try_from(left.len() + right.len()).ok()?;
    for _ in 0..(places - count).clamp(0, 64) {
        value *= 10;
        if value > WHOLE_MAX * i128::from(ONE) {
            return None;
        }
    }
    i64::try_from(value).ok().filter(|value| i128::from(*value) <= WHOLE_MAX * i128::from(ONE))
}

fn small_integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if digits.is_empty() || digits.len() > 4 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = whole(digits)?;
    Some(if negative { -value } else { value })
}

/// A mean, rounded to a millionth half up: off by half a millionth at most, whatever the count.
pub fn mean(sum: u128, count: u64) -> f64 {
    let count = u128::from(count.max(1));
    ((2 * sum + count) / (2 * count)) as f64 / ONE as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact() {
        for (text, value) in [
            ("0", 0),
            ("660", 660_000_000),
            ("660.0", 660_000_000),
            (" 12.5 ", 12_500_000),
            ("-3", -3_000_000),
            ("+3.25", 3_250_000),
            ("1e3", 1_000_000_000),
            ("1.5E-2", 15_000),
            ("2.5e+1", 25_000_000),
            (".5", 500_000),
            ("5.", 5_000_000),
            ("0.0000005", 1),
            ("0.00000049", 0),
            ("-0.0000005", -1),
            ("1e-9", 0),
            ("5e-7", 1),
            ("0e9999", 0),
            ("1000000000", 1_000_000_000_000_000),
            ("1e9", 1_000_000_000_000_000),
            ("000000000000000001", 1_000_000),
            ("123456789.123456", 123_456_789_123_456),
        ] {
            assert_eq!(millionths(text.as_bytes()), Some(value), "{text}");
        }
        for text in [
            "",
            " ",
            "-",
            "+",
            ".",
            "e3",
            "1e",
            "1e+",
            "1e99999",
            "NaN",
            "inf",
            "1,5",
            "0x10",
            "1 2",
            "--1",
            "1e10",
            "1000000001",
            "1000000000.000001",
            "1e99",
            "12a",
            "99999999999999999999999999",
        ] {
            assert_eq!(millionths(text.as_bytes()), None, "{text}");
        }
        assert_eq!(integer(b"2017"), Some(2017));
        assert_eq!(integer(b"2017.0"), Some(2017));
        assert_eq!(integer(b"2017.5"), None);
    }

    #[test]
    fn means_are_rounded_to_a_millionth() {
        assert_eq!(mean(0, 0), 0.0);
        assert_eq!(mean(10_000_000, 4), 2.5);
        assert_eq!(mean(10_000_000, 3), 3.333_333);
        assert_eq!(mean(20_000_000, 3), 6.666_667);
        assert_eq!(mean(1, 2), 0.000_001, "half up");
    }
}
