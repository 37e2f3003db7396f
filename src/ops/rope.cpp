#include "src/ops/rope.h"

#include <cmath>

#include "src/ops/expect.h"

namespace octet {

RopeTable::RopeTable(Device& device, Stream& stream, std::int64_t seq, const std::vector<double>& frequencies)
    : cos(device, DType::f32, {seq, std::ssize(frequencies)}, Purpose::workspace),
      sin(device, DType::f32, {seq, std::ssize(frequencies)}, Purpose::workspace) {
  if (!device.has_memory()) return;
  const std::int64_t half = std::ssize(frequencies);
  std::vector<float> c(static_cast<std::size_t>(seq * half)), s(c.size());
  for (std::int64_t t = 0; t < seq; ++t) {
    for (std::int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(t) * frequencies[static_cast<std::size_t>(i)];
      c[static_cast<std::size_t>(t * half + i)] = static_cast<float>(std::cos(angle));
      s[static_cast<std::size_t>(t * half + i)] = static_cast<float>(std::sin(angle));
    }
  }
  device.copy_from_host(cos.view().data, c.data(), cos.view().bytes(), stream);
  device.copy_from_host(sin.view().data, s.data(), sin.view().bytes(), stream);
  stream.synchronize();
}

void rope(OpContext& op, const RopeTable& table, const Produced& q, const Produced& k, std::int64_t batch,
          RowDocuments documents, Rotation turn) {
  const Tensor& any = q.x.data == nullptr ? k.x : q.x;
  if (any.data == nullptr) return;
  const Expect expect{"rope"};
  expect.matrix(q.x.data == nullptr ? "k" : "q", any);
  const std::int64_t head_dim = 2 * table.cos.view().shape[1], seq = any.shape[0] / batch;
  const auto heads = [&](const char* what, const Produced& of) -> RopeHeads {
    if (of.x.data == nullptr) return {};
    const std::int64_t count = of.x.shape[1] / head_dim;
    expect.is(what, of.x, any.dtype, {batch * seq, count * head_dim});
    return {.x = of.x.data, .count = count, .stats = of.stats, .float8 = of.float8};
  };
  op.kernels.rope(op.stream, {.q = heads("q", q),
                              .k = heads("k", k),
                              .dtype = any.dtype,
                              .batch = batch,
                              .seq = seq,
                              .head_dim = head_dim,
                              .cos = table.cos.view().as<float>(),
                              .sin = table.sin.view().as<float>(),
                              .inverse = turn == Rotation::back,
                              .document_begin = documents.shared.origin != nullptr ? documents.shared.origin
                                                                                   : documents.packed.begin});
}

}  // namespace octet
