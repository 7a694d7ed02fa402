#include "testing.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

// A source at one end of a socket pair, and its reported events.
typedef struct ear {
  csched_fd_source source; // first: an ear is its source
  csched_loop *loop;
  int other; // the far end
  int calls, all;
  unsigned told;
  struct ear *removes;
  void (*body)(struct ear *);
} ear;

static csched_loop *make_loop(void) {
  csched_loop *loop = NULL;
  if (csched_loop_create(&loop) != 0) abort();
  return loop;
}

static void hear(csched_fd_source *source, unsigned events) {
  ear *ear = source->context;
  ear->calls++;
  ear->told = events;
  if (ear->body != NULL) ear->body(ear);
}

static void ear_open(ear *ear, csched_loop *loop, unsigned events) {
  int ends[2];
  memset(ear, 0, sizeof *ear);
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) abort();
  ear->other = ends[1];
  ear->loop = loop;
  csched_fd_source_init(&ear->source, ends[0], events, hear, ear);
  CHECK_EQUAL(csched_loop_add_fd(loop, &ear->source), 0);
}

static void ear_close(ear *ear) {
  csched_loop_remove_fd(ear->loop, &ear->source);
  close(ear->source.fd);
  close(ear->other);
}

static void say(int fd) { CHECK_EQUAL(write(fd, "x", 1), 1); }
static void listen_to(ear *ear) {
  char bytes[64];
  while (read(ear->source.fd, bytes, sizeof bytes) > 0) {}
}

static void fd_ready(void) {
  csched_loop *loop = make_loop();
  ear ear;
  ear_open(&ear, loop, CSCHED_FD_READ);
  CHECK_EQUAL(csched_loop_run_ready(loop, SIZE_MAX), 0);
  say(ear.other);
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 1);
  CHECK_EQUAL(ear.told, CSCHED_FD_READ);
  CHECK_EQUAL(csched_loop_modify_fd(loop, &ear.source, CSCHED_FD_READ | CSCHED_FD_WRITE), 0);
  CHECK(csched_loop_run_once(loop, CSCHED_FOREVER)); // a source is as good as a job
  CHECK_EQUAL(ear.told, CSCHED_FD_READ | CSCHED_FD_WRITE);
  listen_to(&ear);
  CHECK(csched_loop_run_once(loop, CSCHED_FOREVER));
  CHECK_EQUAL(ear.told, CSCHED_FD_WRITE);
  CHECK_EQUAL(csched_loop_modify_fd(loop, &ear.source, CSCHED_FD_READ), 0);
  csched_time deadline = csched_now() + 3 * MS;
  CHECK(!csched_loop_run_once(loop, deadline));
  CHECK(csched_now() >= deadline);
  close(ear.other);
  CHECK(csched_loop_run_once(loop, CSCHED_FOREVER)); // end of file: the next read returns it
  CHECK_EQUAL(ear.told, CSCHED_FD_READ);
  char byte;
  CHECK_EQUAL(read(ear.source.fd, &byte, 1), 0);
  CHECK_EQUAL(csched_loop_remove_fd(loop, &ear.source), 0);
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 0);
  int ends[2];
  CHECK_EQUAL(pipe(ends), 0);
  csched_fd_source_init(&ear.source, ends[1], CSCHED_FD_WRITE | CSCHED_FD_EDGE, hear, &ear);
  CHECK_EQUAL(csched_loop_add_fd(loop, &ear.source), 0);
  CHECK_EQUAL(csched_loop_run_ready(loop, 9), 1);
  close(ends[0]);
  CHECK_EQUAL(csched_loop_run_ready(loop, 9), 1); // an error: the next write returns it
  CHECK_EQUAL(ear.told, CSCHED_FD_WRITE);
  csched_loop_destroy(loop);
  close(ends[1]);
}

// FD3
TEST("a source reports that it can be read, and written") { fd_ready(); }

static void fd_level_and_edge(void) {
  csched_loop *loop = make_loop();
  ear level, edge;
  ear_open(&level, loop, CSCHED_FD_READ);
  ear_open(&edge, loop, CSCHED_FD_READ | CSCHED_FD_EDGE);
  say(level.other);
  say(edge.other);
  CHECK_EQUAL(csched_loop_run_ready(loop, 5), 5);
  CHECK_EQUAL(edge.calls, 1);
  CHECK_EQUAL(level.calls, 4);
  say(edge.other); // more is a change
  listen_to(&level);
  CHECK_EQUAL(csched_loop_run_ready(loop, 5), 1 + (level.calls > 4));
  CHECK_EQUAL(edge.calls, 2);
  CHECK_EQUAL(csched_loop_modify_fd(loop, &edge.source, CSCHED_FD_READ | CSCHED_FD_EDGE), 0);
  CHECK_EQUAL(csched_loop_run_ready(loop, 5), 1); // the old input is reported again
  ear_close(&level);
  ear_close(&edge);
  csched_loop_destroy(loop);
}

// FD4
TEST("a level is reported again, an edge once") { fd_level_and_edge(); }

static void remove_it(ear *it) {
  it->removes->all++;
  csched_loop_remove_fd(it->loop, &it->removes->source);
  memset(&it->removes->source, 0xAA, sizeof it->removes->source); // as if freed and used again
}

static void fd_removed(void) {
  csched_loop *loop = make_loop();
  ear ears[3];
  int fds[3];
  for (int i = 0; i < 3; i++) {
    ear_open(&ears[i], loop, CSCHED_FD_READ);
    fds[i] = ears[i].source.fd;
    say(ears[i].other); // one poll finds all ready
  }
  for (int i = 0; i < 3; i++) {
    ears[i].body = remove_it;
    ears[i].removes = &ears[i]; // itself
  }
  ears[0].removes = &ears[1]; // or the next
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 1);
  CHECK_EQUAL(ears[0].calls, 1);
  ears[0].removes = &ears[0];
  CHECK_EQUAL(csched_loop_run_ready(loop, SIZE_MAX), 2);
  CHECK_EQUAL(ears[0].calls, 2);
  CHECK_EQUAL(ears[1].calls, 0);
  CHECK_EQUAL(ears[2].calls, 1);
  for (int i = 0; i < 3; i++) {
    say(ears[i].other);
    CHECK_EQUAL(ears[i].all, 1);
  }
  CHECK_EQUAL(csched_loop_run_ready(loop, SIZE_MAX), 0);
  for (int i = 0; i < 3; i++) {
    close(fds[i]);
    close(ears[i].other);
  }
  csched_loop_destroy(loop);
}

// FD3
TEST("a source removed in a handler is not called again") { fd_removed(); }

// Closes the other source's descriptor, and reuses its number for a descriptor without input.
static ear new_ear;
static void replace(ear *it) {
  ear *old = it->removes;
  int number = old->source.fd, copy;
  if (old->all) CHECK_EQUAL(csched_loop_remove_fd(it->loop, &old->source), 0);
  close(number); // or closed first, which takes it out as well
  close(old->other);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) abort();
  copy = ends[0] == number ? number : dup2(ends[0], number);
  if (copy != ends[0]) close(ends[0]);
  CHECK_EQUAL(copy, number);
  memset(&new_ear, 0, sizeof new_ear);
  new_ear.other = ends[1];
  new_ear.loop = it->loop;
  csched_fd_source_init(&new_ear.source, number, CSCHED_FD_READ, hear, &new_ear);
  CHECK_EQUAL(csched_loop_add_fd(it->loop, &new_ear.source), 0);
  CHECK_EQUAL(csched_loop_remove_fd(it->loop, &old->source), ENOENT);
  listen_to(it);
  it->body = NULL;
}

static void fd_number_used_again(void) {
  for (int removed = 0; removed < 2; removed++) {
    csched_loop *loop = make_loop();
    ear first, old;
    ear_open(&first, loop, CSCHED_FD_READ);
    ear_open(&old, loop, CSCHED_FD_READ);
    first.body = replace;
    first.removes = &old;
    old.all = removed;
    say(first.other);
    say(old.other); // found ready by the same poll
    CHECK_EQUAL(csched_loop_run_ready(loop, SIZE_MAX), 1);
    CHECK_EQUAL(old.calls, 0);
    CHECK_EQUAL(new_ear.calls, 0);
    say(new_ear.other);
    CHECK_EQUAL(csched_loop_run_ready(loop, 1), 1);
    CHECK_EQUAL(new_ear.calls, 1);
    ear_close(&first);
    ear_close(&new_ear);
    csched_loop_destroy(loop);
  }
}

// FD3
TEST("a descriptor's number used again brings no stale event") { fd_number_used_again(); }

// The old one's file stays open by a copy, so the system goes on reporting what happens there, under the number that is
// the new one's.
static void fd_copy_is_nobodys(void) {
  csched_loop *loop = make_loop();
  ear old, fresh = {.loop = loop};
  ear_open(&old, loop, CSCHED_FD_READ);
  int number = old.source.fd, copy = dup(number), ends[2];
  CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  CHECK_EQUAL(dup2(ends[0], number), number); // closes it first; no other thread gets the number in between
  close(ends[0]);
  fresh.other = ends[1];
  csched_fd_source_init(&fresh.source, number, CSCHED_FD_READ, hear, &fresh);
  CHECK_EQUAL(csched_loop_add_fd(loop, &fresh.source), 0);
  say(old.other);
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 0);
  CHECK_EQUAL(fresh.calls, 0);
  say(fresh.other);
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 1);
  CHECK_EQUAL(fresh.calls, 1);
  CHECK_EQUAL(old.calls, 0);
  close(copy);
  close(old.other);
  ear_close(&fresh);
  csched_loop_destroy(loop);
}

TEST("reports of the copy of an old descriptor reach no source") { fd_copy_is_nobodys(); }

// MARK: silence

typedef struct silencing {
  csched_loop *loop;
  csched_fd_source *source;
} silencing;

static void silence(int index, void *context) {
  silencing *test = context;
  (void)index;
  csched_loop_unregister_fd_(test->loop, test->source);
}

static void fd_silenced(void) {
  csched_loop *loop = make_loop();
  ear first, second;
  ear_open(&first, loop, CSCHED_FD_READ);
  ear_open(&second, loop, CSCHED_FD_READ);
  say(first.other);
  say(second.other);
  silencing test = {loop, &first.source};
  crew_run(1, silence, &test);
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 1);
  CHECK_EQUAL(first.calls, 0);
  CHECK_EQUAL(second.calls, 1);
  listen_to(&second);
  csched_fd_source other; // the loop can wait for the descriptor again, before it has removed the silent one
  csched_fd_source_init(&other, first.source.fd, CSCHED_FD_READ, hear, &first);
  CHECK_EQUAL(csched_loop_add_fd(loop, &other), 0);
  CHECK_EQUAL(csched_loop_remove_fd(loop, &first.source), ENOENT); // it made way
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 1);
  CHECK_EQUAL(first.calls, 1);
  CHECK_EQUAL(csched_loop_remove_fd(loop, &other), 0);
  csched_fd_source_init(&first.source, first.source.fd, CSCHED_FD_READ, hear, &first);
  crew_run(1, silence, &test);
  CHECK_EQUAL(csched_loop_add_fd(loop, &first.source), ECANCELED); // it was silenced before
  ear_close(&first);
  ear_close(&second);
  csched_loop_destroy(loop);
}

// FD6
TEST("a source that another thread silences leaves the poller at once") { fd_silenced(); }

static csched_time used_here(void) {
  struct timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return (csched_time)used.tv_sec * 1000000000 + (csched_time)used.tv_nsec;
}

static void fd_closed_with_copy(bool is_silent) {
  csched_loop *loop = make_loop();
  ear ear, other;
  ear_open(&other, loop, CSCHED_FD_READ);
  ear_open(&ear, loop, CSCHED_FD_READ);
  int copy = dup(ear.source.fd);
  silencing test = {loop, &ear.source};
  if (is_silent) crew_run(1, silence, &test);
  close(ear.source.fd);
  csched_loop_remove_fd(loop, &ear.source); // too late, unless it was silent
  say(ear.other);
  csched_time before = used_here();
  CHECK_EQUAL(csched_loop_run_until(loop, csched_now() + 200 * MS), CSCHED_RUN_TIMED_OUT);
  CHECK(used_here() - before < 100 * MS);
  CHECK_EQUAL(ear.calls, 0);
  say(other.other); // what the loop has besides goes on
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 1);
  CHECK_EQUAL(other.calls, 1);
  close(copy);
  close(ear.other);
  ear_close(&other);
  csched_loop_destroy(loop);
}

TEST("a descriptor closed before its source, with a copy, does not keep the loop busy") { // FD6, FD7
  fd_closed_with_copy(false);
  fd_closed_with_copy(true);
}

static void fd_errors(void) {
  csched_loop *loop = make_loop(), *other = make_loop();
  ear ear;
  ear_open(&ear, loop, CSCHED_FD_READ);
  csched_fd_source source;
  CHECK_EQUAL(csched_loop_add_fd(loop, &ear.source), EEXIST);
  csched_fd_source_init(&source, ear.source.fd, CSCHED_FD_WRITE, hear, NULL);
  CHECK_EQUAL(csched_loop_add_fd(loop, &source), EEXIST);
  CHECK_EQUAL(csched_loop_remove_fd(loop, &source), ENOENT);
  CHECK_EQUAL(csched_loop_remove_fd(other, &ear.source), ENOENT);
  CHECK_EQUAL(csched_loop_modify_fd(loop, &source, CSCHED_FD_READ), ENOENT);
  CHECK_EQUAL(csched_loop_modify_fd(loop, &ear.source, CSCHED_FD_EDGE), EINVAL);
  csched_fd_source_init(&source, ear.source.fd, 0, hear, NULL);
  CHECK_EQUAL(csched_loop_add_fd(loop, &source), EINVAL);
  csched_fd_source_init(&source, -1, CSCHED_FD_READ, hear, NULL);
  CHECK_EQUAL(csched_loop_add_fd(loop, &source), EBADF);
  int none = dup(ear.other);
  close(none);
  csched_fd_source_init(&source, none, CSCHED_FD_READ, hear, NULL);
  CHECK_EQUAL(csched_loop_add_fd(loop, &source), EBADF);
  FILE *file = tmpfile();
  csched_fd_source_init(&source, fileno(file), CSCHED_FD_READ, hear, NULL);
  CHECK_EQUAL(csched_loop_add_fd(loop, &source), EPERM);
  fclose(file);
  say(ear.other);
  csched_loop_close(loop, CSCHED_STOP_RUN);
  CHECK_EQUAL(csched_loop_run_ready(loop, SIZE_MAX), 0); // a closed loop has removed all
  CHECK_EQUAL(csched_loop_remove_fd(loop, &ear.source), ENOENT);
  CHECK_EQUAL(csched_loop_add_fd(loop, &ear.source), ECANCELED);
  CHECK_EQUAL(csched_loop_add_fd(other, &ear.source), 0); // and another may have it
  CHECK_EQUAL(csched_loop_run_ready(other, 1), 1);
  csched_loop_destroy(loop);
  csched_loop_destroy(other);
  close(ear.source.fd);
  close(ear.other);
}

TEST("what cannot be waited for is refused") { fd_errors(); }

static void run_until_both(ear *it) {
  listen_to(it);
  it->removes->body = NULL;
  if (it->removes->calls == 0) CHECK(csched_loop_run_once(it->loop, CSCHED_FOREVER));
  CHECK_EQUAL(it->removes->calls, 1);
}
static void stop_loop(ear *it) { csched_loop_end_run(it->loop); }

static void fd_nested(void) {
  csched_loop *loop = make_loop();
  ear a, b;
  ear_open(&a, loop, CSCHED_FD_READ | CSCHED_FD_EDGE);
  ear_open(&b, loop, CSCHED_FD_READ | CSCHED_FD_EDGE);
  a.removes = &b;
  b.removes = &a;
  a.body = b.body = run_until_both; // the inner run reports the events that the outer one has polled
  say(a.other);
  say(b.other);
  CHECK_EQUAL(csched_loop_run_ready(loop, SIZE_MAX), 1);
  CHECK_EQUAL(a.calls + b.calls, 2);
  a.body = b.body = stop_loop; // events polled before a stop wait for the next run
  say(a.other);
  say(b.other);
  CHECK_EQUAL(csched_loop_run(loop), CSCHED_RUN_ENDED);
  CHECK_EQUAL(a.calls + b.calls, 3);
  CHECK_EQUAL(csched_loop_run(loop), CSCHED_RUN_ENDED);
  CHECK_EQUAL(a.calls + b.calls, 4);
  ear_close(&a);
  ear_close(&b);
  csched_loop_destroy(loop);
}

// FD4
TEST("a source that one run has found ready is reported by the next or a nested run") { fd_nested(); }

TEST_STOPS("a source added from another thread stops the process", "csched_loop_add_fd:", "belongs to another thread") {
  csched_thread *thread = start_thread("other");
  csched_fd_source source;
  csched_fd_source_init(&source, 0, CSCHED_FD_READ, hear, NULL);
  csched_loop_add_fd(csched_thread_loop(thread), &source);
}
