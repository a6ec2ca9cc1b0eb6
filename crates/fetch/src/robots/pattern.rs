//! The path of a rule, and whether a page's path begins like it.

use std::fmt;

/// In the spelling that is compared. `*` stands for any octets, `$` as the last one for the path's end; both are
/// percent-encoded where they stand for themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern(Box<str>);

impl Pattern {
    /// `None` if no path can begin like this. An empty one is none: it means that nothing is refused.
    pub(super) fn read(value: &[u8]) -> Option<Self> {
        matches!(value, [b'/' | b'*', ..]).then(|| Self(spelling(value, Of::Pattern).into()))
    }

    pub(super) fn octets(&self) -> usize {
        self.0.len()
    }

    /// Takes the leftmost place for each part between two stars: if any places fit, these do. So nothing is tried
    /// twice, and the time is that of reading both once.
    pub(super) fn matches(&self, path: &str) -> bool {
        let (parts, to_the_end) = self.0.strip_suffix('$').map_or((&*self.0, false), |parts| (parts, true));
        let mut parts = parts.split('*');
        let Some(mut rest) = parts.next().and_then(|first| path.strip_prefix(first)) else {
            return false;
        };
        let Some(last) = parts.next_back() else {
            return !to_the_end || rest.is_empty();
        };
        for part in parts {
            let Some(at) = rest.find(part) else {
                return false;
            };
            rest = &rest[at + part.len()..];
        }
        if to_the_end { rest.ends_with(last) } else { rest.contains(last) }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A page's path and query in the same spelling.
pub(super) fn spelling_of_path(path_and_query: &str) -> String {
    if path_and_query.starts_with('/') {
        spelling(path_and_query.as_bytes(), Of::Path)
    } else {
        spelling(format!("/{path_and_query}").as_bytes(), Of::Path)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Pattern,
    Path,
}

/// ASCII only. What means the same gets one spelling: an encoded letter is the letter, an octet that a URL cannot hold
/// is encoded, hex digits are capitals. An encoded `/`, `?`, `&` or `=` is data where the bare one divides, so they stay
/// apart; inside a query `/` and `?` divide nothing any more.
fn spelling(bytes: &[u8], of: Of) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut in_query = false;
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if let Some(octet) = encoded(&bytes[at..]) {
            let same = same_when_encoded(octet) || (in_query && matches!(octet, b'/' | b'?'));
            push(&mut text, octet, same);
            at += 3;
            continue;
        }
        match byte {
            b'*' => push(&mut text, byte, of == Of::Pattern),
            b'$' => push(&mut text, byte, of == Of::Pattern && at + 1 == bytes.len()),
            _ => push(&mut text, byte, same_when_encoded(byte) || b"/?#[]&=+".contains(&byte)),
        }
        in_query |= byte == b'?';
        at += 1;
    }
    text
}

fn push(text: &mut String, octet: u8, bare: bool) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    if bare {
        text.push(char::from(octet));
    } else {
        text.push('%');
        text.push(char::from(HEX[usize::from(octet >> 4)]));
        text.push(char::from(HEX[usize::from(octet & 15)]));
    }
}

/// The octet that `%xx` at the beginning stands for.
fn encoded(bytes: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = bytes else { return None };
    let digit = |hex: u8| char::from(hex).to_digit(16);
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
}

fn same_when_encoded(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || b"-._~:@!'(),;".contains(&octet)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_means_the_same_is_spelled_the_same() {
        for (path, spelled) in [
            ("/foo/bar?baz=quz", "/foo/bar?baz=quz"),
            ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https://foo.bar"),
            ("/foo/bar?baz=https%3A%2F%2Ffoo.bar", "/foo/bar?baz=https://foo.bar"),
            ("/foo/bar/\u{30c4}", "/foo/bar/%E3%83%84"),
            ("/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84"),
            ("/foo/bar/%e3%83%84", "/foo/bar/%E3%83%84"),
            ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
            ("/a%2Fb", "/a%2Fb"),
            ("/a%3fb", "/a%3Fb"),
            ("/a?b%26c%3Dd", "/a?b%26c%3Dd"),
            ("/a b|c", "/a%20b%7Cc"),
            ("/100%", "/100%25"),
            ("/%zz%4", "/%25zz%254"),
            ("/a*b$", "/a%2Ab%24"),
            ("/Special%3ASearch", "/Special:Search"),
            ("", "/"),
            ("?q", "/?q"),
        ] {
            assert_eq!(spelling_of_path(path), spelled, "{path}");
        }
        assert_eq!(spelling(b"/\xff\x00$*$", Of::Pattern), "/%FF%00%24*$");
    }

    /// The examples are those of Google's documentation and of RFC 9309.
    #[test]
    fn a_path_begins_like_a_pattern_or_not() {
        check("/", &["/", "/x"], &[]);
        check("*", &["/", "/x"], &[]);
        check("/$", &["/"], &["/x", "/?x"]);
        check(
            "/fish",
            &["/fish", "/fish.html", "/fish/salmon", "/fishheads", "/fish.php?id=1"],
            &["/Fish", "/catfish"],
        );
        check("/fish*", &["/fish", "/fish/salmon.html", "/fishheads/yummy"], &["/Fish.asp", "/?id=fish"]);
        check(
            "/fish/",
            &["/fish/", "/fish/?id=anything", "/fish/salmon.htm"],
            &["/fish", "/fish.html", "/animals/fish/"],
        );
        check("/*.php", &["/index.php", "/a/b.php?c", "/filename.php5/"], &["/", "/windows.PHP"]);
        check(
            "/*.php$",
            &["/filename.php", "/a/b.php", "/a.php.php"],
            &["/filename.php?x", "/filename.php5", "/a.php/"],
        );
        check("/fish*.php", &["/fish.php", "/fishheads/catfish.php?x"], &["/Fish.PHP"]);
        check("/a*b*c$", &["/abc", "/abbcc", "/a-b-c-c"], &["/abcd", "/acb"]);
        check("/foo*$", &["/foo", "/foobar"], &["/fo"]);
        check("/a$b", &["/a$b", "/a%24b"], &["/a", "/ab"]);
        check("/file-with-a-%2A.html", &["/file-with-a-*.html", "/file-with-a-%2a.html"], &["/file-with-a-b.html"]);
        check("/foo-%24", &["/foo-$", "/foo-%24x"], &["/foo-"]);
        check("/a%2fb", &["/a%2Fb"], &["/a/b"]);
        check("/a/b", &["/a/b"], &["/a%2Fb"]);
        check("/%7Ejoe/", &["/~joe/index.html", "/%7ejoe/"], &["/joe/"]);
        check("/ü", &["/ü", "/%C3%BC", "/%c3%bcber"], &["/u", "/%FC"]);
        check("/foo?x=https://a", &["/foo?x=https%3A%2F%2Fa", "/foo?x=https://a/b"], &["/foo%3Fx=https://a"]);
        check("/**/x", &["/x/x", "//x"], &["/x"]);
    }

    fn check(pattern: &str, like: &[&str], unlike: &[&str]) {
        let pattern = Pattern::read(pattern.as_bytes()).expect("a pattern");
        for (paths, expected) in [(like, true), (unlike, false)] {
            for path in paths {
                assert_eq!(pattern.matches(&spelling_of_path(path)), expected, "{pattern} {path}");
            }
        }
    }

    #[test]
    fn no_path_begins_like_these() {
        for value in ["", "a", "?a", "$", "http://example.org/a", " /a"] {
            assert_eq!(Pattern::read(value.as_bytes()), None, "{value:?}");
        }
    }

    /// Would take years if anything were tried twice.
    #[test]
    fn patterns_made_to_be_slow_are_not() {
        let path = "/".to_owned() + &"a".repeat(100_000);
        for (pattern, expected) in [
            ("/".to_owned() + &"*a".repeat(50_000) + "b", false),
            ("/".to_owned() + &"*a".repeat(50_000) + "$", true),
            ("/*".to_owned() + &"a".repeat(50_000) + "b", false),
            ("/".to_owned() + &"*".repeat(200_000), true),
            ("/".to_owned() + &"*aab".repeat(50_000), false),
        ] {
            assert_eq!(Pattern::read(pattern.as_bytes()).expect("a pattern").matches(&path), expected);
        }
    }

    /// By definition rather than by cleverness.
    fn matches_slowly(pattern: &[u8], path: &[u8]) -> bool {
        match pattern {
            [] => true,
            [b'$'] => path.is_empty(),
            [b'*', more @ ..] => (0..=path.len()).any(|skipped| matches_slowly(more, &path[skipped..])),
            [byte, more @ ..] => path.first() == Some(byte) && matches_slowly(more, &path[1..]),
        }
    }

    proptest! {
        #[test]
        fn the_quick_way_and_the_slow_way_agree(pattern in "[/*][ab/*]{0,9}[$]?", path in "/[ab/]{0,14}") {
            let quick = Pattern::read(pattern.as_bytes()).expect("a pattern").matches(&spelling_of_path(&path));
            prop_assert_eq!(quick, matches_slowly(pattern.as_bytes(), path.as_bytes()));
        }

        #[test]
        fn a_spelling_is_ascii_and_spelled_like_itself(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let once = spelling(&bytes, Of::Pattern);
            prop_assert!(once.is_ascii());
            prop_assert_eq!(spelling(once.as_bytes(), Of::Pattern), once);
        }
    }
}
