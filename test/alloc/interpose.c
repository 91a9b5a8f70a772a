// interpose.c - Reports every allocation of a process, with the library that
// asked for it. Preloaded (LD_PRELOAD).
//
// A report is a line of the file $PPOPT_ALLOC_REPORT:
//   LINES FUNCTION BYTES ASKER OWNER OFFSET
// LINES: how many lines the executable's log, $PPOPT_ALLOC_LOG, had at that
// time: the steps that are done. Nothing is reported while it is empty. ASKER
// is the library that made the call. OWNER is the first on the stack that is
// not merely passing it on (the C and C++ libraries, formatting), OFFSET the
// place in it, for addr2line.
//
// Build: cc -O1 -fPIC -shared -o interpose.so interpose.c
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t),
    *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);

static __thread int inside __attribute__((tls_model("initial-exec")));
static const char *log_path;
static int report_fd = -1;
static char own_name[4096];

// Lines of the log, or 0 where there is none yet. Reads with system calls only:
// stdio would allocate.
static long log_lines(void) {
  static long lines, size_seen = -1;
  struct stat status;
  if (stat(log_path, &status) != 0)
    return 0;
  if (status.st_size == __atomic_load_n(&size_seen, __ATOMIC_ACQUIRE))
    return __atomic_load_n(&lines, __ATOMIC_ACQUIRE);
  int fd = syscall(SYS_openat, AT_FDCWD, log_path, O_RDONLY);
  if (fd < 0)
    return 0;
  long count = 0, size = 0, got;
  char block[4096];
  while ((got = syscall(SYS_read, fd, block, sizeof block)) > 0) {
    size += got;
    for (long i = 0; i < got; ++i)
      count += block[i] == '\n';
  }
  syscall(SYS_close, fd);
  __atomic_store_n(&lines, count, __ATOMIC_RELEASE);
  __atomic_store_n(&size_seen, size, __ATOMIC_RELEASE);
  return count;
}

static const char *library_of(void *address, uintptr_t *offset) {
  Dl_info info;
  if (!dladdr(address, &info) || !info.dli_fname)
    return "?";
  *offset = (uintptr_t)address - (uintptr_t)info.dli_fbase;
  return info.dli_fname;
}

// Libraries that allocate only because their caller asked them to print, to
// format or to grow a container.
static int passes_on(const char *library) {
  static const char *const stems[] = {"/libc.so",   "/libstdc++.so",
                                      "/libfmt.so", "/libm.so",
                                      "/ld-linux",  "/libgcc_s.so"};
  if (strcmp(library, own_name) == 0)
    return 1;
  for (size_t i = 0; i < sizeof stems / sizeof *stems; ++i)
    if (strstr(library, stems[i]))
      return 1;
  return 0;
}

static void report(const char *function, size_t bytes) {
  if (inside || report_fd < 0)
    return;
  inside = 1;
  int error = errno;
  long lines = log_lines();
  if (lines > 0) {
    void *frames[24];
    int depth = backtrace(frames, 24);
    const char *asker = "?", *owner = "?";
    uintptr_t offset = 0, unused;
    for (int i = 0, found = 0; i < depth; ++i) {
      const char *library = library_of(frames[i], &unused);
      if (!found && strcmp(library, own_name) != 0) {
        asker = library;
        found = 1;
      }
      if (!passes_on(library)) {
        owner = library_of(frames[i], &offset);
        break;
      }
    }
    char line[8400];
    int length = snprintf(line, sizeof line, "%ld %s %zu %s %s 0x%lx\n", lines,
                          function, bytes, asker, owner, offset);
    if (length > (int)sizeof line)
      length = sizeof line;
    syscall(SYS_write, report_fd, line, (size_t)length);
  }
  errno = error;
  inside = 0;
}

__attribute__((constructor)) static void start(void) {
  inside = 1;
  void *frame[2];
  backtrace(frame, 2); // loads the unwinder now, not in the middle of a step
  Dl_info info;
  if (dladdr((void *)start, &info))
    strncpy(own_name, info.dli_fname, sizeof own_name - 1);
  log_path = getenv("PPOPT_ALLOC_LOG");
  const char *path = getenv("PPOPT_ALLOC_REPORT");
  if (log_path && path)
    report_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  inside = 0;
}

void *malloc(size_t size) {
  report("malloc", size);
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  report("calloc", count * size);
  return __libc_calloc(count, size);
}
void *realloc(void *pointer, size_t size) {
  report("realloc", size);
  return __libc_realloc(pointer, size);
}
void *memalign(size_t alignment, size_t size) {
  report("memalign", size);
  return __libc_memalign(alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  report("aligned_alloc", size);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void **pointer, size_t alignment, size_t size) {
  report("posix_memalign", size);
  *pointer = __libc_memalign(alignment, size);
  return *pointer || !size ? 0 : ENOMEM;
}
void *mmap(void *address, size_t size, int protection, int flags, int fd,
           off_t offset) {
  report("mmap", size);
  return (void *)syscall(SYS_mmap, address, size, protection, flags, fd,
                         offset);
}
void *mmap64(void *address, size_t size, int protection, int flags, int fd,
             off_t offset) __attribute__((alias("mmap")));
