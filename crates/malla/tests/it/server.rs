//! The harness: a server of the real binary that a test starts, asks, stops, kills and starts again.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Nothing here takes this long unless it is broken.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(20);

/// `malla` with nothing of the tester's own environment.
pub(crate) fn malla() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_malla"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("MALLA_")) {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

/// A data directory that goes away with the test, inside a working directory of its own.
pub(crate) struct Place {
    root: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { root: tempfile::tempdir().expect("a temporary directory") }
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }

    /// A command that knows this data directory.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = malla();
        command.current_dir(self.root()).args(words).arg("--data").arg(self.data());
        command
    }

    /// A server on a free port, ready.
    pub(crate) fn start(&self) -> Server {
        self.start_with(&[], &[])
    }

    pub(crate) fn start_with(&self, flags: &[&str], variables: &[(&str, &str)]) -> Server {
        let mut server = self.spawn(flags, variables);
        server.wait_until_up();
        server
    }

    /// A medic, up; what it starts may not be.
    pub(crate) fn supervise(&self, flags: &[&str], variables: &[(&str, &str)]) -> Server {
        let mut command = self.command(&["supervise"]);
        command.args(flags).envs(variables.iter().copied());
        let mut medic = Server::spawn(command, self.root().to_owned(), self.data());
        medic.wait_until_up();
        medic
    }

    /// A server that may not come up.
    pub(crate) fn spawn(&self, flags: &[&str], variables: &[(&str, &str)]) -> Server {
        let mut command = self.command(&["up"]);
        if !flags.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command.args(flags).envs(variables.iter().copied());
        Server::spawn(command, self.root().to_owned(), self.data())
    }
}

/// A process of `malla up`. It is killed when the test is over.
pub(crate) struct Server {
    child: Child,
    root: PathBuf,
    data: PathBuf,
    lines: Receiver<String>,
    /// Everything that it has said so far.
    pub(crate) said: Vec<String>,
    pub(crate) url: String,
}

impl Server {
    fn spawn(mut command: Command, root: PathBuf, data: PathBuf) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("malla starts");
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        let (send, lines) = mpsc::channel();
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        Self { child, root, data, lines, said: Vec::new(), url: String::new() }
    }

    fn wait_until_up(&mut self) {
        assert!(self.comes_up(), "malla ended instead of starting:\n{}", self.said.join("\n"));
    }

    /// Waits until it is up; false if it ended instead.
    pub(crate) fn comes_up(&mut self) -> bool {
        let deadline = Instant::now() + DEADLINE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.said.push(line),
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => panic!("malla did not start:\n{}", self.said.join("\n")),
            }
            let line = self.said.last().filter(|line| line.contains("malla is up: "));
            if let Some(line) = line {
                let url = line.split(' ').find(|word| word.starts_with("http")).unwrap_or_default();
                self.url = url.to_owned();
                return true;
            }
        }
    }

    /// Waits until it says something that contains `text`.
    #[track_caller]
    pub(crate) fn wait_for_line(&mut self, text: &str) -> String {
        let deadline = Instant::now() + DEADLINE;
        while let Ok(line) = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            self.said.push(line.clone());
            if line.contains(text) {
                return line;
            }
        }
        panic!("malla never said \"{text}\" but:\n{}", self.said.join("\n"));
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by name, as in `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.pid());
        assert!(Command::new("sh").args(["-c", &kill]).status().expect("sh runs").success(), "{kill}");
    }

    /// Asks for an orderly end and waits for it.
    pub(crate) fn terminate(mut self) -> Ended {
        self.signal("TERM");
        self.wait()
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("gone");
    }

    /// Waits until the process has ended by itself.
    #[track_caller]
    pub(crate) fn wait(&mut self) -> Ended {
        self.wait_for(DEADLINE)
    }

    #[track_caller]
    pub(crate) fn wait_for(&mut self, patience: Duration) -> Ended {
        let deadline = Instant::now() + patience;
        let status = poll_until(deadline, || self.child.try_wait().expect("a child"))
            .unwrap_or_else(|| panic!("malla did not end:\n{}", self.said.join("\n")));
        self.said.extend(self.lines.iter());
        Ended { status, said: std::mem::take(&mut self.said) }
    }

    /// Runs a command beside the server, which it has to find by itself.
    pub(crate) fn run(&self, words: &[&str]) -> Output {
        malla().current_dir(&self.root).args(words).arg("--data").arg(&self.data).output().expect("malla runs")
    }

    /// Runs a command that must succeed; its stdout.
    #[track_caller]
    pub(crate) fn ok(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(output.status.success(), "malla {}: {}", words.join(" "), text(&output.stderr));
        text(&output.stdout)
    }

    /// Runs a command that must succeed and print JSON lines.
    #[track_caller]
    pub(crate) fn json(&self, words: &[&str]) -> Vec<serde_json::Value> {
        let words: Vec<_> = words.iter().copied().chain(["--json"]).collect();
        let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.ok(&words).lines().map(read).collect()
    }

    /// The field of the one JSON line that a command prints.
    #[track_caller]
    pub(crate) fn field(&self, words: &[&str], field: &str) -> String {
        let lines = self.json(words);
        let value = lines.first().and_then(|line| line.get(field));
        value.and_then(|value| value.as_str()).unwrap_or_else(|| panic!("no {field} in {lines:?}")).to_owned()
    }

    /// Waits until a task is in one of these states; the state.
    #[track_caller]
    pub(crate) fn wait_for_state(&self, id: &str, states: &[&str]) -> String {
        let state = poll_until(Instant::now() + DEADLINE, || {
            Some(self.field(&["tasks", "show", id], "state")).filter(|state| states.contains(&state.as_str()))
        });
        state.unwrap_or_else(|| panic!("task {id} is {}", self.field(&["tasks", "show", id], "state")))
    }

    /// The head and body of a plain GET.
    pub(crate) fn get(&self, path: &str) -> String {
        let address = self.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).expect("connects");
        stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").expect("sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        text(&answer)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How a process ended and all it said.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) said: Vec<String>,
}

/// Tries until there is an answer or the deadline has passed.
pub(crate) fn poll_until<T>(deadline: Instant, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
    loop {
        if let Some(found) = probe() {
            return Some(found);
        }
        if Instant::now() > deadline {
            return None;
        }
        std::thread::sleep(POLL);
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A command that must fail with this code and say these words, in one line.
#[track_caller]
pub(crate) fn refused<S: AsRef<OsStr>>(command: &mut Command, more: &[S], code: i32, words: &[&str]) {
    let output = command.args(more).output().expect("malla runs");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    let last = said.lines().last().unwrap_or_default();
    let words_in = if code == 2 { &said } else { last };
    assert!(words.iter().all(|word| words_in.contains(word)), "{said:?} lacks one of {words:?}");
}
