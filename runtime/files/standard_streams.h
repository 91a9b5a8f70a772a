//===- standard_streams.h - Descriptors 0 to 2 ----------------------------===//

#ifndef PPOPT_FILES_STANDARD_STREAMS_H
#define PPOPT_FILES_STANDARD_STREAMS_H

namespace ppopt {

/// Opens /dev/null for each of standard input, output and error that is closed
/// (`>&-`). Otherwise the next file that is opened gets its number and receives
/// what is printed. Call it before anything else that opens files.
void openClosedStreams();

} // namespace ppopt

#endif // PPOPT_FILES_STANDARD_STREAMS_H
