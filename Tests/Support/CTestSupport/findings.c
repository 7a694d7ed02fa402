#include <CTestSupport.h>

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char finding[1024];
static bool has_found;

void ctest_fail(const char *text) {
  pthread_mutex_lock(&mutex); // only the first finding is kept
  if (!has_found) snprintf(finding, sizeof finding, "%s", text);
  has_found = true;
  pthread_mutex_unlock(&mutex);
}

ctest_finding ctest_found(void) {
  pthread_mutex_lock(&mutex);
  ctest_finding result = has_found ? finding : NULL;
  pthread_mutex_unlock(&mutex);
  return result;
}

void ctest_forget(void) {
  pthread_mutex_lock(&mutex);
  has_found = false;
  pthread_mutex_unlock(&mutex);
}
