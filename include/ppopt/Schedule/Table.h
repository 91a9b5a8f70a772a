//===- Table.h - A schedule: what each place runs -------------------------===//

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
  // Of a timeline, after the stages; no table has them.
  Sum,    ///< A: the place waits for sums over ranks
  Update, ///< U: the norm and the update
};

/// One run of a stage on a microbatch. Where a stage has no backward the cells
/// of its backward are absent.
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

/// F, B, I, W, A, U.
char getLetter(Work work);

/// "1F0", "0B3", "2I1", "2W1": PyTorch's spelling.
std::string spell(const Cell &cell);

/// A row a place: its runs in order. Communication is not in the table: it
/// follows from the graph (docs/stages.md).
struct Table {
  int microbatches = 1;
  std::vector<std::vector<Cell>> rows;
};

/// The table as it is run: if any backward in it is split, all are, a full one
/// being the input part and right behind it the weight part.
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

/// Holds that each stage's cells stand in the row of its place, each once for
/// each microbatch (a backward either full or as input and weight part, or
/// absent where the stage has none), and that there is an order of all cells in
/// which everything is computed before it is read. Empty, or one line that
/// says what is wrong; for a cycle, the cells of the cycle one after the other.
std::string check(const Table &table, const StageGraph &graph);

//===----------------------------------------------------------------------===//
// Generators
//===----------------------------------------------------------------------===//

/// What the compiler must know of a schedule before there are stages.
struct Shape {
  int chunks = 1;              ///< stages a place that it wants
  bool splitsBackward = false; ///< it has cells I and W
  bool isVee = false; ///< chunks of place p are stages p and 2·places-1-p;
                      ///< else p, p + places, p + 2·places, …
};

/// naive, gpipe, 1f1b, interleaved, zb-h1, zb-v, dualpipe-v, in this order.
const std::vector<std::string> &getScheduleNames();

/// Nothing for an unknown name. `chunks` as the user gave it, or nothing.
/// For a name that is refused ("dualpipe") or chunks that the schedule cannot
/// have, the error says what to use instead.
Result<Shape> getShape(std::string_view name, std::optional<int> chunks);

/// The place of each of the chunks × places stages of a shape, which makes the
/// model be cut as the schedule wants it.
std::vector<int> placeStages(const Shape &shape, int places);

/// The table of a built-in schedule. Any graph is legal (skips, several stages
/// a place in any order, stages without a backward), any number of
/// microbatches; what the schedule cannot do is an error that says what it
/// wants. On a chain of equal stages it is the published schedule. A stage runs
/// its microbatches in order, forward and backward.
Result<Table> generate(std::string_view name, const StageGraph &graph,
                       int microbatches);

/// A built-in schedule of some stages and microbatches.
struct Candidate {
  std::string name;
  Table table;
  double time = 0; ///< of its separated table, simulated
  int held = 0;    ///< getInFlight of the place that holds most
};

/// Faster, or as fast and holding less.
bool isBetter(const Candidate &a, const Candidate &b);

/// All built-in schedules that `graph` admits, in the order of
/// getScheduleNames.
std::vector<Candidate> simulateAll(const StageGraph &graph, int microbatches,
                                   const Link &link);

/// The best of them; its name first.
Result<std::pair<std::string, Table>>
chooseFastest(const StageGraph &graph, int microbatches, const Link &link);

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// A schedule in PyTorch's CSV format: see REFERENCE. Both spellings of
/// backwards are read; cells of communication (SEND_F, RECV_B, …), of
/// sharding (UNSHARD, …) and blank ones are left out; OVERLAP_F_B groups are
/// taken apart. Errors name the row and the cell.
Result<Table> parseCsv(std::string_view text);
std::string writeCsv(const Table &table);

/// Stage s lives on row placeOf[s]. An error if two rows have one stage, or a
/// number is left out.
Result<std::vector<int>> getPlaces(const Table &table);

//===----------------------------------------------------------------------===//
// Simulation
//===----------------------------------------------------------------------===//

struct TimedCell {
  Cell cell;
  double start = 0, end = 0;
};

struct TimedTransfer {
  int edge = 0; ///< of StageGraph::edges
  int microbatch = 0;
  double start = 0, end = 0;
};

struct Timeline {
  /// As in the table. A place's step may end in sums and updates, which name
  /// its first stage and microbatch 0.
  std::vector<std::vector<TimedCell>> rows;
  std::vector<TimedTransfer> transfers; ///< by start
  double end = 0;                       ///< when the last cell ended

  /// 1 - busy / end, of a place, which is not busy where it waits for sums.
  double getIdleShare(int place) const;
  /// The most microbatches whose activations a place holds at once: a
  /// forward opens one for each stage, the full backward or the weight part
  /// closes it (a stage without backward: its own forward). Counted in chunks:
  /// (stage, microbatch) pairs.
  int getInFlight(const Table &table, const StageGraph &graph, int place) const;
};

/// Runs the table: a cell starts when the one before it in its row has ended
/// and what it reads has arrived. Transfers of one ordered pair of places go
/// one after the other, those of different pairs at the same time, beside the
/// cells. Where no gradient comes back over an edge between two places, a
/// forward of its source waits for the reader's of n+1 microbatches before, n
/// being the number of stages from the source to the end, so that values do not
/// pile up; a table that cannot run so runs without. The table must pass
/// check().
Timeline simulate(const Table &table, const StageGraph &graph,
                  const Link &link);

} // namespace ppopt::schedule

#endif // PPOPT_SCHEDULE_TABLE_H
