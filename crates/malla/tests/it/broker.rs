//! A broker of the tests: a real Mosquitto that asks for a password, with or without TLS. It ends with its test.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crate::authority::Authority;
use crate::server::{DEADLINE, poll_until};

pub(crate) struct Broker {
    place: tempfile::TempDir,
    pub(crate) port: u16,
    /// What its own clients trust, if it speaks TLS.
    trust: Option<PathBuf>,
    process: Option<Child>,
}

impl Broker {
    pub(crate) fn start() -> Self {
        let mut broker = Self::prepared("");
        broker.resume();
        broker
    }

    /// One that speaks TLS, with a certificate of this authority.
    pub(crate) fn secure(authority: &Authority) -> Self {
        let mut broker = Self::prepared("certfile cert.pem\nkeyfile key.pem\n");
        broker.show(authority);
        broker.resume();
        broker
    }

    fn prepared(tls: &str) -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
        let broker = Self { place: tempfile::tempdir().expect("a directory"), port, trust: None, process: None };
        let at = broker.place.path().display();
        let config = format!(
            "listener {port} 127.0.0.1\n{tls}allow_anonymous false\npassword_file {at}/users\npersistence true\n\
             persistence_location {at}/\nautosave_interval 1\nuser root\n"
        );
        std::fs::write(broker.place.path().join("broker.conf"), config).expect("written");
        std::fs::write(broker.place.path().join("users"), "").expect("written");
        // Its clients have a login of their own.
        broker.set_password("tester", "tester");
        broker.set_password("ana", "secret");
        broker
    }

    /// Counts when it starts.
    pub(crate) fn set_password(&self, user: &str, password: &str) {
        let users = self.place.path().join("users");
        let made = Command::new("mosquitto_passwd").arg("-b").arg(users).args([user, password]).status();
        assert!(made.expect("mosquitto_passwd runs").success());
    }

    /// Shows a certificate of this authority when it starts.
    pub(crate) fn show(&mut self, authority: &Authority) {
        authority.certify().write_to(self.place.path());
        self.trust = Some(authority.write_to(self.place.path()));
    }

    pub(crate) fn resume(&mut self) {
        let program = ["/usr/sbin/mosquitto", "mosquitto"]
            .into_iter()
            .find(|program| Command::new(program).arg("-h").output().is_ok());
        let mut command = Command::new(program.expect("mosquitto is installed"));
        command.current_dir(self.place.path()).args(["-c", "broker.conf"]).stderr(Stdio::null());
        self.process = Some(command.spawn().expect("mosquitto starts"));
        let up = || std::net::TcpStream::connect(("127.0.0.1", self.port)).ok();
        poll_until(Instant::now() + DEADLINE, up).expect("the broker listens");
    }

    /// TERM, so that it saves its sessions.
    pub(crate) fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = Command::new("kill").arg(process.id().to_string()).status();
            let _ = process.wait();
        }
    }

    /// A client that it knows.
    pub(crate) fn client(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(["-h", "localhost", "-p", &self.port.to_string(), "-u", "tester", "-P", "tester", "-q", "1"]);
        if let Some(trust) = &self.trust {
            command.arg("--cafile").arg(trust);
        }
        command.args(words);
        command
    }

    pub(crate) fn publish(&self, topic: &str, body: &str) {
        let sent = self.client("mosquitto_pub", &["-t", topic, "-m", body]).status();
        assert!(sent.expect("mosquitto_pub runs").success());
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.stop();
    }
}
