#include <CScheduler/CScheduler.h>
#include <CStart.h>

static void act(void *unused) {
  (void)unused;
  start_action();
}

int main(void) {
  start_begin();
  csched_pool *pool;
  if (csched_pool_create(&pool, NULL) != 0) return 1;
  csched_target_async(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), act, NULL);
  start_end();
}
