// Rows of the memory-bound kernels, as a training step calls them: with the statistics that it asks for.
#include <algorithm>
#include <map>

#include "src/base/error.h"
#include "tests/benchmark/gpu/cases.h"
#include "tests/benchmark/gpu/copy.h"

namespace octet::bench {
namespace {

StatsOut stats_of(Case& c) {
  return {.amax = c.values(0.0f), .non_finite = static_cast<std::uint32_t*>(c.zeros(4))};
}

/// Places for the 8-bit forms of a tensor of n elements where the row wants them written ("writes": "float8"), as
/// recipe delayed does, whose scale is there before.
Float8Out float8_of(Case& c, const Row& row, std::int64_t n, DType format, bool transposed) {
  if (!row.contains("writes")) return {};
  if (row.at("writes") != "float8") throw usage_error("benchmark", "writes: expected float8");
  return {
      .y = c.output(n), .y_transposed = transposed ? c.output(n) : nullptr, .format = format, .scale = c.values(64.0f)};
}

/// Memory of a kernel that wants some in this version of its interface, and nothing where it does not.
template <typename Arguments, typename Bytes>
void give_workspace(Case& c, Arguments& args, Bytes bytes) {
  if constexpr (requires { args.workspace; }) {
    args.workspace = static_cast<decltype(args.workspace)>(c.output(bytes(c.place().kernels)));
  }
}

/// "n" bytes, the measure of the others: the device's own copy, launched as a training step does and in a graph, where
/// another engine may do it, and a kernel. Moves 2 n.
void copy(Case& c, const Row& row) {
  const std::int64_t n = row.at("n");
  const void* from = c.random(DType::f32, n / 4);
  void* to = c.output(n);
  const std::function<void()> device_copy = [p = c.place(), from, to, n] {
    p.stream.device().copy(to, from, n, p.stream);
  };
  if (c.place().stream.native() == nullptr) return c.set(device_copy);
  c.add({.name = "cudaMemcpyAsync", .launch = device_copy, .in_graph = false});
  c.add({.name = "cudaMemcpyAsync in a graph", .launch = device_copy});
  c.add({.name = "kernel", .launch = [p = c.place(), from, to, n] { copy_by_kernel(to, from, n, p.stream); }});
}

void stats(Case& c, const Row& row) {
  const std::int64_t n = row.at("n");
  const Stats args{.x = c.random(DType::bf16, n), .dtype = DType::bf16, .n = n, .out = stats_of(c)};
  c.set([p = c.place(), args] { p.kernels.stats(p.stream, args); });
}

void cast(Case& c, const Row& row) {
  const std::int64_t rows = row.at("rows"), columns = row.at("columns"), n = rows * columns;
  CastToFloat8 args{.from = dtype_named(row.at("from")), .to = dtype_named(row.at("to")), .n = n, .columns = columns};
  args.x = c.random(args.from, n);
  args.y = c.output(n);
  if (row.at("transposed").get<bool>()) args.y_transposed = c.output(n);
  // As in recipe tensorwise: of weights the scales are there before, other casts form them from the abs-max. In recipe
  // delayed they are there, and what no producer has measured is measured here ("how": "measures"). Of a norm's output
  // that has no place ("how": "normed") the cast reads what it was made of.
  const std::string how = row.value("how", std::string{});
  const bool measures = how == "measures";
  if (how == "normed") {
    args.row_factor = c.values(1.0f, rows);
    args.column_factor = c.random(args.from, columns);
  }
  if (args.from == DType::f32 || measures) {
    args.scale = c.values(64.0f);
    if (measures) args.stats = stats_of(c);
  } else {
    args.amax = c.values(7.0f);
    args.scale_out = c.output<float>(1);
    args.inverse_scale_out = c.output<float>(1);
  }
  c.set([p = c.place(), args] { p.kernels.cast_to_float8(p.stream, args); });
}

/// "form": by row, by column (transposed, as Hopper's GEMM reads it) or both.
void quantize_rowwise(Case& c, const Row& row) {
  QuantizeRowwise args{.rows = row.at("rows"), .columns = row.at("columns"), .power_of_two = true};
  const std::int64_t n = args.rows * args.columns;
  args.x = c.random(DType::bf16, n);
  const auto form = [&](std::int64_t scales) {
    return RowwiseForm{.y = c.output(n), .scale = c.output<float>(scales), .inverse_scale = c.output<float>(scales)};
  };
  const std::string wanted = row.at("form");
  if (wanted != "column") args.by_row = form(args.rows);
  if (wanted != "row") args.by_column = form(args.columns);
  args.column_transposed = true;
  c.set([p = c.place(), args] { p.kernels.quantize_rowwise(p.stream, args); });
}

/// "form": by row, by column (transposed) or both.
void quantize_vectors(Case& c, const Row& row) {
  QuantizeVectors args{.rows = row.at("rows"), .columns = row.at("columns"), .power_of_two = true};
  const std::int64_t n = args.rows * args.columns;
  args.x = c.random(DType::bf16, n);
  const auto form = [&] { return BlockwiseForm{.y = c.output(n), .inverse_scale = c.output<float>(n / scale_block)}; };
  const std::string wanted = row.at("form");
  if (wanted != "column") args.by_row = form();
  if (wanted != "row") args.by_column = form();
  args.column_transposed = true;
  c.set([p = c.place(), args] { p.kernels.quantize_vectors(p.stream, args); });
}

/// "form": as stored ("row"), transposed ("column") or both.
void quantize_blocks(Case& c, const Row& row) {
  QuantizeBlocks args{.rows = row.at("rows"), .columns = row.at("columns"), .power_of_two = true};
  const std::int64_t n = args.rows * args.columns;
  args.x = c.random(DType::bf16, n);
  const std::string wanted = row.at("form");
  if (wanted != "column") {
    args.y = c.output(n);
    args.inverse_scale_by_row = c.output<float>(scale_count(ScaleForm::blocks, args.rows, args.columns));
  }
  if (wanted != "row") {
    args.y_transposed = c.output(n);
    args.inverse_scale_by_column = c.output<float>(scale_count(ScaleForm::blocks, args.columns, args.rows));
  }
  c.set([p = c.place(), args] { p.kernels.quantize_blocks(p.stream, args); });
}

/// "n" casts of a model: what recipe delayed does after each forward and backward pass.
void record_amax(Case& c, const Row& row) {
  RecordAmax args{.n = row.at("n")};
  args.amax = c.values(1.0f, args.n);
  args.recorded = static_cast<float*>(c.zeros(4 * args.n));
  c.set([p = c.place(), args] { p.kernels.record_amax(p.stream, args); });
}

/// "n" casts and "length" steps of history: what it does once a step. The first launch takes what was recorded and
/// leaves zeros there, as of tensors that were not used: so each launch is given its own, by record_amax.
void delayed_scales(Case& c, const Row& row) {
  DelayedScales args{.n = row.at("n"), .length = row.at("length")};
  RecordAmax record{.amax = c.values(1.0f, args.n), .recorded = static_cast<float*>(c.zeros(4 * args.n)), .n = args.n};
  args.recorded = record.recorded;
  args.history = static_cast<float*>(c.zeros(4 * args.n * args.length));
  args.scale = c.values(1.0f, args.n);
  args.inverse_scale = c.values(1.0f, args.n * inverse_scale_stride);
  args.e5m2_from = args.n * 11 / 18;  // of a block's 18 casts 4 are of inputs, 7 of weights and 7 of gradients
  c.set([p = c.place(), args, record] {
    p.kernels.record_amax(p.stream, record);
    p.kernels.delayed_scales(p.stream, args);
  });
}

void transpose(Case& c, const Row& row) {
  TransposeFloat8 args{.rows = row.at("rows"), .columns = row.at("columns")};
  args.x = c.random(DType::e4m3, args.rows * args.columns);
  args.y = c.output(args.rows * args.columns);
  c.set([p = c.place(), args] { p.kernels.transpose_float8(p.stream, args); });
}

void convert(Case& c, const Row& row) {
  Convert args{.from = DType::f32, .to = DType::bf16, .n = row.at("n")};
  args.x = c.random(DType::f32, args.n);
  args.y = c.output(2 * args.n);
  c.set([p = c.place(), args] { p.kernels.convert(p.stream, args); });
}

/// "how": "measures" takes the output's abs-max alone.
void add_rmsnorm(Case& c, const Row& row) {
  AddRmsNormForward args;
  args.dtype = DType::bf16;
  args.rows = row.at("rows");
  args.dim = row.at("columns");
  const std::int64_t n = args.rows * args.dim;
  args.residual = c.random(DType::bf16, n);
  args.branch = c.random(DType::bf16, n);
  args.weight = c.random(DType::bf16, args.dim);
  args.sum = c.output(2 * n);
  args.float8 = float8_of(c, row, n, DType::e4m3, false);
  if (!args.float8.wanted() && !row.contains("how")) args.y = c.output(2 * n);
  args.inverse_rms = c.output<float>(args.rows);
  args.stats = stats_of(c);
  c.set([p = c.place(), args] { p.kernels.add_rmsnorm_forward(p.stream, args); });
}

void rmsnorm_backward(Case& c, const Row& row) {
  RmsNormBackward args;
  args.dtype = DType::bf16;
  args.rows = row.at("rows");
  args.dim = row.at("columns");
  const std::int64_t n = args.rows * args.dim;
  args.dy = c.random(DType::bf16, n);
  args.x = c.random(DType::bf16, n);
  args.weight = c.random(DType::bf16, args.dim);
  args.inverse_rms = c.random<float>(args.rows);
  args.d_residual = c.random(DType::bf16, n);
  args.dx = c.output(2 * n);
  args.float8 = float8_of(c, row, n, DType::e5m2, false);
  args.d_weight = c.output<float>(args.dim);
  args.stats = stats_of(c);
  args.workspace = c.output(c.place().kernels.rmsnorm_backward_workspace(args));
  c.set([p = c.place(), args] { p.kernels.rmsnorm_backward(p.stream, args); });
}

void rope(Case& c, const Row& row) {
  Rope args;
  args.dtype = DType::bf16;
  args.batch = 1;
  args.seq = row.at("seq");
  args.head_dim = row.at("head_dim");
  const auto heads = [&](std::int64_t count) -> RopeHeads {
    const std::int64_t n = args.seq * count * args.head_dim;
    return {.x = c.random(DType::bf16, n),
            .count = count,
            .stats = stats_of(c),
            .float8 = float8_of(c, row, n, DType::e5m2, true)};
  };
  args.q = heads(row.at("heads"));
  args.k = heads(row.at("kv_heads"));
  // A rotation by one angle: in place and many times over, values must keep their size.
  const std::vector<float> cosine(static_cast<std::size_t>(args.seq * args.head_dim / 2), 0.6f);
  const std::vector<float> sine(cosine.size(), 0.8f);
  const auto upload = [&](const std::vector<float>& values) {
    const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(float));
    auto* data = static_cast<float*>(c.output(bytes));
    c.place().stream.device().copy_from_host(data, values.data(), bytes, c.place().stream);
    return data;
  };
  args.cos = upload(cosine);
  args.sin = upload(sine);
  c.place().stream.synchronize();
  c.set([p = c.place(), args] { p.kernels.rope(p.stream, args); });
}

/// "n", or "rows" and "columns".
std::int64_t elements(const Row& row) {
  if (row.contains("n")) return row.at("n");
  return row.at("rows").get<std::int64_t>() * row.at("columns").get<std::int64_t>();
}

void swiglu_forward(Case& c, const Row& row) {
  SwigluForward args;
  args.dtype = DType::bf16;
  args.n = elements(row);
  args.columns = row.value("columns", std::int64_t{0});
  args.gate = c.random(DType::bf16, args.n);
  args.up = c.random(DType::bf16, args.n);
  args.float8 = float8_of(c, row, args.n, DType::e4m3, true);
  if (!args.float8.wanted()) args.y = c.output(2 * args.n);
  args.stats = stats_of(c);
  c.set([p = c.place(), args] { p.kernels.swiglu_forward(p.stream, args); });
}

/// "how": "twice" takes the abs-maxes alone, and then writes 8 bits, as recipe tensorwise does.
void swiglu_backward(Case& c, const Row& row) {
  SwigluBackward args;
  args.dtype = DType::bf16;
  args.n = elements(row);
  args.columns = row.value("columns", std::int64_t{0});
  args.gate = c.random(DType::bf16, args.n);
  args.up = c.random(DType::bf16, args.n);
  args.dy = c.random(DType::bf16, args.n);
  args.gate_float8 = float8_of(c, row, args.n, DType::e5m2, true);
  args.up_float8 = float8_of(c, row, args.n, DType::e5m2, true);
  if (!args.gate_float8.wanted()) {
    args.d_gate = c.output(2 * args.n);
    args.d_up = c.output(2 * args.n);
  }
  args.gate_stats = stats_of(c);
  args.up_stats = stats_of(c);
  if (!row.contains("how")) {
    c.set([p = c.place(), args] { p.kernels.swiglu_backward(p.stream, args); });
    return;
  }
  SwigluBackward measures = args;
  measures.gate_float8 = measures.up_float8 = {};
  args.gate_stats = args.up_stats = {};
  c.set([p = c.place(), measures, args] {
    p.kernels.swiglu_backward(p.stream, measures);
    p.kernels.swiglu_backward(p.stream, args);
  });
}

void embedding_forward(Case& c, const Row& row) {
  EmbeddingForward args{.dtype = DType::bf16, .n = row.at("rows"), .vocab = row.at("vocab"), .dim = row.at("columns")};
  args.tokens = static_cast<const std::int32_t*>(c.random(DType::i32, args.n, args.vocab));
  args.table = c.random(DType::bf16, args.vocab * args.dim);
  args.out = c.output(2 * args.n * args.dim);
  c.set([p = c.place(), args] { p.kernels.embedding_forward(p.stream, args); });
}

void embedding_backward(Case& c, const Row& row) {
  EmbeddingBackward args{.dtype = DType::bf16, .n = row.at("rows"), .vocab = row.at("vocab"), .dim = row.at("columns")};
  args.tokens = static_cast<const std::int32_t*>(c.random(DType::i32, args.n, args.vocab));
  args.d_out = c.random(DType::bf16, args.n * args.dim);
  args.d_table = static_cast<float*>(c.zeros(4 * args.vocab * args.dim));
  args.accumulate = row.at("how") == "add";  // else "first": the first micro-batch's, which zeroes the table
  give_workspace(c, args, [&](const auto& kernels) { return kernels.embedding_backward_workspace(args); });
  c.set([p = c.place(), args] { p.kernels.embedding_backward(p.stream, args); });
}

void cross_entropy(Case& c, const Row& row) {
  CrossEntropy args{.d_dtype = DType::bf16, .rows = row.at("rows"), .vocab = row.at("vocab"), .scale = 1e-4f};
  args.logits = c.random<float>(args.rows * args.vocab);
  args.targets = static_cast<const std::int32_t*>(c.random(DType::i32, args.rows, args.vocab));
  args.losses = c.output<float>(args.rows);
  args.d_logits = c.output(2 * args.rows * args.vocab);
  c.set([p = c.place(), args] { p.kernels.cross_entropy(p.stream, args); });
}

/// "gradient": bf16, of the weights'; without the key fp32.
DType gradient_of(const Row& row) {
  return row.contains("gradient") ? dtype_named(row.at("gradient")) : DType::f32;
}

void adamw(Case& c, const Row& row) {
  AdamWUpdate args;
  args.n = row.at("n");
  args.lr = 1e-5;
  args.beta1 = 0.9;
  args.beta2 = 0.95;
  args.eps = 1e-8;
  args.weight_decay = 0.1;
  args.bias1 = args.bias2 = 0.5;
  args.parameter = c.random<float>(args.n);
  args.first_moment = static_cast<float*>(c.zeros(4 * args.n));
  args.second_moment = static_cast<float*>(c.zeros(4 * args.n));
  args.gradient_dtype = gradient_of(row);
  args.gradient = c.random(args.gradient_dtype, args.n);
  args.gradient_scale = c.values(1.0f);
  args.skip = static_cast<const std::uint32_t*>(c.zeros(4));
  if (row.value("rounded", false)) args.rounded = c.output(2 * args.n);
  if (row.value("float8", false)) args.float8 = {.y = c.output(args.n), .scale = c.values(1.0f)};
  args.stats = {.amax = c.values(0.0f)};
  args.multiprocessors = row.value("multiprocessors", 0);
  c.set([p = c.place(), args] { p.kernels.adamw(p.stream, args); });
}

void sum_of_squares(Case& c, const Row& row) {
  SumOfSquares args{.dtype = gradient_of(row), .n = row.at("n")};
  args.x = c.random(args.dtype, args.n);
  args.out = c.output<float>(1);
  args.non_finite = static_cast<std::uint32_t*>(c.zeros(4));
  args.workspace = c.zeros(c.place().kernels.sum_of_squares_workspace(args));
  c.set([p = c.place(), args] { p.kernels.sum_of_squares(p.stream, args); });
}

void accumulate(Case& c, const Row& row) {
  Accumulate args{.n = row.at("n")};
  args.x = static_cast<const float*>(c.zeros(4 * args.n));  // added many times over
  args.y = c.random<float>(args.n);
  c.set([p = c.place(), args] { p.kernels.accumulate(p.stream, args); });
}

void fill_normal(Case& c, const Row& row) {
  FillNormal args{.n = row.at("n"), .columns = 4096, .row_elements = 4096, .std = 0.02, .below = below_cutoff(3.0)};
  args.x = c.output<float>(args.n);
  c.set([p = c.place(), args] { p.kernels.fill_normal(p.stream, args); });
}

const std::map<std::string, MakeCase>& cases() {
  static const std::map<std::string, MakeCase> table{
      {"copy", copy},
      {"stats", stats},
      {"cast", cast},
      {"transpose", transpose},
      {"quantize_rowwise", quantize_rowwise},
      {"quantize_vectors", quantize_vectors},
      {"quantize_blocks", quantize_blocks},
      {"record_amax", record_amax},
      {"delayed_scales", delayed_scales},
      {"convert", convert},
      {"add_rmsnorm", add_rmsnorm},
      {"rmsnorm_backward", rmsnorm_backward},
      {"rope", rope},
      {"swiglu_forward", swiglu_forward},
      {"swiglu_backward", swiglu_backward},
      {"embedding_forward", embedding_forward},
      {"embedding_backward", embedding_backward},
      {"cross_entropy", cross_entropy},
      {"adamw", adamw},
      {"sum_of_squares", sum_of_squares},
      {"accumulate", accumulate},
      {"fill_normal", fill_normal},
      {"gemm", make_gemm},
      {"gemm_ways", make_gemm_ways},
      {"attention_forward", make_attention_forward},
      {"attention_backward", make_attention_backward},
  };
  return table;
}

}  // namespace

std::vector<std::string> known_ops() {
  std::vector<std::string> names;
  for (const auto& [name, make] : cases()) names.push_back(name);
  return names;
}

MakeCase case_of(const std::string& op) {
  const auto found = cases().find(op);
  if (found == cases().end()) {
    throw usage_error("benchmark", "op {}: expected one of {}", op, fmt::join(known_ops(), ", "));
  }
  return found->second;
}

}  // namespace octet::bench
