//===- Pebble.cpp - A timeline as text ------------------------------------===//

#include "ppopt/Report/Pebble.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

using namespace ppopt::schedule;

namespace {

constexpr int shortestGraph = 20; ///< columns
constexpr int figureWidth = 14;   ///< "  idle 100.0 %"

std::string format(const char *pattern, double number) {
  char buffer[400]; // the largest double has 309 digits
  return std::string(buffer,
                     std::snprintf(buffer, sizeof buffer, pattern, number));
}

class Drawing {
public:
  Drawing(const Timeline &timeline, const StageGraph &graph,
          const PebbleOptions &options)
      : timeline(timeline), graph(graph), options(options) {
    stagesOf.resize(graph.places);
    for (size_t stage = 0; stage < graph.stages.size(); ++stage)
      stagesOf[graph.stages[stage].place].push_back(static_cast<int>(stage));
    for (int place = 0; place < graph.places; ++place)
      for (int stage : stagesOf[place])
        labelWidth = std::max(labelWidth, getLabel(place, stage).size() + 2);
    int room = options.width - static_cast<int>(labelWidth) - figureWidth;
    setScale(std::max(room, shortestGraph));
  }

  std::string draw() {
    std::string text = pad("") + trim(drawAxis()) + "\n";
    for (int place = 0; place < graph.places; ++place) {
      for (int stage : stagesOf[place]) {
        text += pad(getLabel(place, stage));
        std::string row = drawStage(place, stage);
        if (stage == stagesOf[place].front())
          text += row +
                  format("  idle %.1f %%", 100 * timeline.getIdleShare(place));
        else
          text += trim(std::move(row));
        text += "\n";
      }
      std::string sends = trim(drawSends(place));
      if (!sends.empty())
        text += pad("") + sends + "\n";
    }
    return text + "\n" + writeLegend();
  }

private:
  /// Uses all free columns, but a whole number of them for the shortest cell if
  /// it has more than one, so that equal cells look equal.
  void setScale(int room) {
    double shortest = std::numeric_limits<double>::infinity();
    for (const std::vector<TimedCell> &row : timeline.rows)
      for (const TimedCell &timed : row)
        if (timed.end > timed.start)
          shortest = std::min(shortest, timed.end - timed.start);
    if (timeline.end <= 0) {
      columns = 1;
      scale = 1;
      return;
    }
    double whole = std::floor(room * shortest / timeline.end + 1e-9);
    scale = whole >= 2 ? whole / shortest : room / timeline.end;
    columns =
        std::max(1, static_cast<int>(std::ceil(timeline.end * scale - 1e-9)));
  }

  std::string getLabel(int place, int stage) const {
    std::string label;
    if (stage == stagesOf[place].front())
      label = "place " + std::to_string(place);
    if (stagesOf[place].size() > 1) {
      label.resize(7 + std::to_string(graph.places - 1).size(), ' ');
      label += "s" + std::to_string(stage);
    }
    return label;
  }

  std::string pad(std::string label) const {
    label.resize(labelWidth, ' ');
    return label;
  }

  static std::string trim(std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

  /// Returns one entry per column: -1 if the place is idle for more than half
  /// of it; else the longest cell of the dominant work, as an index in the
  /// place's row.
  std::vector<int> getColumns(int place) const {
    constexpr double tolerance = 1e-6;
    constexpr int works = 6;
    struct Column {
      double of[works] = {}, longest[works] = {};
      int cell[works] = {};
    };
    std::vector<Column> filled(columns);
    const std::vector<TimedCell> &row = timeline.rows[place];
    for (size_t i = 0; i < row.size(); ++i) {
      double start = row[i].start * scale, end = row[i].end * scale;
      int work = static_cast<int>(row[i].cell.work);
      int last = std::min(columns - 1, static_cast<int>(end));
      for (int at = static_cast<int>(start); at <= last; ++at) {
        double share =
            std::min<double>(end, at + 1) - std::max<double>(start, at);
        Column &column = filled[at];
        column.of[work] += share;
        if (share > column.longest[work] + tolerance) {
          column.longest[work] = share;
          column.cell[work] = static_cast<int>(i);
        }
      }
    }
    std::vector<int> found;
    for (const Column &column : filled) {
      int most = 0;
      double busy = 0;
      for (int work = 0; work < works; ++work) {
        busy += column.of[work];
        if (column.of[work] > column.of[most] + tolerance)
          most = work;
      }
      found.push_back(busy < 0.5 - tolerance ? -1 : column.cell[most]);
    }
    return found;
  }

  /// Draws the cells of a stage. An idle place has dots in all its rows.
  std::string drawStage(int place, int stage) const {
    std::vector<int> found = getColumns(place);
    std::string text(columns, ' ');
    for (int first = 0, next = 0; first < columns; first = next) {
      next = first + 1;
      while (next < columns && found[next] == found[first])
        ++next;
      size_t width = next - first;
      if (found[first] < 0) {
        text.replace(first, width, width, '.');
        continue;
      }
      const Cell &cell = timeline.rows[place][found[first]].cell;
      if (cell.stage != stage)
        continue;
      std::string piece(1, getLetter(cell.work));
      bool hasNumber = cell.work != Work::Sum && cell.work != Work::Update;
      std::string number = hasNumber ? std::to_string(cell.microbatch) : "";
      if (piece.size() + number.size() <= width)
        piece += number;
      piece.resize(width, '-');
      text.replace(first, width, piece);
    }
    return text;
  }

  std::string drawSends(int place) const {
    std::string text(columns, ' ');
    for (const TimedTransfer &timed : timeline.transfers) {
      const Edge &edge = graph.edges[timed.edge];
      if (graph.stages[edge.from].place != place)
        continue;
      char mark = graph.stages[edge.to].place > place ? '>' : '<';
      int first = static_cast<int>(timed.start * scale + 1e-6);
      int last = static_cast<int>(std::ceil(timed.end * scale - 1e-6)) - 1;
      first = std::min(first, columns - 1);
      last = std::min(std::max(first, last), columns - 1);
      for (int column = first; column <= last; ++column)
        text[column] = text[column] == ' ' || text[column] == mark ? mark : 'X';
    }
    return text;
  }

  struct Unit {
    const char *name;
    double inTimeline; ///< its length in the timeline's unit
  };

  Unit getUnit() const {
    double one = options.nanosecondsPerUnit;
    if (one <= 0)
      return {"", 1};
    double end = timeline.end * one;
    if (end >= 2e9)
      return {" s", 1e9 / one};
    if (end >= 2e6)
      return {" ms", 1e6 / one};
    if (end >= 2e3)
      return {" us", 1e3 / one};
    return {" ns", 1 / one};
  }

  /// Draws "|0      |5      |10 ms", with the bars at the times.
  std::string drawAxis() const {
    Unit unit = getUnit();
    constexpr int least = 12; // columns between two bars
    double wanted = least / (scale * unit.inTimeline);
    double step = std::pow(10, std::floor(std::log10(wanted)));
    for (double factor : {1, 2, 5, 10})
      if (factor * step >= wanted * (1 - 1e-9)) {
        step *= factor;
        break;
      }
    std::string text(columns, ' ');
    for (int i = 0;; ++i) {
      double at = i * step * unit.inTimeline * scale;
      if (at > columns - 1 && i > 0)
        return text;
      std::string mark = "|" + format("%.6g", i * step);
      if (i > 0)
        mark += unit.name;
      size_t column = static_cast<size_t>(std::lround(at));
      text.resize(std::max(text.size(), column + mark.size()), ' ');
      text.replace(column, mark.size(), mark);
    }
  }

  bool hasWork(Work work) const {
    for (const std::vector<TimedCell> &row : timeline.rows)
      for (const TimedCell &timed : row)
        if (timed.cell.work == work)
          return true;
    return false;
  }

  std::string writeLegend() const {
    static const std::pair<Work, const char *> meanings[] = {
        {Work::Forward, "forward"},
        {Work::Backward, "backward"},
        {Work::BackwardInput, "backward for inputs"},
        {Work::BackwardWeight, "backward for weights"},
        {Work::Sum, "waits for collectives"},
        {Work::Update, "update"}};
    std::string text;
    for (auto [work, meaning] : meanings)
      if (hasWork(work))
        text += std::string(1, getLetter(work)) + " " + meaning + ", ";
    if (!text.empty())
      text += "with the microbatch where it fits\n";
    text += ". idle";
    if (!timeline.transfers.empty())
      text += "; > < X sends to a later place, an earlier one, both";
    Unit unit = getUnit();
    return text + "\na column is " +
           format("%.3g", 1 / (scale * unit.inTimeline)) + unit.name +
           ", all of it " + format("%.4g", timeline.end / unit.inTimeline) +
           unit.name + "\n";
  }

  const Timeline &timeline;
  const StageGraph &graph;
  const PebbleOptions &options;
  std::vector<std::vector<int>> stagesOf; ///< of each place
  size_t labelWidth = 0;
  double scale = 1; ///< columns in one unit of time
  int columns = 1;
};

} // namespace

std::string ppopt::schedule::drawPebbles(const Timeline &timeline,
                                         const StageGraph &graph,
                                         const PebbleOptions &options) {
  return Drawing(timeline, graph, options).draw();
}
