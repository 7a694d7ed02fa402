// Our loop inside libuv's.
#include "hosts.h"

#include <uv.h>

static uv_poll_t descriptor;
static uv_timer_t idle;

static void idle_ends(uv_timer_t *unused) {
  (void)unused;
  hosts_idle_ends();
}

static void ready(uv_poll_t *unused, int status, int events) {
  (void)unused, (void)events;
  require(status == 0, "libuv can wait for it");
  if (hosts_ready()) uv_timer_start(&idle, idle_ends, IDLE_MS, 0);
  if (!hosts_is_stopped()) return;
  uv_close((uv_handle_t *)&idle, NULL);
  uv_close((uv_handle_t *)&descriptor, NULL);
}

int main(void) {
  pthread_t submitter;
  require(uv_timer_init(uv_default_loop(), &idle) == 0, "there is a timer");
  require(uv_poll_init(uv_default_loop(), &descriptor, hosts_begin(&submitter)) == 0, "libuv takes the descriptor");
  require(uv_poll_start(&descriptor, UV_READABLE, ready) == 0, "libuv waits for it");
  require(uv_run(uv_default_loop(), UV_RUN_DEFAULT) == 0, "libuv has nothing left");
  uv_loop_close(uv_default_loop());
  hosts_end("libuv", submitter);
  return EXIT_SUCCESS;
}
