#include "src/data/token_join.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "src/base/error.h"
#include "src/data/buffered_out.h"
#include "src/data/token_pair.h"
#include "src/data/token_type.h"
#include "src/data/token_writer.h"

namespace octet {

namespace {

std::int64_t size_of_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_size : -1;
}

TokenPair read_index(const std::string& prefix) {
  try {
    return TokenPair::of_index(prefix);
  } catch (const Error& error) {
    if (error.code() != ExitCode::usage || size_of_file(prefix + ".idx") < 0) throw;
    throw Error(ExitCode::usage, fmt::format("{}; remove {}.idx to have the part made again", error.what(), prefix));
  }
}

}  // namespace

/// A part's index, whose .bin file may have gone over already.
class TokenJoin::PartIndex {
 public:
  explicit PartIndex(const std::string& prefix) : pair_(read_index(prefix)) {}
  /// Of one that was validated before.
  explicit PartIndex(const Taken& taken) : pair_(taken.prefix, taken.facts) {}

  Taken taken() const {
    return {.prefix = prefix(),
            .facts = {.type = type(), .sequences = sequences(), .documents = documents(), .bin_bytes = bytes()}};
  }
  const std::string& prefix() const { return pair_.prefix(); }
  std::string bin() const { return pair_.bin_path(); }
  TokenType type() const { return pair_.type(); }
  std::int64_t bytes() const { return pair_.tokens() * size_of(type()); }
  std::int64_t sequences() const { return pair_.sequences(); }
  std::int64_t documents() const { return pair_.documents(); }
  std::int32_t size_at(std::int64_t sequence) const { return static_cast<std::int32_t>(pair_.size_at(sequence)); }
  /// The sequence behind the document's last.
  std::int64_t document_end(std::int64_t document) const { return pair_.document_start_at(document + 1); }

 private:
  TokenPair pair_;
};

namespace {

FileHandle open_temporary(const std::string& path) {
  FileHandle file = open_to_write(path.c_str(), O_RDWR);
  if (!file) throw not_written("data", path);
  lock_to_write("data", file.get(), path, path);
  return file;
}

void cut_to(int file, std::int64_t size, const std::string& path) {
  if (::ftruncate(file, size) != 0) throw not_written("data", path);
}

/// Copies a file of so many bytes to an offset of another one.
void copy_to(int to, std::int64_t offset, const std::string& from, std::int64_t bytes, const std::string& path) {
  const FileHandle source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!source) throw not_read("data", from);
  bool by_kernel = true;
  std::vector<std::uint8_t> block;
  for (off64_t read_at = 0, write_at = offset;;) {
    if (by_kernel) {
      const ssize_t copied = ::copy_file_range(source.get(), &read_at, to, &write_at, std::size_t{1} << 30, 0);
      if (copied == 0 && read_at == bytes) return;
      if (copied > 0 || (copied < 0 && errno == EINTR)) continue;
      // Some kernels and file systems copy nothing and call it success.
      constexpr std::array cannot = {EXDEV, EINVAL, ENOSYS, EOPNOTSUPP, EBADF};
      if (copied < 0 && std::ranges::find(cannot, errno) == cannot.end()) throw not_written("data", path);
      by_kernel = false;
      block.resize(1 << 20);
    }
    const ssize_t got = ::pread(source.get(), block.data(), block.size(), read_at);
    if (got == 0 && read_at == bytes) return;
    if (got == 0) throw internal_error("data", "{}: ends after {} of {} bytes", from, read_at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw not_read("data", from);
    if (!write_all_at(to, write_at, block.data(), static_cast<std::size_t>(got))) throw not_written("data", path);
    read_at += got;
    write_at += got;
  }
}

}  // namespace

TokenJoin::TokenJoin(std::string prefix) : prefix_(std::move(prefix)), bin_(open_temporary(bin_path())) {
  refuse_while_committed(prefix_);
  idx_ = open_temporary(idx_path());
}

TokenJoin::~TokenJoin() {
  if (!parts_.empty() || size_of_file(bin_path()) != 0) return;
  for (const std::string& path : {idx_path(), bin_path()}) ::unlink(path.c_str());
}

void TokenJoin::take(const std::string& part) {
  const PartIndex index(part);
  parts_.push_back(index.taken());
  if (const TokenType first = parts_.front().facts.type; index.type() != first) {
    throw usage_error("data", "{} has {} tokens, {} has {}", part, name_of(index.type()), parts_.front().prefix,
                      name_of(first));
  }
  take_over(index);
  bytes_ += index.bytes();
}

/// Appends what is still in a part; what has gone over before must be there.
void TokenJoin::take_over(const PartIndex& part) const {
  const std::string path = bin_path();
  const std::int64_t there = size_of_file(part.bin());
  if (there < 0) {
    if (size_of_file(path) >= bytes_ + part.bytes()) return;
    throw usage_error("data", "{} is gone; remove the folder of the parts to begin anew", part.bin());
  }
  if (there != part.bytes()) {
    throw usage_error("data", "{} has {} bytes; its index says {}: remove {}.idx to have the part made again",
                      part.bin(), there, part.bytes(), part.prefix());
  }
  cut_to(bin_.get(), bytes_, path);
  copy_to(bin_.get(), bytes_, part.bin(), part.bytes(), path);
  if (::fsync(bin_.get()) != 0 || !sync_folder_of(path)) throw not_written("data", path);
  if (::unlink(part.bin().c_str()) != 0) throw not_written("data", part.bin());
}

void TokenJoin::write_index() const {
  const TokenType type = parts_.front().facts.type;
  std::int64_t sequences = 0, documents = 0;
  for (const Taken& part : parts_) {
    sequences += part.facts.sequences;
    documents += part.facts.documents;
  }
  BufferedOut out(idx_.get(), idx_path());
  out.put(megatron_index::magic);
  out.put(megatron_index::version);
  out.put(static_cast<std::uint8_t>(type));
  out.put(sequences);
  out.put(documents + 1);
  for (const Taken& part : parts_) {
    const PartIndex index(part);
    for (std::int64_t i = 0; i < index.sequences(); ++i) out.put(index.size_at(i));
  }
  std::int64_t offset = 0;
  for (const Taken& part : parts_) {
    const PartIndex index(part);
    for (std::int64_t i = 0; i < index.sequences(); ++i) {
      out.put(offset);
      offset += index.size_at(i) * size_of(type);
    }
  }
  std::int64_t before = 0;
  out.put(before);
  for (const Taken& part : parts_) {
    const PartIndex index(part);
    for (std::int64_t i = 0; i < index.documents(); ++i) out.put(before + index.document_end(i));
    before += index.sequences();
  }
  out.flush();
}

void TokenJoin::finish() {
  if (parts_.empty()) throw internal_error("data", "{}: a join of no parts", prefix_);
  cut_to(bin_.get(), bytes_, bin_path());
  cut_to(idx_.get(), 0, idx_path());
  write_index();
  commit_token_files(prefix_, bin_.get(), idx_.get());
}

bool TokenJoin::has_taken(const std::vector<std::string>& parts, const std::string& prefix) {
  std::int64_t bytes = 0;
  for (const std::string& part : parts) {
    if (size_of_file(part + ".bin") < 0) bytes += PartIndex(part).bytes();
  }
  return bytes == 0 || size_of_file(prefix + ".bin.tmp") >= bytes;
}

bool TokenJoin::is_left(const std::vector<std::string>& parts, const std::string& prefix) {
  std::int64_t bytes = 0;
  for (const std::string& part : parts) {
    const PartIndex index(part);
    if (size_of_file(index.bin()) >= 0) return true;
    bytes += index.bytes();
  }
  const std::string temporary = prefix + ".bin.tmp";
  if (size_of_file(temporary) >= 0 || size_of_file(prefix + ".bin") != bytes) return true;
  if (size_of_file(prefix + ".idx") >= 0) return false;
  refuse_while_committed(prefix);
  if (::rename((prefix + ".bin").c_str(), temporary.c_str()) != 0) throw not_written("data", temporary);
  return true;
}

}  // namespace octet
