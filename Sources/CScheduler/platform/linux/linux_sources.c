#if defined(__linux__) // Platform layer for Linux: signals, children and files. See platform_sources.h.
#define _GNU_SOURCE
#include "../platform_sources.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// MARK: bells: eventfds that a signal handler makes readable

int csched_os_wake_fd_open_(int *fd) {
  int saved = errno, error = 0;
  *fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (*fd < 0) error = errno;
  errno = saved;
  return error;
}

// Bells use raw system calls, because write() and read() are cancellation points.
void csched_os_wake_fd_signal_(int fd) {
  int saved = errno;
  uint64_t one = 1;
  syscall(SYS_write, fd, &one, sizeof one); // fails if the counter is full: it is readable anyway
  errno = saved;
}

void csched_os_wake_fd_clear_(int fd) {
  int saved = errno;
  uint64_t all;
  syscall(SYS_read, fd, &all, sizeof all); // resets the counter; fails if the bell is quiet already
  errno = saved;
}

// Does: makes a new eventfd with the number `fd`. Closes `fd` first, to need no further descriptor.
int csched_os_wake_fd_renew_(int fd) {
  csched_os_close_(fd);
  int new, error = csched_os_wake_fd_open_(&new), saved = errno;
  if (error == 0 && new != fd) { // equal: the system has reused the number
    if (dup3(new, fd, O_CLOEXEC) < 0) error = errno;
    csched_os_close_(new);
  }
  errno = saved;
  return error;
}

// MARK: signals

enum { SIGNALS = 65 }; // Linux has the signals 1 to 64

static struct sigaction actions_before[SIGNALS]; // by signal: the action that csched_os_signal_take_ has replaced

static bool reports_fault(int signal) { // the faulting instruction would repeat after the handler
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL || signal == SIGTRAP ||
         signal == SIGSYS;
}

// Returns: whether the signal has its default action, or is ignored.
static bool has_no_handler(const struct sigaction *action) {
  return (action->sa_flags & SA_SIGINFO) == 0 && (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN);
}

// Does: installs `handler`, if the signal has no other handler. Returns: 0; EBUSY: it has one; EINVAL: no signal, or a
// fault's; another errno value.
int csched_os_signal_take_(int signal, void (*handler)(int signal)) {
  if (signal <= 0 || signal >= SIGNALS || reports_fault(signal)) return EINVAL;
  int saved = errno, error = 0;
  struct sigaction ours = {.sa_handler = handler, .sa_flags = SA_RESTART | SA_ONSTACK};
  sigfillset(&ours.sa_mask); // no other signal interrupts the handler
  if (sigaction(signal, NULL, &actions_before[signal]) != 0) error = errno;
  else if (!has_no_handler(&actions_before[signal])) error = EBUSY;
  else if (sigaction(signal, &ours, NULL) != 0) error = errno;
  errno = saved;
  return error;
}

void csched_os_signal_give_back_(int signal, void (*handler)(int signal)) { // restores the action before `handler`
  int saved = errno;
  struct sigaction now;
  if (sigaction(signal, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == handler) // still ours
    sigaction(signal, &actions_before[signal], NULL);
  errno = saved;
}

// MARK: children

int csched_os_child_open_(int pid, int *fd) { // `*fd`: a pidfd, readable once the child has ended
  if (pid <= 0) return EINVAL;
  int saved = errno, error = 0;
  *fd = (int)syscall(SYS_pidfd_open, pid, 0); // the new descriptor has CLOEXEC
  if (*fd < 0) error = errno == ENOSYS ? ENOTSUP : errno;
  errno = saved;
  return error;
}

// Does: reads the child's end, and reaps the child if `reaps`. Returns: whether it has ended. If waitid fails, it was
// reaped: its status is unknown.
bool csched_os_child_end_(int fd, bool reaps, int *end, int *status) {
  enum { PIDFD = 3 }; // P_PIDFD, which older headers lack
  int saved = errno;
  siginfo_t info = {0};
  int flags = WEXITED | WNOHANG | (reaps ? 0 : WNOWAIT);
  long answer = syscall(SYS_waitid, PIDFD, fd, &info, flags, NULL); // waitid() is a cancellation point
  bool is_known = answer == 0 && info.si_pid != 0;                  // si_pid 0: the child still runs
  *end = !is_known                    ? CSCHED_OS_CHILD_REAPED_ELSEWHERE
         : info.si_code == CLD_EXITED ? CSCHED_OS_CHILD_EXITED
                                      : CSCHED_OS_CHILD_SIGNALED;
  *status = is_known ? info.si_status : 0;
  errno = saved;
  return is_known || answer != 0;
}

// MARK: files

static const struct {
  unsigned change; // a flag of platform_sources.h
  uint32_t bits;   // the inotify events that cause it
} bits_of[] = {{CSCHED_OS_FILE_MODIFIED, IN_MODIFY},
               {CSCHED_OS_FILE_ATTRIBUTES, IN_ATTRIB},
               {CSCHED_OS_FILE_CREATED, IN_CREATE | IN_MOVED_TO},
               {CSCHED_OS_FILE_DELETED, IN_DELETE | IN_DELETE_SELF | IN_MOVED_FROM},
               {CSCHED_OS_FILE_MOVED, IN_MOVE_SELF},
               {CSCHED_OS_FILE_WRITTEN, IN_CLOSE_WRITE},
               {CSCHED_OS_FILE_LOST, IN_Q_OVERFLOW},
               {CSCHED_OS_FILE_GONE, IN_IGNORED}};   // the last event, also after IN_UNMOUNT
enum { KINDS = sizeof bits_of / sizeof bits_of[0] }; // number of kinds of change

int csched_os_file_open_(const char *path, unsigned changes, int *fd) { // `*fd`: readable after one of `changes`
  int saved = errno, error = 0;
  uint32_t bits = 0;
  for (int i = 0; i < KINDS; i++)
    if (changes & bits_of[i].change & (CSCHED_OS_FILE_LOST - 1)) bits |= bits_of[i].bits; // LOST, GONE: never requested
  if (bits == 0) return EINVAL; // `changes` has no known change
  *fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (*fd < 0 || inotify_add_watch(*fd, path, bits) < 0) error = errno;
  if (error != 0 && *fd >= 0) csched_os_close_(*fd);
  errno = saved;
  return error;
}

int csched_os_file_renew_(const char *path, unsigned changes, int fd) { // a new watch of `path` with the number `fd`
  int new, error = csched_os_file_open_(path, changes, &new), saved = errno;
  if (error != 0) return error;
  if (dup3(new, fd, O_CLOEXEC) < 0) error = errno;
  csched_os_close_(new);
  errno = saved;
  return error;
}

// Does: reads exactly one event, by reads of growing size: a read that is too small fails with EINVAL, and the kernel
// pads names to multiples of an event's size. So the first read that succeeds returns one event. `fd` stays readable
// while it has more. Returns: the event's changes; 0: none.
unsigned csched_os_file_read_(int fd, char room[CSCHED_OS_FILE_ROOM], const char **name) {
  int saved = errno;
  long length = -1;
  for (size_t size = sizeof(struct inotify_event); length < 0 && size <= CSCHED_OS_FILE_ROOM;) {
    length = syscall(SYS_read, fd, room, size);
    if (length < 0 && errno == EINVAL) size += sizeof(struct inotify_event); // no room for the event's name: adds some
    else if (length < 0 && errno != EINTR) break;
  }
  errno = saved;
  if (length <= 0) return 0; // no event
  const struct inotify_event *event = (const void *)room;
  unsigned changes = 0;
  for (int i = 0; i < KINDS; i++)
    if (event->mask & bits_of[i].bits) changes |= bits_of[i].change;
  *name = event->len > 0 ? event->name : NULL;
  return changes;
}

// MARK: Dispatch's main queue

extern int _dispatch_get_main_queue_port_4CF(void)
    __attribute__((weak)); // an eventfd; NULL: the program has no such libdispatch

bool csched_os_main_queue_waits_(void) {
  if (_dispatch_get_main_queue_port_4CF == NULL) return false;
  struct pollfd descriptor = {.fd = _dispatch_get_main_queue_port_4CF(), .events = POLLIN};
  int saved = errno, before = csched_os_disable_cancellation_();
  bool waits = poll(&descriptor, 1, 0) == 1 && (descriptor.revents & POLLIN) != 0;
  csched_os_restore_cancellation_(before);
  errno = saved;
  return waits;
}
#endif
