// The loop of every lock that is measured here. It is inlined with the lock's functions, so each has a loop of its own in machine code.
#ifndef CBENCH_LOCK_LOOP_H
#define CBENCH_LOCK_LOOP_H

#include <CBenchPeer.h>

__attribute__((always_inline)) static inline void lock_loop(peer_task *task, void (*lock)(void *),
                                                            void (*unlock)(void *), void *object) {
  // In registers, so that what a loop does not do costs it nothing.
  const int *over = task->over;
  const int looks = task->looks, inside = task->inside, outside = task->outside;
  const long count = task->count;
  volatile long *guarded = task->guarded;
  long done = 0;
  while (over == NULL ? done < count : !__atomic_load_n(over, __ATOMIC_RELAXED)) {
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
    done++;
  }
  task->done = done;
}

#endif
