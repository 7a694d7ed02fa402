// Runs the loads on the processors of this machine. Arguments and output as of the simulator, without costs, transfers,
// interrupts and hot lines.

#define _GNU_SOURCE
#include "scale.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const int scale_repeats = 40;

enum { COUNTERS = 1024 };
static struct { _Alignas(128) uint64_t units; } counters[COUNTERS];
static uint32_t counter_count;
static _Thread_local uint64_t *own;
static uint64_t begun, over;
static double turns_per_ns; // of the loop in scale_work

uint64_t scale_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void spin(uint64_t turns) {
  for (uint64_t i = 0; i < turns; i++) __asm__ volatile("" ::: "memory");
}
void scale_work(uint64_t ns) { spin((uint64_t)((double)ns * turns_per_ns)); }
void scale_nap(uint64_t ns) { nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL); }

void scale_done(void) {
  if (own == NULL) own = &counters[csched_fetch_add_relaxed(&counter_count, 1) % COUNTERS].units;
  csched_store_relaxed(own, csched_load_relaxed(own) + 1);
}
void scale_begin(void) {
  for (int i = 0; i < COUNTERS; i++) csched_store_relaxed(&counters[i].units, 0);
  over = 0;
  begun = scale_now();
}
void scale_expect(uint64_t count) { (void)count; } // a load is long enough here
void scale_end(void) { over = scale_now(); }

typedef struct start {
  void (*body)(void *);
  void *context;
} start;
static void *run_body(void *argument) {
  start own_start = *(start *)argument;
  free(argument);
  own_start.body(own_start.context);
  return NULL;
}
void scale_spawn(void (*body)(void *), void *context) {
  pthread_t thread;
  start *argument = malloc(sizeof *argument);
  *argument = (start){body, context};
  if (pthread_create(&thread, NULL, run_body, argument) != 0) abort();
  pthread_detach(thread);
}

int main(int count, char **words) {
  if (count < 4) {
    printf("%ld\n", sysconf(_SC_NPROCESSORS_ONLN));
    return 0;
  }
  const scale_load *load = scale_loads;
  while (load->name != NULL && strcmp(load->name, words[1]) != 0) load++;
  if (load->name == NULL) return 2;
  int processors = atoi(words[2]);
  uint64_t ns = strtoull(words[3], NULL, 10), least = UINT64_MAX;
  for (int i = 0; i < 20; i++) { // the least of some tries: nothing has interrupted that one
    uint64_t from = scale_now();
    spin(1000000);
    if (scale_now() - from < least) least = scale_now() - from;
  }
  turns_per_ns = 1e6 / (double)least;
  scale_begin();
  load->prepare(processors, ns);
  uint64_t units = 0;
  for (int i = 0; i < COUNTERS; i++) units += csched_load_relaxed(&counters[i].units);
  printf("%s\t%d\t%llu\t%llu\t%llu\n", load->name, processors, (unsigned long long)ns, (unsigned long long)units,
         (unsigned long long)(over - begun));
  return 0;
}
