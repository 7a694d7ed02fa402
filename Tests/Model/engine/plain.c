// The core's plain memory. The core is compiled as for ThreadSanitizer, and what the compiler then calls at each access
// that is not atomic is here, in place of the sanitizer's run-time library: races by happens-before, and uses after
// free.

#include "internal.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 1 << 15, BLOCKS = 1024, GRANULE = 16, ARENA = 4 << 20 };

typedef struct word {
  uintptr_t address;
  unsigned run; // of which run; another one's is empty
  int writer;
  unsigned write_epoch, read_epochs[MODEL_THREADS];
} word;

static word words[WORDS];
static unsigned current_run, accesses;
static int word_count;

// All memory of a run is kept until its end, so that a use after free finds it freed, and not someone else's.
static struct {
  char *start;
  size_t size;
  bool freed;
  model_view counted; // the joined views of the threads that released a reference, for counted memory
} blocks[BLOCKS];
static int block_count;
static _Alignas(4096) char arena[ARENA];
static size_t used;
static unsigned short block_at[ARENA / GRANULE]; // 0: none; its number, from 1

int model_unseen;

// Neighbours in memory are neighbours here. Returns: where this address is, or, if it has not been met in this run, is
// to be.
static word *place_of(uintptr_t address) {
  size_t i = ((size_t)(address / 64 * UINT64_C(0x9E3779B97F4A7C15) >> 49) & ~(size_t)15) + address / 4 % 16;
  while (words[i].run == current_run && words[i].address != address) i = (i + 17) % WORDS;
  return &words[i];
}

static word *find(uintptr_t address) {
  word *at = place_of(address);
  if (at->run == current_run) return at;
  if (++word_count == WORDS) model_fail("too much plain memory: shorten the check", __FILE__, __LINE__);
  *at = (word){.address = address, .run = current_run};
  return at;
}

static bool unordered(int thread, unsigned epoch) {
  return thread != model_self && epoch > model_threads[model_self].view.epoch[thread];
}

static int block_of(const void *address) {
  uintptr_t offset = (uintptr_t)address - (uintptr_t)arena;
  return offset < ARENA ? block_at[offset / GRANULE] - 1 : -1;
}

bool model_is_arena(const void *address) { return (uintptr_t)address - (uintptr_t)arena < ARENA; }

bool model_is_freed(const void *address) {
  int block = block_of(address);
  return block >= 0 && blocks[block].freed;
}

void model_check_alive(const void *address) {
  if (model_is_freed(address)) model_fail("use after free", __FILE__, __LINE__);
}

model_view *model_counted_view(const void *address) {
  int block = block_of(address);
  return block >= 0 ? &blocks[block].counted : NULL;
}

static void access_word(uintptr_t address, bool writes, const void *where) {
  word *at = find(address);
  model_thread *me = &model_threads[model_self];
  bool race = unordered(at->writer, at->write_epoch);
  for (int t = 0; writes && t < MODEL_THREADS; t++) race = race || unordered(t, at->read_epochs[t]);
  if (race) {
    model_log(writes ? "plain write, return to" : "plain read, return to", (const void *)address, (uintptr_t)where,
              "see the address", 0);
    model_fail("data race: a plain access beside another, see the last line of the log", __FILE__, __LINE__);
  }
  unsigned now = ++me->view.epoch[model_self];
  if (writes) {
    at->writer = model_self;
    at->write_epoch = now;
  } else {
    at->read_epochs[model_self] = now;
  }
}

void model_access(const void *address, size_t size, bool writes, const void *where) {
  if (model_unseen > 0 || model_threads[model_self].status != MODEL_READY) return; // or outside of a run
  model_check_alive(address);
  if (++accesses > 10000000) model_fail("no end: ten million plain accesses", __FILE__, __LINE__);
  uintptr_t first = (uintptr_t)address;
  if (size >= 4) first &= ~(uintptr_t)3;
  for (uintptr_t at = first; at < (uintptr_t)address + size; at += 4) access_word(at, writes, where);
}

// MARK: memory

static void *allocate(size_t alignment, size_t size) {
  size_t start = (used + alignment - 1) / alignment * alignment, end = (start + size + GRANULE) / GRANULE * GRANULE;
  if (block_count == BLOCKS || end > ARENA) model_fail("too many allocations: shorten the check", __FILE__, __LINE__);
  blocks[block_count].start = arena + start;
  blocks[block_count].size = size;
  blocks[block_count].freed = false;
  memset(&blocks[block_count].counted, 0, sizeof(model_view));
  block_count++;
  for (size_t at = start / GRANULE; at < end / GRANULE; at++) block_at[at] = (unsigned short)block_count;
  used = end;
  return arena + start;
}

// The core and the checks are compiled with these in place of malloc and so on.
void *model_malloc(size_t size) { return model_aligned_alloc(GRANULE, size); }

void *model_calloc(size_t count, size_t size) { return memset(model_malloc(count * size), 0, count * size); }

void *model_aligned_alloc(size_t alignment, size_t size) {
  if (model_unseen > 0) return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  return allocate(alignment < GRANULE ? GRANULE : alignment, size);
}

void model_free(void *start) {
  if (start == NULL) return;
  if (!model_is_arena(start)) {
    free(start);
    return;
  }
  int block = block_of(start);
  if (block < 0 || blocks[block].start != start) model_fail("free of something else", __FILE__, __LINE__);
  if (blocks[block].freed) model_fail("freed twice", __FILE__, __LINE__);
  for (size_t at = 0; at + 4 <= blocks[block].size; at += 4) // a free must come after all accesses of other threads
    if (place_of((uintptr_t)start + at)->run == current_run)
      access_word((uintptr_t)start + at, true, __builtin_return_address(0));
  blocks[block].freed = true;
}

size_t model_usable_size(void *start) {
  int block = block_of(start);
  return block >= 0 ? blocks[block].size : malloc_usable_size(start);
}

void model_plain_reset(void) {
  current_run++;
  accesses = 0;
  word_count = 0;
  block_count = 0;
  memset(block_at, 0, used / GRANULE * sizeof block_at[0]);
  used = 0;
}

void model_plain_check_leaks(void) {
  for (int i = 0; i < block_count; i++)
    if (!blocks[i].freed) model_fail("leak: memory that nobody freed", __FILE__, __LINE__);
}

// MARK: what the compiler calls

#define MODEL_ACCESS(size)                                                                                             \
  void __tsan_read##size(void *p) { model_access(p, size, false, __builtin_return_address(0)); }                       \
  void __tsan_write##size(void *p) { model_access(p, size, true, __builtin_return_address(0)); }                       \
  void __tsan_unaligned_read##size(void *p) { model_access(p, size, false, __builtin_return_address(0)); }             \
  void __tsan_unaligned_write##size(void *p) { model_access(p, size, true, __builtin_return_address(0)); }
MODEL_ACCESS(1)
MODEL_ACCESS(2)
MODEL_ACCESS(4)
MODEL_ACCESS(8)
MODEL_ACCESS(16)
void __tsan_read_range(void *p, size_t size) { model_access(p, size, false, __builtin_return_address(0)); }
void __tsan_write_range(void *p, size_t size) { model_access(p, size, true, __builtin_return_address(0)); }
void __tsan_init(void) {}
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void) {}
