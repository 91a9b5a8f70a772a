"""How the address and undefined-behaviour sanitizers behave in tests.

MPI keeps memory until exit. libMLIR and libLLVM are not instrumented: what their inline code poisons in allocators and
vectors, they would use unseen.
"""

OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:allow_user_poisoning=0:detect_container_overflow=0",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}
