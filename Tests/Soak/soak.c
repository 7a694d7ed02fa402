// The soak: much at once, for MINUTES: soak MINUTES [SEED]. Objects that are made and ended, and forks, are in the
// programs by lot (Tests/Programs), which can be repeated in one process. The soak finds faults that a test of one
// second does not show:
// memory, descriptors and threads that leak one at a time, and events that happen once in ten million runs.
//
// It repeats its phases, each for its share of the time. A slow phase shortens the later ones, but each phase does some
// least amount. After each round all objects have been destroyed; then
//   submitted = run + dropped, and as many released
//   no more descriptors and threads than after the first round, which warms up
//   no more than MOST_BYTES in use by malloc, and MOST_RESIDENT resident, beyond that
// No time is judged, but for a standstill: no job released in two minutes (common.c) while some are outstanding.
// soak MINUTES SEED KIND leaks one object of this kind in each round, which must be found: Tests/Soak/run --self-test.

#include "soak.h"

#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int64_t MOST_BYTES = 64 << 10, MOST_RESIDENT = 16 << 20;

static const soak_phase phases[] = {
    {"locks", "sections", "tries", 0, 15, soak_locks},        // 500 threads, one lock
    {"waits", "waits", "given up", 0, 20, soak_waits},        // 200 threads wait for all that can be waited for
    {"timers", "timers", "moves", 10000000, 30, soak_timers}, // far more than a program has at a time
    {"storms", "cancels", NULL, 0, 17, soak_storms},          // 64 threads, 64 targets
    {"stops", "cancels", "SIGSTOPs", 0, 18, soak_stops},      // the storms, stopped again and again from outside
};
enum { PHASES = sizeof phases / sizeof phases[0], ROUNDS_MOST = 1000 };

static soak_figures figures[PHASES];

// MARK: the process's resources

typedef struct state {
  int64_t resident, allocated; // bytes
  int descriptors, threads;
} state;

static int entries_of(const char *path) {
  DIR *folder = opendir(path);
  int count = 0;
  CHECK(folder != NULL, "%s: %s", path, strerror(errno));
  for (struct dirent *each; (each = readdir(folder)) != NULL;) count += each->d_name[0] != '.';
  closedir(folder);
  return count;
}

static int64_t resident_bytes(void) {
  long total = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%ld %ld", &total, &resident) == 2, "no figures of memory");
  fclose(file);
  return resident * sysconf(_SC_PAGESIZE);
}

static state look(void) {
  malloc_trim(0);
  return (state){resident_bytes(), (int64_t)mallinfo2().uordblks, entries_of("/proc/self/fd"),
                 entries_of("/proc/self/task")};
}

// Ended threads may be listed for a moment. Without a base: waits until the figures have not fallen for a while.
static state look_until_flat(const state *base) {
  state now = look();
  for (int i = 0, idle = 0; i < 1000 && idle < 20; i++) {
    if (base != NULL && now.descriptors <= base->descriptors && now.threads <= base->threads) break;
    soak_nap(10 * MS);
    state next = look();
    idle = next.descriptors < now.descriptors || next.threads < now.threads ? 0 : idle + (base == NULL);
    now = next;
  }
  return now;
}

static void check_flat(int round, const state *base, const state *now) {
  CHECK(now->descriptors <= base->descriptors, "%d descriptors after round %d, %d after the first", now->descriptors,
        round, base->descriptors);
  CHECK(now->threads <= base->threads, "%d threads after round %d, %d after the first", now->threads, round,
        base->threads);
  CHECK(now->allocated <= base->allocated + MOST_BYTES, "%lld bytes are allocated after round %d, %lld after the first",
        (long long)now->allocated, round, (long long)base->allocated);
  CHECK(now->resident <= base->resident + MOST_RESIDENT, "%lld bytes are resident after round %d, %lld after the first",
        (long long)now->resident, round, (long long)base->resident);
  CHECK(csched_live_threads() == 0 || now->threads > 1, "%zu threads are counted", csched_live_threads());
}

// MARK: leaks on purpose

static void *sleep_for_ever(void *argument) {
  for (;;) pause();
  return argument;
}

static void lose_bytes(char *lost, size_t size) {
  for (size_t i = 0; i < size; i += 1024) ((volatile char *)lost)[i] = 1; // or the compiler would leave it all out
}
static void lose_memory(void) { lose_bytes(malloc(1 << 20), 1 << 20); }
static void lose_pages(void) {
  lose_bytes(mmap(NULL, 32 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 32 << 20);
}
static void lose_descriptor(void) { CHECK(dup(0) >= 0, "%s", strerror(errno)); }
static void lose_thread(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, sleep_for_ever, NULL) == 0, "no thread");
}
static void lose_job(void) { // it is released, but was neither run nor dropped
  soak_tally *tally = &figures[0].tally;
  atomic_fetch_add(&tally->submitted, 1);
  atomic_fetch_add(&tally->released, 1);
}

static const struct loss {
  const char *name;
  void (*lose)(void);
} losses[] = {{"memory", lose_memory}, {"pages", lose_pages}, {"descriptor", lose_descriptor},
              {"thread", lose_thread}, {"job", lose_job},     {"nothing", NULL}};

static void (*loss_called(const char *name))(void) {
  for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++)
    if (strcmp(losses[i].name, name) == 0) return losses[i].lose;
  CHECK(false, "there is no '%s' to lose", name);
  return NULL;
}

// MARK: rounds

static csched_time start;

static uint64_t goal_of(const soak_phase *phase, double minutes) {
  return (uint64_t)((double)phase->goal * (minutes < 10 ? minutes / 10 : 1));
}

// Each phase ends at an instant that is known before the first begins.
static void run_round(int round, csched_time span, double minutes, uint64_t *seed) {
  int share = 0;
  for (int i = 0; i < PHASES; i++) {
    csched_time began = csched_now();
    share += phases[i].share;
    soak_slice slice = {start + span * (unsigned)(round - 1) + span * (unsigned)share / 100,
                        goal_of(&phases[i], minutes), seed};
    phases[i].run(&slice, &figures[i]);
    soak_settle(&figures[i].tally);
    figures[i].time += csched_now() - began;
  }
}

static void print_state(int round, const state *state) {
  printf("%5d  %9.1f  %10.1f  %11d  %7d\n", round, (double)state->resident / (1 << 20),
         (double)state->allocated / (1 << 10), state->descriptors, state->threads);
  fflush(stdout);
}

static void print_figures(double minutes) {
  struct rusage usage;
  printf("\nphase   seconds                count           per s     submitted           ran       dropped\n");
  for (int i = 0; i < PHASES; i++) {
    const soak_figures *each = &figures[i];
    double seconds = (double)each->time / 1e9;
    printf("%-7s %7.1f %11llu %-8s %11.0f %13llu %13llu %13llu", phases[i].name, seconds,
           (unsigned long long)each->count, phases[i].unit, (double)each->count / seconds,
           (unsigned long long)each->tally.submitted, (unsigned long long)each->tally.ran,
           (unsigned long long)each->tally.dropped);
    if (phases[i].others_unit != NULL) printf("  %llu %s", (unsigned long long)each->others, phases[i].others_unit);
    if (phases[i].goal > 0) printf("  %llu at a time", (unsigned long long)goal_of(&phases[i], minutes));
    putchar('\n');
    CHECK(each->count > 0, "%s did nothing", phases[i].name);
  }
  getrusage(RUSAGE_SELF, &usage);
  printf("soak: %.0f s, %.0f MB resident at the most; flat: memory, descriptors, threads; submitted = run + dropped\n",
         (double)(csched_now() - start) / 1e9, (double)usage.ru_maxrss / 1024);
}

// Makes objects that are made at first use, and kept: the clocks' thread with its descriptors.
static void warm_up(void) {
  static soak_tally tally;
  soak_job jobs[2];
  csched_loop *loop;
  CHECK(csched_loop_create(&loop) == 0, "no memory");
  for (int i = 0; i < 2; i++) {
    csched_clock clock = i == 0 ? CSCHED_CLOCK_BOOT : CSCHED_CLOCK_WALL;
    soak_job_init(&jobs[i], &tally);
    CHECK(soak_submit_at(&jobs[i], csched_loop_target(loop), clock, csched_clock_now(clock) + 3600000 * MS, 0),
          "no clock");
    csched_timer_cancel(&jobs[i].timer);
  }
  soak_settle(&tally);
  csched_loop_destroy(loop);
}

static int soak(double minutes, uint64_t seed, void (*lose)(void)) {
  mallopt(M_ARENA_MAX, 4); // or resident memory is that of as many arenas as there happened to be threads
  int rounds = minutes < 4 ? 4 : minutes > ROUNDS_MOST ? ROUNDS_MOST : (int)minutes;
  csched_time span = (csched_time)(minutes * 60e9) / (unsigned)rounds;
  state base = {0};
  warm_up();
  start = csched_now();
  printf("round   MB resident  kB in use  descriptors  threads\n");
  for (int round = 1; round <= rounds; round++) {
    run_round(round, span, minutes, &seed);
    if (round > 1 && lose != NULL) lose();
    for (int i = 0; i < PHASES; i++) soak_settle(&figures[i].tally);
    state now = look_until_flat(round == 1 ? NULL : &base);
    print_state(round, &now);
    if (round == 1) base = now;
    else check_flat(round, &base, &now);
  }
  print_figures(minutes);
  csched_shutdown(CSCHED_STOP_DROP);
  return 0;
}

// MARK: the process that stops this one

soak_stopper *soak_stopper_here;

static void stop_and_continue(pid_t child, uint64_t *seed) {
  kill(child, SIGSTOP);
  soak_nap(soak_below(seed, 20) * MS);
  kill(child, SIGCONT);
  atomic_fetch_add(&soak_stopper_here->stops, 1);
  soak_nap(soak_below(seed, 20) * MS);
}

// Returns: the status to end with.
static int watch(pid_t child, uint64_t seed) {
  for (;;) {
    int status;
    if (waitpid(child, &status, WNOHANG) == child) {
      if (WIFEXITED(status)) return WEXITSTATUS(status);
      fprintf(stderr, "soak: ended by signal %d\n", WTERMSIG(status));
      return 1;
    }
    if (atomic_load(&soak_stopper_here->is_wanted)) stop_and_continue(child, &seed);
    else soak_nap(10 * MS);
  }
}

int main(int count, char **arguments) {
  double minutes = count > 1 ? atof(arguments[1]) : 0;
  uint64_t seed = count > 2 ? strtoull(arguments[2], NULL, 0) : (uint64_t)time(NULL) << 20 | (uint64_t)getpid();
  if (minutes <= 0) {
    fprintf(stderr, "%s MINUTES [SEED [KIND]]\n", arguments[0]);
    return 64;
  }
  void (*lose)(void) = loss_called(count > 3 ? arguments[3] : "nothing");
  printf("soak: %g minutes, seed %llu\n", minutes, (unsigned long long)seed);
  fflush(stdout);
  soak_stopper_here = mmap(NULL, sizeof *soak_stopper_here, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(soak_stopper_here != MAP_FAILED, "no memory");
  pid_t child = fork(); // before there are threads
  CHECK(child >= 0, "fork: %s", strerror(errno));
  if (child > 0) return watch(child, seed);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  exit(soak(minutes, seed, lose));
}
