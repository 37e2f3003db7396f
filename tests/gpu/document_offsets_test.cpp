#include "kernels/cuda/attention/document_offsets.h"

#include "tests/gpu/gpu_test.h"

namespace octet::gpu_test {
namespace {

class GpuDocumentOffsets : public GpuTest {};

/// Also where there is no cuDNN, for which they are. 256 threads a block.
TEST_F(GpuDocumentOffsets, AreTheStartsTimesARow) {
  const AttentionShape shape{.batch = 1, .seq = 4096, .heads = 6, .kv_heads = 2, .head_dim = 40};
  for (const std::int32_t places : {1, 2, 255, 256, 700}) {
    SCOPED_TRACE(places);
    std::vector<std::int32_t> starts{0};
    for (std::int32_t i = 0; i < places; ++i) starts.push_back(starts.back() + i % 5 + 1);
    Both<std::int32_t> on_gpu(*gpu_stream, starts);
    auto space = Both<unsigned char>::output(*gpu_stream, cuda::DocumentOffsets::bytes(places));
    const PackedDocuments documents{.starts = on_gpu.gpu(), .places = places};
    const cuda::DocumentOffsets offsets(space.gpu(), shape, documents);
    offsets.make(*gpu_stream);
    const std::vector<unsigned char> bytes = space.download();
    const auto at = [&]<typename T>(T, std::size_t which, std::size_t i) {
      T value;
      const auto place = static_cast<const unsigned char*>(offsets.operands()[which]) - space.gpu();
      std::memcpy(&value, bytes.data() + place + i * sizeof(T), sizeof(T));
      return value;
    };
    for (std::size_t i = 0; i < starts.size(); ++i) {
      EXPECT_EQ(at(std::int64_t{}, 0, i), std::int64_t{starts[i]} * 6 * 40);
      EXPECT_EQ(at(std::int64_t{}, 1, i), std::int64_t{starts[i]} * 2 * 40);
      EXPECT_EQ(at(std::int64_t{}, 2, i), std::int64_t{starts[i]} * 6);
    }
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
      EXPECT_EQ(at(std::int32_t{}, 3, i), starts[i + 1] - starts[i]);
    }
  }
}

}  // namespace
}  // namespace octet::gpu_test
