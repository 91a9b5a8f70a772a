//===- tensors.h - Inputs and parameters ----------------------------------===//

#ifndef PPOPT_RUNTIME_SCHEMA_TENSORS_H
#define PPOPT_RUNTIME_SCHEMA_TENSORS_H

#include "schema/element_type.h"
#include "schema/fields.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ppopt::schema {

enum class InitialValues { zeros, ones, uniform, normal, trunc_normal };
template <> struct Words<InitialValues> {
  static constexpr const char *words[] = {"zeros", "ones", "uniform", "normal",
                                          "trunc_normal"};
};

/// The valid ids: [0, size) and `ignored`.
struct IdRange {
  static constexpr const char *title = "Ids";
  int64_t size = 0;
  std::optional<int64_t> ignored;
  std::string source; ///< the op that they index

  bool holds(int64_t id) const {
    return (id >= 0 && id < size) || (ignored && id == *ignored);
  }

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("size", self.size, "ids are in [0, `size`)", positive);
    f("ignore_index", self.ignored, "one more valid id, or null", anyInteger);
    f("source", self.source, "the op that the ids index");
  }
};

/// A part of each row of an input whose values are ids.
struct IndexedPart {
  static constexpr const char *title = "Part of an input";
  std::vector<int64_t> begin, end; ///< in each dimension except the batch
  IdRange range;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("begin", self.begin, "first index in each dimension but the batch");
    f("end", self.end, "the index after the last");
    IdRange::visit(f, self.range);
  }
};

/// A tensor with the rows of the batch.
struct RowTensor {
  std::string name;
  std::vector<int64_t> shape; ///< of the global batch
  ElementType type = ElementType::f32;

  int64_t bytesPerRow() const {
    return elementCount(shape) / shape.front() * byteSize(type);
  }
  /// Returns the bytes of the rows of one rank.
  template <typename P> int64_t bytesOf(const P &plan) const {
    return times(plan.rowsOfPart(), bytesPerRow());
  }

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("name", self.name, "its name");
    f("shape", self.shape, "that of the global batch", sizes(1));
    f("type", self.type, "of its elements");
  }
};

/// What a program that predicts makes of each row.
struct Output : RowTensor {
  static constexpr const char *title = "Output";
};

struct Input : RowTensor {
  static constexpr const char *title = "Input";
  int64_t shift = 0;
  std::vector<IndexedPart> parts;

  template <typename V, typename T> static void visit(V &f, T &self) {
    RowTensor::visit(f, self);
    f("shift", self.shift,
      "with `--data`, a sample is a window of consecutive tokens, and the "
      "input, an integer input of rank 2, holds the window's tokens from here "
      "on (targets have 1)");
    f("ranges", self.parts,
      "parts of each row whose values are ids. They may overlap, and values "
      "outside of all parts may be anything");
  }
};

struct Initializer {
  static constexpr const char *title = "Initial values";
  InitialValues kind = InitialValues::zeros;
  double low = 0, high = 0; ///< uniform
  double mean = 0, std = 0; ///< normal, trunc_normal

  bool isNormal() const {
    return kind == InitialValues::normal || kind == InitialValues::trunc_normal;
  }

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("kind", self.kind, "the distribution");
    f.when(self.kind == InitialValues::uniform, "`uniform`", [&](auto &g) {
      g("low", self.low, "included");
      g("high", self.high, "not included");
    });
    f.when(self.isNormal(), "`normal`, `trunc_normal`", [&](auto &g) {
      g("mean", self.mean, "of the distribution, before it is cut");
      g("std", self.std,
        "its standard deviation; it is cut at two from the mean");
    });
  }
};

/// An axis of the mesh that cuts a dimension: index i of the whole dimension
/// has coordinate (i % period) / (period / parts).
struct Cut {
  static constexpr const char *title = "Cut";
  std::string axis;
  int64_t parts = 1;
  int64_t period = 1;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("axis", self.axis, "an axis of the mesh");
    f("parts", self.parts, "its size, more than 1", [&](const auto &program) {
      int64_t size = program.plan.axisSize(self.axis);
      return Limits{size > 1 ? size : 2, size};
    });
    f("period", self.period,
      "index i of the whole dimension belongs to coordinate (i mod `period`) / "
      "(`period` / `parts`)",
      positive);
  }
};

/// Which part of a parameter each rank has. geometry/tile.h computes with it.
struct ParameterTile {
  static constexpr const char *title = "Tile";
  std::vector<int64_t> globalShape;
  std::vector<std::vector<Cut>> cuts; ///< by dimension

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("global_shape", self.globalShape, "that of the whole parameter",
      sizes(1));
    f("cuts", self.cuts,
      "those of each dimension, outermost first. The first period divides "
      "the dimension, every other one the `period` / `parts` of the cut before "
      "it");
  }
};

struct Parameter {
  static constexpr const char *title = "Parameter";
  std::string name;
  std::vector<std::string> aliases; ///< its other names in files
  std::vector<int64_t> shape;       ///< on a rank
  ElementType type = ElementType::f32;
  ElementType gradientType = ElementType::f32;
  bool trained = false, decayed = false;
  std::optional<double> lrScale, decayScale;
  Initializer init;
  std::vector<int64_t> places; ///< places that hold it; the first is the owner
  std::optional<ParameterTile> tile; ///< set if axes of the mesh cut it

  // The whole parameter:
  const std::vector<int64_t> &globalShape() const {
    return tile ? tile->globalShape : shape;
  }
  int64_t globalElements() const { return elementCount(globalShape()); }
  int64_t globalBytes() const { return globalElements() * byteSize(type); }
  /// Returns the axes that cut it, by dimension.
  std::vector<std::string> cutAxes() const {
    std::vector<std::string> axes;
    if (tile)
      for (const std::vector<Cut> &dimension : tile->cuts)
        for (const Cut &cut : dimension)
          axes.push_back(cut.axis);
    return axes;
  }
  // On a rank:
  int64_t elements() const { return elementCount(shape); }
  int64_t bytes() const { return elements() * byteSize(type); }
  int64_t gradientBytes() const { return elements() * byteSize(gradientType); }

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("name", self.name, "its name");
    f.optional("aliases", self.aliases,
               "more names of it in files of parameters: `--export` writes it "
               "under each of them, `--init` takes any");
    f("shape", self.shape, "that of a rank's tile, row-major", sizes(1));
    f("type", self.type, "of its elements");
    f("gradient_type", self.gradientType, "f32 if `type` is bf16, else `type`");
    f("trained", self.trained, "it is neither frozen nor a state");
    f("decayed", self.decayed, "weight decay applies to it");
    f.optional("lr_scale", self.lrScale,
               "factor of the learning rate, if it is not 1");
    f.optional("decay_scale", self.decayScale,
               "factor of the weight decay, if it is neither 0 nor 1");
    f("init", self.init, "its initial values. States start at zero");
    f("places", self.places,
      "hold a copy each; the first is the owner, whose copy is exported",
      indexOf(List::places));
    f.optional("tile", self.tile,
               "if axes of the mesh cut it: which part each rank has");
  }
};

/// A tensor that steps neither read nor change, and that is exported.
struct PersistentBuffer {
  static constexpr const char *title = "Persistent buffer";
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("name", self.name, "its name");
    f("dtype", self.dtype, "of its elements, as safetensors files spell it");
    f("shape", self.shape, "row-major", sizes(0));
  }
};

} // namespace ppopt::schema

#endif // PPOPT_RUNTIME_SCHEMA_TENSORS_H
