//===- BuildRecurrent.cpp - LSTM, GRU and RNN, unrolled over time ---------===//
//
// The projections of all steps of a layer are one matmul; each step adds that
// of its state.
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

using Results = std::vector<Value>;

/// A longer sequence would make too large a program.
static constexpr int64_t kMostSteps = 512;

namespace {
enum class Cell { Lstm, Gru, RnnTanh, RnnRelu };

/// Of one layer in one direction. A bias is null if there is none.
struct Weights {
  Value input, hidden, inputBias, hiddenBias;
};

/// Of a cell between two steps, [N, H]; null: zeros.
struct State {
  Value hidden, cell;
};

/// What a layer computes in one direction.
struct Sequence {
  SmallVector<Value> outputs; ///< by step, [N, H]
  State last;
};

/// The arguments of the call.
struct Recurrence {
  Cell cell;
  int64_t layers, directions;
  double dropout; ///< 0 in evaluation
  bool isBatchFirst;
};
} // namespace

static Cell readCell(StringRef op) {
  return op.starts_with("aten.lstm")       ? Cell::Lstm
         : op.starts_with("aten.gru")      ? Cell::Gru
         : op.starts_with("aten.rnn_relu") ? Cell::RnnRelu
                                           : Cell::RnnTanh;
}

static int64_t countGates(Cell cell) {
  return cell == Cell::Lstm ? 4 : cell == Cell::Gru ? 3 : 1;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static Value addOptional(Emitter &emit, Value a, Value b) {
  return a && b ? emit.add(a, b) : a ? a : b;
}

/// Gate `number` of gates that lie one after the other in the last dimension.
static Value gate(Emitter &emit, Value gates, int64_t number, int64_t count) {
  int64_t last = Emitter::rankOf(gates) - 1;
  int64_t size = Emitter::shapeOf(gates)[last] / count;
  return emit.sliceDim(gates, last, number * size, size);
}

static Value sigmoid(Emitter &emit, Value x) { return emit.make<SigmoidOp>(x); }

/// c = f c + i g, h = o tanh(c); gates are i, f, g, o.
static State stepLstm(Emitter &emit, Value gates, State state) {
  Value in = sigmoid(emit, gate(emit, gates, 0, 4));
  Value forget = sigmoid(emit, gate(emit, gates, 1, 4));
  Value next = emit.make<TanhOp>(gate(emit, gates, 2, 4));
  Value out = sigmoid(emit, gate(emit, gates, 3, 4));
  Value cell = emit.mul(in, next);
  if (state.cell)
    cell = emit.add(emit.mul(forget, state.cell), cell);
  return {emit.mul(out, emit.make<TanhOp>(cell)), cell};
}

/// n = tanh(x_n + r h_n), h = (1 - z) n + z h; gates are r, z, n. `fromHidden`
/// has the hidden bias, and is null if it would be 0.
static State stepGru(Emitter &emit, Value fromInput, Value fromHidden,
                     State state) {
  auto both = [&](int64_t number) {
    Value x = gate(emit, fromInput, number, 3);
    return fromHidden ? emit.add(x, gate(emit, fromHidden, number, 3)) : x;
  };
  Value reset = sigmoid(emit, both(0)), update = sigmoid(emit, both(1));
  Value next = gate(emit, fromInput, 2, 3);
  if (fromHidden)
    next = emit.add(next, emit.mul(reset, gate(emit, fromHidden, 2, 3)));
  next = emit.make<TanhOp>(next);
  Value one = emit.number(Emitter::typeOf(update), 1);
  Value hidden = emit.mul(emit.sub(one, update), next);
  if (state.hidden)
    hidden = emit.add(hidden, emit.mul(update, state.hidden));
  return {hidden, nullptr};
}

/// The next state from the step's projection of its input, [N, gates × H].
static State step(Emitter &emit, Cell cell, Value fromInput,
                  const Weights &weights, State state) {
  Value fromHidden;
  if (state.hidden)
    fromHidden = emit.make<MatmulOp>(state.hidden, weights.hidden,
                                     /*transpose_lhs=*/false,
                                     /*transpose_rhs=*/true);
  // The hidden bias of a GRU is multiplied with its reset gate.
  if (cell == Cell::Gru)
    return stepGru(emit, fromInput,
                   addOptional(emit, fromHidden, weights.hiddenBias), state);
  Value gates = addOptional(emit, fromInput, fromHidden);
  if (cell == Cell::Lstm)
    return stepLstm(emit, gates, state);
  return {cell == Cell::RnnRelu ? emit.make<ReluOp>(gates)
                                : emit.make<TanhOp>(gates),
          nullptr};
}

/// What the gates have of the input: of all steps, or of one.
static Value project(Emitter &emit, Cell cell, Value x,
                     const Weights &weights) {
  Value gates = emit.make<MatmulOp>(x, weights.input, /*transpose_lhs=*/false,
                                    /*transpose_rhs=*/true);
  Value bias = weights.inputBias;
  if (cell != Cell::Gru)
    bias = addOptional(emit, bias, weights.hiddenBias);
  return addOptional(emit, gates, bias);
}

/// One layer over x [N, T, …] in one direction.
static Sequence runLayer(Emitter &emit, Cell cell, Value x,
                         const Weights &weights, State state, bool isReverse) {
  Value all = project(emit, cell, x, weights);
  ArrayRef<int64_t> shape = Emitter::shapeOf(all);
  int64_t rows = shape[0], steps = shape[1], width = shape[2];
  Sequence sequence{SmallVector<Value>(steps), state};
  for (int64_t i = 0; i < steps; ++i) {
    int64_t at = isReverse ? steps - 1 - i : i;
    Value now = emit.reshape(emit.sliceDim(all, 1, at, 1), {rows, width});
    sequence.last = step(emit, cell, now, weights, sequence.last);
    sequence.outputs[at] = sequence.last.hidden;
  }
  return sequence;
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// Inserts a dimension of size 1.
static Value unsqueeze(Emitter &emit, Value value, int64_t dim) {
  Shape shape(Emitter::shapeOf(value));
  shape.insert(shape.begin() + dim, 1);
  return emit.reshape(value, shape);
}

/// State `number` of [layers × directions, N, H]; null for constant zeros.
static Value readState(Emitter &emit, const Tensor &states, int64_t number) {
  auto isZero = [](const HostTensor &tensor) {
    HostTensor distinct = tensor.collapse();
    return distinct.getElements() == 1 &&
           distinct.getReal(Shape(distinct.getRank(), 0)) == 0;
  };
  if (states.constant && isZero(*states.constant))
    return nullptr;
  Value one = emit.sliceDim(emit.value(states), 0, number, 1);
  return emit.reshape(one, {states.shape[1], states.shape[2]});
}

static Recurrence readRecurrence(OpCall &call) {
  Recurrence net;
  net.cell = readCell(call.getOp());
  net.layers = call.integer("num_layers");
  net.directions = call.flag("bidirectional", false) ? 2 : 1;
  net.dropout = call.number("dropout", 0);
  if (!call.flag("train", false))
    net.dropout = 0;
  net.isBatchFirst = call.flag("batch_first", false);
  const Tensor &input = call.tensor("input");
  if (input.getRank() != 3) {
    call.fail("has an input of " + Twine(input.getRank()) +
              " dimensions; it needs batch, time and features");
    return net;
  }
  int64_t steps = input.shape[net.isBatchFirst ? 1 : 0];
  if (steps < 1 || steps > kMostSteps)
    call.fail("has " + Twine(steps) +
              " steps, and a recurrent layer is "
              "unrolled up to " +
              Twine(kMostSteps) + "; cut the sequence");
  constexpr int64_t mostLayers = 1024;
  if (net.layers < 1 || net.layers > mostLayers ||
      !(net.dropout >= 0 && net.dropout < 1))
    call.fail("has " + Twine(net.layers) + " layers and a dropout of " +
              std::to_string(net.dropout));
  return net;
}

/// The initial states: one list for LSTM, else one tensor.
static std::vector<const Tensor *> readStates(OpCall &call,
                                              const Recurrence &net) {
  std::vector<const Tensor *> states =
      net.cell == Cell::Lstm ? call.tensors("hx")
                             : std::vector<const Tensor *>{&call.tensor("hx")};
  if (states.size() != (net.cell == Cell::Lstm ? 2 : 1))
    call.fail("has " + Twine(states.size()) + " initial states");
  for (const Tensor *state : states)
    if (state->getRank() != 3 || state->shape[0] != net.layers * net.directions)
      call.fail("has initial states of another shape than [layers × "
                "directions, batch, width]");
  return states;
}

static std::vector<Weights> readWeights(OpCall &call, Emitter &emit,
                                        const Recurrence &net) {
  std::vector<Weights> weights;
  std::vector<const Tensor *> params = call.tensors("params");
  bool hasBiases = call.flag("has_biases", true);
  size_t each = hasBiases ? 4 : 2;
  size_t count = net.layers * net.directions;
  if (params.size() != each * count) {
    call.fail("has " + Twine(params.size()) + " weights where " +
              Twine(each * count) +
              " are expected; projections (proj_size) are not supported");
    return weights;
  }
  int64_t gates = countGates(net.cell);
  for (size_t i = 0; i < params.size(); i += each) {
    const Shape &hidden = params[i + 1]->shape;
    if (params[i]->getRank() != 2 || hidden.size() != 2 ||
        hidden[0] != gates * hidden[1]) {
      call.fail("has weights that are not of its gates; projections "
                "(proj_size) are not supported");
      return weights;
    }
    Weights layer{emit.value(*params[i]), emit.value(*params[i + 1]), nullptr,
                  nullptr};
    if (hasBiases) {
      if (params[i + 2]->getRank() != 1 || params[i + 3]->getRank() != 1) {
        call.fail("has biases that are no vectors");
        return weights;
      }
      layer.inputBias = emit.value(*params[i + 2]);
      layer.hiddenBias = emit.value(*params[i + 3]);
    }
    weights.push_back(layer);
  }
  return weights;
}

/// lstm, gru, rnn_tanh and rnn_relu: output, h_n and c_n of an LSTM.
static Results buildRecurrent(OpCall &call, Emitter &emit) {
  Recurrence net = readRecurrence(call);
  if (call.failed())
    return {};
  std::vector<const Tensor *> states = readStates(call, net);
  std::vector<Weights> weights = readWeights(call, emit, net);
  if (call.failed())
    return {};

  Value x = emit.value(call.tensor("input"));
  if (!net.isBatchFirst)
    x = emit.transpose(x, {1, 0, 2});
  SmallVector<Value> hiddens, cells;
  for (int64_t layer = 0; layer < net.layers; ++layer) {
    SmallVector<Value> directions;
    for (int64_t direction = 0; direction < net.directions; ++direction) {
      int64_t number = layer * net.directions + direction;
      State state{readState(emit, *states[0], number), nullptr};
      if (net.cell == Cell::Lstm)
        state.cell = readState(emit, *states[1], number);
      Sequence sequence = runLayer(emit, net.cell, x, weights[number], state,
                                   /*isReverse=*/direction == 1);
      SmallVector<Value> steps;
      for (Value output : sequence.outputs)
        steps.push_back(unsqueeze(emit, output, 1));
      directions.push_back(emit.concat(steps, 1));
      hiddens.push_back(unsqueeze(emit, sequence.last.hidden, 0));
      if (net.cell == Cell::Lstm)
        cells.push_back(unsqueeze(emit, sequence.last.cell, 0));
    }
    x = emit.concat(directions, 2);
    if (net.dropout > 0 && layer + 1 < net.layers)
      x = emit.dropout(x, net.dropout);
  }
  Results results = {net.isBatchFirst ? x : emit.transpose(x, {1, 0, 2}),
                     emit.concat(hiddens, 0)};
  if (net.cell == Cell::Lstm)
    results.push_back(emit.concat(cells, 0));
  return results;
}

//===----------------------------------------------------------------------===//
// Single steps
//===----------------------------------------------------------------------===//

/// lstm_cell, gru_cell, rnn_tanh_cell and rnn_relu_cell of rows [N, …]: the
/// next states.
static Results buildCell(OpCall &call, Emitter &emit) {
  Cell cell = readCell(call.getOp());
  auto valueOf = [&](StringRef name) {
    return call.has(name) ? emit.value(call.tensor(name)) : Value();
  };
  std::vector<const Tensor *> states =
      cell == Cell::Lstm ? call.tensors("hx") : std::vector{&call.tensor("hx")};
  if (states.size() != (cell == Cell::Lstm ? 2 : 1))
    call.fail("has " + Twine(states.size()) + " states");
  for (const Tensor *state : states)
    if (state->getRank() != 2)
      call.fail("has states that are no [batch, width]");
  const Shape &hidden = call.tensor("w_hh").shape;
  if (hidden.size() != 2 || hidden[0] != countGates(cell) * hidden[1] ||
      call.tensor("input").getRank() != 2)
    call.fail("has weights that are not of its gates, or an input that is no "
              "[batch, features]");
  if (call.failed())
    return {};
  Weights weights{valueOf("w_ih"), valueOf("w_hh"), valueOf("b_ih"),
                  valueOf("b_hh")};
  State state{emit.value(*states[0]),
              cell == Cell::Lstm ? emit.value(*states[1]) : Value()};
  State next = step(emit, cell, project(emit, cell, valueOf("input"), weights),
                    weights, state);
  if (cell == Cell::Lstm)
    return {next.hidden, next.cell};
  return {next.hidden};
}

ArrayRef<OpRow> pt2::recurrentRows() {
  static constexpr StringRef kRefused =
      "more than 512 steps, dropout of 1, packed sequences";
  static constexpr StringRef kRefusedLstm =
      "more than 512 steps, dropout of 1, packed sequences, proj_size";
  static const OpRow rows[] = {
      {"aten.lstm.input", &buildRecurrent, kRefusedLstm},
      {"aten.gru.input", &buildRecurrent, kRefused},
      {"aten.rnn_tanh.input", &buildRecurrent, kRefused},
      {"aten.rnn_relu.input", &buildRecurrent, kRefused},
      {"aten.lstm_cell.default", &buildCell},
      {"aten.gru_cell.default", &buildCell},
      {"aten.rnn_tanh_cell.default", &buildCell},
      {"aten.rnn_relu_cell.default", &buildCell},
  };
  return rows;
}
