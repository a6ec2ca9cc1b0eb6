//! Text that would change a query if a site pasted it into one.

const INJECTION: &str = "it carries a piece of SQL";
/// The longest word or number of a comparison.
const OPERAND_BYTES_MAX: usize = 32;

/// `text` is tidied. In `prose` (what someone searches for, or the name of a page) only a text that closes the quote it
/// is pasted into counts.
pub(super) fn injection(text: &str, prose: bool) -> Option<&'static str> {
    let found = has_union(text, prose)
        || has_tautology(text, prose)
        || has_second_statement(text)
        || has_probe(text, prose)
        || cuts_the_rest_off(text);
    found.then_some(INJECTION)
}

/// What stands before ends a quoted text, perhaps in parentheses.
fn closes_quote(before: &str) -> bool {
    before.trim_end_matches([' ', ')', ';']).ends_with(['\'', '"'])
}

/// What stands before is a number and nothing else, as in `id=1 or 1=1`.
fn is_number(before: &str) -> bool {
    if before.len() > OPERAND_BYTES_MAX {
        return false;
    }
    let digits = before.trim_matches([' ', ')']).trim_start_matches('-');
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn has_union(text: &str, prose: bool) -> bool {
    text.match_indices("union").any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + "union".len()..]);
        let after = after.trim_start_matches(" all").trim_start_matches(" distinct").trim_start_matches([' ', '(']);
        let Some(columns) = after.strip_prefix("select") else { return false };
        let columns = columns.trim_start_matches([' ', '(']);
        let made_up = ["null", "@@", "concat", "char(", "'", "version(", "user(", "group_concat"]
            .iter()
            .any(|column| columns.starts_with(column))
            || columns.starts_with(|letter: char| letter.is_ascii_digit());
        closes_quote(before) || (!prose && (made_up || is_number(before)))
    })
}

/// `or 1=1`, `or 'a'='a'`: a comparison that always holds.
fn has_tautology(text: &str, prose: bool) -> bool {
    let connected = |word: &'static str| {
        text.match_indices(word).any(move |(at, _)| {
            let (before, after) = (&text[..at], &text[at + word.len()..]);
            let begins = before.ends_with([' ', '\'', '"', ')']) && after.starts_with([' ', '\'', '"', '(']);
            let can_work = closes_quote(before) || (!prose && is_number(before));
            begins && can_work && always_holds(after)
        })
    };
    connected("or") || connected("and") || connected("||")
}

fn always_holds(comparison: &str) -> bool {
    let comparison = comparison.trim_start_matches([' ', '(']);
    let quoted = comparison.starts_with(['\'', '"']);
    let (left, rest) = operand(comparison);
    let Some(rest) = rest.trim_start().strip_prefix('=').or_else(|| rest.trim_start().strip_prefix("like")) else {
        return false;
    };
    let (right, _) = operand(rest.trim_start());
    left == right && (quoted || !left.is_empty())
}

/// A word or number without its quotes, and what follows.
fn operand(text: &str) -> (&str, &str) {
    let inner = text.strip_prefix(['\'', '"']).unwrap_or(text);
    let end = inner.bytes().take(OPERAND_BYTES_MAX).take_while(u8::is_ascii_alphanumeric).count();
    let (word, rest) = inner.split_at(end);
    (word, rest.strip_prefix(['\'', '"']).unwrap_or(rest))
}

/// A second statement behind the first.
fn has_second_statement(text: &str) -> bool {
    const STATEMENTS: &[&str] = &[
        "drop table",
        "drop database",
        "delete from",
        "insert into",
        "truncate table",
        "alter table",
        "create user",
        "exec xp_",
        "exec sp_",
        "exec master",
        "declare @",
        "waitfor delay",
        "shutdown--",
    ];
    text.match_indices(';').any(|(at, _)| {
        let rest = text[at + 1..].trim_start();
        STATEMENTS.iter().any(|statement| rest.starts_with(statement))
    })
}

/// Functions that are called to see whether, or how long after, they are called.
fn has_probe(text: &str, prose: bool) -> bool {
    const PROBES: &[&str] = &[
        "sleep(",
        "benchmark(",
        "waitfor delay",
        "extractvalue(",
        "updatexml(",
        "load_file(",
        "into outfile",
        "into dumpfile",
        "xp_cmdshell",
        "from information_schema.",
        "from pg_catalog.",
        "from sqlite_master",
    ];
    PROBES.iter().filter_map(|probe| text.find(probe)).any(|at| {
        let before = &text[..at];
        let quoted = before.contains(['\'', '"']);
        let connected = [" and ", " or ", "select ", "||", ";"].iter().any(|sign| before.contains(sign));
        connected && (quoted || (!prose && before.trim_start().starts_with(|letter: char| letter.is_ascii_digit())))
    })
}

/// Closes a quote and makes a comment of what would follow: `admin'--`.
fn cuts_the_rest_off(text: &str) -> bool {
    let text = text.trim_end();
    ["-- -", "--", "#", "/*"].iter().any(|comment| {
        let before = text.strip_suffix(comment).unwrap_or_default();
        closes_quote(before)
    })
}
