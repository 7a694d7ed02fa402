# The C library: make library, make install, make uninstall. Linux, a C compiler, libbsd's headers; no Swift.
#   make install PREFIX=/usr/local    DESTDIR= for a staged copy; LIBDIR=, INCLUDEDIR=, MANDIR= where they are not below PREFIX as usual

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
CFLAGS ?= -O2 -g
C_BUILD ?= .build-c

version_of = $(shell sed -n 's/^\#define CSCHED_VERSION_$(1) *//p' Sources/CScheduler/include/CScheduler/version.h)
MAJOR := $(call version_of,MAJOR)
MINOR := $(call version_of,MINOR)
VERSION := $(MAJOR).$(MINOR).$(call version_of,PATCH)
ABI := $(call version_of,ABI)
SONAME := libcscheduler.so.$(ABI)
SHARED := $(SONAME).$(VERSION)

C_SOURCES := $(wildcard Sources/CScheduler/*/*.c Sources/CScheduler/platform/linux/*.c)
C_OBJECTS := $(C_SOURCES:%.c=$(C_BUILD)/%.o)
C_HEADERS := $(wildcard Sources/CScheduler/include/CScheduler/*.h)
CPP_HEADERS := $(wildcard Sources/CScheduler/include/*.hpp)
C_FLAGS := -std=c11 -pthread -fPIC -fvisibility=hidden -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
C_LINK := -shared -pthread -Wl,-soname,$(SONAME) -Wl,-z,nodelete -Wl,-z,relro -Wl,-z,now -Wl,-z,defs

# The folders as a program will find them, and where they are written now.
ifneq ($(words x$(PREFIX)x$(LIBDIR)x$(INCLUDEDIR)x$(MANDIR)x$(DESTDIR)x),1)
$(error make: PREFIX and the other folders of make install may have no spaces)
endif
lib := $(abspath $(LIBDIR))
include_ := $(abspath $(INCLUDEDIR))
man := $(abspath $(MANDIR))
to_lib := $(DESTDIR)$(lib)
to_include := $(DESTDIR)$(include_)
to_man := $(DESTDIR)$(man)/man3

.PHONY: library install uninstall FORCE

library: $(C_BUILD)/libcscheduler.so $(C_BUILD)/libcscheduler.a # builds the C library, in .build-c

# What they were compiled with: another compiler, or other flags, compile anew.
$(C_BUILD)/flags: FORCE
	@mkdir -p $(C_BUILD)
	@echo '$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(VERSION)' | cmp -s - $@ || echo '$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(VERSION)' > $@

$(C_BUILD)/%.o: %.c $(C_BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(C_FLAGS) $(CPPFLAGS) $(CFLAGS) -ISources/CScheduler/include -MMD -MP -c $< -o $@

$(C_BUILD)/cscheduler.map: packaging/cscheduler.map.in $(C_BUILD)/flags
	@sed 's/@ABI@/$(ABI)/' $< > $@

$(C_BUILD)/libcscheduler.so: $(C_OBJECTS) $(C_BUILD)/cscheduler.map
	$(CC) $(C_LINK) -Wl,--version-script,$(C_BUILD)/cscheduler.map $(CFLAGS) $(LDFLAGS) $(C_OBJECTS) -o $@

# One object: a program has all of the library, so the constructors that connect its folders run.
$(C_BUILD)/libcscheduler.a: $(C_OBJECTS)
	@rm -f $@
	$(CC) -r -nostdlib $(C_OBJECTS) -o $(C_BUILD)/cscheduler.o
	$(AR) rcs $@ $(C_BUILD)/cscheduler.o

-include $(C_OBJECTS:.o=.d)

# Our headers, pages, and what compilers and linkers look for are those of one version alone; the libraries of other SONAMEs stay.
remove = rm -rf '$(to_include)/CScheduler' '$(to_lib)/cmake/CScheduler' && rm -f '$(to_include)/cscheduler.hpp' '$(to_lib)/libcscheduler.a' \
  '$(to_lib)/libcscheduler.so' '$(to_lib)/pkgconfig/cscheduler.pc' '$(to_man)/cscheduler.3' '$(to_man)'/csched_*.3
fill = sed -e 's|@VERSION@|$(VERSION)|; s|@MAJOR@|$(MAJOR)|; s|@MINOR@|$(MINOR)|; s|@ABI@|$(ABI)|; s|@PREFIX@|$(abspath $(PREFIX))|' \
  -e 's|@LIBDIR@|$(lib)|; s|@INCLUDEDIR@|$(include_)|'
may_not_write = { echo "make: cannot write to $$folder: choose another folder by PREFIX=… (or DESTDIR=…), or do it as root: sudo make …" >&2; exit 1; }

# Says where it cannot write before it has changed anything. A library that is in use is replaced by a rename.
install: library ## installs the C library, its headers and pages: PREFIX=/usr/local, DESTDIR=, LIBDIR=, INCLUDEDIR=, MANDIR=
	@umask 022 && for folder in '$(to_lib)' '$(to_include)' '$(to_man)'; do \
	  mkdir -p "$$folder" 2> /dev/null && test -w "$$folder" || $(may_not_write); \
	done
	@$(remove)
	@umask 022 && mkdir -p '$(to_include)/CScheduler' '$(to_lib)/pkgconfig' '$(to_lib)/cmake/CScheduler'
	@install -m 644 $(C_HEADERS) '$(to_include)/CScheduler/'
	@$(if $(CPP_HEADERS),install -m 644 $(CPP_HEADERS) '$(to_include)/')
	@install -m 755 $(C_BUILD)/libcscheduler.so '$(to_lib)/libcscheduler.so.new'
	@rm -f '$(to_lib)/$(SONAME)'.*
	@mv '$(to_lib)/libcscheduler.so.new' '$(to_lib)/$(SHARED)'
	@ln -sf $(SHARED) '$(to_lib)/$(SONAME)'
	@ln -sf $(SONAME) '$(to_lib)/libcscheduler.so'
	@install -m 644 $(C_BUILD)/libcscheduler.a '$(to_lib)/'
	@umask 022 && $(fill) packaging/cscheduler.pc.in > '$(to_lib)/pkgconfig/cscheduler.pc'
	@umask 022 && for file in Config ConfigVersion; do \
	  $(fill) packaging/CScheduler$$file.cmake.in > '$(to_lib)'/cmake/CScheduler/CScheduler$$file.cmake; \
	done
	@install -m 644 man/*.3 '$(to_man)/'
	@umask 022 && for page in man/*.3; do \
	  for name in $$(sed -n 's/^\.Nm \([a-z0-9_]*\).*/\1/p' $$page); do \
	    test -e '$(to_man)'/$$name.3 || echo ".so man3/$${page##*/}" > '$(to_man)'/$$name.3; \
	  done; \
	done
	@$(if $(DESTDIR),,ldconfig 2> /dev/null || true)
	@echo "cscheduler $(VERSION) is in $(DESTDIR)$(abspath $(PREFIX)): cc … \$$(pkg-config --cflags --libs cscheduler)"
	@$(if $(DESTDIR),,test "$$(pkg-config --variable=libdir cscheduler 2> /dev/null)" = '$(lib)' || \
	  echo "pkg-config does not look there: export PKG_CONFIG_PATH=$(lib)/pkgconfig, and to run programs LD_LIBRARY_PATH=$(lib)")

# What another version has put in the place of ours stays.
uninstall: # removes what make install has installed
	@for folder in '$(to_lib)' '$(to_include)' '$(to_man)'; do \
	  test ! -e "$$folder" || test -w "$$folder" || $(may_not_write); \
	done
	@test -e '$(to_lib)/$(SONAME)' || { echo "make: there is no cscheduler ($(SONAME)) in $(to_lib): say PREFIX=… as for make install" >&2; exit 1; }
	@test "$$(readlink '$(to_lib)/libcscheduler.so')" != $(SONAME) || { $(remove); }
	@rm -f '$(to_lib)/$(SONAME)' '$(to_lib)/$(SONAME)'.*
	@rmdir '$(to_lib)/cmake' '$(to_lib)/pkgconfig' 2> /dev/null || true
	@$(if $(DESTDIR),,ldconfig 2> /dev/null || true)
	@echo "cscheduler $(VERSION) is gone from $(DESTDIR)$(abspath $(PREFIX))"
