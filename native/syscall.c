/*
 * The kernel calls that Node has no function for. Six functions, no state:
 *
 *   syscall(number, ...arguments)             result, or -errno
 *   syscallDetached(number, ...arguments)     the same as a promise, on a thread of its own
 *   syscallsDetached([[number, ...], ...])    one after the other on one such thread, up to the first failure: the last
 *                                             result, or -errno - 4096 * calls that succeeded before
 *   syscallFromNewPids(number, ...arguments)  0, or -errno; by a short-lived child in a pid namespace of its own
 *   sendDescriptor(socket, bytes, fd)         bytes sent, or -errno; never blocks
 *   receiveDescriptors(socket, into, fds)     bytes received, or -errno; never blocks
 *
 * An argument is a number, a string (becomes a NUL-terminated copy), a Uint8Array (becomes its address) or
 * undefined (becomes 0).
 */
#define _GNU_SOURCE
#define NAPI_VERSION 9
#include <errno.h>
#include <node_api.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_ARGUMENTS = 6, ERRNO_RANGE = 4096, MAX_DESCRIPTORS = 253 /* SCM_MAX_FD of the kernel: nothing is ever cut off */ };

typedef struct call {
  struct call *next; /* of a sequence */
  long number, value[MAX_ARGUMENTS], result;
  void *copy[MAX_ARGUMENTS];      /* strings, and the bytes of a detached call: freed by us */
  napi_ref buffer[MAX_ARGUMENTS]; /* where a detached call gives back what the kernel wrote, */
  size_t size[MAX_ARGUMENTS];     /* and how much */
  napi_deferred promise;
  napi_threadsafe_function done;
} call_t;

static long run(const call_t *call) {
  long result = 0;
  for (long done = 0; call != NULL; call = call->next, done++) {
    const long *v = call->value;
    result = syscall(call->number, v[0], v[1], v[2], v[3], v[4], v[5]);
    if (result == -1) return -errno - ERRNO_RANGE * done;
  }
  return result;
}

static void release(call_t *call) {
  for (int i = 0; i < MAX_ARGUMENTS; i++) free(call->copy[i]);
}

static void release_sequence(call_t *call) {
  while (call != NULL) {
    call_t *next = call->next;
    release(call);
    free(call);
    call = next;
  }
}

static void *bytes_of(napi_env env, napi_value value, size_t *size) {
  void *data = NULL;
  bool is_view = false;
  if (napi_is_buffer(env, value, &is_view) == napi_ok && is_view) napi_get_buffer_info(env, value, &data, size);
  return data;
}

/* One argument; a detached call gets its own copy, because the thread may outlive the JavaScript heap. */
static bool read_argument(napi_env env, napi_value value, call_t *call, int i, bool detached) {
  napi_valuetype type;
  size_t size = 0;
  int64_t number;
  napi_typeof(env, value, &type);
  if (type == napi_undefined) return true;
  if (type == napi_number) {
    napi_get_value_int64(env, value, &number);
    call->value[i] = (long)number;
    return true;
  }
  if (type == napi_string) {
    napi_get_value_string_utf8(env, value, NULL, 0, &size);
    call->copy[i] = malloc(size + 1);
    if (call->copy[i] == NULL) return false;
    napi_get_value_string_utf8(env, value, call->copy[i], size + 1, &size);
    call->value[i] = (long)call->copy[i];
    return strlen(call->copy[i]) == size; /* a NUL inside would silently shorten a path */
  }
  void *data = bytes_of(env, value, &size);
  if (data == NULL || !detached) {
    call->value[i] = (long)data;
    return data != NULL;
  }
  call->copy[i] = malloc(size);
  if (call->copy[i] == NULL) return false;
  memcpy(call->copy[i], data, size);
  call->size[i] = size;
  call->value[i] = (long)call->copy[i];
  return napi_create_reference(env, value, 1, &call->buffer[i]) == napi_ok;
}

static bool read_values(napi_env env, const napi_value argv[1 + MAX_ARGUMENTS], call_t *call, bool detached) {
  int64_t number = -1;
  memset(call, 0, sizeof *call);
  bool valid = napi_get_value_int64(env, argv[0], &number) == napi_ok;
  call->number = (long)number;
  for (int i = 0; valid && i < MAX_ARGUMENTS; i++) valid = read_argument(env, argv[i + 1], call, i, detached);
  if (!valid) napi_throw_type_error(env, NULL, "a syscall takes numbers, strings without NUL, and Uint8Arrays");
  return valid;
}

static bool read_call(napi_env env, napi_callback_info info, call_t *call, bool detached) {
  napi_value argv[1 + MAX_ARGUMENTS];
  size_t argc = 1 + MAX_ARGUMENTS;
  napi_get_cb_info(env, info, &argc, argv, NULL, NULL); /* those that are missing are undefined */
  return read_values(env, argv, call, detached);
}

static napi_value number_of(napi_env env, long value) {
  napi_value result;
  napi_create_int64(env, value, &result);
  return result;
}

static napi_value syscall_now(napi_env env, napi_callback_info info) {
  call_t call;
  napi_value result = NULL;
  if (read_call(env, info, &call, false)) result = number_of(env, run(&call));
  release(&call);
  return result;
}

/*
 * What a call leaves behind may remember the pid namespace of its caller, and that of a process cannot be changed: so a
 * child does it. Made by the bare system call, it runs nothing but system calls: other threads of ours may hold locks.
 * It ends without a signal, which Node would take for one of its own children.
 */
static napi_value syscall_from_new_pids(napi_env env, napi_callback_info info) {
  call_t call;
  napi_value result = NULL;
  int status = 0;
  if (read_call(env, info, &call, false)) {
    long child = syscall(SYS_clone, CLONE_NEWPID, 0, 0, 0, 0);
    if (child == 0) syscall(SYS_exit_group, -run(&call));
    long failure = child == -1 ? errno : 0;
    while (failure == 0 && waitpid((pid_t)child, &status, __WALL) == -1) failure = errno == EINTR ? 0 : errno;
    if (failure == 0) failure = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
    result = number_of(env, -failure);
  }
  release(&call);
  return result;
}

/* Into the buffers of the caller goes what the kernel wrote into our copies. */
static void give_back(napi_env env, const call_t *call) {
  for (int i = 0; i < MAX_ARGUMENTS; i++) {
    napi_value buffer = NULL;
    size_t size = 0;
    if (call->buffer[i] == NULL) continue;
    napi_get_reference_value(env, call->buffer[i], &buffer);
    void *into = bytes_of(env, buffer, &size);
    if (into != NULL && size == call->size[i]) memcpy(into, call->copy[i], size);
    napi_delete_reference(env, call->buffer[i]);
  }
}

/* Back on the JavaScript thread. There is no `env` when the program is ending meanwhile. */
static void settle(napi_env env, napi_value unused_function, void *unused_context, void *data) {
  call_t *call = data;
  (void)unused_function, (void)unused_context;
  for (const call_t *step = call; env != NULL && step != NULL; step = step->next) give_back(env, step);
  if (env != NULL) napi_resolve_deferred(env, call->promise, number_of(env, call->result));
  release_sequence(call);
}

static void *thread_main(void *data) {
  call_t *call = data;
  napi_threadsafe_function done = call->done;
  call->result = run(call);
  /* A refusal means that the program is ending: what is left belongs to the kernel. */
  if (napi_call_threadsafe_function(done, call, napi_tsfn_nonblocking) == napi_ok)
    napi_release_threadsafe_function(done, napi_tsfn_release);
  return NULL;
}

/* Signals stay with the main thread: one that hits a waiting FUSE request would send an INTERRUPT to its server. */
static int start_thread(call_t *call) {
  pthread_t thread;
  pthread_attr_t attributes;
  sigset_t all, before;
  sigfillset(&all);
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 128 * 1024);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failure = pthread_create(&thread, &attributes, thread_main, call);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return failure;
}

/*
 * One thread per call and never libuv's pool: a call on a hung mount does not return, four of them would stop every
 * file operation of the program, and process.exit waits for the pool. A waiting call does not keep the program alive.
 */
static napi_value start(napi_env env, call_t *call) {
  napi_value name, promise = NULL;
  napi_create_promise(env, &call->promise, &promise);
  napi_create_string_utf8(env, "syscallDetached", NAPI_AUTO_LENGTH, &name);
  napi_create_threadsafe_function(env, NULL, NULL, name, 0, 1, NULL, NULL, NULL, settle, &call->done);
  napi_unref_threadsafe_function(env, call->done);
  int failure = start_thread(call);
  if (failure != 0) {
    napi_release_threadsafe_function(call->done, napi_tsfn_abort);
    call->result = -failure;
    settle(env, NULL, NULL, call);
  }
  return promise;
}

static napi_value syscall_detached(napi_env env, napi_callback_info info) {
  call_t *call = calloc(1, sizeof *call);
  if (call != NULL && read_call(env, info, call, true)) return start(env, call);
  release_sequence(call);
  return NULL;
}

/* One step of a sequence: an array of its number and arguments. */
static call_t *read_step(napi_env env, napi_value list, uint32_t index) {
  napi_value step, argv[1 + MAX_ARGUMENTS];
  call_t *call = calloc(1, sizeof *call);
  if (call == NULL || napi_get_element(env, list, index, &step) != napi_ok) return call;
  for (uint32_t i = 0; i <= MAX_ARGUMENTS; i++) napi_get_element(env, step, i, &argv[i]);
  if (read_values(env, argv, call, true)) return call;
  release_sequence(call);
  return NULL;
}

/* For what a thread carries from one call to the next, such as the mount namespace it is in; it ends with the last. */
static napi_value syscalls_detached(napi_env env, napi_callback_info info) {
  napi_value list;
  size_t argc = 1;
  uint32_t length = 0;
  call_t *first = NULL, **end = &first;
  napi_get_cb_info(env, info, &argc, &list, NULL, NULL);
  napi_get_array_length(env, list, &length);
  for (uint32_t i = 0; i < length; i++) {
    *end = read_step(env, list, i);
    if (*end == NULL) {
      release_sequence(first);
      return NULL;
    }
    end = &(*end)->next;
  }
  return first == NULL ? NULL : start(env, first);
}

static napi_value send_descriptor(napi_env env, napi_callback_info info) {
  napi_value argv[3];
  size_t argc = 3;
  int32_t socket = -1, descriptor = -1;
  struct iovec bytes = {0};
  union { char space[CMSG_SPACE(sizeof(int))]; struct cmsghdr aligned; } control = {0};
  struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1,
                           .msg_control = control.space, .msg_controllen = sizeof control.space};
  napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
  napi_get_value_int32(env, argv[0], &socket);
  bytes.iov_base = bytes_of(env, argv[1], &bytes.iov_len);
  napi_get_value_int32(env, argv[2], &descriptor);
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  *header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
  memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  return number_of(env, sent == -1 ? -errno : sent);
}

static napi_value receive_descriptors(napi_env env, napi_callback_info info) {
  napi_value argv[3];
  size_t argc = 3;
  int32_t socket = -1;
  uint32_t known = 0;
  struct iovec bytes = {0};
  union { char space[CMSG_SPACE(MAX_DESCRIPTORS * sizeof(int))]; struct cmsghdr aligned; } control;
  struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1,
                           .msg_control = control.space, .msg_controllen = sizeof control.space};
  napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
  napi_get_value_int32(env, argv[0], &socket);
  bytes.iov_base = bytes_of(env, argv[1], &bytes.iov_len);
  ssize_t received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (received == -1) return number_of(env, -errno);
  napi_get_array_length(env, argv[2], &known);
  for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header != NULL; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
      int descriptor;
      memcpy(&descriptor, CMSG_DATA(header) + i * sizeof descriptor, sizeof descriptor);
      napi_set_element(env, argv[2], known++, number_of(env, descriptor));
    }
  }
  return number_of(env, received);
}

NAPI_MODULE_INIT() {
  const napi_property_descriptor functions[] = {
      {.utf8name = "syscall", .method = syscall_now},
      {.utf8name = "syscallDetached", .method = syscall_detached},
      {.utf8name = "syscallFromNewPids", .method = syscall_from_new_pids},
      {.utf8name = "syscallsDetached", .method = syscalls_detached},
      {.utf8name = "sendDescriptor", .method = send_descriptor},
      {.utf8name = "receiveDescriptors", .method = receive_descriptors},
  };
  napi_define_properties(env, exports, sizeof functions / sizeof *functions, functions);
  return exports;
}
