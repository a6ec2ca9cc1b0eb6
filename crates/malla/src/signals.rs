//! SIGTERM and SIGINT: the first asks for an orderly end, the second ends the process at once.

use tokio::signal::unix::{Signal, SignalKind, signal};

pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Asked {
    Terminate,
    Interrupt,
}

impl Asked {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Asked::Terminate => "SIGTERM",
            Asked::Interrupt => "SIGINT",
        }
    }

    /// What a shell reports for a process that the signal ended.
    pub(crate) fn exit_code(self) -> i32 {
        match self {
            Asked::Terminate => 143,
            Asked::Interrupt => 130,
        }
    }
}

impl Signals {
    pub(crate) fn listen() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    pub(crate) async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.terminate.recv() => Asked::Terminate,
            _ = self.interrupt.recv() => Asked::Interrupt,
        }
    }
}
