//! The command line of `mount-s3`: names, defaults and refusals.
//!
//! What clap can refuse ends with exit code 2; what needs more than one value at a time is checked
//! where it is used and ends with exit code 1, as in the original program.

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use clap::{Args, Parser, ValueEnum, value_parser};
use mountpoint_s3_fs::fs::TimeToLive;
use mountpoint_s3_fs::s3::{Bucket, Prefix, S3Path, S3PathError};

/// Printed by `--version`; the second part keeps a log from being taken for one of the official program.
pub const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (lab build on mountpoint-s3-fs 0.11.0)"
);

const MIB: u64 = 1024 * 1024;
const DEFAULT_PART_SIZE: u64 = 8 * MIB;

/// Serve an S3 bucket as a file system (lab stand-in for Mountpoint for Amazon S3)
#[derive(Debug, Parser)]
#[command(name = "mount-s3", version = VERSION)]
pub struct Cli {
    /// Bucket name, bucket ARN or s3://bucket/prefix/
    #[arg(value_parser = parse_source)]
    source: Source,

    /// Existing directory, or /dev/fd/N for a /dev/fuse descriptor that the caller has mounted
    #[arg(value_name = "DIRECTORY")]
    pub mount_point: PathBuf,

    #[command(flatten)]
    pub bucket: BucketArgs,
    #[command(flatten)]
    pub credentials: CredentialArgs,
    #[command(flatten)]
    pub mount: MountArgs,
    #[command(flatten)]
    pub client: ClientArgs,
    #[command(flatten)]
    pub cache: CacheArgs,
    #[command(flatten)]
    pub log: LogArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Bucket options")]
pub struct BucketArgs {
    /// Serve only the keys below this prefix; must end in '/'
    #[arg(long)]
    prefix: Option<Prefix>,
    /// Region [default: AWS_REGION, then instance metadata, then us-east-1]
    #[arg(long)]
    pub region: Option<String>,
    /// S3 endpoint [default: AWS_ENDPOINT_URL, then the region's]
    #[arg(long, value_name = "URL")]
    pub endpoint_url: Option<String>,
    /// Put the bucket into the path instead of the host name
    #[arg(long)]
    pub force_path_style: bool,
    /// Use the dual-stack endpoint
    #[arg(long)]
    pub dual_stack: bool,
    /// Use the transfer acceleration endpoint
    #[arg(long)]
    pub transfer_acceleration: bool,
    /// Let the requester pay
    #[arg(long)]
    pub requester_pays: bool,
    /// Kind of bucket [default: inferred from the name]
    #[arg(long)]
    pub bucket_type: Option<BucketType>,
    /// Account that must own the bucket
    #[arg(long, value_name = "ACCOUNT")]
    pub expected_bucket_owner: Option<String>,
    /// Storage class of new objects
    #[arg(long, value_name = "CLASS")]
    pub storage_class: Option<String>,
    /// Server-side encryption of new objects
    #[arg(long, value_parser = ["aws:kms", "aws:kms:dsse", "AES256"])]
    pub sse: Option<String>,
    /// Full ARN of the KMS key for --sse
    #[arg(long, value_name = "ARN", requires = "sse", value_parser = parse_kms_key)]
    pub sse_kms_key_id: Option<String>,
    /// Checksum sent with uploads [default: crc32c where the bucket takes it]
    #[arg(long, value_name = "ALGORITHM")]
    pub upload_checksums: Option<UploadChecksums>,
    /// Set Content-Type of new objects from the file name
    #[arg(long)]
    pub infer_content_type: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Credential options")]
pub struct CredentialArgs {
    /// Send unsigned requests, look for no credentials
    #[arg(long)]
    pub no_sign_request: bool,
    /// Take credentials from this profile instead of the default chain
    #[arg(long)]
    pub profile: Option<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Mount options")]
pub struct MountArgs {
    /// Mount read-only; refused with /dev/fd/N, where the caller's mount decides
    #[arg(long)]
    pub read_only: bool,
    /// Unmount when the process ends; refused with /dev/fd/N
    #[arg(long)]
    pub auto_unmount: bool,
    /// Let files be deleted
    #[arg(long)]
    pub allow_delete: bool,
    /// Let files be overwritten
    #[arg(long)]
    pub allow_overwrite: bool,
    /// Upload in increments and let objects be appended to
    #[arg(long)]
    pub incremental_upload: bool,
    /// Let root in beside the process's own user
    #[arg(long)]
    pub allow_root: bool,
    /// Let every user in
    #[arg(long, conflicts_with = "allow_root")]
    pub allow_other: bool,
    /// Owner of files and directories [default: the process's]
    #[arg(long, value_parser = value_parser!(u32).range(1..))]
    pub uid: Option<u32>,
    /// Group of files and directories [default: the process's]
    #[arg(long, value_parser = value_parser!(u32).range(1..))]
    pub gid: Option<u32>,
    /// Mode of directories, octal
    #[arg(long, value_name = "MODE", default_value = "0755", value_parser = parse_mode)]
    pub dir_mode: u16,
    /// Mode of files, octal
    #[arg(long, value_name = "MODE", default_value = "0644", value_parser = parse_mode)]
    pub file_mode: u16,
    /// Stay in the foreground and log to stdout. This build never goes to the background: without
    /// the flag it behaves the same, but keeps its log off stdout
    #[arg(short, long)]
    pub foreground: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Client options")]
pub struct ClientArgs {
    /// Throughput to aim at [default: by instance type, else 10]
    #[arg(long, value_name = "GBPS", value_parser = value_parser!(u64).range(1..))]
    pub maximum_throughput_gbps: Option<u64>,
    /// Most FUSE worker threads
    #[arg(long, value_name = "N", default_value = "16", value_parser = value_parser!(u64).range(1..))]
    pub max_threads: u64,
    /// Memory to aim at [default: 95 % of what the cgroup or host has, at least 512]
    #[arg(long, value_name = "MIB", value_parser = value_parser!(u64).range(512..))]
    pub memory_target: Option<u64>,
    /// Bytes per part, reading and writing [default: 8388608]
    #[arg(long, value_name = "BYTES", value_parser = value_parser!(u64).range(1..))]
    part_size: Option<u64>,
    /// Bytes per part when reading
    #[arg(long, value_name = "BYTES", conflicts_with = "part_size", value_parser = value_parser!(u64).range(1..))]
    read_part_size: Option<u64>,
    /// Bytes per part when writing
    #[arg(long, value_name = "BYTES", conflicts_with = "part_size", value_parser = value_parser!(u64).range(1..))]
    write_part_size: Option<u64>,
    /// PEM file that replaces the system's trusted certificates [default: AWS_CA_BUNDLE]
    #[arg(long, value_name = "FILE")]
    pub ca_bundle: Option<PathBuf>,
    /// Network interface to send requests through; may be repeated
    #[arg(long, value_name = "INTERFACE")]
    pub bind: Option<Vec<String>>,
    /// Text to put before the User-Agent
    #[arg(long, value_name = "TEXT")]
    pub user_agent_prefix: Option<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Cache options")]
pub struct CacheArgs {
    /// Keep object data in this directory, and metadata for 60 seconds
    #[arg(long, value_name = "DIRECTORY")]
    pub cache: Option<PathBuf>,
    /// Size of the data cache; 0 for none [default: keep 5 % of the file system free]
    #[arg(long, value_name = "MIB", requires = "cache")]
    pub max_cache_size: Option<u64>,
    /// Keep object data in this S3 Express One Zone bucket
    #[arg(long, value_name = "BUCKET", value_parser = parse_source)]
    pub cache_xz: Option<Source>,
    /// How long metadata is kept [default: minimal, 60 with a cache]
    #[arg(long, value_name = "SECONDS|indefinite|minimal")]
    pub metadata_ttl: Option<TimeToLive>,
    /// How long the absence of a file is kept [default: as --metadata-ttl]
    #[arg(long, value_name = "SECONDS|indefinite|minimal")]
    pub negative_metadata_ttl: Option<TimeToLive>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Log options")]
pub struct LogArgs {
    /// Log to a file in this directory [default: syslog]
    #[arg(short, long, value_name = "DIRECTORY")]
    pub log_directory: Option<PathBuf>,
    /// Log at debug level
    #[arg(short, long)]
    pub debug: bool,
    /// Log the AWS Common Runtime at debug level
    #[arg(long)]
    pub debug_crt: bool,
    /// Log a summary of metrics every few seconds
    #[arg(long)]
    pub log_metrics: bool,
    /// Log nothing
    #[arg(long, conflicts_with_all = ["log_directory", "debug", "debug_crt", "log_metrics"])]
    pub no_log: bool,
    /// Send metrics to this OTLP endpoint
    #[arg(long, value_name = "URL")]
    pub otlp_endpoint: Option<String>,
    /// Seconds between metric exports [default: 60]
    #[arg(long, value_name = "SECONDS", requires = "otlp_endpoint", value_parser = value_parser!(u64).range(1..))]
    pub otlp_export_interval: Option<u64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum BucketType {
    GeneralPurpose,
    Directory,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum UploadChecksums {
    Crc32c,
    Crc64nvme,
    Off,
}

/// A bucket, and whether it was written as a URI: a URI carries its own prefix, even an empty one.
#[derive(Debug, Clone)]
pub struct Source {
    path: S3Path,
    is_uri: bool,
}

impl Cli {
    /// Bucket and prefix to serve.
    pub fn s3_path(&self) -> Result<S3Path> {
        let path = self.source.path.clone();
        match &self.bucket.prefix {
            None => Ok(path),
            Some(_) if self.source.is_uri => bail!("--prefix cannot be combined with an s3:// URI"),
            Some(prefix) => Ok(S3Path::new(path.bucket, prefix.clone())),
        }
    }
}

impl ClientArgs {
    /// Sizes in bytes of parts read and parts written.
    pub fn part_sizes(&self) -> (usize, usize) {
        let both = self.part_size.unwrap_or(DEFAULT_PART_SIZE);
        (
            self.read_part_size.unwrap_or(both) as usize,
            self.write_part_size.unwrap_or(both) as usize,
        )
    }
}

impl CacheArgs {
    /// Bucket of the shared cache.
    pub fn shared_bucket(&self) -> Result<Option<&Bucket>> {
        let Some(Source { path, .. }) = &self.cache_xz else {
            return Ok(None);
        };
        ensure!(
            path.prefix.as_str().is_empty(),
            "--cache-xz takes a bucket without a prefix"
        );
        Ok(Some(&path.bucket))
    }
}

fn parse_source(text: &str) -> Result<Source, S3PathError> {
    let is_uri = text.starts_with("s3://");
    let path = if is_uri {
        S3Path::parse_s3_uri(text)?
    } else {
        S3Path::new(Bucket::new(text)?, Prefix::empty())
    };
    Ok(Source { path, is_uri })
}

fn parse_mode(text: &str) -> Result<u16, String> {
    match u16::from_str_radix(text, 8) {
        Ok(mode) if mode <= 0o777 => Ok(mode),
        Ok(_) => Err("only the nine permission bits can be set".into()),
        Err(_) => Err("not an octal number".into()),
    }
}

fn parse_kms_key(text: &str) -> Result<String, String> {
    if text.starts_with("arn:") && text.contains(":key") {
        Ok(text.into())
    } else {
        Err("must be the full ARN of a key, not an id or alias".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(flags: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(
            ["mount-s3", "bucket", "/mnt"]
                .into_iter()
                .chain(flags.split_whitespace()),
        )
    }

    #[test]
    fn refuses_what_the_original_refuses() {
        for flags in [
            "--no-such-flag",
            "--allow-root --allow-other",
            "--prefix a",
            "--uid 0",
            "--gid 0",
            "--file-mode 1777",
            "--dir-mode 9",
            "--max-cache-size 10",
            "--no-log --debug",
            "--sse-kms-key-id arn:aws:kms:us-east-1:1:key/k",
            "--sse aws:kms --sse-kms-key-id alias/k",
            "--otlp-export-interval 5",
            "--memory-target 511",
            "--part-size 8388608 --read-part-size 8388608",
            "--metadata-ttl soon",
            "--upload-checksums md5",
            "--region a --region b",
        ] {
            let error = parse(flags).expect_err(flags);
            assert_eq!(error.exit_code(), 2, "{flags}");
        }
    }

    #[test]
    fn joins_bucket_and_prefix() {
        let path = parse("--prefix a/b/").unwrap().s3_path().unwrap();
        assert_eq!(path.bucket_description(), "prefix a/b/ of bucket bucket");
        let uri =
            Cli::try_parse_from(["mount-s3", "s3://bucket/a/", "/mnt", "--prefix", "b/"]).unwrap();
        assert!(uri.s3_path().is_err());
        assert!(Cli::try_parse_from(["mount-s3", "s3://bucket/a", "/mnt"]).is_err());
    }
}
