// libuv's timers and loops; found when the program runs. Its interface is the same for all versions from 1.0 on.
#include "kit.h"

#include <pthread.h>

enum { UV_ASYNC = 1, UV_TIMER = 13, UV_RUN_DEFAULT = 0, UV_RUN_ONCE = 1 };

static struct {
  size_t (*loop_size)(void), (*handle_size)(int type);
  int (*loop_init)(void *loop), (*run)(void *loop, int mode), (*loop_close)(void *loop);
  int (*timer_init)(void *loop, void *timer);
  int (*timer_start)(void *timer, void (*body)(void *), uint64_t timeout, uint64_t repeat);
  int (*timer_stop)(void *timer);
  int (*async_init)(void *loop, void *async, void (*body)(void *)), (*async_send)(void *async);
  void (*stop)(void *loop), (*close)(void *handle, void (*body)(void *));
} uv;

static void *new_loop(void) {
  void *loop = touched(uv.loop_size());
  if (uv.loop_init(loop) != 0) abort();
  return loop;
}

// MARK: timers

typedef struct wheel {
  char *timers, *newest;
  size_t size;
} wheel;

static void never(void *timer) { (void)timer; }

static void *make(long pending, const uint32_t *milliseconds) {
  wheel *made = touched(sizeof *made);
  void *loop = new_loop();
  made->size = uv.handle_size(UV_TIMER);
  made->timers = touched(made->size * (size_t)(pending + 1));
  for (long i = 0; i < pending; i++) {
    void *timer = made->timers + made->size * (size_t)i;
    uv.timer_init(loop, timer);
    uv.timer_start(timer, never, milliseconds[i], 0);
  }
  made->newest = made->timers + made->size * (size_t)pending;
  uv.timer_init(loop, made->newest);
  return made;
}

static void newest(void *context, long count, const uint32_t *milliseconds) {
  wheel *wheel = context;
  for (long i = 0; i < count; i++) {
    uv.timer_start(wheel->newest, never, milliseconds[i], 0);
    uv.timer_stop(wheel->newest);
  }
}

static void replaced(void *context, long count, const uint32_t *which, const uint32_t *milliseconds) {
  wheel *wheel = context;
  for (long i = 0; i < count; i++) {
    void *timer = wheel->timers + wheel->size * which[i];
    uv.timer_stop(timer);
    uv.timer_start(timer, never, milliseconds[i], 0);
  }
}

static const peer_timers timers[] = {{"libuv", 0, make, newest, replaced}, {0}};

// MARK: two loops; an async handle begins with its user's word

typedef struct pair {
  void *near, *far;      // loops
  void **call, **answer; // async handles
  pthread_t thread;
  bool has_answer, is_over;
} pair;

static void take_call(void *async) {
  pair *pair = *(void **)async;
  if (pair->is_over) uv.stop(pair->far);
  else uv.async_send(pair->answer);
}

static void take_answer(void *async) { ((pair *)*(void **)async)->has_answer = true; }

static void **new_async(pair *pair, void *loop, void (*body)(void *)) {
  void **async = touched(uv.handle_size(UV_ASYNC));
  if (uv.async_init(loop, async, body) != 0) abort();
  *async = pair;
  return async;
}

static void *run_far(void *context) {
  uv.run(((pair *)context)->far, UV_RUN_DEFAULT);
  return NULL;
}

static void *pair_open(void) {
  pair *made = touched(sizeof *made);
  made->near = new_loop();
  made->far = new_loop();
  made->call = new_async(made, made->far, take_call);
  made->answer = new_async(made, made->near, take_answer);
  if (pthread_create(&made->thread, NULL, run_far, made) != 0) abort();
  return made;
}

static void pair_trip(void *context) {
  pair *pair = context;
  pair->has_answer = false;
  uv.async_send(pair->call);
  while (!pair->has_answer) uv.run(pair->near, UV_RUN_ONCE);
}

static void close_side(void *loop, void *async) {
  uv.close(async, NULL);
  uv.run(loop, UV_RUN_DEFAULT);
  uv.loop_close(loop);
  free(async);
  free(loop);
}

static void pair_close(void *context) {
  pair *pair = context;
  pair->is_over = true;
  uv.async_send(pair->call);
  pthread_join(pair->thread, NULL);
  close_side(pair->far, pair->call);
  close_side(pair->near, pair->answer);
  free(pair);
}

static const peer_trip hosted_trips[] = {{"libuv", pair_open, pair_trip, pair_close}, {0}};

static const peer_library library = {.timers = timers, .hosted_trips = hosted_trips};

const peer_library *uv_library(void) {
  const char *libraries[] = {"libuv.so.1", NULL};
  const char *names[] = {"uv_loop_size",
                         "uv_handle_size",
                         "uv_loop_init",
                         "uv_run",
                         "uv_loop_close",
                         "uv_timer_init",
                         "uv_timer_start",
                         "uv_timer_stop",
                         "uv_async_init",
                         "uv_async_send",
                         "uv_stop",
                         "uv_close",
                         NULL};
  void **places[] = {(void **)&uv.loop_size,   (void **)&uv.handle_size, (void **)&uv.loop_init,
                     (void **)&uv.run,         (void **)&uv.loop_close,  (void **)&uv.timer_init,
                     (void **)&uv.timer_start, (void **)&uv.timer_stop,  (void **)&uv.async_init,
                     (void **)&uv.async_send,  (void **)&uv.stop,        (void **)&uv.close};
  return find_functions(libraries, names, places) ? &library : NULL;
}
