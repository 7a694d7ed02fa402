// The loop of every lock that is measured here. It is inlined with the lock's functions, so each has a loop of its own in machine code.
#ifndef CBENCH_LOCK_LOOP_H
#define CBENCH_LOCK_LOOP_H

#include <CBenchPeer.h>

__attribute__((always_inline)) static inline void lock_loop(peer_task *task, void (*lock)(void *),
                                                            void (*unlock)(void *), void *object) {
  if (task->over == NULL) {
    for (long i = 0; i < task->count; i++) {
      lock(object);
      *task->guarded += 1;
      if (task->inside > 0) task->work(task->inside);
      unlock(object);
      if (task->outside > 0) task->work(task->outside);
    }
    return;
  }
  while (!__atomic_load_n(task->over, __ATOMIC_RELAXED)) {
    long before = __atomic_load_n(task->guarded, __ATOMIC_RELAXED);
    uint64_t start = task->now();
    lock(object);
    uint64_t took = task->now() - start;
    long passed = *task->guarded - before;
    *task->guarded += 1;
    if (task->inside > 0) task->work(task->inside);
    unlock(object);
    if (task->outside > 0) task->work(task->outside);
    task->done++;
    if (took > task->longest) task->longest = took;
    if (passed > task->passed) task->passed = passed;
  }
}

#endif
