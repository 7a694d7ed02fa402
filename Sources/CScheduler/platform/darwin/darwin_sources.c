#if defined(__APPLE__) // Platform layer for Darwin: no signals, children and files yet. See platform_sources.h.
#include "../platform_sources.h"
#include <errno.h>

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
bool csched_os_child_end_(int fd, bool reaps, int *end, int *status) {
  (void)fd, (void)reaps, (void)end, (void)status;
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
