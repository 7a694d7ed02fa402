// Conditions, recursive and read-write locks, and semaphores: ours, and the C library's.
#define _GNU_SOURCE
#include "kit.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

// MARK: alone

double cbench_rlock_alone(bool ours, long count) {
  static csched_rlock rlock;
  static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  csched_time start = csched_now();
  for (long i = 0; i < count && ours; i++) {
    csched_rlock_lock(&rlock);
    csched_rlock_lock(&rlock);
    csched_rlock_unlock(&rlock);
    csched_rlock_unlock(&rlock);
  }
  for (long i = 0; i < count && !ours; i++) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  return since(start);
}

double cbench_semaphore_alone(bool ours, long count) {
  static csched_semaphore semaphore;
  static sem_t system; // zeroed: without units, of this process
  csched_time start = csched_now();
  for (long i = 0; i < count && ours; i++) {
    csched_semaphore_signal(&semaphore, 1);
    csched_semaphore_wait(&semaphore);
  }
  for (long i = 0; i < count && !ours; i++) {
    sem_post(&system);
    sem_wait(&system);
  }
  return since(start);
}

double cbench_rwlock_alone(bool ours, bool writes, long count) {
  static csched_rwlock rwlock;
  static pthread_rwlock_t system = PTHREAD_RWLOCK_INITIALIZER;
  csched_time start = csched_now();
  for (long i = 0; i < count; i++) {
    if (ours && writes) csched_rwlock_lock_write(&rwlock), csched_rwlock_unlock_write(&rwlock);
    else if (ours) csched_rwlock_lock_read(&rwlock), csched_rwlock_unlock_read(&rwlock);
    else if (writes) pthread_rwlock_wrlock(&system), pthread_rwlock_unlock(&system);
    else pthread_rwlock_rdlock(&system), pthread_rwlock_unlock(&system);
  }
  return since(start);
}

// MARK: readers and writers

typedef struct shelf {
  bool ours;
  long count;
  csched_rwlock rwlock;
  pthread_rwlock_t system;
} shelf;

// A microsecond of work in each section; each sixteenth writes.
static void read_and_write(void *context, cbench_crew *crew, int index) {
  shelf *shelf = context;
  cbench_crew_start(crew, index);
  for (long i = 0; i < shelf->count; i++) {
    bool writes = (i + index) % 16 == 0;
    if (shelf->ours) {
      if (writes) csched_rwlock_lock_write(&shelf->rwlock);
      else csched_rwlock_lock_read(&shelf->rwlock);
    } else {
      if (writes) pthread_rwlock_wrlock(&shelf->system);
      else pthread_rwlock_rdlock(&shelf->system);
    }
    cbench_work(1000);
    if (!shelf->ours) pthread_rwlock_unlock(&shelf->system);
    else if (writes) csched_rwlock_unlock_write(&shelf->rwlock);
    else csched_rwlock_unlock_read(&shelf->rwlock);
  }
}

double cbench_rwlock_shared(bool ours, int threads, long count) {
  shelf *shelf = touched(sizeof *shelf);
  shelf->ours = ours;
  shelf->count = count;
  pthread_rwlock_init(&shelf->system, NULL);
  double took = cbench_crew_run(threads, CBENCH_FREE, read_and_write, shelf);
  free(shelf);
  return took;
}

// MARK: round trips of two threads

typedef struct trips {
  bool ours;
  long count;
  csched_semaphore semaphores[2];
  sem_t system[2];
  csched_lock lock;
  csched_cond cond;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int turn; // guarded: whose it is; or how many broadcasts there have been
  int here; // guarded: how many wait for the next broadcast
  int waiters;
} trips;

static trips *make_trips(bool ours, long count) {
  trips *trips = touched(sizeof *trips);
  trips->ours = ours;
  trips->count = count;
  pthread_mutex_init(&trips->mutex, NULL);
  pthread_cond_init(&trips->changed, NULL);
  for (int i = 0; i < 2; i++) sem_init(&trips->system[i], 0, 0);
  return trips;
}

static void lock_it(trips *trips) {
  if (trips->ours) csched_lock_lock(&trips->lock);
  else pthread_mutex_lock(&trips->mutex);
}
static void unlock_it(trips *trips) {
  if (trips->ours) csched_lock_unlock(&trips->lock);
  else pthread_mutex_unlock(&trips->mutex);
}
static void wait_for_change(trips *trips) {
  if (trips->ours) csched_cond_wait(&trips->cond, &trips->lock);
  else pthread_cond_wait(&trips->changed, &trips->mutex);
}
static void signal_it(trips *trips) {
  if (trips->ours) csched_cond_signal(&trips->cond);
  else pthread_cond_signal(&trips->changed);
}
static void broadcast_it(trips *trips) {
  if (trips->ours) csched_cond_broadcast(&trips->cond);
  else pthread_cond_broadcast(&trips->changed);
}

static void trip_by_cond(void *context, cbench_crew *crew, int index) {
  trips *trips = context;
  cbench_crew_start(crew, index);
  for (long i = 0; i < trips->count; i++) {
    lock_it(trips);
    while (trips->turn != index) wait_for_change(trips);
    trips->turn = 1 - index;
    unlock_it(trips);
    signal_it(trips);
  }
}

static void trip_by_semaphore(void *context, cbench_crew *crew, int index) {
  trips *trips = context;
  cbench_crew_start(crew, index);
  for (long i = 0; i < trips->count; i++) {
    if (trips->ours) {
      if (index == 0) csched_semaphore_signal(&trips->semaphores[1], 1);
      csched_semaphore_wait(&trips->semaphores[index]);
      if (index == 1) csched_semaphore_signal(&trips->semaphores[0], 1);
    } else {
      if (index == 0) sem_post(&trips->system[1]);
      sem_wait(&trips->system[index]);
      if (index == 1) sem_post(&trips->system[0]);
    }
  }
}

double cbench_cond_trips(bool ours, cbench_placement placement, long count) {
  trips *trips = make_trips(ours, count);
  double took = cbench_crew_run(2, placement, trip_by_cond, trips);
  free(trips);
  return took;
}

double cbench_semaphore_trips(bool ours, cbench_placement placement, long count) {
  trips *trips = make_trips(ours, count);
  double took = cbench_crew_run(2, placement, trip_by_semaphore, trips);
  free(trips);
  return took;
}

// MARK: broadcasts

// The last one sends them when all others wait, so each costs all wakes.
static void broadcast_or_wait(void *context, cbench_crew *crew, int index) {
  trips *trips = context;
  cbench_crew_start(crew, index);
  for (long i = 0; i < trips->count;) {
    lock_it(trips);
    if (index < trips->waiters) {
      trips->here++;
      while (trips->turn == i) wait_for_change(trips);
      i++;
    } else if (trips->here == trips->waiters) {
      trips->here = 0;
      trips->turn = (int)++i;
      broadcast_it(trips);
    }
    unlock_it(trips);
    if (index == trips->waiters) sched_yield();
  }
}

double cbench_cond_broadcasts(bool ours, int waiters, long count) {
  trips *trips = make_trips(ours, count);
  trips->waiters = waiters;
  double took = cbench_crew_run(waiters + 1, CBENCH_FREE, broadcast_or_wait, trips);
  free(trips);
  return took;
}
