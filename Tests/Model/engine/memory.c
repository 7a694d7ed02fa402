// Memory as views: each location keeps all its stores in their modification order; a thread may read any store that is
// not older than the newest one that it has seen there. Its own stores come after the stores that it has seen, though
// not always last. Acquire joins the view of the release into the reader's. This is C11 without two things: a
// read-modify-write always takes the newest value, and no load reads from the future (load buffering).

#include "internal.h"

#include <string.h>

typedef struct message {
  uint64_t value;
  bool continues;  // made by a read-modify-write from the one before it: nothing may come between
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

static void make_room_in(model_view *view, int index, int position) {
  if (view->at[index] >= position) view->at[index]++;
}

static message *insert(int index, int position, uint64_t value) {
  location *at = &locations[index];
  if (at->count == MODEL_MESSAGES) model_fail("too many stores to one location: shorten the check", __FILE__, __LINE__);
  if (position < at->count) {
    memmove(&at->messages[position + 1], &at->messages[position], (size_t)(at->count - position) * sizeof(message));
    for (int t = 0; t < MODEL_THREADS; t++) {
      make_room_in(&model_threads[t].view, index, position);
      make_room_in(&model_threads[t].acquired, index, position);
      make_room_in(&model_threads[t].released, index, position);
    }
    make_room_in(&fence_view, index, position);
    for (int l = 0; l < location_count; l++)
      for (int m = 0; m < locations[l].count; m++) make_room_in(&locations[l].messages[m].view, index, position);
  }
  at->count++;
  message *new = &at->messages[position];
  *new = (message){.value = value};
  return new;
}

// A plain store may come before others that its thread has not seen.
static int choose_position(int index) {
  location *at = &locations[index];
  int places[MODEL_MESSAGES], count = 0;
  for (int i = model_threads[model_self].view.at[index] + 1; i <= at->count; i++)
    if (i == at->count || !at->messages[i].continues) places[count++] = i;
  return places[model_choose_message(0, count - 1)];
}

// Returns: the location's index. A plain write in between (an initialisation) counts as seen by all threads.
static int find(const void *address, size_t size) {
  model_check_alive(address);
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
    insert(i, 0, memory_value(address, size));
  } else if (at->messages[at->count - 1].value != memory_value(address, size)) {
    insert(i, at->count, memory_value(address, size));
    for (int t = 0; t < MODEL_THREADS; t++) model_threads[t].view.at[i] = (unsigned short)(at->count - 1);
  }
  return i;
}

static void publish(int index, uint64_t value, model_order order, bool continues) {
  location *at = &locations[index];
  model_thread *me = &model_threads[model_self];
  me->view.epoch[model_self]++;
  int position = continues ? at->count : choose_position(index);
  message *new = insert(index, position, value);
  me->view.at[index] = (unsigned short)position;
  new->continues = continues;
  new->view = order &MODEL_RELEASE ? me->view : me->released;
  new->view.at[index] = (unsigned short)position;
  if (continues) model_view_join(&new->view, &at->messages[position - 1].view); // a release sequence goes on
  if (position == at->count - 1) memcpy((void *)(uintptr_t)at->address, &value, at->size);
}

static uint64_t take(int index, int chosen, model_order order) {
  model_thread *me = &model_threads[model_self];
  message *read = &locations[index].messages[chosen];
  if (me->view.at[index] < chosen) me->view.at[index] = (unsigned short)chosen;
  model_view_join(&me->acquired, &read->view);
  if (order & MODEL_ACQUIRE) model_view_join(&me->view, &read->view);
  return read->value;
}

static int choose_message(int index) {
  return model_choose_message(model_threads[model_self].view.at[index], locations[index].count - 1);
}

uint64_t model_load(const void *address, size_t size, model_order order, const char *file, int line) {
  model_step(MODEL_READS, address, "load", file, line);
  int index = find(address, size);
  uint64_t value = take(index, choose_message(index), order);
  model_log(order & MODEL_ACQUIRE ? "load acquire" : "load relaxed", address, value, file, line);
  return value;
}

void model_store(void *address, size_t size, uint64_t value, model_order order, const char *file, int line) {
  model_step(MODEL_WRITES, address, "store", file, line);
  publish(find(address, size), value, order, false);
  model_log(order & MODEL_RELEASE ? "store release" : "store relaxed", address, value, file, line);
}

uint64_t model_rmw(void *address, size_t size, model_change change, uint64_t operand, model_order order,
                   const char *file, int line) {
  model_step(MODEL_WRITES, address, "rmw", file, line);
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
  return model_cas_ordered(address, size, expected, value, order, MODEL_RELAXED, file, line);
}

bool model_cas_ordered(void *address, size_t size, void *expected, uint64_t value, model_order order,
                       model_order failing, const char *file, int line) {
  model_step(MODEL_WRITES, address, "cas", file, line);
  int index = find(address, size), newest = locations[index].count - 1, seen = choose_message(index);
  uint64_t wanted = memory_value(expected, size);
  if (locations[index].messages[seen].value == wanted) seen = newest; // only a failure may read an older one
  if (locations[index].messages[seen].value == wanted) {
    take(index, newest, order);
    publish(index, value, order, true);
    model_log("compare-exchange to", address, value, file, line);
    return true;
  }
  uint64_t found = take(index, seen, failing);
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
  model_step(MODEL_FENCES, NULL, "fence", file, line);
  model_fence_of(model_self);
  model_log("full fence", NULL, 0, file, line);
}

void model_fence_weak(model_order order, const char *file, int line) {
  model_thread *me = &model_threads[model_self];
  model_step(MODEL_FENCES, NULL, "fence", file, line);
  if (order & MODEL_ACQUIRE) model_view_join(&me->view, &me->acquired);
  if (order & MODEL_RELEASE) me->released = me->view;
  model_log("fence", NULL, order, file, line);
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
  model_step(MODEL_READS, cell, "read", __FILE__, __LINE__);
  check_ordered(cell->writer, cell->write_epoch, "data race: a read beside a write");
  cell->read_epochs[model_self] = ++model_threads[model_self].view.epoch[model_self];
  return cell->value;
}

void model_write(model_cell *cell, long value) {
  model_step(MODEL_WRITES, cell, "write", __FILE__, __LINE__);
  check_ordered(cell->writer, cell->write_epoch, "data race: two writes");
  for (int t = 0; t < MODEL_THREADS; t++) check_ordered(t, cell->read_epochs[t], "data race: a write beside a read");
  cell->writer = model_self;
  cell->write_epoch = ++model_threads[model_self].view.epoch[model_self];
  cell->value = value;
}
