#include <CStart.h>
#include <pthread.h>
#include <stddef.h>

static void *act(void *unused) {
  start_action();
  return unused;
}

int main(void) {
  start_begin();
  pthread_t thread;
  if (pthread_create(&thread, NULL, act, NULL) != 0) return 1;
  start_end();
}
