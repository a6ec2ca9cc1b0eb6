//! How an article of the demo's wiki comes about: sentences are added and changed, somebody spoils it, somebody else puts
//! it back. The same seed gives the same history.

use super::articles::Subject;
use crate::dice::Dice;
use crate::mediawiki::Edit;

pub(super) const BOT: &str = "NetBot";
const EDITORS: [&str; 9] =
    ["Nora Quist", "Old Salt", "Teo Marín", "Ines", "K. Lindqvist", "harbour-fan", "Bibi", "Jun Park", "Amara"];
const SECTIONS: [&str; 3] = ["", "History", "Today"];
/// All that somebody left of an article.
const BLANKED: &str = "FIRST!!!";
const SENTENCES_MAX: usize = 60;

/// The sentences of a section, in their order.
type Sections = [Vec<String>; 3];

pub(super) struct History {
    subject: &'static Subject,
    dice: Dice,
    sections: Sections,
    /// Who spoiled it, and what it was before.
    spoiled: Option<(String, Sections)>,
    categorised: bool,
}

impl History {
    pub(super) fn new(subject: &'static Subject, seed: u64) -> Self {
        let sections = [vec![format!("'''{}''' is {}.", subject.title, subject.what)], Vec::new(), Vec::new()];
        Self { subject, dice: Dice::new(seed), sections, spoiled: None, categorised: false }
    }

    /// The next edit, without its numbers and its time.
    pub(super) fn edit(&mut self) -> Edit {
        let mut edit = match self.spoiled.take() {
            Some((by, before)) => self.put_back(&by, before),
            None => match self.dice.below(20) {
                0 => self.spoil(),
                1 if !self.categorised => self.categorise(),
                2..=4 => self.remove(),
                5..=9 => self.reword(),
                _ => self.add(),
            },
        };
        edit.text = self.text();
        edit
    }

    fn by(&mut self, comment: &str) -> Edit {
        // Some edit a lot, most a little; some do not log in.
        let place = self.dice.below(EDITORS.len() as u64).min(self.dice.below(EDITORS.len() as u64));
        let mut edit = Edit { comment: comment.to_owned(), ..Edit::default() };
        if self.dice.one_in(6) {
            edit.user = format!("192.0.2.{}", self.dice.within(1, 40));
        } else {
            edit.user = EDITORS[usize::try_from(place).unwrap_or(0)].to_owned();
            edit.userid = 100 + place;
        }
        if self.dice.one_in(7) {
            edit.tags.push("mobile edit".into());
        }
        edit
    }

    fn add(&mut self) -> Edit {
        let section = usize::try_from(self.dice.below(3)).unwrap_or(0);
        let sentence = self.sentence();
        if self.sections.iter().map(Vec::len).sum::<usize>() >= SENTENCES_MAX {
            return self.remove();
        }
        self.sections[section].push(sentence);
        let comment =
            *self.dice.pick(&["more about it", "from the archive", "a fact", "", "expanded", "see talk page"]);
        self.by(comment)
    }

    fn reword(&mut self) -> Edit {
        let Some((section, place)) = self.any() else { return self.add() };
        let small = self.dice.one_in(2);
        if small {
            let mark = *self.dice.pick(&[" [citation needed]", " (sic)", " ''locally''"]);
            self.sections[section][place].push_str(mark);
        } else {
            self.sections[section][place] = self.sentence();
        }
        let mut edit = self.by(if small { "small fix" } else { "better words" });
        edit.minor = small;
        edit
    }

    fn remove(&mut self) -> Edit {
        let Some((section, place)) = self.any() else { return self.add() };
        self.sections[section].remove(place);
        self.by("not sourced")
    }

    fn spoil(&mut self) -> Edit {
        let before = self.sections.clone();
        if self.dice.one_in(2) {
            self.sections = [vec![BLANKED.into()], Vec::new(), Vec::new()];
        } else {
            self.sections[0].push("My cousin built this lol.".into());
        }
        let user = format!("198.51.100.{}", self.dice.within(1, 200));
        self.spoiled = Some((user.clone(), before));
        Edit { user, tags: vec!["possible vandalism".into()], ..Edit::default() }
    }

    fn put_back(&mut self, by: &str, before: Sections) -> Edit {
        self.sections = before;
        let mut edit = self.by(&format!("Reverted edits by {by}"));
        if edit.userid == 0 {
            (edit.user, edit.userid) = (EDITORS[0].into(), 100);
        }
        edit.tags = vec!["mw-rollback".into()];
        edit
    }

    fn categorise(&mut self) -> Edit {
        self.categorised = true;
        Edit { user: BOT.into(), userid: 90, minor: true, comment: "adding category".into(), ..Edit::default() }
    }

    /// A sentence that may be changed: not the first.
    fn any(&mut self) -> Option<(usize, usize)> {
        let section = usize::try_from(self.dice.below(3)).unwrap_or(0);
        let first = usize::from(section == 0);
        let many = self.sections[section].len().checked_sub(first).filter(|many| *many > 0)?;
        Some((section, first + usize::try_from(self.dice.below(many as u64)).unwrap_or(0)))
    }

    fn sentence(&mut self) -> String {
        let dice = &mut self.dice;
        let it = self.subject.it;
        let year = dice.within(1702, 2019);
        let who =
            dice.pick(&["the town council", "a guild of net makers", "two sisters", "the harbour office", "pupils"]);
        match dice.below(5) {
            0 => {
                let done = dice.pick(&["rebuilt", "extended", "painted", "measured", "closed", "reopened", "bought"]);
                format!("In {year} {it} was {done} by {who}.")
            }
            1 => {
                let what = dice.pick(&["A storm", "A fire", "The spring flood", "A wedding party", "The war"]);
                let how = dice.pick(&["damaged it badly", "left it as it was", "made it known", "nearly ended it"]);
                format!("{what} of {year} {how}.")
            }
            2 => {
                let how = dice.pick(&["on stamps", "in two films", "on the town's seal", "in a song by the dockers"]);
                format!("It is shown {how} of {year}.")
            }
            3 => format!("About {} people come to see it each year.", dice.within(2, 90) * 100),
            _ => {
                let why = dice.pick(&["its view", "its silence", "its smell of tar", "the bell", "a ghost"]);
                format!("It is known for {why}, as {who} reported in {year}.")
            }
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (name, sentences) in SECTIONS.iter().zip(&self.sections).filter(|(_, sentences)| !sentences.is_empty()) {
            if !name.is_empty() {
                text.push_str(&format!("\n\n== {name} ==\n"));
            }
            text.push_str(&sentences.join(" "));
        }
        let blanked = self.sections[0].first().is_some_and(|first| first == BLANKED);
        if self.categorised && !blanked {
            text.push_str("\n\n[[Category:Puerto Malla]]");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::articles::SUBJECTS;

    #[test]
    fn the_same_seed_gives_the_same_history_with_reverts_minor_and_anonymous_edits() {
        let write = || {
            let mut history = History::new(&SUBJECTS[0], 3);
            (0..200).map(|_| history.edit()).collect::<Vec<Edit>>()
        };
        let edits = write();
        assert!(edits.iter().zip(write()).all(|(one, two)| one.text == two.text && one.user == two.user));
        assert!(edits.iter().any(|edit| edit.minor) && edits.iter().any(|edit| edit.userid == 0));
        let reverts = edits.windows(3).filter(|three| three[0].text == three[2].text && three[0].text != three[1].text);
        assert!(reverts.count() > 3);
        assert!(edits.iter().all(|edit| edit.text.len() < 20_000));
    }
}
