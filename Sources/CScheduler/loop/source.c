// Child processes and files as sources of a loop (source.h). All functions run on the loop's thread. Signals: see signal_source.c.
#include <CScheduler/source.h>

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

static void close_fd(csched_fd_source *source) {
  csched_os_close_(source->fd);
  source->fd = -1;
}

// Does: adds the source, with its new descriptor `fd`, to `loop`. After an error, closes `fd`. Returns: 0 or an errno value.
static int add_opened(csched_loop *loop, csched_fd_source *source, int fd) {
  source->fd = fd;
  source->context = loop; // for the handlers below, which may remove the source
  int error = csched_loop_add_fd(loop, source);
  if (error != 0) close_fd(source);
  return error;
}

// Returns: 0; ENOENT: not added to this loop; EBADF: other code had closed the descriptor.
static int remove_and_close(csched_loop *loop, csched_fd_source *source) {
  int error = csched_loop_remove_fd(loop, source);
  if (error != ENOENT) close_fd(source); // also after EBADF, which removes the source, too
  return error;
}

// MARK: children

static void child_dropped(csched_fd_source *fd, int error) { // the `dropped` of a child's descriptor
  csched_child_source *source = (csched_child_source *)fd;
  close_fd(fd);
  if (source->dropped != NULL) source->dropped(source, error);
}

static void child_ended(csched_fd_source *fd, unsigned events) { // the `handler` of a child's descriptor (a pidfd)
  (void)events;
  csched_child_source *source = (csched_child_source *)fd;
  int end, status;
  if (!csched_os_child_reap_(fd->fd, &end, &status)) return; // spurious call: the child has not ended
  csched_loop_remove_fd(fd->context, fd); // before the handler, which may free the source. `context`: see add_opened
  close_fd(fd);
  source->handler(source, (csched_child_end)end, status); // last: it may free the source
}

void csched_child_source_init(csched_child_source *source, int pid,
                              void (*handler)(csched_child_source *source, csched_child_end end, int status),
                              void *context) {
  *source = (csched_child_source){.handler = handler, .context = context, .pid = pid};
  csched_fd_source_init(&source->fd, -1, CSCHED_FD_READ, child_ended, NULL); // -1: no descriptor before the addition
  source->fd.dropped = child_dropped;
}

int csched_loop_add_child(csched_loop *loop, csched_child_source *source) {
  if (source->fd.owner != NULL) return EEXIST;
  int fd, error = csched_os_child_open_(source->pid, &fd);
  return error != 0 ? error : add_opened(loop, &source->fd, fd);
}

int csched_loop_remove_child(csched_loop *loop, csched_child_source *source) {
  return remove_and_close(loop, &source->fd);
}

// MARK: files

static void file_dropped(csched_fd_source *fd, int error) { // the `dropped` of a file's descriptor
  csched_file_source *source = (csched_file_source *)fd;
  close_fd(fd);
  if (source->dropped != NULL) source->dropped(source, error);
}

static void file_changed(csched_fd_source *fd, unsigned events) { // the `handler` of a file's descriptor
  (void)events;
  csched_file_source *source = (csched_file_source *)fd;
  if (source->lost != 0) {                  // a child of fork could not reopen the file: the errno value of renew_file
    csched_loop_remove_fd(fd->context, fd); // `context`: the loop, see add_opened
    file_dropped(fd, source->lost);         // closes the descriptor, and reports the error
    return;
  }
  _Alignas(uint64_t) char room[CSCHED_OS_FILE_ROOM] = ""; // initialised for MemorySanitizer only
  const char *name = NULL;
  unsigned changes = csched_os_file_read_(fd->fd, room, &name);
  if (changes != 0) source->handler(source, changes, name); // it may free the source
}

// Does: in a child of fork, opens a new descriptor, because changes pending in the old one belong to the parent. Returns: 0 or an errno value.
static int renew_file(csched_fd_source *fd) {
  csched_file_source *source = (csched_file_source *)fd;
  source->lost = csched_os_file_renew_(source->path, source->changes, fd->fd);
  return source->lost;
}

void csched_file_source_init(csched_file_source *source, const char *path, unsigned changes,
                             void (*handler)(csched_file_source *source, unsigned changes, const char *name),
                             void *context) {
  *source = (csched_file_source){.handler = handler, .context = context, .path = path, .changes = changes};
  csched_fd_source_init(&source->fd, -1, CSCHED_FD_READ, file_changed, NULL); // -1: no descriptor before the addition
  source->fd.dropped = file_dropped;
  source->fd.renew = renew_file;
}

int csched_loop_add_file(csched_loop *loop, csched_file_source *source) {
  if (source->fd.owner != NULL) return EEXIST;
  int fd, error = csched_os_file_open_(source->path, source->changes, &fd);
  if (error != 0) return error;
  source->lost = 0; // an earlier addition may have set it, in this child of fork
  return add_opened(loop, &source->fd, fd);
}

int csched_loop_remove_file(csched_loop *loop, csched_file_source *source) {
  return remove_and_close(loop, &source->fd);
}
