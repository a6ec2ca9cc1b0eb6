//! The small trait behind which bodies lie, and what implements it: S3 and what speaks like it, or a folder.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use malla_queue::{Error, Result};
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, ObjectStoreExt as _, PutPayload, RetryConfig};

use super::depot::Options;
use crate::causes::causes;

/// Nothing of ours is this large.
const OBJECT_BYTES_MAX: u64 = 2 << 30;
/// Between two tries at most.
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// Why an object store did not do what it was asked, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Trouble(pub String);

/// Where objects are kept. What it says it has is safe.
#[async_trait]
pub trait Objects: Send + Sync + 'static {
    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), Trouble>;
    /// `None` if it is not there.
    async fn get(&self, name: &str) -> Result<Option<Bytes>, Trouble>;
    /// Those that are not there are fine.
    async fn remove(&self, names: Vec<String>) -> Result<(), Trouble>;
    /// The last parts of the names of the folders right under this one.
    async fn folders(&self, under: &str) -> Result<Vec<String>, Trouble>;
    /// The names of all objects in a folder, as they come.
    fn list(&self, folder: &str) -> BoxStream<'static, Result<String, Trouble>>;
}

/// Where a URL says that objects are.
enum Where<'u> {
    S3 { bucket: &'u str, prefix: &'u str },
    Folder(&'u str),
}

fn read_url(url: &str) -> Result<Where<'_>> {
    if let Some(path) = url.strip_prefix("file://").filter(|path| path.starts_with('/') && path.len() > 1) {
        return Ok(Where::Folder(path));
    }
    let wrong = || Error::Invalid(format!("\"{url}\" is not an object store: use s3://BUCKET/PREFIX or file:///PATH"));
    let rest = url.strip_prefix("s3://").ok_or_else(wrong)?;
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "-._/".contains(c));
    let prefix = prefix.trim_matches('/');
    match !bucket.is_empty() && plain(bucket) && plain(prefix) && !prefix.contains("//") {
        true => Ok(Where::S3 { bucket, prefix }),
        false => Err(wrong()),
    }
}

/// Whether a URL names an object store.
pub fn check_url(url: &str) -> Result<()> {
    read_url(url).map(drop)
}

/// The object store itself.
pub fn open(options: &Options) -> Result<Box<dyn Objects>> {
    let wrong = |error: object_store::Error| Error::Invalid(format!("{} cannot be used: {error}", options.url));
    let (store, prefix): (Box<dyn ObjectStore>, &str) = match read_url(&options.url)? {
        Where::Folder(path) => {
            std::fs::create_dir_all(path)
                .map_err(|error| Error::Invalid(format!("the folder {path} cannot be made: {error}")))?;
            let folder = LocalFileSystem::new_with_prefix(path).map_err(wrong)?;
            (Box::new(folder.with_fsync(true).with_automatic_cleanup(true)), "")
        }
        Where::S3 { bucket, prefix } => (Box::new(s3(options, bucket).build().map_err(wrong)?), prefix),
    };
    Ok(Box::new(Remote { store: store.into(), prefix: prefix.to_owned() }))
}

fn s3(options: &Options, bucket: &str) -> AmazonS3Builder {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = ClientOptions::new()
        .with_timeout(options.timeout)
        .with_connect_timeout(options.timeout.min(Duration::from_secs(3)))
        .with_allow_http(options.allow_http);
    let retry = RetryConfig {
        backoff: BackoffConfig { init_backoff: Duration::from_millis(100), max_backoff: PAUSE_MAX, base: 2.0 },
        max_retries: options.retries,
        retry_timeout: options.time_max(),
    };
    let s3 = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_region(&options.region)
        .with_client_options(client)
        .with_retry(retry)
        // Not everything that speaks like S3 can remove many at once.
        .with_disable_bulk_delete(true);
    let s3 = match options.endpoint.as_str() {
        // Amazon's own, with the bucket in front of the name.
        "" => s3.with_virtual_hosted_style_request(true),
        endpoint => s3.with_endpoint(endpoint.trim_end_matches('/')).with_virtual_hosted_style_request(false),
    };
    // Without a key, those of the machine's role count.
    match options.key_id.as_str() {
        "" => s3,
        key_id => s3.with_access_key_id(key_id).with_secret_access_key(&options.secret),
    }
}

struct Remote {
    store: std::sync::Arc<dyn ObjectStore>,
    prefix: String,
}

impl Remote {
    fn path(&self, name: &str) -> Path {
        Path::from(format!("{}/{name}", self.prefix))
    }
}

/// The name as we know it, without the prefix of the bucket.
fn own_name(prefix: &str, path: &Path) -> String {
    let path = path.as_ref();
    path.strip_prefix(prefix).unwrap_or(path).trim_start_matches('/').to_owned()
}

#[async_trait]
impl Objects for Remote {
    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), Trouble> {
        let put = self.store.put(&self.path(name), PutPayload::from_bytes(bytes)).await;
        put.map(drop).map_err(|error| trouble(&error))
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, Trouble> {
        let found = match self.store.get(&self.path(name)).await {
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            found => found.map_err(|error| trouble(&error))?,
        };
        if found.meta.size > OBJECT_BYTES_MAX {
            return Err(Trouble(format!("the object {name} has {} bytes and is none of ours", found.meta.size)));
        }
        found.bytes().await.map(Some).map_err(|error| trouble(&error))
    }

    async fn remove(&self, names: Vec<String>) -> Result<(), Trouble> {
        let paths: Vec<_> = names.iter().map(|name| Ok(self.path(name))).collect();
        let mut removed = self.store.delete_stream(stream::iter(paths).boxed());
        while let Some(one) = removed.next().await {
            match one {
                Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(trouble(&error)),
            }
        }
        Ok(())
    }

    async fn folders(&self, under: &str) -> Result<Vec<String>, Trouble> {
        let found = self.store.list_with_delimiter(Some(&self.path(under))).await.map_err(|error| trouble(&error))?;
        Ok(found.common_prefixes.iter().filter_map(|path| path.filename().map(str::to_owned)).collect())
    }

    fn list(&self, folder: &str) -> BoxStream<'static, Result<String, Trouble>> {
        let prefix = self.prefix.clone();
        let found = self.store.list(Some(&self.path(folder)));
        found.map_ok(move |meta| own_name(&prefix, &meta.location)).map_err(|error| trouble(&error)).boxed()
    }
}

fn trouble(error: &object_store::Error) -> Trouble {
    use object_store::Error as E;
    Trouble(match error {
        E::NotFound { .. } => "there is no such bucket: make it, or correct bodies.url".into(),
        E::PermissionDenied { .. } | E::Unauthenticated { .. } => {
            "it refuses us: check bodies.key_id, bodies.secret and the rights of that key".into()
        }
        other => causes(other),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_bucket_or_a_folder() {
        for good in ["s3://pages", "s3://pages/", "s3://pages/malla/one", "file:///srv/bodies"] {
            assert!(check_url(good).is_ok(), "{good}");
        }
        for wrong in ["", "s3://", "s3:///x", "file://x", "file:///", "https://pages", "s3://pages?x", "s3://a/b//c"] {
            let why = check_url(wrong).expect_err(wrong).to_string();
            assert!(why.contains("use s3://BUCKET/PREFIX or file:///PATH"), "{why}");
        }
    }

    #[test]
    fn the_prefix_is_not_part_of_a_name() {
        assert_eq!(own_name("a/b", &Path::from("a/b/house/1")), "house/1");
        assert_eq!(own_name("", &Path::from("house/1")), "house/1");
    }
}
