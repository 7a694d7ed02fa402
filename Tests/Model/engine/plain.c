// The core's plain memory. The core is compiled as for ThreadSanitizer, and what the compiler then calls at each access that
// is not atomic is here, in place of the sanitizer's run-time library: races by happens-before, and uses after free.

#include "internal.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = 1 << 15, BLOCKS = 64 };

typedef struct word {
  uintptr_t address;
  unsigned run; // of which run; another one's is empty
  int writer;
  unsigned write_epoch, read_epochs[MODEL_THREADS];
} word;

static word words[WORDS];
static unsigned current_run;
static struct {
  char *start;
  size_t size;
  bool freed;
} blocks[BLOCKS];
static int block_count;

static word *find(uintptr_t address) {
  size_t i = (size_t)(address * UINT64_C(0x9E3779B97F4A7C15) >> 49);
  while (words[i].run == current_run && words[i].address != address) i = (i + 1) % WORDS;
  if (words[i].run != current_run) words[i] = (word){.address = address, .run = current_run};
  return &words[i];
}

static bool unordered(int thread, unsigned epoch) {
  return thread != model_self && epoch > model_threads[model_self].view.epoch[thread];
}

void model_check_alive(const void *address) {
  for (int i = 0; i < block_count; i++)
    if (blocks[i].freed && (const char *)address >= blocks[i].start &&
        (const char *)address < blocks[i].start + blocks[i].size)
      model_fail("use after free", __FILE__, __LINE__);
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

static void access(const void *address, size_t size, bool writes, const void *where) {
  if (model_threads[model_self].status != MODEL_READY) return; // outside of a run
  model_check_alive(address);
  uintptr_t first = (uintptr_t)address;
  if (size >= 4) first &= ~(uintptr_t)3;
  for (uintptr_t at = first; at < (uintptr_t)address + size; at += 4) access_word(at, writes, where);
}

// MARK: memory

// All memory of a run is kept until its end, so that a use after free finds it freed, and not someone else's.
static void *keep(void *start, size_t size) {
  if (start == NULL) return NULL;
  if (block_count == BLOCKS) model_fail("too many allocations: shorten the check", __FILE__, __LINE__);
  blocks[block_count].start = start;
  blocks[block_count].size = size;
  blocks[block_count++].freed = false;
  return start;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *start);

void *__wrap_malloc(size_t size) { return keep(__real_malloc(size), size); }
void *__wrap_calloc(size_t count, size_t size) { return keep(__real_calloc(count, size), count * size); }
void *__wrap_aligned_alloc(size_t alignment, size_t size) { return keep(__real_aligned_alloc(alignment, size), size); }

void __wrap_free(void *start) {
  if (start == NULL) return;
  for (int i = 0; i < block_count; i++) {
    if (blocks[i].start != start) continue;
    if (blocks[i].freed) model_fail("freed twice", __FILE__, __LINE__);
    for (size_t at = 0; at + 4 <= blocks[i].size; at += 4) // who frees must have seen all that others did with it
      access_word((uintptr_t)start + at, true, __builtin_return_address(0));
    blocks[i].freed = true;
    return;
  }
  model_fail("free of something else", __FILE__, __LINE__);
}

void model_plain_reset(void) {
  current_run++;
  for (int i = 0; i < block_count; i++) __real_free(blocks[i].start);
  block_count = 0;
}

void model_plain_check_leaks(void) {
  for (int i = 0; i < block_count; i++)
    if (!blocks[i].freed) model_fail("leak: memory that nobody freed", __FILE__, __LINE__);
}

// MARK: what the compiler calls

#define MODEL_ACCESS(size)                                                                                             \
  void __tsan_read##size(void *p) { access(p, size, false, __builtin_return_address(0)); }                             \
  void __tsan_write##size(void *p) { access(p, size, true, __builtin_return_address(0)); }                             \
  void __tsan_unaligned_read##size(void *p) { access(p, size, false, __builtin_return_address(0)); }                   \
  void __tsan_unaligned_write##size(void *p) { access(p, size, true, __builtin_return_address(0)); }
MODEL_ACCESS(1)
MODEL_ACCESS(2)
MODEL_ACCESS(4)
MODEL_ACCESS(8)
MODEL_ACCESS(16)
void __tsan_read_range(void *p, size_t size) { access(p, size, false, __builtin_return_address(0)); }
void __tsan_write_range(void *p, size_t size) { access(p, size, true, __builtin_return_address(0)); }
void __tsan_init(void) {}
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void) {}
