#!/bin/sh
# What mount-s3 runs to get its keys (credential_process). The node plugin keeps them in the file named by the first
# argument, as members of a JSON object; this adds the braces and an expiry.
#
# mount-s3 asks again five minutes before the expiry: 330 seconds from now mean that a changed key is in use within 30
# seconds. The expiry must be computed at every run: one that has come closer than five minutes makes mount-s3 run this
# for every single request.
set -eu
PATH=/usr/bin:/bin
members=$(cat "$1")
expiry=$(date -u -d '+330 seconds' +%Y-%m-%dT%H:%M:%SZ)
# A builtin: the keys become no argument of a process.
printf '{"Version":1,%s,"Expiration":"%s"}\n' "$members" "$expiry"
