#include "src/corpus/prepare.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/progress.h"
#include "src/corpus/text_files.h"
#include "src/data/token_writer.h"
#include "src/tokenizer/make_tokenizer.h"

namespace octet {
namespace {

/// Documents' text in, tokens out to the writer and the counter.
class DocumentEncoder final : public DocumentSink {
 public:
  DocumentEncoder(const Tokenizer& tokenizer, TokenFileWriter& writer)
      : tokenizer_(tokenizer), encoder_(tokenizer.make_encoder()), writer_(writer) {
    if (tokenizer.info().kind == "bytes") counter_.emplace();
  }

  void text(std::span<const std::uint8_t> piece) override {
    // Small pieces keep the ids, which take four times the memory, in the processor's cache.
    constexpr std::size_t at_once = 64 << 10;
    std::string_view left(reinterpret_cast<const char*>(piece.data()), piece.size());
    for (; !left.empty(); left.remove_prefix(std::min(at_once, left.size()))) {
      encoder_->encode(left.substr(0, at_once), ids_);
      write_ids();
    }
  }
  void end_document() override {
    ids_.push_back(*tokenizer_.info().eos);
    write_ids();
    writer_.end_document();
  }
  std::optional<ByteEntropies> entropies() const {
    return counter_ ? std::optional(counter_->entropies()) : std::nullopt;
  }

 private:
  void write_ids() {
    writer_.append(ids_);
    if (counter_) counter_->add(ids_);
    ids_.clear();
  }

  const Tokenizer& tokenizer_;
  std::unique_ptr<Encoder> encoder_;
  TokenFileWriter& writer_;
  std::optional<ByteEntropyCounter> counter_;
  std::vector<std::int32_t> ids_;
};

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

/// What packs a file that begins so; empty: nothing that is known.
std::string_view packed_by(std::span<const std::uint8_t> beginning) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> known = {{{"\x1f\x8b", "gzip"},
                                                                                   {"\x28\xb5\x2f\xfd", "zstd"},
                                                                                   {"\xfd"
                                                                                    "7zXZ",
                                                                                    "xz"},
                                                                                   {"BZh91AY", "bzip2"},
                                                                                   {"PK\x03\x04", "zip"},
                                                                                   {"PAR1\x15", "Parquet"}}};
  for (const auto& [magic, name] : known) {
    const std::string_view begin(reinterpret_cast<const char*>(beginning.data()),
                                 std::min(beginning.size(), magic.size()));
    if (begin == magic) return name;
  }
  return "";
}

/// Feeds a file to the splitter chunk by chunk; the bytes read.
std::int64_t read_file(const std::string& path, const Tokenizer& tokenizer, std::span<std::uint8_t> buffer,
                       DocumentSplitter& splitter, Progress& progress) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rbe"));
  if (!file) throw usage_error("corpus", "cannot open {}: {}", path, std::strerror(errno));
  std::setvbuf(file.get(), nullptr, _IONBF, 0);  // the chunk is the buffer
  std::int64_t offset = 0;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    const auto chunk = buffer.first(got);
    if (const std::string_view packed = packed_by(chunk); offset == 0 && !packed.empty()) {
      throw usage_error("corpus", "{}: is packed by {}; expected text: unpack it first", path, packed);
    }
    if (const auto bad = tokenizer.find_refused({reinterpret_cast<const char*>(chunk.data()), chunk.size()})) {
      throw usage_error("corpus", "{}: byte {} at offset {} is not text for the {} tokenizer; is the file binary?",
                        path, chunk[*bad], offset + static_cast<std::int64_t>(*bad), tokenizer.info().kind);
    }
    splitter.feed(chunk);
    offset += static_cast<std::int64_t>(got);
    progress.advance(static_cast<std::int64_t>(got));
  }
  if (std::ferror(file.get()) != 0) throw usage_error("corpus", "cannot read {}: {}", path, std::strerror(errno));
  splitter.end_file();
  return offset;
}

void note_skipped(const TextFiles& found) {
  if (found.skipped.empty()) return;
  log::info("skipped {} hidden files, linked folders and special files, the first is {}", found.skipped.size(),
            found.skipped.front());
}

}  // namespace

PrepareReport prepare(const PrepareOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto tokenizer = make_tokenizer(options.tokenizer);
  const TextFiles found = find_text_files(options.inputs);
  note_skipped(found);

  TokenFileWriter writer(options.output, token_type_for(tokenizer->info().vocab_size),
                         {.overwrite = options.overwrite});
  DocumentEncoder encoder(*tokenizer, writer);
  DocumentSplitter splitter(options.split, encoder);
  PrepareReport report;
  std::vector<std::uint8_t> buffer(static_cast<std::size_t>(options.chunk_bytes));
  {
    Progress progress("prepare", found.bytes);
    for (const TextFile& file : found.files) {
      const std::int64_t before = writer.documents();
      report.bytes += read_file(file.path, *tokenizer, buffer, splitter, progress);
      if (writer.documents() == before) ++report.empty_files;
    }
  }
  if (writer.documents() == 0) throw usage_error("corpus", "the {} input files hold no text", found.files.size());
  writer.finish();

  report.files = static_cast<std::int64_t>(found.files.size());
  report.skipped = static_cast<std::int64_t>(found.skipped.size());
  report.documents = writer.documents();
  report.tokens = writer.tokens();
  report.bin_path = writer.bin_path();
  report.idx_path = writer.idx_path();
  report.entropies = encoder.entropies();
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace octet
