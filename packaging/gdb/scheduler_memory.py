"""Reads what the C core has in memory, of a live process or a core file, by the types of its debug information.

Memory may be torn: what cannot be read is None or "", never an exception; lists end after so many steps, and where they lead back to themselves.
"""

import re
import shutil
import subprocess
import time

import gdb

MOST = 1_000_000  # links of a list, before it is taken for a torn one
AGGREGATES = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)


# The folders of the core's sources (Sources/CScheduler).
FOLDERS = r"platform(/\w+)?|base|job|sync|time|targets|loop|pool|queue|clock|diagnostics|swift"


class Missing(Exception):
    """Something without which nothing can be said; its text says what."""


def bare(type):
    return type.unqualified().strip_typedefs().unqualified()


def find_field(type, name):
    """Returns the offset in bytes and the type of a field, which may be one of an anonymous union."""
    for field in bare(type).fields():
        if field.name == name:
            return field.bitpos // 8, field.type
        if not field.name and bare(field.type).code in AGGREGATES:
            inner = find_field(field.type, name)
            if inner:
                return field.bitpos // 8 + inner[0], inner[1]
    return None


class Layout:
    """Where the fields of a type are."""

    def __init__(self, type):
        self.type, self.size, self._places = bare(type), bare(type).sizeof, {}

    def place(self, path):
        """Returns the offset and the type of `path`, as "inbox.first"."""
        if path not in self._places:
            offset, type = 0, self.type
            for name in path.split("."):
                found = find_field(type, name)
                if not found:
                    raise Missing(f"{self.type} has no field {path}: this script belongs to another version of the library")
                offset, type = offset + found[0], found[1]
            self._places[path] = offset, bare(type)
        return self._places[path]

    def offset(self, path):
        return self.place(path)[0]


class Record:
    """A copy of one structure, read at once."""

    def __init__(self, memory, layout, address, data):
        self.memory, self.layout, self.address, self._data = memory, layout, address, data

    def __getitem__(self, path):
        """Returns a number, an address or a truth value as an int."""
        offset, type = self.layout.place(path)
        return int.from_bytes(self._data[offset : offset + type.sizeof], self.memory.order)

    def at(self, path):
        return self.address + self.layout.offset(path)

    def text(self, path):
        """Returns an array of characters as printable text."""
        offset, type = self.layout.place(path)
        return printable(self._data[offset : offset + type.sizeof])

    def each(self, path):
        """Yields a record for each element of an array of structures, of any number of dimensions."""
        offset, type = self.layout.place(path)
        yield from self.memory.elements(self.address + offset, type, self._data[offset : offset + type.sizeof])


def printable(data):
    text = bytes(data).split(b"\0")[0].decode("utf-8", "replace")
    return "".join(c if c.isprintable() and c != '"' else "?" for c in text)


class Memory:
    """A process, or what is left of it in a core file."""

    def __init__(self):
        self.inferior = gdb.selected_inferior()
        self.order = "big" if "big endian" in gdb.execute("show endian", to_string=True) else "little"
        connection = getattr(self.inferior, "connection", None)
        self.is_live = connection is not None and connection.type == "native"
        self.torn = 0  # lists that were
        self.pointer = gdb.lookup_type("long").sizeof
        self._layouts, self._names, self._symbols, self._files = {}, {}, {}, {}
        if not self.inferior.threads():
            raise Missing("there is no process and no core file: use run, attach PID or core-file FILE first")

    # MARK: symbols and types

    def symbol(self, file, name):
        """Returns what `name` is in a source file of the core, static or not."""
        if (file, name) not in self._symbols:
            found = [each for each in self._candidates(name) if re.search(rf"(^|/)({FOLDERS})/{re.escape(file)}$", each.symtab.filename)]
            if not found:
                raise Missing(self._why_not(f"{name} of {file}"))
            self._symbols[file, name] = found[0]
        return self._symbols[file, name]

    @staticmethod
    def _candidates(name):
        static = gdb.lookup_static_symbols(name)
        shared = gdb.lookup_global_symbol(name)
        return static + ([shared] if shared else [])

    @staticmethod
    def _why_not(what):
        if quiet("info address csched_version").startswith("Symbol"):
            return (f"the debug information of the library's core is missing ({what}). Build it with -g and do not strip it, or load the file that "
                    "it was split off into, with symbol-file or add-symbol-file")
        return (f"this program does not have the library's core, or has no symbols ({what}). Name the program that made the core file, with its "
                "symbols: gdb PROGRAM CORE")

    def address(self, file, name):
        return int(self.symbol(file, name).value().address)

    def is_linked_in(self, file, name):
        """Returns whether there is such a symbol: a program that is linked with an archive has only what it uses."""
        try:
            return bool(self.symbol(file, name))
        except Missing:
            return False

    def layout(self, name, file):
        """Returns the layout of type `name`, as the file sees it that has the static symbol `file[1]`."""
        if name not in self._layouts:
            symbol = self.symbol(*file)
            block = gdb.block_for_pc(int(symbol.value().address)) if symbol.is_function else None
            try:
                self._layouts[name] = Layout(gdb.lookup_type(name, block) if block else gdb.lookup_type(name))
            except gdb.error:
                raise Missing(self._why_not(f"type {name}")) from None
        return self._layouts[name]

    # MARK: reading

    def bytes(self, address, size):
        try:
            return bytes(self.inferior.read_memory(address, size))
        except (gdb.MemoryError, gdb.error, OverflowError, ValueError):
            return None

    def word(self, address, size=None):
        data = self.bytes(address, size or self.pointer)
        return None if data is None else int.from_bytes(data, self.order)

    def record(self, layout, address):
        data = self.bytes(address, layout.size) if address else None
        return None if data is None else Record(self, layout, address, data)

    def elements(self, address, type, data):
        while bare(bare(type).target()).code == gdb.TYPE_CODE_ARRAY:
            type = bare(type).target()
        element = bare(bare(type).target())
        layout = self._layouts.setdefault(str(element), Layout(element))
        for at in range(0, len(data), layout.size):
            yield Record(self, layout, address + at, data[at : at + layout.size])

    def array(self, file, name):
        """Yields the elements of a static array of structures."""
        symbol = self.symbol(file, name)
        address, type = self.address(file, name), bare(symbol.type)
        data = self.bytes(address, type.sizeof)
        yield from self.elements(address, type, data) if data else ()

    def static(self, file, name):
        return self.record(Layout(self.symbol(file, name).type), self.address(file, name))

    def walk(self, first, link, most=MOST):
        """Yields the addresses of a list; `link(address)` returns the next one, 0 at the end and None where that cannot be read."""
        seen = set()
        while first and len(seen) < most:
            following = link(first) if first not in seen else None
            if following is None:
                self.torn += 1
                return
            seen.add(first)
            yield first
            first = following

    # MARK: words

    def code(self, address):
        """Returns the name of the function at `address`, of a closure of Swift's too, and where it is in the source."""
        if address not in self._names:
            found = re.match(r"(.+?) in section ", quiet(f"info symbol {address:#x}"))
            name, line = found[1].replace(" + ", "+") if found else f"{address:#x}", self._line(address)
            if name.startswith("$s") and name.endswith("TA"):  # it calls a closure with its captures, and has no lines of its own
                inner = re.search(r"\b0x[0-9a-f]+", quiet(f"info address {name[:-2]}"))
                name, line = (name[:-2], self._line(int(inner[0], 16))) if inner else (name, "")
            self._names[address] = demangled(name) + line
        return self._names[address]

    @staticmethod
    def _line(address):
        try:
            line = gdb.find_pc_line(address)
        except (gdb.error, OverflowError):
            return ""
        return f" ({line.symtab.filename.rsplit('/', 1)[-1]}:{line.line})" if line.symtab and line.line else ""

    def file_of(self, address):
        """Returns the source file of the function at `address`, without its folder."""
        if address not in self._files:
            try:
                block = gdb.block_for_pc(address)
            except (gdb.error, RuntimeError, OverflowError):
                block = None
            while block and not block.function:
                block = block.superblock
            self._files[address] = block.function.symtab.filename.rsplit("/", 1)[-1] if block else ""
        return self._files[address]

    def string(self, address, most=128):
        data = self.bytes(address, most) or next(filter(None, (self.bytes(address, size) for size in (32, 8, 1))), b"?")
        return printable(data)

    def clock(self):
        """Returns the present reading of the clock, None where that is not known: in a core file, or on another machine."""
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC) if self.is_live else None


def quiet(command):
    try:
        return gdb.execute(command, to_string=True)
    except gdb.error:
        return ""


_demangled = {}


def demangled(name):
    """Returns a name of Swift's as the toolchain writes it, if that is here."""
    if not name.startswith(("$s", "_$s")):
        return name
    if name not in _demangled:
        tool, result = shutil.which("swift-demangle"), None
        if tool:
            symbol, plus, offset = name.partition("+")
            try:
                run = subprocess.run([tool, "-compact", "-simplified", symbol], capture_output=True, text=True, timeout=10)
                result = run.stdout.strip() + plus + offset if run.returncode == 0 and run.stdout.strip() else None
            except (OSError, subprocess.SubprocessError):
                result = None
        _demangled[name] = result or name
    return _demangled[name]


def seconds(nanoseconds):
    return f"{nanoseconds // 1_000_000_000}.{nanoseconds % 1_000_000_000 // 1000:06} s"
