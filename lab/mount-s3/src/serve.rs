//! From a connected client to a FUSE session that serves the bucket.

use std::env;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mountpoint_s3_fs::content_type::ContentTypeDetection;
use mountpoint_s3_fs::data_cache::{
    CacheLimit, DataCacheConfig, DiskDataCacheConfig, ExpressDataCacheConfig, ManagedCacheDir,
};
use mountpoint_s3_fs::fs::{CacheConfig, TimeToLive, UploadChecksumAlgorithm};
use mountpoint_s3_fs::fuse::config::{FuseOptions, FuseSessionConfig, MountPoint};
use mountpoint_s3_fs::fuse::session::FuseSession;
use mountpoint_s3_fs::s3::S3Personality;
use mountpoint_s3_fs::{
    MountpointConfig, Runtime, S3FilesystemConfig, ServerSideEncryption, Superblock,
    SuperblockConfig,
};

use crate::cli::{BucketArgs, CacheArgs, Cli, UploadChecksums};
use crate::client::{CACHE_BLOCK_SIZE, Connection, connect};

/// Start serving. The session also handles SIGINT, SIGTERM and SIGHUP from here on.
pub fn start(cli: &Cli) -> Result<FuseSession> {
    // What can be refused without S3 is refused before S3 is asked.
    let path = cli.s3_path()?;
    let session_config = session_config(cli)?;
    let sse = encryption(&cli.bucket)?;
    let mount_point = session_config.mount_point().to_string();

    let Connection {
        client,
        pool,
        personality,
    } = connect(cli, &path)?;
    let fs_config = file_system_config(cli, sse.clone(), personality);
    let shared_cache = cli.cache.shared_bucket()?.map(|cache| {
        ExpressDataCacheConfig::new(cache, &path.bucket)
            .block_size(CACHE_BLOCK_SIZE as u64)
            .sse(sse)
    });
    let (disk_cache, cache_dir) = disk_cache(&cli.cache)?.unzip();
    let cache_config = DataCacheConfig {
        disk_cache_config: disk_cache,
        express_cache_config: shared_cache,
    };

    let description = path.bucket_description();
    let superblock = Superblock::new(
        client.clone(),
        path,
        SuperblockConfig {
            cache_config: fs_config.cache_config.clone(),
            s3_personality: fs_config.s3_personality,
        },
    );
    let runtime = Runtime::new(client.event_loop_group());
    let mut session = MountpointConfig::new(session_config, fs_config, cache_config)?
        .create_fuse_session(superblock, client, runtime, pool)?;
    tracing::info!("successfully mounted {description} at {mount_point}");

    // Dropping the handle removes the directory.
    if let Some(cache_dir) = cache_dir {
        session.run_on_close(Box::new(move || drop(cache_dir)));
    }
    Ok(session)
}

fn session_config(cli: &Cli) -> Result<FuseSessionConfig> {
    let mount = &cli.mount;
    // For /dev/fd/N this checks that N is /dev/fuse and takes it over; such a session never unmounts.
    let mount_point = MountPoint::new(&cli.mount_point).context("Failed to create mount point")?;
    ensure!(
        !(mount.read_only && matches!(mount_point, MountPoint::FileDescriptor(_))),
        "--read-only has no effect on a file descriptor: pass it to the mount system call in the calling process"
    );
    let options = FuseOptions {
        read_only: mount.read_only,
        auto_unmount: mount.auto_unmount,
        allow_root: mount.allow_root,
        allow_other: mount.allow_other,
        clone_fd: false,
    };
    FuseSessionConfig::new(mount_point, options, cli.client.max_threads as usize)
}

fn encryption(args: &BucketArgs) -> Result<ServerSideEncryption> {
    ensure!(
        args.sse_kms_key_id.is_none() || args.sse.as_deref() != Some("AES256"),
        "--sse-kms-key-id cannot be combined with --sse AES256"
    );
    Ok(ServerSideEncryption::new(
        args.sse.clone(),
        args.sse_kms_key_id.clone(),
    ))
}

fn file_system_config(
    cli: &Cli,
    sse: ServerSideEncryption,
    personality: S3Personality,
) -> S3FilesystemConfig {
    let (mount, bucket) = (&cli.mount, &cli.bucket);
    let defaults = S3FilesystemConfig::default();
    S3FilesystemConfig {
        cache_config: metadata_cache(&cli.cache),
        uid: mount.uid.unwrap_or(defaults.uid),
        gid: mount.gid.unwrap_or(defaults.gid),
        dir_mode: mount.dir_mode,
        file_mode: mount.file_mode,
        allow_delete: mount.allow_delete,
        allow_overwrite: mount.allow_overwrite,
        incremental_upload: mount.incremental_upload,
        read_only: mount.read_only,
        storage_class: bucket.storage_class.clone(),
        server_side_encryption: sse,
        upload_checksum_algorithm: match bucket.upload_checksums {
            Some(UploadChecksums::Off) => None,
            Some(UploadChecksums::Crc64nvme) => Some(UploadChecksumAlgorithm::Crc64nvme),
            Some(UploadChecksums::Crc32c) => Some(UploadChecksumAlgorithm::Crc32c),
            None => personality
                .supports_additional_checksums()
                .then_some(UploadChecksumAlgorithm::Crc32c),
        },
        content_type_detection: if bucket.infer_content_type {
            ContentTypeDetection::Auto
        } else {
            ContentTypeDetection::Disabled
        },
        s3_personality: personality,
        ..defaults
    }
}

fn metadata_cache(args: &CacheArgs) -> CacheConfig {
    let has_cache = args.cache.is_some() || args.cache_xz.is_some();
    let ttl = match args.metadata_ttl {
        Some(TimeToLive::Duration(Duration::ZERO)) => TimeToLive::Minimal,
        Some(ttl) => ttl,
        None if has_cache => TimeToLive::Duration(Duration::from_secs(60)),
        None => TimeToLive::Minimal,
    };
    let config = CacheConfig::new(ttl);
    match args.negative_metadata_ttl {
        Some(ttl) => config.with_negative_metadata_ttl(ttl),
        None => config,
    }
}

/// The disk cache and the handle of its directory, `mountpoint-cache` below the one given.
fn disk_cache(args: &CacheArgs) -> Result<Option<(DiskDataCacheConfig, ManagedCacheDir)>> {
    let limit = match args.max_cache_size {
        // Only the longer metadata TTL of --cache remains.
        Some(0) => return Ok(None),
        Some(mib) => CacheLimit::TotalSize {
            max_size: mib as usize * 1024 * 1024,
        },
        None => CacheLimit::default(),
    };
    let Some(parent) = &args.cache else {
        return Ok(None);
    };
    let key = env::var_os("UNSTABLE_MOUNTPOINT_CACHE_KEY");
    let keep = env::var_os("UNSTABLE_MOUNTPOINT_DISABLE_CACHE_CLEANUP")
        .is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("true"));
    let dir = ManagedCacheDir::new_from_parent_with_cache_key(parent, key.as_deref(), !keep)
        .context("failed to create cache directory")?;
    let config = DiskDataCacheConfig {
        cache_directory: dir.as_path_buf(),
        block_size: CACHE_BLOCK_SIZE as u64,
        limit,
    };
    Ok(Some((config, dir)))
}
