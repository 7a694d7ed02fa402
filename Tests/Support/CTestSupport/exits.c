// Notes each exit test, in the process that it is run in, for Tools/release-tests to count.
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void note(void) {
  const char *path = getenv("SCHEDULER_TEST_EXITS"), *number = getenv("SWT_EXIT_TEST_ID"); // Swift Testing's
  FILE *log = path != NULL && number != NULL ? fopen(path, "a") : NULL;
  if (log == NULL) return;
  fprintf(log, "%s\n", number);
  fclose(log);
}
