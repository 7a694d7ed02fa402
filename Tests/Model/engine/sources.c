// The port, for signals, children and files: none of them here. No check adds any.

#include "../../../Sources/CScheduler/platform/platform_sources.h"

#include <errno.h>

int csched_os_wake_fd_open_(int *fd) { return *fd = -1, ENOTSUP; }
void csched_os_wake_fd_signal_(int fd) { (void)fd; }
void csched_os_wake_fd_clear_(int fd) { (void)fd; }
int csched_os_wake_fd_renew_(int fd) { return (void)fd, ENOTSUP; }
int csched_os_signal_take_(int signal, void (*handler)(int)) { return (void)signal, (void)handler, ENOTSUP; }
void csched_os_signal_give_back_(int signal, void (*handler)(int)) { (void)signal, (void)handler; }
int csched_os_child_open_(int pid, int *fd) { return (void)pid, (void)fd, ENOTSUP; }
bool csched_os_child_end_(int fd, bool reaps, int *end, int *status) {
  return (void)fd, (void)reaps, (void)end, (void)status, false;
}
int csched_os_file_open_(const char *path, unsigned changes, int *fd) {
  return (void)path, (void)changes, (void)fd, ENOTSUP;
}
int csched_os_file_renew_(const char *path, unsigned changes, int fd) {
  return (void)path, (void)changes, (void)fd, ENOTSUP;
}
unsigned csched_os_file_read_(int fd, char room[CSCHED_OS_FILE_ROOM], const char **name) {
  return (void)fd, (void)room, (void)name, 0u;
}
void csched_os_close_(int fd) { (void)fd; }
