#include <CStart.h>
#include <uv.h>

static void act(uv_work_t *unused) {
  (void)unused;
  start_action();
}

int main(void) {
  start_begin();
  static uv_work_t work;
  if (uv_queue_work(uv_default_loop(), &work, act, NULL) != 0) return 1;
  start_end();
}
