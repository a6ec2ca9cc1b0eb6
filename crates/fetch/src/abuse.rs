//! URLs that attack the site they lead to. Our devices must not be the hands of someone else.
//!
//! A page *about* an attack has its words in its name, so words alone prove nothing: what is looked for is the syntax
//! without which an attack does not work, in the place where it would work.

mod sql;

#[cfg(test)]
mod cases;

use crate::PageUrl;

const SCRIPT: &str = "it carries a script for the page's readers";
const LOOKUP: &str = "it carries a lookup that makes a logger load code";
const TRAVERSAL: &str = "it leads out of the site's folder";
const SYSTEM_FILE: &str = "it asks for a file of the server's system";
const CREDENTIALS: &str = "it asks for a file where credentials are kept";
const PASSWORD: &str = "it tries a password on a login page";
const COMMAND: &str = "it carries a command for the server's shell";

/// Why this URL looks like an attack, if it does. Reads it as it is, decoded once, and decoded twice.
pub fn suspicious(url: &PageUrl) -> Option<&'static str> {
    let (path, query) = (url.as_url().path(), url.as_url().query().unwrap_or_default());
    let in_query = || query.split('&').find_map(|pair| in_pair(pair, is_login(path)));
    readings(path).iter().find_map(|path| in_path(path)).or_else(in_query)
}

/// A text in the ways a server may come to read it.
fn readings(text: &str) -> Vec<String> {
    let mut readings = vec![text.as_bytes().to_vec()];
    for _ in 0..2 {
        let last = readings.last().expect("there is one");
        let decoded = decode(last);
        if decoded == *last {
            break;
        }
        readings.push(decoded);
    }
    readings.iter().map(|bytes| tidy(&String::from_utf8_lossy(bytes))).collect()
}

fn decode(bytes: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [byte, more @ ..] = rest {
        let digit = |hex: Option<&u8>| hex.and_then(|hex| char::from(*hex).to_digit(16));
        match (byte, digit(more.first()), digit(more.get(1))) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                rest = &more[2..];
            }
            _ => {
                decoded.push(*byte);
                rest = more;
            }
        }
    }
    decoded
}

/// One case, one kind of slash, and one space for all that a parser of commands takes for one.
fn tidy(text: &str) -> String {
    let mut tidied = String::with_capacity(text.len());
    for letter in text.replace("/**/", " ").chars() {
        match letter {
            '\\' => tidied.push('/'),
            '+' | ' ' | '\t' | '\r' | '\n' | '\u{b}' | '\u{c}' | '\u{a0}' => {
                if !tidied.ends_with(' ') {
                    tidied.push(' ');
                }
            }
            _ => tidied.push(letter.to_ascii_lowercase()),
        }
    }
    tidied
}

fn in_path(path: &str) -> Option<&'static str> {
    anywhere(path, 2)
        .or_else(|| sql::injection(path, true))
        .or_else(|| is_system_file(path).then_some(SYSTEM_FILE))
        .or_else(|| keeps_credentials(path).then_some(CREDENTIALS))
}

fn in_pair(pair: &str, login: bool) -> Option<&'static str> {
    let (key, value) = pair.split_once('=').unwrap_or(("", pair));
    let key = key.to_ascii_lowercase();
    if login && PASSWORD_KEYS.contains(&key.as_str()) && !value.is_empty() {
        return Some(PASSWORD);
    }
    // A key with strange letters may be part of what is tried.
    let strange = key.contains(|letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '_' | '-'));
    let whole = strange.then_some(pair);
    // What people search for may be about anything.
    let prose = PROSE_KEYS.contains(&key.as_str());
    whole.into_iter().chain([value]).flat_map(readings).find_map(|text| {
        anywhere(&text, 3)
            .or_else(|| sql::injection(&text, prose))
            .or_else(|| (!prose && is_system_file(&text)).then_some(SYSTEM_FILE))
    })
}

const PASSWORD_KEYS: &[&str] = &["pwd", "pass", "passwd", "password", "user_pass"];
const PROSE_KEYS: &[&str] =
    &["q", "query", "search", "search_query", "s", "term", "text", "title", "keyword", "keywords", "wd"];

/// What is an attack wherever it stands.
fn anywhere(text: &str, steps_up: usize) -> Option<&'static str> {
    has_lookup(text)
        .then_some(LOOKUP)
        .or_else(|| has_script(text).then_some(SCRIPT))
        .or_else(|| has_traversal(text, steps_up).then_some(TRAVERSAL))
        .or_else(|| has_command(text).then_some(COMMAND))
        .or_else(|| CLOUD_KEYS.iter().any(|place| text.contains(place)).then_some(CREDENTIALS))
}

/// Where machines in a cloud are given their keys.
const CLOUD_KEYS: &[&str] = &["//169.254.169.254/", "//metadata.google.internal/"];

fn has_lookup(text: &str) -> bool {
    ["${jndi:", "${lower:", "${upper:", "${::-", "class.module.classloader"].iter().any(|sign| text.contains(sign))
}

/// A script element with something in it, an element with a handler, or a link that is code.
fn has_script(text: &str) -> bool {
    let code = |text: &str| ["(", "`", "src=", "</script"].iter().any(|sign| text.contains(sign));
    if text.find("<script").is_some_and(|at| code(&text[at..])) {
        return true;
    }
    let link = text.trim_start().strip_prefix("javascript:");
    if link.is_some_and(|link| code(link) && !link.starts_with("void(")) {
        return true;
    }
    // Each part begins with the name of an element.
    text.split('<').skip(1).filter(|part| part.starts_with(|letter: char| letter.is_ascii_alphabetic())).any(|part| {
        let inside = part.split('>').next().unwrap_or_default();
        inside.split([' ', '/', '"', '\'']).any(|attribute| {
            let name = attribute.split_once('=').map_or("", |(name, _)| name);
            name.len() > 4 && name.starts_with("on") && name.bytes().all(|byte| byte.is_ascii_alphabetic())
        })
    })
}

/// So many steps up in a row, or one to a place that is worth it.
fn has_traversal(text: &str, steps_max: usize) -> bool {
    let text = text.replace("..;/", "../");
    let mut rest = text.as_str();
    while let Some(at) = rest.find("../") {
        let run = &rest[at..];
        let end = run.find(|letter| !matches!(letter, '.' | '/')).unwrap_or(run.len());
        // The last dot may belong to the name: `../.env`.
        let target = run[..end].rfind('/').map_or("", |slash| &run[slash + 1..]);
        if run[..end].matches("../").count() >= steps_max || OUTSIDE.iter().any(|place| target.starts_with(place)) {
            return true;
        }
        rest = &run[end..];
    }
    false
}

const OUTSIDE: &[&str] =
    &["etc/", "proc/", "var/log", "windows/", "winnt/", "boot.ini", "web-inf", "wp-config", ".env", ".git/", ".ssh/"];

/// Begins with a file of the system, or with a way to read one.
fn is_system_file(text: &str) -> bool {
    const FILES: &[&str] = &[
        "/etc/passwd",
        "/etc/shadow",
        "/proc/self/",
        "c:/windows/",
        "c:/boot.ini",
        "file:///etc/",
        "file:///proc/",
        "file:///c:",
        "php://filter",
        "php://input",
        "phar://",
        "expect://",
    ];
    let text = text.trim_start();
    FILES.iter().any(|file| text.starts_with(file))
}

/// Files that are probed for at the top of a site. Deeper they are someone's published source.
fn keeps_credentials(path: &str) -> bool {
    const DEPTH_MAX: usize = 3;
    let segments: Vec<_> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    if segments.ends_with(&["util", "php", "eval-stdin.php"]) {
        return true;
    }
    if segments.len() > DEPTH_MAX {
        return false;
    }
    let [folders @ .., name] = segments.as_slice() else { return false };
    let folder = folders.last().copied().unwrap_or_default();
    let known = FILES_WITH_FOLDER.contains(&(folder, name))
        || FILES.contains(name)
        || name.strip_prefix(".env.").is_some_and(|which| ENVIRONMENTS.contains(&which))
        || name.strip_prefix("wp-config.php").is_some_and(|ending| ending.len() < 6);
    known && !ABOUT.contains(&folder)
}

const FILES: &[&str] = &[
    ".env",
    ".git-credentials",
    ".htpasswd",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".my.cnf",
    ".bash_history",
    ".dockercfg",
    "id_rsa",
    "id_ed25519",
];
const FILES_WITH_FOLDER: &[(&str, &str)] = &[
    (".git", "config"),
    (".git", "head"),
    (".git", "index"),
    (".svn", "entries"),
    (".svn", "wc.db"),
    (".aws", "config"),
    (".aws", "credentials"),
    (".docker", "config.json"),
    (".kube", "config"),
    ("web-inf", "web.xml"),
    ("actuator", "env"),
    ("actuator", "heapdump"),
];
const ENVIRONMENTS: &[&str] =
    &["local", "dev", "development", "staging", "prod", "production", "backup", "bak", "old", "save"];
/// Where the last part of a path is what the page is about.
const ABOUT: &[&str] = &["wiki", "tag", "tags", "tagged", "topic", "topics", "t"];

fn is_login(path: &str) -> bool {
    let page = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    ["login", "signin", "sign-in", "auth", "admin", "xmlrpc"].iter().any(|word| page.contains(word))
}

/// Something that ends one command, and another one with what it needs to do harm.
fn has_command(text: &str) -> bool {
    const COMMANDS: &[&str] = &[
        "cat /",
        "wget http",
        "wget -",
        "curl http",
        "curl -",
        "nc -",
        "rm -",
        "bash -",
        "sh -",
        "ping -",
        "uname -",
        "id`",
        "id)",
        "id;",
        "whoami",
        "powershell -",
        "cmd /c",
        "cmd.exe",
        "/bin/sh",
        "/bin/bash",
    ];
    let begins = |rest: &str| {
        let rest = rest.trim_start();
        COMMANDS.iter().any(|command| rest.starts_with(command))
    };
    text.match_indices([';', '|', '&', '`']).any(|(at, _)| begins(&text[at + 1..]))
        || text.match_indices("$(").any(|(at, _)| begins(&text[at + 2..]))
}
