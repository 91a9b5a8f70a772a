//===- memory_test.cpp - Conformance: memory, copies, fills ---------------===//

#include "base/error.h"
#include "device/conformance/devices.h"
#include "device/host_access.h"
#include "device/runs.h"
#include "device/transposed.h"
#include "message_of.h"

#include <cstring>

using namespace ppopt;
using namespace ppopt::device;
using geometry::DimensionCut;
using geometry::Tile;
using geometry::TilePart;

namespace {

class Memory : public Conformance {};
PPOPT_CONFORMANCE_DEVICES(Memory);

TEST_P(Memory, IsZeroAndAligned) {
  for (int64_t bytes : {1, 63, 64, 4096, 70000, 3 << 20}) {
    DevicePointer memory = allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.opaque()) % PPOPT_ALIGNMENT,
              0u);
    EXPECT_EQ(download(memory, bytes), Bytes(bytes));
  }
}

TEST_P(Memory, AllocationsAreSeparate) {
  std::vector<DevicePointer> all;
  for (int i = 0; i < 20; ++i) {
    all.push_back(allocate(1 + i * 1000));
    device->fill(stream, all.back(), uint8_t(i), 1 + i * 1000);
  }
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(download(all[i], 1 + i * 1000), Bytes(1 + i * 1000, i));
}

TEST_P(Memory, TooMuchIsAnErrorThatNamesIt) {
  std::string message = comm::test::messageOf<runtime::Error>(
      [&] { device->allocate(int64_t(1) << 60, "the arena of a test"); });
  EXPECT_NE(message.find("the arena of a test"), std::string::npos) << message;
  EXPECT_NE(message.find(std::to_string(int64_t(1) << 60)), std::string::npos)
      << message;
}

TEST_P(Memory, CopiesOfAllSizes) {
  DevicePointer memory = allocate(3 << 20);
  Bytes expected(3 << 20);
  unsigned seed = 0;
  for (int64_t bytes : {0, 1, 3, 64, 4095, 4097, 65536, (1 << 20) + 3})
    for (int64_t offset : {0, 1, 63, 4097}) {
      Bytes data = randomBytes(bytes, ++seed);
      device->copyIn(stream, memory + offset, data.data(), bytes);
      std::copy(data.begin(), data.end(), expected.begin() + offset);
      EXPECT_EQ(download(memory + offset, bytes), data);
    }
  EXPECT_EQ(download(memory, expected.size()), expected);
}

TEST_P(Memory, FillsOfAllSizes) {
  DevicePointer memory = allocate(1 << 20);
  Bytes expected(1 << 20);
  uint8_t value = 0;
  for (int64_t bytes : {0, 1, 3, 64, 4097, 500001})
    for (int64_t offset : {0, 1, 77}) {
      device->fill(stream, memory + offset, ++value, bytes);
      std::fill_n(expected.begin() + offset, bytes, value);
    }
  EXPECT_EQ(download(memory, expected.size()), expected);
}

TEST_P(Memory, NoBytesNeedNoMemory) {
  device->copyIn(stream, DevicePointer(), nullptr, 0);
  device->copyOut(stream, nullptr, DevicePointer(), 0);
  device->fill(stream, DevicePointer(), 1, 0);
  device->synchronize(stream);
}

TEST_P(Memory, HostViewIsTheMemory) {
  DevicePointer memory = allocate(1000);
  upload(memory, randomBytes(1000, 1));
  char *view = device->hostView(memory);
  if (!view)
    return; // the host may not access the memory
  EXPECT_EQ(device->hostView(memory + 77), view + 77);
  EXPECT_EQ(Bytes(view, view + 1000), randomBytes(1000, 1));
  view[5] = 42;
  EXPECT_EQ(download(memory, 1000)[5], 42);
}

TEST_P(Memory, InPieces) {
  int64_t bytes = 2 * pieceBytes + 5;
  DevicePointer memory = allocate(bytes);
  Bytes data = randomBytes(bytes, 1), read;
  writePieces(*device, stream, memory, bytes,
              [&](char *to, int64_t offset, int64_t size) {
                std::copy_n(data.begin() + offset, size, to);
              });
  readPieces(*device, stream, memory, bytes,
             [&](const char *from, int64_t offset, int64_t size) {
               EXPECT_EQ(offset, int64_t(read.size()));
               read.insert(read.end(), from, from + size);
             });
  EXPECT_EQ(read, data);
  write(*device, stream, memory + 8, 2.5);
  EXPECT_EQ(device::read<double>(*device, stream, memory + 8), 2.5);
  readPieces(*device, stream, memory, 0,
             [](const char *, int64_t, int64_t) { FAIL() << "no bytes"; });
}

using Bytes = std::vector<unsigned char>;

/// The transpose, element by element.
Bytes transpose(const Bytes &from, const Matrix &matrix) {
  Bytes to(from.size());
  int64_t size = matrix.elementBytes;
  for (int64_t row = 0; row < matrix.rows; ++row)
    for (int64_t column = 0; column < matrix.columns; ++column)
      std::copy_n(from.begin() + (row * matrix.columns + column) * size, size,
                  to.begin() + (column * matrix.rows + row) * size);
  return to;
}

/// Parts that together are a tensor of `shape`: as chunks, and as chunks of the
/// tiles that axes cut from its columns or from its rows.
std::vector<std::vector<TilePart>> cutInParts(int64_t rows, int64_t columns) {
  std::vector<std::vector<TilePart>> all;
  auto addChunks = [](std::vector<TilePart> &parts, const Tile &tile) {
    int64_t elements = tile.elements();
    // Cut inside of rows; the third has at most one element.
    for (auto [begin, end] : {std::pair(int64_t{0}, elements / 3),
                              {elements / 3, elements / 2},
                              {elements / 2, (elements + 1) / 2},
                              {(elements + 1) / 2, elements}})
      parts.push_back({tile, begin, end});
  };
  all.push_back({{Tile(rows * columns), 0, rows * columns}});
  addChunks(all.emplace_back(), Tile(rows * columns));
  for (int dim : {0, 1}) {
    int64_t size = dim == 0 ? rows : columns, parts = 2;
    while (parts <= 10 && size % parts != 0)
      ++parts;
    if (parts > 10 || rows * columns == 0)
      continue;
    auto &tiles = all.emplace_back();
    for (int64_t coordinate = 0; coordinate < parts; ++coordinate) {
      std::vector<std::vector<DimensionCut>> cuts(2);
      cuts[dim] = {{parts, size, coordinate}};
      addChunks(tiles, Tile({rows, columns}, cuts));
    }
  }
  return all;
}

/// Returns the bytes of parts of a tensor, one part after the other.
Bytes pack(const Bytes &tensor, const std::vector<TilePart> &parts,
           int64_t size) {
  Bytes packed(tensor.size());
  unsigned char *to = packed.data();
  for (const TilePart &part : parts)
    for (int64_t i = part.begin; i < part.end; ++i, to += size)
      std::memcpy(to, tensor.data() + part.tile.globalIndex(i) * size, size);
  return packed;
}

/// Puts the transpose together from parts of the matrix, which are in memory
/// one after the other.
Bytes readTransposed(Device &device, Stream stream, DevicePointer memory,
                     const Matrix &matrix, const std::vector<TilePart> &parts) {
  TransposedPieces pieces(matrix);
  Bytes all;
  for (int64_t piece = 0; piece < pieces.count(); ++piece) {
    EXPECT_LE(pieces.bytes(piece), pieceBytes);
    Bytes read(pieces.bytes(piece), 1);
    int64_t bytes = 0, begin = 0;
    for (const TilePart &part : parts) {
      std::vector<char> own(pieces.bytesOf(part, piece));
      bytes += int64_t(own.size());
      pieces.read(device, stream, memory + begin * matrix.elementBytes, part,
                  piece, own.data());
      begin += part.count();
      pieces.place(own.data(), part, piece,
                   reinterpret_cast<char *>(read.data()));
    }
    EXPECT_EQ(bytes, pieces.bytes(piece));
    all.insert(all.end(), read.begin(), read.end());
  }
  return all;
}

/// The larger ones have more than one piece.
const Matrix matrices[] = {{1001, pieceBytes / 4 / 1001 + 1, 4},
                           {pieceBytes / 8 / 77 + 1, 77, 8},
                           {1, pieceBytes + 3, 1},
                           {pieceBytes / 2 + 1, 1, 2},
                           {3, 5, 2},
                           {12, 6, 4},
                           {0, 5, 4}};

TEST_P(Memory, TransposedInPieces) {
  for (const Matrix &matrix : matrices) {
    SCOPED_TRACE(std::to_string(matrix.rows) + " rows of " +
                 std::to_string(matrix.columns));
    int64_t size = matrix.elementBytes;
    DevicePointer memory = allocate(matrix.bytes() + 1);
    Bytes data = randomBytes(matrix.bytes(), 1);
    Bytes transposed = transpose(data, matrix);
    for (const auto &parts : cutInParts(matrix.rows, matrix.columns)) {
      upload(memory, pack(data, parts, size));
      EXPECT_TRUE(readTransposed(*device, stream, memory, matrix, parts) ==
                  transposed);
    }
    for (const auto &parts : cutInParts(matrix.columns, matrix.rows)) {
      int64_t begin = 0;
      for (const TilePart &part : parts) {
        writeTransposed(*device, stream, memory + begin * size, part,
                        reinterpret_cast<const char *>(data.data()), matrix);
        begin += part.count();
      }
      EXPECT_TRUE(download(memory, matrix.bytes()) ==
                  pack(transposed, parts, size));
    }
  }
}

TEST_P(Memory, Runs) {
  for (const Matrix &matrix : {matrices[1], matrices[4], matrices[5]}) {
    int64_t size = matrix.elementBytes;
    DevicePointer memory = allocate(matrix.bytes() + 1);
    Bytes data = randomBytes(matrix.bytes(), 2);
    for (const auto &parts : cutInParts(matrix.rows, matrix.columns)) {
      Bytes packed = pack(data, parts, size), together(matrix.bytes());
      int64_t begin = 0;
      for (const TilePart &part : parts) {
        copyRunsIn(*device, stream, memory + begin, part.inBytes(size),
                   reinterpret_cast<const char *>(data.data()));
        placeRuns(reinterpret_cast<const char *>(packed.data()) + begin,
                  part.inBytes(size), reinterpret_cast<char *>(together.data()),
                  /*origin=*/0);
        begin += part.count() * size;
      }
      device->synchronize(stream);
      EXPECT_TRUE(download(memory, matrix.bytes()) == packed);
      EXPECT_TRUE(together == data);
    }
  }
}

} // namespace
