//===- safetensors.h - Reading and writing safetensors files --------------===//
//
// The format: 8 bytes with the header's length (little endian), a JSON object
// that gives each tensor's dtype, shape and range of bytes, then the bytes.
// Tensors are row-major and little endian.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DATA_SAFETENSORS_H
#define PPOPT_RUNTIME_DATA_SAFETENSORS_H

#include "base/mapped_file.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace ppopt::train {

constexpr const char *kTensorExtension = ".safetensors";

/// Bytes of one element of a dtype as the format spells it ("F32", "I64"); 0
/// for one that the format does not know.
uint64_t safetensorsElementSize(const std::string &dtype);

/// The format's spelling of a program's type ("f32" -> "F32", "i1" -> "BOOL").
/// Throws std::invalid_argument for a type that programs do not have.
std::string safetensorsDtype(const std::string &programType);

/// "F32 [2, 3]", for messages.
std::string describeTensor(const std::string &dtype,
                           const std::vector<int64_t> &shape);

/// A tensor of a file that is being read. `data` points into the mapping and
/// may be unaligned: copy, do not dereference.
struct StoredTensor {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  const unsigned char *data = nullptr;
  uint64_t bytes = 0;
};

/// A file whose header has been checked as a whole: every tensor lies in the
/// file, has as many bytes as its shape asks for, and no byte belongs to two
/// tensors or to none.
class SafetensorsFile {
public:
  /// Throws Error with one line that starts with the path.
  explicit SafetensorsFile(const std::string &path);

  const std::string &path() const { return file_.path(); }
  /// In the order of their names.
  const std::vector<StoredTensor> &tensors() const { return tensors_; }
  /// Null where the file has no tensor of that name.
  const StoredTensor *find(const std::string &name) const;
  /// Where one of its tensors begins, in bytes from the file's start.
  uint64_t offsetOf(const StoredTensor &tensor) const {
    return static_cast<uint64_t>(tensor.data - file_.data());
  }
  const std::map<std::string, std::string> &metadata() const {
    return metadata_;
  }

private:
  MappedFile file_;
  std::vector<StoredTensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

/// A tensor to be written. `data` must stay valid during the call; null where
/// its bytes come from a source.
struct TensorToStore {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  const void *data = nullptr;
};

/// The order in which a file holds tensors: indices of `tensors`.
std::vector<size_t> orderInFile(const std::vector<TensorToStore> &tensors);

/// Gives the bytes of tensor `index`, in pieces, to `write`.
using WriteBytes = std::function<void(const void *data, uint64_t bytes)>;
using TensorSource = std::function<void(size_t index, const WriteBytes &write)>;

/// Gives a file's bytes to `write`, in their order, asking `source` for each
/// tensor's.
void streamSafetensors(const std::vector<TensorToStore> &tensors,
                       const std::map<std::string, std::string> &metadata,
                       const TensorSource &source, const WriteBytes &write);

/// Writes a WholeFile: a crash leaves either the old one or the new one. Throws
/// Error.
void writeSafetensors(const std::string &path,
                      const std::vector<TensorToStore> &tensors,
                      const std::map<std::string, std::string> &metadata = {});

/// The same, asking `source` for each tensor's bytes in the order of the file.
void writeSafetensors(const std::string &path,
                      const std::vector<TensorToStore> &tensors,
                      const std::map<std::string, std::string> &metadata,
                      const TensorSource &source);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_DATA_SAFETENSORS_H
