// The loop of every lock that is measured here. It is inlined with the lock's functions, so each has a loop of its own in machine code.
#ifndef CBENCH_LOCK_LOOP_H
#define CBENCH_LOCK_LOOP_H

#include <CBenchPeer.h>

__attribute__((always_inline)) static inline void lock_loop(peer_task *task, void (*lock)(void *),
                                                            void (*unlock)(void *), void *object) {
  long done = 0;
  while (task->over == NULL ? done < task->count : !__atomic_load_n(task->over, __ATOMIC_RELAXED)) {
    long before = 0;
    uint64_t start = 0;
    if (task->looks) {
      before = __atomic_load_n(task->guarded, __ATOMIC_RELAXED);
      start = task->now();
    }
    lock(object);
    if (task->looks) {
      uint64_t took = task->now() - start;
      long passed = *task->guarded - before;
      if (took > task->longest) task->longest = took;
      if (passed > task->passed) task->passed = passed;
    }
    *task->guarded += 1;
    if (task->inside > 0) task->work(task->inside);
    unlock(object);
    if (task->outside > 0) task->work(task->outside);
    done++;
  }
  task->done = done;
}

#endif
