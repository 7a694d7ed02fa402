#if defined(__linux__) // Platform layer for Linux: names of functions from the symbol table of a file. See platform.h.
#define _GNU_SOURCE
#include "../platform.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct file { // a file, mapped for reading; `start` NULL: it cannot be mapped
  const char *start;
  size_t size;
} file;

static file map_file(const char *path) { // the caller unmaps it; not a regular file, or too small: `start` NULL
  struct stat found;
  file mapped = {NULL, 0};
  int before = csched_os_disable_cancellation_(), fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd >= 0 && fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && (size_t)found.st_size >= sizeof(ElfW(Ehdr))) {
    void *start = mmap(NULL, (size_t)found.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (start != MAP_FAILED) mapped = (file){start, (size_t)found.st_size};
  }
  if (fd >= 0) close(fd);
  csched_os_restore_cancellation_(before);
  return mapped;
}

// Returns: whether the file contains `size` bytes at `offset`. Both come from the file, so a damaged file may have any
// value.
static bool has_range(const file *file, uint64_t offset, uint64_t size) {
  return offset <= file->size && size <= file->size - offset;
}

// Returns: the header of section `number`; NULL: the header or the section is not inside the file.
static const ElfW(Shdr) * find_section(const file *file, size_t number) {
  const ElfW(Ehdr) *head = (const void *)file->start;
  uint64_t at = head->e_shoff + number * sizeof(ElfW(Shdr));
  if (number >= head->e_shnum || head->e_shentsize != sizeof(ElfW(Shdr)) || !has_range(file, at, sizeof(ElfW(Shdr))))
    return NULL;
  const ElfW(Shdr) *found = (const void *)(file->start + at);
  return has_range(file, found->sh_offset, found->sh_size) ? found : NULL; // also for SHT_NOBITS: unused here
}

// Returns: the name of the function at `address`, relative to the file's load address; NULL: no ELF file, no symbol
// table, or no such function.
static const char *name_in(const file *file, uint64_t address) {
  const ElfW(Ehdr) *head = (const void *)file->start;
  if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) return NULL;
  for (size_t i = 0; i < head->e_shnum; i++) {
    const ElfW(Shdr) *table = find_section(file, i), *names = table != NULL ? find_section(file, table->sh_link) : NULL;
    if (names == NULL || table->sh_type != SHT_SYMTAB) continue;
    const ElfW(Sym) *symbols = (const void *)(file->start + table->sh_offset);
    for (size_t j = 0; j < table->sh_size / sizeof *symbols; j++) {
      const ElfW(Sym) *each = &symbols[j];
      bool is_function = (each->st_info & 15) == STT_FUNC && each->st_name < names->sh_size; // 15: mask of the type
      if (!is_function || address < each->st_value || address - each->st_value >= each->st_size) continue;
      const char *name = file->start + names->sh_offset + each->st_name;
      return memchr(name, 0, names->sh_size - each->st_name) != NULL ? name : NULL; // NULL: no final 0 in the table
    }
  }
  return NULL;
}

bool csched_os_code_in_file_(const char *path, uint64_t address, char *name, size_t size) { // false: not found
  int saved = errno;
  file file = map_file(path);
  const char *found = file.start != NULL ? name_in(&file, address) : NULL;
  if (found != NULL) strncpy(name, found, size - 1)[size - 1] = 0; // strncpy omits the final 0 of a name that is cut
  if (file.start != NULL) munmap((void *)(uintptr_t)file.start, file.size);
  errno = saved;
  return found != NULL;
}

// A function of Swift's runtime, weak: NULL if the program lacks it. Returns: a new string, or NULL.
__attribute__((weak)) char *swift_demangle(const char *name, size_t length, char *buffer, size_t *size, uint32_t flags);

void csched_os_demangle_(char *name, size_t size) { // "$s": the prefix of a mangled Swift name
  char *plain =
      swift_demangle != NULL && strncmp(name, "$s", 2) == 0 ? swift_demangle(name, strlen(name), NULL, NULL, 0) : NULL;
  if (plain == NULL) return;
  strncpy(name, plain, size - 1)[size - 1] = 0;
  free(plain);
}

bool csched_os_has_swift_(void) { return swift_demangle != NULL; }
#endif
