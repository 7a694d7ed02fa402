// The client requests. Each acquire of a spinning load would make DRD begin a new segment, which is very slow: so an
// acquire is announced only if the word was released since this thread last acquired it.
#include "annotate.h"

#include <stdint.h>

#ifdef SHADOW_FOR_DRD
#include <valgrind/drd.h>
#define IGNORE_BEGIN(word, size)                                                                                       \
  ((void)(size), (void)(word));                                                                                        \
  ANNOTATE_IGNORE_READS_AND_WRITES_BEGIN()
#define IGNORE_END() ANNOTATE_IGNORE_READS_AND_WRITES_END()
#else
#include <valgrind/helgrind.h>
// Helgrind can ignore memory, not accesses: until the memory is allocated again.
#define IGNORE_BEGIN(word, size) VALGRIND_HG_DISABLE_CHECKING((void *)(uintptr_t)(word), (size))
#define IGNORE_END()             ((void)0)
#endif

enum { WORDS = 4096, LAST = 64 };

static uint64_t releases[WORDS]; // by the word's address; words that share a place count together

typedef struct acquired {
  const volatile void *word;
  uint64_t releases;
} acquired;
static __thread acquired last[LAST];

static size_t place_of(const volatile void *word) { return ((uintptr_t)word >> 2 ^ (uintptr_t)word >> 14) % WORDS; }

// Odd: a name stays longer than a word on a stack, and the next object there may be a mutex, which DRD would mistake it
// for.
static void *name_of(const volatile void *word) { return (void *)((uintptr_t)word + 1); }

void shadow_before(const volatile void *word, size_t size, int order) {
  if ((order & SHADOW_RELEASE) != 0) {
    ANNOTATE_HAPPENS_BEFORE(name_of(word));
    __atomic_fetch_add(&releases[place_of(word)], 1, __ATOMIC_SEQ_CST);
  }
  IGNORE_BEGIN(word, size);
}

void shadow_after(const volatile void *word, int order) {
  IGNORE_END();
  if ((order & SHADOW_ACQUIRE) == 0) return;
  uint64_t now = __atomic_load_n(&releases[place_of(word)], __ATOMIC_SEQ_CST);
  acquired *mine = &last[place_of(word) % LAST];
  if (mine->word == word && mine->releases == now) return;
  *mine = (acquired){word, now};
  ANNOTATE_HAPPENS_AFTER(name_of(word));
}
