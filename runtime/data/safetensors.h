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
#include "files/whole_file.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace ppopt::train {

constexpr const char *kTensorExtension = ".safetensors";

/// Returns the bytes of one element of a dtype in the format's spelling ("F32",
/// "I64"); 0 if the format has no such dtype.
uint64_t safetensorsElementSize(const std::string &dtype);

/// Returns the format's spelling of a program's type ("f32" -> "F32", "i1" ->
/// "BOOL"). Throws std::invalid_argument for a type that programs do not have.
std::string safetensorsDtype(const std::string &programType);

/// Returns "F32 [2, 3]", for messages.
std::string describeTensor(const std::string &dtype,
                           const std::vector<int64_t> &shape);

/// A tensor of an open file. `data` points into the mapping and may be
/// unaligned: copy it, do not dereference it.
struct StoredTensor {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  const unsigned char *data = nullptr;
  uint64_t bytes = 0;
};

/// A file with a fully checked header: every tensor is inside the file and has
/// the number of bytes that its shape needs, and every byte of data belongs to
/// exactly one tensor.
class SafetensorsFile {
public:
  /// Throws Error: one line that starts with the path.
  explicit SafetensorsFile(const std::string &path);

  const std::string &path() const { return file_.path(); }
  /// The tensors, sorted by name.
  const std::vector<StoredTensor> &tensors() const { return tensors_; }
  /// Returns null if the file has no tensor of that name.
  const StoredTensor *find(const std::string &name) const;
  /// The offset of one of the file's tensors, in bytes from the file's start.
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

/// A tensor to write. `data` must stay valid during the call; it is null if a
/// TensorSource provides the bytes.
struct TensorToStore {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  const void *data = nullptr;
};

/// Returns the bytes that its shape and dtype need. Throws
/// std::invalid_argument for an unknown dtype.
uint64_t bytesOf(const TensorToStore &tensor);

/// Returns the order of the tensors in a file, as indices into `tensors`.
std::vector<size_t> orderInFile(const std::vector<TensorToStore> &tensors);

/// A TensorSource passes the bytes of tensor `index`, in pieces, to `write`.
using WriteBytes = std::function<void(const void *data, uint64_t bytes)>;
using TensorSource = std::function<void(size_t index, const WriteBytes &write)>;

/// Passes a file's bytes to `write` in order, and takes each tensor's bytes
/// from `source`.
void streamSafetensors(const std::vector<TensorToStore> &tensors,
                       const std::map<std::string, std::string> &metadata,
                       const TensorSource &source, const WriteBytes &write);

/// A file that is written in pieces in any order, and appears when it is
/// complete (WholeFile). Every call throws Error with the path.
class SafetensorsWriter {
public:
  SafetensorsWriter(const std::string &path,
                    const std::vector<TensorToStore> &tensors,
                    const std::map<std::string, std::string> &metadata);

  /// Writes bytes of tensor `index`, from the one at `offset` on.
  void write(size_t index, uint64_t offset, const void *data, uint64_t bytes);
  /// Call it when all bytes are written.
  void commit();

private:
  void expect(const std::string &error) const;

  const std::string path_;
  WholeFile file_;
  std::vector<uint64_t> begins_; ///< of the tensors, in the file
};

/// Writes a file atomically (WholeFile): a crash leaves either the old file or
/// the new one. Throws Error.
void writeSafetensors(const std::string &path,
                      const std::vector<TensorToStore> &tensors,
                      const std::map<std::string, std::string> &metadata = {});

/// The same with the bytes from `source`, which is called for each tensor in
/// the order of the file.
void writeSafetensors(const std::string &path,
                      const std::vector<TensorToStore> &tensors,
                      const std::map<std::string, std::string> &metadata,
                      const TensorSource &source);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_DATA_SAFETENSORS_H
