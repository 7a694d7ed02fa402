// The loop of every lock that is measured here. It is inlined with the lock's functions, so each has a loop of its own
// in machine code.
#ifndef CBENCH_LOCK_LOOP_H
#define CBENCH_LOCK_LOOP_H

#include <CBenchPeer.h>

/// Sections without work, whose waits nobody looks at: a loop of its own, because what the other one holds in registers
/// would be spilled here.
__attribute__((always_inline)) static inline long empty_sections(peer_task *task, void (*lock)(void *),
                                                                 void (*unlock)(void *), void *object) {
  const int *over = task->over;
  const long count = task->count;
  volatile long *guarded = task->guarded;
  long done = 0;
  if (over == NULL) {
    for (; done < count; done++) {
      lock(object);
      *guarded += 1;
      unlock(object);
    }
    return done;
  }
  for (; !__atomic_load_n(over, __ATOMIC_RELAXED); done++) {
    lock(object);
    *guarded += 1;
    unlock(object);
  }
  return done;
}

__attribute__((always_inline)) static inline long working_sections(peer_task *task, void (*lock)(void *),
                                                                   void (*unlock)(void *), void *object) {
  const int *over = task->over;
  const int looks = task->looks, inside = task->inside, outside = task->outside;
  const long count = task->count;
  volatile long *guarded = task->guarded;
  long done = 0;
  for (; over == NULL ? done < count : !__atomic_load_n(over, __ATOMIC_RELAXED); done++) {
    long before = 0;
    uint64_t start = 0;
    if (looks) {
      before = __atomic_load_n(guarded, __ATOMIC_RELAXED);
      start = task->now();
    }
    lock(object);
    if (looks) {
      uint64_t took = task->now() - start;
      long passed = *guarded - before;
      if (took > task->longest) task->longest = took;
      if (passed > task->passed) task->passed = passed;
    }
    *guarded += 1;
    if (inside > 0) task->work(inside);
    unlock(object);
    if (outside > 0) task->work(outside);
  }
  return done;
}

__attribute__((always_inline)) static inline void lock_loop(peer_task *task, void (*lock)(void *),
                                                            void (*unlock)(void *), void *object) {
  task->done = task->looks || task->inside > 0 || task->outside > 0 ? working_sections(task, lock, unlock, object)
                                                                    : empty_sections(task, lock, unlock, object);
}

#endif
