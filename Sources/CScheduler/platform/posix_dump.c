#if defined(__linux__) || defined(__APPLE__) // Platform layer, POSIX part: signal handlers and output of dumps.
#define _GNU_SOURCE
#include "platform.h"
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

// MARK: signal handlers

_Static_assert(sizeof(struct sigaction) <= sizeof(csched_os_handler), "platform.h has room for a handler");

int csched_os_handle_signal_(int signal, void (*handler)(int), csched_os_handler *before) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART | SA_ONSTACK}, old;
  sigemptyset(&action.sa_mask);
  if (sigaction(signal, &action, &old) != 0) return errno;
  memcpy(before, &old, sizeof old);
  return 0;
}

void csched_os_restore_handler_(int signal, const csched_os_handler *before) {
  struct sigaction old;
  memcpy(&old, before, sizeof old);
  sigaction(signal, &old, NULL);
}

// MARK: calls

// The C library's function (execinfo.h). Weak: NULL in musl, which lacks it, and in a static program that does not use
// it.
__attribute__((weak)) int backtrace(void **addresses, int size);

// Runs in a signal handler. The first backtrace() loads the unwinder, which a handler must not do:
// csched_os_backtrace_prepare_ does it before.
int csched_os_backtrace_(uintptr_t *addresses, int most) {
  enum { SKIPPED = 3, MOST = 64 }; // SKIPPED: this function, the handler, and the system's return from it
  void *found[MOST];
  int count = backtrace(found, MOST) - SKIPPED;
  if (count > most) count = most;
  for (int i = 0; i < count; i++)
    addresses[i] = (uintptr_t)found[i + SKIPPED] - (i > 0); // a return address minus 1 is surely inside the caller
  return count > 0 ? count : 0;
}

int csched_os_backtrace_prepare_(void) { // loads the unwinder; returns: 0; ENOTSUP: there is none
  void *found[1];
  return backtrace != NULL && backtrace(found, 1) > 0 ? 0 : ENOTSUP;
}

uint32_t csched_os_process_id_(void) { return (uint32_t)getpid(); }

// MARK: writing

int csched_os_write_(int fd, const char *text, size_t size) { // by writev(): a seccomp filter may forbid write()
  int saved = errno, error = 0, before;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  while (size > 0 && error == 0) {
    ssize_t written = writev(fd, &(struct iovec){(void *)(uintptr_t)text, size}, 1);
    if (written < 0 && errno != EINTR) error = errno;
    if (written > 0) text += written, size -= (size_t)written;
  }
  pthread_setcancelstate(before, &before);
  errno = saved;
  return error;
}

int csched_os_can_write_(int fd) {
  struct pollfd asked = {fd, POLLOUT, 0};
  int saved = errno, before = csched_os_disable_cancellation_();
  int found = poll(&asked, 1, 100); // waits 100 ms at most
  csched_os_restore_cancellation_(before);
  errno = saved;
  return found > 0 && (asked.revents & POLLOUT) != 0 ? 0 : EAGAIN;
}

void csched_os_code_name_(uintptr_t address, char *name, size_t size) { // writes a function's name, or file+offset
  Dl_info found = {0}; // dladdr writes the file, its load address, and the nearest exported symbol
  bool is_known = dladdr((void *)address, &found) != 0 && found.dli_fname != NULL;
  const char *file = is_known ? strrchr(found.dli_fname, '/') : NULL;
  file = file != NULL ? file + 1 : is_known ? found.dli_fname : "?";
  if (is_known && found.dli_sname != NULL) snprintf(name, size, "%s", found.dli_sname);
  else if (!is_known || !csched_os_code_in_file_(found.dli_fname, address - (uintptr_t)found.dli_fbase, name, size))
    snprintf(name, size, "%s+0x%lx", file, (unsigned long)(address - (uintptr_t)found.dli_fbase));
}
#endif
