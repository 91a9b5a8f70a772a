//===- initial_parameters.h - Parameters that files begin with ------------===//
//
// docs/starting-points.md has the rules.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_INITIAL_PARAMETERS_H
#define PPOPT_RUNTIME_CHECKPOINT_INITIAL_PARAMETERS_H

#include "checkpoint/parameter_map.h"
#include "checkpoint/starting_point.h"
#include "checkpoint/tensor_set.h"
#include "executor/buffers.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ppopt::train {

/// The initial parameters of a program that are in files. The others are drawn.
class InitialParameters {
public:
  /// Opens the files; reads no more than their headers, copies and buffers.
  /// Throws Error that lists the tensors that are missing, are not parameters,
  /// or have a shape or a type that cannot be taken. A parameter is stored
  /// under its name, an alias, or several of them, as equal tensors. Files may
  /// have any of `buffers`, with their values. If `rank` is given, it is the
  /// only one that loads: other ranks verify the files of a checkpoint that
  /// have nothing of its parameters.
  InitialParameters(const runtime::Program &program, const StartingPoint &from,
                    const std::vector<TensorToStore> &buffers = {},
                    std::optional<int64_t> rank = std::nullopt);

  /// The same for files with the names and layouts of a map.
  InitialParameters(const runtime::Program &program, const StartingPoint &from,
                    const ParameterMap &map);

  /// Copies the files' values into parameters, or parts of them, on a device.
  /// Leaves elements that no file has as they are. Throws Error for a number
  /// that the parameter's type does not have.
  void load(device::Device &device, device::Stream stream,
            const std::vector<runtime::ParameterBuffer> &parameters) const;

  /// Returns the files that are read, in the order of the paths.
  std::vector<std::string> files() const;

  /// Returns lines for people about everything but a single file whose tensors
  /// are the parameters as they are.
  std::vector<std::string> notes() const;

  /// Returns for each parameter the path that it is from, empty if it is drawn;
  /// nothing if all are from one path that was given alone.
  std::vector<std::pair<std::string, std::string>> origins() const;

private:
  /// What one path has.
  struct Source {
    /// `averages`: files of which averages take the place of parameters.
    Source(const std::string &path, std::vector<std::string> files,
           std::vector<std::string> averages, const std::string &prefix);

    const StoredTensor *find(const std::string &name) const {
      auto found = names.find(name);
      return found == names.end() ? nullptr : found->second;
    }

    std::string path;
    std::vector<std::string> files;
    TensorSet tensors, averages;
    std::map<std::string, const StoredTensor *> names; ///< without the prefix
    std::set<std::string> used;      ///< of these, what has a meaning
    std::vector<std::string> extras; ///< names in the files
    int64_t parameters = 0;          ///< that it has
  };
  struct Taken {
    const StoredTensor *stored = nullptr; ///< null: the parameter is drawn
    size_t source = 0;
    bool transposed = false;
    std::vector<const StoredTensor *> copies = {}; ///< must be equal
    /// Of a stack, in order; `stored` is the first of them. Else empty.
    std::vector<const StoredTensor *> parts = {};
  };

  InitialParameters(const runtime::Program &program, const StartingPoint &from,
                    const std::vector<TensorToStore> &buffers,
                    const ParameterMap *map, std::optional<int64_t> rank);

  void takeOwn();
  void takeByMap(const ParameterMap &map);
  void take(size_t parameter, size_t source,
            const std::vector<std::string> &names, bool transposed);
  void takeStack(size_t parameter, size_t source,
                 const std::vector<std::string> &parts);
  void loadStack(device::Device &device, device::Stream stream,
                 const runtime::ParameterBuffer &buffer,
                 const Taken &taken) const;
  void checkResized() const;
  std::string describeDifferences(const ParameterMap *map) const;
  void checkCopies() const;
  void checkBuffers(const std::vector<TensorToStore> &buffers) const;
  void convert(device::Device &device, device::Stream stream,
               device::DevicePointer to, const geometry::TilePart &elements,
               const StoredTensor &stored, bool transposed,
               runtime::ElementType type, int64_t first = 0) const;
  /// Returns the rows that a parameter has more than its tensor.
  int64_t rowsDrawn(size_t parameter) const;

  const runtime::Program &program_;
  const StartingPoint from_;
  const std::string given_; ///< paths and map, for messages
  std::vector<Source> sources_;
  std::vector<Taken> taken_;        ///< by parameter
  std::vector<std::string> wanted_; ///< by parameter, its name in files
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_INITIAL_PARAMETERS_H
