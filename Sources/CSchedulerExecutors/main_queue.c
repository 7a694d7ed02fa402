#include <CSchedulerExecutors.h>

#include <CScheduler/CScheduler.h>

#include <stdint.h>
#include <unistd.h>

// libdispatch's interface for run loops: a descriptor (an eventfd) that is readable while blocks are queued, and the function that runs the blocks.
// Weak: NULL if the program has no libdispatch, or one without this interface.
extern int _dispatch_get_main_queue_port_4CF(void) __attribute__((weak));
extern void _dispatch_main_queue_callback_4CF(void *message) __attribute__((weak));

// The handler of the descriptor: resets it, and runs the queued blocks, unless Dispatch hosts our main loop.
static void drain(csched_fd_source *source, unsigned events) {
  (void)events;
  uint64_t count; // of wakeups; unused, as the call below runs all queued blocks
  ssize_t size = read(source->fd, &count,
                      sizeof count); // the descriptor is non-blocking: a Foundation loop may have read it before
  (void)size;
  if (!csched_main_loop_is_hosted_())
    _dispatch_main_queue_callback_4CF(NULL); // when hosted, dispatchMain's thread runs the blocks
}

int csched_executors_serve_main_queue_(void) {
  static csched_fd_source source; // its handler is set by the first call
  if (source.handler != NULL || _dispatch_get_main_queue_port_4CF == NULL || _dispatch_main_queue_callback_4CF == NULL)
    return 0;
  csched_fd_source_init(&source, _dispatch_get_main_queue_port_4CF(), CSCHED_FD_READ, drain, NULL);
  return csched_loop_add_fd(csched_main_loop(), &source);
}
