//===- guarded_copy.h - Copying from a file that may shrink ---------------===//
//
// A mapped page that lies past the end of its file cannot be read: the system
// sends SIGBUS, which ends a process. Here it ends a copy.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DATA_GUARDED_COPY_H
#define PPOPT_RUNTIME_DATA_GUARDED_COPY_H

#include <cstddef>

namespace ppopt::train {

/// Copies bytes of a mapped file. False where some of them could not be read;
/// `to` then has some of the others. Bus errors that are no such copy's go to
/// whoever handled them before.
bool guardedCopy(void *to, const void *from, size_t bytes);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_DATA_GUARDED_COPY_H
