"""Changes the LLVM code of a Swift module so that it announces its memory accesses to the model.

The compiler's own pass for ThreadSanitizer puts a call at each access, but leaves out the functions that Swift makes to copy, assign
and destroy values, and those call into the run-time library. So every function gets the pass, and each call of a type's
witness goes through the seam.
"""

import re

ACCESSES = [f"{kind}{size}" for kind in ("read", "write", "unaligned_read", "unaligned_write") for size in (1, 2, 4, 8, 16)]
ATOMICS = [f"atomic{bits}_{what}" for bits in (8, 32, 64) for what in (
    "load", "store", "exchange", "fetch_add", "fetch_sub", "fetch_or", "fetch_and", "compare_exchange_val")]
OTHERS = ["atomic_thread_fence", "memcpy", "memmove", "memset", "init", "func_entry", "func_exit"]
WITNESS = re.compile(r"call (ptr|void) (%(InitializeBufferWithCopyOfBuffer|InitializeWithCopy|InitializeWithTake|AssignWithCopy|"
                     r"AssignWithTake|Destroy)[\w.]*)\(")


def renames():
    """Arguments of objcopy: the sanitizer's calls become the seam's, and so does the memory that Swift takes without its library."""
    pairs = [(f"__tsan_{name}", f"model_swift_{name}") for name in ACCESSES + ATOMICS + OTHERS]
    pairs += [("malloc", "model_swift_malloc"), ("free", "model_free"), ("malloc_usable_size", "model_usable_size")]
    return [argument for old, new in pairs for argument in ("--redefine-sym", f"{old}={new}")]


def announce(text):
    """Returns the module's text with all of its functions to be instrumented, and its witnesses called by the seam."""
    text = re.sub(r"^attributes #\d+ = \{", lambda m: m[0] + " sanitize_thread", text, flags=re.M)
    lone = re.search(r"^define [^#\n]*\{$", text, re.M)
    if lone:
        raise ValueError("a function without attributes: " + lone[0])
    text, count = WITNESS.subn(lambda m: f"call {m[1]} @model_swift_{m[3]}(ptr {m[2]}, ", text)
    declared = "".join(f"declare {kind} @model_swift_{name}(ptr, ptr, ptr{more})\n" for kind, name, more in (
        ("ptr", "InitializeBufferWithCopyOfBuffer", ", ptr"), ("ptr", "InitializeWithCopy", ", ptr"), ("ptr", "InitializeWithTake", ", ptr"),
        ("ptr", "AssignWithCopy", ", ptr"), ("ptr", "AssignWithTake", ", ptr"), ("void", "Destroy", "")))
    return text + "\n" + declared
