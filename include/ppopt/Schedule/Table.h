//===- Table.h - A schedule: the runs of each place in order --------------===//

#ifndef PPOPT_SCHEDULE_TABLE_H
#define PPOPT_SCHEDULE_TABLE_H

#include "ppopt/Schedule/StageGraph.h"

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace ppopt::schedule {

enum class Work {
  Forward,        ///< F
  Backward,       ///< B: for inputs and weights
  BackwardInput,  ///< I
  BackwardWeight, ///< W
  // Only in a timeline, after the stages; tables have neither.
  Sum,    ///< A: the place waits for sums over ranks
  Update, ///< U: the norm and the update
};

/// One run of a stage on a microbatch. A stage without backward has no backward
/// cells.
struct Cell {
  Work work = Work::Forward;
  int stage = 0;
  int microbatch = 0;

  friend bool operator==(const Cell &a, const Cell &b) {
    return std::tie(a.work, a.stage, a.microbatch) ==
           std::tie(b.work, b.stage, b.microbatch);
  }
  friend bool operator<(const Cell &a, const Cell &b) {
    return std::tie(a.work, a.stage, a.microbatch) <
           std::tie(b.work, b.stage, b.microbatch);
  }
};

/// Returns the collectives inside a run of a stage; none for Sum and Update.
const std::vector<StageCollective> &getCollectives(const Stage &stage,
                                                   Work work);

/// F, B, I, W, A, U.
char getLetter(Work work);

/// Returns PyTorch's spelling: "1F0", "0B3", "2I1", "2W1".
std::string spell(const Cell &cell);

/// One row per place: its runs in order. Communication is not in the table: it
/// follows from the graph (docs/stages.md).
struct Table {
  int microbatches = 1;
  std::vector<std::vector<Cell>> rows;

  friend bool operator==(const Table &a, const Table &b) {
    return a.microbatches == b.microbatches && a.rows == b.rows;
  }
};
/// As LLVM finds it.
size_t hash_value(const Table &table);

/// Returns the table as it runs: if any backward is split, all are; a full one
/// becomes the input part directly followed by the weight part.
Table separateBackwards(const Table &table);

/// A value, or one line that says what is wrong and what to do.
template <typename T> struct Result {
  std::optional<T> value;
  std::string error;

  Result(T value) : value(std::move(value)) {}
  static Result failure(std::string why) {
    Result result;
    result.error = std::move(why);
    return result;
  }
  explicit operator bool() const { return value.has_value(); }
  T &operator*() { return *value; }
  const T &operator*() const { return *value; }
  T *operator->() { return &*value; }
  const T *operator->() const { return &*value; }

private:
  Result() = default;
};

/// Checks that each stage's cells are in the row of its place, each once per
/// microbatch (a backward either full or as input and weight part, or absent if
/// the stage has none), and that all cells can be ordered so that every value
/// is computed before it is read. Returns an empty string, or one line that
/// says what is wrong; for a cycle, its cells in order.
std::string check(const Table &table, const StageGraph &graph);

//===----------------------------------------------------------------------===//
// Generators
//===----------------------------------------------------------------------===//

/// What the compiler must know of a schedule before stages exist.
struct Shape {
  int chunks = 1;              ///< stages per place
  bool splitsBackward = false; ///< it has cells I and W
  bool isVee = false; ///< chunks of place p are stages p and 2·places-1-p;
                      ///< else p, p + places, p + 2·places, …
};

/// naive, gpipe, 1f1b, interleaved, zb-h1, zb-v, dualpipe-v, in this order.
const std::vector<std::string> &getScheduleNames();

/// Returns nothing for an unknown name. `chunks` is the user's value, or
/// nothing. For a rejected name ("dualpipe") or an invalid number of chunks,
/// the error says what to use instead.
Result<Shape> getShape(std::string_view name, std::optional<int> chunks);

/// Returns the place of each of the chunks × places stages of a shape, by which
/// the model is partitioned.
std::vector<int> placeStages(const Shape &shape, int places);

/// Returns the table of a built-in schedule. Any graph is legal (skips, several
/// stages per place in any order, stages without backward), with any number of
/// microbatches; if the schedule cannot handle one, the error says what it
/// needs. On a chain of equal stages the result is the published schedule. A
/// stage runs its microbatches in order, forward and backward.
Result<Table> generate(std::string_view name, const StageGraph &graph,
                       int microbatches);

/// A built-in schedule for given stages and microbatches.
struct Candidate {
  std::string name;
  Table table;
  double time = 0; ///< of its separated table, simulated
  int held = 0;    ///< getInFlight, the maximum over places
};

/// Returns whether a is faster, or as fast and holds less.
bool isBetter(const Candidate &a, const Candidate &b);

/// Returns all built-in schedules that `graph` admits, in the order of
/// getScheduleNames.
std::vector<Candidate> simulateAll(const StageGraph &graph, int microbatches,
                                   const Link &link);

/// Returns the best of them with its name.
Result<std::pair<std::string, Table>>
chooseFastest(const StageGraph &graph, int microbatches, const Link &link);

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Parses a schedule in PyTorch's CSV format: see REFERENCE. Both spellings of
/// backwards are read. Cells of communication (SEND_F, RECV_B, …), of sharding
/// (UNSHARD, …) and blank ones are skipped; OVERLAP_F_B groups are expanded.
/// Errors name the row and the cell.
Result<Table> parseCsv(std::string_view text);
std::string writeCsv(const Table &table);

/// Returns the place of each stage: stage s is on row placeOf[s]. An error if
/// two rows have the same stage, or a number is missing.
Result<std::vector<int>> getPlaces(const Table &table);

//===----------------------------------------------------------------------===//
// Simulation
//===----------------------------------------------------------------------===//

struct TimedCell {
  Cell cell;
  double start = 0, end = 0;
  double waited = 0; ///< for collectives inside
};

struct TimedTransfer {
  int edge = 0; ///< of StageGraph::edges
  int microbatch = 0;
  double start = 0, end = 0;
};

struct Timeline {
  /// The same order as in the table. A step may begin with a wait for gathers
  /// (Sum) and end in sums and updates; these name the place's first stage.
  std::vector<std::vector<TimedCell>> rows;
  std::vector<TimedTransfer> transfers; ///< by start
  double end = 0;                       ///< when the last cell ended

  /// Returns 1 - busy / end of a place. A place is not busy while it waits for
  /// collectives.
  double getIdleShare(int place) const;
  /// Returns the most microbatches whose activations a place holds at once:
  /// each stage's forward opens one, its full backward or weight part closes it
  /// (for a stage without backward: its own forward). Counted in chunks:
  /// (stage, microbatch) pairs.
  int getInFlight(const Table &table, const StageGraph &graph, int place) const;
};

/// Simulates the table: a cell starts when the cell before it in its row has
/// ended and its inputs have arrived. Transfers of one ordered pair of places
/// run one after the other, those of different pairs concurrently, and all of
/// them concurrently with cells. If no gradient returns over an edge between
/// two places, a forward of its source waits for the reader's forward n+1
/// microbatches earlier, where n is the number of stages from the source to the
/// end, so that values do not pile up; a table that cannot run under this rule
/// runs without it. The table must pass check().
Timeline simulate(const Table &table, const StageGraph &graph,
                  const Link &link);

} // namespace ppopt::schedule

#endif // PPOPT_SCHEDULE_TABLE_H
