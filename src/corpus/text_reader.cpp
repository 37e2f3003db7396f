#include <deque>

#include "src/base/error.h"
#include "src/base/progress.h"
#include "src/corpus/chunk_reader.h"

namespace octet {
namespace {

class TextReader final : public ChunkReader, private DocumentSink {
 public:
  TextReader(const InputUnit& unit, const ReaderOptions& options, const Tokenizer& tokenizer)
      : path_(unit.path),
        options_(options),
        tokenizer_(tokenizer),
        stream_(open_packed(unit.path, unit.format.packing)),
        splitter_(options.split, *this),
        block_(static_cast<std::size_t>(options.chunk_bytes), '\0'),
        try_at_(block_.size()) {}

  bool next(Chunk& chunk) override {
    while (!finished_) {
      const std::size_t got = stream_->read(block_);
      splitter_.feed(std::string_view(block_).substr(0, got));
      if (got < block_.size()) {
        finished_ = true;
        splitter_.end_file();
      } else if (built_.size() < try_at_ || !hand_over(chunk)) {
        continue;
      } else {
        return true;
      }
    }
    if (built_.pieces.empty()) return false;
    give(chunk, built_.size());
    return true;
  }
  std::int64_t used() const override { return stream_->used(); }

 private:
  void text(std::string_view piece, std::int64_t offset) override {
    if (!in_document_) {
      built_.pieces.push_back({built_.size(), 0, true, false, offset});
      in_document_ = true;
    }
    built_.append(piece);
    built_.pieces.back().bytes += piece.size();
  }
  void end_document() override {
    built_.pieces.back().ends_document = true;
    in_document_ = false;
  }

  /// Hands over what ends, and of the last document what may be cut off; false where that is nothing.
  bool hand_over(Chunk& chunk) {
    std::size_t size = built_.size();
    if (in_document_) {
      const Chunk::Piece& open = built_.pieces.back();
      size = open.begin + (options_.cut_documents ? tokenizer_.last_cut(built_.text(open)) : 0);
    }
    try_at_ = 2 * built_.size();  // so that a long document is not searched many times
    if (size == 0) {
      refuse_endless();
      return false;
    }
    give(chunk, size);
    return true;
  }

  void refuse_endless() const {
    const Chunk::Piece& open = built_.pieces.back();
    if (open.bytes <= static_cast<std::size_t>(options_.max_document)) return;
    throw usage_error("corpus", "{}: byte {}: the document that begins here is longer than --max-document {}{}", path_,
                      open.place, format_bytes(options_.max_document),
                      options_.cut_documents
                          ? fmt::format(", and the {} tokenizer has no place to cut it", tokenizer_.info().kind)
                          : ", and --holdout takes whole documents");
  }

  /// Gives the first `size` bytes away and keeps the rest, which is of the last piece.
  void give(Chunk& chunk, std::size_t size) {
    Chunk rest;
    Chunk::Piece& last = built_.pieces.back();
    if (const std::size_t end = last.begin + last.bytes; size < end) {
      const std::size_t cut = size - last.begin;
      rest.pieces.push_back(
          {0, last.bytes - cut, last.begins_document && cut == 0, false, last.place + static_cast<std::int64_t>(cut)});
      rest.append(built_.text().substr(size));
      last.bytes = cut;
      if (cut == 0) built_.pieces.pop_back();
    } else if (in_document_) {
      rest.pieces.push_back({0, 0, false, false, last.place + static_cast<std::int64_t>(last.bytes)});
    }
    built_.resize(size);
    built_.unit = chunk.unit;
    chunk = std::move(built_);
    built_ = std::move(rest);
    try_at_ = block_.size();
  }

  std::string path_;
  ReaderOptions options_;
  const Tokenizer& tokenizer_;
  std::unique_ptr<ByteStream> stream_;
  DocumentSplitter splitter_;
  std::string block_;
  Chunk built_{};
  std::size_t try_at_;  ///< the size at which the chunk that is built is looked at again
  bool in_document_ = false;
  bool finished_ = false;
};

}  // namespace

std::unique_ptr<ChunkReader> read_text(const InputUnit& unit, const ReaderOptions& options,
                                       const Tokenizer& tokenizer) {
  return std::make_unique<TextReader>(unit, options, tokenizer);
}

}  // namespace octet
