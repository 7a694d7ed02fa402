// The platform layer for signals, child processes and changes of files: see platform.h. A function returns ENOTSUP if
// the system lacks the feature.
// Depends on: platform.h.
#pragma once

#include "platform.h"

/// Does: makes `*fd`, a descriptor (an eventfd) that the next two functions make readable and unreadable. Returns: 0 or
/// an errno value.
int csched_os_wake_fd_open_(int *fd);
void csched_os_wake_fd_signal_(int fd); ///< makes `fd` readable; thread: any, also in a signal handler
void csched_os_wake_fd_clear_(int fd);  ///< makes `fd` unreadable, however many rings it had
/// Does: in a child of fork, replaces `fd`, which the parent shares, under the same number. Returns: 0; or an errno
/// value, and `fd` is closed.
int csched_os_wake_fd_renew_(int fd);

/// Does: installs `handler` for `signal`, on an alternate stack if the thread has one. Returns: 0; EBUSY: the signal
/// has a handler already; EINVAL: no such signal, or one of a fault; ENOTSUP.
int csched_os_signal_take_(int signal, void (*handler)(int signal));
/// Does: restores the action that csched_os_signal_take_ has replaced, unless other code has replaced `handler` since.
void csched_os_signal_give_back_(int signal, void (*handler)(int signal));

/// Does: makes a descriptor that is readable once the child process `pid` has ended, in `*fd`. Returns: 0 or an errno
/// value.
int csched_os_child_open_(int pid, int *fd);
/// Does: reads how the child has ended. `reaps`: also reaps it. `fd`: from csched_os_child_open_. Returns: whether the
/// child has ended; then `*end` is one of these constants, which equal those of csched_child_end, and `*status` is the
/// exit status or the signal.
enum { CSCHED_OS_CHILD_EXITED, CSCHED_OS_CHILD_SIGNALED, CSCHED_OS_CHILD_REAPED_ELSEWHERE };
bool csched_os_child_end_(int fd, bool reaps, int *end, int *status);

/// The changes of a file, with the values of csched_file_changes. LOST: the system has lost changes. GONE: the file is
/// no longer watched.
enum {
  CSCHED_OS_FILE_MODIFIED = 1,
  CSCHED_OS_FILE_ATTRIBUTES = 2,
  CSCHED_OS_FILE_CREATED = 4,
  CSCHED_OS_FILE_DELETED = 8,
  CSCHED_OS_FILE_MOVED = 16,
  CSCHED_OS_FILE_WRITTEN = 32,
  CSCHED_OS_FILE_LOST = 64,
  CSCHED_OS_FILE_GONE = 128
};

/// Does: makes a descriptor, `*fd`, that is readable when `path` has had one of `changes` (a set of bits). Returns: 0
/// or an errno value.
int csched_os_file_open_(const char *path, unsigned changes, int *fd);
/// Does: in a child of fork, replaces `fd`, which the parent shares, under the same number. Returns: 0, or an errno
/// value with `fd` unchanged.
int csched_os_file_renew_(const char *path, unsigned changes, int fd);
/// Does: reads one change into the buffer `room`. Returns: the change; 0: none. `*name`: in `room`: the changed file in
/// a watched directory; or NULL.
enum { CSCHED_OS_FILE_ROOM = 512 }; ///< enough for a file's name
unsigned csched_os_file_read_(int fd, char room[CSCHED_OS_FILE_ROOM], const char **name);
