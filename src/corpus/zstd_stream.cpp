#include <zstd.h>

#include <vector>

#include "src/base/error.h"
#include "src/corpus/byte_stream.h"

namespace octet {
namespace {

class ZstdStream final : public ByteStream {
 public:
  explicit ZstdStream(const std::string& path)
      : path_(path), file_(open_plain(path)), buffer_(ZSTD_DStreamInSize()), state_(ZSTD_createDStream()) {
    if (state_ == nullptr) throw internal_error("corpus", "libzstd cannot start: no memory");
  }
  ~ZstdStream() override { ZSTD_freeDStream(state_); }
  ZstdStream(const ZstdStream&) = delete;
  ZstdStream& operator=(const ZstdStream&) = delete;

  std::size_t read(std::span<char> out) override {
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    while (to.pos < to.size) {
      const bool no_more = input_.pos == input_.size && !fill();
      if (no_more && frame_ended_) break;
      const std::size_t before = to.pos;
      const std::size_t result = ZSTD_decompressStream(state_, &to, &input_);
      if (ZSTD_isError(result) != 0) {
        throw usage_error("corpus", "{}: broken zstd data near byte {}: {}", path_, used(), ZSTD_getErrorName(result));
      }
      frame_ended_ = result == 0;
      if (no_more && to.pos == before) {  // nor has the library anything left
        throw usage_error("corpus", "{}: the zstd data end after {} bytes, before their end: the file is cut off",
                          path_, used());
      }
    }
    return to.pos;
  }
  std::int64_t used() const override { return file_->used() - static_cast<std::int64_t>(input_.size - input_.pos); }

 private:
  bool fill() {
    input_ = {buffer_.data(), file_->read(buffer_), 0};
    return input_.size > 0;
  }

  std::string path_;
  std::unique_ptr<ByteStream> file_;
  std::vector<char> buffer_;
  ZSTD_DStream* state_;
  ZSTD_inBuffer input_{nullptr, 0, 0};
  bool frame_ended_ = true;
};

}  // namespace

std::unique_ptr<ByteStream> open_zstd(const std::string& path) {
  return std::make_unique<ZstdStream>(path);
}

}  // namespace octet
