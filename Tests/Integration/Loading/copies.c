// Loads each named library, a copy of ours, by dlopen, uses and closes it: copies LIBRARY... Parts of the copy stay in
// use: its threads, the data of this program's threads, and its handlers of fork.
#define _GNU_SOURCE
#define CSCHED_BY_DLOPEN
#include <CScheduler/CScheduler.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 64 };

// The functions of a copy that are called. Nothing is linked.
typedef struct copy {
  void *handle;
  const unsigned char *abi; // which its structs and state words must be of
  int (*start)(csched_thread **, const csched_thread_options *);
  csched_loop *(*loop_of)(const csched_thread *);
  int (*submit)(csched_target *, csched_job *);
  int (*submit_at)(csched_target *, csched_timer *, csched_time, csched_time);
  int (*create_loop)(csched_loop **);
  bool (*enter)(void);
  void (*leave)(csched_scope *);
  bool (*lock_until)(csched_lock *, csched_time);
  csched_time (*now)(void);
  csched_thread *thread;
  csched_job job;
  csched_timer timer;
  csched_lock lock;
  uint32_t runs;
  pthread_t user;
} copy;

static copy copies[MOST];
static uint32_t ends;

static void run(csched_job *job) { csched_fetch_add_relaxed(&((copy *)job->context)->runs, 1u); }
static void drop(csched_job *job) { (void)job; }
static const csched_job_type type = {.run = run, .drop = drop};

static bool find(copy *copy, const char *name, void *function) {
  void *found = dlsym(copy->handle, name);
  memcpy(function, &found, sizeof found);
  if (found == NULL) fprintf(stderr, "copies: %s\n", dlerror());
  return found != NULL;
}

// A thread whose end calls a hook of the library.
static void *use(void *argument) {
  copy *copy = argument;
  csched_loop *loop;
  if (copy->create_loop(&loop) != 0) return NULL;
  copy->enter();
  csched_scope scope = {NULL};
  copy->leave(&scope);
  copy->lock_until(&copy->lock, 0);
  csched_fetch_add_relaxed(&copy->runs, 1u);
  while (csched_load_acquire(&ends) == 0) usleep(1000);
  return NULL;
}

static bool load(copy *copy, const char *path) {
  copy->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (copy->handle == NULL) fprintf(stderr, "copies: %s\n", dlerror());
  if (copy->handle == NULL || !find(copy, CSCHED_TEXT(CSCHED_ABI_SYMBOL), &copy->abi) ||
      !find(copy, "csched_thread_start", &copy->start) || !find(copy, "csched_thread_loop", &copy->loop_of) ||
      !find(copy, "csched_target_submit", &copy->submit) || !find(copy, "csched_target_submit_at", &copy->submit_at) ||
      !find(copy, "csched_loop_create", &copy->create_loop) || !find(copy, "csched_trampoline_enter", &copy->enter) ||
      !find(copy, "csched_trampoline_leave_", &copy->leave) ||
      !find(copy, "csched_lock_lock_until", &copy->lock_until) || !find(copy, "csched_now", &copy->now) ||
      copy->start(&copy->thread, NULL) != 0)
    return false;
  csched_job_init(&copy->job, &type, copy);
  csched_timer_init(&copy->timer, &type, copy);
  csched_target *target = csched_loop_target(copy->loop_of(copy->thread));
  return copy->submit(target, &copy->job) == 0 &&
         copy->submit_at(target, &copy->timer, copy->now() + 300000000, 0) == 0 && // after it has been closed
         pthread_create(&copy->user, NULL, use, copy) == 0;
}

static bool is_over(uint32_t runs, int count) {
  for (int i = 0; i < count; i++)
    if (csched_load_relaxed(&copies[i].runs) != runs) return false;
  return true;
}

int main(int count, char **arguments) {
  int loaded = 0, status = 0;
  alarm(20);
  for (int i = 1; i < count && loaded < MOST; i++)
    if (load(&copies[loaded], arguments[i])) loaded++;
  while (!is_over(2, loaded)) usleep(1000);
  for (int i = 0; i < loaded; i++) dlclose(copies[i].handle);
  pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, &status, 0);
  csched_store_release(&ends, 1u);
  for (int i = 0; i < loaded; i++) pthread_join(copies[i].user, NULL);
  while (!is_over(3, loaded)) usleep(1000);
  printf("%d copies loaded, used and closed\n", loaded);
  return loaded == count - 1 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}
