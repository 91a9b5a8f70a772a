//===- replay_log.cpp - The file that a run is repeated from --------------===//

#include "asynchronous/replay_log.h"

#include "base/error.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <limits>
#include <string_view>

namespace ppopt::asynchronous {

namespace {

using runtime::Error;

/// Followed by the version.
constexpr std::string_view format = "ppopt run order ";
constexpr int version = 3;
constexpr std::string_view lastLine = "end";
/// So that people can look at a file.
constexpr size_t entriesPerLine = 16;
constexpr int64_t mostRanks = 1 << 20, mostBuckets = 1 << 20;

void printDigest(fmt::memory_buffer &out, uint64_t digest) {
  if (digest != 0)
    fmt::format_to(std::back_inserter(out), "#{:x}", digest);
}

/// The words of a line, one after the other.
class Line {
public:
  Line(const std::string &path, size_t number, std::string_view text)
      : path(path), number(number), text(text) {}

  bool isEmpty() const { return text.empty(); }

  [[noreturn]] void fail(const std::string &what) const {
    throw Error("{}:{}: {}", path, number, what);
  }

  std::string_view takeWord(const char *what) {
    if (text.empty())
      fail(fmt::format("expected {}", what));
    size_t end = text.find(' ');
    std::string_view word = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (word.empty())
      fail(fmt::format("expected {}, and there are two spaces", what));
    return word;
  }
  std::string_view takeRest() {
    std::string_view rest = text;
    text = {};
    return rest;
  }
  int64_t takeNumber(const char *what, int64_t least, int64_t most) {
    return parse(takeWord(what), what, least, most);
  }
  void expectEnd() const {
    if (!text.empty())
      fail(fmt::format("expected the end of the line, and there is '{}'",
                       text.substr(0, 40)));
  }

  /// `least` and `most` are in the message.
  template <typename Number>
  Number parse(std::string_view word, const char *what, Number least,
               Number most, int base = 10) const {
    Number value = 0;
    auto [end, error] =
        std::from_chars(word.data(), word.data() + word.size(), value, base);
    if (error != std::errc() || end != word.data() + word.size() ||
        value < least || value > most)
      fail(fmt::format("expected {}, and there is '{}'", what,
                       word.substr(0, 40)));
    return value;
  }
  /// Takes "#1f" off the end of a word; 0 if there is none.
  uint64_t takeDigest(std::string_view &word) const {
    size_t hash = word.find('#');
    if (hash == word.npos)
      return 0;
    std::string_view digits = word.substr(hash + 1);
    word = word.substr(0, hash);
    return parse<uint64_t>(digits, "a digest", 1,
                           std::numeric_limits<uint64_t>::max(), 16);
  }

private:
  const std::string &path;
  size_t number;
  std::string_view text;
};

class Parser {
public:
  Parser(const std::string &path, const std::string &text)
      : path(path), text(text) {}

  ReplayLog parse() {
    parseVersion();
    parseHeader();
    while (parseLine(nextLine()))
      ;
    if (!rest().empty())
      nextLine().fail("there is a line after the last one");
    return std::move(log);
  }

private:
  std::string_view rest() const { return std::string_view(text).substr(at); }

  Line nextLine() {
    size_t end = text.find('\n', at);
    if (end == text.npos)
      throw Error("{}: the file is cut: it has {} lines, and the last one is "
                  "not '{}'",
                  path, lines, lastLine);
    std::string_view line(text.data() + at, end - at);
    at = end + 1;
    return Line(path, ++lines, line);
  }

  void parseVersion() {
    Line first = nextLine();
    std::string_view text = first.takeRest();
    if (text == fmt::format("{}{}", format, version))
      return;
    if (text.substr(0, format.size()) == format)
      first.fail(fmt::format("this record is of version {}, and this ppopt "
                             "reads version {}: record the run again",
                             text.substr(format.size(), 40), version));
    first.fail(fmt::format("this is no record of a run that --record wrote: "
                           "the first line is not '{}{}'",
                           format, version));
  }

  Line nextField(const char *name) {
    Line line = nextLine();
    if (line.takeWord(name) != name)
      line.fail(fmt::format("expected '{}'", name));
    return line;
  }
  int64_t parseField(const char *name, int64_t least, int64_t most) {
    Line line = nextField(name);
    int64_t value = line.takeNumber(name, least, most);
    line.expectEnd();
    return value;
  }

  void parseHeader() {
    Shape &shape = log.shape;
    shape.trainers = static_cast<int>(parseField("trainers", 1, mostRanks));
    shape.members =
        static_cast<int>(parseField("members", 1, mostRanks / shape.trainers));
    Line bound = nextField("bound");
    std::string_view word = bound.takeWord("a bound");
    if (word != "none")
      shape.bound =
          bound.parse<int64_t>(word, "a bound or 'none'", 0, mostSteps);
    bound.expectEnd();
    Line buckets = nextField("buckets");
    for (int rank = 0; rank < shape.ranks(); ++rank)
      shape.buckets.push_back(static_cast<int>(
          buckets.takeNumber("a number of buckets", 0, mostBuckets)));
    buckets.expectEnd();
    log.first = parseField("first", 0, mostSteps);
    if (log.first % shape.trainers != 0)
      throw Error("{}:{}: the first ticket is not a multiple of the trainers",
                  path, lines);
    log.arrivals = parseField("arrivals", 0, mostSteps);
  }

  /// Returns false after the last line.
  bool parseLine(Line line) {
    std::string_view kind = line.takeWord("a line's kind");
    if (kind == lastLine && line.isEmpty())
      return false;
    if (kind == "fact" && log.rounds.empty()) {
      std::string name(line.takeWord("a name"));
      log.facts.emplace_back(name, line.takeRest());
    } else if (kind == "round") {
      parseRound(line);
    } else if (kind == "order" && !log.rounds.empty()) {
      parseOrder(line);
    } else if (kind == "step" && !log.rounds.empty()) {
      parseStep(line);
    } else {
      line.fail(fmt::format("'{}' is not expected here", kind.substr(0, 40)));
    }
    return true;
  }

  void parseRound(Line &line) {
    int64_t end = line.takeNumber("where the round ends", log.end(), mostSteps);
    line.expectEnd();
    if (end % log.shape.trainers != 0)
      line.fail("a round's end is not a multiple of the trainers");
    RecordedRound round;
    round.end = end;
    round.line = int64_t(lines);
    for (int buckets : log.shape.buckets)
      round.orders.emplace_back(buckets);
    round.steps.resize(log.shape.ranks());
    log.rounds.push_back(std::move(round));
  }

  int takeRank(Line &line) {
    return static_cast<int>(
        line.takeNumber("a rank", 0, log.shape.ranks() - 1));
  }

  void parseOrder(Line &line) {
    int rank = takeRank(line);
    int64_t bucket =
        line.takeNumber("a bucket of the rank", 0, log.shape.buckets[rank] - 1);
    BucketOrder &order = log.rounds.back().orders[rank][bucket];
    while (!line.isEmpty()) {
      std::string_view word = line.takeWord("an entry");
      OrderEntry entry;
      entry.line = int64_t(lines);
      entry.digest = line.takeDigest(word);
      size_t dot = word.find('.');
      bool isEntry = word.size() >= 4 && dot != word.npos &&
                     (word[0] == 'a' || word[0] == 'p');
      if (!isEntry)
        line.fail(fmt::format("expected an entry such as a0.3 or p0.3, and "
                              "there is '{}'",
                              word.substr(0, 40)));
      entry.kind = word[0] == 'a' ? OrderEntry::Kind::Applied
                                  : OrderEntry::Kind::Answered;
      entry.trainer = line.parse<int32_t>(word.substr(1, dot - 1), "a trainer",
                                          0, log.shape.trainers - 1);
      entry.step =
          line.parse<int64_t>(word.substr(dot + 1), "a step", 0, mostSteps);
      order.push_back(entry);
    }
  }

  void parseStep(Line &line) {
    int rank = takeRank(line);
    StepRecord record;
    record.line = int64_t(lines);
    record.step = line.takeNumber("a step", 0, mostSteps);
    record.ticket = line.takeNumber("a ticket", 0, mostSteps);
    std::string_view word = line.takeWord("'good' or 'bad'");
    if (word != "good" && word != "bad")
      line.fail("expected 'good' or 'bad'");
    record.isGood = word == "good";
    int member = log.shape.memberOf(rank);
    for (int trainer = 0; trainer < log.shape.trainers; ++trainer)
      for (int bucket = 0;
           bucket < log.shape.buckets[log.shape.rankOf(trainer, member)];
           ++bucket) {
        std::string_view version = line.takeWord("a version of each bucket");
        record.digests.push_back(line.takeDigest(version));
        record.versions.push_back(
            line.parse<int64_t>(version, "a version", 0, mostSteps));
      }
    line.expectEnd();
    log.rounds.back().steps[rank].push_back(std::move(record));
  }

  static constexpr int64_t mostSteps = int64_t(1) << 56;

  const std::string &path;
  const std::string &text;
  size_t at = 0, lines = 0;
  ReplayLog log;
};

} // namespace

std::string printHeader(const ReplayLog &log) {
  fmt::memory_buffer text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{}{}\ntrainers {}\nmembers {}\nbound ", format, version,
                 log.shape.trainers, log.shape.members);
  if (log.shape.bound)
    fmt::format_to(out, "{}", *log.shape.bound);
  else
    fmt::format_to(out, "none");
  fmt::format_to(out, "\nbuckets");
  for (int buckets : log.shape.buckets)
    fmt::format_to(out, " {}", buckets);
  fmt::format_to(out, "\nfirst {}\narrivals {}\n", log.first, log.arrivals);
  for (const auto &[name, value] : log.facts)
    fmt::format_to(out, "fact {} {}\n", name, value);
  return fmt::to_string(text);
}

std::string printRound(int64_t end) { return fmt::format("round {}\n", end); }

std::string printEnd() { return fmt::format("{}\n", lastLine); }

ReplayLog parseReplayLog(const std::string &path, const std::string &text) {
  return Parser(path, text).parse();
}

std::string Recorder::takeLines() {
  fmt::memory_buffer text;
  auto out = std::back_inserter(text);
  for (size_t bucket = 0; bucket < orders.size(); ++bucket) {
    BucketOrder &order = orders[bucket];
    for (size_t i = 0; i < order.size(); ++i) {
      const OrderEntry &entry = order[i];
      if (i % entriesPerLine == 0)
        fmt::format_to(out, "{}order {} {}", i == 0 ? "" : "\n", rank, bucket);
      fmt::format_to(out, " {}{}.{}",
                     entry.kind == OrderEntry::Kind::Applied ? 'a' : 'p',
                     entry.trainer, entry.step);
      printDigest(text, entry.digest);
    }
    if (!order.empty())
      fmt::format_to(out, "\n");
    order.clear();
  }
  for (const StepRecord &step : steps) {
    fmt::format_to(out, "step {} {} {} {}", rank, step.step, step.ticket,
                   step.isGood ? "good" : "bad");
    for (size_t i = 0; i < step.versions.size(); ++i) {
      fmt::format_to(out, " {}", step.versions[i]);
      if (i < step.digests.size())
        printDigest(text, step.digests[i]);
    }
    fmt::format_to(out, "\n");
  }
  steps.clear();
  return fmt::to_string(text);
}

} // namespace ppopt::asynchronous
