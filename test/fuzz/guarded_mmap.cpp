//===- guarded_mmap.cpp - Mapped memory ends where its bytes end
//-----------===//
//
// A mapping goes on to the end of its page, so a read past the end of a file,
// or of an arena, goes unnoticed. Linked with --wrap=mmap, --wrap=munmap: the
// address sanitizer takes the rest of the page for poisoned.
//
//===----------------------------------------------------------------------===//

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <unistd.h>

extern "C" {
void *__real_mmap(void *, size_t, int, int, int, off_t);
int __real_munmap(void *, size_t);
void *__wrap_mmap(void *, size_t, int, int, int, off_t);
int __wrap_munmap(void *, size_t);
}

static size_t restOfPage(size_t length) {
  size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return (page - length % page) % page;
}

void *__wrap_mmap(void *address, size_t length, int protection, int flags,
                  int descriptor, off_t offset) {
  void *mapped =
      __real_mmap(address, length, protection, flags, descriptor, offset);
  if (mapped != MAP_FAILED)
    ASAN_POISON_MEMORY_REGION(static_cast<char *>(mapped) + length,
                              restOfPage(length));
  return mapped;
}

int __wrap_munmap(void *address, size_t length) {
  ASAN_UNPOISON_MEMORY_REGION(static_cast<char *>(address) + length,
                              restOfPage(length));
  return __real_munmap(address, length);
}
