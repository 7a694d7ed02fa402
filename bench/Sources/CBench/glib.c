// GLib's timeouts and main contexts; found when the program runs.
#include "kit.h"

#include <pthread.h>

static struct {
  void *(*context_new)(void), *(*timeout_new)(unsigned interval), *(*idle_new)(void);
  unsigned (*attach)(void *source, void *context);
  void (*set_callback)(void *source, int (*body)(void *), void *data, void *notify);
  void (*destroy)(void *source), (*unref)(void *source), (*context_unref)(void *context);
  int (*iteration)(void *context, int may_block);
} glib;

// MARK: timers: a source for each

static void *add(void *context, uint32_t milliseconds) {
  void *source = glib.timeout_new(milliseconds);
  glib.attach(source, context);
  return source;
}

static void *make(long pending, const uint32_t *milliseconds) {
  void *context = glib.context_new();
  for (long i = 0; i < pending; i++) add(context, milliseconds[i]);
  return context;
}

static void newest(void *context, long count, const uint32_t *milliseconds) {
  for (long i = 0; i < count; i++) {
    void *source = add(context, milliseconds[i]);
    glib.destroy(source);
    glib.unref(source);
  }
}

static const peer_timers timers[] = {{"GLib", 1000, make, newest, NULL}, {0}};

// MARK: two contexts

typedef struct pair {
  void *near, *far;
  pthread_t thread;
  bool has_answer, is_over;
} pair;

static void call(void *context, int (*body)(void *), pair *pair) {
  void *source = glib.idle_new();
  glib.set_callback(source, body, pair, NULL);
  glib.attach(source, context);
  glib.unref(source);
}

static int take_answer(void *data) {
  ((pair *)data)->has_answer = true;
  return 0; // once
}

static int take_call(void *data) {
  pair *pair = data;
  if (!pair->is_over) call(pair->near, take_answer, pair);
  return 0;
}

static int end(void *data) {
  ((pair *)data)->is_over = true;
  return 0;
}

static void *run_far(void *data) {
  pair *pair = data;
  while (!pair->is_over) glib.iteration(pair->far, 1);
  return NULL;
}

static void *pair_open(void) {
  pair *made = touched(sizeof *made);
  made->near = glib.context_new();
  made->far = glib.context_new();
  if (pthread_create(&made->thread, NULL, run_far, made) != 0) abort();
  return made;
}

static void pair_trip(void *data) {
  pair *pair = data;
  pair->has_answer = false;
  call(pair->far, take_call, pair);
  while (!pair->has_answer) glib.iteration(pair->near, 1);
}

static void pair_close(void *data) {
  pair *pair = data;
  call(pair->far, end, pair);
  pthread_join(pair->thread, NULL);
  glib.context_unref(pair->near);
  glib.context_unref(pair->far);
  free(pair);
}

static const peer_trip hosted_trips[] = {{"GLib", pair_open, pair_trip, pair_close}, {0}};

static const peer_library library = {.timers = timers, .hosted_trips = hosted_trips};

const peer_library *glib_library(void) {
  const char *libraries[] = {"libglib-2.0.so.0", NULL};
  const char *names[] = {"g_main_context_new",       "g_timeout_source_new",
                         "g_idle_source_new",        "g_source_attach",
                         "g_source_set_callback",    "g_source_destroy",
                         "g_source_unref",           "g_main_context_unref",
                         "g_main_context_iteration", NULL};
  void **places[] = {(void **)&glib.context_new, (void **)&glib.timeout_new,   (void **)&glib.idle_new,
                     (void **)&glib.attach,      (void **)&glib.set_callback,  (void **)&glib.destroy,
                     (void **)&glib.unref,       (void **)&glib.context_unref, (void **)&glib.iteration};
  return find_functions(libraries, names, places) ? &library : NULL;
}
