// The port, for signals, ends of children and changes of files: see platform.h. Where there is none of a kind, opening it returns ENOTSUP.
// Depends on: platform.h, source.h.
#pragma once

#include "platform.h"

#include <CScheduler/source.h>

/// Does: makes another descriptor of what `fd` is, at least 3. Returns: 0, or an errno value and `*copy` as it was.
int csched_os_descriptor_copy_(int fd, int *copy);

/// Does: makes a descriptor that is readable once it was rung, until it is quiet. Returns: 0 or an errno value.
int csched_os_bell_open_(int *fd);
void csched_os_bell_ring_(int fd); ///< also inside of a signal's handler
void csched_os_bell_quiet_(int fd);
/// Does: in a child of fork, makes the number a bell of its own. Returns: 0 or an errno value; the number is then closed.
int csched_os_bell_renew_(int fd);

/// Does: calls `handler` for `signal` from now on. Returns: 0; EBUSY when it has a handler already; EINVAL; ENOTSUP.
int csched_os_signal_take_(int signal, void (*handler)(int signal));
/// Does: gives it back the action that it had, unless that is not `handler` any more.
void csched_os_signal_give_back_(int signal, void (*handler)(int signal));

/// Does: makes a descriptor that is readable once process `pid` has ended. Returns: 0 or an errno value.
int csched_os_child_open_(int pid, int *fd);
/// Does: reaps it. Returns: whether it has ended.
bool csched_os_child_reap_(int fd, csched_child_end *end, int *status);

/// Does: makes a descriptor that is readable when one of `changes` has come to `path`. Returns: 0 or an errno value.
int csched_os_file_open_(const char *path, unsigned changes, int *fd);
/// Does: the same in a child of fork, under the same number. Returns: 0 or an errno value; the number is then what it was.
int csched_os_file_renew_(const char *path, unsigned changes, int fd);
/// Does: reads one change into `room`. Returns: what it is, of csched_file_changes, 0 for none; `*name` is in `room`, or NULL.
enum { CSCHED_OS_FILE_ROOM = 512 };
unsigned csched_os_file_read_(int fd, char room[CSCHED_OS_FILE_ROOM], const char **name);
