//! A stand-in for the `mount-s3` program, for labs that can reach a package registry but not the
//! official release: the same command line and file system, from the library of the original.

mod cli;
mod client;
mod serve;

use anyhow::{Context, Result};
use clap::Parser;
use mountpoint_s3_client::config::AWSCRT_LOG_TARGET;
use mountpoint_s3_fs::logging::{LoggingConfig, init_logging, prepare_log_file_name};
use mountpoint_s3_fs::metrics::{self, MetricsConfig, OtlpConfig};

use crate::cli::{Cli, LogArgs, VERSION};

/// An error is printed by the runtime as `Error: …` with its causes, and ends with exit code 1.
fn main() -> Result<()> {
    let cli = Cli::parse();
    let _logging = init_logging(LoggingConfig {
        log_file: cli.log.log_directory.as_deref().map(prepare_log_file_name),
        log_to_stdout: cli.mount.foreground,
        default_filter: log_filter(&cli.log),
    })
    .context("failed to initialize logging")?;
    let _metrics = metrics::install(otlp(&cli.log)).context("failed to initialize metrics")?;

    tracing::info!("mount-s3 {VERSION}");
    tracing::debug!("{cli:?}");
    let session = serve::start(&cli)?;
    println!(
        "{} is mounted at {}",
        cli.s3_path()?.bucket_description(),
        cli.mount_point.display()
    );
    session.join().context("failed to join session")
}

/// What is logged unless `MOUNTPOINT_LOG` says otherwise.
fn log_filter(args: &LogArgs) -> String {
    if args.no_log {
        return "off".to_owned();
    }
    let level = if args.debug {
        "debug"
    } else {
        "warn,mountpoint_s3=info,mount_s3=info"
    };
    let crt = if args.debug_crt { "debug" } else { "off" };
    let metrics = if args.log_metrics || args.debug {
        "info"
    } else {
        "off"
    };
    format!(
        "{level},{AWSCRT_LOG_TARGET}={crt},{}={metrics}",
        metrics::TARGET_NAME
    )
}

fn otlp(args: &LogArgs) -> Option<MetricsConfig> {
    let mut config = OtlpConfig::new(args.otlp_endpoint.as_deref()?);
    if let Some(seconds) = args.otlp_export_interval {
        config = config.with_interval_secs(seconds);
    }
    Some(MetricsConfig::Otlp(config))
}
