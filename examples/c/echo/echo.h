// A server on a UNIX socket that sends back what it is sent, on a loop of yours: daemon.c runs that, daemon_glib.c has
// GLib run it.
#pragma once

#include <CScheduler/CScheduler.h>

typedef struct echo_server {
  csched_loop *loop;
  csched_time idle; // a client that says nothing for so many nanoseconds is hung up on
  const char *path;
  csched_fd_source listener;
  csched_timer retry; // of listening, when there was no descriptor for a client
  size_t clients;     // so far
} echo_server;

/// Does: listens at `path`. A socket that a killed server has left there is replaced; one that is served is not.
/// Returns: 0, or -1 after a message. Thread: the loop's.
int echo_server_start(echo_server *server, csched_loop *loop, const char *path, csched_time idle);

/// Does: listens no more, and unlinks the socket. The clients end with the loop: csched_loop_destroy, which comes next.
/// Thread: the loop's.
void echo_server_end(echo_server *server);

/// Does: reads `path [idle milliseconds]` of the command line. Returns: 0, or -1 after a message.
int echo_arguments(int count, char **arguments, const char **path, csched_time *idle);
