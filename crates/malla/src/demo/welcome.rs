//! What a demo says when it is ready: where the console is, how to get in, what to look at, how to end it.

use std::io;
use std::path::Path;

use serde::Serialize;

use super::kept::Kept;
use super::people::{ADMIN, GUEST};
use super::stage::Stage;
use crate::output::{Output, table};

#[derive(Serialize)]
struct Welcome<'a> {
    console: &'a str,
    user: &'a str,
    guest: &'a str,
    password: &'a str,
    data: String,
    /// What it fetches, reads and sends to: its own.
    world: World,
}

#[derive(Serialize)]
struct World {
    news: String,
    shop: String,
    archive: String,
    attic: String,
    wiki: String,
    receiver: String,
}

/// Pages of the console worth a look, and why.
const LOOK: [(&str, &str); 6] = [
    ("/", "everything at a glance"),
    ("/notify/notifications", "orders on their way: delivered, failing, held, to be confirmed"),
    ("/notify/statistics", "how many, how fast, how often in vain"),
    ("/fetch/jobs", "pages as they come in, politely, through a fleet of devices"),
    ("/wiki", "twelve articles with their whole histories, and edits as they happen"),
    ("/analyses", "bike rides, and three answers about them"),
];

pub(super) fn say(stage: &Stage, kept: &Kept, data: &Path, json: bool) -> io::Result<()> {
    let site = |name: &str| stage.town.url(name, "/");
    let welcome = Welcome {
        console: &stage.url,
        user: ADMIN,
        guest: GUEST,
        password: kept.password.as_deref().unwrap_or_default(),
        data: data.display().to_string(),
        world: World {
            news: site("news"),
            shop: site("shop"),
            archive: site("archive"),
            attic: site("attic"),
            wiki: site("wiki"),
            receiver: site("receiver"),
        },
    };
    Output::new(json).one(&welcome, for_people)
}

fn for_people(welcome: &Welcome<'_>) -> String {
    let Welcome { console, user, guest, password, data, world } = welcome;
    let console = console.trim_end_matches('/');
    let rows = |rows: &[(String, String)]| {
        let text = table(&[], rows.iter().map(|(left, right)| vec![left.clone(), right.clone()]));
        text.lines().map(|line| format!("  {line}\n")).collect::<String>()
    };
    let door = rows(&[
        (format!("{console}/"), "the console".into()),
        (format!("{user} or {guest}"), format!("with the password {password} ({guest} may look and change nothing)")),
    ]);
    let look: Vec<(String, String)> =
        LOOK.iter().map(|(path, why)| (format!("{console}{path}"), (*why).to_owned())).collect();
    format!(
        "The demo is up. What it fetches, reads and sends to is its own: sites, a wiki and receivers on this machine.\n\
         Nothing leaves it.\n\n{door}\nLook first at\n{}\nIts world: {} {} {} {}\n           {} {}\n\n\
         In another terminal: malla notify tail --data {data}\n\
         Ctrl-C ends it. `malla demo --data {data}` goes on; delete {data} to begin anew.\n",
        rows(&look),
        world.news,
        world.shop,
        world.archive,
        world.attic,
        world.wiki,
        world.receiver,
    )
}
