// Builds text without the C library, so that a signal handler can use most of these functions.
#include "text.h"

#include "../platform/platform.h"

#include <string.h>

static void add_character(csched_text *text, char character) { // does nothing if the buffer is full
  if (text->at < text->end) *text->at++ = character;
}

void csched_text_add_(csched_text *text, const char *string) {
  while (*string != 0) add_character(text, *string++);
}

static void add_in_base(csched_text *text, uint64_t number, unsigned base, int digits) { // adds zeros up to `digits`
  char reversed[20]; // UINT64_MAX has 20 decimal digits
  int count = 0;
  for (; number > 0 || count < digits; number /= base) reversed[count++] = "0123456789abcdef"[number % base];
  while (count > 0) add_character(text, reversed[--count]);
}

void csched_text_number_(csched_text *text, uint64_t number) { add_in_base(text, number, 10, 1); }

void csched_text_address_(csched_text *text, const void *address) {
  csched_text_add_(text, "0x");
  add_in_base(text, (uintptr_t)address, 16, 1);
}

void csched_text_span_(csched_text *text, csched_time span) {
  csched_text_number_(text, span / 1000000000); // ns to seconds, then microseconds
  add_character(text, '.');
  add_in_base(text, span % 1000000000 / 1000, 10, 6);
  csched_text_add_(text, " s");
}

void csched_text_name_(csched_text *text, const char *name) {
  if (*name == 0) return;
  csched_text_add_(text, " \"");
  for (; *name != 0; name++)
    add_character(text, (unsigned char)*name < ' ' || *name == '"' || *name == 127 ? '?' : *name);
  add_character(text, '"');
}

void csched_name_copy_(char *copy, size_t size, const char *name) {
  size_t end = 0;
  while (end < size - 1 && name[end] != 0) end++;
  if (name[end] != 0) // the name is cut: not before a continuation byte of UTF-8 (10xxxxxx)
    while (end > 0 && ((unsigned char)name[end] & 0xC0) == 0x80) end--;
  memcpy(copy, name, end);
  copy[end] = 0;
}

void csched_text_target_(csched_text *text, const char *kind, const void *target, const char *name) {
  csched_text_add_(text, kind);
  csched_text_add_(text, " ");
  csched_text_address_(text, target);
  csched_text_name_(text, name);
}

void csched_text_thread_(csched_text *text, const char *before, uint32_t thread) {
  char name[16]; // Linux's limit for a thread's name
  csched_os_thread_get_name_(thread, name, sizeof name);
  csched_text_add_(text, before);
  csched_text_add_(text, "thread ");
  csched_text_number_(text, thread);
  csched_text_name_(text, name);
}

void csched_text_delayed_(csched_text *text, size_t count, csched_time first, csched_time now) {
  csched_text_add_(text, ", ");
  csched_text_number_(text, count);
  csched_text_add_(text, " delayed");
  if (count == 0 || first == CSCHED_FOREVER) return;
  csched_text_add_(text, first > now ? ", the next not before " : ", one is due");
  if (first > now) csched_text_span_(text, first - now);
}
