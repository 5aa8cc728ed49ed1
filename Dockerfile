# One image for every role of the driver.
#
# `npm run bundle` puts the programs into dist/<arch>/ first, laid out as they lie in the image. No npm and no
# node_modules get in; what is left of the base is a shell and coreutils, which credential handling needs.
#
#   docker build .                                        official mount-s3, signature verified
#   docker build --build-arg MOUNT_S3=path/to/mount-s3 .  a mount-s3 of your own, path inside the build context

FROM docker.io/library/debian:bookworm-slim AS mount-s3
ARG TARGETARCH=amd64
ARG MOUNT_S3=
ARG MOUNT_S3_VERSION=1.23.0
# This file is named so that COPY has something to copy when MOUNT_S3 is empty.
COPY Dockerfile ${MOUNT_S3} /given/
COPY scripts/fetch-mount-s3.sh /fetch-mount-s3.sh
RUN if [ -n "$MOUNT_S3" ]; then \
      install -D -m 0755 "/given/$(basename "$MOUNT_S3")" /mountpoint-s3/bin/mount-s3; \
    else \
      sh /fetch-mount-s3.sh "$MOUNT_S3_VERSION" "$TARGETARCH" /mountpoint-s3; \
    fi

FROM docker.io/library/debian:bookworm-slim
ARG TARGETARCH=amd64
ARG MOUNT_S3_VERSION=1.23.0
# The official mount-s3 needs libfuse 2, one built from its library crate needs libfuse 3.
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates libfuse2 libfuse3-3 \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*
COPY --from=mount-s3 /mountpoint-s3 /mountpoint-s3
COPY dist/${TARGETARCH}/ /
ENV MOUNTPOINT_VERSION=${MOUNT_S3_VERSION} MOUNTPOINT_BIN_DIR=/mountpoint-s3/bin
# Equal to the version in package.json; a test compares them.
ARG VERSION=3.0.0-alpha.1
LABEL org.opencontainers.image.title="scality-mountpoint-s3-csi-driver" \
      org.opencontainers.image.description="Mounts S3 buckets into Kubernetes Pods: a drop-in successor of the Scality CSI Driver for S3 2.x" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0"
# No USER: the node plugin has to be root, and manifests of 2.x leave that to the image. All others get their user from their Pods.
ENTRYPOINT ["/bin/scality-s3-csi-driver"]
