// Sources of a loop besides descriptors: signals, exits of child processes, changes of files.
// Depends on: loop_fd.h.
//
// Each source contains a csched_fd_source (loop_fd.h) whose descriptor the library owns. The loop calls the source's
// handler during its runs, between jobs. Call all functions on the loop's thread. Adding a source returns ENOTSUP where
// the platform has no such source (Darwin), and EMFILE, with nothing allocated, at the limit of open files.
//
// You may set `dropped` of a source between the initialiser and adding it. The loop's thread calls it when the library,
// not you, has removed the source; the error is ECANCELED when the loop was closed. You then own the source again.
//
// Periodic work is a task: csched_target_async_every (task.h). Notifications from other threads are events: event.h.
#ifndef CSCHED_SOURCE_H
#define CSCHED_SOURCE_H

#include <CScheduler/loop_fd.h>

CSCHED_BEGIN_DECLS

// MARK: signals

typedef struct csched_signal_source csched_signal_source;

/// A signal that a loop waits for. While the source is added, the library's signal handler replaces the signal's
/// default action (SIGTERM: ends the process). The signal handler counts the signal, on any thread, and wakes the loop,
/// which calls `handler`. Interrupted system calls are restarted where possible (SA_RESTART).
///
/// No thread has to block the signal. The loop's thread does not block it while the source is added, so the signal
/// arrives even if all other threads block it. The handler runs on an alternate stack if the thread has one
/// (SA_ONSTACK). (Rejected: a signalfd. All threads would have to block the signal, also those of other libraries, and
/// child processes would keep that mask after exec. exec resets a handler.)
struct csched_signal_source {
  csched_fd_source fd; ///< private
  void (*handler)(csched_signal_source *source, uint32_t count);
  void (*dropped)(csched_signal_source *source, int error);
  void *context;
  int signal;
  bool was_blocked; ///< private
};

/// Does: makes `source` ready to be added. `count` tells `handler` how often `signal` arrived since the handler's
/// previous call; the system merges pending signals. Requires: `source` is not added to a loop.
void csched_signal_source_init(csched_signal_source *source, int signal,
                               void (*handler)(csched_signal_source *source, uint32_t count), void *context);

/// Does: adds `source`, so that the loop waits for its signal. If the loop's thread forks, the source continues in the
/// child. If another thread forks, the signal has its previous action again in the child. Returns: 0; EBUSY when the
/// signal already has a handler, of another source or other code; EINVAL when the signal cannot be handled this way
/// (SIGKILL, SIGSTOP, no signal at all, and SIGSEGV and the like, which report a fault of their thread); EEXIST when
/// the source is already added; ECANCELED when the loop is closed; EMFILE, ENFILE, ENOMEM; ENOTSUP. Requires: `source`
/// stays valid until it is removed.
int csched_loop_add_signal(csched_loop *loop, csched_signal_source *source);

/// Does: removes `source`: its handler is not called again. Restores the signal's previous action, unless other code
/// has changed the action meanwhile. Returns: 0; ENOENT when `source` is not added to this loop.
int csched_loop_remove_signal(csched_loop *loop, csched_signal_source *source);

/// Does: the part of csched_loop_add_signal that any thread may do: installs the signal handler, so that signals from
/// now on are counted, and reported once csched_loop_add_signal has been called. In place of that call,
/// csched_loop_unregister_signal_ ends it. Returns: as csched_loop_add_signal.
/// Requires: `loop` and `source` stay valid until then. Thread: any. Private.
int csched_loop_claim_signal_(csched_loop *loop, csched_signal_source *source);

/// Does: as csched_loop_unregister_fd_; restores the signal's previous action at once, so that another loop may add a
/// source for it. Requires, thread: as csched_loop_unregister_fd_. Private.
void csched_loop_unregister_signal_(csched_loop *loop, csched_signal_source *source);

// MARK: children

/// How a child process ended.
typedef enum csched_child_end {
  CSCHED_CHILD_EXITED,           ///< it exited; `status` is the exit status
  CSCHED_CHILD_SIGNALED,         ///< a signal ended it; `status` is the signal's number
  CSCHED_CHILD_REAPED_ELSEWHERE, ///< it ended; other code got its status (waitpid, SIGCHLD ignored), or it is no child
} csched_child_end;

typedef struct csched_child_source csched_child_source;

/// A child process whose end a loop waits for.
struct csched_child_source {
  csched_fd_source fd; ///< private
  void (*handler)(csched_child_source *source, csched_child_end end, int status);
  void (*dropped)(csched_child_source *source, int error);
  void *context;
  int pid;
  int end, status;                  ///< private: of the child, once it was reaped
  uint32_t epoch;                   ///< private: whether it is in the library's list of sources
  struct csched_child_source *next; ///< private: in that list
};

/// Does: makes `source` ready to be added. `handler` is called once, when process `pid` has ended. By then the library
/// has removed the source and reaped the child. Several sources, on any loops, may wait for one child: each gets its
/// status. Requires: `source` is not added to a loop.
void csched_child_source_init(csched_child_source *source, int pid,
                              void (*handler)(csched_child_source *source, csched_child_end end, int status),
                              void *context);

/// Does: adds `source`: the loop waits for the end of the process, by its pidfd, so a later process with the same pid
/// is harmless. If the library has reaped this child within the last minute, and no process has its pid now, the source
/// reports that status again. The library keeps the last status for each pid modulo 256. Returns: 0; ESRCH when there
/// is no such process; EINVAL; EEXIST; ECANCELED; EMFILE, ENFILE, ENOMEM; ENOTSUP. Requires: `source` stays valid until
/// its handler is called, or it is removed.
int csched_loop_add_child(csched_loop *loop, csched_child_source *source);

/// Does: removes the source. The caller must then reap the child, unless another source waits for it. Returns: 0;
/// ENOENT when the source is not added to this loop.
int csched_loop_remove_child(csched_loop *loop, csched_child_source *source);

// MARK: files

/// Changes of a file, or of a directory's entries, as flags.
typedef enum csched_file_changes {
  CSCHED_FILE_MODIFIED = 1,   ///< its contents changed
  CSCHED_FILE_ATTRIBUTES = 2, ///< its owner, times, permissions or links changed
  CSCHED_FILE_CREATED = 4,    ///< in the directory, an entry was created or moved in
  CSCHED_FILE_DELETED = 8,    ///< in the directory, an entry was deleted or moved away; `name` NULL: `path` itself
  CSCHED_FILE_MOVED = 16,     ///< the file itself was moved
  CSCHED_FILE_WRITTEN = 32,   ///< a descriptor that was open for writing was closed
  CSCHED_FILE_LOST = 64,      ///< always reported: the system lost changes; read the file or directory again
  CSCHED_FILE_GONE = 128,     ///< always reported, last: the file was deleted or unmounted; the source has ended
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
  int lost; ///< private: errno value if a child of fork could not reopen the file; -1 after CSCHED_FILE_GONE; otherwise 0
};

/// Does: makes `source` ready to be added. `changes`: what to report. `handler` gets the changes one by one. `name` is
/// the directory entry's name, valid during the call; NULL for `path` itself. Before the call with CSCHED_FILE_GONE,
/// the last one, the library has removed the source. So the handler may free the source, or add it again for a new file
/// of that name. Requires: `source` is not added to a loop; `path` stays valid until `source` is removed.
void csched_file_source_init(csched_file_source *source, const char *path, unsigned changes,
                             void (*handler)(csched_file_source *source, unsigned changes, const char *name),
                             void *context);

/// Does: adds `source`, so that the loop waits for its changes of the file that `path` names now, not of a later file
/// of that name. A child of fork opens the path again. Returns: 0; EINVAL when `changes` has no valid flag; ENOENT,
/// EACCES … as for opening the path; EEXIST; ECANCELED; EMFILE, ENFILE, ENOMEM; ENOSPC when the system watches too many
/// files; ENOTSUP. Requires: `source` stays valid until it is removed.
int csched_loop_add_file(csched_loop *loop, csched_file_source *source);

/// Does: removes the source; its handler is not called again. Returns: 0, also after CSCHED_FILE_GONE; ENOENT when the
/// source is not added to this loop.
int csched_loop_remove_file(csched_loop *loop, csched_file_source *source);

CSCHED_END_DECLS

#endif
