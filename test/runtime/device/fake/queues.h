//===- queues.h - Operations that have not run yet ------------------------===//

#ifndef PPOPT_TEST_FAKE_QUEUES_H
#define PPOPT_TEST_FAKE_QUEUES_H

#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <vector>

namespace ppopt::fake {

/// One queue per stream. Which of them runs next is drawn at random among those
/// whose first operation may run.
class Queues {
public:
  explicit Queues(uint64_t seed);

  int addStream();
  int addEvent();

  void add(int stream, std::function<void()> run);
  /// Lets the stream go on when the function says so. It is asked again and
  /// again.
  void hold(int stream, std::function<bool()> isOver);
  void record(int event, int stream);
  void wait(int stream, int event);

  /// Runs some operations, and returns whether the event's last record is
  /// complete.
  bool isComplete(int event);
  /// Runs operations until those of the stream are done.
  void finish(int stream);
  void finishAll();
  /// Forgets all operations. Returns how many there were.
  int64_t discard();
  bool isEmpty() const;

private:
  struct Entry {
    std::function<void()> run;    ///< empty: of an event
    int64_t reaches = 0;          ///< 0, or the record that is now complete
    int64_t needs = 0;            ///< 0, or the record that must be complete
    std::function<bool()> isOver; ///< empty, or must be true
  };
  bool mayRun(const std::deque<Entry> &queue) const;
  bool isHeld() const;
  bool runOne();
  void runSome();

  std::vector<std::deque<Entry>> queues;
  std::vector<int64_t> lastRecord;     ///< by event; 0: none
  std::vector<bool> complete = {true}; ///< by record
  std::mt19937_64 random;
  double eagerness; ///< the probability that operations run when enqueued
};

} // namespace ppopt::fake

#endif // PPOPT_TEST_FAKE_QUEUES_H
