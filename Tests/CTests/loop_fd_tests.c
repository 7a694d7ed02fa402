#include "testing.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

// A source at one end of a socket pair, and its reported events.
typedef struct listener {
  csched_fd_source source; // first: a listener is its source
  csched_loop *loop;
  int other; // the far end
  int calls, all;
  unsigned reported;
  struct listener *removes;
  void (*body)(struct listener *);
} listener;

static csched_loop *make_loop(void) {
  csched_loop *loop = NULL;
  if (csched_loop_create(&loop) != 0) abort();
  return loop;
}

static void record(csched_fd_source *source, unsigned events) {
  listener *listener = source->context;
  listener->calls++;
  listener->reported = events;
  if (listener->body != NULL) listener->body(listener);
}

static void listener_open(listener *listener, csched_loop *loop, unsigned events) {
  int ends[2];
  memset(listener, 0, sizeof *listener);
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) abort();
  listener->other = ends[1];
  listener->loop = loop;
  csched_fd_source_init(&listener->source, ends[0], events, record, listener);
  CHECK_EQUAL(csched_loop_add_fd(loop, &listener->source), 0);
}

static void listener_close(listener *listener) {
  csched_loop_remove_fd(listener->loop, &listener->source);
  close(listener->source.fd);
  close(listener->other);
}

static void send_byte(int fd) { CHECK_EQUAL(write(fd, "x", 1), 1); }
static void read_all(listener *listener) {
  char bytes[64];
  while (read(listener->source.fd, bytes, sizeof bytes) > 0) {}
}

static void fd_ready(void) {
  csched_loop *loop = make_loop();
  listener listener;
  listener_open(&listener, loop, CSCHED_FD_READ);
  CHECK_EQUAL(csched_loop_run_ready(loop, SIZE_MAX), 0);
  send_byte(listener.other);
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 1);
  CHECK_EQUAL(listener.reported, CSCHED_FD_READ);
  CHECK_EQUAL(csched_loop_modify_fd(loop, &listener.source, CSCHED_FD_READ | CSCHED_FD_WRITE), 0);
  CHECK(csched_loop_run_once(loop, CSCHED_FOREVER)); // a source is as good as a job
  CHECK_EQUAL(listener.reported, CSCHED_FD_READ | CSCHED_FD_WRITE);
  read_all(&listener);
  CHECK(csched_loop_run_once(loop, CSCHED_FOREVER));
  CHECK_EQUAL(listener.reported, CSCHED_FD_WRITE);
  CHECK_EQUAL(csched_loop_modify_fd(loop, &listener.source, CSCHED_FD_READ), 0);
  csched_time deadline = csched_now() + 3 * MS;
  CHECK(!csched_loop_run_once(loop, deadline));
  CHECK(csched_now() >= deadline);
  close(listener.other);
  CHECK(csched_loop_run_once(loop, CSCHED_FOREVER)); // end of file: the next read returns it
  CHECK_EQUAL(listener.reported, CSCHED_FD_READ);
  char byte;
  CHECK_EQUAL(read(listener.source.fd, &byte, 1), 0);
  CHECK_EQUAL(csched_loop_remove_fd(loop, &listener.source), 0);
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 0);
  int ends[2];
  CHECK_EQUAL(pipe(ends), 0);
  csched_fd_source_init(&listener.source, ends[1], CSCHED_FD_WRITE | CSCHED_FD_EDGE, record, &listener);
  CHECK_EQUAL(csched_loop_add_fd(loop, &listener.source), 0);
  CHECK_EQUAL(csched_loop_run_ready(loop, 9), 1);
  close(ends[0]);
  CHECK_EQUAL(csched_loop_run_ready(loop, 9), 1); // an error: the next write returns it
  CHECK_EQUAL(listener.reported, CSCHED_FD_WRITE);
  csched_loop_destroy(loop);
  close(ends[1]);
}

// FD3
TEST("a source reports that it can be read, and written") { fd_ready(); }

static void fd_level_and_edge(void) {
  csched_loop *loop = make_loop();
  listener level, edge;
  listener_open(&level, loop, CSCHED_FD_READ);
  listener_open(&edge, loop, CSCHED_FD_READ | CSCHED_FD_EDGE);
  send_byte(level.other);
  send_byte(edge.other);
  CHECK_EQUAL(csched_loop_run_ready(loop, 5), 5);
  CHECK_EQUAL(edge.calls, 1);
  CHECK_EQUAL(level.calls, 4);
  send_byte(edge.other); // more is a change
  read_all(&level);
  CHECK_EQUAL(csched_loop_run_ready(loop, 5), 1 + (level.calls > 4));
  CHECK_EQUAL(edge.calls, 2);
  CHECK_EQUAL(csched_loop_modify_fd(loop, &edge.source, CSCHED_FD_READ | CSCHED_FD_EDGE), 0);
  CHECK_EQUAL(csched_loop_run_ready(loop, 5), 1); // the old input is reported again
  listener_close(&level);
  listener_close(&edge);
  csched_loop_destroy(loop);
}

// FD4
TEST("a level is reported again, an edge once") { fd_level_and_edge(); }

static void remove_it(listener *it) {
  it->removes->all++;
  csched_loop_remove_fd(it->loop, &it->removes->source);
  memset(&it->removes->source, 0xAA, sizeof it->removes->source); // as if freed and used again
}

static void fd_removed(void) {
  csched_loop *loop = make_loop();
  listener listeners[3];
  int fds[3];
  for (int i = 0; i < 3; i++) {
    listener_open(&listeners[i], loop, CSCHED_FD_READ);
    fds[i] = listeners[i].source.fd;
    send_byte(listeners[i].other); // one poll finds all ready
  }
  for (int i = 0; i < 3; i++) {
    listeners[i].body = remove_it;
    listeners[i].removes = &listeners[i]; // itself
  }
  listeners[0].removes = &listeners[1]; // or the next
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 1);
  CHECK_EQUAL(listeners[0].calls, 1);
  listeners[0].removes = &listeners[0];
  CHECK_EQUAL(csched_loop_run_ready(loop, SIZE_MAX), 2);
  CHECK_EQUAL(listeners[0].calls, 2);
  CHECK_EQUAL(listeners[1].calls, 0);
  CHECK_EQUAL(listeners[2].calls, 1);
  for (int i = 0; i < 3; i++) {
    send_byte(listeners[i].other);
    CHECK_EQUAL(listeners[i].all, 1);
  }
  CHECK_EQUAL(csched_loop_run_ready(loop, SIZE_MAX), 0);
  for (int i = 0; i < 3; i++) {
    close(fds[i]);
    close(listeners[i].other);
  }
  csched_loop_destroy(loop);
}

// FD3
TEST("a source removed in a handler is not called again") { fd_removed(); }

// Closes the other source's descriptor, and reuses its number for a descriptor without input.
static listener new_listener;
static void replace(listener *it) {
  listener *old = it->removes;
  int number = old->source.fd, copy;
  if (old->all) CHECK_EQUAL(csched_loop_remove_fd(it->loop, &old->source), 0);
  close(number); // or closed first, which takes it out as well
  close(old->other);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) abort();
  copy = ends[0] == number ? number : dup2(ends[0], number);
  if (copy != ends[0]) close(ends[0]);
  CHECK_EQUAL(copy, number);
  memset(&new_listener, 0, sizeof new_listener);
  new_listener.other = ends[1];
  new_listener.loop = it->loop;
  csched_fd_source_init(&new_listener.source, number, CSCHED_FD_READ, record, &new_listener);
  CHECK_EQUAL(csched_loop_add_fd(it->loop, &new_listener.source), 0);
  CHECK_EQUAL(csched_loop_remove_fd(it->loop, &old->source), ENOENT);
  read_all(it);
  it->body = NULL;
}

static void fd_number_used_again(void) {
  for (int removed = 0; removed < 2; removed++) {
    csched_loop *loop = make_loop();
    listener first, old;
    listener_open(&first, loop, CSCHED_FD_READ);
    listener_open(&old, loop, CSCHED_FD_READ);
    first.body = replace;
    first.removes = &old;
    old.all = removed;
    send_byte(first.other);
    send_byte(old.other); // found ready by the same poll
    CHECK_EQUAL(csched_loop_run_ready(loop, SIZE_MAX), 1);
    CHECK_EQUAL(old.calls, 0);
    CHECK_EQUAL(new_listener.calls, 0);
    send_byte(new_listener.other);
    CHECK_EQUAL(csched_loop_run_ready(loop, 1), 1);
    CHECK_EQUAL(new_listener.calls, 1);
    listener_close(&first);
    listener_close(&new_listener);
    csched_loop_destroy(loop);
  }
}

// FD3
TEST("a descriptor's number used again brings no stale event") { fd_number_used_again(); }

// A copy keeps the old source's file open. The system continues to report its events under the number that now belongs
// to the new source.
static void fd_copy_reaches_none(void) {
  csched_loop *loop = make_loop();
  listener old, fresh = {.loop = loop};
  listener_open(&old, loop, CSCHED_FD_READ);
  int number = old.source.fd, copy = dup(number), ends[2];
  CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  CHECK_EQUAL(dup2(ends[0], number), number); // closes it first; no other thread gets the number in between
  close(ends[0]);
  fresh.other = ends[1];
  csched_fd_source_init(&fresh.source, number, CSCHED_FD_READ, record, &fresh);
  CHECK_EQUAL(csched_loop_add_fd(loop, &fresh.source), 0);
  send_byte(old.other);
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 0);
  CHECK_EQUAL(fresh.calls, 0);
  send_byte(fresh.other);
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 1);
  CHECK_EQUAL(fresh.calls, 1);
  CHECK_EQUAL(old.calls, 0);
  close(copy);
  close(old.other);
  listener_close(&fresh);
  csched_loop_destroy(loop);
}

TEST("reports of the copy of an old descriptor reach no source") { fd_copy_reaches_none(); }

// MARK: sources that another thread unregisters

typedef struct unregistering {
  csched_loop *loop;
  csched_fd_source *source;
} unregistering;

static void unregister(int index, void *context) {
  unregistering *test = context;
  (void)index;
  csched_loop_unregister_fd_(test->loop, test->source);
}

static void fd_unregistered(void) {
  csched_loop *loop = make_loop();
  listener first, second;
  listener_open(&first, loop, CSCHED_FD_READ);
  listener_open(&second, loop, CSCHED_FD_READ);
  send_byte(first.other);
  send_byte(second.other);
  unregistering test = {loop, &first.source};
  crew_run(1, unregister, &test);
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 1);
  CHECK_EQUAL(first.calls, 0);
  CHECK_EQUAL(second.calls, 1);
  read_all(&second);
  csched_fd_source other; // the loop can wait for the descriptor again, before it has removed the unregistered one
  csched_fd_source_init(&other, first.source.fd, CSCHED_FD_READ, record, &first);
  CHECK_EQUAL(csched_loop_add_fd(loop, &other), 0);
  CHECK_EQUAL(csched_loop_remove_fd(loop, &first.source), ENOENT); // it made way
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 1);
  CHECK_EQUAL(first.calls, 1);
  CHECK_EQUAL(csched_loop_remove_fd(loop, &other), 0);
  csched_fd_source_init(&first.source, first.source.fd, CSCHED_FD_READ, record, &first);
  crew_run(1, unregister, &test);
  CHECK_EQUAL(csched_loop_add_fd(loop, &first.source), ECANCELED); // it was unregistered before
  listener_close(&first);
  listener_close(&second);
  csched_loop_destroy(loop);
}

// FD6
TEST("a source that another thread unregisters leaves the poller at once") { fd_unregistered(); }

static csched_time used_here(void) {
  struct timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return (csched_time)used.tv_sec * 1000000000 + (csched_time)used.tv_nsec;
}

static void fd_closed_with_copy(bool is_unregistered) {
  csched_loop *loop = make_loop();
  listener listener, other;
  listener_open(&other, loop, CSCHED_FD_READ);
  listener_open(&listener, loop, CSCHED_FD_READ);
  int copy = dup(listener.source.fd);
  unregistering test = {loop, &listener.source};
  if (is_unregistered) crew_run(1, unregister, &test);
  close(listener.source.fd);
  csched_loop_remove_fd(loop, &listener.source); // too late, unless it was unregistered
  send_byte(listener.other);
  csched_time before = used_here();
  CHECK_EQUAL(csched_loop_run_until(loop, csched_now() + 200 * MS), CSCHED_RUN_TIMED_OUT);
  CHECK(used_here() - before < 100 * MS);
  CHECK_EQUAL(listener.calls, 0);
  send_byte(other.other); // the loop's other source still works
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 1);
  CHECK_EQUAL(other.calls, 1);
  close(copy);
  close(listener.other);
  listener_close(&other);
  csched_loop_destroy(loop);
}

TEST("a descriptor closed before its source, with a copy, does not keep the loop busy") { // FD6, FD7
  fd_closed_with_copy(false);
  fd_closed_with_copy(true);
}

static void fd_errors(void) {
  csched_loop *loop = make_loop(), *other = make_loop();
  listener listener;
  listener_open(&listener, loop, CSCHED_FD_READ);
  csched_fd_source source;
  CHECK_EQUAL(csched_loop_add_fd(loop, &listener.source), EEXIST);
  csched_fd_source_init(&source, listener.source.fd, CSCHED_FD_WRITE, record, NULL);
  CHECK_EQUAL(csched_loop_add_fd(loop, &source), EEXIST);
  CHECK_EQUAL(csched_loop_remove_fd(loop, &source), ENOENT);
  CHECK_EQUAL(csched_loop_remove_fd(other, &listener.source), ENOENT);
  CHECK_EQUAL(csched_loop_modify_fd(loop, &source, CSCHED_FD_READ), ENOENT);
  CHECK_EQUAL(csched_loop_modify_fd(loop, &listener.source, CSCHED_FD_EDGE), EINVAL);
  csched_fd_source_init(&source, listener.source.fd, 0, record, NULL);
  CHECK_EQUAL(csched_loop_add_fd(loop, &source), EINVAL);
  csched_fd_source_init(&source, -1, CSCHED_FD_READ, record, NULL);
  CHECK_EQUAL(csched_loop_add_fd(loop, &source), EBADF);
  int none = dup(listener.other);
  close(none);
  csched_fd_source_init(&source, none, CSCHED_FD_READ, record, NULL);
  CHECK_EQUAL(csched_loop_add_fd(loop, &source), EBADF);
  FILE *file = tmpfile();
  csched_fd_source_init(&source, fileno(file), CSCHED_FD_READ, record, NULL);
  CHECK_EQUAL(csched_loop_add_fd(loop, &source), EPERM);
  fclose(file);
  send_byte(listener.other);
  csched_loop_close(loop, CSCHED_STOP_RUN);
  CHECK_EQUAL(csched_loop_run_ready(loop, SIZE_MAX), 0); // a closed loop has removed all
  CHECK_EQUAL(csched_loop_remove_fd(loop, &listener.source), ENOENT);
  CHECK_EQUAL(csched_loop_add_fd(loop, &listener.source), ECANCELED);
  CHECK_EQUAL(csched_loop_add_fd(other, &listener.source), 0); // and another may have it
  CHECK_EQUAL(csched_loop_run_ready(other, 1), 1);
  csched_loop_destroy(loop);
  csched_loop_destroy(other);
  close(listener.source.fd);
  close(listener.other);
}

TEST("a descriptor that cannot be waited for is refused") { fd_errors(); }

static void run_until_both(listener *it) {
  read_all(it);
  it->removes->body = NULL;
  if (it->removes->calls == 0) CHECK(csched_loop_run_once(it->loop, CSCHED_FOREVER));
  CHECK_EQUAL(it->removes->calls, 1);
}
static void stop_loop(listener *it) { csched_loop_end_run(it->loop); }

static void fd_nested(void) {
  csched_loop *loop = make_loop();
  listener a, b;
  listener_open(&a, loop, CSCHED_FD_READ | CSCHED_FD_EDGE);
  listener_open(&b, loop, CSCHED_FD_READ | CSCHED_FD_EDGE);
  a.removes = &b;
  b.removes = &a;
  a.body = b.body = run_until_both; // the inner run reports the events that the outer one has polled
  send_byte(a.other);
  send_byte(b.other);
  CHECK_EQUAL(csched_loop_run_ready(loop, SIZE_MAX), 1);
  CHECK_EQUAL(a.calls + b.calls, 2);
  a.body = b.body = stop_loop; // events polled before a stop wait for the next run
  send_byte(a.other);
  send_byte(b.other);
  CHECK_EQUAL(csched_loop_run(loop), CSCHED_RUN_ENDED);
  CHECK_EQUAL(a.calls + b.calls, 3);
  CHECK_EQUAL(csched_loop_run(loop), CSCHED_RUN_ENDED);
  CHECK_EQUAL(a.calls + b.calls, 4);
  listener_close(&a);
  listener_close(&b);
  csched_loop_destroy(loop);
}

// FD4
TEST("a source that one run has found ready is reported by the next or a nested run") { fd_nested(); }

TEST_STOPS("a source added from another thread stops the process", "csched_loop_add_fd:", "belongs to another thread") {
  csched_thread *thread = start_thread("other");
  csched_fd_source source;
  csched_fd_source_init(&source, 0, CSCHED_FD_READ, record, NULL);
  csched_loop_add_fd(csched_thread_loop(thread), &source);
}
