//! From the command line and the environment to an S3 client that is known to reach the bucket.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result};
use mountpoint_s3_client::S3CrtClient;
use mountpoint_s3_client::config::{AddressingStyle, S3ClientAuthConfig, TlsConfig};
use mountpoint_s3_client::instance_info::InstanceInfo;
use mountpoint_s3_client::user_agent::UserAgent;
use mountpoint_s3_fs::autoconfigure;
use mountpoint_s3_fs::memory::{
    CandidateSize, MINIMUM_MEM_LIMIT, PagedPool, effective_total_memory,
};
use mountpoint_s3_fs::s3::config::{
    ClientConfig, MemoryLimitSetting, PartConfig, TargetThroughputSetting,
};
use mountpoint_s3_fs::s3::{S3Path, S3Personality};

use crate::cli::{BucketType, Cli, ClientArgs, CredentialArgs};

/// Bytes per block of the data cache, on disk or in a bucket.
pub const CACHE_BLOCK_SIZE: usize = 1024 * 1024;

/// The client, and the memory pool it shares with the file system.
pub struct Connection {
    pub client: S3CrtClient,
    pub pool: PagedPool,
    pub personality: S3Personality,
}

/// Create the client and list the bucket once, so that wrong keys, names and addresses fail here
/// and not at the first look into the mount.
///
/// `AWS_ENDPOINT_URL`, `AWS_MAX_ATTEMPTS`, proxies and the credential chain are read by the client
/// library itself.
pub fn connect(cli: &Cli, path: &S3Path) -> Result<Connection> {
    let memory = memory_limit(&cli.client);
    let (read_size, write_size) = cli.client.part_sizes();
    let parts = PartConfig::with_read_write_sizes(read_size, write_size).validate(memory)?;

    // Reads and cached blocks can be dropped and fetched again, uploads cannot: only the former are prunable.
    let pool = PagedPool::config()
        .with_candidate_sizes([
            CandidateSize::prunable(CACHE_BLOCK_SIZE),
            CandidateSize::prunable(parts.read_size_bytes),
            CandidateSize::new(parts.write_size_bytes),
        ])
        .with_memory_limit(memory.bytes())
        .build();

    let client = config(cli, parts)
        .create_client(pool.clone(), Some(path))
        .context("Failed to create S3 client")?;
    let personality = match cli.bucket.bucket_type {
        Some(BucketType::GeneralPurpose) => S3Personality::Standard,
        Some(BucketType::Directory) => S3Personality::ExpressOneZone,
        None => S3Personality::infer_from_bucket(&path.bucket, &client.endpoint_config()),
    };
    Ok(Connection {
        client,
        pool,
        personality,
    })
}

fn config(cli: &Cli, part_config: PartConfig) -> ClientConfig {
    // Asks the metadata service at the first question, and never if AWS_EC2_METADATA_DISABLED is set.
    let instance = InstanceInfo::new();
    let bucket = &cli.bucket;
    ClientConfig {
        region: autoconfigure::get_region(&instance, bucket.region.clone()),
        endpoint_url: bucket.endpoint_url.clone(),
        addressing_style: if bucket.force_path_style {
            AddressingStyle::Path
        } else {
            AddressingStyle::Automatic
        },
        dual_stack: bucket.dual_stack,
        transfer_acceleration: bucket.transfer_acceleration,
        auth_config: auth(&cli.credentials),
        requester_pays: bucket.requester_pays,
        expected_bucket_owner: bucket.expected_bucket_owner.clone(),
        throughput_target: throughput(&cli.client, &instance),
        bind: cli.client.bind.clone(),
        part_config,
        user_agent: user_agent(&cli.client, &instance),
        tls_config: ca_bundle(&cli.client).map(|file| TlsConfig::new().with_trust_store_path(file)),
    }
}

fn auth(args: &CredentialArgs) -> S3ClientAuthConfig {
    if args.no_sign_request {
        S3ClientAuthConfig::NoSigning
    } else if let Some(profile) = &args.profile {
        S3ClientAuthConfig::Profile(profile.clone())
    } else {
        S3ClientAuthConfig::Default
    }
}

fn memory_limit(args: &ClientArgs) -> MemoryLimitSetting {
    match args.memory_target {
        Some(mib) => MemoryLimitSetting::User(mib as usize * 1024 * 1024),
        None => {
            let share = (effective_total_memory() as f64 * 0.95) as usize;
            MemoryLimitSetting::Default(share.max(MINIMUM_MEM_LIMIT))
        }
    }
}

fn throughput(args: &ClientArgs, instance: &InstanceInfo) -> TargetThroughputSetting {
    let target = match args.maximum_throughput_gbps {
        Some(gbps) => TargetThroughputSetting::User { gbps: gbps as f64 },
        None => match autoconfigure::network_throughput(instance) {
            Ok(gbps) => TargetThroughputSetting::Instance { gbps },
            Err(error) => {
                tracing::warn!(
                    "network throughput is unknown, set --maximum-throughput-gbps: {error:#}"
                );
                TargetThroughputSetting::Default
            }
        },
    };
    tracing::info!("target network throughput {} Gbps", target.value());
    target
}

fn user_agent(args: &ClientArgs, instance: &InstanceInfo) -> UserAgent {
    let own = concat!("mountpoint-s3/", env!("CARGO_PKG_VERSION"));
    let prefix = match &args.user_agent_prefix {
        Some(prefix) => format!("{prefix} {own}"),
        None => own.to_owned(),
    };
    UserAgent::new_with_instance_info(Some(prefix), instance)
}

fn ca_bundle(args: &ClientArgs) -> Option<PathBuf> {
    let from_environment = || env::var_os("AWS_CA_BUNDLE").filter(|value| !value.is_empty());
    args.ca_bundle
        .clone()
        .or_else(|| from_environment().map(PathBuf::from))
}
