//===- initial_parameters.cpp - Parameters that files begin with ----------===//

#include "checkpoint/initial_parameters.h"

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_shares.h"
#include "checkpoint/stored_numbers.h"
#include "device/host_access.h"
#include "device/runs.h"
#include "device/transposed.h"
#include "ppopt/nearest_names.h"
#include "schema/optimizer_state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace ppopt::train {
namespace {

using runtime::Parameter;
using runtime::ParameterBuffer;
using runtime::Program;

std::string describeGiven(const StartingPoint &from, const ParameterMap *map) {
  return fmt::format("--init {}{}{}", fmt::join(from.paths, " "),
                     map ? " by " : "", map ? map->path() : "");
}

/// Checks that a second tensor of a parameter is an exact copy. Otherwise
/// ignoring it would lose values that the file's model uses. `given` is where
/// the tensors are, for the message.
void checkCopy(const std::string &given, const StoredTensor &copy,
               const StoredTensor &original) {
  if (copy.dtype != original.dtype || copy.shape != original.shape ||
      std::memcmp(copy.data, original.data, copy.bytes) != 0)
    throw Error("{}: the tensors '{}' and '{}' differ, and are one parameter "
                "of this model: it needs a parameter of its own for the first",
                given, copy.name, original.name);
}

std::vector<int64_t> swapped(std::vector<int64_t> shape) {
  std::reverse(shape.begin(), shape.end());
  return shape;
}

/// Returns "h.w for w (file F32 [2, 3], model F32 [4, 2] transposed)".
std::string describeDifference(const StoredTensor &stored,
                               const Parameter &parameter, bool transposed) {
  std::vector<int64_t> shape = parameter.globalShape();
  bool looksTransposed = stored.shape.size() == 2 && !transposed &&
                         stored.shape != shape &&
                         stored.shape == swapped(shape);
  return fmt::format(
      "{}{} (file {}, model {}{}{})", stored.name,
      stored.name == parameter.name ? "" : " for " + parameter.name,
      describeTensor(stored.dtype, stored.shape),
      describeTensor(safetensorsDtype(spell(parameter.type)), shape),
      transposed ? " transposed" : "",
      looksTransposed ? ": the file's is transposed" : "");
}

/// The same for a part of a stack, which should have `shape`.
std::string describePart(const StoredTensor &part, const Parameter &parameter,
                         const std::vector<int64_t> &shape) {
  return fmt::format(
      "{} for a part of {} (file {}, model {})", part.name, parameter.name,
      describeTensor(part.dtype, part.shape),
      describeTensor(safetensorsDtype(spell(parameter.type)), shape));
}

/// Returns whether the shapes differ in that the first has fewer rows.
bool hasFewerRows(const std::vector<int64_t> &shape,
                  const std::vector<int64_t> &than) {
  return !shape.empty() && shape.size() == than.size() && shape[0] < than[0] &&
         std::equal(shape.begin() + 1, shape.end(), than.begin() + 1);
}

/// Returns all names of the parameters of which a rank has elements.
std::set<std::string> namesHeldBy(const Program &program, int64_t rank) {
  std::set<std::string> names = heldBy(program, rank);
  for (const Parameter &parameter : program.parameters)
    if (names.count(parameter.name) > 0)
      names.insert(parameter.aliases.begin(), parameter.aliases.end());
  return names;
}

/// Returns "3 tensors".
std::string countOf(int64_t count, const std::string &of) {
  return fmt::format("{} {}{}", count, of, count == 1 ? "" : "s");
}

/// The names that a map has for the tensors of a path. Either all or none of
/// the path's have the optional prefix.
class NamesByMap {
public:
  NamesByMap(const ParameterMap &map,
             const std::map<std::string, const StoredTensor *> &names)
      : map_(map) {
    const std::string &prefix = map.optionalPrefix();
    auto first = names.lower_bound(prefix);
    if (!prefix.empty() &&
        (first == names.end() || first->first.rfind(prefix, 0) != 0))
      lacking_ = prefix;
  }

  std::string inFiles(const std::string &name) const {
    bool lacks = !lacking_.empty() && name.rfind(lacking_, 0) == 0;
    return lacks ? name.substr(lacking_.size()) : name;
  }

  bool ignores(const std::string &inFiles) const {
    return map_.ignores(inFiles) ||
           (!lacking_.empty() && map_.ignores(lacking_ + inFiles));
  }

private:
  const ParameterMap &map_;
  std::string lacking_; ///< the prefix, if the files omit it
};

} // namespace

//===----------------------------------------------------------------------===//
// Which tensor is which parameter
//===----------------------------------------------------------------------===//

InitialParameters::Source::Source(const std::string &path,
                                  std::vector<std::string> files,
                                  std::vector<std::string> averages,
                                  const std::string &prefix)
    : path(path), files(std::move(files)), tensors(this->files),
      averages(averages) {
  for (const auto &[name, stored] : tensors.tensors())
    if (name.rfind(prefix, 0) == 0)
      names.emplace(name.substr(prefix.size()), stored);
    else
      extras.push_back(name);
  this->files.insert(this->files.end(), averages.begin(), averages.end());
  const std::string begin = stateName(schema::averageState, prefix);
  for (const auto &[name, stored] : this->averages.tensors())
    if (name.rfind(begin, 0) == 0)
      names.insert_or_assign(name.substr(begin.size()), stored);
}

InitialParameters::InitialParameters(const Program &program,
                                     const StartingPoint &from,
                                     const std::vector<TensorToStore> &buffers,
                                     std::optional<int64_t> rank)
    : InitialParameters(program, from, buffers, nullptr, rank) {}

InitialParameters::InitialParameters(const Program &program,
                                     const StartingPoint &from,
                                     const ParameterMap &map)
    : InitialParameters(program, from, {}, &map, std::nullopt) {}

InitialParameters::InitialParameters(const Program &program,
                                     const StartingPoint &from,
                                     const std::vector<TensorToStore> &buffers,
                                     const ParameterMap *map,
                                     std::optional<int64_t> rank)
    : program_(program), from_(from), given_(describeGiven(from, map)),
      taken_(program.parameters.size()) {
  checkResized();
  std::optional<std::set<std::string>> read;
  if (rank && from.prefix.empty())
    read = namesHeldBy(program, *rank);
  for (const std::string &path : from.paths)
    sources_.emplace_back(path, parameterFiles(path, read),
                          from.averages ? averageFiles(path, averagesOf(read))
                                        : std::vector<std::string>(),
                          from.prefix);
  if (map)
    takeByMap(*map);
  else
    takeOwn();
  for (Source &source : sources_)
    for (const TensorToStore &buffer : buffers)
      if (source.find(buffer.name))
        source.used.insert(buffer.name);
  for (Source &source : sources_)
    for (const auto &[name, stored] : source.names)
      if (source.used.count(name) == 0)
        source.extras.push_back(stored->name);
  std::string wrong = describeDifferences(map);
  if (!wrong.empty())
    throw Error("{}: the tensors are not this model's parameters; {}", given_,
                wrong);
  for (const Source &source : sources_)
    if (source.parameters == 0 && !program.parameters.empty())
      throw Error("{}: no tensor of {} is a parameter of this model", given_,
                  source.path);
  checkCopies();
  checkBuffers(buffers);
}

/// A tensor of a later path takes the place of one of an earlier path, also
/// under another of the parameter's names.
void InitialParameters::take(size_t parameter, size_t source,
                             const std::vector<std::string> &names,
                             bool transposed) {
  Taken &taken = taken_[parameter];
  bool isFirst = true;
  for (const std::string &name : names) {
    const StoredTensor *stored = sources_[source].find(name);
    if (!stored)
      continue;
    sources_[source].used.insert(name);
    if (isFirst)
      taken = {stored, source, transposed, {}};
    else
      taken.copies.push_back(stored);
    sources_[source].parameters += isFirst;
    isFirst = false;
  }
}

/// A path has all parts of a stack or none.
void InitialParameters::takeStack(size_t parameter, size_t source,
                                  const std::vector<std::string> &parts) {
  Taken taken;
  std::vector<std::string> missing;
  for (const std::string &name : parts) {
    taken.parts.push_back(sources_[source].find(name));
    if (!taken.parts.back())
      missing.push_back(name);
  }
  if (missing.size() == parts.size())
    return;
  if (!missing.empty())
    throw Error("{}: {} has only some tensors of the parameter '{}': it lacks "
                "{}",
                given_, sources_[source].path,
                program_.parameters[parameter].name, listNames(missing));
  sources_[source].used.insert(parts.begin(), parts.end());
  ++sources_[source].parameters;
  taken.stored = taken.parts.front();
  taken.source = source;
  taken_[parameter] = std::move(taken);
}

void InitialParameters::takeOwn() {
  for (size_t i = 0; i < taken_.size(); ++i) {
    const Parameter &parameter = program_.parameters[i];
    std::vector<std::string> names = parameter.aliases;
    names.insert(names.begin(), parameter.name);
    wanted_.push_back(parameter.name);
    for (size_t source = 0; source < sources_.size(); ++source)
      take(i, source, names, /*transposed=*/false);
  }
}

void InitialParameters::takeByMap(const ParameterMap &map) {
  std::vector<ParameterTensor> tensors =
      map.tensorsOf(program_, from_.drawsMissing);
  std::map<std::string, size_t> takers;
  for (size_t i = 0; i < tensors.size(); ++i)
    takers.emplace(tensors[i].name, i);
  wanted_.resize(tensors.size());
  for (size_t source = 0; source < sources_.size(); ++source) {
    Source &files = sources_[source];
    NamesByMap names(map, files.names);
    std::set<std::string> taken;
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].name.empty())
        continue; // has no entry in the map
      wanted_[i] = names.inFiles(tensors[i].name);
      std::vector<std::string> parts;
      for (const std::string &part : tensors[i].parts)
        parts.push_back(names.inFiles(part));
      for (const std::string &name :
           parts.empty() ? std::vector{wanted_[i]} : parts)
        if (!taken.insert(name).second)
          throw Error("{}: the tensor '{}' is taken twice: once without the "
                      "optional prefix",
                      given_, name);
      if (parts.empty())
        take(i, source, {wanted_[i]}, tensors[i].transposed);
      else
        takeStack(i, source, parts);
    }
    for (const auto &[copy, original] : map.tied()) {
      std::string name = names.inFiles(copy);
      const StoredTensor *stored = files.find(name);
      auto taker = takers.find(original);
      // Where a parameter has the tensor, the entry does nothing.
      if (!stored || taker == takers.end() || files.used.count(name) > 0 ||
          !taken_[taker->second].stored)
        continue;
      files.used.insert(name);
      taken_[taker->second].copies.push_back(stored);
    }
    for (const auto &[name, stored] : files.names)
      if (names.ignores(name))
        files.used.insert(name);
  }
}

//===----------------------------------------------------------------------===//
// What is wrong with the files
//===----------------------------------------------------------------------===//

void InitialParameters::checkResized() const {
  for (const std::string &name : from_.resized) {
    std::vector<std::string> known;
    for (const Parameter &parameter : program_.parameters)
      known.push_back(parameter.name);
    if (std::count(known.begin(), known.end(), name) > 0)
      continue;
    std::string nearest = nearestName(name, known);
    throw Error("--init-resize: the model has no parameter '{}'{}", name,
                nearest.empty() ? ""
                                : fmt::format("; did you mean '{}'?", nearest));
  }
}

int64_t InitialParameters::rowsDrawn(size_t parameter) const {
  const Taken &taken = taken_[parameter];
  if (!taken.stored || !taken.parts.empty())
    return 0;
  std::vector<int64_t> shape = program_.parameters[parameter].globalShape(),
                       stored = taken.transposed ? swapped(taken.stored->shape)
                                                 : taken.stored->shape;
  return hasFewerRows(stored, shape) ? shape[0] - stored[0] : 0;
}

std::string
InitialParameters::describeDifferences(const ParameterMap *map) const {
  std::vector<std::string> missing, extras, types, shapes, growing;
  for (size_t i = 0; i < taken_.size(); ++i) {
    const Parameter &parameter = program_.parameters[i];
    const auto &[stored, source, transposed, copies, parts] = taken_[i];
    if (!stored) {
      if (!from_.drawsMissing)
        missing.push_back(!map || wanted_[i].empty()
                              ? parameter.name
                              : wanted_[i] + " for " + parameter.name);
      continue;
    }
    std::string dtype = safetensorsDtype(spell(parameter.type));
    if (!parts.empty()) {
      std::vector<int64_t> shape = parameter.globalShape();
      shape.erase(shape.begin());
      for (const StoredTensor *part : parts)
        if (part->shape != shape)
          shapes.push_back(describePart(*part, parameter, shape));
        else if (part->dtype != dtype &&
                 !isConvertible(part->dtype, parameter.type))
          types.push_back(describePart(*part, parameter, shape));
      continue;
    }
    bool mayGrow = rowsDrawn(i) > 0;
    bool grows = mayGrow && std::count(from_.resized.begin(),
                                       from_.resized.end(), parameter.name) > 0;
    if (!grows && (transposed ? swapped(stored->shape) : stored->shape) !=
                      parameter.globalShape()) {
      shapes.push_back(describeDifference(*stored, parameter, transposed));
      if (mayGrow)
        growing.push_back(parameter.name);
    } else if (stored->dtype != dtype &&
               !isConvertible(stored->dtype, parameter.type)) {
      types.push_back(describeDifference(*stored, parameter, transposed));
    }
  }
  if (!from_.ignoresExtra)
    for (const Source &source : sources_)
      for (const std::string &name : source.extras)
        extras.push_back(sources_.size() == 1 ? name
                                              : name + " of " + source.path);
  std::vector<std::string> differences;
  addDifference(differences, "missing", missing);
  addDifference(differences, map ? "not in the map" : "not a parameter",
                extras);
  addDifference(differences, "of another shape", shapes);
  addDifference(differences, "of another type", types,
                " (only F64, F32, F16 and BF16 are converted to each other)");
  if (!missing.empty())
    differences.push_back("--init-missing draw draws what is missing");
  if (!growing.empty())
    differences.push_back(fmt::format("--init-resize {} draws rows that a "
                                      "file lacks",
                                      fmt::join(growing, ",")));
  if (!extras.empty())
    differences.push_back("--init-extra ignore leaves out what is no "
                          "parameter");
  if (!differences.empty() && !map)
    differences.push_back("of a file that another program wrote, --init-map "
                          "says how it names them");
  return fmt::format("{}", fmt::join(differences, "; "));
}

void InitialParameters::checkCopies() const {
  for (const Taken &taken : taken_)
    for (const StoredTensor *copy : taken.copies)
      checkCopy(given_, *copy, *taken.stored);
}

/// The program computes with the values that a buffer had when it was imported.
void InitialParameters::checkBuffers(
    const std::vector<TensorToStore> &buffers) const {
  for (const Source &source : sources_)
    for (const TensorToStore &buffer : buffers) {
      const StoredTensor *stored = source.find(buffer.name);
      if (!stored)
        continue;
      if (stored->dtype != buffer.dtype || stored->shape != buffer.shape)
        throw Error("{}: the buffer '{}' is {} in the file, and {} in the "
                    "model",
                    given_, buffer.name,
                    describeTensor(stored->dtype, stored->shape),
                    describeTensor(buffer.dtype, buffer.shape));
      if (stored->bytes > 0 &&
          std::memcmp(stored->data, buffer.data, stored->bytes) != 0)
        throw Error("{}: the buffer '{}' has other values than the model was "
                    "imported with, which are a part of this program: import "
                    "and compile a model that has those of the file",
                    given_, buffer.name);
    }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void InitialParameters::load(
    device::Device &device, device::Stream stream,
    const std::vector<ParameterBuffer> &parameters) const {
  for (const ParameterBuffer &buffer : parameters) {
    const Taken &taken = taken_[buffer.index];
    if (!taken.stored)
      continue;
    if (!taken.parts.empty()) {
      loadStack(device, stream, buffer, taken);
      continue;
    }
    const StoredTensor &stored = *taken.stored;
    runtime::ElementType type = program_.parameters[buffer.index].type;
    int64_t size = byteSize(type);
    // Rows that the file lacks are the last ones.
    geometry::TilePart elements =
        buffer.elements.within(0, schema::elementCount(stored.shape));
    auto *from = reinterpret_cast<const char *>(stored.data);
    if (stored.dtype != safetensorsDtype(spell(type)))
      convert(device, stream, buffer.data, elements, stored, taken.transposed,
              type);
    else if (taken.transposed)
      device::writeTransposed(device, stream, buffer.data, elements, from,
                              {stored.shape[0], stored.shape[1], size});
    else
      device::copyRunsIn(device, stream, buffer.data, elements.inBytes(size),
                         from);
  }
  device.synchronize(stream);
}

/// Of each part the elements that the buffer has of it.
void InitialParameters::loadStack(device::Device &device, device::Stream stream,
                                  const ParameterBuffer &buffer,
                                  const Taken &taken) const {
  runtime::ElementType type = program_.parameters[buffer.index].type;
  const int64_t size = byteSize(type);
  int64_t first = 0;
  for (const StoredTensor *part : taken.parts) {
    int64_t count = schema::elementCount(part->shape);
    geometry::TilePart elements = buffer.elements.within(first, first + count);
    device::DevicePointer to =
        buffer.data + (elements.begin - buffer.elements.begin) * size;
    if (part->dtype != safetensorsDtype(spell(type)))
      convert(device, stream, to, elements, *part, /*transposed=*/false, type,
              first);
    else
      device::copyRunsIn(device, stream, to, elements.inBytes(size),
                         reinterpret_cast<const char *>(part->data),
                         first * size);
    first += count;
  }
}

/// The tensor begins with the element `first` of the parameter.
void InitialParameters::convert(device::Device &device, device::Stream stream,
                                device::DevicePointer to,
                                const geometry::TilePart &elements,
                                const StoredTensor &stored, bool transposed,
                                runtime::ElementType type,
                                int64_t first) const {
  constexpr int64_t atOnce = 8192;
  auto *from = reinterpret_cast<const char *>(stored.data);
  const auto storedSize = int64_t(safetensorsElementSize(stored.dtype));
  const int64_t size = byteSize(type);
  std::vector<char> gathered(atOnce * storedSize);
  auto gather = [&](const geometry::TilePart &some) {
    if (transposed)
      device::copyTransposed(gathered.data(), some, from,
                             {stored.shape[0], stored.shape[1], storedSize});
    else
      device::gatherRuns(gathered.data(), some.inBytes(storedSize), from,
                         first * storedSize);
  };
  auto make = [&](char *data, int64_t at, int64_t bytes) {
    for (int64_t done = 0, count = bytes / size; done < count; done += atOnce) {
      int64_t some = std::min(atOnce, count - done);
      gather(elements.slice(at / size + done, some));
      int64_t good = convertNumbers(stored.dtype, gathered.data(), some, type,
                                    data + done * size);
      if (good < some)
        throw Error(
            "{}: the tensor '{}' has the number {}, which {} does not "
            "have: it would be infinite",
            given_, stored.name,
            readNumber(stored.dtype, gathered.data() + good * storedSize),
            spell(type));
    }
  };
  device::writePieces(device, stream, to, elements.count() * size, make);
}

//===----------------------------------------------------------------------===//
// What is said of them
//===----------------------------------------------------------------------===//

std::vector<std::string> InitialParameters::files() const {
  std::vector<std::string> files;
  for (const Source &source : sources_)
    files.insert(files.end(), source.files.begin(), source.files.end());
  return files;
}

std::vector<std::pair<std::string, std::string>>
InitialParameters::origins() const {
  std::vector<std::pair<std::string, std::string>> origins;
  bool hasDrawn = false;
  for (size_t i = 0; i < taken_.size(); ++i) {
    bool isDrawn = !taken_[i].stored;
    hasDrawn |= isDrawn;
    origins.emplace_back(program_.parameters[i].name,
                         isDrawn ? "" : sources_[taken_[i].source].path);
  }
  if (sources_.size() == 1 && !hasDrawn)
    origins.clear();
  return origins;
}

std::vector<std::string> InitialParameters::notes() const {
  std::vector<std::string> notes, drawn, ignored;
  std::vector<int64_t> counts(sources_.size());
  std::map<std::string, int64_t> conversions;
  for (size_t i = 0; i < taken_.size(); ++i) {
    const Parameter &parameter = program_.parameters[i];
    const Taken &taken = taken_[i];
    if (!taken.stored) {
      drawn.push_back(parameter.name);
      continue;
    }
    ++counts[taken.source];
    std::string dtype = safetensorsDtype(spell(parameter.type));
    if (taken.stored->dtype != dtype)
      ++conversions[fmt::format("from {} to {}", taken.stored->dtype, dtype)];
  }
  if (sources_.size() > 1 || !drawn.empty()) {
    std::vector<std::string> parts;
    for (size_t source = 0; source < sources_.size(); ++source)
      parts.push_back(
          fmt::format("{} from {}", counts[source], sources_[source].path));
    if (!drawn.empty())
      parts.push_back(
          fmt::format("{} drawn ({})", drawn.size(), listNames(drawn)));
    notes.push_back(fmt::format("parameters: {}", fmt::join(parts, ", ")));
  }
  for (const auto &[what, count] : conversions)
    notes.push_back(
        fmt::format("converted {} {}", countOf(count, "tensor"), what));
  for (size_t i = 0; i < taken_.size(); ++i)
    if (int64_t rows = rowsDrawn(i); rows > 0)
      notes.push_back(fmt::format(
          "{}: {} from {}, {} drawn", program_.parameters[i].name,
          countOf(program_.parameters[i].globalShape()[0] - rows, "row"),
          sources_[taken_[i].source].path, rows));
  for (const Source &source : sources_)
    if (!source.extras.empty())
      notes.push_back(
          fmt::format("not read from {}, since {} no {}: {}", source.path,
                      source.extras.size() == 1 ? "it is" : "they are",
                      source.extras.size() == 1 ? "parameter" : "parameters",
                      listNames(source.extras)));
  return notes;
}

} // namespace ppopt::train
