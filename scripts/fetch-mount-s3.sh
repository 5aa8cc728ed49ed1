# Fetches an official mount-s3 release and unpacks it, if and only if AWS signed it.
#
#   fetch-mount-s3.sh VERSION ARCH DIRECTORY
#
# Run inside the image build. The key file is fetched too, so what is trusted are the fingerprints below, as published
# in the S3 user guide: the signature must come from one of these keys, whatever else the key file holds.
set -eu
version=$1 directory=$3
case $2 in
  amd64) arch=x86_64 ;;
  arm64) arch=arm64 ;;
  *) echo "mount-s3 has no release for $2: build for amd64 or arm64, or give your own with MOUNT_S3" >&2; exit 1 ;;
esac
trusted="8AEFE705EBE329C0948C75A66F1C3B3AEF4B030B 673FE4061506BB469A0EF857BE397A52B086DA5A"
site=https://s3.amazonaws.com/mountpoint-s3-release
archive=mount-s3-$version-$arch.tar.gz

apt-get update
apt-get install -y --no-install-recommends ca-certificates curl gnupg
cd "$(mktemp -d)"
for file in "$version/$arch/$archive" "$version/$arch/$archive.asc" public_keys/KEYS; do
  curl --fail --silent --show-error --location --retry 3 --remote-name "$site/$file"
done

GNUPGHOME=$(mktemp -d)
export GNUPGHOME
gpg --batch --quiet --import KEYS
gpg --batch --status-fd 3 --verify "$archive.asc" "$archive" 3>status
# VALIDSIG ends with the fingerprint of the primary key.
signer=$(awk '$2 == "VALIDSIG" { print $NF }' status)
for fingerprint in $trusted; do
  [ "$signer" = "$fingerprint" ] || continue
  mkdir -p "$directory"
  tar -xzf "$archive" -C "$directory"
  exit 0
done
echo "the signature of $archive is by ${signer:-nobody}, not by a key of Mountpoint for Amazon S3: nothing was installed" >&2
exit 1
