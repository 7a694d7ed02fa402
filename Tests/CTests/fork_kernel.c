#include "fork_kernel.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

void child_end(void) {
  ctest_failure failure = kernel_result();
  if (failure != NULL) {
    ssize_t written = write(STDERR_FILENO, failure, strlen(failure));
    (void)written;
  }
  _exit(failure != NULL ? 99 : 0);
}

static CSCHED_NORETURN void be_child(int said, void (*body)(void *), void *context) {
  sigset_t alarms; // which the thread that forked, if it is one of Dispatch's, does not take
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
  signal(SIGALRM, SIG_DFL);
  alarm(CHILD_SECONDS);
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  signal(SIGABRT, SIG_DFL); // a test runner may have its own
  dup2(said, STDERR_FILENO);
  kernel_begin();
  body(context);
  child_end();
}

void child_check_(check_place here, void (*body)(void *), void *context, int status, const char *says) {
  int ends[2], ended = 0;
  char said[1024], found[1400];
  size_t length = 0;
  if (pipe(ends) != 0) abort();
  pid_t child = fork();
  if (child < 0) abort();
  if (child == 0) be_child(ends[1], body, context);
  close(ends[1]);
  for (ssize_t count;
       length < sizeof said - 1 && (count = read(ends[0], said + length, sizeof said - 1 - length)) != 0;)
    length += count > 0 ? (size_t)count : 0;
  said[length] = 0;
  close(ends[0]);
  while (waitpid(child, &ended, 0) < 0 && errno == EINTR) {}
  bool is_right = says == NULL ? WIFEXITED(ended) && WEXITSTATUS(ended) == status
                               : WIFSIGNALED(ended) && WTERMSIG(ended) == SIGABRT && strstr(said, says) != NULL;
  if (is_right) return;
  snprintf(found, sizeof found, "the child %s %d, and says: %s", WIFSIGNALED(ended) ? "dies of signal" : "ends with",
           WIFSIGNALED(ended) ? WTERMSIG(ended) : WEXITSTATUS(ended), said);
  kernel_fail(here, found);
}

ctest_failure ctest_fork_calls(void (*body)(void *), void *context, const char *says) {
  kernel_begin();
  child_check_(HERE, body, context, 0, says);
  return kernel_result();
}

void ctest_fork_fail(const char *text) { kernel_fail(HERE, text); }
