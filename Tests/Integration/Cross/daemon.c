// A daemon that needs no library at run time. Its thread stays alive between the lines of standard input, and adds up
// the numbers in them. SIGTERM ends it cleanly: it prints its counts. Run by Tools/cross.
#define _POSIX_C_SOURCE 200809L
#include <CScheduler/CScheduler.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static csched_loop *loop;
static csched_thread *thread;
static struct {
  long lines, sum, foreign;
  pthread_t first;
} served; // the thread's own: no lock

static void serve(void *number) {
  if (served.lines++ == 0) served.first = pthread_self();
  if (!pthread_equal(served.first, pthread_self())) served.foreign++;
  served.sum += (long)(intptr_t)number;
  printf("%ld\n", served.sum);
  fflush(stdout);
}

static void read_lines(csched_fd_source *source, unsigned events) {
  static char line[64];
  static size_t length;
  (void)events;
  for (char c;;) {
    ssize_t count = read(source->fd, &c, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) csched_loop_remove_fd(loop, source); // end of input: the daemon stays until SIGTERM
    if (count <= 0) return;
    if (c != '\n' && length < sizeof line - 1) line[length++] = c;
    if (c != '\n') continue;
    line[length] = 0;
    length = 0;
    csched_target_async(csched_thread_target(thread), serve, (void *)(intptr_t)atol(line));
  }
}

static void end(int number) {
  (void)number;
  csched_loop_end_run(loop); // which signal handlers may call
}

int main(void) {
  csched_fd_source input;
  if (csched_loop_create(&loop) != 0 || csched_thread_start(&thread, &(csched_thread_options){.name = "server"}) != 0)
    return 1;
  fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
  csched_fd_source_init(&input, STDIN_FILENO, CSCHED_FD_READ, read_lines, NULL);
  if (csched_loop_add_fd(loop, &input) != 0) return 1;
  sigaction(SIGTERM, &(struct sigaction){.sa_handler = end}, NULL);
  csched_loop_run(loop);
  csched_thread_stop(thread, CSCHED_STOP_RUN);
  csched_thread_join(thread);
  csched_thread_destroy(thread);
  csched_loop_destroy(loop);
  printf("served %ld lines on one thread\n", served.lines);
  return served.foreign == 0 ? 0 : 1;
}
