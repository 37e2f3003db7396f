#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checkpoints/format/format.h"

namespace octet::checkpoint {

/// What makes a directory a checkpoint: everything in it, with sizes and hashes. It ends with a hash of itself.
struct Manifest {
  int version = format_version;
  RunState state;
  std::vector<StoredTensor> tensors;
  std::vector<StoredFile> files;
  std::vector<StoredPiece> pieces;

  bool operator==(const Manifest&) const = default;
};

/// What a manifest says of its checkpoint as a whole.
struct ManifestSummary {
  RunState state;
  std::vector<StoredFile> files;
};

/// The names of the files that are none of tensors: of these the manifest knows size and hash alone.
std::vector<std::string> plain_files(const Manifest& manifest);

/// The text of manifest.json, ending with the hash of itself. Throws an internal error where a name or a text of
/// the manifest is not UTF-8; checks nothing else of it.
std::string to_json(const Manifest& manifest);
/// The line that ends a manifest, given the hash of all that stands before it.
std::string manifest_last_line(const std::string& hash);
/// The hash of itself that a manifest's text ends with; empty when the text does not end so or the hash does not fit.
std::string self_hash(std::string_view text);
/// Throws UnknownFormat for what a newer program wrote (a later version, a key of the manifest or of its state that is
/// not known), and else a usage error that names `path` and what is wrong: not JSON, no version, a hash of itself that
/// does not fit, pieces that do not cover their tensors exactly once, indices out of range.
Manifest parse_manifest(const std::string& text, const std::string& path);
/// Reads and parses DIRECTORY/manifest.json. Throws as parse_manifest, and files::ReadError (src/base/read_file.h) when
/// it cannot be read: a usage error where it is not there, an internal one where the file system does not give it.
Manifest read_manifest(const std::string& checkpoint_directory);

/// The same for what it says of the whole, without a look at its pieces, of which there can be millions: throws as
/// these do, but for what is wrong with pieces behind a right hash. In a text that to_json laid out they are not even
/// parsed.
ManifestSummary parse_summary(const std::string& text, const std::string& path);
ManifestSummary read_summary(const std::string& checkpoint_directory);

/// Every element of every tensor is in exactly one piece; throws a usage error with tensor and box otherwise.
void check_coverage(const Manifest& manifest, const std::string& path);

}  // namespace octet::checkpoint
