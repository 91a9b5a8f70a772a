//===- crc32c.h - CRC-32C -------------------------------------------------===//

#ifndef PPOPT_RUNTIME_BASE_CRC32C_H
#define PPOPT_RUNTIME_BASE_CRC32C_H

#include <cstdint>
#include <string_view>

namespace ppopt::train {

/// CRC-32C (Castagnoli), as in RFC 3720. For short texts: a byte at a time.
uint32_t crc32cOf(std::string_view bytes);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_BASE_CRC32C_H
