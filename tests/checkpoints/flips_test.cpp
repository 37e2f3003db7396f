// Single bits flipped everywhere in a checkpoint: `octet checkpoint verify` and a run that starts must see each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <set>

#include "checkpoints/format/view.h"
#include "checkpoints/restore/verification.h"
#include "tests/checkpoints/regions.h"
#include "tests/checkpoints/saver_fixture.h"
#include "tests/checkpoints/small_checkpoint.h"

namespace octet::checkpoint::test {
namespace {

namespace fs = std::filesystem;

struct Flip {
  std::string file, kind;
  std::int64_t byte = 0;
  int bit = 0;
};

/// Large enough for aligned data with gaps before them, and small ones among the metadata.
std::vector<StoredTensor> flip_tensors() {
  std::vector<StoredTensor> tensors;
  for (const char* kind : {"master/", "first_moment/", "second_moment/"}) {
    tensors.push_back({std::string(kind) + "tok_embeddings.weight", DType::f32, {97, 720}});
    tensors.push_back({std::string(kind) + "layers.0.attention.wq.weight", DType::f32, {24, 20}});
    tensors.push_back({std::string(kind) + "norm.weight", DType::f32, {7}});
  }
  return tensors;
}

/// So many bits of these bytes, or all; the same everywhere for a seed.
std::vector<std::pair<std::int64_t, int>> some_bits(const std::vector<std::int64_t>& bytes, std::size_t most,
                                                    std::mt19937& random) {
  std::set<std::size_t> bits;
  const std::size_t all = bytes.size() * 8;
  if (most >= all) {
    for (std::size_t i = 0; i < all; ++i) bits.insert(i);
  }
  while (bits.size() < std::min(most, all)) bits.insert(random() % all);
  std::vector<std::pair<std::int64_t, int>> chosen;
  chosen.reserve(bits.size());
  for (const std::size_t i : bits) chosen.emplace_back(bytes[i / 8], static_cast<int>(i % 8));
  return chosen;
}

/// Two checkpoints of three writers, the newer of which is to suffer, and a root with that one alone.
class Flips : public SaverTest {
 protected:
  Flips() {
    on_rank_0([&] {
      for (const fs::path path : {root_, alone()}) fs::create_directories(path);
      for (const std::int64_t step : {1, 2}) {
        write_values(path_of(step), small_state(step), flip_tensors(),
                     values_of(flip_tensors(), static_cast<std::uint32_t>(step)), 3);
      }
      fs::create_directory_symlink(path_of(2), alone() + "/" + directory_name(2));
    });
    manifest_ = read_manifest(path_of(2));
  }
  std::string alone() const { return root_ + "-alone"; }

  /// By file and kind of region.
  std::map<std::string, Regions> regions() const {
    std::map<std::string, Regions> all;
    for (std::size_t f = 0; f < manifest_.files.size(); ++f) {
      all[manifest_.files[f].name] = ShardMap(path_of(2), manifest_, static_cast<std::int32_t>(f)).regions();
    }
    all[manifest_name] = manifest_regions(content_of(path_of(2) + "/" + manifest_name));
    return all;
  }

  /// So many in each kind of region of each file.
  static std::vector<Flip> sample(const std::map<std::string, Regions>& files, std::size_t most) {
    std::mt19937 random(20'261'121);
    std::vector<Flip> flips;
    for (const auto& [file, regions] : files) {
      for (const auto& [kind, bytes] : regions) {
        for (const auto& [byte, bit] : some_bits(bytes, most, random)) flips.push_back({file, kind, byte, bit});
      }
    }
    return flips;
  }

  /// The files that `octet checkpoint verify` complains about.
  std::vector<std::string> named_by_verify() const {
    try {
      std::vector<std::string> names;
      for (const Damage& damage : find_damage(path_of(2), read_manifest(path_of(2)), 2)) names.push_back(damage.file);
      return names;
    } catch (const Error& error) {
      return {contains(error.what(), path_of(2) + "/" + manifest_name) ? manifest_name : error.what()};
    }
  }

  /// A run that starts: it takes the older one and says why; where there is none it ends with a message.
  void expect_refused_by_loading(const std::string& file) {
    const std::string path = path_of(2) + "/" + file;
    testing::internal::CaptureStderr();
    const std::optional<Found> found = find();
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(found.has_value() && found->directory == path_of(1));
    if (rank() == 0) {
      EXPECT_PRED2(contains, said, "checkpoint " + path_of(2) + " is DAMAGED and not used: ");
      EXPECT_PRED2(contains, said, path);
    }
    testing::internal::CaptureStderr();
    const std::string error = error_of([&] { find_newest_valid(alone(), *world_); });
    testing::internal::GetCapturedStderr();
    EXPECT_PRED2(contains, error, "found 1 checkpoint(s), none of them valid");
    EXPECT_PRED2(contains, error, directory_name(2) + "/" + file);
  }

  void expect_detected(const Flip& flip) {
    const std::string path = path_of(2) + "/" + flip.file;
    SCOPED_TRACE(fmt::format("{}, byte {}, bit {}: {}", flip.file, flip.byte, flip.bit, flip.kind));
    if (rank() == 0) {
      flip_bit(path, flip.byte, flip.bit);
      EXPECT_EQ(named_by_verify(), std::vector<std::string>{flip.file});
    }
    expect_refused_by_loading(flip.file);
    if (rank() == 0) flip_bit(path, flip.byte, flip.bit);
  }

  Manifest manifest_;
};

#ifdef __SANITIZE_ADDRESS__
constexpr bool sanitized = true;  // takes three times as long
#else
constexpr bool sanitized = false;
#endif

// All in the run of one rank; with more ranks others hash, which takes fewer, as it does under the sanitizers.
TEST_F(Flips, EveryOneIsSeenByVerifyAndByLoading) {
  const bool is_long = std::getenv("OCTET_TEST_LONG") != nullptr, all = size() == 1 && (is_long || !sanitized);
  const std::size_t most = (all ? 24 : 2) * (is_long ? 6 : 1);
  const std::vector<Flip> flips = sample(regions(), most);
  std::map<std::string, int> counts;
  std::size_t done = 0;
  for (const Flip& flip : flips) {
    expect_detected(flip);
    ++done;
    ++counts[(flip.file == manifest_name ? "manifest: " : "shards: ") + flip.kind];
    if (largest(HasFailure() ? 1 : 0, *world_) != 0) break;
  }
  EXPECT_EQ(find()->directory, path_of(2)) << "every bit was put back";
  if (rank() != 0) return;
  for (const auto& [kind, n] : counts) std::printf("%6d flips in %s\n", n, kind.c_str());
  std::printf("%6zu flips\n", done);
  if (all) {
    EXPECT_GE(done, 750u);
  }
}

TEST_F(Flips, RegionsAreWhatTheyAreCalled) {
  if (rank() != 0) return;
  const auto files = regions();
  const std::string file = manifest_.files[1].name, bytes = content_of(path_of(2) + "/" + file);
  std::vector<std::string> kinds;
  std::map<std::string, std::string> content;
  for (const auto& [kind, where] : files.at(file)) {
    kinds.push_back(kind);
    for (const std::int64_t at : where) content[kind] += bytes[static_cast<std::size_t>(at)];
  }
  EXPECT_EQ(kinds,
            (std::vector<std::string>{"B-tree", "dataset metadata", "end of file", "gap or padding", "group and links",
                                      "heap", "object header", "self-identification", "superblock", "tensor data"}));
  std::int64_t elements = 0;
  for (const StoredPiece& piece : manifest_.pieces) elements += piece.file == 1 ? piece.box.extent.elements() : 0;
  EXPECT_NEAR(static_cast<double>(content["tensor data"].size()), static_cast<double>(elements * 4), 16);
  EXPECT_EQ(content["gap or padding"].find_first_not_of('\0'), std::string::npos);
  EXPECT_PRED2(contains, content["self-identification"], manifest_.state.config);
  EXPECT_PRED2(contains, content["self-identification"], "second_moment/layers.0.attention.wq.weight");
  EXPECT_PRED2(contains, content["group and links"], "attention.wq");
  EXPECT_PRED2(contains, content["object header"], "OHDR");
  EXPECT_PRED2(contains, content["heap"], "FHDB");
  EXPECT_PRED2(contains, content["B-tree"], "BTLF");
  for (const char* kind : {"dataset metadata", "group and links", "self-identification", "tensor data"}) {
    for (const char* signature : {"OHDR", "OCHK", "FHDB", "BTLF"}) EXPECT_FALSE(contains(content[kind], signature));
  }

  content.clear();
  const std::string text = content_of(path_of(2) + "/" + manifest_name);
  for (const auto& [kind, where] : files.at(manifest_name)) {
    for (const std::int64_t at : where) content[kind] += text[static_cast<std::size_t>(at)];
  }
  EXPECT_EQ(content.size(), 11u);
  EXPECT_EQ(content["hash of itself"], '"' + self_hash(text) + '"');
  EXPECT_EQ(content["last newline"], "\n");
  std::string sizes, hashes;
  for (const StoredFile& stored : manifest_.files) {
    sizes += std::to_string(stored.bytes);
    hashes += '"' + stored.hash + '"';
  }
  EXPECT_EQ(content["size"], sizes);
  EXPECT_EQ(content["hash"], hashes);
  EXPECT_PRED2(contains, content["config text"], "seq_len: 32\\nmodel_shape");
  EXPECT_EQ(content["punctuation"].find_first_not_of("{}[]:,"), std::string::npos);
  EXPECT_EQ(content["white space"].find_first_not_of(" \n"), std::string::npos);
}

/// A view is no part of a checkpoint: a flip there is told by what verify asks of a view, and nothing that loads cares.
TEST_F(Flips, InAViewAreSeenAndHarmless) {
  const std::string view = path_of(2) + "/" + view_name;
  on_rank_0([&] { write_view(path_of(2)); });
  std::mt19937 random(20'261'121);
  std::vector<std::int64_t> bytes(fs::file_size(view));
  std::iota(bytes.begin(), bytes.end(), std::int64_t{0});
  for (const auto& [byte, bit] : some_bits(bytes, size() == 1 ? 300 : 10, random)) {
    on_rank_0([&, at = byte, b = bit] {
      flip_bit(view, at, b);
      EXPECT_FALSE(view_is_current(path_of(2))) << "byte " << at << ", bit " << b;
      EXPECT_TRUE(named_by_verify().empty());
    });
    EXPECT_EQ(find()->directory, path_of(2));
    on_rank_0([&, at = byte, b = bit] { flip_bit(view, at, b); });
  }
  on_rank_0([&] { EXPECT_TRUE(view_is_current(path_of(2))); });
}

}  // namespace
}  // namespace octet::checkpoint::test
