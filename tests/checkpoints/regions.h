#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoints/format/hdf5_support.h"
#include "checkpoints/format/manifest.h"
#include "tests/checkpoints/directory.h"

namespace octet::checkpoint::test {

/// The bytes of a file by what they are for; every byte is in one kind.
using Regions = std::map<std::string, std::vector<std::int64_t>>;

/// What each byte of a shard file is for, by HDF5's format specification (version 3.0) where the datasets are not;
/// later calls overrule earlier ones.
class ShardMap {
 public:
  ShardMap(const std::string& directory, const Manifest& manifest, std::int32_t file)
      : bytes_(content_of(directory + "/" + manifest.files[static_cast<std::size_t>(file)].name)),
        metadata_(bytes_),
        kinds_(bytes_.size()) {
    const std::string path = directory + "/" + manifest.files[static_cast<std::size_t>(file)].name;
    for (const StoredPiece& piece : manifest.pieces) {
      if (piece.file == file)
        find_data(path, dataset_name(manifest.tensors[static_cast<std::size_t>(piece.tensor)].name, piece.box));
    }
    paint_blocks();
    paint_zeros();
    for (const char* name : {"format", "version", "step", "seed", "data_fingerprint", "loss", "config", "layout",
                             "program", "tensor", "dtype", "global_shape", "offset", "xxh3_128"}) {
      paint_attributes(name);
    }
    paint(0, 48, "superblock");
    for (const auto& [begin, end] : data_) paint(begin, end, "tensor data");
    paint(bytes_.size() - 16, bytes_.size(), "end of file");
  }

  Regions regions() const {
    Regions all;
    for (std::size_t i = 0; i < kinds_.size(); ++i) all[kinds_[i]].push_back(static_cast<std::int64_t>(i));
    return all;
  }

 private:
  void paint(std::size_t begin, std::size_t end, const char* kind) {
    for (std::size_t i = begin; i < std::min(end, kinds_.size()); ++i) kinds_[i] = kind;
  }
  std::size_t number(std::size_t at, std::size_t bytes) const {
    std::size_t value = 0;
    for (std::size_t i = bytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes_.at(at + i));
    return value;
  }

  /// Where a dataset's data are; nothing else is looked for in there.
  void find_data(const std::string& path, const std::string& name) {
    const Hdf5File file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
    const Hdf5Dataset dataset(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT));
    const haddr_t begin = H5Dget_offset(dataset.get());
    ASSERT_NE(begin, HADDR_UNDEF) << name;
    data_.emplace_back(begin, begin + H5Dget_storage_size(dataset.get()));
    std::fill(metadata_.begin() + static_cast<std::ptrdiff_t>(data_.back().first),
              metadata_.begin() + static_cast<std::ptrdiff_t>(data_.back().second), '\xff');
  }

  /// What begins with a signature reaches to the next one, or to data.
  void paint_blocks() {
    const std::map<std::string_view, const char*> kinds = {
        {"OHDR", "object header"}, {"OCHK", "object header"}, {"FRHP", "heap"}, {"FHDB", "heap"},
        {"FHIB", "heap"},          {"FSHD", "heap"},          {"FSSE", "heap"}, {"BTHD", "B-tree"},
        {"BTIN", "B-tree"},        {"BTLF", "B-tree"}};
    const char* kind = "superblock";
    std::vector<std::size_t> headers;
    for (std::size_t i = 0; i < metadata_.size(); ++i) {
      const auto found = kinds.find(std::string_view(metadata_).substr(i, 4));
      if (found != kinds.end()) kind = found->second;
      if (found != kinds.end() && found->first == "OHDR") headers.push_back(i);
      kinds_[i] = kind;
    }
    for (const std::size_t at : headers) paint_header(at);
  }

  /// An object header of version 2: messages of one object.
  void paint_header(std::size_t at) {
    const std::size_t flags = number(at + 5, 1), size_bytes = std::size_t{1} << (flags & 3);
    const std::size_t size_at = at + 6 + ((flags & 0x20) != 0 ? 16 : 0) + ((flags & 0x10) != 0 ? 4 : 0);
    paint_messages(size_at + size_bytes, number(size_at, size_bytes), (flags & 4) != 0 ? 6 : 4);
  }
  void paint_messages(std::size_t at, std::size_t size, std::size_t prefix) {
    for (const std::size_t end = at + size; at + prefix < end;) {
      const std::size_t type = number(at, 1), bytes = number(at + 1, 2), body = at + prefix;
      switch (type) {
        case 0x01:  // dataspace
        case 0x03:  // datatype
        case 0x05:  // fill value
        case 0x08:  // layout: where the data are
          paint(body, body + bytes, "dataset metadata");
          break;
        case 0x02:  // link info
        case 0x06:  // link
        case 0x0a:  // group info
          paint(body, body + bytes, "group and links");
          break;
        case 0x10:  // goes on elsewhere: "OCHK", messages, checksum
          paint_messages(number(body, 8) + 4, number(body + 8, 8) - 8, prefix);
          break;
        default:
          break;
      }
      at = body + bytes;
    }
  }

  /// Alignment gaps, what was reserved and not used, ends of blocks.
  void paint_zeros() {
    constexpr std::size_t least = 32;
    for (std::size_t i = 0; i < metadata_.size();) {
      const std::size_t end = std::min(metadata_.find_first_not_of('\0', i), metadata_.size());
      if (end - i >= least) paint(i, end, "gap or padding");
      i = std::max(end, i + 1);
    }
  }

  /// Attribute messages (version 3) of that name: sizes, name, type, space, value.
  void paint_attributes(const std::string& name) {
    constexpr std::size_t before = 9;
    const std::string text = name + '\0';
    for (std::size_t at = metadata_.find(text); at != std::string::npos; at = metadata_.find(text, at + 1)) {
      if (at < before || number(at - before, 1) != 3 || number(at - 7, 2) != text.size()) continue;
      const std::size_t type = at + text.size(), space = type + number(at - 5, 2), value = space + number(at - 3, 2);
      std::size_t bytes = number(type + 4, 4);
      for (std::size_t d = 0; d < number(space + 1, 1); ++d) bytes *= number(space + 4 + 8 * d, 8);
      paint(at - before, value + bytes, "self-identification");
    }
  }

  std::string bytes_;
  std::string metadata_;  ///< the same, with data blanked
  std::vector<const char*> kinds_;
  std::vector<std::pair<std::size_t, std::size_t>> data_;
};

/// What each byte of a manifest is for: white space, punctuation, and texts and numbers by the key that they stand
/// behind.
inline Regions manifest_regions(const std::string& text) {
  const auto kind_of = [](const std::string& key) -> std::string {
    if (key == "xxh3_128") return "hash";
    if (key == "bytes") return "size";
    if (key == "config") return "config text";
    if (key == "pieces" || key == "shape") return "shapes and pieces";
    if (key == "name" || key == "dtype") return "names and dtypes";
    return "state and version";
  };
  Regions all;
  std::string key;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    std::string kind = "punctuation";
    if (text[i] == '"') {
      while (text[end] != '"') end += text[end] == '\\' ? 2 : 1;
      ++end;
      const std::string inside = text.substr(i + 1, end - i - 2);
      const bool is_key = text[end] == ':';
      if (is_key) key = inside;
      kind = is_key ? "key" : kind_of(key);
    } else if (std::isspace(static_cast<unsigned char>(text[i])) != 0) {
      kind = i + 1 == text.size() ? "last newline" : "white space";
    } else if (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '-') {
      while (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '.' || text[end] == '-') ++end;
      kind = kind_of(key);
    }
    if (kind == "hash" && i > text.rfind('\n', text.size() - 2)) kind = "hash of itself";
    for (; i < end; ++i) all[kind].push_back(static_cast<std::int64_t>(i));
  }
  return all;
}

}  // namespace octet::checkpoint::test
