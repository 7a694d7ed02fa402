#if defined(__APPLE__) // Platform layer for Darwin: no signals, children and files yet. See platform_sources.h.
#include "../platform_sources.h"
#include <errno.h>
#include <fcntl.h>

int csched_os_descriptor_copy_(int fd, int *copy) {
  int saved = errno, error = 0, made = fcntl(fd, F_DUPFD_CLOEXEC, 3); // 3: not a standard stream's number
  if (made < 0) error = errno;
  else *copy = made;
  errno = saved;
  return error;
}

int csched_os_wake_fd_open_(int *fd) {
  *fd = -1;
  return ENOTSUP;
}
void csched_os_wake_fd_signal_(int fd) { (void)fd; }
void csched_os_wake_fd_clear_(int fd) { (void)fd; }
int csched_os_wake_fd_renew_(int fd) {
  (void)fd;
  return ENOTSUP;
}
int csched_os_signal_take_(int signal, void (*handler)(int signal)) {
  (void)signal, (void)handler;
  return ENOTSUP;
}
void csched_os_signal_give_back_(int signal, void (*handler)(int signal)) { (void)signal, (void)handler; }
int csched_os_child_open_(int pid, int *fd) {
  (void)pid, (void)fd;
  return ENOTSUP;
}
bool csched_os_child_reap_(int fd, int *end, int *status) {
  (void)fd, (void)end, (void)status;
  return false;
}
int csched_os_file_open_(const char *path, unsigned changes, int *fd) {
  (void)path, (void)changes, (void)fd;
  return ENOTSUP;
}
int csched_os_file_renew_(const char *path, unsigned changes, int fd) {
  (void)path, (void)changes, (void)fd;
  return ENOTSUP;
}
unsigned csched_os_file_read_(int fd, char room[CSCHED_OS_FILE_ROOM], const char **name) {
  (void)fd, (void)room, (void)name;
  return 0;
}
#endif
