#include "src/data/token_pair.h"

#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/base/heartbeat.h"
#include "src/base/read_file.h"

namespace octet {
namespace {

TokenType token_type_of(std::uint8_t code, const std::string& path) {
  for (const TokenType type : {TokenType::u8, TokenType::u16, TokenType::i32}) {
    if (code == static_cast<std::uint8_t>(type)) return type;
  }
  throw usage_error("data", "{}: token dtype code {} is not supported; expected 1 (uint8), 8 (uint16) or 4 (int32)",
                    path, code);
}

/// Copies stored tokens to int32; the index of the first id that is not below vocab_size, or -1.
template <typename T>
std::int64_t widen(const std::uint8_t* from, std::span<std::int32_t> out, std::int64_t vocab_size) {
  bool good = true;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const T id = load_unaligned<T>(from + i * sizeof(T));
    out[i] = static_cast<std::int32_t>(id);
    good &= out[i] >= 0 && out[i] < vocab_size;
  }
  if (good) return -1;
  const auto bad = std::ranges::find_if(out, [&](std::int32_t id) { return id < 0 || id >= vocab_size; });
  return bad - out.begin();
}

/// Number of sequences, or of documents, between two reports of progress.
constexpr std::int64_t told_each = 65536;

constexpr const char* another_file = "not the file that was validated when the run began";

/// Opens a file late, in a run that has validated it at its start. One failed try says little about a network's disk,
/// so it is repeated, as at a start; also where the path leads nowhere, since a mount may be late. What still fails
/// counts as no mistake of the user, but as an internal error: the next start will find out.
template <typename Open>
std::span<const std::uint8_t> in_the_run(const std::string& path, const Open& open) {
  try {
    std::span<const std::uint8_t> bytes;
    files::ReadProgress nobody_waits;
    files::with_retries(nobody_waits, [&] {
      try {
        bytes = open();
      } catch (const Error& error) {
        const files::ReadError absent(path, ENOENT);
        if (error.code() == ExitCode::usage && files::may_pass(absent)) throw files::ReadError(absent);
        throw;
      }
    });
    return bytes;
  } catch (const Error& error) {
    throw Error(ExitCode::internal, error.what());
  }
}

/// All but the length of the .bin file, of which the header says nothing.
PairFacts facts_in_header(std::span<const std::uint8_t> bytes, const std::string& path) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (size < megatron_index::header_bytes) {
    throw usage_error("data", "{}: {} bytes is too short for the header of {} bytes; the file is truncated", path, size,
                      megatron_index::header_bytes);
  }
  if (!std::equal(megatron_index::magic.begin(), megatron_index::magic.end(), bytes.begin())) {
    throw usage_error("data", "{}: not a Megatron index file: it does not begin with \"MMIDIDX\\0\\0\"", path);
  }
  const auto version = load_unaligned<std::uint64_t>(bytes.data() + 9);
  if (version != megatron_index::version) {
    throw usage_error("data", "{}: index version {}; expected {}", path, version, megatron_index::version);
  }
  const TokenType type = token_type_of(bytes[17], path);
  const auto sequences = load_unaligned<std::uint64_t>(bytes.data() + 18);
  const auto boundaries = load_unaligned<std::uint64_t>(bytes.data() + 26);
  const auto entries = static_cast<std::uint64_t>(size - megatron_index::header_bytes);
  // Both counts are bounded by the file's length before they are multiplied, so that nothing overflows.
  const bool possible = sequences <= entries / 12 && boundaries <= entries / 8;
  if (!possible || sequences * 12 + boundaries * 8 != entries) {
    throw usage_error("data",
                      "{}: {} bytes do not fit its {} sequences and {} document boundaries; expected 34 + 12 * "
                      "sequences + 8 * boundaries (truncated, or with sequence modes, which text does not have)",
                      path, size, sequences, boundaries);
  }
  if (boundaries == 0) throw usage_error("data", "{}: 0 document boundaries; expected documents + 1", path);
  return {.type = type,
          .sequences = static_cast<std::int64_t>(sequences),
          .documents = static_cast<std::int64_t>(boundaries) - 1};
}

}  // namespace

std::string token_prefix_of(const std::string& path) {
  for (const std::string_view suffix : {".bin", ".idx"}) {
    if (path.ends_with(suffix)) return path.substr(0, path.size() - suffix.size());
  }
  return path;
}

std::span<const std::uint8_t> TokenPair::LateFile::bytes(const std::string& path,
                                                         const std::function<void(const MappedFile&)>& check) {
  const std::lock_guard lock(mutex_);
  if (open_.load(std::memory_order_relaxed) == nullptr) {
    file_.reset();
    file_.emplace(path);
    check(*file_);
    open_.store(&*file_, std::memory_order_release);
  }
  return file_->bytes();
}

TokenPair::TokenPair(const std::string& path, const std::function<void(std::int64_t)>& progress)
    : prefix_(token_prefix_of(path)), late_(std::make_unique<Late>()) {
  late_->idx.bytes(idx_path(), [&](const MappedFile& file) { facts_ = facts_in_header(file.bytes(), idx_path()); });
  facts_.bin_bytes = static_cast<std::int64_t>(late_->bin.bytes(bin_path(), [](const MappedFile&) {}).size());
  check_sequences(progress);
  check_documents(progress);
}

TokenPair::TokenPair(std::string prefix, const PairFacts& facts)
    : prefix_(std::move(prefix)), facts_(facts), late_(std::make_unique<Late>()) {
  late_->fingerprint = facts.fingerprint;
}

TokenPair TokenPair::of_index(const std::string& prefix) {
  TokenPair pair(prefix, PairFacts());
  pair.late_->fingerprint.reset();  // which needs the tokens
  pair.late_->idx.bytes(pair.idx_path(),
                        [&](const MappedFile& file) { pair.facts_ = facts_in_header(file.bytes(), pair.idx_path()); });
  for (std::int64_t i = 0; i < pair.sequences(); ++i) {
    pair.facts_.bin_bytes += std::max<std::int64_t>(pair.size_at(i), 0) * size_of(pair.type());
  }
  pair.check_sequences({});
  pair.check_documents({});
  return pair;
}

PairFacts TokenPair::facts() const {
  PairFacts facts = facts_;
  facts.fingerprint = fingerprint();
  return facts;
}

std::span<const std::uint8_t> TokenPair::idx() const {
  if (const MappedFile* open = late_->idx.open()) return open->bytes();  // for each document anew
  return in_the_run(idx_path(), [&] {
    return late_->idx.bytes(idx_path(), [&](const MappedFile& file) {
      const PairFacts here = facts_in_header(file.bytes(), idx_path());
      const PairFacts& then = facts_;
      if (here.type == then.type && here.sequences == then.sequences && here.documents == then.documents) return;
      throw internal_error("data", "{}: {} sequences, {} documents of {}, where the run found {}, {} of {}; it is {}",
                           idx_path(), here.sequences, here.documents, name_of(here.type), then.sequences,
                           then.documents, name_of(then.type), another_file);
    });
  });
}

std::span<const std::uint8_t> TokenPair::bin() const {
  if (const MappedFile* open = late_->bin.open()) return open->bytes();
  return in_the_run(bin_path(), [&] {
    return late_->bin.bytes(bin_path(), [&](const MappedFile& file) {
      if (static_cast<std::int64_t>(file.bytes().size()) == facts_.bin_bytes) return;
      throw internal_error("data", "{}: {} bytes, where the run found {}; it is {}", bin_path(), file.bytes().size(),
                           facts_.bin_bytes, another_file);
    });
  });
}

void TokenPair::check_sequences(const std::function<void(std::int64_t)>& progress) const {
  const std::string path = idx_path();
  const std::int64_t length = facts_.bin_bytes;
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < sequences() && offset <= length; ++i) {
    if (progress && i % told_each == 0) progress(12 * told_each);
    const std::int64_t tokens_here = size_at(i);
    if (tokens_here < 0) throw usage_error("data", "{}: sequence {} has {} tokens", path, i, tokens_here);
    if (offset_at(i) != offset) {
      throw usage_error("data",
                        "{}: sequence {} begins at byte {} of the .bin file; expected {}, the end of the one before",
                        path, i, offset_at(i), offset);
    }
    offset += tokens_here * size_of(type());
  }
  if (offset != length) {
    throw usage_error("data", "{} has {} bytes; expected {}{} from the {} {} tokens in {}", bin_path(), length,
                      offset > length ? "at least " : "", offset, offset / size_of(type()), name_of(type()), path);
  }
}

void TokenPair::check_documents(const std::function<void(std::int64_t)>& progress) const {
  const std::string path = idx_path();
  if (document_start_at(0) != 0) {
    throw usage_error("data", "{}: the first document begins at sequence {}; expected 0", path, document_start_at(0));
  }
  for (std::int64_t i = 0; i < documents(); ++i) {
    if (progress && i % told_each == 0) progress(8 * told_each);
    if (document_start_at(i + 1) < document_start_at(i)) {
      throw usage_error("data", "{}: document {} ends at sequence {}, before its beginning at {}", path, i,
                        document_start_at(i + 1), document_start_at(i));
    }
  }
  if (document_start_at(documents()) != sequences()) {
    throw usage_error("data", "{}: the last document ends at sequence {}; expected {}, the number of sequences", path,
                      document_start_at(documents()), sequences());
  }
}

std::int64_t TokenPair::size_at(std::int64_t sequence) const {
  return load_unaligned<std::int32_t>(idx().data() + megatron_index::header_bytes + sequence * 4);
}

std::int64_t TokenPair::offset_at(std::int64_t sequence) const {
  return load_unaligned<std::int64_t>(idx().data() + megatron_index::header_bytes + sequences() * 4 + sequence * 8);
}

std::int64_t TokenPair::document_start_at(std::int64_t document) const {
  return load_unaligned<std::int64_t>(idx().data() + megatron_index::header_bytes + sequences() * 12 + document * 8);
}

std::int64_t TokenPair::document_begin(std::int64_t document) const {
  if (document < 0 || document > documents()) {
    throw internal_error("data", "{}: document {} of {}", prefix_, document, documents());
  }
  const std::int64_t sequence = document_start_at(document);
  if (sequence < 0 || sequence > sequences()) {  // validated by another process, which has seen another file
    throw internal_error("data", "{}: document {} begins at sequence {} of {}; it is {}", idx_path(), document,
                         sequence, sequences(), another_file);
  }
  return sequence == sequences() ? tokens() : offset_at(sequence) / size_of(type());
}

std::int64_t TokenPair::document_tokens(std::int64_t document) const {
  return document_begin(document + 1) - document_begin(document);
}

void TokenPair::read(std::int64_t position, std::span<std::int32_t> out, std::int64_t vocab_size) const {
  heartbeat::begin("read of token data");  // a page fault on a file system that is gone never ends
  const auto count = static_cast<std::int64_t>(out.size());
  if (position < 0 || count > tokens() || position > tokens() - count) {
    throw internal_error("data", "{}: tokens [{}, {}) of {}", bin_path(), position, position + count, tokens());
  }
  const std::uint8_t* from = bin().data() + position * size_of(type());
  const std::int64_t bad = type() == TokenType::u8    ? widen<std::uint8_t>(from, out, vocab_size)
                           : type() == TokenType::u16 ? widen<std::uint16_t>(from, out, vocab_size)
                                                      : widen<std::int32_t>(from, out, vocab_size);
  if (bad >= 0) {
    throw usage_error("data", "{}: token id {} at position {} is not below vocab_size {}", bin_path(),
                      out[static_cast<std::size_t>(bad)], position + bad, vocab_size);
  }
}

std::uint64_t TokenPair::fingerprint() const {
  const std::lock_guard lock(late_->mutex);
  if (!late_->fingerprint) late_->fingerprint = token_fingerprint(idx(), bin());
  return *late_->fingerprint;
}

std::uint64_t token_fingerprint(std::span<const std::uint8_t> idx, std::span<const std::uint8_t> bin) {
  constexpr std::int64_t block = 64 << 10;
  constexpr std::int64_t blocks = 64;
  const auto length = static_cast<std::int64_t>(bin.size());
  std::vector<std::uint64_t> parts = {XXH3_64bits(idx.data(), idx.size()), static_cast<std::uint64_t>(length)};
  if (length <= block * blocks) {
    parts.push_back(XXH3_64bits(bin.data(), bin.size()));
  } else {
    for (std::int64_t i = 0; i < blocks; ++i) {  // the first block is the file's first, the last its last
      const std::int64_t begin =
          (length - block) / (blocks - 1) * i + (length - block) % (blocks - 1) * i / (blocks - 1);
      parts.push_back(XXH3_64bits(bin.data() + begin, static_cast<std::size_t>(block)));
    }
  }
  return XXH3_64bits(parts.data(), parts.size() * sizeof parts[0]);
}

}  // namespace octet
