//===- guarded_copy.h - Copying from a file that may shrink ---------------===//
//
// Reading a mapped page past the end of its file raises SIGBUS, which would
// terminate the process. Here it only makes the copy fail.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DATA_GUARDED_COPY_H
#define PPOPT_RUNTIME_DATA_GUARDED_COPY_H

#include <cstddef>

namespace ppopt::train {

/// Copies bytes of a mapped file. Returns false if some of them could not be
/// read; `to` is then partly written. Other bus errors go to the handler that
/// was installed before.
bool guardedCopy(void *to, const void *from, size_t bytes);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_DATA_GUARDED_COPY_H
