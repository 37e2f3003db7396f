#include "src/data/token_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/log.h"
#include "src/base/replace_file.h"
#include "src/data/buffered_out.h"
#include "src/data/data_facts.h"
#include "src/data/mapped_file.h"
#include "src/data/token_pair.h"

namespace octet {
namespace fs = std::filesystem;
namespace {

static_assert(std::endian::native == std::endian::little, "token files are little-endian");

constexpr std::size_t buffer_bytes = 1 << 20;

std::string bin_temporary(const std::string& prefix) {
  return prefix + ".bin.tmp";
}
std::string idx_temporary(const std::string& prefix) {
  return prefix + ".idx.tmp";
}

int create(const std::string& path) {
  FileHandle file = open_to_write(path.c_str(), O_RDWR);
  if (!file) throw not_written("data", path);
  return file.release();
}

void sync(int file, const std::string& path) {
  if (::fsync(file) != 0) throw internal_error("data", "cannot flush {} to disk: {}", path, std::strerror(errno));
}

void rename_file(const std::string& from, const std::string& to) {
  std::error_code failed;
  fs::rename(from, to, failed);
  if (failed) throw internal_error("data", "cannot rename {} to {}: {}", from, to, failed.message());
}

void sync_names_beside(const std::string& path) {
  if (sync_folder_of(path)) return;
  throw internal_error("data", "cannot flush the folder of {} to disk: {}", path, std::strerror(errno));
}

template <typename T>
void append_as(std::span<const std::int32_t> ids, std::vector<std::uint8_t>& buffer) {
  const std::size_t begin = buffer.size();
  buffer.resize(begin + ids.size() * sizeof(T));
  std::uint8_t* to = buffer.data() + begin;
  for (const std::int32_t id : ids) {
    if (id < 0 || id > std::int64_t{std::numeric_limits<T>::max()}) {
      throw internal_error("data", "token id {} does not fit {} bytes", id, sizeof(T));
    }
    const T narrow = static_cast<T>(id);
    std::memcpy(to, &narrow, sizeof narrow);
    to += sizeof narrow;
  }
}

}  // namespace

void refuse_while_committed(const std::string& prefix) {
  const std::string path = prefix + ".bin";
  const FileHandle bin = open_to_read(path.c_str());
  // A shared lock, since network file systems give no other one for a file that is open for reading. It is given back
  // at the end of this function: this process has the lock of PREFIX.bin.tmp, without which no other one gets as far as
  // to write PREFIX.bin.
  if (bin && ::flock(bin.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw usage_error("data", "{} is being written by another process", path);
  }
}

void commit_token_files(const std::string& prefix, int bin, int idx, const std::string& facts) {
  sync(bin, bin_temporary(prefix));
  sync(idx, idx_temporary(prefix));
  const std::string index = prefix + ".idx", side_file = data_facts_path(prefix);
  // An old index must not stand beside the new tokens, not even for a moment.
  std::error_code failed;
  fs::remove(side_file, failed);  // nor what is known of the old; what stays would not be used
  if (fs::remove(index, failed)) sync_names_beside(index);
  if (failed) throw internal_error("data", "cannot remove {}: {}", index, failed.message());
  remove_replacements(side_file);  // of a process that was killed
  if (!facts.empty() && !replace_file(side_file, facts)) {
    log::warning("{}: cannot be written: {}; whoever opens the data will scan them", side_file, std::strerror(errno));
  }
  rename_file(bin_temporary(prefix), prefix + ".bin");
  sync_names_beside(prefix + ".bin");
  rename_file(idx_temporary(prefix), index);
  sync_names_beside(index);
}

TokenFileWriter::TokenFileWriter(std::string prefix, TokenType type, const Options& options)
    : prefix_(std::move(prefix)), type_(type), options_(options) {
  if (prefix_.empty() || prefix_.back() == '/' || prefix_.ends_with(".bin") || prefix_.ends_with(".idx")) {
    throw usage_error("data", "output \"{}\" is not a file name; expected PREFIX, for PREFIX.bin and PREFIX.idx",
                      prefix_);
  }
  if (!options_.overwrite) refuse_existing();
  const fs::path parent = fs::path(prefix_).parent_path();
  std::error_code failed;
  if (!parent.empty()) fs::create_directories(parent, failed);
  errno = failed.value();
  if (failed) throw not_made("data", parent.string());
  create_files();
  buffer_.reserve(buffer_bytes);
}

void TokenFileWriter::refuse_existing() const {
  for (const std::string& path : {bin_path(), idx_path()}) {
    std::error_code failed;  // of a path that leads nowhere, which the files that are made here find too
    if (fs::exists(path, failed)) throw usage_error("data", "{} exists; --overwrite replaces it", path);
  }
}

void TokenFileWriter::create_files() {
  try {
    bin_ = create(bin_temporary(prefix_));
    // Locked before it is emptied: a second writer must not destroy what the first one has written.
    lock_to_write("data", bin_, bin_temporary(prefix_), bin_temporary(prefix_));
    owns_files_ = true;
    refuse_while_committed(prefix_);  // before its index, which has the temporary name still, is opened
    idx_ = create(idx_temporary(prefix_));
    if (::ftruncate(bin_, 0) != 0 || ::ftruncate(idx_, 0) != 0) {
      throw internal_error("data", "cannot empty {}: {}", bin_temporary(prefix_), std::strerror(errno));
    }
  } catch (...) {
    if (owns_files_) ::unlink(bin_temporary(prefix_).c_str());
    if (bin_ >= 0) ::close(bin_);
    if (idx_ >= 0) ::close(idx_);
    throw;
  }
}

TokenFileWriter::~TokenFileWriter() {
  if (owns_files_) {
    ::unlink(bin_temporary(prefix_).c_str());
    ::unlink(idx_temporary(prefix_).c_str());
  }
  if (bin_ >= 0) ::close(bin_);
  if (idx_ >= 0) ::close(idx_);
}

void TokenFileWriter::append(std::span<const std::int32_t> ids) {
  const auto width = static_cast<std::size_t>(size_of(type_));
  while (!ids.empty()) {
    if (sequence_tokens_ == options_.max_sequence_tokens) close_sequence();
    if (buffer_.size() + width > buffer_bytes) flush();
    const auto room_in_sequence = static_cast<std::size_t>(options_.max_sequence_tokens - sequence_tokens_);
    const std::size_t count = std::min({ids.size(), room_in_sequence, (buffer_bytes - buffer_.size()) / width});
    switch (type_) {
      case TokenType::u8:
        append_as<std::uint8_t>(ids.first(count), buffer_);
        break;
      case TokenType::u16:
        append_as<std::uint16_t>(ids.first(count), buffer_);
        break;
      case TokenType::i32:
        append_as<std::int32_t>(ids.first(count), buffer_);
        break;
    }
    sequence_tokens_ += static_cast<std::int64_t>(count);
    tokens_ += static_cast<std::int64_t>(count);
    ids = ids.subspan(count);
  }
}

void TokenFileWriter::close_sequence() {
  sequence_sizes_.push_back(static_cast<std::int32_t>(sequence_tokens_));
  sequence_tokens_ = 0;
}

void TokenFileWriter::end_document() {
  close_sequence();
  document_starts_.push_back(static_cast<std::int64_t>(sequence_sizes_.size()));
}

void TokenFileWriter::flush() {
  TokenRangeScan scan(type_, tokens_ - static_cast<std::int64_t>(buffer_.size()) / size_of(type_));
  scan.add({reinterpret_cast<const char*>(buffer_.data()), buffer_.size()});
  range_.merge(scan.range());
  sum_.add(type_, buffer_);
  write_or_throw(bin_, buffer_, bin_temporary(prefix_));
  // The disk begins with it now, so that finish() has less to wait for. Only a hint: what fails there fails in fsync.
  ::sync_file_range(bin_, 0, 0, SYNC_FILE_RANGE_WRITE);
  buffer_.clear();
}

void TokenFileWriter::write_index() {
  const std::string path = idx_temporary(prefix_);
  BufferedOut out(idx_, path);
  out.put(megatron_index::magic);
  out.put(megatron_index::version);
  out.put(static_cast<std::uint8_t>(type_));
  out.put(static_cast<std::uint64_t>(sequence_sizes_.size()));
  out.put(static_cast<std::uint64_t>(document_starts_.size()));
  for (const std::int32_t size : sequence_sizes_) out.put(size);
  std::int64_t offset = 0;
  for (const std::int32_t size : sequence_sizes_) {
    out.put(offset);
    offset += size * size_of(type_);
  }
  for (const std::int64_t start : document_starts_) out.put(start);
  out.flush();
}

void TokenFileWriter::commit() {
  commit_token_files(prefix_, bin_, idx_, facts());
  owns_files_ = false;
  for (int* const file : {&bin_, &idx_}) ::close(std::exchange(*file, -1));  // and with it the lock
}

void TokenFileWriter::finish() {
  if (sequence_tokens_ != 0 || document_starts_.back() != static_cast<std::int64_t>(sequence_sizes_.size())) {
    throw internal_error("data", "{}: finish() inside a document", prefix_);
  }
  flush();
  write_index();
  commit();
}

std::string TokenFileWriter::facts() const {
  const MappedFile idx(idx_temporary(prefix_)), bin(bin_temporary(prefix_));
  return data_facts_json(token_fingerprint(idx.bytes(), bin.bytes()), tokens_,
                         {.range = range_,
                          .tokenizer = options_.tokenizer,
                          .text_bytes = text_bytes_,
                          .origin = options_.origin,
                          .content = sum_.value()});
}

}  // namespace octet
