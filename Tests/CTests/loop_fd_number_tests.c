// Sources whose descriptor's number now belongs to another file, and sources that share a descriptor.
#include "testing.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

// A source, and its reported events.
typedef struct listener {
  csched_fd_source source; // first: a listener is its source
  csched_loop *loop;
  int calls, error;
  unsigned reported;
  struct listener *removes;
} listener;

static csched_loop *make_loop(void) {
  csched_loop *loop = NULL;
  if (csched_loop_create(&loop) != 0) abort();
  return loop;
}

static void record(csched_fd_source *source, unsigned events) {
  listener *listener = source->context;
  listener->calls++;
  listener->reported |= events;
}

static void end(csched_fd_source *source, int error) {
  listener *listener = source->context;
  listener->error = error;
  if (listener->removes == NULL) return;
  csched_loop_remove_fd(listener->loop, &listener->removes->source);
  memset(&listener->removes->source, 0xAA, sizeof listener->removes->source); // as if freed and used again
}

static void listener_init(listener *listener, csched_loop *loop, int fd, unsigned events) {
  memset(listener, 0, sizeof *listener);
  listener->loop = loop;
  csched_fd_source_init(&listener->source, fd, events, record, listener);
  listener->source.dropped = end;
}

static void make_socket(int ends[2]) {
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) abort();
}
static void send_byte(int fd) { CHECK_EQUAL(write(fd, "x", 1), 1); }

static void unregister(int index, void *context) {
  listener *listener = context;
  (void)index;
  csched_loop_unregister_fd_(listener->loop, &listener->source);
}
static void unregister_elsewhere(listener *listener) { crew_run(1, unregister, listener); }

// MARK: numbers of other files

enum { DEV_NULL, DEV_ZERO, FILE_, FOLDER, PIPE, SOCKET, EPOLL, EVENT, SIGNAL, TIMER, NOTIFY, LOOP, CLOSED, FILES };

// Gives `number` to another file, or to none.
static void give_number(csched_loop *loop, int number, int kind) {
  int fd = -1, ends[2] = {-1, -1};
  sigset_t none;
  sigemptyset(&none);
  switch (kind) {
  case DEV_NULL: fd = open("/dev/null", O_RDWR | O_CLOEXEC); break;
  case DEV_ZERO: fd = open("/dev/zero", O_RDWR | O_CLOEXEC); break;
  case FILE_: fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC); break;
  case FOLDER: fd = open("/", O_RDONLY | O_CLOEXEC); break;
  case EPOLL: fd = epoll_create1(EPOLL_CLOEXEC); break;
  case EVENT: fd = eventfd(1, EFD_CLOEXEC); break;
  case SIGNAL: fd = signalfd(-1, &none, SFD_CLOEXEC); break;
  case TIMER: fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC); break;
  case NOTIFY: fd = inotify_init1(IN_CLOEXEC); break;
  case LOOP: CHECK_EQUAL(csched_loop_fd(loop, &fd), 0); break;
  case CLOSED: close(number); return;
  case PIPE: CHECK_EQUAL(pipe(ends), 0); break;
  default: make_socket(ends); break;
  }
  if (fd < 0) fd = ends[0];
  CHECK_EQUAL(dup2(fd, number), number);
  if (kind != LOOP) close(fd);
  if (ends[1] >= 0) close(ends[1]); // so a pipe or socket is readable
}

enum { REMOVED, SILENCED, MODIFIED, ADDED_AGAIN, CLOSED_LOOP, WAYS };

static void end_of_number(int kind, int way, bool has_copy, bool is_shared) {
  csched_loop *loop = make_loop();
  int ends[2], others[2];
  make_socket(ends);
  make_socket(others);
  int number = ends[0], copy = has_copy ? dup(number) : -1;
  listener old, beside, other, fresh;
  listener_init(&other, loop, others[0], CSCHED_FD_READ | CSCHED_FD_EDGE);
  listener_init(&old, loop, number, CSCHED_FD_READ);
  listener_init(&beside, loop, number, CSCHED_FD_WRITE);
  CHECK_EQUAL(csched_loop_add_fd(loop, &other.source), 0);
  CHECK_EQUAL(csched_loop_add_shared_fd_(loop, &old.source), 0);
  if (is_shared) CHECK_EQUAL(csched_loop_add_shared_fd_(loop, &beside.source), 0);
  give_number(loop, number, kind);
  switch (way) {
  case REMOVED: CHECK_EQUAL(csched_loop_remove_fd(loop, &old.source), EBADF); break;
  case SILENCED:
    unregister_elsewhere(&old);
    CHECK_EQUAL(csched_loop_remove_fd(loop, &old.source), EBADF);
    break;
  case MODIFIED:
    CHECK_EQUAL(csched_loop_modify_fd(loop, &old.source, CSCHED_FD_READ | CSCHED_FD_WRITE), EBADF);
    CHECK_EQUAL(csched_loop_remove_fd(loop, &old.source), EBADF);
    break;
  case ADDED_AGAIN: {
    listener_init(&fresh, loop, number, CSCHED_FD_READ);
    int error = csched_loop_add_fd(loop, &fresh.source);
    bool is_refused = kind == DEV_NULL || kind == DEV_ZERO || kind == FILE_ || kind == FOLDER;
    CHECK_EQUAL(error, is_refused ? EPERM : kind == CLOSED ? EBADF : kind == LOOP ? EINVAL : 0);
    CHECK_EQUAL(old.error, EBADF);
    CHECK_EQUAL(beside.error, is_shared ? EBADF : 0);
    if (error == 0) CHECK_EQUAL(csched_loop_remove_fd(loop, &fresh.source), 0);
    break;
  }
  default:
    csched_loop_close(loop, CSCHED_STOP_RUN);
    CHECK_EQUAL(csched_loop_run_ready(loop, SIZE_MAX), 0);
    CHECK_EQUAL(old.error, ECANCELED);
    CHECK_EQUAL(beside.error, is_shared ? ECANCELED : 0);
  }
  CHECK_EQUAL(csched_loop_remove_fd(loop, &old.source), ENOENT);
  if (is_shared) CHECK_EQUAL(csched_loop_remove_fd(loop, &beside.source), way < ADDED_AGAIN ? EBADF : ENOENT);
  CHECK_EQUAL(fcntl(number, F_GETFD) >= 0, kind != CLOSED); // it is not the library's to close
  if (way != CLOSED_LOOP) {
    if (has_copy) send_byte(ends[1]);
    send_byte(others[1]);
    while (other.calls == 0) csched_loop_run_once(loop, CSCHED_FOREVER); // the loop continues
  }
  CHECK_EQUAL(old.calls, 0);
  csched_loop_destroy(loop);
  if (kind != CLOSED) close(number);
  if (copy >= 0) close(copy);
  close(ends[1]);
  close(others[0]);
  close(others[1]);
}

TEST("a source whose number is another file's is removed") { // FD3, FD6
  for (int kind = 0; kind < FILES; kind++)
    for (int way = 0; way < WAYS; way++)
      for (int each = 0; each < 4; each++) end_of_number(kind, way, each & 1, each & 2);
}

static void number_given_back(void) {
  csched_loop *loop = make_loop();
  int ends[2];
  make_socket(ends);
  listener old, fresh;
  int number = ends[0], copy = dup(number);
  listener_init(&old, loop, number, CSCHED_FD_READ);
  CHECK_EQUAL(csched_loop_add_fd(loop, &old.source), 0);
  give_number(loop, number, DEV_NULL);
  CHECK_EQUAL(csched_loop_remove_fd(loop, &old.source), EBADF); // the system has it still, because of the copy
  CHECK_EQUAL(dup2(copy, number), number);
  listener_init(&fresh, loop, number, CSCHED_FD_READ);
  CHECK_EQUAL(csched_loop_add_fd(loop, &fresh.source), 0);
  send_byte(ends[1]);
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 1);
  CHECK_EQUAL(fresh.calls, 1);
  CHECK_EQUAL(old.calls, 0);
  CHECK_EQUAL(csched_loop_remove_fd(loop, &fresh.source), 0);
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 0);
  csched_loop_destroy(loop);
  close(number);
  close(copy);
  close(ends[1]);
}

TEST("a number that belongs to its old file again can be added again") { number_given_back(); }

// Makes the loop replace its poller (FD7): a descriptor is closed before its source, while a copy of it is open and
// readable.
static void replace_poller(csched_loop *loop) {
  int ends[2];
  make_socket(ends);
  listener listener;
  listener_init(&listener, loop, ends[0], CSCHED_FD_READ);
  CHECK_EQUAL(csched_loop_add_fd(loop, &listener.source), 0);
  int copy = dup(ends[0]);
  close(ends[0]);
  CHECK_EQUAL(csched_loop_remove_fd(loop, &listener.source), EBADF);
  send_byte(ends[1]);
  csched_loop_run_ready(loop, 16); // a writable source is ready again and again
  close(copy);
  close(ends[1]);
}

static void number_in_new_poller(void) {
  csched_loop *loop = make_loop();
  int ends[2], others[2];
  make_socket(ends);
  make_socket(others);
  listener stale, reading, writing;
  listener_init(&stale, loop, ends[0], CSCHED_FD_READ);
  listener_init(&reading, loop, others[0], CSCHED_FD_READ);
  listener_init(&writing, loop, others[0], CSCHED_FD_WRITE);
  CHECK_EQUAL(csched_loop_add_fd(loop, &stale.source), 0);
  CHECK_EQUAL(csched_loop_add_shared_fd_(loop, &reading.source), 0);
  CHECK_EQUAL(csched_loop_add_shared_fd_(loop, &writing.source), 0);
  give_number(loop, ends[0], EVENT); // readable
  replace_poller(loop);
  CHECK_EQUAL(stale.calls, 0);
  writing.calls = 0;
  send_byte(others[1]);
  while (reading.calls == 0 || writing.calls == 0) csched_loop_run_once(loop, CSCHED_FOREVER);
  CHECK_EQUAL(stale.calls, 0);
  CHECK_EQUAL(csched_loop_remove_fd(loop, &stale.source), EBADF);
  csched_loop_destroy(loop);
  for (int i = 0; i < 2; i++) {
    close(ends[i]);
    close(others[i]);
  }
}

TEST("a new poller does not wait for another file that has a source's number") { number_in_new_poller(); }

// MARK: shared descriptors

static bool is_at_end(int socket) {
  struct pollfd one = {.fd = socket, .events = POLLIN};
  char byte;
  return poll(&one, 1, 0) == 1 && read(socket, &byte, 1) == 0;
}

static void sources_share(void) {
  csched_loop *loop = make_loop();
  int ends[2];
  make_socket(ends);
  listener reading, writing, also, edge;
  listener_init(&reading, loop, ends[0], CSCHED_FD_READ);
  listener_init(&writing, loop, ends[0], CSCHED_FD_WRITE);
  listener_init(&also, loop, ends[0], CSCHED_FD_READ);
  listener_init(&edge, loop, ends[0], CSCHED_FD_READ | CSCHED_FD_EDGE);
  CHECK_EQUAL(csched_loop_add_shared_fd_(loop, &reading.source), 0);
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 0);
  CHECK_EQUAL(csched_loop_add_shared_fd_(loop, &writing.source), 0);
  CHECK_EQUAL(csched_loop_add_shared_fd_(loop, &also.source), 0);
  CHECK_EQUAL(csched_loop_add_shared_fd_(loop, &also.source), EEXIST); // itself
  CHECK_EQUAL(csched_loop_add_shared_fd_(loop, &edge.source), EEXIST);
  CHECK_EQUAL(csched_loop_add_fd(loop, &edge.source), EEXIST);
  send_byte(ends[1]);
  CHECK_EQUAL(csched_loop_run_ready(loop, 3), 3);
  CHECK(reading.calls == 1 && writing.calls == 1 && also.calls == 1);
  CHECK(reading.reported == CSCHED_FD_READ && writing.reported == CSCHED_FD_WRITE && also.reported == CSCHED_FD_READ);
  CHECK_EQUAL(csched_loop_remove_fd(loop, &reading.source), 0); // the first of the ring
  unregister_elsewhere(&writing);
  CHECK_EQUAL(csched_loop_run_ready(loop, 2), 2);
  CHECK(reading.calls == 1 && writing.calls == 1 && also.calls == 3);
  CHECK_EQUAL(csched_loop_modify_fd(loop, &also.source, CSCHED_FD_WRITE), 0);
  CHECK_EQUAL(csched_loop_add_shared_fd_(loop, &reading.source), 0); // beside an unregistered one
  CHECK_EQUAL(csched_loop_run_ready(loop, 2), 2);
  CHECK(reading.calls == 2 && writing.calls == 1 && also.calls == 4);
  CHECK_EQUAL(csched_loop_remove_fd(loop, &writing.source), 0);
  CHECK_EQUAL(csched_loop_remove_fd(loop, &also.source), 0);
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 1);
  CHECK(reading.calls == 3 && writing.calls == 1 && also.calls == 4);
  CHECK_EQUAL(csched_loop_remove_fd(loop, &reading.source), 0);
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 0);
  CHECK_EQUAL(csched_loop_add_fd(loop, &edge.source), 0); // none is left
  csched_loop_destroy(loop);
  CHECK_EQUAL(edge.error, ECANCELED);
  close(ends[0]);
  close(ends[1]);
}

// FD3, FD6
TEST("sources share a descriptor until each is removed") { sources_share(); }

static void shared_by_another_loop(void) {
  csched_loop *loop = make_loop(), *next = make_loop();
  int ends[2];
  make_socket(ends);
  listener reading, writing, taken;
  listener_init(&reading, loop, ends[0], CSCHED_FD_READ);
  listener_init(&writing, loop, ends[0], CSCHED_FD_WRITE);
  listener_init(&taken, next, ends[0], CSCHED_FD_READ);
  CHECK_EQUAL(csched_loop_add_shared_fd_(loop, &reading.source), 0);
  CHECK_EQUAL(csched_loop_add_shared_fd_(loop, &writing.source), 0);
  unregister_elsewhere(&reading);
  unregister_elsewhere(&writing);
  CHECK_EQUAL(csched_loop_add_fd(next, &taken.source), 0); // the first loop has not run since
  send_byte(ends[1]);
  CHECK_EQUAL(csched_loop_run_ready(next, 1), 1);
  char byte;
  CHECK_EQUAL(read(ends[0], &byte, 1), 1); // unread, it would be an error of the peer's
  unregister_elsewhere(&taken);
  close(ends[0]);
  CHECK(is_at_end(ends[1]));
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 0);
  CHECK_EQUAL(csched_loop_remove_fd(loop, &reading.source), 0);
  CHECK_EQUAL(csched_loop_remove_fd(loop, &writing.source), 0);
  CHECK_EQUAL(csched_loop_remove_fd(next, &taken.source), 0);
  csched_loop_destroy(loop);
  csched_loop_destroy(next);
  close(ends[1]);
}

TEST("once all its sources are unregistered, a close closes a shared descriptor, and another loop may use it") {
  shared_by_another_loop();
}

static void shared_and_reused(bool removes) {
  csched_loop *loop = make_loop();
  int ends[2];
  make_socket(ends);
  listener first, second, third, fresh;
  listener *all[] = {&first, &second, &third};
  for (int i = 0; i < 3; i++) {
    listener_init(all[i], loop, ends[0], CSCHED_FD_READ);
    CHECK_EQUAL(csched_loop_add_shared_fd_(loop, &all[i]->source), 0);
  }
  if (removes) { // whichever is dropped first
    first.removes = &third;
    second.removes = &third;
  }
  give_number(loop, ends[0], EVENT);
  listener_init(&fresh, loop, ends[0], CSCHED_FD_READ);
  CHECK_EQUAL(csched_loop_add_shared_fd_(loop, &fresh.source), 0);
  CHECK_EQUAL(first.error, EBADF);
  CHECK_EQUAL(second.error, EBADF);
  if (!removes) CHECK_EQUAL(third.error, EBADF);
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 1);
  CHECK_EQUAL(fresh.calls, 1);
  csched_loop_destroy(loop);
  close(ends[0]);
  close(ends[1]);
}

TEST("a shared descriptor that was closed drops all its sources, which may remove each other") {
  shared_and_reused(false);
  shared_and_reused(true);
}

typedef struct unregistering {
  listener *listeners;
  int count;
} unregistering;
static void unregister_all(int index, void *context) {
  unregistering *test = context;
  for (int i = index; i < test->count; i += 2)
    csched_loop_unregister_fd_(test->listeners[i].loop, &test->listeners[i].source);
}
enum { LISTENERS = 8 };
static void add_beside_unregistering(csched_job *job) {
  listener *listeners = job->context;
  for (int i = 0; i < LISTENERS; i++) {
    int error = csched_loop_add_shared_fd_(listeners[i].loop, &listeners[i].source);
    CHECK(error == 0 || error == ECANCELED);
  }
}
static void drop_job(csched_job *job) { (void)job; }
static void remove_unregistered(csched_job *job) {
  listener *listeners = job->context;
  for (int i = 0; i < LISTENERS; i++) {
    int error = csched_loop_remove_fd(listeners[i].loop, &listeners[i].source);
    CHECK(error == 0 || error == ENOENT);
  }
}

static void shared_under_unregistering(int rounds) {
  static const csched_job_type adding = {add_beside_unregistering, drop_job, NULL};
  static const csched_job_type removing = {remove_unregistered, drop_job, NULL};
  csched_thread *thread = start_thread("shared");
  for (int round = 0; round < rounds; round++) {
    int ends[2];
    make_socket(ends);
    listener listeners[LISTENERS];
    csched_job job;
    for (int i = 0; i < LISTENERS; i++)
      listener_init(&listeners[i], csched_thread_loop(thread), ends[0], i % 2 ? CSCHED_FD_READ : CSCHED_FD_WRITE);
    csched_job_init(&job, &adding, listeners);
    csched_target_submit(csched_thread_target(thread), &job);
    unregistering test = {listeners, LISTENERS};
    crew_run(2, unregister_all, &test);
    wait_until_run(thread);
    close(ends[0]);
    CHECK(is_at_end(ends[1]));
    csched_job_init(&job, &removing, listeners);
    csched_target_submit(csched_thread_target(thread), &job);
    wait_until_run(thread);
    close(ends[1]);
  }
  stop_and_join(thread, CSCHED_STOP_RUN);
}

TEST("sources that are added to a shared descriptor while threads unregister them leave nothing") {
  shared_under_unregistering(few(times(300)));
}
