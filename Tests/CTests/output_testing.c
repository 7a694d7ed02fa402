#include "output_testing.h"

#include <fcntl.h>
#include <unistd.h>

output output_open(void) {
  FILE *file = tmpfile();
  int fd = dup(fileno(file));
  fclose(file);
  CHECK_EQUAL(fcntl(fd, F_SETFL, O_APPEND), 0);
  return (output){.fd = fd};
}

const char *output_read(output *output) {
  off_t size = lseek(output->fd, 0, SEEK_END);
  free(output->text);
  output->text = calloc(1, (size_t)size + 1);
  if (pread(output->fd, output->text, (size_t)size, 0) != size) output->text[0] = 0;
  return output->text;
}

void output_empty(output *output) { CHECK_EQUAL(ftruncate(output->fd, 0), 0); }

void output_close(output *output) {
  free(output->text);
  close(output->fd);
}

bool output_says(const char *text, const char *subject, const char *words) {
  for (const char *found = text; (found = strstr(found, subject)) != NULL; found++) {
    const char *end = strchr(found, '\n'), *there = strstr(found, words);
    if (there != NULL && (end == NULL || there < end)) return true;
  }
  return false;
}

int output_count(const char *text, const char *words) {
  int count = 0;
  for (const char *each = text; (each = strstr(each, words)) != NULL; each++) count++;
  return count;
}
