// The same in GLib's loop, beside whatever else lives there (D-Bus, GTK): GLib waits for our loop's descriptor, and has
// it run what is ready.
#include "echo.h"

#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static gboolean run_ready(gint fd, GIOCondition condition, gpointer loop) {
  (void)fd, (void)condition;
  csched_loop_run_ready(
      loop, 64); // not all that there is, so that GLib's own sources have their time; the descriptor stays readable
  return G_SOURCE_CONTINUE;
}

static gboolean on_signal(gpointer host) {
  g_main_loop_quit(host);
  return G_SOURCE_CONTINUE;
}

int main(int count, char **arguments) {
  const char *path;
  csched_time idle;
  if (echo_arguments(count, arguments, &path, &idle) != 0) return EXIT_FAILURE;

  csched_loop *loop;
  int fd;
  if (csched_loop_create(&loop) != 0 || csched_loop_fd(loop, &fd) != 0) {
    fputs("echo: no memory or descriptor for a loop\n", stderr);
    return EXIT_FAILURE;
  }
  GMainLoop *host = g_main_loop_new(NULL, FALSE);
  guint sources[] = {
      g_unix_fd_add(fd, G_IO_IN, run_ready, loop),
      g_unix_signal_add(SIGTERM, on_signal, host),
      g_unix_signal_add(SIGINT, on_signal, host),
  };
  echo_server server;
  int status = EXIT_FAILURE;
  if (echo_server_start(&server, loop, path, idle) == 0) {
    printf("echo: listening at %s\n", path);
    fflush(stdout);
    g_main_loop_run(host);
    echo_server_end(&server);
    printf("echo: served %zu clients\n", server.clients);
    status = EXIT_SUCCESS;
  }
  for (size_t i = 0; i < G_N_ELEMENTS(sources); i++)
    g_source_remove(sources[i]); // before the descriptor that GLib waits for
  g_main_loop_unref(host);
  csched_loop_destroy(loop); // hangs up on those who are left
  csched_shutdown(CSCHED_STOP_DROP);
  return status;
}
