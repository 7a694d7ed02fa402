// All runs on the loop's thread, so nothing is locked. A client is a timer and a descriptor; it lives exactly as long
// as its timer:
//  - it says something:    only the time is noted. One timer each, however much they say: it looks at the time when it
//    is due
//  - it is idle:           the timer runs, and does not submit itself again
//  - it hangs up:          the timer is cancelled
//  - the loop is destroyed: the timer is dropped
// In each case the client's descriptor is closed once, and then its memory freed by the timer's release.
#define _GNU_SOURCE // accept4
#include "echo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const csched_time MS = 1000000, DEFAULT_IDLE_MS = 30000, MOST_IDLE_MS = 86400000, RETRY_MS = 100;

typedef struct client {
  csched_timer timer; // first, so that its job is the client
  csched_fd_source source;
  echo_server *server;
  csched_time heard;
  size_t size, sent; // of the buffer: nothing is read before all of it has been sent
  char buffer[4096];
} client;

static csched_time idle_deadline(const client *client) {
  csched_time idle = client->server->idle;
  return csched_time_after(client->heard, (int64_t)idle);
}

// MARK: the end of a client

static void hang_up(csched_job *job) {
  client *client = (struct client *)job;
  csched_loop_remove_fd(client->server->loop,
                        &client->source); // first, so that the loop does not wait for a number that is used again
  close(client->source.fd);
}

static bool has_input(const client *client) {
  char byte;
  return client->sent == client->size && recv(client->source.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

static void look_whether_idle(csched_job *job) {
  client *client = (struct client *)job;
  if (has_input(client)) client->heard = csched_now(); // it is we who were late: a busy machine, a SIGSTOP
  if (idle_deadline(client) <= csched_now()) hang_up(job);
  else
    csched_target_submit_at(csched_loop_target(client->server->loop), &client->timer, idle_deadline(client),
                            client->server->idle / 16); // the leeway: one wake may serve many
}

static void free_client(csched_job *job) { free(job); }

static const csched_job_type client_type = {look_whether_idle, hang_up, free_client};

// MARK: its life

// Returns: false at its end, or when it has failed.
static bool receive(client *client) {
  ssize_t size = recv(client->source.fd, client->buffer, sizeof client->buffer, 0);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  client->heard = csched_now();
  client->size = (size_t)size;
  client->sent = 0;
  return size > 0;
}

// Returns: false when it has failed. What the socket does not take now is sent when it can be written again.
static bool send_back(client *client) {
  while (client->sent < client->size) {
    ssize_t sent = send(client->source.fd, client->buffer + client->sent, client->size - client->sent,
                        MSG_NOSIGNAL); // EPIPE in place of SIGPIPE, which would end the server
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) break;
    if (sent < 0) return false;
    client->sent += (size_t)sent;
  }
  unsigned events = client->sent < client->size ? CSCHED_FD_WRITE : CSCHED_FD_READ;
  return events == client->source.events || csched_loop_modify_fd(client->server->loop, &client->source, events) == 0;
}

static void serve(csched_fd_source *source, unsigned events) {
  client *client = source->context;
  (void)events; // the calls tell
  bool goes_on = (client->sent < client->size || receive(client)) && send_back(client);
  if (!goes_on) csched_timer_cancel(&client->timer); // hangs up, and frees the client
}

// Takes over the descriptor.
static void begin(echo_server *server, int fd) {
  client *client = malloc(sizeof *client);
  if (client == NULL) {
    close(fd);
    return;
  }
  client->server = server;
  client->heard = csched_now();
  client->size = client->sent = 0;
  csched_timer_init(&client->timer, &client_type, NULL);
  csched_fd_source_init(&client->source, fd, CSCHED_FD_READ, serve, client);
  server->clients++;
  int error = csched_loop_add_fd(server->loop, &client->source);
  if (error != 0) fprintf(stderr, "echo: a client cannot be waited for: %s\n", strerror(error));
  csched_target *target = csched_loop_target(server->loop);
  bool lives = csched_target_submit_at(target, &client->timer, idle_deadline(client), server->idle / 16) == 0;
  if (lives && error != 0) csched_timer_cancel(&client->timer);
}

// MARK: listening

static void listen_again(csched_job *job) {
  echo_server *server = job->context;
  csched_loop_add_fd(server->loop, &server->listener);
}
static void forget_retry(csched_job *job) { (void)job; }
static const csched_job_type retry_type = {listen_again, forget_retry, NULL};

static void accept_one(csched_fd_source *source, unsigned events) {
  (void)events;
  echo_server *server = source->context;
  int fd = accept4(source->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd >= 0) {
    begin(server, fd);
    return;
  }
  if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
  // No descriptor or memory. The listener stays readable, so the loop would call again and again: let clients leave
  // meanwhile.
  csched_loop_remove_fd(server->loop, source);
  csched_target_submit_at(csched_loop_target(server->loop), &server->retry,
                          csched_time_after(csched_now(), (int64_t)(RETRY_MS * MS)), 0);
}

// Returns: a listening socket; -1 and errno.
static int listen_at(const struct sockaddr_un *address) {
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  bool is_bound = bind(fd, (const struct sockaddr *)address, sizeof *address) == 0;
  if (!is_bound && errno == EADDRINUSE) { // a socket is there, of a server that runs or has crashed
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool is_stale =
        probe >= 0 && connect(probe, (const struct sockaddr *)address, sizeof *address) != 0 && errno == ECONNREFUSED;
    if (probe >= 0) close(probe);
    if (is_stale && unlink(address->sun_path) == 0)
      is_bound = bind(fd, (const struct sockaddr *)address, sizeof *address) == 0;
    else errno = EADDRINUSE;
  }
  if (is_bound && listen(fd, SOMAXCONN) == 0) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

int echo_server_start(echo_server *server, csched_loop *loop, const char *path, csched_time idle) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) {
    fprintf(stderr, "echo: the path of a socket has at most %zu bytes: %s\n", sizeof address.sun_path - 1, path);
    return -1;
  }
  strcpy(address.sun_path, path);
  int fd = listen_at(&address);
  if (fd < 0) {
    fprintf(stderr, "echo: cannot listen at %s: %s\n", path, strerror(errno));
    return -1;
  }
  *server = (echo_server){.loop = loop, .idle = idle, .path = path};
  csched_timer_init(&server->retry, &retry_type, server);
  csched_fd_source_init(&server->listener, fd, CSCHED_FD_READ, accept_one, server);
  int error = csched_loop_add_fd(loop, &server->listener);
  if (error == 0) return 0;
  fprintf(stderr, "echo: cannot wait for clients: %s\n", strerror(error));
  close(fd);
  unlink(path);
  return -1;
}

void echo_server_end(echo_server *server) {
  csched_timer_cancel(&server->retry);
  csched_loop_remove_fd(server->loop, &server->listener);
  close(server->listener.fd);
  unlink(server->path);
}

int echo_arguments(int count, char **arguments, const char **path, csched_time *idle) {
  char *end = "";
  long ms = count > 2 ? strtol(arguments[2], &end, 10) : (long)DEFAULT_IDLE_MS;
  if (count < 2 || count > 3 || *end != '\0' || ms <= 0 || ms > (long)MOST_IDLE_MS) {
    fprintf(stderr, "usage: %s PATH [IDLE], where IDLE is in milliseconds, up to a day; %d if left out\n", arguments[0],
            (int)DEFAULT_IDLE_MS);
    return -1;
  }
  *path = arguments[1];
  *idle = (csched_time)ms * MS;
  return 0;
}
