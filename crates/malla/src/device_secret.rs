//! The secret by which a device is known again after a restart, kept in the data directory. One process has it at a
//! time: whoever else starts under the same name there is another device, and no restart of this one.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use malla_access::Secret;
use malla_protocol::DEVICE_SECRET;

const DIRECTORY: &str = "devices";
/// A secret is a line; what is longer is not ours.
const FILE_BYTES_MAX: u64 = 1_024;

pub(crate) struct DeviceSecret {
    pub(crate) secret: Secret,
    /// Held, not read: the kernel frees the lock with the process, however that ends. `None` if it is not kept.
    _lock: Option<File>,
}

impl DeviceSecret {
    /// The secret of the device with this name and token, made if there is none; `None` if another process has it.
    pub(crate) fn kept(data: &Path, name: &str, token: &str) -> Result<Option<Self>> {
        let path = data.join(DIRECTORY).join(format!("{}.secret", short(&format!("{name}\0{token}"))));
        let kept = open(&path).and_then(|file| match file.try_lock() {
            Ok(()) => read_or_make(file).map(Some),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        });
        kept.with_context(|| format!("cannot keep a device's secret in {}", path.display()))
    }

    /// One that is forgotten with this process.
    pub(crate) fn for_now() -> Result<Self> {
        Ok(Self { secret: Secret::random(DEVICE_SECRET)?, _lock: None })
    }

    /// A few letters that are the same for this secret only.
    pub(crate) fn tag(&self) -> String {
        short(self.secret.reveal())
    }

    /// A hash for the device at this place, all of which share the secret.
    pub(crate) fn hash_at(&self, place: usize) -> Vec<u8> {
        Secret::from_text(format!("{} {place}", self.secret.reveal())).hash().0.to_vec()
    }
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(directory) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn read_or_make(mut file: File) -> io::Result<DeviceSecret> {
    let mut text = String::new();
    (&file).take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    let whole = text.ends_with('\n') && text.starts_with(DEVICE_SECRET);
    let secret = if whole { Secret::from_text(text.trim()) } else { make(&mut file)? };
    Ok(DeviceSecret { secret, _lock: Some(file) })
}

fn make(file: &mut File) -> io::Result<Secret> {
    let secret = Secret::random(DEVICE_SECRET).map_err(io::Error::other)?;
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", secret.reveal())?;
    file.sync_all()?;
    Ok(secret)
}

fn short(text: &str) -> String {
    Secret::from_text(text).hash().0[..6].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_device_is_the_same_after_a_restart_and_only_one_at_a_time() {
        let data = tempfile::tempdir().expect("a directory");
        let kept = |name: &str| DeviceSecret::kept(data.path(), name, "token").expect("it can be kept");
        let first = kept("pi").expect("free");
        let known = first.secret.reveal().to_owned();
        assert!(known.starts_with(DEVICE_SECRET) && known.len() > 40);
        assert!(kept("pi").is_none(), "another process has it");
        assert_ne!(kept("mac").expect("free").secret.reveal(), known);
        drop(first);
        assert_eq!(kept("pi").expect("free again").secret.reveal(), known);
        for file in std::fs::read_dir(data.path().join(DIRECTORY)).expect("a directory") {
            let file = file.expect("a file");
            assert_eq!(file.metadata().expect("is there").permissions().mode() & 0o777, 0o600);
            // Half written when the machine went down.
            std::fs::write(file.path(), DEVICE_SECRET).expect("written");
        }
        assert_ne!(kept("pi").expect("free").secret.reveal(), known);
    }
}
