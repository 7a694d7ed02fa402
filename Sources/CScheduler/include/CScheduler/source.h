// Sources of a loop besides descriptors: signals, exits of child processes, changes of files.
// Depends on: loop_fd.h.
//
// Each source contains a descriptor's source (loop_fd.h) whose descriptor the library owns. The loop calls its handler during its runs, among the
// jobs. Call all functions on the loop's thread. Adding a source returns ENOTSUP where the platform has no such source (Darwin), and EMFILE, with
// nothing allocated, at the limit of open files.
//
// You may set `dropped` of a source between the initialiser and adding it. The loop's thread calls it when the source was removed other than by your
// call: ECANCELED when the loop was closed. The caller then owns the source again.
//
// Periodic work is a task: csched_target_async_every (task.h). Notifications from other threads are events: event.h.
#ifndef CSCHED_SOURCE_H
#define CSCHED_SOURCE_H

#include <CScheduler/loop_fd.h>

CSCHED_BEGIN_DECLS

// MARK: signals

typedef struct csched_signal_source csched_signal_source;

/// A signal that a loop waits for. While the source is added, the process has a handler for the signal, which replaces its default action (for
/// SIGTERM: the end of the process). On any thread, this handler counts the signal and wakes the loop. Interrupted system calls are restarted where
/// possible (SA_RESTART).
///
/// Signal masks are not changed, and no thread has to block the signal. If all threads block it, it stays pending. (A signalfd would need all threads
/// to block it, also those of other libraries, and children would inherit that mask after exec. exec resets a handler.)
struct csched_signal_source {
  csched_fd_source fd; ///< private
  void (*handler)(csched_signal_source *source, uint32_t count);
  void (*dropped)(csched_signal_source *source, int error);
  void *context;
  int signal;
};

/// Does: makes `source` ready to be added. `handler` gets the number of times that `signal` arrived since its last call; the system merges pending
/// ones. Requires: it is not added to a loop.
void csched_signal_source_init(csched_signal_source *source, int signal,
                               void (*handler)(csched_signal_source *source, uint32_t count), void *context);

/// Does: has the loop wait for the signal. In a child of fork by the loop's thread it continues there. In a child by another thread the signal has
/// its previous action again. Returns: 0; EBUSY when the signal already has a handler, of another source or other code; EINVAL when it cannot be
/// handled this way (SIGKILL, SIGSTOP, no signal at all, and SIGSEGV and the like, which report a fault of their thread); EEXIST when the source is
/// added; ECANCELED when the loop is closed; EMFILE, ENFILE, ENOMEM; ENOTSUP. Requires: `source` stays valid until it is removed.
int csched_loop_add_signal(csched_loop *loop, csched_signal_source *source);

/// Does: restores the signal's previous action, unless other code has changed it meanwhile; the handler is not called again. Returns: 0; ENOENT when
/// it is not added to this loop.
int csched_loop_remove_signal(csched_loop *loop, csched_signal_source *source);

/// Does: as csched_loop_silence_fd_, and releases the signal at once, so that another loop may take it. Requires, thread: as there. Private.
void csched_loop_silence_signal_(csched_loop *loop, csched_signal_source *source);

// MARK: children

/// How a child process ended.
typedef enum csched_child_end {
  CSCHED_CHILD_EXITED,   ///< with this exit status
  CSCHED_CHILD_SIGNALED, ///< by this signal
  CSCHED_CHILD_REAPED_ELSEWHERE, ///< ended, but other code got its status (waitpid, SIGCHLD ignored), or it is not a child of this process
} csched_child_end;

typedef struct csched_child_source csched_child_source;

/// A child process whose end a loop waits for.
struct csched_child_source {
  csched_fd_source fd; ///< private
  void (*handler)(csched_child_source *source, csched_child_end end, int status);
  void (*dropped)(csched_child_source *source, int error);
  void *context;
  int pid;
};

/// Does: makes `source` ready to be added. `handler` is called once, when process `pid` has ended. By then the source is removed and the child is
/// reaped. Requires: it is not added to a loop.
void csched_child_source_init(csched_child_source *source, int pid,
                              void (*handler)(csched_child_source *source, csched_child_end end, int status),
                              void *context);

/// Does: has the loop wait for the end of the process, by its pidfd, so that a reused pid is not mistaken for it. Returns: 0; ESRCH when there is no
/// such process; EINVAL; EEXIST; ECANCELED; EMFILE, ENFILE, ENOMEM; ENOTSUP. Requires: `source` stays valid until its handler is called, or it is
/// removed.
int csched_loop_add_child(csched_loop *loop, csched_child_source *source);

/// Does: removes the source. The caller must reap the child. Returns: 0; ENOENT when it is not added to this loop.
int csched_loop_remove_child(csched_loop *loop, csched_child_source *source);

// MARK: files

/// Changes of a file, or of a directory's entries, as flags.
typedef enum csched_file_changes {
  CSCHED_FILE_MODIFIED = 1,   ///< its contents changed
  CSCHED_FILE_ATTRIBUTES = 2, ///< its owner, times, permissions or links changed
  CSCHED_FILE_CREATED = 4,    ///< a directory entry was created, or moved into it
  CSCHED_FILE_DELETED = 8,    ///< an entry was deleted, or moved away; name NULL: the file itself
  CSCHED_FILE_MOVED = 16,     ///< the file itself was moved
  CSCHED_FILE_WRITTEN = 32,   ///< a descriptor that was open for writing was closed
  CSCHED_FILE_LOST = 64,      ///< always reported: the system lost changes; read the state again
  CSCHED_FILE_GONE =
      128, ///< always reported: no more changes, because the file was deleted or unmounted; the source stays until it is removed
} csched_file_changes;

typedef struct csched_file_source csched_file_source;

/// A file or a directory whose changes a loop waits for.
struct csched_file_source {
  csched_fd_source fd; ///< private
  void (*handler)(csched_file_source *source, unsigned changes, const char *name);
  void (*dropped)(csched_file_source *source, int error);
  void *context;
  const char *path;
  unsigned changes;
  int lost; ///< private: the error when the file could not be reopened
};

/// Does: makes `source` ready to be added. `handler` gets the changes one by one. `name` is the directory entry's name, valid during the call; NULL
/// for `path` itself. Requires: it is not added to a loop; `path` stays valid until it is removed.
void csched_file_source_init(csched_file_source *source, const char *path, unsigned changes,
                             void (*handler)(csched_file_source *source, unsigned changes, const char *name),
                             void *context);

/// Does: has the loop wait for these changes of the file that `path` names now, not of a later file of that name. In a child of fork it starts again.
/// Returns: 0; EINVAL when `changes` has no valid flag; ENOENT, EACCES … as for opening the path; EEXIST; ECANCELED; EMFILE, ENFILE, ENOMEM; ENOSPC
/// when the system watches too many; ENOTSUP. Requires: `source` stays valid until it is removed.
int csched_loop_add_file(csched_loop *loop, csched_file_source *source);

/// Does: removes the source; the handler is not called again. Returns: 0; ENOENT when it is not added to this loop.
int csched_loop_remove_file(csched_loop *loop, csched_file_source *source);

CSCHED_END_DECLS

#endif
