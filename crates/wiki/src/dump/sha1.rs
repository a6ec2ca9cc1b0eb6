//! Dumps write a SHA-1 to the base of 36, the API in hexadecimal digits. Kept is the latter.

/// The 40 hexadecimal digits of what a dump says; `None` if that is no SHA-1.
pub(super) fn hexadecimal(text: &str) -> Option<String> {
    if text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Some(text.to_ascii_lowercase());
    }
    if text.is_empty() || text.len() > 31 {
        return None;
    }
    let mut bytes = [0_u8; 20];
    for letter in text.chars() {
        let mut carry = letter.to_digit(36)?;
        for byte in bytes.iter_mut().rev() {
            carry += u32::from(*byte) * 36;
            *byte = (carry & 0xff) as u8;
            carry >>= 8;
        }
        if carry != 0 {
            return None;
        }
    }
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_writing_are_read() {
        let empty = "da39a3ee5e6b4b0d3255bfef95601890afd80709";
        for (text, expected) in [
            ("phoiac9h4m842xq45sp7s6u21eteeq1", Some(empty)),
            ("DA39A3EE5E6B4B0D3255BFEF95601890AFD80709", Some(empty)),
            ("z", Some("0000000000000000000000000000000000000023")),
            ("twj4yidkw7a8pn4g709kzmfoaol3x8f", Some("ffffffffffffffffffffffffffffffffffffffff")),
            ("twj4yidkw7a8pn4g709kzmfoaol3x8g", None),
            ("zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz", None),
            ("not-a-hash", None),
            ("", None),
        ] {
            assert_eq!(hexadecimal(text).as_deref(), expected, "{text}");
        }
    }
}
