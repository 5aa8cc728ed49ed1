/*
 * The program of a Mountpoint Pod that waits for a volume: listens on the socket of the mounter, and becomes the mounter when the node
 * plugin connects. Node would hold 12 MB of its own while it waits, and the pages of its binary on top; this holds 0.1 MB
 * (docs/decisions/0033-warm-mountpoint-pods.md).
 *
 *   wait-for-mount COMM-DIR PROGRAM [ARGUMENT...]
 *
 * Ends with 0 as soon as the directory has a file mount.exit. Otherwise PROGRAM gets the socket, on which the connection still waits to
 * be accepted, as the argument --listening-descriptor=NUMBER behind the others.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char socket_name[] = "mount.sock", unfinished_name[] = ".mount.sock.new", exit_name[] = "mount.exit";

enum { ENOUGH_ARGUMENTS = 64, POLL_MS = 1000 };

/* Process 1 of a container ignores every signal without a handler. Exit code as a shell reports a signal. */
static void end(int signal) {
  unlink(socket_name);
  _exit(128 + signal);
}

static void handle(int signal, void (*handler)(int)) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  if (sigaction(signal, &action, NULL) != 0) err(1, "sigaction");
}

/* As in src/linux/socket/fd-receiver.ts: the name appears only when the socket accepts connections. Inherited by PROGRAM. */
static int listening(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (fd < 0) err(1, "socket");
  memcpy(address.sun_path, unfinished_name, sizeof unfinished_name);
  unlink(unfinished_name);
  if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0) err(1, "bind");
  if (listen(fd, 1) != 0) err(1, "listen");
  if (rename(unfinished_name, socket_name) != 0) err(1, "rename %s", socket_name);
  return fd;
}

static int is_asked_to_exit(void) { return faccessat(AT_FDCWD, exit_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0; }

/* Returns when a connection waits. At the limit of inotify instances, which the kernel counts by user, it looks every second. */
static void wait_for_connection(int socket_fd) {
  char events[4096];
  int inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  int is_watching = inotify_fd >= 0 && inotify_add_watch(inotify_fd, ".", IN_CREATE | IN_MOVED_TO) >= 0;
  struct pollfd ready[] = {{.fd = socket_fd, .events = POLLIN}, {.fd = is_watching ? inotify_fd : -1, .events = POLLIN}};
  for (;;) {
    if (is_asked_to_exit()) {
      unlink(socket_name);
      _exit(0);
    }
    if (poll(ready, 2, is_watching ? -1 : POLL_MS) < 0 && errno != EINTR) err(1, "poll");
    if (ready[0].revents != 0) break;
    while (is_watching && read(inotify_fd, events, sizeof events) > 0) continue;
  }
  if (inotify_fd >= 0) close(inotify_fd);
}

int main(int count, char *arguments[]) {
  char descriptor[64], *program[ENOUGH_ARGUMENTS + 2];
  int here, fd;
  if (count < 3 || count - 2 > ENOUGH_ARGUMENTS) errx(2, "usage: wait-for-mount COMM-DIR PROGRAM [ARGUMENT...]");
  handle(SIGTERM, end);
  handle(SIGINT, end);
  /* Relative names: the address of a socket takes 107 bytes. */
  here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (here < 0) err(1, "open working directory");
  if (chdir(arguments[1]) != 0) err(1, "chdir %s", arguments[1]);
  fd = listening();
  fputs("{\"level\":\"info\",\"message\":\"waiting for a volume\",\"program\":\"wait-for-mount\"}\n", stderr);
  wait_for_connection(fd);
  if (fchdir(here) != 0) err(1, "fchdir");
  handle(SIGTERM, SIG_DFL);
  handle(SIGINT, SIG_DFL);
  snprintf(descriptor, sizeof descriptor, "--listening-descriptor=%d", fd);
  memcpy(program, arguments + 2, (size_t)(count - 2) * sizeof *program);
  program[count - 2] = descriptor;
  program[count - 1] = NULL;
  execv(program[0], program);
  err(1, "%s", program[0]);
}
