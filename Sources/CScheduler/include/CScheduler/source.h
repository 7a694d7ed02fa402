// What a loop can wait for besides descriptors: signals, the ends of children, changes of files. More than 120 lines: three kinds, one shape.
// Depends on: loop_fd.h.
//
// Each is a descriptor's source (loop_fd.h) whose descriptor is the library's: its handler is called in the loop's runs, among the jobs. All of these
// are called on the loop's thread. Where the port has nothing of the kind (Darwin), adding one returns ENOTSUP. When the limit of open files is
// reached, it returns EMFILE, and keeps nothing.
//
// `dropped` of each may be set between the initialiser and the adding: it is told on the loop's thread that the source was removed by
// somebody else, ECANCELED by the loop's closing, and is the caller's again.
//
// What comes again and again by the clock is no source but a task: csched_target_async_every (task.h). What other threads tell of is an
// event: event.h.
#ifndef CSCHED_SOURCE_H
#define CSCHED_SOURCE_H

#include <CScheduler/loop_fd.h>

CSCHED_BEGIN_DECLS

// MARK: signals

typedef struct csched_signal_source csched_signal_source;

/// A signal that a loop waits for. While it is added, the process has a handler for the signal, which counts it and wakes the loop, on whatever
/// thread the system delivers it; its own action (for SIGTERM: the end of the process) is not taken. System calls that it interrupts go on
/// (SA_RESTART), where they can.
///
/// Masks: no thread has to block the signal, and none that blocks it is changed. If all threads do, it stays pending. (A signalfd would need all
/// threads to block it, those too that other libraries start, and children would begin with that mask after exec. A handler is put back by exec.)
struct csched_signal_source {
  csched_fd_source fd; ///< private
  void (*handler)(csched_signal_source *source, uint32_t count);
  void (*dropped)(csched_signal_source *source, int error);
  void *context;
  int signal;
};

/// Does: makes `source` ready to be added. `handler` is told how often `signal` has come since the last time; the system merges those that
/// are pending. Requires: it is not added to a loop.
void csched_signal_source_init(csched_signal_source *source, int signal,
                               void (*handler)(csched_signal_source *source, uint32_t count), void *context);

/// Does: has the loop wait for the signal. In a child of fork of the loop's thread it goes on there; in one of another thread the
/// signal has the action again that it had before.
/// Returns: 0; EBUSY when the signal has a handler already, by somebody else or by another source; EINVAL when it cannot be handled so (SIGKILL, SIGSTOP;
/// SIGSEGV and its like, which tell of a fault of the thread that gets them; no signal at all); EEXIST when the source is added;
/// ECANCELED when the loop is closed; EMFILE, ENFILE, ENOMEM; ENOTSUP. Requires: `source` stays valid until it is removed.
int csched_loop_add_signal(csched_loop *loop, csched_signal_source *source);

/// Does: gives the signal the action that it had before, unless somebody has changed it meanwhile; the handler is not called again.
/// Returns: 0; ENOENT when it is not added to this loop.
int csched_loop_remove_signal(csched_loop *loop, csched_signal_source *source);

/// Does: as csched_loop_silence_fd_, and gives the signal back at once, which another loop may then take. Requires, thread: as there. Private.
void csched_loop_silence_signal_(csched_loop *loop, csched_signal_source *source);

// MARK: children

/// How a child has ended.
typedef enum csched_child_end {
  CSCHED_CHILD_EXITED,   ///< with this exit status
  CSCHED_CHILD_SIGNALED, ///< by this signal
  CSCHED_CHILD_REAPED_ELSEWHERE, ///< it has ended, and somebody else was told how (waitpid, SIGCHLD ignored), or it is no child of this process
} csched_child_end;

typedef struct csched_child_source csched_child_source;

/// A process whose end a loop waits for.
struct csched_child_source {
  csched_fd_source fd; ///< private
  void (*handler)(csched_child_source *source, csched_child_end end, int status);
  void (*dropped)(csched_child_source *source, int error);
  void *context;
  int pid;
};

/// Does: makes `source` ready to be added. `handler` is called once, when process `pid` has ended: the source is removed by then, and the child
/// is reaped. Requires: it is not added to a loop.
void csched_child_source_init(csched_child_source *source, int pid,
                              void (*handler)(csched_child_source *source, csched_child_end end, int status),
                              void *context);

/// Does: has the loop wait for the end of the process, by its pidfd: a number that is used again is not mistaken for it.
/// Returns: 0; ESRCH when there is no such process; EINVAL; EEXIST; ECANCELED; EMFILE, ENFILE, ENOMEM; ENOTSUP.
/// Requires: `source` stays valid until its handler is called, or it is removed.
int csched_loop_add_child(csched_loop *loop, csched_child_source *source);

/// Does: ends the waiting. The child is left to be reaped by the caller. Returns: 0; ENOENT when it is not added to this loop.
int csched_loop_remove_child(csched_loop *loop, csched_child_source *source);

// MARK: files

/// What has become of a file, or of an entry of a directory, or'ed.
typedef enum csched_file_changes {
  CSCHED_FILE_MODIFIED = 1,   ///< its contents were
  CSCHED_FILE_ATTRIBUTES = 2, ///< its owner, times, permissions, links
  CSCHED_FILE_CREATED = 4,    ///< an entry of the directory was, or was moved into it
  CSCHED_FILE_DELETED = 8,    ///< an entry was, or was moved away; with no name: the file itself
  CSCHED_FILE_MOVED = 16,     ///< the file itself was
  CSCHED_FILE_WRITTEN = 32,   ///< somebody who had it open to write has closed it
  CSCHED_FILE_LOST = 64,      ///< told in any case: there were more changes than the system keeps: look anew
  CSCHED_FILE_GONE =
      128, ///< told in any case: nothing more will come, because the file is gone, or was unmounted; the source stays until it is removed
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
  int lost; ///< private: why it could not be opened anew
};

/// Does: makes `source` ready to be added. `handler` is told the changes one by one: `name` is that of the entry, which is valid during the call;
/// NULL for what `path` itself is. Requires: it is not added to a loop; `path` stays valid until it is removed.
void csched_file_source_init(csched_file_source *source, const char *path, unsigned changes,
                             void (*handler)(csched_file_source *source, unsigned changes, const char *name),
                             void *context);

/// Does: has the loop wait for these changes of what `path` is now; a later file of that name is another one. In a child of fork it begins anew.
/// Returns: 0; EINVAL when `changes` are none; ENOENT, EACCES … as for opening the path; EEXIST; ECANCELED; EMFILE, ENFILE, ENOMEM; ENOSPC when
/// the system watches too many; ENOTSUP. Requires: `source` stays valid until it is removed.
int csched_loop_add_file(csched_loop *loop, csched_file_source *source);

/// Does: ends the waiting; the handler is not called again. Returns: 0; ENOENT when it is not added to this loop.
int csched_loop_remove_file(csched_loop *loop, csched_file_source *source);

CSCHED_END_DECLS

#endif
