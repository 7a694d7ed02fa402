// Cache lines: which processor owns a line, and which have a copy. A hit is cheap. A transfer costs time, and transfers
// of one line wait for each other. A copy of a line that other processors have copies of keeps the line busy for a
// short time only.

#include "costs.h"

#include <stdlib.h>
#include <string.h>

enum { LINES = 1 << 20, CAUSES = 4, NOBODY = -1 };

typedef struct cause {
  const char *word, *file;
  int line;
  const void *where;
  uint64_t transfers;
} cause;

typedef struct line {
  uintptr_t number; // address / 64; 0: not in use
  int owner;        // the processor that has changed it last, if no other one has read it since; else NOBODY
  uint64_t readers[4];
  uint64_t busy_until; // when the transfer in progress ends
  uint64_t transfers;
  cause causes[CAUSES];
} line;

static line lines[LINES];
static uint64_t all_transfers;
bool scale_counts = true;

static line *find(const void *address) {
  uintptr_t number = (uintptr_t)address / 64;
  size_t i = number * UINT64_C(0x9E3779B97F4A7C15) >> 44;
  while (lines[i].number != number) {
    if (lines[i].number == 0) {
      lines[i].number = number;
      lines[i].owner = NOBODY;
      break;
    }
    i = (i + 1) % LINES;
  }
  return &lines[i];
}

static bool has_copy(const line *line, int processor) { return line->readers[processor / 64] >> processor % 64 & 1; }
static bool has_any(const line *line) {
  return (line->readers[0] | line->readers[1] | line->readers[2] | line->readers[3]) != 0;
}

static void note(line *line, const char *word, const char *file, int number, const void *where) {
  all_transfers++;
  line->transfers++;
  for (int i = 0; i < CAUSES; i++) {
    cause *each = &line->causes[i];
    if (each->transfers == 0) *each = (cause){word, file, number, where, 0};
    if (each->file != file || each->line != number || each->where != where) continue;
    each->transfers++;
    return;
  }
}

// Returns: the cost of bringing the line here: `far` if another socket has changed it, or alone has copies.
static uint64_t cost_of_transfer(const line *line, int processor) {
  int socket = processor / (int)scale_cost.socket;
  if (line->owner != NOBODY)
    return line->owner / (int)scale_cost.socket == socket ? scale_cost.transfer : scale_cost.far;
  for (int p = socket * (int)scale_cost.socket; p < (socket + 1) * (int)scale_cost.socket && p < 256; p++)
    if (has_copy(line, p)) return scale_cost.transfer;
  return scale_cost.far;
}

// Returns: when the access has ended.
uint64_t scale_access(const void *address, bool writes, bool is_atomic, const char *word, const char *file, int number,
                      const void *where, int processor, uint64_t now) {
  line *at = find(address);
  bool is_here = writes ? at->owner == processor : has_copy(at, processor), was_owned = at->owner != NOBODY;
  uint64_t end = now + (is_atomic ? scale_cost.atomic : scale_cost.hit);
  if (!is_here && !has_any(at)) {
    end = now + scale_cost.fetch;
  } else if (!is_here) {
    if (now < at->busy_until) now = at->busy_until;
    end = now + cost_of_transfer(at, processor);
    at->busy_until = writes || was_owned ? end : now + scale_cost.copy; // the line is busy with each further copy, too
    if (scale_counts) note(at, word, file, number, where);
  }
  if (writes) {
    memset(at->readers, 0, sizeof at->readers);
    at->owner = processor;
  } else if (!is_here) {
    at->owner = NOBODY;
  }
  at->readers[processor / 64] |= UINT64_C(1) << processor % 64;
  return end;
}

void scale_lines_forget(void) {
  all_transfers = 0;
  for (size_t i = 0; i < LINES; i++) {
    lines[i].transfers = 0;
    memset(lines[i].causes, 0, sizeof lines[i].causes);
  }
}

uint64_t scale_transfers(void) { return all_transfers; }

// Returns: how many of `hot` are filled: the lines with the most transfers, by the access that has caused most of them.
int scale_hottest(scale_hot *hot, int most) {
  int count = 0;
  for (size_t i = 0; i < LINES; i++) {
    if (lines[i].transfers == 0 || (count == most && hot[most - 1].transfers >= lines[i].transfers)) continue;
    const cause *main = &lines[i].causes[0];
    for (int c = 1; c < CAUSES; c++)
      if (lines[i].causes[c].transfers > main->transfers) main = &lines[i].causes[c];
    int at = count < most ? count++ : most - 1;
    for (; at > 0 && hot[at - 1].transfers < lines[i].transfers; at--) hot[at] = hot[at - 1];
    hot[at] = (scale_hot){main->word, main->file, main->line, main->where, lines[i].transfers};
  }
  return count;
}
