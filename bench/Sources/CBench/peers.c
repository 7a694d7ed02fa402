// Other libraries' loops, where they are installed: found when the program runs, so that the benchmark builds without them.
#define _GNU_SOURCE
#include "CBench.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

static double since(csched_time start) { return (double)(csched_now() - start); }

// Writes the functions called `names` of `library` to `places`. Returns: whether all are there.
static bool load(const char *library, size_t count, const char *const names[], void **const places[]) {
  void *opened = dlopen(library, RTLD_NOW);
  if (opened == NULL) return false;
  for (size_t i = 0; i < count; i++)
    if ((*places[i] = dlsym(opened, names[i])) == NULL) return false;
  return true;
}

// MARK: libuv

// Of its interface, which is the same for all versions from 1.0 on.
enum { UV_ASYNC = 1, UV_TIMER = 13, UV_RUN_DEFAULT = 0 };

static struct {
  size_t (*loop_size)(void), (*handle_size)(int type);
  int (*loop_init)(void *loop), (*run)(void *loop, int mode);
  int (*timer_init)(void *loop, void *timer);
  int (*timer_start)(void *timer, void (*body)(void *), uint64_t timeout, uint64_t repeat);
  int (*timer_stop)(void *timer);
  int (*async_init)(void *loop, void *async, void (*body)(void *)), (*async_send)(void *async);
  void (*stop)(void *loop);
} uv;

bool cbench_has_uv(void) {
  static int found = -1;
  if (found >= 0) return found;
  const char *names[] = {"uv_loop_size",   "uv_handle_size", "uv_loop_init",  "uv_run",        "uv_timer_init",
                         "uv_timer_start", "uv_timer_stop",  "uv_async_init", "uv_async_send", "uv_stop"};
  void **places[] = {(void **)&uv.loop_size,  (void **)&uv.handle_size, (void **)&uv.loop_init,
                     (void **)&uv.run,        (void **)&uv.timer_init,  (void **)&uv.timer_start,
                     (void **)&uv.timer_stop, (void **)&uv.async_init,  (void **)&uv.async_send,
                     (void **)&uv.stop};
  found = load("libuv.so.1", sizeof names / sizeof *names, names, places);
  return found;
}

static void never(void *timer) { (void)timer; }

static void *uv_loop_new(void) {
  void *loop = malloc(uv.loop_size());
  if (loop == NULL || uv.loop_init(loop) != 0) abort();
  return loop;
}

static uint64_t milliseconds(uint64_t *state) { return 60000 + cbench_random(state) % 1000000; }

double cbench_uv_timer(long waiting, long count) {
  static void *loop;
  static uint64_t state = 1;
  static char *timer;
  if (loop == NULL) {
    loop = uv_loop_new();
    size_t size = uv.handle_size(UV_TIMER);
    char *all = malloc(size * (size_t)(waiting + 1));
    for (long i = 0; i < waiting; i++) {
      uv.timer_init(loop, all + size * (size_t)i);
      uv.timer_start(all + size * (size_t)i, never, milliseconds(&state), 0);
    }
    timer = all + size * (size_t)waiting;
    uv.timer_init(loop, timer);
  }
  csched_time start = csched_now();
  for (long i = 0; i < count; i++) {
    uv.timer_start(timer, never, milliseconds(&state), 0);
    uv.timer_stop(timer);
  }
  return since(start);
}

typedef struct uv_side {
  void *loop, *async;
  long left; // round trips; the far side has none
  bool ends;
} uv_side;

static uv_side near, far;

static void ring_back(void *async) {
  (void)async;
  if (far.ends) uv.stop(far.loop);
  else uv.async_send(near.async);
}

static void ring_again(void *async) {
  (void)async;
  if (near.left-- > 0) {
    uv.async_send(far.async);
    return;
  }
  far.ends = true;
  uv.async_send(far.async);
  uv.stop(near.loop);
}

static void open_side(uv_side *side, void (*body)(void *)) {
  *side = (uv_side){.loop = uv_loop_new(), .async = malloc(uv.handle_size(UV_ASYNC))};
  if (uv.async_init(side->loop, side->async, body) != 0) abort();
}

static void *run_far(void *unused) {
  uv.run(far.loop, UV_RUN_DEFAULT);
  return unused;
}

static void *run_near(void *context) {
  long *count = context;
  cbench_pin(0); // both on one processor, as our own
  open_side(&near, ring_again);
  open_side(&far, ring_back);
  near.left = *count;
  pthread_t other;
  pthread_create(&other, NULL, run_far, NULL);
  csched_time start = csched_now();
  uv.async_send(near.async);
  uv.run(near.loop, UV_RUN_DEFAULT);
  *count = (long)(csched_now() - start);
  pthread_join(other, NULL);
  return NULL; // the loops stay: a few kilobytes a sample
}

double cbench_uv_round_trip(long count) {
  pthread_t thread; // of its own, so that the caller's affinity stays as it is
  pthread_create(&thread, NULL, run_near, &count);
  pthread_join(thread, NULL);
  return (double)count;
}

// MARK: GLib

static struct {
  void *(*context_new)(void), *(*timeout_new)(unsigned interval);
  unsigned (*attach)(void *source, void *context);
  void (*destroy)(void *source), (*unref)(void *source);
} glib;

bool cbench_has_glib(void) {
  static int found = -1;
  if (found >= 0) return found;
  const char *names[] = {"g_main_context_new", "g_timeout_source_new", "g_source_attach", "g_source_destroy",
                         "g_source_unref"};
  void **places[] = {(void **)&glib.context_new, (void **)&glib.timeout_new, (void **)&glib.attach,
                     (void **)&glib.destroy, (void **)&glib.unref};
  found = load("libglib-2.0.so.0", sizeof names / sizeof *names, names, places);
  return found;
}

static void *glib_timer(void *context, uint64_t *state) {
  void *source = glib.timeout_new((unsigned)milliseconds(state));
  glib.attach(source, context);
  return source;
}

double cbench_glib_timer(long waiting, long count) {
  static void *context;
  static uint64_t state = 1;
  if (context == NULL) {
    context = glib.context_new();
    for (long i = 0; i < waiting; i++) glib_timer(context, &state);
  }
  csched_time start = csched_now();
  for (long i = 0; i < count; i++) {
    void *source = glib_timer(context, &state);
    glib.destroy(source);
    glib.unref(source);
  }
  return since(start);
}
