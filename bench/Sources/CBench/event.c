// libevent's timers and bases; found when the program runs. Its timers run without its locks, its bases for two threads
// with them.
#include "kit.h"

#include <pthread.h>
#include <sys/time.h>

enum { EV_TIMEOUT = 1, EV_PERSIST = 16, EVLOOP_ONCE = 1, EVLOOP_NO_EXIT_ON_EMPTY = 4, EVENT_BASE_FLAG_NOLOCK = 1 };

static struct {
  void *(*config_new)(void), *(*base_new_with)(void *config), *(*base_new)(void);
  int (*set_flag)(void *config, int flag);
  void *(*new)(void *base, int fd, short what, void (*body)(int, short, void *), void *context);
  int (*add)(void *event, const struct timeval *span), (*del)(void *event);
  void (*active)(void *event, int what, short calls), (*free)(void *event), (*base_free)(void *base);
  int (*loop)(void *base, int flags), (*loopbreak)(void *base);
  int (*use_pthreads)(void);
} event;

// MARK: timers

typedef struct wheel {
  void **pending, *newest;
} wheel;

static void never(int fd, short what, void *context) {
  (void)fd;
  (void)what;
  (void)context;
}

static void start(void *timer, uint32_t milliseconds) {
  event.add(timer, &(struct timeval){milliseconds / 1000, milliseconds % 1000 * 1000});
}

static void *make(long pending, const uint32_t *milliseconds) {
  wheel *made = touched(sizeof *made);
  void *config = event.config_new();
  event.set_flag(config, EVENT_BASE_FLAG_NOLOCK);
  void *base = event.base_new_with(config);
  if (base == NULL) abort();
  made->pending = touched(sizeof *made->pending * (size_t)(pending + 1));
  for (long i = 0; i < pending; i++) start(made->pending[i] = event.new(base, -1, 0, never, NULL), milliseconds[i]);
  made->newest = event.new(base, -1, 0, never, NULL);
  return made;
}

static void newest(void *context, long count, const uint32_t *milliseconds) {
  wheel *wheel = context;
  for (long i = 0; i < count; i++) {
    start(wheel->newest, milliseconds[i]);
    event.del(wheel->newest);
  }
}

static void replaced(void *context, long count, const uint32_t *which, const uint32_t *milliseconds) {
  wheel *wheel = context;
  for (long i = 0; i < count; i++) {
    event.del(wheel->pending[which[i]]);
    start(wheel->pending[which[i]], milliseconds[i]);
  }
}

static const peer_timers timers[] = {{"libevent", 0, make, newest, replaced}, {0}};

// MARK: two bases

typedef struct pair {
  void *near, *far;    // bases
  void *call, *answer; // events
  pthread_t thread;
  bool has_answer, is_over;
} pair;

static void take_call(int fd, short what, void *context) {
  (void)fd;
  (void)what;
  pair *pair = context;
  if (pair->is_over) event.loopbreak(pair->far);
  else event.active(pair->answer, EV_TIMEOUT, 1);
}

static void take_answer(int fd, short what, void *context) {
  (void)fd;
  (void)what;
  ((pair *)context)->has_answer = true;
}

static void *run_far(void *context) {
  event.loop(((pair *)context)->far, EVLOOP_NO_EXIT_ON_EMPTY);
  return NULL;
}

static void *pair_open(void) {
  pair *made = touched(sizeof *made);
  event.use_pthreads();
  made->near = event.base_new();
  made->far = event.base_new();
  made->call = event.new(made->far, -1, EV_PERSIST, take_call, made);
  made->answer = event.new(made->near, -1, EV_PERSIST, take_answer, made);
  if (pthread_create(&made->thread, NULL, run_far, made) != 0) abort();
  return made;
}

static void pair_trip(void *context) {
  pair *pair = context;
  pair->has_answer = false;
  event.active(pair->call, EV_TIMEOUT, 1);
  while (!pair->has_answer) event.loop(pair->near, EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY);
}

static void pair_close(void *context) {
  pair *pair = context;
  pair->is_over = true;
  event.active(pair->call, EV_TIMEOUT, 1);
  pthread_join(pair->thread, NULL);
  event.free(pair->call);
  event.free(pair->answer);
  event.base_free(pair->far);
  event.base_free(pair->near);
  free(pair);
}

static const peer_trip hosted_trips[] = {{"libevent", pair_open, pair_trip, pair_close}, {0}};

static const peer_library library = {.timers = timers, .hosted_trips = hosted_trips};

const peer_library *event_library(void) {
  const char *libraries[] = {"libevent_core-2.1.so.7", "libevent-2.1.so.7", NULL};
  const char *names[] = {"event_config_new",
                         "event_base_new_with_config",
                         "event_base_new",
                         "event_config_set_flag",
                         "event_new",
                         "event_add",
                         "event_del",
                         "event_active",
                         "event_free",
                         "event_base_free",
                         "event_base_loop",
                         "event_base_loopbreak",
                         NULL};
  void **places[] = {(void **)&event.config_new, (void **)&event.base_new_with, (void **)&event.base_new,
                     (void **)&event.set_flag,   (void **)&event.new,           (void **)&event.add,
                     (void **)&event.del,        (void **)&event.active,        (void **)&event.free,
                     (void **)&event.base_free,  (void **)&event.loop,          (void **)&event.loopbreak};
  const char *others[] = {"libevent_pthreads-2.1.so.7", NULL}, *more[] = {"evthread_use_pthreads", NULL};
  void **more_places[] = {(void **)&event.use_pthreads};
  return find_functions(libraries, names, places) && find_functions(others, more, more_places) ? &library : NULL;
}
