#include "trace_testing.h"

#include <fcntl.h>
#include <unistd.h>

trace_path make_path(void) {
  trace_path path;
  snprintf(path.folder, sizeof path.folder, "/tmp/cscheduler-trace-XXXXXX");
  CHECK(mkdtemp(path.folder) != NULL);
  snprintf(path.file, sizeof path.file, "%s/trace.json", path.folder);
  return path;
}

void remove_path(const trace_path *path) {
  unlink(path->file);
  rmdir(path->folder);
}

char *read_trace(const char *path) {
  output file = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
  CHECK(file.fd >= 0);
  output_read(&file);
  close(file.fd);
  return file.text;
}

// MARK: submissions

// In that line alone.
static const char *find(const char *line, const char *end, const char *words) {
  return memmem(line, (size_t)(end - line), words, strlen(words));
}

static int number_behind(const char *line, const char *end, const char *words) {
  const char *found = find(line, end, words);
  int number = found != NULL ? atoi(found + strlen(words)) : -1;
  return number < TRACED ? number : -1;
}

static bool has(const char *line, const char *end, const char *words) { return find(line, end, words) != NULL; }

static void count(uint8_t *counts, int number) {
  if (number >= 0) counts[number]++;
}

// Each line of the file is an event.
traced *look_at_trace(const char *text) {
  traced *found = calloc(1, sizeof *found);
  for (const char *line = text, *end; *line != 0; line = *end != 0 ? end + 1 : end) {
    end = strchr(line, '\n') != NULL ? strchr(line, '\n') : line + strlen(line);
    bool is_run = has(line, end, "\"cat\":\"run\""), is_begin = strncmp(line, "{\"ph\":\"s\"", 9) == 0;
    bool is_end = has(line, end, "\"name\":\"cancel\"") || has(line, end, "\"name\":\"drop\"");
    if (is_begin) count(found->submitted, number_behind(line, end, "\"id\":"));
    if (strncmp(line, "{\"ph\":\"f\"", 9) == 0) count(found->arrived, number_behind(line, end, "\"id\":"));
    if (is_run) count(found->run, number_behind(line, end, "\"submission\":"));
    if (is_end) count(found->given_up, number_behind(line, end, "\"submission\":"));
    found->submissions += is_begin;
    found->runs += is_run;
  }
  return found;
}

void check_trace_(check_place here, const traced *traced, bool all) {
  for (int i = 0; i < TRACED; i++) {
    int ends = traced->run[i] + traced->given_up[i];
    if (traced->run[i] > 0 && (traced->run[i] != 1 || traced->arrived[i] != 1 || traced->submitted[i] != 1))
      test_fail(here, "a run has one submission, and one arrow");
    if (traced->submitted[i] > 1 || ends > 1 || (all && ends != traced->submitted[i]))
      test_fail(here, "a submission has one end");
  }
}

int lost_in(const char *text) {
  static const char words[] = "\"lost events\",\"args\":{\"count\":";
  const char *found = strstr(text, words);
  return found != NULL ? atoi(found + sizeof words - 1) : -1;
}

// MARK: JSON

static bool value(const char **at);

static void skip(const char **at) { *at += strspn(*at, " \t\r\n"); }

static bool next_is(const char **at, char expected) {
  skip(at);
  if (**at != expected) return false;
  ++*at;
  return true;
}

// One character of UTF-8, of the shortest form, and no half of a pair.
static bool character(const char **at) {
  const unsigned char *text = (const unsigned char *)*at;
  uint32_t code = text[0] < 0x80 ? text[0] : text[0] & (text[0] < 0xe0 ? 0x1f : text[0] < 0xf0 ? 0x0f : 0x07);
  int more = text[0] < 0x80   ? 0
             : text[0] < 0xc2 ? -1
             : text[0] < 0xe0 ? 1
             : text[0] < 0xf0 ? 2
             : text[0] < 0xf5 ? 3
                              : -1;
  for (int i = 1; i <= more; i++) {
    if ((text[i] & 0xc0) != 0x80) return false;
    code = code << 6 | (text[i] & 0x3f);
  }
  static const uint32_t least[] = {0x20, 0x80, 0x800, 0x10000};
  if (more < 0 || code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
  *at += more + 1;
  return true;
}

static bool string(const char **at) {
  if (!next_is(at, '"')) return false;
  while (**at != '"') {
    if (**at != '\\') {
      if (!character(at)) return false;
      continue;
    }
    bool is_number = (*at)[1] == 'u' && strspn(*at + 2, "0123456789abcdef") >= 4;
    if (!is_number && ((*at)[1] == 0 || strchr("\"\\/bfnrt", (*at)[1]) == NULL)) return false;
    *at += is_number ? 6 : 2;
  }
  ++*at;
  return true;
}

static bool member(const char **at) { return string(at) && next_is(at, ':') && value(at); }

static bool list(const char **at, bool (*each)(const char **at), char end) {
  if (next_is(at, end)) return true;
  do
    if (!each(at)) return false;
  while (next_is(at, ','));
  return next_is(at, end);
}

static bool number(const char **at) {
  size_t digits = strspn(*at, "0123456789");
  *at += digits;
  if (digits == 0 || **at != '.') return digits > 0;
  digits = strspn(++*at, "0123456789");
  *at += digits;
  return digits > 0;
}

static bool value(const char **at) {
  skip(at);
  if (**at == '"') return string(at);
  if (next_is(at, '{')) return list(at, member, '}');
  if (next_is(at, '[')) return list(at, value, ']');
  return number(at);
}

bool is_json(const char *text) {
  bool is_one = value(&text);
  skip(&text);
  return is_one && *text == 0;
}
