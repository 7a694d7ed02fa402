// Our loop inside GLib's.
#include "hosts.h"

#include <glib-unix.h>

static GMainLoop *host;

static gboolean idle_ends(gpointer unused) {
  (void)unused;
  hosts_idle_ends();
  return G_SOURCE_REMOVE;
}

static gboolean ready(gint fd, GIOCondition condition, gpointer unused) {
  (void)fd, (void)condition, (void)unused;
  if (hosts_ready()) g_timeout_add(IDLE_MS, idle_ends, NULL);
  if (!hosts_is_stopped()) return G_SOURCE_CONTINUE;
  g_main_loop_quit(host);
  return G_SOURCE_REMOVE;
}

int main(void) {
  pthread_t submitter;
  host = g_main_loop_new(NULL, FALSE);
  g_unix_fd_add(hosts_begin(&submitter), G_IO_IN, ready, NULL);
  g_main_loop_run(host);
  hosts_end("GLib", submitter);
  g_main_loop_unref(host);
  return EXIT_SUCCESS;
}
