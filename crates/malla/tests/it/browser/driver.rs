//! Chromium behind its WebDriver: a process of a test's own, and the few commands that are needed of it.

use std::fmt;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

/// No command takes this long unless the browser hangs.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);
/// The key under which WebDriver names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// How a browser shall be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    /// What it asks pages to be written in.
    pub(crate) language: &'static str,
    pub(crate) scripts: bool,
}

impl Kind {
    pub(crate) const USUAL: Self = Self { language: "en", scripts: true };
    pub(crate) const WITHOUT_SCRIPTS: Self = Self { scripts: false, ..Self::USUAL };
}

/// Why a command was not carried out, in WebDriver's words: `no such element`, `stale element reference`.
#[derive(Debug)]
pub(crate) struct Trouble {
    kind: String,
    message: String,
}

impl Trouble {
    /// The page has nothing of the kind.
    pub(crate) fn nothing(words: &str) -> Self {
        Self { kind: "nothing found".into(), message: words.to_owned() }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)
    }
}

/// An element of the page, until the page is another one.
#[derive(Debug, Clone)]
pub(crate) struct Element(String);

impl Element {
    pub(crate) fn read(value: &Value) -> Option<Self> {
        value[ELEMENT].as_str().map(|id| Self(id.to_owned()))
    }

    pub(crate) fn argument(&self) -> Value {
        json!({ ELEMENT: self.0 })
    }
}

pub(crate) struct Driver {
    process: Child,
    session: String,
    http: reqwest::Client,
    runtime: tokio::runtime::Runtime,
    /// The browser's own directory: nothing of one test is there for the next.
    home: tempfile::TempDir,
}

impl Driver {
    pub(crate) fn start(kind: Kind) -> Self {
        // The second test of a process finds it done.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let home = tempfile::tempdir().expect("a temporary directory");
        // It dies with whoever started it, and Chromium when the pipe to it is closed, however this test ends.
        let mut process = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "chromedriver", "--port=0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("setpriv runs (Debian's package util-linux)");
        let mut said = BufReader::new(process.stdout.take().expect("piped")).lines().map_while(Result::ok);
        let port = said.find_map(|line| line.split_once("successfully on port ").map(|(_, port)| port.to_owned()));
        let port =
            port.expect("chromedriver runs: install Debian's chromium and chromium-driver, as scripts/test does");
        // What else it says is nobody's.
        std::thread::spawn(move || said.for_each(drop));
        let mut driver = Self {
            process,
            session: format!("http://127.0.0.1:{}/session", port.trim_end_matches('.')),
            http: reqwest::Client::builder().timeout(ANSWERS_WITHIN).no_proxy().build().expect("a client"),
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime"),
            home,
        };
        let wish = driver.capabilities(kind);
        let session = driver.command("POST", "", &wish).expect("Chromium starts");
        driver.session = format!("{}/{}", driver.session, session["sessionId"].as_str().expect("a session"));
        driver
    }

    fn capabilities(&self, kind: Kind) -> Value {
        let mut arguments: Vec<String> = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--disable-extensions",
            "--force-color-profile=srgb",
            "--window-size=1280,900",
            "--remote-debugging-pipe",
        ]
        .map(str::to_owned)
        .into();
        arguments.push(format!("--user-data-dir={}", self.home.path().display()));
        arguments.push(format!("--lang={}", kind.language));
        arguments.push(format!("--accept-lang={}", kind.language));
        if !kind.scripts {
            arguments.push("--blink-settings=scriptEnabled=false".into());
        }
        let options = json!({ "args": arguments, "prefs": { "intl.accept_languages": kind.language } });
        json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL" },
            // A dialog stays, and every command after it says so.
            "unhandledPromptBehavior": "ignore",
        } } })
    }

    /// One command of WebDriver's; its value.
    pub(crate) fn command(&self, method: &str, path: &str, body: &Value) -> Result<Value, Trouble> {
        let request = self.http.request(method.parse().expect("a method"), format!("{}{path}", self.session));
        let request = if method == "POST" { request.json(body) } else { request };
        let answer = self.runtime.block_on(async { request.send().await?.json().await });
        let gone = |error: reqwest::Error| Trouble { kind: "no answer".into(), message: error.to_string() };
        let mut answer: Value = answer.map_err(gone)?;
        let value = answer["value"].take();
        match value["error"].as_str() {
            Some(kind) => Err(Trouble {
                kind: kind.to_owned(),
                message: value["message"].as_str().unwrap_or_default().to_owned(),
            }),
            None => Ok(value),
        }
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Result<Value, Trouble> {
        self.command("POST", path, body)
    }

    pub(crate) fn get(&self, path: &str) -> Result<Value, Trouble> {
        self.command("GET", path, &Value::Null)
    }

    /// Runs a function's body in the page, as the browser's own tools do: no policy of the page and no setting forbids it.
    pub(crate) fn run(&self, body: &str, arguments: &[Value]) -> Result<Value, Trouble> {
        self.post("/execute/sync", &json!({ "script": body, "args": arguments }))
    }

    /// The same, for a body that hands its answer to its last argument.
    pub(crate) fn run_slowly(&self, body: &str, arguments: &[Value]) -> Result<Value, Trouble> {
        self.post("/execute/async", &json!({ "script": body, "args": arguments }))
    }

    /// A command of the browser's own tools.
    pub(crate) fn tools(&self, command: &str, parameters: &Value) -> Result<Value, Trouble> {
        self.post("/goog/cdp/execute", &json!({ "cmd": command, "params": parameters }))
    }

    pub(crate) fn click(&self, element: &Element) -> Result<(), Trouble> {
        self.post(&format!("/element/{}/click", element.0), &json!({})).map(drop)
    }

    pub(crate) fn clear(&self, element: &Element) -> Result<(), Trouble> {
        self.post(&format!("/element/{}/clear", element.0), &json!({})).map(drop)
    }

    pub(crate) fn write(&self, element: &Element, text: &str) -> Result<(), Trouble> {
        self.post(&format!("/element/{}/value", element.0), &json!({ "text": text })).map(drop)
    }

    /// What the browser has complained about since it was asked last.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let log = self.post("/se/log", &json!({ "type": "browser" })).unwrap_or_default();
        let bad = log.as_array().into_iter().flatten().filter(|entry| entry["level"] == "SEVERE");
        bad.map(|entry| entry["message"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// What the page looks like and what it is made of, in files.
    pub(crate) fn evidence(&self, name: &str) -> Vec<PathBuf> {
        let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("browser");
        let _ = std::fs::create_dir_all(&place);
        let picture = self.tools("Page.captureScreenshot", &json!({ "captureBeyondViewport": true }));
        let picture = picture.ok().and_then(|told| BASE64_STANDARD.decode(told["data"].as_str()?).ok());
        let source = self.get("/source").ok().and_then(|source| source.as_str().map(|text| text.as_bytes().to_vec()));
        let files = [(picture, "png"), (source, "html")];
        let write = |(content, kind): (Option<Vec<u8>>, &str)| {
            let path = place.join(format!("{name}.{kind}"));
            std::fs::write(&path, content?).ok().map(|()| path)
        };
        files.into_iter().filter_map(write).collect()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.command("DELETE", "", &Value::Null);
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
