//! SIGTERM and SIGINT: the first asks for an orderly end, the second ends the process at once. A process that was started by
//! a medic is also asked by the medic's end.

use std::io;
use std::os::fd::AsFd as _;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::signal::unix::{Signal, SignalKind, signal};

pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// The medic holds the other end, and the kernel closes it with the medic, however that ends.
    medic: Option<pipe::Receiver>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Asked {
    Terminate,
    Interrupt,
    MedicEnded,
}

impl Asked {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Asked::Terminate => "SIGTERM",
            Asked::Interrupt => "SIGINT",
            Asked::MedicEnded => "the medic has ended",
        }
    }

    /// What a shell reports for a process that the signal ended.
    pub(crate) fn exit_code(self) -> i32 {
        match self {
            Asked::Terminate | Asked::MedicEnded => 143,
            Asked::Interrupt => 130,
        }
    }
}

impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        Ok(Self { terminate, interrupt, medic: None })
    }

    /// Listens also to the pipe from the medic, which is this process' stdin.
    pub(crate) fn listen_to_medic() -> io::Result<Self> {
        let pipe = pipe::Receiver::from_owned_fd(io::stdin().as_fd().try_clone_to_owned()?)?;
        Ok(Self { medic: Some(pipe), ..Self::listen()? })
    }

    pub(crate) async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.terminate.recv() => Asked::Terminate,
            _ = self.interrupt.recv() => Asked::Interrupt,
            () = end_of(&mut self.medic) => {
                self.medic = None;
                Asked::MedicEnded
            }
        }
    }
}

/// Nothing is ever written to the pipe: what can be read is its end.
async fn end_of(pipe: &mut Option<pipe::Receiver>) {
    match pipe {
        Some(pipe) => while matches!(pipe.read(&mut [0; 64]).await, Ok(read) if read > 0) {},
        None => std::future::pending().await,
    }
}
