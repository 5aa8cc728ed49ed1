/**
 * Numbers and flags of the kernel's interface, each with the Linux version that introduced it. Versions before 2.6 are left out.
 * Flags have the same value on x64 and arm64.
 */

/** Syscall numbers by architecture. The names are those of the kernel. */
export const syscallNumbers = {
  x64: {
    rt_sigaction: 13,
    rt_sigprocmask: 14,
    madvise: 28,
    socket: 41,
    connect: 42,
    shutdown: 48,
    bind: 49,
    listen: 50,
    setsockopt: 54,
    fcntl: 72,
    fchdir: 81,
    fstatfs: 138,
    mount: 165,
    umount2: 166,
    mkdirat: 258, // Linux 2.6.16
    ppoll: 271, // Linux 2.6.16
    unshare: 272, // Linux 2.6.16
    accept4: 288, // Linux 2.6.28
    pipe2: 293, // Linux 2.6.27
    setns: 308, // Linux 3.0
    statx: 332, // Linux 4.11
    open_tree: 428, // Linux 5.2
    move_mount: 429, // Linux 5.2
    openat2: 437, // Linux 5.6
    mount_setattr: 442, // Linux 5.12
  },
  /** Linux has run on arm64 since 3.7; calls without a version are as old as that. */
  arm64: {
    fcntl: 25,
    mkdirat: 34,
    umount2: 39,
    mount: 40,
    fstatfs: 44,
    fchdir: 50,
    pipe2: 59,
    ppoll: 73,
    unshare: 97,
    rt_sigaction: 134,
    rt_sigprocmask: 135,
    socket: 198,
    bind: 200,
    listen: 201,
    connect: 203,
    setsockopt: 208,
    shutdown: 210,
    madvise: 233,
    accept4: 242,
    setns: 268,
    statx: 291, // Linux 4.11
    open_tree: 428, // Linux 5.2
    move_mount: 429, // Linux 5.2
    openat2: 437, // Linux 5.6
    mount_setattr: 442, // Linux 5.12
  },
} as const satisfies Record<string, Record<string, number>>;

// open(2) and openat2(2). fs.constants lacks the first two.
/** Linux 2.6.39. The descriptor only names a file: opening it sends no request to the file system. */
export const O_PATH = 0o10000000;
/** Linux 2.6.23 */
export const O_CLOEXEC = 0o2000000;
export const O_NONBLOCK = 0o4000;

// `resolve` of struct open_how: Linux 5.6.
/** The look-up does not cross into another mount. */
export const RESOLVE_NO_XDEV = 0x01;
/** The look-up follows no magic links such as /proc/PID/fd/N. */
export const RESOLVE_NO_MAGICLINKS = 0x02;
/** The look-up follows no symbolic links: ELOOP. */
export const RESOLVE_NO_SYMLINKS = 0x04;
/** The look-up does not leave the given directory: EXDEV. */
export const RESOLVE_BENEATH = 0x08;
/** Absolute links begin at the given directory, and `..` does not lead out of it. */
export const RESOLVE_IN_ROOT = 0x10;

// The *at calls.
/** Linux 2.6.39. An empty path names the file of the descriptor itself. */
export const AT_EMPTY_PATH = 0x1000;

// statx(2): Linux 4.11.
/** The kernel asks the server, whatever it has cached. */
export const AT_STATX_FORCE_SYNC = 0x2000;
/** The kernel answers from its cache and sends no request to the server. */
export const AT_STATX_DONT_SYNC = 0x4000;
export const STATX_BASIC_STATS = 0x7ff;
/** Size of struct statx, and offsets of its fields. */
export const statxLayout = { bytes: 256, mode: 28, deviceMajor: 136, deviceMinor: 140 } as const;

// mount(2)
export const MS_RDONLY = 0x1;
export const MS_NOSUID = 0x2;
export const MS_NODEV = 0x4;
export const MS_NOEXEC = 0x8;
export const MS_REMOUNT = 0x20;
export const MS_NOATIME = 0x400;
export const MS_BIND = 0x1000;
// Propagation, also for mount_setattr: Linux 2.6.15.
export const MS_PRIVATE = 0x40000;
export const MS_SLAVE = 0x80000;
export const MS_SHARED = 0x100000;

// umount2(2)
/** The mount disappears at once and ends when its last user has gone. Sends no request to the server. */
export const MNT_DETACH = 0x2;
/** Linux 2.6.34. A symbolic link at the end of the path is not followed. */
export const UMOUNT_NOFOLLOW = 0x8;

// open_tree(2) and move_mount(2): Linux 5.2.
export const OPEN_TREE_CLONE = 0x1;
export const OPEN_TREE_CLOEXEC = 0o2000000;
export const MOVE_MOUNT_F_EMPTY_PATH = 0x4;
export const MOVE_MOUNT_T_EMPTY_PATH = 0x40;
/** Linux 6.5. The mount is attached below the top mount of the target. */
export const MOVE_MOUNT_BENEATH = 0x200;
/** The version that introduced MOVE_MOUNT_BENEATH, as major and minor number. */
export const moveMountBeneathSince = [6, 5] as const;

// mount_setattr(2): Linux 5.12.
/** Names of mountinfo, and the MOUNT_ATTR_ flags for them. */
export const mountAttributes: Readonly<Record<string, number>> = { ro: 0x1, nosuid: 0x2, nodev: 0x4, noexec: 0x8 };
export const mountAttrBytes = 32;

// unshare(2): Linux 2.6.16; setns(2) into a mount namespace: Linux 3.8.
export const CLONE_FS = 0x200;
export const CLONE_NEWNS = 0x20000;
/** Linux 3.0 for setns(2) */
export const CLONE_NEWNET = 0x40000000;

// madvise(2)
/**
 * Linux 5.4. The kernel writes changed pages back before it frees them. (MADV_DONTNEED drops changes, among them the relocations
 * of the program, which then crashes.)
 */
export const MADV_PAGEOUT = 21;

// fcntl(2)
export const F_SETFD = 2;
export const FD_CLOEXEC = 1;
export const F_GETFL = 3;
export const F_SETFL = 4;

// rt_sigprocmask(2) and rt_sigaction(2)
export const SIG_BLOCK = 0;
export const kernelSigsetBytes = 8;
/** Size of the kernel's struct sigaction. All zero is the default action, no flags, empty mask. */
export const kernelSigactionBytes = 32;

// ppoll(2)
export const POLLIN = 0x1;
/** mountinfo reports every change of the mount table as POLLPRI: Linux 2.6.30. */
export const POLLPRI = 0x2;
export const pollfdBytes = 8;

// Sockets
export const AF_UNIX = 1;
export const AF_INET = 2;
export const SOL_SOCKET = 1;
export const SO_REUSEADDR = 2;
export const SOCK_STREAM = 1;
/** Linux 2.6.27 */
export const SOCK_NONBLOCK = 0o4000;
/** Linux 2.6.27 */
export const SOCK_CLOEXEC = 0o2000000;
export const SHUT_WR = 1;
export const SHUT_RDWR = 2;

// statfs(2)
export const FUSE_SUPER_MAGIC = 0x65735546;
export const TMPFS_MAGIC = 0x01021994;
/** Size of struct statfs. */
export const statfsBytes = 120;
