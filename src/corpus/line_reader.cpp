#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "src/corpus/chunk_reader.h"

namespace octet {
namespace {

class LineReader final : public ChunkReader {
 public:
  LineReader(const InputUnit& unit, const ReaderOptions& options) : unit_(unit), options_(options) {
    if (unit.format.packing != Packing::none) {
      stream_ = open_packed(unit.path, unit.format.packing);
      end_ = std::numeric_limits<std::int64_t>::max();
      return;
    }
    // The byte before tells whether a line begins with the unit.
    at_ = std::max<std::int64_t>(unit.begin - 1, 0);
    stream_ = open_plain(unit.path, at_);
    end_ = unit.end;
    skip_ = unit.begin > 0;
    begins_ = !skip_;
  }

  bool next(Chunk& chunk) override {
    chunk.records = Records::lines;
    chunk.resize(0);
    while (!finished_) {
      chunk.append(carried_);
      carried_.clear();
      const std::size_t size = grow_to_whole_lines(chunk);
      carried_.assign(chunk.text().substr(size));
      chunk.resize(size);
      at_ += static_cast<std::int64_t>(size);
      if (at_ >= end_) finished_ = true;
      if (skip_) skip(chunk.text().find('\n'), chunk);
      if (std::exchange(begins_, false) && chunk.text().starts_with("\xEF\xBB\xBF")) skip(2, chunk);
      if (chunk.size() > 0) return true;
    }
    return false;
  }

  std::int64_t used() const override {
    if (unit_.format.packing != Packing::none) return stream_->used();
    return std::clamp<std::int64_t>(at_ - unit_.begin, 0, unit_.end - unit_.begin);
  }

 private:
  /// Reads until a line ends; how many bytes are of lines that begin in the unit.
  std::size_t grow_to_whole_lines(Chunk& chunk) {
    std::size_t step = static_cast<std::size_t>(options_.chunk_bytes);
    for (;;) {
      const std::size_t before = chunk.size();
      chunk.resize(before + step);
      const std::size_t got = stream_->read({chunk.data() + before, step});
      chunk.resize(before + got);
      if (const std::size_t size = whole_lines(chunk.text()); size > 0) return size;
      const bool ended = got < step;
      if (ended || chunk.size() > static_cast<std::size_t>(options_.max_document)) {
        finished_ = true;
        return chunk.size();
      }
      step = chunk.size();  // twice as much, so that a long line is not searched many times
    }
  }

  /// The end of the last line, or of the last that begins before the unit's end; 0 where none ends.
  std::size_t whole_lines(std::string_view text) const {
    std::size_t last = std::string_view::npos;
    if (const std::int64_t left = end_ - at_; left <= static_cast<std::int64_t>(text.size())) {
      last = text.find('\n', static_cast<std::size_t>(std::max<std::int64_t>(left - 1, 0)));
    }
    if (last == std::string_view::npos) last = text.rfind('\n');
    return last == std::string_view::npos ? 0 : last + 1;
  }

  /// Removes the text up to the byte at `last`, and that byte; all of it where it is shorter.
  void skip(std::size_t last, Chunk& chunk) {
    const std::size_t bytes = std::min(last, chunk.size() - 1) + 1;
    std::memmove(chunk.data(), chunk.data() + bytes, chunk.size() - bytes);
    chunk.resize(chunk.size() - bytes);
    skip_ = false;
  }

  InputUnit unit_;
  ReaderOptions options_;
  std::unique_ptr<ByteStream> stream_;
  std::int64_t at_ = 0;   ///< where the next line begins in the file, unpacked
  std::int64_t end_ = 0;  ///< lines that begin there are another unit's
  bool begins_ = true;    ///< what comes may be a byte order mark
  bool skip_ = false;     ///< the first line, whose beginning is another unit's
  bool finished_ = false;
  std::string carried_;  ///< the beginning of the next line
};

}  // namespace

std::unique_ptr<ChunkReader> read_lines(const InputUnit& unit, const ReaderOptions& options) {
  return std::make_unique<LineReader>(unit, options);
}

}  // namespace octet
