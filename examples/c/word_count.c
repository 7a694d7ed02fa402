// Counts lines, words and bytes of files, as wc does, on all processors: by fork and join. Words are what the white
// space of ASCII separates.
//
// A text is halved until its parts are small. One half is forked, so that another worker may take it. This worker does
// the other half, and then joins them. An idle worker takes the largest part that waits, so the number of parts need
// not be chosen beforehand.
#define _GNU_SOURCE // O_CLOEXEC
#include <CScheduler/CScheduler.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SMALL = 32768 }; // bytes: some 20 us of work, against less than 1 for a fork

typedef struct part {
  csched_job job; // first, so that the job is the part
  const char *text;
  size_t begin, end;
  size_t lines, words; // the result
} part;

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static void count_here(part *part) {
  const char *text = part->text;
  // A word counts where it begins. So a part looks at the byte before it, and no word is counted twice where two parts
  // meet.
  bool was_space = part->begin == 0 || is_space(text[part->begin - 1]);
  for (size_t i = part->begin; i < part->end; i++) {
    bool is = is_space(text[i]);
    part->words += was_space && !is;
    part->lines += text[i] == '\n';
    was_space = is;
  }
}

static void count(csched_job *job);
static void never_dropped(csched_job *job) { (void)job; } // the pool is stopped to run what it has
static const csched_job_type part_type = {count, never_dropped, NULL};

static void count(csched_job *job) {
  part *whole = (part *)job;
  if (whole->end - whole->begin <= SMALL) {
    count_here(whole);
    return;
  }
  size_t middle = whole->begin + (whole->end - whole->begin) / 2;
  part left = {.text = whole->text, .begin = whole->begin, .end = middle};
  part right = {.text = whole->text, .begin = middle, .end = whole->end};
  csched_fork fork;
  csched_job_init(&right.job, &part_type, NULL);
  csched_pool_fork(&fork, &right.job); // on our stack, which stays until it is joined
  count(&left.job);
  csched_pool_wait(&fork);
  whole->lines = left.lines + right.lines;
  whole->words = left.words + right.words;
}

// Maps the file. Returns: its size, and the text in `*text`; -1 after a message.
static ssize_t open_text(const char *path, const char **text) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status = {0};
  void *map = NULL;
  bool is_open = fd >= 0 && fstat(fd, &status) == 0;
  if (is_open && !S_ISREG(status.st_mode)) errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL, is_open = false;
  if (is_open && status.st_size > 0) map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  is_open = is_open && map != MAP_FAILED;
  if (!is_open) fprintf(stderr, "word_count: %s: %s\n", path, strerror(errno));
  if (fd >= 0) close(fd);
  *text = map;
  return is_open ? (ssize_t)status.st_size : -1;
}

int main(int argument_count, char **paths) {
  if (argument_count < 2) {
    fprintf(stderr, "usage: %s FILE...\n", paths[0]);
    return EXIT_FAILURE;
  }
  size_t file_count = (size_t)argument_count - 1;
  part *files = calloc(file_count, sizeof *files);
  csched_pool *pool;
  if (files == NULL || csched_pool_create(&pool, NULL) != 0) {
    fputs("word_count: no memory or threads for a pool\n", stderr);
    free(files);
    return EXIT_FAILURE;
  }
  int status = EXIT_SUCCESS;
  for (size_t i = 0; i < file_count; i++) {
    ssize_t size = open_text(paths[i + 1], &files[i].text);
    if (size < 0) {
      paths[i + 1] = NULL; // no line for this one
      status = EXIT_FAILURE;
      continue;
    }
    files[i].end = (size_t)size;
    csched_job_init(&files[i].job, &part_type, NULL);
    csched_target_submit(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), &files[i].job);
  }
  csched_pool_stop(pool, CSCHED_STOP_RUN); // when all has run
  csched_pool_join(pool);
  for (size_t i = 0; i < file_count; i++)
    if (paths[i + 1] != NULL) printf("%zu %zu %zu %s\n", files[i].lines, files[i].words, files[i].end, paths[i + 1]);
  csched_pool_destroy(pool);
  for (size_t i = 0; i < file_count; i++)
    if (files[i].end > 0) munmap((void *)(uintptr_t)files[i].text, files[i].end);
  free(files);
  return status;
}
