#include <CSchedulerExecutors.h>

#include <CScheduler/CScheduler.h>

#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

// libdispatch's interface for run loops: a descriptor (an eventfd) that is readable while blocks are queued, and the
// function that runs the blocks. Weak: NULL if the program has no libdispatch, or one without this interface.
extern int _dispatch_get_main_queue_port_4CF(void) __attribute__((weak));
extern void _dispatch_main_queue_callback_4CF(void *message) __attribute__((weak));

// Does: resets the eventfd, and runs the queued blocks, unless Dispatch hosts our main loop. The loop calls this while
// the descriptor is readable.
static void run_blocks(csched_fd_source *source, unsigned events) {
  (void)events;
  uint64_t count; // of wakeups; unused, because the call below runs all queued blocks
  ssize_t size = read(source->fd, &count, sizeof count);
  (void)size; // EAGAIN is no error: a Foundation loop may have read the non-blocking descriptor before
  if (!csched_main_loop_is_hosted_())
    _dispatch_main_queue_callback_4CF(NULL); // when hosted, dispatchMain's thread runs the blocks
}

static csched_fd_source source; // the loop keeps its address
static bool is_serving;         // the loop has `source`
static pid_t process;           // the process of the first csched_executors_serve_main_queue_; 0: none yet

int csched_executors_serve_main_queue_(void) {
  if (process == 0) process = getpid();
  // nothing to do: an earlier call has added `source`, or the program has no Dispatch with this interface
  if (is_serving || _dispatch_get_main_queue_port_4CF == NULL || _dispatch_main_queue_callback_4CF == NULL) return 0;
  csched_fd_source_init(&source, _dispatch_get_main_queue_port_4CF(), CSCHED_FD_READ, run_blocks, NULL);
  int error = csched_loop_add_fd(csched_main_loop(), &source);
  is_serving = error == 0;
  return error;
}

void csched_executors_leave_main_queue_(void) {
  if (is_serving) csched_loop_remove_fd(csched_main_loop(), &source); // EBADF: dispatchMain has closed it; removed, too
  is_serving = false;
}

bool csched_executors_may_dispatch_(void) { return getpid() == process; }
