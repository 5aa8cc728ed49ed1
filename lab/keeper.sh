# Holds one lab and removes what the kernel does not remove by itself when the lab ends.
#
#   keeper hold  STATE CGROUPS   starts the outermost namespaces, waits for their end, cleans up
#   keeper clean STATE CGROUPS   only cleans up, after a lab whose keeper was killed, too
#
# Processes, mounts and interfaces live in namespaces below one init process: when that ends, in whatever
# way, the kernel takes them all. What stays are cgroup directories (CGROUPS is the prefix of their names)
# and files (STATE), so this small program outlives the init process and removes both.
mode=$1 state=$2 cgroups=$3

hold() {
  # --kill-child: the lab also ends when `unshare` itself is killed.
  unshare --mount --pid --net --uts --ipc --fork --kill-child=KILL --mount-proc --propagation private \
    tini -s -- sleep infinity &
  echo $! >"$state/unshare.pid"
  wait
}

clean() {
  tries=0
  while [ "$tries" -lt 100 ]; do
    left=
    for group in /sys/fs/cgroup/*/"$cgroups"*; do
      [ -d "$group" ] || continue
      find "$group" -depth -type d -exec rmdir {} \; 2>/dev/null
      [ -d "$group" ] && left=yes
    done
    [ -z "$left" ] && break
    # A cgroup stays busy for a moment after its last process died.
    tries=$((tries + 1))
    sleep 0.1
  done
  rm -rf --one-file-system "$state"
}

[ "$mode" = hold ] && hold
clean
