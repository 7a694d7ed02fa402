// A daemon: serves until SIGTERM or SIGINT, then gives back everything, and ends with status 0. It stays in the
// foreground, as systemd wants it.
#define _GNU_SOURCE // sigprocmask
#include "echo.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void on_signal(csched_fd_source *source, unsigned events) {
  (void)events;
  struct signalfd_siginfo info;
  if (read(source->fd, &info, sizeof info) == (ssize_t)sizeof info) csched_loop_end_run(source->context);
}

int main(int count, char **arguments) {
  const char *path;
  csched_time idle;
  if (echo_arguments(count, arguments, &path, &idle) != 0) return EXIT_FAILURE;

  // Signals are read from a descriptor, like anything else. Blocked before there is any other thread, which would
  // inherit the mask.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  int fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd < 0) {
    perror("echo: signalfd");
    return EXIT_FAILURE;
  }

  csched_loop *loop;
  if (csched_loop_create(&loop) != 0) {
    fputs("echo: no memory for a loop\n", stderr);
    return EXIT_FAILURE;
  }
  csched_fd_source signal_source;
  csched_fd_source_init(&signal_source, fd, CSCHED_FD_READ, on_signal, loop);
  echo_server server;
  int status = EXIT_FAILURE;
  if (csched_loop_add_fd(loop, &signal_source) != 0) {
    fputs("echo: cannot wait for signals\n", stderr);
  } else if (echo_server_start(&server, loop, path, idle) == 0) {
    printf("echo: listening at %s\n", path);
    fflush(stdout);
    csched_loop_run(loop);
    echo_server_end(&server);
    printf("echo: served %zu clients\n", server.clients);
    status = EXIT_SUCCESS;
  }
  csched_loop_destroy(loop); // hangs up on those who are left
  close(fd);
  csched_shutdown(CSCHED_STOP_DROP);
  return status;
}
