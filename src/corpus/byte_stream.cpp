#include "src/corpus/byte_stream.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "src/base/error.h"
#include "src/base/files.h"

namespace octet {
namespace {

class PlainStream final : public ByteStream {
 public:
  PlainStream(const std::string& path, std::int64_t begin, std::int64_t end)
      : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), begin_(begin), at_(begin), end_(end) {
    if (!file_) throw not_read("corpus", path_);
    ::posix_fadvise(file_.get(), begin, 0, POSIX_FADV_SEQUENTIAL);
  }

  std::size_t read(std::span<char> out) override {
    std::size_t done = 0;
    const std::size_t wanted = std::min(out.size(), static_cast<std::size_t>(std::max<std::int64_t>(end_ - at_, 0)));
    while (done < wanted) {
      const ssize_t got = ::pread(file_.get(), out.data() + done, wanted - done, at_);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw not_read("corpus", path_);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
      at_ += got;
    }
    return done;
  }
  std::int64_t used() const override { return at_ - begin_; }

 private:
  std::string path_;
  FileHandle file_;
  std::int64_t begin_, at_, end_;
};

}  // namespace

std::unique_ptr<ByteStream> open_plain(const std::string& path, std::int64_t begin, std::int64_t end) {
  return std::make_unique<PlainStream>(path, begin, end);
}

std::unique_ptr<ByteStream> open_packed(const std::string& path, Packing packing) {
  switch (packing) {
    case Packing::none:
      return open_plain(path);
    case Packing::gzip:
      return open_gzip(path);
    case Packing::zstd:
      return open_zstd(path);
  }
  throw internal_error("corpus", "packing {}", static_cast<int>(packing));
}

}  // namespace octet
