//! In which language a page speaks: English, as it is written in the pages, or Spanish, from the tables beside this file.
//!
//! `t!("text")` is the text in the language of the request. `say!` fills `{}` with values, `rich!` with markup;
//! `key!` is a text in a constant, said when it is shown; `counted!` and `noun!` have a singular and a plural. A text
//! whose Spanish depends on what it is about has a second literal that says so: `t!("paused", "lane")`. A text that
//! has no Spanish does not compile.

mod choice;
mod rooms;
mod spanish;

use std::fmt::Display;

use maud::{Escaper, Markup, PreEscaped, Render};

pub(crate) use self::choice::{choose, choose_before};
pub(crate) use self::rooms::told;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub(crate) enum Lang {
    #[default]
    English,
    Spanish,
}

impl Lang {
    pub(crate) const ALL: [Lang; 2] = [Lang::English, Lang::Spanish];

    /// As `lang` of a document and as the choice in a cookie.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Lang::English => "en",
            Lang::Spanish => "es",
        }
    }

    /// What its speakers call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Lang::English => "English",
            Lang::Spanish => "Español",
        }
    }

    pub(crate) fn of_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|lang| lang.code() == code)
    }

    /// The language of what is rendered now; English outside of a request.
    pub(crate) fn now() -> Self {
        LANG.try_with(|lang| *lang).unwrap_or_default()
    }

    /// Everything that is rendered inside of this is in this language.
    pub(crate) async fn speaking<F: Future>(self, inside: F) -> F::Output {
        LANG.scope(self, inside).await
    }

    #[cfg(test)]
    pub(crate) fn speaking_now<T>(self, inside: impl FnOnce() -> T) -> T {
        LANG.sync_scope(self, inside)
    }
}

tokio::task_local! {
    static LANG: Lang;
}

/// A text in both languages: it is said in that of the moment when it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Text {
    english: &'static str,
    spanish: &'static str,
}

impl Text {
    pub(crate) const fn new(english: &'static str, spanish: &'static str) -> Self {
        Self { english, spanish }
    }

    pub(crate) fn get(self) -> &'static str {
        match Lang::now() {
            Lang::English => self.english,
            Lang::Spanish => self.spanish,
        }
    }

    /// With its places filled, in the order of the English text; a name in it may stand elsewhere in the Spanish.
    pub(crate) fn filled(self, values: &[&dyn Display]) -> String {
        let mut out = String::new();
        self.walk(|piece| match piece {
            Piece::Words(words) => out.push_str(words),
            Piece::Place(nth) => {
                let value = values.get(nth).expect("as many values as the English text has places");
                out.push_str(&value.to_string());
            }
        });
        out
    }

    pub(crate) fn rich(self, values: &[Markup]) -> Markup {
        use std::fmt::Write as _;
        let mut out = String::new();
        self.walk(|piece| match piece {
            Piece::Words(words) => Escaper::new(&mut out).write_str(words).expect("a string takes everything"),
            Piece::Place(nth) => {
                out.push_str(&values.get(nth).expect("as many values as the English text has places").0);
            }
        });
        PreEscaped(out)
    }

    fn walk<'t>(self, mut with: impl FnMut(Piece<'t>)) {
        let names: Vec<&str> = places(self.english).collect();
        let mut unnamed = names.iter().enumerate().filter(|(_, name)| name.is_empty()).map(|(nth, _)| nth);
        let mut rest = self.get();
        while let Some((words, tail)) = rest.split_once('{') {
            let (name, tail) = tail.split_once('}').expect("a place that begins ends");
            with(Piece::Words(words));
            let nth = if name.is_empty() { unnamed.next() } else { names.iter().position(|one| *one == name) };
            with(Piece::Place(nth.expect("both languages have the same places")));
            rest = tail;
        }
        with(Piece::Words(rest));
    }
}

enum Piece<'t> {
    Words(&'t str),
    Place(usize),
}

/// The names of its places; most have none.
fn places(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|part| Some(part.split_once('}')?.0))
}

impl Display for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.get())
    }
}

impl Render for Text {
    fn render_to(&self, buffer: &mut String) {
        self.get().render_to(buffer);
    }
}

/// A thing that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Noun {
    pub(crate) one: Text,
    pub(crate) many: Text,
}

/// The Spanish of an English text, found while this is compiled.
pub(crate) const fn spanish(key: &str) -> &'static str {
    let mut table = 0;
    while table < spanish::TABLES.len() {
        let pairs = spanish::TABLES[table];
        let mut nth = 0;
        while nth < pairs.len() {
            if same(pairs[nth].0, key) {
                return pairs[nth].1;
            }
            nth += 1;
        }
        table += 1;
    }
    panic!("this text has no Spanish: add it to a table in console/src/tongue/spanish")
}

const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut nth = 0;
    while nth < one.len() {
        if one[nth] != other[nth] {
            return false;
        }
        nth += 1;
    }
    true
}

macro_rules! key {
    ($text:literal) => {{
        const TEXT: $crate::tongue::Text = $crate::tongue::Text::new($text, $crate::tongue::spanish($text));
        TEXT
    }};
    ($text:literal, $about:literal) => {{
        const TEXT: $crate::tongue::Text =
            $crate::tongue::Text::new($text, $crate::tongue::spanish(concat!($text, "#", $about)));
        TEXT
    }};
}

macro_rules! t {
    ($text:literal) => {
        key!($text).get()
    };
    ($text:literal, $about:literal) => {
        key!($text, $about).get()
    };
}

macro_rules! say {
    ($text:literal, $($value:expr),+ $(,)?) => {
        key!($text).filled(&[$(&$value as &dyn std::fmt::Display),+])
    };
}

macro_rules! rich {
    ($text:literal, $($value:expr),+ $(,)?) => {
        key!($text).rich(&[$(maud::html! { ($value) }),+])
    };
}

macro_rules! noun {
    ($one:literal, $many:literal) => {
        $crate::tongue::Noun { one: key!($one), many: key!($many) }
    };
}

macro_rules! counted {
    ($n:expr, $one:literal, $many:literal) => {
        $crate::words::counted($n, noun!($one, $many))
    };
}

#[cfg(test)]
mod tests;
