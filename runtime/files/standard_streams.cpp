//===- standard_streams.cpp - Descriptors 0 to 2 --------------------------===//

#include "files/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

void ppopt::openClosedStreams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream)
    if (::fcntl(stream, F_GETFD) < 0)
      // open() returns the lowest free number: this one.
      (void)!::open("/dev/null", O_RDWR);
}
