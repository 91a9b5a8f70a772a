//===- why_unfit.cpp - Whether fields fit together ------------------------===//

#include "schema/program.h"

#include <algorithm>

namespace ppopt::schema {

std::string whyUnfit(const Plan &plan) {
  int64_t ranks = 1;
  for (const MeshAxis &axis : plan.mesh)
    if ((ranks *= axis.size) > mostRanks)
      return "the mesh has more than " + std::to_string(mostRanks) + " ranks";
  return plan.getMesh().check();
}

static std::string whyWithoutRows(const RowTensor &tensor) {
  return tensor.shape.empty() ? "there is no batch among its dimensions" : "";
}

std::string whyUnfit(const Output &output) { return whyWithoutRows(output); }

std::string whyUnfit(const Input &input) {
  const std::vector<int64_t> &shape = input.shape;
  if (std::string why = whyWithoutRows(input); !why.empty())
    return why;
  for (const IndexedPart &part : input.parts) {
    if (input.type != ElementType::i32 && input.type != ElementType::i64)
      return "its values are ids, and neither i32 nor i64";
    bool fits = part.begin.size() == shape.size() - 1 &&
                part.end.size() == shape.size() - 1;
    for (size_t dim = 0; fits && dim < part.end.size(); ++dim)
      fits = part.begin[dim] < part.end[dim] && part.end[dim] <= shape[dim + 1];
    if (!fits)
      return "one of its ranges is not a part of a row";
  }
  return "";
}

std::string whyUnfit(const Parameter &parameter) {
  const std::vector<int64_t> &shape = parameter.shape;
  const std::optional<ParameterTile> &tile = parameter.tile;
  if (parameter.places.empty())
    return "no place holds it";
  if (!tile)
    return "";
  size_t dims = shape.size();
  if (tile->globalShape.size() != dims || tile->cuts.size() != dims)
    return "its tile has other dimensions than its shape";
  std::vector<std::string> axes = parameter.cutAxes();
  for (auto axis = axes.begin(); axis != axes.end(); ++axis) {
    if (geometry::useOf(*axis) == geometry::AxisUse::Places)
      return "its tile is cut by " + *axis + ", whose coordinates are places";
    if (std::find(axes.begin(), axis, *axis) != axis)
      return "its tile is cut by " + *axis + " twice";
  }
  for (size_t dim = 0; dim < dims; ++dim) {
    int64_t extent = tile->globalShape[dim], local = extent;
    for (const Cut &cut : tile->cuts[dim]) {
      if (extent % cut.period != 0 || cut.period % cut.parts != 0)
        return "its tile is cut into " + std::to_string(cut.parts) +
               " parts of each " + std::to_string(cut.period) + " of " +
               std::to_string(extent) + ", which do not divide";
      extent = cut.period / cut.parts;
      local /= cut.parts;
    }
    if (local != shape[dim])
      return "its tile has " + std::to_string(local) + " in dimension " +
             std::to_string(dim) + ", and its shape " +
             std::to_string(shape[dim]);
  }
  return "";
}

} // namespace ppopt::schema
