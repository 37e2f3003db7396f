#include <zlib.h>

#include <algorithm>
#include <vector>

#include "src/base/error.h"
#include "src/corpus/byte_stream.h"

namespace octet {
namespace {

class GzipStream final : public ByteStream {
 public:
  explicit GzipStream(const std::string& path) : path_(path), file_(open_plain(path)), input_(std::size_t{256} << 10) {
    constexpr int only_gzip = 15 + 16;  // zlib's code for the largest window and gzip's header
    if (::inflateInit2(&state_, only_gzip) != Z_OK) throw internal_error("corpus", "zlib cannot start: no memory");
  }
  ~GzipStream() override { ::inflateEnd(&state_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  std::size_t read(std::span<char> out) override {
    state_.next_out = reinterpret_cast<Bytef*>(out.data());
    state_.avail_out = static_cast<uInt>(out.size());
    while (state_.avail_out > 0 && fill() && next_member()) {
      const int result = ::inflate(&state_, Z_NO_FLUSH);
      member_ended_ = result == Z_STREAM_END;
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
        throw usage_error("corpus", "{}: broken gzip data near byte {}: {}", path_, used(),
                          state_.msg == nullptr ? "no gzip header" : state_.msg);
      }
    }
    return out.size() - state_.avail_out;
  }
  std::int64_t used() const override { return file_->used() - state_.avail_in; }

 private:
  /// Reads more of the file where all input is used up; false at the end of the file.
  bool fill() {
    if (state_.avail_in > 0) return true;
    state_.avail_in = static_cast<uInt>(file_->read(input_));
    state_.next_in = reinterpret_cast<Bytef*>(input_.data());
    if (state_.avail_in > 0) return true;
    if (member_ended_) return false;
    throw usage_error("corpus", "{}: the gzip data end after {} bytes, before their end: the file is cut off", path_,
                      used());
  }

  /// Behind a member stands another one, or zeros that fill up a block of a tape.
  bool next_member() {
    if (!member_ended_) return true;
    while (state_.avail_in > 0 && *state_.next_in == 0) {
      ++state_.next_in;
      --state_.avail_in;
      if (state_.avail_in == 0 && !fill()) return false;
    }
    ::inflateReset(&state_);
    member_ended_ = false;
    return true;
  }

  std::string path_;
  std::unique_ptr<ByteStream> file_;
  std::vector<char> input_;
  z_stream state_{};
  bool member_ended_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> open_gzip(const std::string& path) {
  return std::make_unique<GzipStream>(path);
}

}  // namespace octet
