//===- Memory.h - What an emulated kernel may read and write --------------===//
//
// A region is an argument's buffer, a variable in shared memory, or a constant.
// Whatever a kernel touches must lie within one region. What it may write has a
// shadow: for each element, who wrote and read it last, and when.
//
// Time counts what orders accesses: the begin of a block, a barrier, a warp
// barrier. Two accesses of different threads to one element, one of them a
// write, need such an event between them that both threads take part in.
// Threads of different blocks have none.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_DEVICE_MEMORY_H
#define PPOPT_TEST_DEVICE_MEMORY_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace emulated {

constexpr unsigned kWarp = 32;

/// The last accesses to an element; 0: none.
struct Cell {
  uint32_t writeTime, readTime;
  uint16_t writer, reader; ///< threads; `reader` has flags (Memory.cpp)
};

/// Cells of a region, in pages that are made when they are touched: a region
/// may be far larger than the machine's memory.
class Shadow {
public:
  explicit Shadow(uint64_t elements);
  Cell &at(uint64_t element) {
    std::unique_ptr<Cell[]> &page = pages[element / kPage];
    if (!page)
      page = makePage();
    return page[element % kPage];
  }
  void clear();

private:
  static constexpr uint64_t kPage = 4096;
  static std::unique_ptr<Cell[]> makePage();
  std::vector<std::unique_ptr<Cell[]>> pages;
};

struct Region {
  enum class Kind { Constant, Argument, Shared };

  Kind kind = Kind::Argument;
  std::string name; ///< "argument 2", "shared memory @partials"
  uint64_t begin = 0, bytes = 0;
  unsigned elementBytes = 1; ///< a power of two
  /// Of each `pitch` elements only `columns` may be touched; 0: all.
  uint64_t pitch = 0, columns = 0;
  bool isWritten = false;     ///< the kernel may write it
  bool isInitialised = false; ///< else it must write before it reads
  bool hasShadow = true;      ///< if the kernel may write it
  std::unique_ptr<Shadow> shadow;
  unsigned elementShift = 0; ///< the logarithm of elementBytes; add() sets it

  bool isPadding(uint64_t element) const {
    return pitch && element % pitch >= columns;
  }
};

/// A load or store of the device code. `begin` and `span` are of the region
/// that passed the check last: an access at an address with address - begin <
/// span lies in it and needs no other check than its alignment.
struct Site {
  uint64_t begin = 0, span = 0;
  uint32_t bytes = 0, align = 1;
  std::string text; ///< the instruction
};

/// Where the device is: the running thread, and the last events.
struct Clock {
  unsigned block = 0, thread = 0;
  uint32_t now = 0, blockStart = 0, barrier = 0;
  uint32_t warpBarrier[1024 / kWarp] = {};
};

/// The memory of one launch.
class Memory {
public:
  explicit Memory(const Clock &clock) : clock(clock) {}

  void add(Region region);
  /// Forgets all regions, and what sites remember of them.
  void clear(std::vector<Site> &sites);
  void beginLaunch();

  /// Returns whether the running thread may do this access; if not, getWrong()
  /// says why.
  bool check(uint64_t address, uint64_t bytes, bool isWrite,
             Site *site = nullptr);
  const std::string &getWrong() const { return wrong; }

  /// Returns the first element of a region that nobody has written, or a
  /// negative number if there is none.
  int64_t findUnwritten(uint64_t begin);

  /// The time at which each block began, in the order in which they ran.
  struct Begin {
    uint32_t time;
    unsigned block;
  };
  std::vector<Begin> begins;

private:
  Region *find(uint64_t address);
  std::string describeOutside(uint64_t address, uint64_t bytes, bool isWrite);
  bool refuse(std::string why);
  bool checkCell(const Region &region, uint64_t element, bool isWrite);
  bool checkRead(const Region &region, uint64_t element, Cell &cell);
  bool checkWrite(const Region &region, uint64_t element, Cell &cell);
  bool hasReadNow(const Cell &cell) const;
  bool isOrdered(uint32_t time, unsigned thread) const;
  std::string describeThread(uint32_t time, unsigned thread) const;
  bool isOfThisBlock(uint32_t time) const { return time >= clock.blockStart; }

  const Clock &clock;
  std::vector<Region> regions; ///< by address
  Region *last = nullptr;
  std::string wrong;
};

} // namespace emulated

#endif // PPOPT_TEST_DEVICE_MEMORY_H
