// Memory as views: each location keeps all its stores, in the order in which they were made; a thread may read any store
// that is not older than what it has seen of the location. Acquire takes over what a release has seen. This is C11 without two
// things: a store always becomes the newest of its location, and no load reads from the future (load buffering).

#include "internal.h"

#include <string.h>

typedef struct message {
  uint64_t value;
  model_view view; // what an acquire load of it takes over
} message;

typedef struct location {
  const void *address;
  size_t size;
  int count;
  message messages[MODEL_MESSAGES];
} location;

static location locations[MODEL_LOCATIONS];
static int location_count;
static model_view fence_view; // what full fences have passed on

void model_memory_reset(void) {
  for (int i = 0; i < location_count; i++) locations[i].count = 0;
  location_count = 0;
  memset(&fence_view, 0, sizeof fence_view);
}

void model_view_join(model_view *into, const model_view *from) {
  for (int i = 0; i < location_count; i++)
    if (into->at[i] < from->at[i]) into->at[i] = from->at[i];
  for (int i = 0; i < MODEL_THREADS; i++)
    if (into->epoch[i] < from->epoch[i]) into->epoch[i] = from->epoch[i];
}

static uint64_t memory_value(const void *address, size_t size) {
  uint64_t value = 0;
  memcpy(&value, address, size);
  return value;
}

static message *append(location *at, uint64_t value) {
  if (at->count == MODEL_MESSAGES) model_fail("too many stores to one location: shorten the check", __FILE__, __LINE__);
  message *new = &at->messages[at->count++];
  new->value = value;
  memset(&new->view, 0, sizeof new->view);
  return new;
}

// Finds the location; takes a plain write that has come in between (an initialisation) for one that all have seen.
static int find(const void *address, size_t size) {
  int i = 0;
  while (i < location_count && locations[i].address != address) i++;
  if (i == MODEL_LOCATIONS) model_fail("too many locations: shorten the check", __FILE__, __LINE__);
  location *at = &locations[i];
  if (i == location_count) {
    location_count++;
    at->address = address;
    at->size = size;
    at->count = 0;
    for (int t = 0; t < MODEL_THREADS; t++)
      model_threads[t].view.at[i] = model_threads[t].acquired.at[i] = model_threads[t].released.at[i] = 0;
    fence_view.at[i] = 0;
    append(at, memory_value(address, size));
  } else if (at->messages[at->count - 1].value != memory_value(address, size)) {
    append(at, memory_value(address, size));
    for (int t = 0; t < MODEL_THREADS; t++) model_threads[t].view.at[i] = (unsigned short)(at->count - 1);
  }
  return i;
}

static void publish(int index, uint64_t value, model_order order, bool continues) {
  location *at = &locations[index];
  model_thread *me = &model_threads[model_self];
  me->view.epoch[model_self]++;
  const model_view *before = continues ? &at->messages[at->count - 1].view : NULL;
  message *new = append(at, value);
  me->view.at[index] = (unsigned short)(at->count - 1);
  new->view = order &MODEL_RELEASE ? me->view : me->released;
  new->view.at[index] = (unsigned short)(at->count - 1);
  if (before != NULL) model_view_join(&new->view, before); // a release sequence goes on through read-modify-writes
  memcpy((void *)(uintptr_t)at->address, &value, at->size);
}

static uint64_t take(int index, int chosen, model_order order) {
  model_thread *me = &model_threads[model_self];
  message *read = &locations[index].messages[chosen];
  if (me->view.at[index] < chosen) me->view.at[index] = (unsigned short)chosen;
  model_view_join(&me->acquired, &read->view);
  if (order & MODEL_ACQUIRE) model_view_join(&me->view, &read->view);
  return read->value;
}

// Mostly the newest, sometimes an older one.
static int choose_message(int index) {
  int oldest = model_threads[model_self].view.at[index], newest = locations[index].count - 1;
  if (oldest == newest || model_choose(3) != 0) return newest;
  return oldest + (int)model_choose((unsigned)(newest - oldest + 1));
}

uint64_t model_load(const void *address, size_t size, model_order order, const char *file, int line) {
  model_step("load", file, line);
  int index = find(address, size);
  uint64_t value = take(index, choose_message(index), order);
  model_log(order & MODEL_ACQUIRE ? "load acquire" : "load relaxed", address, value, file, line);
  return value;
}

void model_store(void *address, size_t size, uint64_t value, model_order order, const char *file, int line) {
  model_step("store", file, line);
  publish(find(address, size), value, order, false);
  model_log(order & MODEL_RELEASE ? "store release" : "store relaxed", address, value, file, line);
}

uint64_t model_rmw(void *address, size_t size, model_change change, uint64_t operand, model_order order,
                   const char *file, int line) {
  model_step("rmw", file, line);
  int index = find(address, size);
  uint64_t old = take(index, locations[index].count - 1, order),
           mask = size == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * size) - 1;
  uint64_t new = change == MODEL_EXCHANGE ? operand
                 : change == MODEL_ADD    ? old + operand
                 : change == MODEL_OR     ? old | operand
                                          : old &operand;
  publish(index, new &mask, order, true);
  model_log("read-modify-write to", address, new &mask, file, line);
  return old;
}

bool model_cas(void *address, size_t size, void *expected, uint64_t value, model_order order, const char *file,
               int line) {
  model_step("cas", file, line);
  int index = find(address, size), newest = locations[index].count - 1, seen = choose_message(index);
  uint64_t wanted = memory_value(expected, size);
  if (locations[index].messages[seen].value == wanted) seen = newest; // only a failure may read an older one
  if (locations[index].messages[seen].value == wanted) {
    take(index, newest, order);
    publish(index, value, order, true);
    model_log("compare-exchange to", address, value, file, line);
    return true;
  }
  uint64_t found = take(index, seen, MODEL_RELAXED);
  memcpy(expected, &found, size);
  model_log("compare-exchange failed on", address, found, file, line);
  return false;
}

void model_fence_of(int thread) {
  model_thread *each = &model_threads[thread];
  model_view_join(&each->view, &each->acquired);
  model_view_join(&each->view, &fence_view);
  model_view_join(&fence_view, &each->view);
  each->released = each->view;
}

void model_fence(const char *file, int line) {
  model_step("fence", file, line);
  model_fence_of(model_self);
  model_log("full fence", NULL, 0, file, line);
}

uint64_t model_kernel_load(const uint32_t *word) {
  model_fence_of(model_self);
  int index = find(word, sizeof *word);
  return take(index, choose_message(index), MODEL_RELAXED);
}

// MARK: plain data

static void check_ordered(int thread, unsigned epoch, const char *what) {
  if (epoch > model_threads[model_self].view.epoch[thread] && thread != model_self)
    model_fail(what, __FILE__, __LINE__);
}

long model_read(model_cell *cell) {
  model_step("read", __FILE__, __LINE__);
  check_ordered(cell->writer, cell->write_epoch, "data race: a read beside a write");
  cell->read_epochs[model_self] = ++model_threads[model_self].view.epoch[model_self];
  return cell->value;
}

void model_write(model_cell *cell, long value) {
  model_step("write", __FILE__, __LINE__);
  check_ordered(cell->writer, cell->write_epoch, "data race: two writes");
  for (int t = 0; t < MODEL_THREADS; t++) check_ordered(t, cell->read_epochs[t], "data race: a write beside a read");
  cell->writer = model_self;
  cell->write_epoch = ++model_threads[model_self].view.epoch[model_self];
  cell->value = value;
}
