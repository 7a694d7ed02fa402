// Child processes and files as sources of a loop (source.h). All functions run on the loop's thread. Signals: see
// signal_source.c.
#include <CScheduler/source.h>

#include <CScheduler/lock.h>

#include "../base/panic.h"
#include "../platform/platform_sources.h"

#include <errno.h>

_Static_assert((int)CSCHED_CHILD_EXITED == CSCHED_OS_CHILD_EXITED &&
                   (int)CSCHED_CHILD_SIGNALED == CSCHED_OS_CHILD_SIGNALED &&
                   (int)CSCHED_CHILD_REAPED_ELSEWHERE == CSCHED_OS_CHILD_REAPED_ELSEWHERE,
               "the platform layer has the same ends of a child");
_Static_assert((int)CSCHED_FILE_MODIFIED == CSCHED_OS_FILE_MODIFIED &&
                   (int)CSCHED_FILE_ATTRIBUTES == CSCHED_OS_FILE_ATTRIBUTES &&
                   (int)CSCHED_FILE_CREATED == CSCHED_OS_FILE_CREATED &&
                   (int)CSCHED_FILE_DELETED == CSCHED_OS_FILE_DELETED &&
                   (int)CSCHED_FILE_MOVED == CSCHED_OS_FILE_MOVED &&
                   (int)CSCHED_FILE_WRITTEN == CSCHED_OS_FILE_WRITTEN && (int)CSCHED_FILE_LOST == CSCHED_OS_FILE_LOST &&
                   (int)CSCHED_FILE_GONE == CSCHED_OS_FILE_GONE,
               "the platform layer has the same changes of a file");

// MARK: the descriptor of a source, which the source opens and closes

// Does: closes the descriptor of a removed source, unless other code has closed it, so that its number may be another
// descriptor's.
static void close_fd(csched_fd_source *source) {
  if (source->serial != 0) csched_os_close_(source->fd);
  source->fd = -1;
}

// Does: adds the source, whose descriptor is open, to `loop`. Returns: 0; or an errno value, after which close_fd
// closes the descriptor.
static int add_opened(csched_loop *loop, csched_fd_source *source) {
  source->context = loop; // for the handlers below, which may remove the source
  int error = csched_loop_add_fd(loop, source);
  if (error != 0) source->serial = 1; // any number: the descriptor is open
  return error;
}

// Returns: 0; ENOENT: not added to this loop; EBADF: other code had closed the descriptor.
static int remove_and_close(csched_loop *loop, csched_fd_source *source) {
  int error = csched_loop_remove_fd(loop, source);
  if (error != ENOENT) close_fd(source);
  return error;
}

// MARK: children
//
// The system gives a child's status away once. So the source that reaps a child stores the status in all other sources
// that wait for this child, on any loop. A source added later finds it in `recent`, as long as no process has the
// child's number.

enum { UNKNOWN = -1, BUCKETS = 64, RECENT = 256 }; // UNKNOWN: a value of `end`
static const csched_time REMEMBERED = 60000000000; // ns for which a number is unlikely to be another process's

static struct {
  csched_lock lock; // guards all of this, and the private fields of the sources in it
  csched_atfork atfork;
  uint32_t
      epoch; // 1 + the forks from which this process comes. A source of an earlier epoch, or of 0, is not in `waiting`
  csched_child_source *waiting[BUCKETS]; // by number of the process: the added sources, linked by `next`
  struct csched_recent_child {
    int pid, end, status;
    csched_time until;
  } recent[RECENT]; // by number of the process: the children reaped here
} children = {.epoch = 1};

static unsigned bucket_of(const csched_child_source *source) { return (unsigned)source->pid % BUCKETS; }
static struct csched_recent_child *recent_of(const csched_child_source *source) {
  return &children.recent[(unsigned)source->pid % RECENT];
}

static void children_at_fork(csched_atfork *unused, csched_atfork_phase phase) {
  (void)unused;
  if (phase != CSCHED_ATFORK_IN_CHILD_FIRST) return;
  children.lock =
      (csched_lock)CSCHED_LOCK_INIT; // a thread of the parent may have locked it, so the lists may be incomplete
  children.epoch++;                  // the children are the parent's
  for (int i = 0; i < BUCKETS; i++) children.waiting[i] = NULL;
  for (int i = 0; i < RECENT; i++) children.recent[i].pid = 0;
}

// Does: removes the source from `waiting`, then closes its descriptor, which the sources in `waiting` need.
static void end_child(csched_child_source *source) {
  csched_lock_lock(&children.lock);
  csched_child_source **link = &children.waiting[bucket_of(source)];
  if (source->epoch == children.epoch) {
    while (*link != source) link = &(*link)->next;
    *link = source->next;
  }
  csched_lock_unlock(&children.lock);
  close_fd(&source->fd);
}

// Does: if the child has ended, stores its end in all sources that wait for it, and reaps it. Returns: whether it has
// ended. Requires: the lock.
static bool reap_locked(csched_child_source *source) {
  if (!csched_os_child_end_(source->fd.fd, false, &source->end, &source->status)) return source->end = UNKNOWN, false;
  if (source->end == CSCHED_OS_CHILD_REAPED_ELSEWHERE) return true;
  for (csched_child_source *each = children.waiting[bucket_of(source)]; each != NULL; each = each->next) {
    int end, status; // read by each source's own descriptor: it may be of an earlier process with the same number
    if (each->pid == source->pid && each->end == UNKNOWN && csched_os_child_end_(each->fd.fd, false, &end, &status) &&
        end != CSCHED_OS_CHILD_REAPED_ELSEWHERE)
      each->end = end, each->status = status;
  }
  int end, status; // known already
  csched_os_child_end_(source->fd.fd, true, &end, &status);
  *recent_of(source) =
      (struct csched_recent_child){source->pid, source->end, source->status, csched_now() + REMEMBERED};
  return true;
}

static bool learn_end(csched_child_source *source) { // Returns: whether the child has ended
  csched_lock_lock(&children.lock);
  bool has_ended = source->end != UNKNOWN || reap_locked(source);
  csched_lock_unlock(&children.lock);
  return has_ended;
}

// Does: opens the source's descriptor: a pidfd; or for a child in `recent`, a descriptor that is readable at once. Adds
// the source to `waiting`.
// Returns: 0 or an errno value. Requires: the lock.
static int open_child_locked(csched_child_source *source) {
  struct csched_recent_child *recent = recent_of(source);
  int fd, error = csched_os_child_open_(source->pid, &fd);
  source->end = UNKNOWN;
  if (recent->pid == source->pid && error == 0) recent->pid = 0; // a new process has the number
  if (recent->pid == source->pid && error == ESRCH && csched_now() < recent->until) {
    source->end = recent->end;
    source->status = recent->status;
    error = csched_os_wake_fd_open_(&fd);
    if (error == 0) csched_os_wake_fd_signal_(fd);
  }
  if (error != 0) return error;
  source->fd.fd = fd;
  source->epoch = children.epoch;
  source->next = children.waiting[bucket_of(source)];
  children.waiting[bucket_of(source)] = source;
  return 0;
}

static void child_dropped(csched_fd_source *fd, int error) { // the `dropped` of a child's descriptor
  csched_child_source *source = (csched_child_source *)fd;
  end_child(source);
  if (source->dropped != NULL) source->dropped(source, error);
}

static void child_ended(csched_fd_source *fd, unsigned events) { // the `handler` of a child's descriptor (a pidfd)
  (void)events;
  csched_child_source *source = (csched_child_source *)fd;
  if (!learn_end(source)) return; // spurious call: the child has not ended
  csched_loop_remove_child(fd->context,
                           source); // before the handler, which may free the source. `context`: see add_opened
  source->handler(source, (csched_child_end)source->end, source->status); // last: it may free the source
}

void csched_child_source_init(csched_child_source *source, int pid,
                              void (*handler)(csched_child_source *source, csched_child_end end, int status),
                              void *context) {
  CSCHED_NEEDS_FUNCTION_(handler, "csched_child_source_init");
  *source = (csched_child_source){.handler = handler, .context = context, .pid = pid};
  csched_fd_source_init(&source->fd, -1, CSCHED_FD_READ, child_ended, NULL); // -1: no descriptor before the addition
  source->fd.dropped = child_dropped;
}

int csched_loop_add_child(csched_loop *loop, csched_child_source *source) {
  if (source->fd.owner != NULL) return EEXIST;
  csched_os_atfork_(&children.atfork, children_at_fork); // a second call does nothing
  csched_lock_lock(&children.lock);
  int error = open_child_locked(source);
  csched_lock_unlock(&children.lock);
  if (error != 0) return error;
  error = add_opened(loop, &source->fd);
  if (error != 0) end_child(source);
  return error;
}

int csched_loop_remove_child(csched_loop *loop, csched_child_source *source) {
  int error = csched_loop_remove_fd(loop, &source->fd);
  if (error != ENOENT) end_child(source);
  return error;
}

// MARK: files

enum { GONE = -1 }; // a value of `lost`: the library has removed the source, because its file is gone

static void file_dropped(csched_fd_source *fd, int error) { // the `dropped` of a file's descriptor
  csched_file_source *source = (csched_file_source *)fd;
  close_fd(fd);
  if (source->dropped != NULL) source->dropped(source, error);
}

static void file_changed(csched_fd_source *fd, unsigned events) { // the `handler` of a file's descriptor
  (void)events;
  csched_file_source *source = (csched_file_source *)fd;
  if (source->lost > 0) {                   // a child of fork could not reopen the file: the errno value of renew_file
    csched_loop_remove_fd(fd->context, fd); // `context`: the loop, see add_opened
    file_dropped(fd, source->lost);         // closes the descriptor, and reports the error
    return;
  }
  _Alignas(uint64_t) char room[CSCHED_OS_FILE_ROOM] = ""; // initialised for MemorySanitizer only
  const char *name = NULL;
  unsigned changes = csched_os_file_read_(fd->fd, room, &name);
  if (changes & CSCHED_OS_FILE_GONE) { // the last change: before the handler, which may free the source
    remove_and_close(fd->context, fd);
    source->lost = GONE;
  }
  if (changes != 0) source->handler(source, changes, name); // it may free the source
}

// Does: in a child of fork, opens a new descriptor, because changes pending in the old one belong to the parent.
// Returns: 0 or an errno value.
static int renew_file(csched_fd_source *fd) {
  csched_file_source *source = (csched_file_source *)fd;
  source->lost = csched_os_file_renew_(source->path, source->changes, fd->fd);
  return source->lost;
}

void csched_file_source_init(csched_file_source *source, const char *path, unsigned changes,
                             void (*handler)(csched_file_source *source, unsigned changes, const char *name),
                             void *context) {
  CSCHED_NEEDS_FUNCTION_(handler, "csched_file_source_init");
  *source = (csched_file_source){.handler = handler, .context = context, .path = path, .changes = changes};
  csched_fd_source_init(&source->fd, -1, CSCHED_FD_READ, file_changed, NULL); // -1: no descriptor before the addition
  source->fd.dropped = file_dropped;
  source->fd.renew = renew_file;
}

int csched_loop_add_file(csched_loop *loop, csched_file_source *source) {
  if (source->fd.owner != NULL) return EEXIST;
  int error = csched_os_file_open_(source->path, source->changes, &source->fd.fd);
  if (error != 0) return error;
  source->lost = 0; // an earlier addition may have set it
  error = add_opened(loop, &source->fd);
  if (error != 0) close_fd(&source->fd);
  return error;
}

int csched_loop_remove_file(csched_loop *loop, csched_file_source *source) {
  return source->lost == GONE ? 0 : remove_and_close(loop, &source->fd);
}
