// Names of functions from the symbol table of a file, which may be damaged.
#include "testing.h"

#include "../../Sources/CScheduler/platform/platform.h"

#include <link.h>
#include <string.h>
#include <unistd.h>

// A file with one function and its name, and a section for each.
typedef struct image {
  ElfW(Ehdr) head;
  ElfW(Shdr) table, names;
  ElfW(Sym) function;
  char text[8];
} image;

static const image sound = {
    .head = {.e_ident = ELFMAG, .e_shoff = offsetof(image, table), .e_shentsize = sizeof(ElfW(Shdr)), .e_shnum = 2},
    .table = {.sh_type = SHT_SYMTAB,
              .sh_offset = offsetof(image, function),
              .sh_size = sizeof(ElfW(Sym)),
              .sh_link = 1},
    .names = {.sh_type = SHT_STRTAB, .sh_offset = offsetof(image, text), .sh_size = 8},
    .function = {.st_name = 1, .st_info = STT_FUNC, .st_value = 0x100, .st_size = 0x10},
    .text = "\0work",
};

// Returns: whether the function at 0x108 is found in a file with the content `image`.
static bool is_found(const image *image, char name[32]) {
  char path[] = "/tmp/cscheduler-symbols-XXXXXX";
  int file = mkstemp(path);
  CHECK_EQUAL(write(file, image, sizeof *image), (long long)sizeof *image);
  close(file);
  bool is_found = csched_os_code_in_file_(path, 0x108, name, 32);
  unlink(path);
  return is_found;
}

TEST("the name of a function is read from its file, and a damaged file has none") {
  char name[32] = "";
  image damaged = sound;
  CHECK(is_found(&sound, name) && strcmp(name, "work") == 0);
  damaged.names.sh_offset = (uint64_t)1 << 40;
  CHECK(!is_found(&damaged, name));
  damaged.names.sh_type = SHT_NOBITS; // has no content in the file
  CHECK(!is_found(&damaged, name));
  damaged = sound;
  damaged.table.sh_size = (uint64_t)1 << 40;
  CHECK(!is_found(&damaged, name));
  damaged = sound;
  damaged.table.sh_link = 7;
  CHECK(!is_found(&damaged, name));
  damaged = sound;
  damaged.function.st_name = 1000;
  CHECK(!is_found(&damaged, name));
  damaged = sound;
  memset(damaged.text, 'w', sizeof damaged.text); // no end of the name
  CHECK(!is_found(&damaged, name));
}
