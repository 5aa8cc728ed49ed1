# The lab's stand-in for the Debian base image that the Dockerfile names; no registry of images is needed to make it.
#   debian.sh ARCHIVE
set -eu
exec mmdebstrap --variant=apt --include=ca-certificates,libfuse2,libfuse3-3 \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' bookworm "$1"
